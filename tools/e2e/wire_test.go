package e2e

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"net"
	"testing"
	"time"

	"github.com/seedmq/seedmq/remoting/protocol"
)

// wire is one connection on which requests are asked one after the other, as plain as can be, so that a test sees what a
// broker has and not what a client makes of it. One goroutine uses it.
type wire struct {
	conn   net.Conn
	opaque int32
	out    []byte
}

const wireTimeout = 20 * time.Second

func dialWire(addr string) (*wire, error) {
	c, err := net.DialTimeout("tcp", addr, wireTimeout)
	if err != nil {
		return nil, err
	}
	return &wire{conn: c}, nil
}

func mustDial(t testing.TB, addr string) *wire {
	t.Helper()
	w, err := dialWire(addr)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { w.conn.Close() })
	return w
}

// ask sends a request and reads its reply; whatever else the broker sends is skipped.
func (w *wire) ask(code protocol.RequestCode, h protocol.HeaderEncoder, body []byte) (*protocol.Command, error) {
	w.opaque++
	cmd := protocol.NewRequest(int32(code), h, body)
	cmd.Opaque = w.opaque
	if err := w.conn.SetDeadline(time.Now().Add(wireTimeout)); err != nil {
		return nil, err
	}
	w.out = protocol.AppendFrame(w.out[:0], cmd)
	if _, err := w.conn.Write(w.out); err != nil {
		return nil, err
	}
	for {
		reply, err := w.read()
		if err != nil || reply.IsResponse() && reply.Opaque == cmd.Opaque {
			return reply, err
		}
	}
}

func (w *wire) read() (*protocol.Command, error) {
	var word [4]byte
	if _, err := io.ReadFull(w.conn, word[:]); err != nil {
		return nil, err
	}
	frame := make([]byte, binary.BigEndian.Uint32(word[:]))
	if _, err := io.ReadFull(w.conn, frame); err != nil {
		return nil, err
	}
	reply := new(protocol.Command)
	return reply, protocol.DecodeFrame(frame, reply)
}

// refused is a broker's answer that is not success.
type refused struct {
	request protocol.RequestCode
	code    protocol.ResponseCode
	remark  string
}

func (e *refused) Error() string {
	return fmt.Sprintf("request %d: code %d: %s", e.request, e.code, e.remark)
}

// success is ask that takes no other answer.
func (w *wire) success(code protocol.RequestCode, h protocol.HeaderEncoder, body []byte) (*protocol.Command, error) {
	reply, err := w.ask(code, h, body)
	if err == nil && protocol.ResponseCode(reply.Code) != protocol.RespSuccess {
		err = &refused{code, protocol.ResponseCode(reply.Code), reply.Remark}
	}
	return reply, err
}

// send appends a message and says where in its queue it went.
func (w *wire) send(topic string, queue int32, body string, props protocol.Properties) (*protocol.SendMessageResponseHeader, error) {
	reply, err := w.success(protocol.ReqSendMessageV2, &protocol.SendMessageV2RequestHeader{
		ProducerGroup: "Exchange", Topic: topic, DefaultTopic: protocol.DefaultTopic, DefaultTopicQueueNums: 4, QueueID: queue,
		BornTimestamp: time.Now().UnixMilli(), Properties: string(props.Encode()), ReconsumeTimes: protocol.Some(int32(0)),
		UnitMode: protocol.Some(false), Batch: protocol.Some(false)}, []byte(body))
	if err != nil {
		return nil, err
	}
	var h protocol.SendMessageResponseHeader
	return &h, h.DecodeExt(reply.Ext)
}

// pull reads some messages from an offset on; none when there is none.
func (w *wire) pull(topic string, queue int32, offset int64) ([]protocol.MessageView, *protocol.PullMessageResponseHeader, error) {
	reply, err := w.ask(protocol.ReqPullMessage, &protocol.PullMessageRequestHeader{
		ConsumerGroup: "ExchangeReader", Topic: topic, QueueID: queue, QueueOffset: offset, MaxMsgNums: 32,
		SysFlag: protocol.PullFlagSubscription, SuspendTimeoutMillis: 1000, Subscription: "*", ExpressionType: "TAG",
		MaxMsgBytes: protocol.Some(int32(math.MaxInt32))}, nil)
	if err != nil {
		return nil, nil, err
	}
	var h protocol.PullMessageResponseHeader
	switch code := protocol.ResponseCode(reply.Code); code {
	case protocol.RespSuccess:
		if err := h.DecodeExt(reply.Ext); err != nil {
			return nil, nil, err
		}
		list, err := records(reply.Body)
		return list, &h, err
	case protocol.RespPullNotFound, protocol.RespPullRetryImmediately, protocol.RespPullOffsetMoved:
		return nil, &h, h.DecodeExt(reply.Ext)
	default:
		return nil, nil, fmt.Errorf("pull %s/%d from %d: code %d: %s", topic, queue, offset, code, reply.Remark)
	}
}

func records(b []byte) (list []protocol.MessageView, err error) {
	for len(b) > 0 {
		var v protocol.MessageView
		n, err := protocol.DecodeMessage(b, &v)
		if err == nil {
			err = v.CheckBody()
		}
		if err != nil {
			return nil, err
		}
		list, b = append(list, v), b[n:]
	}
	return list, nil
}

// readAll reads a queue from its first message to its end, and fails unless the offsets follow each other.
func (w *wire) readAll(t testing.TB, topic string, queue int32, from int64) []protocol.MessageView {
	t.Helper()
	var all []protocol.MessageView
	for at, tries := from, 0; ; {
		list, h, err := w.pull(topic, queue, at)
		if err != nil {
			t.Fatalf("%s/%d at %d: %v", topic, queue, at, err)
		}
		if len(list) == 0 {
			if at >= h.MaxOffset || tries > 100 {
				if at < h.MaxOffset {
					t.Fatalf("%s/%d: nothing is served at %d, although the queue goes to %d", topic, queue, at, h.MaxOffset)
				}
				return all
			}
			tries++
			continue
		}
		for i := range list {
			if list[i].QueueOffset != at {
				t.Fatalf("%s/%d: the message at %d says that it is at %d", topic, queue, at, list[i].QueueOffset)
			}
			at++
		}
		all = append(all, list...)
	}
}

// query finds messages by key; unique says that the key is a UNIQ_KEY.
func (w *wire) query(topic, key string, unique bool) ([]protocol.MessageView, error) {
	kind := "K"
	if unique {
		kind = "U"
	}
	reply, err := w.ask(protocol.ReqQueryMessage, &protocol.QueryMessageRequestHeader{Topic: topic, Key: key, MaxNum: 32,
		EndTimestamp: math.MaxInt64, IndexType: kind, UniqueKeyQuery: protocol.Some(unique)}, nil)
	if err != nil || protocol.ResponseCode(reply.Code) == protocol.RespQueryNotFound {
		return nil, err
	}
	if protocol.ResponseCode(reply.Code) != protocol.RespSuccess {
		return nil, fmt.Errorf("query %s %s: code %d: %s", topic, key, reply.Code, reply.Remark)
	}
	return records(reply.Body)
}

func (w *wire) commit(topic, group string, queue int32, offset int64) error {
	_, err := w.success(protocol.ReqUpdateConsumerOffset, &protocol.UpdateConsumerOffsetRequestHeader{
		ConsumerGroup: group, Topic: topic, QueueID: queue, CommitOffset: offset}, nil)
	return err
}

func (w *wire) committed(topic, group string, queue int32) (int64, error) {
	reply, err := w.success(protocol.ReqQueryConsumerOffset, &protocol.QueryConsumerOffsetRequestHeader{
		ConsumerGroup: group, Topic: topic, QueueID: queue}, nil)
	if err != nil {
		return 0, err
	}
	var h protocol.QueryConsumerOffsetResponseHeader
	return h.Offset, h.DecodeExt(reply.Ext)
}

// table reads a whole table of the broker's into v.
func (w *wire) table(t testing.TB, code protocol.RequestCode, v any) {
	t.Helper()
	reply, err := w.success(code, nil, nil)
	if err == nil {
		err = protocol.UnmarshalFast(reply.Body, v)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// sendLoop sends on a connection of its own until ctx ends or the broker is gone, and tells of each message before and
// after. An Apache broker that is busy, as it is when it has just been started, is asked again with the next message.
func sendLoop(ctx context.Context, addr string, next func() (topic string, queue int32, body string, props protocol.Properties), acked func(*protocol.SendMessageResponseHeader)) error {
	w, err := dialWire(addr)
	if err != nil {
		return err
	}
	defer w.conn.Close()
	for ctx.Err() == nil {
		topic, queue, body, props := next()
		h, err := w.send(topic, queue, body, props)
		var no *refused
		if errors.As(err, &no) && no.code == protocol.RespSystemBusy {
			continue
		}
		if err != nil {
			return err
		}
		acked(h)
	}
	return nil
}
