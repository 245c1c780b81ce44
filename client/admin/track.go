package admin

import (
	"context"
	"slices"

	"github.com/seedmq/seedmq/remoting/protocol"
)

// TrackType says what became of a message in a consumer group.
type TrackType string

// Track types, in Java's words.
const (
	TrackConsumed     TrackType = "CONSUMED"
	TrackFiltered     TrackType = "CONSUMED_BUT_FILTERED"
	TrackPull         TrackType = "PULL"
	TrackNotYet       TrackType = "NOT_CONSUME_YET"
	TrackNotOnline    TrackType = "NOT_ONLINE"
	TrackBroadcasting TrackType = "CONSUME_BROADCASTING"
	TrackUnknown      TrackType = "UNKNOWN"
)

// Track is one group's relation to a message. Err, when set, is why it is not better known.
type Track struct {
	Group string
	Type  TrackType
	Err   error
}

// Tracks says, for each group that consumes the message's topic, whether it has consumed the message.
func (c *Client) Tracks(ctx context.Context, m *Message) ([]Track, error) {
	groups, err := c.TopicGroups(ctx, m.Topic)
	if err != nil {
		return nil, err
	}
	out := make([]Track, 0, len(groups))
	for _, g := range groups {
		t := Track{Group: g, Type: TrackUnknown}
		t.Type, t.Err = c.track(ctx, m, g)
		if ctx.Err() != nil {
			return out, ctx.Err()
		}
		out = append(out, t)
	}
	return out, nil
}

func (c *Client) track(ctx context.Context, m *Message, group string) (TrackType, error) {
	conn, err := c.ConsumerConnection(ctx, group, "")
	switch {
	case IsCode(err, protocol.RespConsumerNotOnline):
		return TrackNotOnline, err
	case err != nil:
		return TrackUnknown, err
	case conn.ConsumeType == protocol.ConsumeActively:
		return TrackPull, nil
	case conn.MessageModel == protocol.ModelBroadcasting:
		return TrackBroadcasting, nil
	}
	consumed, err := c.consumed(ctx, m, group)
	switch {
	case err != nil:
		return TrackUnknown, err
	case !consumed:
		return TrackNotYet, nil
	}
	if sub, ok := conn.SubscriptionTable[m.Topic]; ok && len(sub.TagsSet) > 0 &&
		!slices.Contains(sub.TagsSet, m.Properties[protocol.PropertyTags]) && !slices.Contains(sub.TagsSet, "*") {
		return TrackFiltered, nil
	}
	return TrackConsumed, nil
}

// consumed reports whether the group's offset of the message's queue is beyond the message.
func (c *Client) consumed(ctx context.Context, m *Message, group string) (bool, error) {
	stats, err := c.ConsumeStats(ctx, group, "")
	if err != nil {
		return false, err
	}
	info, err := c.Cluster(ctx)
	if err != nil {
		return false, err
	}
	for q, o := range stats.OffsetTable {
		if q.Topic != m.Topic || q.QueueID != m.QueueID || o.ConsumerOffset <= m.QueueOffset {
			continue
		}
		b, ok := info.BrokerAddrTable[q.BrokerName]
		if !ok {
			continue
		}
		if addr, ok := masterAddr(&b); ok && addr == m.StoreHost.String() {
			return true, nil
		}
	}
	return false, nil
}
