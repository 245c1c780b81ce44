package broker

// POP_MESSAGE 200050: as Java's PopMessageProcessor.
//
// A pop of recent messages is answered on the connection's read goroutine; one that needs the disk goes to the pool of cold reads; one that
// finds nothing waits in b.popWaits until a message arrives or its time is up. What a pop means is in package pop.
//
// Different from Java: an invisible time that is not positive, or longer than the timer allows, is INVALID_PARAMETER (Java gives the messages
// out twice, or none at all); retry topics of the new form are read whatever enableRetryTopicV2 says; a retried message wakes waiting pops
// at once; after maxReconsumeTimes a message that is never acknowledged goes to the dead letters. Left out: popConsumerKVServiceEnable.

import (
	"strings"
	"sync/atomic"

	"github.com/seedmq/seedmq/broker/group"
	"github.com/seedmq/seedmq/broker/pop"
	"github.com/seedmq/seedmq/broker/topic"
	"github.com/seedmq/seedmq/conf/clock"
	"github.com/seedmq/seedmq/remoting"
	"github.com/seedmq/seedmq/remoting/protocol"
	"github.com/seedmq/seedmq/store"
)

func (b *Broker) popRoutes() []remoting.Route {
	return []remoting.Route{
		{Code: protocol.ReqPopMessage, Mode: remoting.Inline, MainPortOnly: true, Handle: b.popper.serve},
		{Code: protocol.ReqAckMessage, Mode: remoting.Batched, BatchKey: "ack", HandleBatch: b.ackMessages},
		{Code: protocol.ReqBatchAckMessage, Mode: remoting.Batched, BatchKey: "ack", HandleBatch: b.ackMessages},
		{Code: protocol.ReqChangeMessageInvisibleTime, Mode: remoting.Inline, Handle: b.changeInvisible},
		{Code: protocol.ReqNotification, Mode: remoting.Inline, MainPortOnly: true, Handle: b.popper.notification},
		{Code: protocol.ReqPollingInfo, Mode: remoting.Inline, MainPortOnly: true, Handle: b.popper.pollingInfo},
		{Code: protocol.ReqPeekMessage, Mode: remoting.Pooled, Pool: poolQuery, MainPortOnly: true, Handle: b.popper.peek},
	}
}

const (
	// popLateMs is how much later than its time a pop may come.
	popLateMs = 500
)

// popper serves pops. Its methods may run for many connections at once.
type popper struct {
	b    *Broker
	turn atomic.Uint32
}

// popReq is one pop that passed the checks. It keeps nothing of its request.
type popReq struct {
	c                  remoting.Conn
	opaque, flag, code int32

	group     *group.Entry
	topic     *topic.Entry
	filter    store.Filter
	queueID   int32 // -1: all
	max       int
	invisible int64
	deadline  int64 // ms; 0: does not wait
	init      pop.InitMode
	ordered   bool
	attempt   string
}

func (q *popReq) request() *protocol.Command {
	return &protocol.Command{Code: q.code, Opaque: q.opaque, Flag: q.flag}
}

func (p *popper) serve(c remoting.Conn, req *protocol.Command) {
	var h protocol.PopMessageRequestHeader
	if err := h.DecodeExt(req.Ext); err != nil {
		fail(c, req, err)
		return
	}
	q, err := p.check(c, req, &h)
	if err != nil {
		fail(c, req, err)
		return
	}
	p.run(q, true)
}

// popWork is what one pass of a pop gathers.
type popWork struct {
	q       *popReq
	turn    *pop.Turn
	take    pop.Take
	lists   pop.Lists
	buf     []byte
	count   int
	rest    int64
	freeAt  int64
	cold    bool
	scratch []byte
}

// run takes what there is and answers, now or later. hot says that it must not wait for the disk.
func (p *popper) run(q *popReq, hot bool) {
	b := p.b
	set := b.settings()
	n := p.turn.Add(1)
	body := q.c.BeginReply()
	w := popWork{q: q, turn: b.pop.Begin(), buf: body.Buf}
	w.take = pop.Take{Group: q.group.Name(), Invisible: q.invisible, PopTime: clock.Millis(b.clk), Filter: q.filter, HotOnly: hot,
		Init: q.init, Ordered: q.ordered, AttemptID: q.attempt, MaxBytes: max(1, set.Store.MaxTransferBytesOnMessageInMemory)}
	w.take.ReviveQueue = pop.OrderQueue
	if !q.ordered {
		w.take.ReviveQueue = int32(n % uint32(max(1, b.o.Broker.ReviveQueueNum)))
	}
	first := !q.ordered && retryFirst(n, set.PopFromRetryProbability)
	if first {
		p.takeRetries(&w, n)
	}
	if q.queueID >= 0 {
		p.takeQueue(&w, q.topic, q.queueID)
	} else {
		p.takeTopic(&w, q.topic, n)
	}
	if !first && !q.ordered {
		p.takeRetries(&w, n)
	}
	body.Buf = w.buf
	w.turn.End(func(error) {}) // a pop stores nothing by itself
	switch {
	case w.count > 0:
		p.found(&w, body)
	case w.cold:
		body.Drop()
		p.runCold(q)
	default:
		body.Drop()
		p.missed(&w)
	}
}

// takeRetries takes from the retry topics of the group.
func (p *popper) takeRetries(w *popWork, n uint32) {
	for _, e := range p.b.popRetryTopics(w.q, n) {
		if e != nil {
			p.takeTopic(w, e, n)
		}
	}
}

func (p *popper) takeTopic(w *popWork, t *topic.Entry, n uint32) {
	queues := uint32(max(1, t.Config.ReadQueueNums))
	for i := range queues {
		p.takeQueue(w, t, int32((n+i)%queues))
	}
}

// takeQueue takes from one queue as much as the reply still has room for.
func (p *popper) takeQueue(w *popWork, t *topic.Entry, id int32) {
	if w.cold || w.count >= w.q.max || w.take.MaxBytes <= 0 {
		if p.b.pop.Available(t.Name(), w.take.Group, id, w.q.ordered, w.q.attempt) {
			w.rest++
		}
		return
	}
	w.take.Topic, w.take.QueueID, w.take.Max = t.Name(), id, w.q.max-w.count
	w.take.Filter = p.b.youngOnly(t, w.q.filter)
	at := len(w.buf)
	var got pop.Taken
	w.buf, got = w.turn.Take(&w.take, w.buf, &w.lists)
	w.rest += got.Rest
	switch got.Status {
	case pop.Cold:
		w.cold = true
	case pop.Blocked:
		if w.freeAt == 0 || got.FreeAt < w.freeAt {
			w.freeAt = got.FreeAt
		}
	case pop.Found:
		w.count += got.Count
		w.take.MaxBytes -= got.Bytes
		p.b.stats.AddGet(p.b.stats.Group(t.Name(), w.take.Group), int64(got.Count), int64(got.Bytes))
		if t.Name() != w.q.topic.Name() {
			p.disguise(w, at, &got)
		}
	}
}

// disguise turns messages of a retry topic into those of the topic that was asked for, with their receipt handles.
func (p *popper) disguise(w *popWork, at int, got *pop.Taken) {
	w.scratch = w.scratch[:0]
	for recs := w.buf[at:]; len(recs) > 0; {
		var v protocol.MessageView
		n, err := protocol.DecodeMessage(recs, &v)
		if err != nil { // the store checked it
			p.b.log.Errorf("pop of %s: %v", w.take.Topic, err)
			return
		}
		f := protocol.FieldsOf(&v)
		f.Magic, f.Topic = 0, w.q.topic.Name()
		if _, has := v.Property(protocol.PropertyPopCK); !has {
			h := pop.Handle{StartOffset: got.Start, PopTime: w.take.PopTime, Invisible: w.take.Invisible, ReviveQueue: w.take.ReviveQueue,
				Mark: pop.MarkOf(w.take.Topic), Broker: p.b.o.Broker.BrokerName, QueueID: w.take.QueueID, Offset: v.QueueOffset}
			f.PropertiesTail = protocol.AppendProperty(nil, protocol.PropertyPopCK, string(h.Append(nil)))
		}
		w.scratch = protocol.AppendRecord(w.scratch, &f)
		recs = recs[n:]
	}
	w.buf = append(w.buf[:at], w.scratch...)
}

func (p *popper) runCold(q *popReq) {
	read := func() {
		defer p.b.guard(q.c, q.request)
		p.run(q, false)
	}
	if busy := p.b.cold.do(read); busy != nil {
		fail(q.c, q.request(), busy)
	}
}

func (w *popWork) header() *protocol.PopMessageResponseHeader {
	return &protocol.PopMessageResponseHeader{PopTime: w.take.PopTime, InvisibleTime: w.q.invisible, ReviveQid: w.take.ReviveQueue, RestNum: w.rest,
		StartOffsetInfo: string(w.lists.Start), MsgOffsetInfo: string(w.lists.Offsets), OrderCountInfo: string(w.lists.Counts)}
}

func (p *popper) found(w *popWork, body *remoting.BodyBuffer) {
	body.Send(w.q.request(), &remoting.Reply{Remark: "FOUND", Header: w.header()})
	if w.rest > 0 { // the next one shares what is left
		p.b.popWaits.Wake(w.q.topic.Name(), w.take.Group, w.q.queueID)
	}
}

// missed lets a pop wait that found nothing, or answers it.
func (p *popper) missed(w *popWork) {
	q := w.q
	code := protocol.RespPollingTimeout
	if q.deadline > clock.Millis(p.b.clk) {
		if p.hold(q, w.freeAt) {
			return
		}
		code = protocol.RespPollingFull
	}
	p.b.stats.AddMiss(1)
	q.c.Reply(q.request(), &remoting.Reply{Code: code, Remark: "NO_MESSAGE_IN_QUEUE", Header: w.header()})
}

// heldPop is a pop that waits.
type heldPop struct {
	pop.Wait
	q popReq
}

// hold parks q; false when there is no room.
func (p *popper) hold(q *popReq, freeAt int64) bool {
	h := &heldPop{q: *q}
	h.Wait = pop.Wait{Topic: q.topic.Name(), Group: q.group.Name(), QueueID: q.queueID, Deadline: q.deadline, RetryAt: freeAt, Filter: q.filter,
		Resume: func(*pop.Wait) { p.resume(&h.q) }}
	return p.b.popWaits.Hold(&h.Wait, func() bool { return p.available(&h.q) })
}

// available says whether a pop that begins now may find something.
func (p *popper) available(q *popReq) bool {
	g, t := q.group.Name(), q.topic.Name()
	any := func(e *topic.Entry) bool {
		for id := range e.Config.ReadQueueNums {
			if p.b.pop.Available(e.Name(), g, id, q.ordered, q.attempt) {
				return true
			}
		}
		return false
	}
	switch {
	case q.queueID >= 0 && p.b.pop.Available(t, g, q.queueID, q.ordered, q.attempt):
		return true
	case q.queueID < 0 && any(q.topic):
		return true
	case q.ordered:
		return false
	}
	for _, e := range p.b.popRetryTopics(q, 0) {
		if e != nil && any(e) {
			return true
		}
	}
	return false
}

// resume runs a pop again, on a worker.
func (p *popper) resume(q *popReq) {
	defer p.b.guard(q.c, q.request)
	select {
	case <-q.c.Done():
		p.b.popWaits.Wake(q.topic.Name(), q.group.Name(), q.queueID) // somebody else may have the message
		return
	default:
	}
	if q.topic.Stale() {
		name := q.topic.Name()
		if q.topic = p.b.topics.Get(name); q.topic == nil {
			fail(q.c, q.request(), refuse(protocol.RespTopicNotExist, "topic[%s] not exist, apply first please! It was deleted%s", name, faq))
			return
		}
	}
	p.run(q, true)
}

// popFilter compiles the filter of a pop; the last one of a connection is kept, for clients repeat themselves.
func (p *popper) popFilter(ses *session, exp, expType string) (store.Filter, error) {
	if exp == "" {
		return nil, nil
	}
	if !ses.subKnown || ses.subExpr != exp || ses.subType != expType {
		f, err := p.b.filters.Compile(exp, expType)
		if err != nil {
			return nil, refuse(protocol.RespSubscriptionParseFailed, "parse the consumer's subscription failed: %v", err)
		}
		ses.subKnown, ses.subFilter = true, f
		ses.subExpr, ses.subType = strings.Clone(exp), strings.Clone(expType)
	}
	if err := p.b.filterAllowed(ses.subType); err != nil {
		return nil, err
	}
	return ses.subFilter, nil
}
