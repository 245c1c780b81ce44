package admin

import (
	"context"
	"slices"

	"github.com/seedmq/seedmq/remoting/protocol"
)

// UpdateTopic creates or changes a topic on the broker at addr. attributes is the change list of the command line (+k=v,-k), "" for none.
func (c *Client) UpdateTopic(ctx context.Context, addr string, t *protocol.TopicConfig, attributes string) error {
	h := &protocol.UpdateAndCreateTopicRequestHeader{
		Topic: t.TopicName, DefaultTopic: protocol.DefaultTopic, ReadQueueNums: t.ReadQueueNums, WriteQueueNums: t.WriteQueueNums,
		Perm: t.Perm, TopicFilterType: t.TopicFilterType, TopicSysFlag: protocol.Some(t.TopicSysFlag), Order: t.Order,
		Attributes: attributes, Force: protocol.Some(false),
	}
	_, err := c.broker(ctx, addr, request{code: protocol.ReqUpdateAndCreateTopic, header: h})
	return err
}

// UpdateTopics creates or changes many topics at once.
func (c *Client) UpdateTopics(ctx context.Context, addr string, topics []protocol.TopicConfig) error {
	body, err := protocol.MarshalFast(&protocol.CreateTopicListRequestBody{TopicConfigList: topics})
	if err != nil {
		return err
	}
	_, err = c.broker(ctx, addr, request{code: protocol.ReqUpdateAndCreateTopicList, body: body})
	return err
}

// TopicConfig reads a topic's configuration from the broker at addr.
func (c *Client) TopicConfig(ctx context.Context, addr, topic string) (*protocol.TopicConfig, error) {
	h := &protocol.GetTopicConfigRequestHeader{Topic: topic}
	return decode[protocol.TopicConfig](c.broker(ctx, addr, request{code: protocol.ReqGetTopicConfig, header: h}))
}

// DeleteTopicOnBroker removes a topic and its queues from the broker at addr. Removing one that is not there succeeds.
func (c *Client) DeleteTopicOnBroker(ctx context.Context, addr, topic string) error {
	h := &protocol.DeleteTopicInBrokerRequestHeader{Topic: topic}
	_, err := c.broker(ctx, addr, request{code: protocol.ReqDeleteTopicInBroker, header: h})
	return err
}

// DeleteTopicOnNameServers removes a topic's routes of one cluster, on all NameServers.
func (c *Client) DeleteTopicOnNameServers(ctx context.Context, cluster, topic string) error {
	h := &protocol.DeleteTopicInNamesrvRequestHeader{Topic: topic, ClusterName: cluster}
	return c.eachNameServer(ctx, request{code: protocol.ReqDeleteTopicInNamesrv, header: h})
}

// TopicStats returns the offsets of all queues of a topic, from all brokers that have it, and the messages a second put into it.
func (c *Client) TopicStats(ctx context.Context, topic string) (*protocol.TopicStatsTable, error) {
	brokers, err := c.TopicBrokers(ctx, topic)
	if err != nil {
		return nil, err
	}
	all := &protocol.TopicStatsTable{OffsetTable: protocol.MessageQueueMap[protocol.TopicOffset]{}}
	for _, b := range brokers {
		h := &protocol.GetTopicStatsInfoRequestHeader{Topic: topic}
		t, err := decode[protocol.TopicStatsTable](c.broker(ctx, b.Addr, request{code: protocol.ReqGetTopicStatsInfo, header: h}))
		if err != nil {
			return nil, err
		}
		for q, o := range t.OffsetTable {
			all.OffsetTable[q] = o
		}
		all.TopicPutTps += t.TopicPutTps
	}
	return all, nil
}

// TopicGroups lists the groups that have consumed a topic, on any of its brokers.
func (c *Client) TopicGroups(ctx context.Context, topic string) ([]string, error) {
	brokers, err := c.TopicBrokers(ctx, topic)
	if err != nil {
		return nil, err
	}
	var out []string
	for _, b := range brokers {
		h := &protocol.QueryTopicConsumeByWhoRequestHeader{Topic: topic}
		l, err := decode[protocol.GroupList](c.broker(ctx, b.Addr, request{code: protocol.ReqQueryTopicConsumeByWho, header: h}))
		if err != nil {
			return nil, err
		}
		for _, g := range l.GroupList {
			if !slices.Contains(out, g) {
				out = append(out, g)
			}
		}
	}
	return out, nil
}

// Statistics of brokers that BrokerStats reads.
const (
	StatTopicPut = "TOPIC_PUT_NUMS"
	StatGroupGet = "GROUP_GET_NUMS"
)

// BrokerStats reads one statistic of the broker at addr. key is the topic, or topic@group.
func (c *Client) BrokerStats(ctx context.Context, addr, name, key string) (*protocol.BrokerStatsData, error) {
	h := &protocol.ViewBrokerStatsDataRequestHeader{StatsName: name, StatsKey: key}
	return decode[protocol.BrokerStatsData](c.broker(ctx, addr, request{code: protocol.ReqViewBrokerStatsData, header: h}))
}

// ConsumeQueue reads queue units from index on, and, if group is not "", what the group's filter says of them.
func (c *Client) ConsumeQueue(ctx context.Context, addr, topic string, queueID int32, index int64, count int32, group string) (*protocol.QueryConsumeQueueResponseBody, error) {
	h := &protocol.QueryConsumeQueueRequestHeader{
		Topic: topic, QueueID: protocol.Some(queueID), Index: protocol.Some(index), Count: protocol.Some(count), ConsumerGroup: group,
	}
	return decode[protocol.QueryConsumeQueueResponseBody](c.broker(ctx, addr, request{code: protocol.ReqQueryConsumeQueue, header: h}))
}

// SubscribeQueues lists the readable queues of a topic, sorted by broker and number.
func (c *Client) SubscribeQueues(ctx context.Context, topic string) ([]protocol.MessageQueue, error) {
	route, err := c.Route(ctx, topic)
	if err != nil {
		return nil, err
	}
	return ReadQueues(route, topic), nil
}

// ReadQueues lists the queues of a route that can be read, sorted by broker and number.
func ReadQueues(route *protocol.TopicRouteData, topic string) []protocol.MessageQueue {
	var out []protocol.MessageQueue
	for _, q := range route.QueueDatas {
		if !protocol.PermReadable(q.Perm) {
			continue
		}
		for id := range q.ReadQueueNums {
			out = append(out, protocol.MessageQueue{BrokerName: q.BrokerName, QueueID: id, Topic: topic})
		}
	}
	slices.SortFunc(out, protocol.MessageQueue.Compare)
	return out
}
