package main

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/seedmq/seedmq/remoting/protocol"
)

// popping is a load of pops and acks: each connection has one pop outstanding, and acknowledges what came, each message by a request
// of its own, as stock consumers do; it waits for no ack before the next pop.
type popping struct {
	addr, topic, broker string
	conns               int
	batch               int32
	messages            int64 // in the topic
	time                time.Duration

	mu    sync.Mutex
	seen  map[popped]struct{}
	twice atomic.Int64
	acked atomic.Int64
	wrong atomic.Int64
	last  atomic.Int64 // when the last ack was answered, ns
}

// popped names a message.
type popped struct {
	queue  int32
	offset int64
}

const (
	popGroup     = "perfPop"
	popInvisible = time.Minute
	popPoll      = 15 * time.Second
	popOpaque    = 1
	ackOpaque    = 2
)

// run pops until the topic is empty or the time is over.
func (p *popping) run(ctx context.Context) (figures, error) {
	ctx, cancel := context.WithTimeout(ctx, p.time)
	defer cancel()
	p.seen = make(map[popped]struct{}, p.messages)
	var wg sync.WaitGroup
	failed := make(chan error, p.conns)
	began := time.Now()
	for range p.conns {
		c, err := net.Dial("tcp", p.addr)
		if err != nil {
			return figures{}, err
		}
		stop := context.AfterFunc(ctx, func() { c.Close() })
		defer stop()
		wg.Go(func() {
			if err := p.consume(ctx, cancel, c); err != nil && ctx.Err() == nil {
				failed <- err
				cancel()
			}
		})
	}
	wg.Wait()
	select {
	case err := <-failed:
		return figures{}, err
	default:
	}
	n := p.acked.Load()
	took := max(time.Duration(p.last.Load()-began.UnixNano()), time.Nanosecond)
	return figures{rate: float64(n) / took.Seconds(), errors: p.twice.Load() + p.wrong.Load(), count: n}, nil
}

// consume is one connection's loop.
func (p *popping) consume(ctx context.Context, done func(), c net.Conn) error {
	pop := p.frame()
	r := bufio.NewReaderSize(c, 256<<10)
	var buf, out []byte
	if _, err := c.Write(pop); err != nil {
		return err
	}
	for ctx.Err() == nil {
		header, body, err := readFrame(r, &buf)
		if err != nil {
			return err
		}
		code, _ := number(header, `"code":`)
		opaque, _ := number(header, `"opaque":`)
		if opaque == ackOpaque {
			if code != 0 {
				p.wrong.Add(1)
			}
			if r.Buffered() == 0 {
				p.last.Store(time.Now().UnixNano())
			}
			if p.acked.Add(1) == p.messages {
				p.last.Store(time.Now().UnixNano())
				done()
			}
			continue
		}
		out = out[:0]
		if code == 0 {
			if out, err = p.acks(out, header, records(body)); err != nil {
				return err
			}
		} else if code != int(protocol.RespPollingTimeout) && code != int(protocol.RespPullNotFound) {
			return fmt.Errorf("pop: %s", header)
		}
		if _, err := c.Write(append(out, pop...)); err != nil {
			return err
		}
	}
	return nil
}

func (p *popping) frame() []byte {
	cmd := protocol.NewRequest(protocol.ReqPopMessage, &protocol.PopMessageRequestHeader{ConsumerGroup: popGroup, Topic: p.topic, QueueID: -1, MaxMsgNums: p.batch,
		InvisibleTime: popInvisible.Milliseconds(), PollTime: popPoll.Milliseconds(), BornTime: time.Now().UnixMilli(), ExpType: protocol.ExpressionTag, Exp: "*",
		Order: protocol.Some(false)}, nil)
	cmd.Opaque = popOpaque
	return protocol.AppendFrame(nil, cmd)
}

var errPopAnswer = errors.New("the answer to a pop is not understood")

// acks appends the acks of all messages that an answer names, which are n.
func (p *popping) acks(out, header []byte, n int64) ([]byte, error) {
	at, _ := number(header, `"popTime":"`)
	invisible, _ := number(header, `"invisibleTime":"`)
	revive, _ := number(header, `"reviveQid":"`)
	starts := map[string]string{}
	for part := range strings.SplitSeq(value(header, "startOffsetInfo"), ";") {
		if f := strings.Fields(part); len(f) == 3 {
			starts[f[0]+" "+f[1]] = f[2]
		}
	}
	for part := range strings.SplitSeq(value(header, "msgOffsetInfo"), ";") {
		f := strings.Fields(part)
		if len(f) != 3 {
			return nil, fmt.Errorf("%w: %s", errPopAnswer, header)
		}
		handle := fmt.Sprintf("%s %d %d %d %s %s %s ", starts[f[0]+" "+f[1]], at, invisible, revive, f[0], p.broker, f[1])
		for offset := range strings.SplitSeq(f[2], ",") {
			if err := p.note(f[1], offset); err != nil {
				return nil, err
			}
			out = appendAck(out, p.topic, f[1], offset, handle)
			n--
		}
	}
	if n != 0 {
		return nil, fmt.Errorf("%w: %d messages too many: %s", errPopAnswer, n, header)
	}
	return out, nil
}

// note remembers a message, and counts it when it came before.
func (p *popping) note(queue, offset string) error {
	q, err1 := strconv.ParseInt(queue, 10, 32)
	at, err2 := strconv.ParseInt(offset, 10, 64)
	m := popped{int32(q), at}
	p.mu.Lock()
	defer p.mu.Unlock()
	if _, there := p.seen[m]; there {
		p.twice.Add(1)
	}
	p.seen[m] = struct{}{}
	return cmp.Or(err1, err2)
}

// appendAck appends the frame of an ack.
func appendAck(dst []byte, topic, queue, offset, handle string) []byte {
	at := len(dst)
	dst = append(dst, 0, 0, 0, 0, 0, 0, 0, 0)
	dst = append(dst, `{"code":200051,"extFields":{"consumerGroup":"`+popGroup+`","extraInfo":"`...)
	dst = append(dst, handle...)
	dst = append(dst, offset...)
	dst = append(dst, `","offset":"`...)
	dst = append(dst, offset...)
	dst = append(dst, `","queueId":"`...)
	dst = append(dst, queue...)
	dst = append(dst, `","topic":"`...)
	dst = append(dst, topic...)
	dst = append(dst, `"},"flag":0,"language":"JAVA","opaque":2,"serializeTypeCurrentRPC":"JSON","version":`...)
	return closeFrame(append(strconv.AppendInt(dst, int64(protocol.CurrentVersion), 10), '}'), at)
}

// value is the text of a header's field that needs no escapes.
func value(header []byte, key string) string {
	mark := `"` + key + `":"`
	i := bytes.Index(header, []byte(mark))
	if i < 0 {
		return ""
	}
	rest := header[i+len(mark):]
	return string(rest[:max(0, bytes.IndexByte(rest, '"'))])
}
