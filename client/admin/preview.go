package admin

import (
	"cmp"
	"context"
	"slices"

	"github.com/seedmq/seedmq/remoting/protocol"
)

// Move is what a change of a group's offset would do to one queue. Offsets are those of the next message.
type Move struct {
	Queue     protocol.MessageQueue
	Begin     int64 // of the queue
	End       int64
	Committed int64 // of the group; -1 if it has none
	Target    int64
}

// at is where the group is: at the beginning if it has no offset or its offset is of messages that are gone.
func (m Move) at() int64 { return min(max(m.Committed, m.Begin), m.End) }

// Again is how many messages would be consumed again.
func (m Move) Again() int64 { return max(0, m.at()-max(m.Target, m.Begin)) }

// Skipped is how many messages would not be consumed.
func (m Move) Skipped() int64 { return max(0, min(m.Target, m.End)-m.at()) }

// PreviewReset says what ResetOffsets would do, and changes nothing. A group that a broker does not have is an *Error with code
// SUBSCRIPTION_GROUP_NOT_EXIST.
func (c *Client) PreviewReset(ctx context.Context, topic, group string, timestamp int64) ([]Move, error) {
	route, err := c.Route(ctx, topic)
	if err != nil {
		return nil, err
	}
	var out []Move
	for _, b := range routeMasters(route) {
		if err := c.hasGroup(ctx, b.Addr, group); err != nil {
			return nil, err
		}
		for _, d := range route.QueueDatas {
			for id := int32(0); d.BrokerName == b.Broker && id < d.ReadQueueNums; id++ {
				m, err := c.PreviewQueue(ctx, b.Addr, group, protocol.MessageQueue{Topic: topic, BrokerName: b.Broker, QueueID: id}, timestamp)
				if err != nil {
					return nil, err
				}
				out = append(out, m)
			}
		}
	}
	sortMoves(out)
	return out, nil
}

// PreviewQueue says what a reset of one queue of the broker at addr to a time would do.
func (c *Client) PreviewQueue(ctx context.Context, addr, group string, q protocol.MessageQueue, timestamp int64) (Move, error) {
	m, err := c.position(ctx, addr, group, q)
	switch {
	case err != nil || timestamp == LatestTime:
		m.Target = m.End
	default:
		m.Target, err = c.SearchOffset(ctx, addr, q, timestamp)
	}
	return m, err
}

// PreviewClone says what CloneOffsets would do.
func (c *Client) PreviewClone(ctx context.Context, from, to, topic string) ([]Move, error) {
	s, err := c.ConsumeStats(ctx, from, "")
	if err != nil {
		return nil, err
	}
	route, err := c.Route(ctx, topic)
	if err != nil {
		return nil, err
	}
	var out []Move
	for _, q := range s.OffsetTable.SortedQueues() {
		addr, err := MasterOf(route, q.BrokerName)
		if err != nil {
			return nil, err
		}
		if err := c.hasGroup(ctx, addr, to); err != nil {
			return nil, err
		}
		m, err := c.position(ctx, addr, to, q)
		if err != nil {
			return nil, err
		}
		m.Target = s.OffsetTable[q].ConsumerOffset
		out = append(out, m)
	}
	sortMoves(out)
	return out, nil
}

func sortMoves(ms []Move) {
	slices.SortFunc(ms, func(a, b Move) int {
		return cmp.Or(cmp.Compare(a.Queue.Topic, b.Queue.Topic), cmp.Compare(a.Queue.BrokerName, b.Queue.BrokerName), cmp.Compare(a.Queue.QueueID, b.Queue.QueueID))
	})
}

// hasGroup is nil when the broker at addr has the group, or is too old to say.
func (c *Client) hasGroup(ctx context.Context, addr, group string) error {
	h := &protocol.GetSubscriptionGroupConfigRequestHeader{Group: group}
	_, err := c.broker(ctx, addr, request{code: protocol.ReqGetSubscriptionGroupConfig, header: h})
	if IsCode(err, protocol.RespRequestCodeNotSupported) {
		return nil
	}
	return err
}

// position is where a group is in a queue.
func (c *Client) position(ctx context.Context, addr, group string, q protocol.MessageQueue) (m Move, err error) {
	m = Move{Queue: q, Committed: -1}
	if m.Begin, err = c.MinOffset(ctx, addr, q); err != nil {
		return m, err
	}
	if m.End, err = c.MaxOffset(ctx, addr, q); err != nil {
		return m, err
	}
	h := &protocol.QueryConsumerOffsetRequestHeader{ConsumerGroup: group, Topic: q.Topic, QueueID: q.QueueID, SetZeroIfNotFound: protocol.Some(false)}
	off, err := c.offset(ctx, addr, request{code: protocol.ReqQueryConsumerOffset, header: h})
	switch {
	case err == nil:
		m.Committed = off
	case IsCode(err, protocol.RespQueryNotFound):
		err = nil
	}
	return m, err
}
