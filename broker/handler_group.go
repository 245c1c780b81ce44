package broker

// UPDATE_AND_CREATE_SUBSCRIPTIONGROUP 200, UPDATE_AND_CREATE_SUBSCRIPTIONGROUP_LIST 225, GET_ALL_SUBSCRIPTIONGROUP_CONFIG 201,
// GET_CONSUMER_CONNECTION_LIST 203, GET_PRODUCER_CONNECTION_LIST 204, DELETE_SUBSCRIPTIONGROUP 207, GET_ALL_PRODUCER_INFO 328,
// QUERY_SUBSCRIPTION_BY_CONSUMER 345, GET_SUBSCRIPTIONGROUP_CONFIG 352, UPDATE_AND_GET_GROUP_FORBIDDEN 353: as Java's
// AdminBrokerProcessor.
//
// Different from Java: negative numbers of retries or retry queues are refused.

import (
	"maps"
	"slices"
	"strings"

	"github.com/seedmq/seedmq/broker/clients"
	"github.com/seedmq/seedmq/broker/group"
	"github.com/seedmq/seedmq/remoting"
	"github.com/seedmq/seedmq/remoting/protocol"
)

// updateGroup makes or changes one consumer group.
func (b *Broker) updateGroup(c *call, _ *none) (*remoting.Reply, error) {
	var g protocol.SubscriptionGroupConfig
	if err := decodeBody(c, &g); err != nil {
		return nil, err
	}
	if err := b.checkGroupChange(&g); err != nil {
		return nil, err
	}
	return b.storeGroups(c, []protocol.SubscriptionGroupConfig{g})
}

// updateGroupList makes or changes many groups; none when one of them may not be.
func (b *Broker) updateGroupList(c *call, _ *none) (*remoting.Reply, error) {
	var body protocol.SubscriptionGroupList
	if err := decodeBody(c, &body); err != nil {
		return nil, err
	}
	for i := range body.GroupConfigList {
		if err := b.checkGroupChange(&body.GroupConfigList[i]); err != nil {
			return nil, err
		}
	}
	return b.storeGroups(c, body.GroupConfigList)
}

func (b *Broker) storeGroups(c *call, gs []protocol.SubscriptionGroupConfig) (*remoting.Reply, error) {
	for i := range gs {
		if err := b.groups.Update(gs[i]); err != nil {
			return nil, err
		}
		b.log.Infof("consumer group %s: consumeEnable %v, retryMaxTimes %d, by %s", gs[i].GroupName, gs[i].ConsumeEnable,
			gs[i].RetryMaxTimes, c.who())
	}
	return ok()
}

// checkGroupChange says whether a client may make or change the group like this, and applies its attribute changes.
func (b *Broker) checkGroupChange(g *protocol.SubscriptionGroupConfig) error {
	if err := protocol.CheckGroup(g.GroupName); err != nil {
		return err
	}
	if g.RetryMaxTimes < 0 || g.RetryQueueNums < 0 || g.RetryQueueNums > maxQueues {
		return refuse(protocol.RespInvalidParameter, "group %s: retryMaxTimes %d must not be negative, retryQueueNums %d must be between 0 and %d",
			g.GroupName, g.RetryMaxTimes, g.RetryQueueNums, maxQueues)
	}
	old := b.groups.Get(g.GroupName)
	var now map[string]string
	if old != nil {
		now = old.Config.Attributes
	}
	var err error
	g.Attributes, err = alterAttributes(groupAttributes, old == nil, now, g.Attributes)
	return err
}

// deleteGroup removes a consumer group, and its offsets when asked to. A group that is not there is a success, as in Java. Its
// retry and dead letter topics are deleted by mqadmin on their own.
func (b *Broker) deleteGroup(c *call, h *protocol.DeleteSubscriptionGroupRequestHeader) (*remoting.Reply, error) {
	was, err := b.groups.Delete(h.GroupName)
	if err != nil {
		return nil, err
	}
	if h.CleanOffset.Or(false) {
		b.offsets.RemoveGroup(h.GroupName)
		if err := b.saveOffsets(); err != nil {
			return nil, err
		}
	}
	b.stats.DeleteGroup(h.GroupName)
	if was {
		b.log.Infof("consumer group %s deleted, offsets too: %v, by %s", clip(h.GroupName), h.CleanOffset.Or(false), c.who())
	}
	return ok()
}

// groupConfig tells one group's configuration.
func (b *Broker) groupConfig(_ *call, h *protocol.GetSubscriptionGroupConfigRequestHeader) (*remoting.Reply, error) {
	g := b.groups.Get(h.Group)
	if g == nil {
		return nil, refuse(protocol.RespSubscriptionGroupNotExist, "No group in this broker. group: %s", clip(h.Group))
	}
	return jsonReply(&g.Config)
}

// allGroups tells the group table, or a page of it.
func (b *Broker) allGroups(_ *call, h *protocol.GetAllSubscriptionGroupConfigRequestHeader) (*remoting.Reply, error) {
	table, forbidden, version := b.groups.Snapshot()
	names := slices.Sorted(maps.Keys(table))
	from, to := b.page(len(names), h.GroupSeq, h.MaxGroupNum, h.DataVersion, version)
	body := protocol.SubscriptionGroupWrapper{DataVersion: version, SubscriptionGroupTable: table, ForbiddenTable: forbidden}
	if to-from < len(names) {
		body.SubscriptionGroupTable = make(map[string]protocol.SubscriptionGroupConfig, to-from)
		body.ForbiddenTable = map[string]map[string]int32{}
		for _, name := range names[from:to] {
			body.SubscriptionGroupTable[name] = table[name]
			if f, is := forbidden[name]; is {
				body.ForbiddenTable[name] = f
			}
		}
	}
	r, err := jsonReply(&body)
	if err == nil {
		r.Header = &protocol.GetAllSubscriptionGroupConfigResponseHeader{TotalGroupNum: int32(len(names))}
	}
	return r, err
}

// groupForbidden sets whether a group may read a topic, when asked to, and tells it.
func (b *Broker) groupForbidden(c *call, h *protocol.UpdateAndGetGroupForbiddenRequestHeader) (*remoting.Reply, error) {
	name, topic := strings.Clone(h.Group), strings.Clone(h.Topic)
	if h.Readable.OK {
		if err := b.groups.SetForbidden(name, topic, group.ForbidRead, !h.Readable.V); err != nil {
			return nil, err
		}
		b.log.Infof("consumer group %s may read topic %s: %v, by %s", clip(name), clip(topic), h.Readable.V, c.who())
	}
	return jsonReply(&protocol.GroupForbidden{Group: name, Topic: topic, Readable: b.groups.MayRead(name, topic)})
}

func connections(ms []clients.Member) []protocol.Connection {
	list := make([]protocol.Connection, 0, len(ms))
	for i := range ms {
		m := &ms[i]
		list = append(list, protocol.Connection{ClientAddr: m.Conn.RemoteAddr().String(), ClientID: m.ClientID,
			Language: m.Language, Version: m.Version})
	}
	return list
}

// consumerConnections tells who is connected of a consumer group.
func (b *Broker) consumerConnections(_ *call, h *protocol.GetConsumerConnectionListRequestHeader) (*remoting.Reply, error) {
	g, there := b.clients.Consumers(h.ConsumerGroup)
	if !there {
		return nil, refuse(protocol.RespConsumerNotOnline, "the consumer group[%s] not online", clip(h.ConsumerGroup))
	}
	body := protocol.ConsumerConnection{ConnectionSet: connections(g.Members), ConsumeType: g.ConsumeType, MessageModel: g.MessageModel,
		ConsumeFromWhere: g.ConsumeFromWhere, SubscriptionTable: make(map[string]protocol.SubscriptionData, len(g.Subscriptions))}
	for topic, s := range g.Subscriptions {
		body.SubscriptionTable[topic] = s.Data
	}
	return jsonReply(&body)
}

// producerConnections tells who is connected of a producer group.
func (b *Broker) producerConnections(_ *call, h *protocol.GetProducerConnectionListRequestHeader) (*remoting.Reply, error) {
	ms := b.clients.Producers(h.ProducerGroup)
	if len(ms) == 0 {
		return nil, refuse(protocol.RespSystemError, "the producer group[%s] not exist", clip(h.ProducerGroup))
	}
	return jsonReply(&protocol.ProducerConnection{ConnectionSet: connections(ms)})
}

// allProducers tells all producers.
func (b *Broker) allProducers(*call, *none) (*remoting.Reply, error) {
	body := protocol.ProducerTableInfo{Data: map[string][]protocol.ProducerInfo{}}
	for _, name := range b.clients.ProducerGroups() {
		for _, m := range b.clients.Producers(name) {
			body.Data[name] = append(body.Data[name], protocol.ProducerInfo{ClientID: m.ClientID, Language: m.Language, Version: m.Version,
				LastUpdateTimestamp: m.LastUpdate, RemoteIP: "/" + m.Conn.RemoteAddr().String()})
		}
	}
	return jsonReply(&body)
}

// subscriptionOf tells what a connected group wants of a topic; nothing when it wants nothing.
func (b *Broker) subscriptionOf(_ *call, h *protocol.QuerySubscriptionByConsumerRequestHeader) (*remoting.Reply, error) {
	body := protocol.QuerySubscriptionResponseBody{Group: h.Group, Topic: h.Topic}
	if s, _, _ := b.clients.Lookup(h.Group, h.Topic, 0); s != nil {
		body.SubscriptionData = &s.Data
	}
	return jsonReply(&body)
}
