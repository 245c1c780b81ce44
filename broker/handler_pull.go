package broker

// PULL_MESSAGE 11, LITE_PULL_MESSAGE 361: as Java's PullMessageProcessor.
//
// A pull of recent messages is answered on the connection's read goroutine, with the records copied once, into the reply. One that
// needs the disk goes to the cold-read pool. One that finds nothing is held in longpoll until a message arrives or its time is up.
//
// Different from Java: tags are compared exactly here too, so that messages whose tag only has the same hash code are not sent; a
// member's own subscription is used before the group's, so that members that differ do not overwrite each other; the limits of
// a reply (count, bytes) are those of messages in memory for all. Left out until later: static topics, slaves. Filters: handler_filter.go.

import (
	"github.com/seedmq/seedmq/broker/group"
	"github.com/seedmq/seedmq/broker/offset"
	"github.com/seedmq/seedmq/broker/topic"
	"github.com/seedmq/seedmq/remoting"
	"github.com/seedmq/seedmq/remoting/protocol"
	"github.com/seedmq/seedmq/store"
)

func (b *Broker) pullRoutes() []remoting.Route {
	return []remoting.Route{
		{Code: protocol.ReqPullMessage, Mode: remoting.Inline, MainPortOnly: true, Handle: b.puller.serve},
		{Code: protocol.ReqLitePullMessage, Mode: remoting.Inline, MainPortOnly: true, Handle: b.puller.serve},
	}
}

// Why a pull was refused with NO_PERMISSION, for forbiddenType of the reply.
const (
	forbiddenBroker       = 1
	forbiddenGroup        = 2
	forbiddenTopic        = 3
	forbiddenBroadcast    = 4
	forbiddenSubscription = 5
)

// puller serves pulls. Its methods may run for many connections at once.
type puller struct {
	b *Broker
	// pulled is told of messages that a reply carries. It must be quick.
	pulled func(group, topic string, n int, bytes int64)
}

// pull is one pull request that passed the checks.
type pull struct {
	c      remoting.Conn
	group  *group.Entry
	topic  *topic.Entry
	filter store.Filter

	opaque, flag, code int32
	queueID            int32
	offset             int64
	maxCount, maxBytes int
	suspendMs          int64 // > 0: may be held so long
	until              int64 // ms: when a pull that was held must be answered
	woken              bool  // it was held, and a message has come
	unwrap             bool  // batches must be taken apart
}

// serve handles one pull on the connection's read goroutine.
func (p *puller) serve(c remoting.Conn, req *protocol.Command) {
	var h protocol.PullMessageRequestHeader
	if err := h.DecodeExt(req.Ext); err != nil {
		fail(c, req, err)
		return
	}
	var q pull
	if err := p.check(c, req, &h, &q); err != nil {
		p.refuse(c, req, err)
		return
	}
	key := offset.Key{Group: q.group.Name(), Topic: q.topic.Name(), QueueID: q.queueID}
	if to, pending := p.b.offsets.PendingReset(key); pending && p.sentTo(to, key, &q, &h) {
		return
	}
	if h.SysFlag&protocol.PullFlagCommitOffset != 0 {
		p.b.commitOffset(c, key, h.CommitOffset)
	}
	p.read(&q, true)
}

// read looks into the store and answers, now or later. hot says that it must not wait for the disk.
func (p *puller) read(q *pull, hot bool) {
	if q.topic.Limits.TTL > 0 && p.passOver(q, hot) {
		return
	}
	get := store.GetRequest{Topic: q.topic.Name(), QueueID: q.queueID, Offset: q.offset, MaxCount: q.maxCount, MaxBytes: q.maxBytes,
		Filter: q.filter, HotOnly: hot}
	buf := q.c.BeginReply()
	from := len(buf.Buf)
	var res store.GetResult
	buf.Buf, res = p.get(&get, buf.Buf)
	switch {
	case res.Status == store.GetCold:
		buf.Drop()
		p.readCold(q)
	case res.Status == store.GetFound:
		if q.topic.BatchCQ || q.topic.Light {
			p.rewrite(q, buf, from, &res)
		}
		p.found(q, buf, &res)
	default:
		buf.Drop()
		p.missed(q, &res)
	}
}

// readCold reads on a goroutine that may wait.
func (p *puller) readCold(q *pull) {
	cold := *q
	read := func() {
		defer p.b.guard(cold.c, cold.request)
		p.read(&cold, false)
	}
	if busy := p.b.cold.do(read); busy != nil {
		fail(q.c, q.request(), busy)
	}
}

// found answers with the records in buf.
func (p *puller) found(q *pull, buf *remoting.BodyBuffer, res *store.GetResult) {
	p.note(q, res)
	if p.pulled != nil {
		p.pulled(q.group.Name(), q.topic.Name(), res.Count, int64(res.Bytes))
	}
	buf.Send(q.request(), &remoting.Reply{Remark: "FOUND", Header: p.header(q, res)})
}

// missed answers a pull that got nothing, or holds it.
func (p *puller) missed(q *pull, res *store.GetResult) {
	if q.woken && q.suspendMs > 0 && res.Status == store.GetNoMatched && p.holdOn(q, res) {
		return
	}
	p.b.stats.AddMiss(1)
	code, remark := pullCode(res.Status, q.offset)
	if code == protocol.RespPullNotFound && q.suspendMs > 0 && !q.woken {
		if p.hold(q) {
			return
		}
		fail(q.c, q.request(), overload("%d pulls are held, which is the limit; pull again in a moment", p.b.held.Len()))
		return
	}
	p.note(q, res)
	q.reply(code, remark, p.header(q, res))
}

// note remembers how far the group has pulled.
func (p *puller) note(q *pull, res *store.GetResult) {
	p.b.offsets.Pulled(offset.Key{Group: q.group.Name(), Topic: q.topic.Name(), QueueID: q.queueID}, res.NextBeginOffset)
}

// header is the reply's header; its four positions are always there.
func (p *puller) header(q *pull, res *store.GetResult) *protocol.PullMessageResponseHeader {
	h := &protocol.PullMessageResponseHeader{NextBeginOffset: res.NextBeginOffset, MinOffset: res.MinOffset, MaxOffset: res.MaxOffset,
		TopicSysFlag: protocol.Some(q.topic.Config.TopicSysFlag), GroupSysFlag: protocol.Some(q.group.Config.GroupSysFlag)}
	if p.b.settings().SlaveReadEnable {
		h.SuggestWhichBrokerID = q.group.Config.BrokerID
		if res.FarBehind {
			h.SuggestWhichBrokerID = q.group.Config.WhichBrokerWhenConsumeSlowly
		}
	}
	return h
}

// request is what Conn.Reply needs of the request.
func (q *pull) request() *protocol.Command {
	return &protocol.Command{Code: q.code, Opaque: q.opaque, Flag: q.flag}
}

func (q *pull) reply(code protocol.ResponseCode, remark string, h *protocol.PullMessageResponseHeader) {
	q.c.Reply(q.request(), &remoting.Reply{Code: code, Remark: remark, Header: h})
}

// pullCode maps what the store found to the reply's code and remark, which is Java's name of the status.
func pullCode(s store.GetStatus, asked int64) (protocol.ResponseCode, string) {
	switch s {
	case store.GetFound:
		return protocol.RespSuccess, "FOUND"
	case store.GetNoMatched:
		return protocol.RespPullRetryImmediately, "NO_MATCHED_MESSAGE"
	case store.GetWasRemoving:
		return protocol.RespPullRetryImmediately, "MESSAGE_WAS_REMOVING"
	case store.GetOffsetFoundNull:
		return protocol.RespPullNotFound, "OFFSET_FOUND_NULL"
	case store.GetOffsetOverflowOne:
		return protocol.RespPullNotFound, "OFFSET_OVERFLOW_ONE"
	case store.GetOffsetOverflowBadly:
		return protocol.RespPullOffsetMoved, "OFFSET_OVERFLOW_BADLY"
	case store.GetOffsetTooSmall:
		return protocol.RespPullOffsetMoved, "OFFSET_TOO_SMALL"
	case store.GetNoQueue:
		return emptyCode(asked), "NO_MATCHED_LOGIC_QUEUE"
	case store.GetNoMessageInQueue:
		return emptyCode(asked), "NO_MESSAGE_IN_QUEUE"
	}
	return protocol.RespSystemError, "the store gave an unknown status"
}

// emptyCode is for a queue without messages: whoever asks for more than its beginning is sent back there.
func emptyCode(asked int64) protocol.ResponseCode {
	if asked != 0 {
		return protocol.RespPullOffsetMoved
	}
	return protocol.RespPullNotFound
}

// refuse answers a pull that failed a check.
func (p *puller) refuse(c remoting.Conn, req *protocol.Command, err error) {
	r := refusal(err)
	reply := &remoting.Reply{Code: r.Code, Remark: r.Remark}
	if r.Forbidden != 0 {
		reply.Ext = protocol.ExtFields{{Key: "forbiddenType", Value: string('0' + rune(r.Forbidden))}}
	}
	c.Reply(req, reply)
}
