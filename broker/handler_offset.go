package broker

// QUERY_CONSUMER_OFFSET 14, UPDATE_CONSUMER_OFFSET 15, SEARCH_OFFSET_BY_TIMESTAMP 29, GET_MAX_OFFSET 30, GET_MIN_OFFSET 31,
// GET_EARLIEST_MSG_STORETIME 32, GET_ALL_CONSUMER_OFFSET 43: as Java's ConsumerManageProcessor and AdminBrokerProcessor.
//
// Different from Java: a commit that would lower an offset is taken only from those who mean it (see package offset).

import (
	"errors"
	"fmt"

	"github.com/seedmq/seedmq/broker/offset"
	"github.com/seedmq/seedmq/broker/topic"
	"github.com/seedmq/seedmq/remoting"
	"github.com/seedmq/seedmq/remoting/protocol"
	"github.com/seedmq/seedmq/store"
)

func (b *Broker) offsetRoutes() []remoting.Route {
	return []remoting.Route{
		{Code: protocol.ReqQueryConsumerOffset, Mode: remoting.Inline, Handle: b.queryOffset},
		{Code: protocol.ReqUpdateConsumerOffset, Mode: remoting.Inline, Handle: b.updateOffset},
		{Code: protocol.ReqSearchOffsetByTimestamp, Mode: remoting.Pooled, Pool: poolQuery, Handle: b.searchOffset},
		{Code: protocol.ReqGetMaxOffset, Mode: remoting.Inline, Handle: b.maxOffset},
		{Code: protocol.ReqGetMinOffset, Mode: remoting.Inline, Handle: b.minOffset},
		{Code: protocol.ReqGetEarliestMsgStoreTime, Mode: remoting.Pooled, Pool: poolQuery, Handle: b.earliestTime},
		{Code: protocol.ReqGetAllConsumerOffset, Mode: remoting.Pooled, Pool: poolAdmin, Handle: b.allOffsets},
	}
}

// queryOffset tells the committed offset. A group that has none begins at 0 when the queue still does and its data is young, so
// that new groups of young topics miss nothing; else it is told "not found" and chooses itself.
func (b *Broker) queryOffset(c remoting.Conn, req *protocol.Command) {
	var h protocol.QueryConsumerOffsetRequestHeader
	if err := h.DecodeExt(req.Ext); err != nil {
		fail(c, req, err)
		return
	}
	off, ok := b.offsets.Query(offset.Key{Group: h.ConsumerGroup, Topic: h.Topic, QueueID: h.QueueID})
	switch {
	case ok:
	case !h.SetZeroIfNotFound.Or(true):
		fail(c, req, refuse(protocol.RespQueryNotFound, "Not found, do not set to zero, maybe this group boot first"))
		return
	case !b.store.QueueStillInMemory(h.Topic, h.QueueID):
		fail(c, req, refuse(protocol.RespQueryNotFound, "Not found, V3_0_6_SNAPSHOT maybe this group consumer boot first"))
		return
	}
	c.Reply(req, &remoting.Reply{Header: &protocol.QueryConsumerOffsetResponseHeader{Offset: off}})
}

// updateOffset commits an offset.
func (b *Broker) updateOffset(c remoting.Conn, req *protocol.Command) {
	var h protocol.UpdateConsumerOffsetRequestHeader
	if err := h.DecodeExt(req.Ext); err != nil {
		fail(c, req, err)
		return
	}
	g, t := b.groups.Get(h.ConsumerGroup), b.topics.Get(h.Topic)
	switch {
	case g == nil:
		fail(c, req, refuse(protocol.RespSubscriptionGroupNotExist, "Group %s not exist!", clip(h.ConsumerGroup)))
	case t == nil:
		fail(c, req, refuse(protocol.RespTopicNotExist, "Topic %s not exist!", clip(h.Topic)))
	case h.QueueID < 0:
		fail(c, req, refuse(protocol.RespInvalidParameter, "queueId %d must not be negative (group %s, topic %s)", h.QueueID, g.Name(), t.Name()))
	case !b.hasQueue(t, h.QueueID):
		fail(c, req, refuse(protocol.RespInvalidParameter, "queueId %d is beyond the queues of topic %s (group %s)", h.QueueID, t.Name(), g.Name()))
	default:
		remark := ""
		if b.commitOffset(c, offset.Key{Group: g.Name(), Topic: t.Name(), QueueID: h.QueueID}, h.CommitOffset) == offset.IgnoredReset {
			remark = "Offset has been previously reset"
		}
		c.Reply(req, &remoting.Reply{Remark: remark})
	}
}

// saveOffsets writes the offsets at once, which operators' changes of them need: a kill must not take back what was acknowledged.
func (b *Broker) saveOffsets() error {
	if err := b.offsets.Save(); err != nil {
		return fmt.Errorf("the offsets are changed, but a crash would take that back: %w", err)
	}
	return nil
}

// hasQueue reports whether a topic has a queue, or has had it before its queues became fewer: its messages are still consumed.
func (b *Broker) hasQueue(t *topic.Entry, queueID int32) bool {
	if queueID < t.MaxQueues() {
		return true
	}
	_, _, there := b.store.QueueRange(t.Name(), queueID)
	return there
}

// commitOffset commits for whoever is on c. Somebody who is no member of the group acts on purpose, as mqadmin does; so does one who
// says less although the stored offset lies beyond the queue's end, which happens after a topic was made anew.
//
// A negative offset, which the Go client sends for a queue it has read nothing of, changes nothing.
func (b *Broker) commitOffset(c remoting.Conn, k offset.Key, off int64) offset.Outcome {
	if off < 0 {
		return offset.Unchanged
	}
	by := offset.Origin{Conn: c.ID()}
	if now, ok := b.offsets.Query(k); ok && off < now {
		_, end, there := b.store.QueueRange(k.Topic, k.QueueID)
		by.Explicit = !b.clients.IsMember(k.Group, c.ID()) || there && now > end
		by.Addr = c.RemoteAddr().String()
	}
	return b.offsets.Commit(k, off, by)
}

// maxOffset tells the next offset of a queue, 0 for one without messages.
func (b *Broker) maxOffset(c remoting.Conn, req *protocol.Command) {
	var h protocol.GetMaxOffsetRequestHeader
	if err := h.DecodeExt(req.Ext); err != nil {
		fail(c, req, err)
		return
	}
	_, end, _ := b.store.QueueRange(h.Topic, h.QueueID)
	c.Reply(req, &remoting.Reply{Header: &protocol.GetMaxOffsetResponseHeader{Offset: end}})
}

// minOffset tells the first offset of a queue, 0 for one without messages.
func (b *Broker) minOffset(c remoting.Conn, req *protocol.Command) {
	var h protocol.GetMinOffsetRequestHeader
	if err := h.DecodeExt(req.Ext); err != nil {
		fail(c, req, err)
		return
	}
	begin, _, _ := b.store.QueueRange(h.Topic, h.QueueID)
	c.Reply(req, &remoting.Reply{Header: &protocol.GetMinOffsetResponseHeader{Offset: begin}})
}

// searchOffset tells the offset for a store time.
func (b *Broker) searchOffset(c remoting.Conn, req *protocol.Command) {
	var h protocol.SearchOffsetByTimestampRequestHeader
	if err := h.DecodeExt(req.Ext); err != nil {
		fail(c, req, err)
		return
	}
	side := store.Lower
	if h.BoundaryType == "UPPER" || h.BoundaryType == "upper" {
		side = store.Upper
	}
	off, err := b.store.OffsetByTime(h.Topic, h.QueueID, h.Timestamp, side)
	if errors.Is(err, store.ErrNotFound) {
		off, err = 0, nil
	}
	done(c, req, &protocol.SearchOffsetByTimestampResponseHeader{Offset: off}, nil, err)
}

// earliestTime tells the store time of a queue's first message, -1 for one without messages.
func (b *Broker) earliestTime(c remoting.Conn, req *protocol.Command) {
	var h protocol.GetEarliestMsgStoreTimeRequestHeader
	if err := h.DecodeExt(req.Ext); err != nil {
		fail(c, req, err)
		return
	}
	at := int64(-1)
	begin, end, ok := b.store.QueueRange(h.Topic, h.QueueID)
	var err error
	if ok && begin < end {
		if at, err = b.store.StoreTime(h.Topic, h.QueueID, begin); errors.Is(err, store.ErrNotFound) {
			at, err = -1, nil
		}
	}
	done(c, req, &protocol.GetEarliestMsgStoreTimeResponseHeader{Timestamp: at}, nil, err)
}

// allOffsets tells all committed offsets.
func (b *Broker) allOffsets(c remoting.Conn, req *protocol.Command) {
	body, err := protocol.MarshalFast(&protocol.ConsumerOffsetWrapper{DataVersion: b.offsets.DataVersion(), OffsetTable: b.offsets.All()})
	done(c, req, nil, body, err)
}
