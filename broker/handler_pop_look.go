package broker

// NOTIFICATION 200054, POLLING_INFO 200055, PEEK_MESSAGE 200052: as Java's NotificationProcessor, PollingInfoProcessor and
// PeekMessageProcessor.
//
// Different from Java: a notification waits apart from pops in both, but here a retried message tells it, too; its filter counts.

import (
	"github.com/seedmq/seedmq/broker/pop"
	"github.com/seedmq/seedmq/broker/topic"
	"github.com/seedmq/seedmq/conf/clock"
	"github.com/seedmq/seedmq/remoting"
	"github.com/seedmq/seedmq/remoting/protocol"
)

// looking checks what these requests have in common.
func (p *popper) looking(c remoting.Conn, ses *session, name, group string, queueID int32) (*popReq, error) {
	set := p.b.settings()
	if !protocol.PermReadable(int32(set.BrokerPermission)) {
		return nil, refuse(protocol.RespNoPermission, "the broker[%s] peeking message is forbidden: brokerPermission is %d", set.BrokerIP1, set.BrokerPermission)
	}
	if p.b.pop == nil {
		return nil, noTimer()
	}
	t, g, err := p.target(ses, c, name, group, queueID)
	if err != nil {
		return nil, err
	}
	return &popReq{c: c, topic: t, group: g, queueID: max(queueID, -1)}, nil
}

// notification answers as soon as there is something to pop.
func (p *popper) notification(c remoting.Conn, req *protocol.Command) {
	var h protocol.NotificationRequestHeader
	if err := h.DecodeExt(req.Ext); err != nil {
		fail(c, req, err)
		return
	}
	q, err := p.looking(c, sessionOf(c), h.Topic, h.ConsumerGroup, h.QueueID)
	if err == nil {
		q.filter, err = p.popFilter(sessionOf(c), h.Exp, h.ExpType)
	}
	if err != nil {
		fail(c, req, err)
		return
	}
	now := clock.Millis(p.b.clk)
	if h.BornTime == 0 {
		h.BornTime = now
	}
	q.opaque, q.flag, q.code = req.Opaque, req.Flag, req.Code
	q.ordered, q.attempt = h.Order.Or(false), string([]byte(h.AttemptID))
	q.deadline = pollDeadline(now, h.BornTime, h.PollTime)
	p.notify(q)
}

func (p *popper) notify(q *popReq) {
	found := p.available(q)
	var full protocol.Opt[bool]
	if !found && q.deadline > clock.Millis(p.b.clk) {
		h := &heldPop{q: *q}
		h.Wait = pop.Wait{Topic: q.topic.Name(), Group: q.group.Name(), QueueID: q.queueID, Deadline: q.deadline, RetryAt: p.freeAt(q), Filter: q.filter,
			Resume: func(*pop.Wait) {
				defer p.b.guard(h.q.c, h.q.request)
				p.notify(&h.q)
			}}
		if p.b.popNotices.Hold(&h.Wait, func() bool { return p.available(&h.q) }) {
			return
		}
		full = protocol.Some(true)
	}
	q.c.Reply(q.request(), &remoting.Reply{Header: &protocol.NotificationResponseHeader{HasMsg: found, PollingFull: full}})
}

// freeAt is when the first blocked queue of an ordered group is free, 0 for none.
func (p *popper) freeAt(q *popReq) int64 {
	if !q.ordered {
		return 0
	}
	var at int64
	for id := range q.topic.Config.ReadQueueNums {
		if q.queueID >= 0 && q.queueID != id {
			continue
		}
		if free := p.b.pop.FreeAt(q.topic.Name(), q.group.Name(), id, q.attempt); free > 0 && (at == 0 || free < at) {
			at = free
		}
	}
	return at
}

func (p *popper) pollingInfo(c remoting.Conn, req *protocol.Command) {
	var h protocol.PollingInfoRequestHeader
	if err := h.DecodeExt(req.Ext); err != nil {
		fail(c, req, err)
		return
	}
	q, err := p.looking(c, sessionOf(c), h.Topic, h.ConsumerGroup, h.QueueID)
	if err != nil {
		fail(c, req, err)
		return
	}
	n := p.b.popWaits.Waiting(q.topic.Name(), q.group.Name(), q.queueID)
	done(c, req, &protocol.PollingInfoResponseHeader{PollingNum: int32(n)}, nil, nil)
}

// peek reads what a pop would give, and leaves it. It runs on a pool.
func (p *popper) peek(c remoting.Conn, req *protocol.Command) {
	var h protocol.PeekMessageRequestHeader
	if err := h.DecodeExt(req.Ext); err != nil {
		fail(c, req, err)
		return
	}
	q, err := p.looking(c, &session{}, h.Topic, h.ConsumerGroup, h.QueueID)
	if err == nil && (h.MaxMsgNums < 1 || h.MaxMsgNums > pop.MaxTake) {
		err = refuse(protocol.RespInvalidParameter, "the broker[%s] peek message's num is %d, of %d", p.b.settings().BrokerIP1, h.MaxMsgNums, pop.MaxTake)
	}
	if err != nil {
		fail(c, req, err)
		return
	}
	q.max = int(h.MaxMsgNums)
	n := p.turn.Add(1)
	body := c.BeginReply()
	k := peeking{q: q, buf: body.Buf}
	if q.queueID >= 0 {
		p.peekQueue(&k, q.topic, q.queueID)
	} else {
		queues := uint32(max(1, q.topic.Config.ReadQueueNums))
		for i := range queues {
			p.peekQueue(&k, q.topic, int32((n+i)%queues))
		}
	}
	for _, e := range p.b.popRetryTopics(q, n) {
		if e != nil {
			p.peekQueue(&k, e, 0)
		}
	}
	body.Buf = k.buf
	head := &protocol.PeekMessageResponseHeader{RestNum: k.rest}
	if k.count == 0 {
		body.Drop()
		c.Reply(req, &remoting.Reply{Code: protocol.RespPullNotFound, Remark: "NO_MESSAGE_IN_QUEUE", Header: head})
		return
	}
	body.Send(req, &remoting.Reply{Remark: "FOUND", Header: head})
}

// peeking is what a peek gathers.
type peeking struct {
	q     *popReq
	buf   []byte
	count int
	rest  int64
}

func (p *popper) peekQueue(k *peeking, t *topic.Entry, id int32) {
	_, end, _ := p.b.store.QueueRange(t.Name(), id)
	if next, known := p.b.pop.Next(t.Name(), k.q.group.Name(), id); known {
		k.rest += max(end-next, 0)
	}
	if k.count >= k.q.max {
		return
	}
	take := pop.Take{Topic: t.Name(), Group: k.q.group.Name(), QueueID: id, Max: k.q.max - k.count, MaxBytes: max(1, p.b.settings().Store.MaxTransferBytesOnMessageInMemory)}
	buf, res := p.b.pop.Peek(&take, k.buf)
	k.buf = buf
	k.count += res.Count
}
