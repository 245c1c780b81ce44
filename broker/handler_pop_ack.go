package broker

// ACK_MESSAGE 200051, BATCH_ACK_MESSAGE 200151, CHANGE_MESSAGE_INVISIBLETIME 200053: as Java's AckMessageProcessor and
// ChangeInvisibleTimeProcessor.
//
// All acks of one read are done together: one write of the journal, one append of what must be stored.
//
// Different from Java: a receipt handle that does not fit its request, or that is of no check point of this broker, is MESSAGE_ILLEGAL and
// nothing is stored (Java stores an ack for anything). A change to a time that the timer cannot keep is INVALID_PARAMETER.

import (
	"errors"
	"math/bits"
	"sync"

	"github.com/seedmq/seedmq/broker/pop"
	"github.com/seedmq/seedmq/remoting"
	"github.com/seedmq/seedmq/remoting/protocol"
	"github.com/seedmq/seedmq/store"
)

// ackBurst is the acks of one read.
type ackBurst struct {
	c    remoting.Conn
	acks []ackReply
}

// ackReply is what one of them is answered.
type ackReply struct {
	opaque, flag, code int32
	err                error
}

var ackBursts = sync.Pool{New: func() any { return new(ackBurst) }}

// ackMessages serves the acks of one read.
func (b *Broker) ackMessages(c remoting.Conn, reqs []*protocol.Command) {
	if b.pop == nil {
		for _, req := range reqs {
			fail(c, req, noTimer())
		}
		return
	}
	burst := ackBursts.Get().(*ackBurst)
	burst.c = c
	turn := b.pop.Begin()
	for _, req := range reqs {
		r := ackReply{opaque: req.Opaque, flag: req.Flag, code: req.Code}
		if req.Code == int32(protocol.ReqAckMessage) {
			r.err = b.ackOne(turn, c, req)
		} else {
			r.err = b.ackMany(turn, req)
		}
		burst.acks = append(burst.acks, r)
	}
	turn.End(burst.answer)
}

// answer replies to all; err is the store's.
func (burst *ackBurst) answer(err error) {
	err = unlessLate(err)
	for i := range burst.acks {
		r := &burst.acks[i]
		if r.err == nil {
			r.err = err
		}
		req := protocol.Command{Code: r.code, Opaque: r.opaque, Flag: r.flag}
		if r.err != nil {
			fail(burst.c, &req, popRefusal(r.err))
		} else {
			burst.c.Reply(&req, &remoting.Reply{})
		}
		r.err = nil
	}
	burst.c, burst.acks = nil, burst.acks[:0]
	ackBursts.Put(burst)
}

// unlessLate is err unless the record is in the log and only its flush is late, which Java counts as done.
func unlessLate(err error) error {
	if errors.Is(err, store.ErrFlushTimeout) {
		return nil
	}
	return err
}

func (b *Broker) ackOne(turn *pop.Turn, c remoting.Conn, req *protocol.Command) error {
	var h protocol.AckMessageRequestHeader
	if err := h.DecodeExt(req.Ext); err != nil {
		return err
	}
	r, err := b.receipt(c, h.Topic, h.ConsumerGroup, h.QueueID, h.Offset, h.ExtraInfo, 1)
	if err != nil {
		return err
	}
	return turn.Ack(&r)
}

// receipt checks what acks and changes have in common, in Java's order. beyond is 1 when the queue's end is an offset, too.
func (b *Broker) receipt(c remoting.Conn, name, group string, queueID int32, offset int64, extraInfo string, beyond int64) (pop.Receipt, error) {
	t := b.topics.Get(name)
	if t == nil {
		return pop.Receipt{}, refuse(protocol.RespTopicNotExist, "topic[%s] not exist, apply first please!%s", clip(name), faq)
	}
	if queueID < 0 || queueID >= t.Config.ReadQueueNums {
		return pop.Receipt{}, refuse(protocol.RespMessageIllegal, "queueId[%d] is illegal, topic:[%s] topicConfig.readQueueNums:[%d] consumer:[%s]",
			queueID, t.Name(), t.Config.ReadQueueNums, c.RemoteAddr())
	}
	lo, end, _ := b.store.QueueRange(t.Name(), queueID)
	if offset < lo || offset >= end+beyond {
		return pop.Receipt{}, refuse(protocol.RespNoMessage, "offset is illegal, key:%s@%d, commit:%d, store:%d~%d", t.Name(), queueID, offset, lo, end)
	}
	h, err := pop.ParseHandle(extraInfo)
	if err != nil {
		return pop.Receipt{}, err
	}
	return pop.Receipt{Topic: t.Name(), Group: group, QueueID: queueID, Offset: offset, Handle: h}, nil
}

// maxBatchAcks bounds the acks of one request.
const maxBatchAcks = 10_000

// ackMany serves a BATCH_ACK_MESSAGE. What cannot be acknowledged does not stop the others; the first reason is the answer.
func (b *Broker) ackMany(turn *pop.Turn, req *protocol.Command) error {
	var body protocol.BatchAckMessageRequestBody
	if len(req.Body) > 0 {
		if err := protocol.UnmarshalFast(req.Body, &body); err != nil {
			return refuse(protocol.RespSystemError, "body of request %d: %v", req.Code, err)
		}
	}
	switch {
	case len(body.Acks) == 0:
		return refuse(protocol.RespNoMessage, "the request acknowledges nothing")
	case len(body.Acks) > maxBatchAcks:
		return refuse(protocol.RespInvalidParameter, "the request has %d acks, the limit is %d", len(body.Acks), maxBatchAcks)
	}
	var first error
	for i := range body.Acks {
		if err := b.ackBits(turn, &body.Acks[i], body.BrokerName); err != nil && first == nil {
			first = err
		}
	}
	return first
}

// ackBits acknowledges the messages of one check point. Offsets that the queue does not have are passed over, as in Java.
func (b *Broker) ackBits(turn *pop.Turn, a *protocol.BatchAck, brokerName string) error {
	mark, err := pop.ParseMark(a.Retry)
	if err != nil {
		return err
	}
	name := pop.RealTopic(a.Topic, a.ConsumerGroup, mark)
	t := b.topics.Get(name)
	if t == nil || a.QueueID < 0 || a.QueueID >= t.Config.ReadQueueNums {
		return nil // as in Java
	}
	if a.StartOffset < 0 || a.PopTime < 0 || a.InvisibleTime < 0 || a.ReviveQueueID < 0 {
		return pop.ErrHandle
	}
	r := pop.Receipt{Topic: t.Name(), Group: a.ConsumerGroup, QueueID: a.QueueID, Handle: pop.Handle{StartOffset: a.StartOffset, PopTime: a.PopTime,
		Invisible: a.InvisibleTime, ReviveQueue: a.ReviveQueueID, Mark: mark, Broker: brokerName, QueueID: a.QueueID, Offset: -1}}
	if brokerName == "" {
		r.Handle.Broker = b.o.Broker.BrokerName
	}
	lo, end, _ := b.store.QueueRange(t.Name(), a.QueueID)
	var first error
	for i, octet := range a.Bits {
		for ; octet != 0; octet &= octet - 1 {
			r.Offset = a.StartOffset + int64(i)*8 + int64(bits.TrailingZeros8(octet))
			if r.Offset < lo || r.Offset > end {
				continue
			}
			if err := turn.Ack(&r); err != nil && first == nil {
				first = err
			}
		}
	}
	return first
}

// changeInvisible gives a popped message a new invisible time.
func (b *Broker) changeInvisible(c remoting.Conn, req *protocol.Command) {
	if b.pop == nil {
		fail(c, req, noTimer())
		return
	}
	var h protocol.ChangeMessageInvisibleTimeRequestHeader
	if err := h.DecodeExt(req.Ext); err != nil {
		fail(c, req, err)
		return
	}
	r, err := b.receipt(c, h.Topic, h.ConsumerGroup, h.QueueID, h.Offset, h.ExtraInfo, 0)
	if err == nil {
		err = b.popper.invisible(h.InvisibleTime, 0)
	}
	if err != nil {
		fail(c, req, popRefusal(err))
		return
	}
	turn := b.pop.Begin()
	got, err := turn.Change(&r, h.InvisibleTime)
	to := protocol.Command{Code: req.Code, Opaque: req.Opaque, Flag: req.Flag}
	turn.End(func(stored error) {
		if err == nil {
			err = unlessLate(stored)
		}
		done(c, &to, &protocol.ChangeMessageInvisibleTimeResponseHeader{PopTime: got.PopTime, InvisibleTime: got.Invisible, ReviveQid: got.ReviveQueue}, nil, popRefusal(err))
	})
}
