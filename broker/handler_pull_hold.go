package broker

import (
	"time"

	"github.com/seedmq/seedmq/broker/longpoll"
	"github.com/seedmq/seedmq/conf/clock"
	"github.com/seedmq/seedmq/remoting/protocol"
	"github.com/seedmq/seedmq/store"
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
	if h.pull.until == 0 {
		h.pull.until = clock.Millis(p.b.clk) + q.suspendMs
	}
	h.Held = longpoll.Held{Topic: q.topic.Name(), QueueID: q.queueID, Offset: q.offset, Filter: q.filter,
		Timeout: clock.Span(q.suspendMs, time.Millisecond), Resume: h.resume}
	h.pull.suspendMs = 0 // the second pass is not held, but see resume
	return p.b.held.Hold(&h.Held, func() int64 {
		_, end, _ := p.b.store.QueueRange(h.Topic, h.QueueID)
		return end
	})
}

// holdOn holds a pull again that was woken by messages which its filter refuses: only the next offset moves, and the client is not asked
// to come again for each of them. The end of its time stays.
func (p *puller) holdOn(q *pull, res *store.GetResult) bool {
	if res.NextBeginOffset <= q.offset {
		return false // it would come back at once
	}
	again := *q
	again.woken, again.offset = false, res.NextBeginOffset
	if !p.hold(&again) {
		return false
	}
	p.note(q, res)
	return true
}

// resume runs the pull again, on a worker of the table.
func (h *heldPull) resume(_ *longpoll.Held, why longpoll.Reason) {
	q := &h.pull
	if why == longpoll.Arrived {
		q.woken, q.suspendMs = true, q.until-clock.Millis(h.p.b.clk)
	}
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
