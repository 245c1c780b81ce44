package broker

// QUERY_MESSAGE 12, VIEW_MESSAGE_BY_ID 33, QUERY_CONSUME_QUEUE 321: finding messages, as Java's QueryMessageProcessor and
// AdminBrokerProcessor.
//
// Different from Java: what is found by key has been compared with the key, so that a hash collision brings no foreign message; the
// answer is bounded in bytes.

import (
	"errors"
	"math"

	"github.com/seedmq/seedmq/remoting"
	"github.com/seedmq/seedmq/remoting/protocol"
	"github.com/seedmq/seedmq/store"
)

const (
	// maxQueryBytes bounds the messages of one answer; the first is always given.
	maxQueryBytes = 16 << 20
	// maxQueueUnits bounds the units of one QUERY_CONSUME_QUEUE.
	maxQueueUnits = 10_000
	maxKeyLength  = 4096
)

func (b *Broker) queryRoutes() []remoting.Route {
	return []remoting.Route{
		{Code: protocol.ReqQueryMessage, Mode: remoting.Pooled, Pool: poolQuery, Handle: b.queryMessage},
		{Code: protocol.ReqViewMessageByID, Mode: remoting.Pooled, Pool: poolQuery, Handle: b.viewMessage},
		{Code: protocol.ReqQueryConsumeQueue, Mode: remoting.Pooled, Pool: poolQuery, Handle: admin(b.queryQueue)},
	}
}

// keyKind says which kind of key is meant: 5.5 clients name it, older ones mark unique keys only.
func keyKind(h *protocol.QueryMessageRequestHeader) store.KeyKind {
	switch {
	case h.UniqueKeyQuery.Or(false), h.IndexType == "U":
		return store.KeyUniq
	case h.IndexType == "T":
		return store.KeyTag
	}
	return store.KeyUser
}

// queryMessage finds messages by key.
func (b *Broker) queryMessage(c remoting.Conn, req *protocol.Command) {
	var h protocol.QueryMessageRequestHeader
	if err := h.DecodeExt(req.Ext); err != nil {
		fail(c, req, err)
		return
	}
	s := b.settings()
	kind, most := keyKind(&h), int(h.MaxNum)
	if kind == store.KeyUniq {
		most = s.Store.DefaultQueryMaxNum
	}
	most = max(1, min(most, s.Store.MaxMsgsNumBatch))
	var found store.QueryResult
	err := error(store.ErrNotFound)
	if h.Key != "" && len(h.Key) <= maxKeyLength && protocol.CheckTopic(h.Topic) == nil {
		found, err = b.store.QueryKey(h.Topic, h.Key, kind, most, h.BeginTimestamp, h.EndTimestamp)
	}
	if err != nil && !errors.Is(err, store.ErrNotFound) {
		fail(c, req, err)
		return
	}
	reach := &protocol.QueryMessageResponseHeader{IndexLastUpdateTimestamp: found.IndexLastUpdateTime, IndexLastUpdatePhyoffset: found.IndexLastUpdatePhys}
	if len(found.Records) == 0 {
		c.Reply(req, &remoting.Reply{Code: protocol.RespQueryNotFound, Remark: "can not find message, maybe time range not correct", Header: reach})
		return
	}
	body := c.BeginReply()
	for i, rec := range found.Records {
		if i > 0 && len(body.Buf)+len(rec) > maxQueryBytes {
			break
		}
		body.Buf = append(body.Buf, rec...)
	}
	body.Send(req, &remoting.Reply{Header: reach})
}

// viewMessage tells the message at a log position.
func (b *Broker) viewMessage(c remoting.Conn, req *protocol.Command) {
	var h protocol.ViewMessageByIDRequestHeader
	if err := h.DecodeExt(req.Ext); err != nil {
		fail(c, req, err)
		return
	}
	body := c.BeginReply()
	rec, err := b.store.Record(h.Offset, body.Buf)
	if err != nil {
		body.Drop()
		if errors.Is(err, store.ErrNotFound) {
			err = refuse(protocol.RespSystemError, "can not find message by the offset, %d", h.Offset)
		}
		fail(c, req, err)
		return
	}
	body.Buf = rec
	body.Send(req, &remoting.Reply{})
}

// queryQueue tells units of a consume queue: count of them from index on, or the newest for a negative index.
func (b *Broker) queryQueue(_ *call, h *protocol.QueryConsumeQueueRequestHeader) (*remoting.Reply, error) {
	begin, end, there := b.store.QueueRange(h.Topic, h.QueueID.Or(0))
	if !there {
		return nil, refuse(protocol.RespSystemError, "%d@%s is not exist!", h.QueueID.Or(0), clip(h.Topic))
	}
	body := protocol.QueryConsumeQueueResponseBody{MaxQueueIndex: end, MinQueueIndex: begin, QueueData: []protocol.ConsumeQueueData{}}
	if h.ConsumerGroup != "" {
		if s, _, _ := b.clients.Lookup(h.ConsumerGroup, h.Topic, 0); s != nil {
			body.SubscriptionData, body.FilterData = &s.Data, b.filterText(h.Topic, h.ConsumerGroup)
		} else {
			body.FilterData = clip(h.ConsumerGroup) + "@" + clip(h.Topic) + " is not online!"
		}
	}
	count := min(max(0, int64(h.Count.Or(0))), maxQueueUnits)
	index := h.Index.Or(0)
	if index < 0 {
		index = end - count
	}
	index = min(max(index, begin), end)
	if count == 0 || index == end {
		return jsonReply(&body)
	}
	units, err := b.store.QueueUnits(h.Topic, h.QueueID.Or(0), index, int(min(count, math.MaxInt32)))
	if err != nil && !errors.Is(err, store.ErrNotFound) {
		return nil, err
	}
	for _, u := range units {
		body.QueueData = append(body.QueueData, protocol.ConsumeQueueData{PhysicOffset: u.PhysicalOffset, PhysicSize: u.Size, TagsCode: u.TagsCode})
	}
	return jsonReply(&body)
}
