package broker

// PURGE_TOPIC 700001: our own, Java has none.
//
// The messages that a topic or one queue has now are hidden for good: the queue begins behind them, other topics are not touched, offsets
// go on. Nothing is removed from the disk: see docs/design/retention.md. Groups that had not read them stand at the queue's new beginning.

import (
	"errors"
	"math"
	"slices"
	"strings"

	"github.com/seedmq/seedmq/broker/offset"
	"github.com/seedmq/seedmq/broker/topic"
	"github.com/seedmq/seedmq/remoting"
	"github.com/seedmq/seedmq/remoting/protocol"
	"github.com/seedmq/seedmq/store"
)

// purgeTopic hides messages, or counts those that it would.
func (b *Broker) purgeTopic(c *call, h *protocol.PurgeTopicRequestHeader) (*remoting.Reply, error) {
	e, err := b.checkPurge(h)
	if err != nil {
		return nil, err
	}
	queues := b.queuesOf(e)
	if h.QueueID.OK {
		if !slices.Contains(queues, h.QueueID.V) {
			return nil, refuse(protocol.RespInvalidParameter, "queueId[%d] is illegal, topic:[%s] has queues 0 to %d", h.QueueID.V, e.Name(), e.MaxQueues()-1)
		}
		queues = []int32{h.QueueID.V}
	}
	mins, err := b.purgeTargets(e.Name(), queues, h.Before)
	if err != nil {
		return nil, err
	}
	if h.Preview {
		return b.purgeReply(e.Name(), queues, mins, b.wouldHide(mins))
	}
	hidden, err := b.store.Raise(mins)
	if err != nil {
		return nil, err
	}
	total := int64(0)
	for _, n := range hidden {
		total += n
	}
	b.log.Infof("topic %s: %d messages of %d queues purged by %s", e.Name(), total, len(queues), c.who())
	b.moveBehindPurge(e.Name(), mins, c.who())
	return b.purgeReply(e.Name(), queues, mins, hidden)
}

// checkPurge finds the topic that may be purged.
func (b *Broker) checkPurge(h *protocol.PurgeTopicRequestHeader) (*topic.Entry, error) {
	if b.isSystemTopic(h.Topic) {
		return nil, refuse(protocol.RespInvalidParameter, "The topic[%s] is conflict with system topic.", clip(h.Topic))
	}
	e := b.topics.Get(h.Topic)
	if e == nil {
		return nil, refuse(protocol.RespTopicNotExist, "topic[%s] not exist", clip(h.Topic))
	}
	if h.Before.OK && h.Before.V < 0 {
		return nil, refuse(protocol.RespInvalidParameter, "before: %d is no time in ms", h.Before.V)
	}
	return e, nil
}

// queuesOf lists the queues of a topic: those that it is configured with, and those that it once had.
func (b *Broker) queuesOf(e *topic.Entry) []int32 {
	queues := b.store.Queues(e.Name())
	for q := range e.MaxQueues() {
		if !slices.Contains(queues, q) {
			queues = append(queues, q)
		}
	}
	slices.Sort(queues)
	return queues
}

// purgeTargets says where the queues are to begin. Those without messages have no target.
func (b *Broker) purgeTargets(name string, queues []int32, before protocol.Opt[int64]) ([]store.QueueMin, error) {
	var mins []store.QueueMin
	for _, q := range queues {
		if _, _, there := b.store.QueueRange(name, q); !there {
			continue
		}
		m := store.QueueMin{Topic: strings.Clone(name), QueueID: q, Offset: math.MaxInt64}
		if before.OK {
			at, err := b.store.OffsetByTime(name, q, before.V, store.Lower)
			if errors.Is(err, store.ErrNotFound) {
				continue // deleted meanwhile
			}
			if err != nil {
				return nil, err
			}
			m.Offset = at
		}
		mins = append(mins, m)
	}
	return mins, nil
}

// wouldHide counts the messages in front of targets, as the store would.
func (b *Broker) wouldHide(mins []store.QueueMin) []int64 {
	var out []int64
	for _, m := range mins {
		first, end, _ := b.store.QueueRange(m.Topic, m.QueueID)
		out = append(out, max(0, min(m.Offset, end)-first))
	}
	return out
}

// purgeReply tells for each queue where it begins and ends now, and how many messages were or would be hidden.
func (b *Broker) purgeReply(name string, queues []int32, mins []store.QueueMin, hidden []int64) (*remoting.Reply, error) {
	var body protocol.PurgeTopicResponseBody
	for _, q := range queues {
		row := protocol.PurgedQueue{QueueID: q}
		row.MinOffset, row.MaxOffset, _ = b.store.QueueRange(name, q)
		if i := slices.IndexFunc(mins, func(m store.QueueMin) bool { return m.QueueID == q }); i >= 0 {
			row.Messages = hidden[i]
		}
		body.Queues = append(body.Queues, row)
	}
	return jsonReply(&body)
}

// moveBehindPurge moves the groups that stand before a queue's new beginning there: what they had not read is no lag any more. Members that are
// online follow as after a reset, which has them drop what they have pulled.
func (b *Broker) moveBehindPurge(name string, mins []store.QueueMin, who string) {
	groups := append(b.clients.Groups(name), b.offsets.Groups(name)...)
	slices.Sort(groups)
	for _, group := range slices.Compact(groups) {
		if behind := b.moveGroup(group, name, mins, who); len(behind) > 0 {
			b.followReset(group, name, behind)
		}
	}
}

// moveGroup moves one group, and returns the queues that its members have to follow in.
func (b *Broker) moveGroup(group, name string, mins []store.QueueMin, who string) (behind []offset.Key) {
	members, online := b.clients.Consumers(group)
	if members.MessageModel == protocol.ModelBroadcasting {
		return nil // they keep their own offsets
	}
	for _, m := range mins {
		first, _, _ := b.store.QueueRange(name, m.QueueID)
		k := offset.Key{Group: group, Topic: name, QueueID: m.QueueID}
		at, committed := b.offsets.Query(k)
		_, pulls := b.offsets.QueryPulled(k)
		switch {
		case committed && at >= first:
		case online && (committed || pulls):
			b.offsets.Reset(k, first, who)
			behind = append(behind, k)
		case committed:
			// Should the group have moved on meanwhile, this is late, and ignored.
			b.offsets.Commit(k, first, offset.Origin{Addr: who})
		}
	}
	return behind
}
