package broker

import (
	"time"

	"github.com/seedmq/seedmq/broker/longpoll"
	"github.com/seedmq/seedmq/remoting/protocol"
)

// heldPull is a pull in the long-poll table: one allocation for all it needs.
type heldPull struct {
	longpoll.Held
	pull pull
	p    *puller
}

// hold parks q until a message arrives or its time is up; false when the table takes no more.
func (p *puller) hold(q *pull) bool {
	h := &heldPull{pull: *q, p: p}
	h.Held = longpoll.Held{Topic: q.topic.Name(), QueueID: q.queueID, Offset: q.offset, Filter: q.filter,
		Timeout: time.Duration(q.suspendMs) * time.Millisecond, Resume: h.resume}
	h.pull.suspendMs = 0 // the second pass is not held
	return p.b.held.Hold(&h.Held, func() int64 {
		_, end, _ := p.b.store.QueueRange(h.Topic, h.QueueID)
		return end
	})
}

// resume runs the pull again, on a worker of the table.
func (h *heldPull) resume(_ *longpoll.Held, _ longpoll.Reason) {
	q := &h.pull
	defer h.p.b.guard(q.c, q.request)
	select {
	case <-q.c.Done():
		return
	default:
	}
	if q.topic.Stale() {
		if q.topic = h.p.b.topics.Get(h.Topic); q.topic == nil {
			fail(q.c, q.request(), refuse(protocol.RespTopicNotExist, "topic[%s] not exist, apply first please! It was deleted%s", h.Topic, faq))
			return
		}
	}
	h.p.read(q, true)
}
