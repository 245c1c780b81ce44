package bench

import (
	"context"
	"fmt"
	"maps"
	"net/netip"
	"strconv"
	"sync"
	"testing"

	"github.com/seedmq/seedmq/remoting"
	"github.com/seedmq/seedmq/remoting/protocol"
)

// fakeBroker keeps messages in memory: enough of a broker to be loaded.
type fakeBroker struct {
	addr string

	mu     sync.Mutex
	topics map[string]int32
	groups map[string]bool
	queues map[protocol.MessageQueue][][]byte // records
	held   map[protocol.MessageQueue][]held
	oneway int
	refuse int  // so many sends are answered SYSTEM_BUSY
	binary bool // a binary header was seen
}

type held struct {
	c   remoting.Conn
	req *protocol.Command
}

func startFake(t testing.TB) *fakeBroker {
	t.Helper()
	b := &fakeBroker{topics: map[string]int32{}, groups: map[string]bool{}, queues: map[protocol.MessageQueue][][]byte{}, held: map[protocol.MessageQueue][]held{}}
	var routes []remoting.Route
	for code, h := range map[protocol.RequestCode]func(remoting.Conn, *protocol.Command){
		protocol.ReqUpdateAndCreateTopic: b.createTopic, protocol.ReqUpdateAndCreateSubscriptionGroup: b.createGroup,
		protocol.ReqSendMessageV2: b.send, protocol.ReqSendBatchMessage: b.send, protocol.ReqPullMessage: b.pull,
		protocol.ReqGetMinOffset: b.minOffset, protocol.ReqGetMaxOffset: b.maxOffset, protocol.ReqGetBrokerRuntimeInfo: b.ok,
	} {
		routes = append(routes, remoting.Route{Code: code, Mode: remoting.Inline, Handle: h})
	}
	mux, err := remoting.NewMux(remoting.MuxOptions{Routes: routes})
	if err != nil {
		t.Fatal(err)
	}
	s, err := remoting.NewServer(remoting.ServerOptions{BindAddress: "127.0.0.1"}, mux)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Listen(); err != nil {
		t.Fatal(err)
	}
	if err := s.Serve(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	b.addr = s.Addr().String()
	return b
}

func (b *fakeBroker) ok(c remoting.Conn, req *protocol.Command) { c.Reply(req, &remoting.Reply{}) }

func (b *fakeBroker) createTopic(c remoting.Conn, req *protocol.Command) {
	var h protocol.UpdateAndCreateTopicRequestHeader
	if err := h.DecodeExt(req.Ext); err != nil {
		c.Reply(req, &remoting.Reply{Code: protocol.RespSystemError, Remark: err.Error()})
		return
	}
	b.mu.Lock()
	b.topics[string([]byte(h.Topic))] = h.WriteQueueNums
	b.mu.Unlock()
	b.ok(c, req)
}

func (b *fakeBroker) createGroup(c remoting.Conn, req *protocol.Command) {
	var g protocol.SubscriptionGroupConfig
	if err := protocol.UnmarshalFast(req.Body, &g); err != nil {
		c.Reply(req, &remoting.Reply{Code: protocol.RespSystemError, Remark: err.Error()})
		return
	}
	b.mu.Lock()
	b.groups[g.GroupName] = true
	b.mu.Unlock()
	b.ok(c, req)
}

func (b *fakeBroker) send(c remoting.Conn, req *protocol.Command) {
	var h protocol.SendMessageV2RequestHeader
	if err := h.DecodeExt(req.Clone().Ext); err != nil {
		c.Reply(req, &remoting.Reply{Code: protocol.RespSystemError, Remark: err.Error()})
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.binary = b.binary || req.Serialize == protocol.SerializeRocketMQ
	if req.IsOneway() {
		b.oneway++
	}
	if b.refuse > 0 {
		b.refuse--
		c.Reply(req, &remoting.Reply{Code: protocol.RespSystemBusy, Remark: "too many of them"})
		return
	}
	q := protocol.MessageQueue{Topic: h.Topic, QueueID: h.QueueID}
	first := len(b.queues[q])
	if req.Code == protocol.ReqSendBatchMessage {
		var e protocol.BatchEntry
		r := protocol.NewBatchReader(req.Body)
		for r.Next(&e) {
			b.put(q, e.Body, e.Properties)
		}
	} else {
		b.put(q, req.Body, h.Properties)
	}
	c.Reply(req, &remoting.Reply{Header: &protocol.SendMessageResponseHeader{MsgID: "x", QueueID: h.QueueID, QueueOffset: int64(first)}})
	for _, p := range b.held[q] {
		b.answer(p.c, p.req)
	}
	delete(b.held, q)
}

func (b *fakeBroker) put(q protocol.MessageQueue, body []byte, props string) {
	host := netip.MustParseAddrPort("127.0.0.1:1")
	f := &protocol.RecordFields{Topic: q.Topic, QueueID: q.QueueID, QueueOffset: int64(len(b.queues[q])), Body: body, Properties: props, BornHost: host, StoreHost: host}
	b.queues[q] = append(b.queues[q], protocol.AppendRecord(nil, f))
}

func pullOf(req *protocol.Command) (h protocol.PullMessageRequestHeader, q protocol.MessageQueue, err error) {
	err = h.DecodeExt(req.Ext)
	return h, protocol.MessageQueue{Topic: h.Topic, QueueID: h.QueueID}, err
}

func (b *fakeBroker) pull(c remoting.Conn, req *protocol.Command) {
	req = req.Clone()
	h, q, err := pullOf(req)
	b.mu.Lock()
	defer b.mu.Unlock()
	switch {
	case err != nil || !b.groups[h.ConsumerGroup]:
		c.Reply(req, &remoting.Reply{Code: protocol.RespSubscriptionGroupNotExist, Remark: fmt.Sprint("group ", h.ConsumerGroup, err)})
	case h.QueueOffset >= int64(len(b.queues[q])) && h.SysFlag&protocol.PullFlagSuspend != 0:
		b.held[q] = append(b.held[q], held{c, req})
	default:
		b.answer(c, req)
	}
}

func (b *fakeBroker) answer(c remoting.Conn, req *protocol.Command) {
	h, q, _ := pullOf(req)
	all := b.queues[q]
	out := &protocol.PullMessageResponseHeader{NextBeginOffset: h.QueueOffset, MaxOffset: int64(len(all))}
	r := &remoting.Reply{Code: protocol.RespPullNotFound, Header: out}
	for _, rec := range all[min(int(h.QueueOffset), len(all)):] {
		if out.NextBeginOffset-h.QueueOffset == int64(h.MaxMsgNums) {
			break
		}
		out.NextBeginOffset++
		r.Code, r.Body = protocol.RespSuccess, append(r.Body, rec...)
	}
	c.Reply(req, r)
}

func (b *fakeBroker) minOffset(c remoting.Conn, req *protocol.Command) {
	c.Reply(req, &remoting.Reply{Header: &protocol.QueryConsumerOffsetResponseHeader{}})
}

func (b *fakeBroker) maxOffset(c remoting.Conn, req *protocol.Command) {
	topic, _ := req.Ext.Get("topic")
	id, _ := req.Ext.Get("queueId")
	n, _ := strconv.Atoi(id)
	b.mu.Lock()
	defer b.mu.Unlock()
	max := len(b.queues[protocol.MessageQueue{Topic: topic, QueueID: int32(n)}])
	c.Reply(req, &remoting.Reply{Header: &protocol.QueryConsumerOffsetResponseHeader{Offset: int64(max)}})
}

// summary is what the broker has seen.
type summary struct {
	stored map[string]int // messages by topic
	topics map[string]int32
	oneway int
	binary bool
}

func (b *fakeBroker) summary() summary {
	b.mu.Lock()
	defer b.mu.Unlock()
	out := summary{stored: map[string]int{}, topics: maps.Clone(b.topics), oneway: b.oneway, binary: b.binary}
	for q, recs := range b.queues {
		out.stored[q.Topic] += len(recs)
	}
	return out
}
