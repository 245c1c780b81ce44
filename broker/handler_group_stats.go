package broker

// GET_CONSUME_STATS 208, QUERY_TOPIC_CONSUME_BY_WHO 300, QUERY_CONSUME_TIME_SPAN 303, QUERY_CORRECTION_OFFSET 308, CLONE_GROUP_OFFSET 314,
// GET_BROKER_CONSUME_STATS 317, QUERY_TOPICS_BY_CONSUMER 343: how far consumer groups are, as Java's AdminBrokerProcessor.

import (
	"math"
	"slices"
	"strings"

	"github.com/seedmq/seedmq/broker/offset"
	"github.com/seedmq/seedmq/broker/stats"
	"github.com/seedmq/seedmq/broker/topic"
	"github.com/seedmq/seedmq/remoting"
	"github.com/seedmq/seedmq/remoting/protocol"
)

// putRate and getRate are messages per second over the last minute.
func (b *Broker) putRate(topic string) float64 {
	d, _ := b.stats.View(stats.TopicPutNums, topic)
	return d.StatsMinute.TPS
}

func (b *Broker) getRate(topic, group string) float64 {
	d, _ := b.stats.View(stats.GroupGetNums, topic+"@"+group)
	return d.StatsMinute.TPS
}

// consumeStats tells how far a group is in one topic, in a list of topics, or in all that it has offsets of.
func (b *Broker) consumeStats(_ *call, h *protocol.GetConsumeStatsRequestHeader) (*remoting.Reply, error) {
	var topics []string
	switch {
	case strings.TrimSpace(h.TopicList) != "":
		topics = strings.Split(h.TopicList, ";")
	case strings.TrimSpace(h.Topic) != "":
		topics = []string{h.Topic}
	default:
		topics = b.offsets.Topics(h.ConsumerGroup)
	}
	body := protocol.ConsumeStats{OffsetTable: protocol.MessageQueueMap[protocol.OffsetWrapper]{}}
	for _, name := range topics {
		if e := b.topics.Get(name); e != nil && b.wants(h.ConsumerGroup, name) {
			b.addConsumeStats(&body, h.ConsumerGroup, e)
		}
	}
	return jsonReply(&body)
}

// wants is false for a topic that a connected group does not subscribe to any more.
func (b *Broker) wants(group, topic string) bool {
	s, _, online := b.clients.Lookup(group, topic, 0)
	return s != nil || !online
}

// addConsumeStats adds one topic to body. A queue without a committed offset counts as being at 0, as in Java.
func (b *Broker) addConsumeStats(body *protocol.ConsumeStats, group string, e *topic.Entry) {
	for q := range int32(e.Config.ReadQueueNums) {
		k := offset.Key{Group: group, Topic: e.Name(), QueueID: q}
		_, end, _ := b.store.QueueRange(e.Name(), q)
		at, _ := b.offsets.Query(k)
		pulled, _ := b.offsets.QueryPulled(k)
		w := protocol.OffsetWrapper{BrokerOffset: end, ConsumerOffset: at, PullOffset: max(at, pulled)}
		if at > 0 {
			w.LastTimestamp = b.storeTime(e.Name(), q, at-1)
		}
		body.OffsetTable[b.queue(e.Name(), q)] = w
	}
	body.ConsumeTps += b.getRate(e.Name(), group)
}

// brokerConsumeStats tells how far all groups are.
func (b *Broker) brokerConsumeStats(_ *call, h *protocol.GetBrokerConsumeStatsRequestHeader) (*remoting.Reply, error) {
	body := protocol.ConsumeStatsList{BrokerAddr: b.Self().String(), ConsumeStatsList: []map[string][]protocol.ConsumeStats{}}
	for _, g := range b.groups.All() {
		list := []protocol.ConsumeStats{}
		for _, name := range b.offsets.Topics(g.Name()) {
			e := b.topics.Get(name)
			if e == nil || h.IsOrder && !e.Config.Order || !b.wants(g.Name(), name) {
				continue
			}
			one := protocol.ConsumeStats{OffsetTable: protocol.MessageQueueMap[protocol.OffsetWrapper]{}}
			b.addConsumeStats(&one, g.Name(), e)
			for _, w := range one.OffsetTable {
				body.TotalDiff += w.BrokerOffset - w.ConsumerOffset
				body.TotalInflightDiff += w.PullOffset - w.ConsumerOffset
			}
			list = append(list, one)
		}
		body.ConsumeStatsList = append(body.ConsumeStatsList, map[string][]protocol.ConsumeStats{g.Name(): list})
	}
	return jsonReply(&body)
}

// consumersOfTopic lists the groups that subscribe to a topic or have offsets of it.
func (b *Broker) consumersOfTopic(_ *call, h *protocol.QueryTopicConsumeByWhoRequestHeader) (*remoting.Reply, error) {
	list := append(b.clients.Groups(h.Topic), b.offsets.Groups(h.Topic)...)
	slices.Sort(list)
	return jsonReply(&protocol.GroupList{GroupList: notNil(slices.Compact(list))})
}

// topicsOfGroup lists the topics that a group has offsets of.
func (b *Broker) topicsOfGroup(_ *call, h *protocol.QueryTopicsByConsumerRequestHeader) (*remoting.Reply, error) {
	return jsonReply(&protocol.TopicList{TopicList: notNil(b.offsets.Topics(h.Group))})
}

// notNil makes an empty list of none: Java readers stumble over null.
func notNil(list []string) []string {
	if list == nil {
		return []string{}
	}
	return list
}

// consumeTimeSpan tells, queue by queue, between which times a topic's messages were stored and which of them is consumed next.
func (b *Broker) consumeTimeSpan(_ *call, h *protocol.QueryConsumeTimeSpanRequestHeader) (*remoting.Reply, error) {
	e := b.topics.Get(h.Topic)
	if e == nil {
		return nil, refuse(protocol.RespTopicNotExist, "topic[%s] not exist", clip(h.Topic))
	}
	body := protocol.QueryConsumeTimeSpanBody{ConsumeTimeSpanSet: []protocol.QueueTimeSpan{}}
	now := b.clk.Now().UnixMilli()
	for q := range int32(e.Config.WriteQueueNums) {
		begin, end, _ := b.store.QueueRange(e.Name(), q)
		span := protocol.QueueTimeSpan{MessageQueue: b.queue(e.Name(), q), MinTimestamp: b.storeTime(e.Name(), q, begin),
			MaxTimestamp: b.storeTime(e.Name(), q, end-1)}
		at, _ := b.offsets.Query(offset.Key{Group: h.Group, Topic: e.Name(), QueueID: q})
		if span.ConsumeTimestamp = span.MinTimestamp; at > 0 {
			span.ConsumeTimestamp = b.storeTime(e.Name(), q, at-1)
		}
		if at < end {
			if next := b.storeTime(e.Name(), q, max(at, begin)); next > 0 {
				span.DelayTime = now - next
			}
		}
		body.ConsumeTimeSpanSet = append(body.ConsumeTimeSpanSet, span)
	}
	return jsonReply(&body)
}

// correctionOffset tells the smallest offset that any group has, for those queues where the group to compare with is not further
// back.
func (b *Broker) correctionOffset(_ *call, h *protocol.QueryCorrectionOffsetRequestHeader) (*remoting.Reply, error) {
	skip := strings.Split(h.FilterGroups, ",")
	out := map[int32]int64{}
	for _, group := range b.offsets.Groups(h.Topic) {
		if slices.Contains(skip, group) {
			continue
		}
		for q, at := range b.offsets.Queues(group, h.Topic) {
			begin, _, _ := b.store.QueueRange(h.Topic, q)
			if was, there := out[q]; at >= begin && (!there || at < was) {
				out[q] = at
			}
		}
	}
	for q, at := range b.offsets.Queues(h.CompareGroup, h.Topic) {
		if least, there := out[q]; there {
			if least > at {
				out[q] = math.MaxInt64
			} else {
				out[q] = at
			}
		}
	}
	return jsonReply(&protocol.QueryCorrectionOffsetBody{CorrectionOffsets: out})
}

// cloneOffsets gives one group the offsets of another, for one topic or all. Topics that the other, being online, does not
// subscribe to are passed over unless it is to be done as if it were offline.
func (b *Broker) cloneOffsets(c *call, h *protocol.CloneGroupOffsetRequestHeader) (*remoting.Reply, error) {
	if err := protocol.CheckGroup(h.DestGroup); err != nil {
		return nil, err
	}
	topics := []string{h.Topic}
	if strings.TrimSpace(h.Topic) == "" {
		topics = b.offsets.Topics(h.SrcGroup)
	}
	for _, name := range topics {
		if b.topics.Get(name) == nil || !h.Offline.Or(false) && !b.wants(h.DestGroup, name) {
			continue
		}
		b.offsets.Clone(h.SrcGroup, strings.Clone(h.DestGroup), strings.Clone(name), c.who())
		b.followClone(strings.Clone(h.DestGroup), h.SrcGroup, strings.Clone(name), c.who())
	}
	if err := b.saveOffsets(); err != nil {
		return nil, err
	}
	return ok()
}
