package admin

import (
	"context"

	"github.com/seedmq/seedmq/remoting/protocol"
)

// LatestTime, as a time to reset to, means the end of each queue.
const LatestTime int64 = -1

// ConsumeStats returns what a group has consumed and what is left, on all brokers that have the group's retry topic; topic "" is all topics.
// A group that has no offsets is an *Error with code CONSUMER_NOT_ONLINE, as Java's client says it.
func (c *Client) ConsumeStats(ctx context.Context, group, topic string) (*protocol.ConsumeStats, error) {
	brokers, err := c.GroupBrokers(ctx, group)
	if err != nil {
		return nil, err
	}
	all := &protocol.ConsumeStats{OffsetTable: protocol.MessageQueueMap[protocol.OffsetWrapper]{}}
	for _, b := range brokers {
		s, err := c.consumeStatsOf(ctx, b.Addr, group, topic)
		if err != nil {
			return nil, err
		}
		for q, o := range s.OffsetTable {
			all.OffsetTable[q] = o
		}
		all.ConsumeTps += s.ConsumeTps
	}
	if len(all.OffsetTable) == 0 {
		return nil, &Error{Code: protocol.RespConsumerNotOnline, Request: protocol.ReqGetConsumeStats,
			Remark: "Not found the consumer group consume stats, because return offset table is empty, maybe the consumer not consume any message"}
	}
	return all, nil
}

func (c *Client) consumeStatsOf(ctx context.Context, addr, group, topic string) (*protocol.ConsumeStats, error) {
	h := &protocol.GetConsumeStatsRequestHeader{ConsumerGroup: group, Topic: topic}
	return decode[protocol.ConsumeStats](c.broker(ctx, addr, request{code: protocol.ReqGetConsumeStats, header: h, timeout: max(consumeStatsTimeout, c.timeout)}))
}

// TotalLag is the number of messages that a group has not consumed.
func TotalLag(s *protocol.ConsumeStats) int64 {
	var n int64
	for _, o := range s.OffsetTable {
		n += o.BrokerOffset - o.ConsumerOffset
	}
	return n
}

// ResetOffsets moves a group's offsets of a topic to the first message stored at or after timestamp (ms; LatestTime is the end), on all brokers
// of the topic, and returns the new offsets. The broker does it, and tells the consumers that are there.
func (c *Client) ResetOffsets(ctx context.Context, topic, group string, timestamp int64, force bool) (protocol.MessageQueueMap[int64], error) {
	brokers, err := c.TopicBrokers(ctx, topic)
	if err != nil {
		return nil, err
	}
	all := protocol.MessageQueueMap[int64]{}
	for _, b := range brokers {
		h := &protocol.InvokeBrokerToResetOffsetRequestHeader{
			Topic: topic, Group: group, Timestamp: timestamp, IsForce: force, QueueID: protocol.Some(int32(-1)), Offset: protocol.Some(int64(-1)),
		}
		r, err := decode[protocol.ResetOffsetBody](c.broker(ctx, b.Addr, request{code: protocol.ReqInvokeBrokerToResetOffset, header: h}))
		if err != nil {
			return nil, err
		}
		for q, o := range r.OffsetTable {
			all[q] = o
		}
	}
	return all, nil
}

// ResetQueueOffset moves a group's offset of one queue of the broker at addr.
func (c *Client) ResetQueueOffset(ctx context.Context, addr, topic, group string, queueID int32, offset int64) error {
	if err := c.CommitOffset(ctx, addr, topic, group, queueID, offset); err != nil {
		return err
	}
	h := &protocol.InvokeBrokerToResetOffsetRequestHeader{Topic: topic, Group: group, QueueID: protocol.Some(queueID), Offset: protocol.Some(offset)}
	_, err := c.broker(ctx, addr, request{code: protocol.ReqInvokeBrokerToResetOffset, header: h})
	return err
}

// CommitOffset sets a group's offset of one queue of the broker at addr.
func (c *Client) CommitOffset(ctx context.Context, addr, topic, group string, queueID int32, offset int64) error {
	h := &protocol.UpdateConsumerOffsetRequestHeader{ConsumerGroup: group, Topic: topic, QueueID: queueID, CommitOffset: offset}
	_, err := c.broker(ctx, addr, request{code: protocol.ReqUpdateConsumerOffset, header: h})
	return err
}

// Rollback is what an offline reset did to one queue.
type Rollback struct {
	Queue                                                         protocol.MessageQueue
	BrokerOffset, ConsumerOffset, TimestampOffset, RollbackOffset int64
}

// ResetOffsetsOffline does on the client's side what ResetOffsets asks of the broker, for brokers that only reset groups with clients:
// it moves each queue to timestamp, forwards only if force.
func (c *Client) ResetOffsetsOffline(ctx context.Context, topic, group string, timestamp int64, force bool) ([]Rollback, error) {
	brokers, err := c.TopicBrokers(ctx, topic)
	if err != nil {
		return nil, err
	}
	var out []Rollback
	for _, b := range brokers {
		s, err := c.consumeStatsOf(ctx, b.Addr, group, topic)
		if err != nil {
			return out, err
		}
		for _, q := range s.OffsetTable.SortedQueues() {
			r, err := c.rollBack(ctx, b.Addr, q, s.OffsetTable[q], group, timestamp, force)
			if err != nil {
				return out, err
			}
			out = append(out, r)
		}
	}
	return out, nil
}

func (c *Client) rollBack(ctx context.Context, addr string, q protocol.MessageQueue, o protocol.OffsetWrapper, group string, timestamp int64, force bool) (Rollback, error) {
	r := Rollback{Queue: q, BrokerOffset: o.BrokerOffset, ConsumerOffset: o.ConsumerOffset, RollbackOffset: o.ConsumerOffset}
	var err error
	if timestamp == LatestTime {
		r.TimestampOffset, err = c.MaxOffset(ctx, addr, q)
	} else {
		r.TimestampOffset, err = c.SearchOffset(ctx, addr, q, timestamp)
	}
	if err == nil && (force || r.TimestampOffset <= o.ConsumerOffset) {
		r.RollbackOffset = r.TimestampOffset
		err = c.CommitOffset(ctx, addr, q.Topic, group, q.QueueID, r.RollbackOffset)
	}
	return r, err
}

// CloneOffsets gives group to all offsets that group from has, on the brokers of topic. If group to has members there, they are made to
// follow, as by ResetQueueOffset.
func (c *Client) CloneOffsets(ctx context.Context, from, to, topic string) error {
	s, err := c.ConsumeStats(ctx, from, "")
	if err != nil {
		return err
	}
	route, err := c.Route(ctx, topic)
	if err != nil {
		return err
	}
	online := map[string]bool{}
	for _, q := range s.OffsetTable.SortedQueues() {
		addr, err := MasterOf(route, q.BrokerName)
		if err != nil {
			return err
		}
		if _, known := online[addr]; !known {
			_, err := c.ConsumerConnection(ctx, to, addr)
			online[addr] = err == nil
		}
		move := c.CommitOffset
		if online[addr] {
			move = c.ResetQueueOffset
		}
		if err := move(ctx, addr, q.Topic, to, q.QueueID, s.OffsetTable[q].ConsumerOffset); err != nil {
			return err
		}
	}
	return nil
}

// MinOffset is the first offset of a queue, on the broker at addr.
func (c *Client) MinOffset(ctx context.Context, addr string, q protocol.MessageQueue) (int64, error) {
	h := &protocol.GetMinOffsetRequestHeader{Topic: q.Topic, QueueID: q.QueueID}
	return c.offset(ctx, addr, request{code: protocol.ReqGetMinOffset, header: h})
}

// MaxOffset is the offset that a queue's next message will have.
func (c *Client) MaxOffset(ctx context.Context, addr string, q protocol.MessageQueue) (int64, error) {
	h := &protocol.GetMaxOffsetRequestHeader{Topic: q.Topic, QueueID: q.QueueID, Committed: protocol.Some(true)}
	return c.offset(ctx, addr, request{code: protocol.ReqGetMaxOffset, header: h})
}

// SearchOffset is the offset of the first message stored at or after timestamp (ms).
func (c *Client) SearchOffset(ctx context.Context, addr string, q protocol.MessageQueue, timestamp int64) (int64, error) {
	h := &protocol.SearchOffsetByTimestampRequestHeader{Topic: q.Topic, QueueID: q.QueueID, Timestamp: timestamp}
	return c.offset(ctx, addr, request{code: protocol.ReqSearchOffsetByTimestamp, header: h})
}

func (c *Client) offset(ctx context.Context, addr string, r request) (int64, error) {
	reply, err := c.broker(ctx, addr, r)
	if err != nil {
		return 0, err
	}
	var out protocol.QueryConsumerOffsetResponseHeader
	err = out.DecodeExt(reply.Ext)
	return out.Offset, err
}
