package broker

// UPDATE_AND_CREATE_TOPIC 17, UPDATE_AND_CREATE_TOPIC_LIST 18, GET_ALL_TOPIC_CONFIG 21, GET_TOPIC_STATS_INFO 202, DELETE_TOPIC_IN_BROKER 215,
// GET_SYSTEM_TOPIC_LIST_FROM_BROKER 305, CLEAN_EXPIRED_CONSUMEQUEUE 306, CLEAN_UNUSED_TOPIC 316, DELETE_EXPIRED_COMMITLOG 329,
// GET_TOPIC_CONFIG 351: as Java's AdminBrokerProcessor.
//
// Different from Java: permissions and queue numbers are checked. Taking read queues away is allowed, as there; what they still
// hold stays in the store, is named in the log, and is readable again once the number is raised.
// Left out: static topics.

import (
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"strings"

	"github.com/seedmq/seedmq/broker/topic"
	"github.com/seedmq/seedmq/remoting"
	"github.com/seedmq/seedmq/remoting/protocol"
	"github.com/seedmq/seedmq/store"
)

// maxQueues bounds the queues of a topic: each costs memory, files and a place in every route.
const maxQueues = 16384

// pageSize is the most entries of a table in one answer to a client that pages (splitMetadataSize).
const pageSize = 2000

// updateTopic makes or changes one topic.
func (b *Broker) updateTopic(c *call, h *protocol.UpdateAndCreateTopicRequestHeader) (*remoting.Reply, error) {
	changes, err := parseAttributes(h.Attributes)
	if err != nil {
		return nil, err
	}
	t := protocol.NewTopicConfig(strings.Clone(h.Topic))
	t.ReadQueueNums, t.WriteQueueNums, t.Perm, t.Order = h.ReadQueueNums, h.WriteQueueNums, h.Perm, h.Order
	t.TopicSysFlag = h.TopicSysFlag.Or(0)
	if h.TopicFilterType != "" {
		t.TopicFilterType = strings.Clone(h.TopicFilterType)
	}
	if err := b.changeTopics(c, []protocol.TopicConfig{t}, []map[string]string{changes}); err != nil {
		return nil, err
	}
	return ok()
}

// updateTopicList makes or changes many topics, all or none.
func (b *Broker) updateTopicList(c *call, _ *none) (*remoting.Reply, error) {
	var body protocol.CreateTopicListRequestBody
	if err := decodeBody(c, &body); err != nil {
		return nil, err
	}
	attributes := make([]map[string]string, len(body.TopicConfigList))
	for i := range body.TopicConfigList {
		attributes[i] = body.TopicConfigList[i].Attributes
	}
	if err := b.changeTopics(c, body.TopicConfigList, attributes); err != nil {
		return nil, err
	}
	return ok()
}

// changeTopics checks topics, applies their attribute changes and stores those that differ from what is there.
func (b *Broker) changeTopics(c *call, ts []protocol.TopicConfig, attributes []map[string]string) error {
	var changed []protocol.TopicConfig
	for i, t := range ts {
		if err := b.checkTopicChange(&t); err != nil {
			return err
		}
		old := b.topics.Get(t.TopicName)
		var now map[string]string
		if old != nil {
			now = old.Config.Attributes
		}
		var err error
		if t.Attributes, err = alterAttributes(topicAttributes, old == nil, now, attributes[i]); err != nil {
			return err
		}
		if err := b.checkLimits(&t); err != nil {
			return err
		}
		if old != nil {
			if sameTopic(&old.Config, &t) {
				continue
			}
			b.warnOfUnread(old, &t)
		}
		changed = append(changed, t)
	}
	if len(changed) == 0 {
		return nil
	}
	if err := b.topics.UpdateAll(changed); err != nil {
		return err
	}
	for i := range changed {
		t := &changed[i]
		b.log.Infof("topic %s: %d read and %d write queues, perm %s, by %s", t.TopicName, t.ReadQueueNums, t.WriteQueueNums,
			protocol.PermString(t.Perm), c.who())
	}
	return nil
}

func sameTopic(a, b *protocol.TopicConfig) bool {
	return a.ReadQueueNums == b.ReadQueueNums && a.WriteQueueNums == b.WriteQueueNums && a.Perm == b.Perm && a.Order == b.Order &&
		a.TopicFilterType == b.TopicFilterType && a.TopicSysFlag == b.TopicSysFlag && maps.Equal(a.Attributes, b.Attributes)
}

// checkTopicChange says whether a client may make or change the topic like this.
func (b *Broker) checkTopicChange(t *protocol.TopicConfig) error {
	if err := protocol.CheckTopic(t.TopicName); err != nil {
		return err
	}
	if b.settings().ValidateSystemTopicWhenUpdateTopic && b.isSystemTopic(t.TopicName) {
		return refuse(protocol.RespInvalidParameter, "The topic[%s] is conflict with system topic.", t.TopicName)
	}
	if t.ReadQueueNums < 0 || t.ReadQueueNums > maxQueues || t.WriteQueueNums < 0 || t.WriteQueueNums > maxQueues {
		return refuse(protocol.RespInvalidParameter, "topic %s: readQueueNums %d and writeQueueNums %d must be between 0 and %d",
			t.TopicName, t.ReadQueueNums, t.WriteQueueNums, maxQueues)
	}
	if t.Perm < 0 || t.Perm > protocol.PermRead|protocol.PermWrite|protocol.PermInherit {
		return refuse(protocol.RespInvalidParameter, "topic %s: perm %d is none of 2 (W), 4 (R), 6 (RW)", t.TopicName, t.Perm)
	}
	switch t.TopicFilterType {
	case "", protocol.FilterSingleTag, protocol.FilterMultiTag:
		return nil
	}
	return refuse(protocol.RespInvalidParameter, "topic %s: topicFilterType %q is neither %s nor %s",
		t.TopicName, clip(t.TopicFilterType), protocol.FilterSingleTag, protocol.FilterMultiTag)
}

func (b *Broker) isSystemTopic(name string) bool {
	e := b.topics.Get(name)
	return protocol.IsSystemTopic(name) || e != nil && e.System
}

// warnOfUnread names the queues that a smaller number of read queues hides from consumers before they have read all.
func (b *Broker) warnOfUnread(old *topic.Entry, t *protocol.TopicConfig) {
	for q := t.ReadQueueNums; q < old.Config.ReadQueueNums; q++ {
		_, end, there := b.store.QueueRange(t.TopicName, q)
		if !there {
			continue
		}
		for _, group := range b.offsets.Groups(t.TopicName) {
			if at := b.offsets.Queues(group, t.TopicName)[q]; at < end {
				b.log.Warnf("topic %s: queue %d is taken away from group %s with %d messages unread; they come back when readQueueNums is raised to %d again",
					t.TopicName, q, group, end-at, q+1)
			}
		}
	}
}

// deleteTopic removes a topic with its queues, offsets and figures. A topic that is not there is a success, as in Java.
func (b *Broker) deleteTopic(c *call, h *protocol.DeleteTopicInBrokerRequestHeader) (*remoting.Reply, error) {
	name := strings.Clone(h.Topic)
	if strings.TrimSpace(name) == "" {
		return nil, refuse(protocol.RespInvalidParameter, "The specified topic is blank.")
	}
	if err := protocol.CheckTopic(name); err != nil {
		return nil, err
	}
	if b.settings().ValidateSystemTopicWhenUpdateTopic && b.isSystemTopic(name) {
		return nil, refuse(protocol.RespInvalidParameter, "The topic[%s] is conflict with system topic.", name)
	}
	was, err := b.topics.Delete(name)
	if err != nil {
		return nil, err
	}
	if err := b.store.DeleteTopic(name); err != nil && !errors.Is(err, store.ErrNotFound) {
		return nil, err
	}
	if err := b.deletePopRetries(name, b.offsets.Groups(name)); err != nil {
		return nil, err
	}
	b.offsets.RemoveTopic(name)
	if err := b.saveOffsets(); err != nil {
		return nil, err
	}
	b.stats.DeleteTopic(name)
	if was {
		b.log.Infof("topic %s deleted by %s", name, c.who())
	}
	return ok()
}

// topicConfig tells one topic's configuration.
func (b *Broker) topicConfig(_ *call, h *protocol.GetTopicConfigRequestHeader) (*remoting.Reply, error) {
	e := b.topics.Get(h.Topic)
	if e == nil {
		return nil, refuse(protocol.RespTopicNotExist, "No topic in this broker. topic: %s", clip(h.Topic))
	}
	return jsonReply(&e.Config)
}

// page is the part of a table that one request of a paging client gets: all of it for clients that do not page.
func (b *Broker) page(total int, seq int32, asked protocol.Opt[int32], theirs string, version protocol.DataVersion) (from, to int) {
	if !asked.OK {
		return 0, total
	}
	var v protocol.DataVersion
	if theirs != "" && json.Unmarshal([]byte(theirs), &v) == nil && v == version {
		from = min(max(int(seq), 0), total)
	}
	return from, min(total, from+max(1, min(int(asked.V), pageSize)))
}

// allTopics tells the topic table, or a page of it.
func (b *Broker) allTopics(_ *call, h *protocol.GetAllTopicConfigRequestHeader) (*remoting.Reply, error) {
	table, version := b.topics.Snapshot()
	names := slices.Sorted(maps.Keys(table))
	from, to := b.page(len(names), h.TopicSeq, h.MaxTopicNum, h.DataVersion, version)
	part := table
	if to-from < len(names) {
		part = make(map[string]protocol.TopicConfig, to-from)
		for _, name := range names[from:to] {
			part[name] = table[name]
		}
	}
	r, err := jsonReply(&protocol.TopicConfigWrapper{DataVersion: version, TopicConfigTable: part,
		MappingDataVersion: protocol.DataVersion{Timestamp: b.admin.booted}})
	if err == nil {
		r.Header = &protocol.GetAllTopicConfigResponseHeader{TotalTopicNum: int32(len(names))}
	}
	return r, err
}

// systemTopics lists the topics that belong to the broker.
func (b *Broker) systemTopics(*call, *none) (*remoting.Reply, error) {
	names := protocol.SystemTopics()
	for _, e := range b.topics.All() {
		if e.System && !slices.Contains(names, e.Name()) {
			names = append(names, e.Name())
		}
	}
	return jsonReply(&protocol.TopicList{TopicList: names})
}

// topicStats tells the offsets of a topic's queues and the time of their last message.
func (b *Broker) topicStats(_ *call, h *protocol.GetTopicStatsInfoRequestHeader) (*remoting.Reply, error) {
	e := b.topics.Get(h.Topic)
	if e == nil {
		return nil, refuse(protocol.RespTopicNotExist, "topic[%s] not exist", clip(h.Topic))
	}
	body := protocol.TopicStatsTable{OffsetTable: protocol.MessageQueueMap[protocol.TopicOffset]{}, TopicPutTps: b.putRate(e.Name())}
	for q := range e.MaxQueues() {
		begin, end, _ := b.store.QueueRange(e.Name(), q)
		o := protocol.TopicOffset{MinOffset: begin, MaxOffset: end}
		if end > begin {
			o.LastUpdateTimestamp = b.storeTime(e.Name(), q, end-1)
		}
		body.OffsetTable[b.queue(e.Name(), q)] = o
	}
	return jsonReply(&body)
}

// queue names a queue of this broker.
func (b *Broker) queue(topic string, id int32) protocol.MessageQueue {
	return protocol.MessageQueue{BrokerName: b.o.Broker.BrokerName, QueueID: id, Topic: topic}
}

// storeTime is the store time of one message in ms, 0 when it is not there.
func (b *Broker) storeTime(topic string, queueID int32, offset int64) int64 {
	at, err := b.store.StoreTime(topic, queueID, offset)
	if err != nil || at < 0 {
		return 0
	}
	return at
}

// cleanExpiredQueues removes queues whose messages are all gone.
func (b *Broker) cleanExpiredQueues(c *call, _ *none) (*remoting.Reply, error) {
	b.log.Infof("expired consume queues are removed, asked by %s", c.who())
	if err := b.store.CleanExpiredQueues(b.isSystemTopic); err != nil {
		return nil, err
	}
	return ok()
}

// cleanUnusedTopics removes the queues of topics that are not configured any more.
func (b *Broker) cleanUnusedTopics(c *call, _ *none) (*remoting.Reply, error) {
	for _, name := range b.store.Topics() {
		if b.topics.Get(name) != nil || protocol.IsSystemTopic(name) || protocol.IsLMQ(name) {
			continue
		}
		b.log.Infof("consume queues of topic %s, which is not configured, are removed, asked by %s", name, c.who())
		if err := b.store.DeleteTopic(name); err != nil && !errors.Is(err, store.ErrNotFound) {
			return nil, err
		}
	}
	return ok()
}

// deleteExpired runs the commit log cleaner.
func (b *Broker) deleteExpired(c *call, _ *none) (*remoting.Reply, error) {
	b.log.Infof("expired commit log files are removed, asked by %s", c.who())
	if err := b.store.DeleteExpired(); err != nil {
		return nil, err
	}
	return ok()
}
