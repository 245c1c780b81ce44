package admin

import (
	"context"

	"github.com/seedmq/seedmq/remoting/protocol"
)

// groupPage is how many groups one request asks for.
const groupPage = 2000

// UpdateGroup creates or changes a consumer group on the broker at addr.
func (c *Client) UpdateGroup(ctx context.Context, addr string, g *protocol.SubscriptionGroupConfig) error {
	body, err := protocol.MarshalFast(g)
	if err != nil {
		return err
	}
	_, err = c.broker(ctx, addr, request{code: protocol.ReqUpdateAndCreateSubscriptionGroup, body: body})
	return err
}

// UpdateGroups creates or changes many groups at once.
func (c *Client) UpdateGroups(ctx context.Context, addr string, groups []protocol.SubscriptionGroupConfig) error {
	body, err := protocol.MarshalFast(&protocol.SubscriptionGroupList{GroupConfigList: groups})
	if err != nil {
		return err
	}
	_, err = c.broker(ctx, addr, request{code: protocol.ReqUpdateAndCreateSubscriptionGroupList, body: body})
	return err
}

// DeleteGroup removes a group from the broker at addr, with its offsets if cleanOffset.
func (c *Client) DeleteGroup(ctx context.Context, addr, group string, cleanOffset bool) error {
	h := &protocol.DeleteSubscriptionGroupRequestHeader{GroupName: group, CleanOffset: protocol.Some(cleanOffset)}
	_, err := c.broker(ctx, addr, request{code: protocol.ReqDeleteSubscriptionGroup, header: h})
	return err
}

// Groups reads all group configurations of the broker at addr.
func (c *Client) Groups(ctx context.Context, addr string) (map[string]protocol.SubscriptionGroupConfig, error) {
	all := map[string]protocol.SubscriptionGroupConfig{}
	for {
		page, total, err := c.groupPage(ctx, addr, len(all))
		if err != nil {
			return nil, err
		}
		had := len(all)
		for name, g := range page {
			all[name] = g
		}
		if len(all) == had || len(all) >= total { // old brokers send everything at once and no total
			return all, nil
		}
	}
}

func (c *Client) groupPage(ctx context.Context, addr string, from int) (map[string]protocol.SubscriptionGroupConfig, int, error) {
	h := &protocol.GetAllSubscriptionGroupConfigRequestHeader{GroupSeq: int32(from), MaxGroupNum: protocol.Some(int32(groupPage))}
	reply, err := c.broker(ctx, addr, request{code: protocol.ReqGetAllSubscriptionGroupConfig, header: h})
	w, err := decode[protocol.SubscriptionGroupWrapper](reply, err)
	if err != nil {
		return nil, 0, err
	}
	var out protocol.GetAllSubscriptionGroupConfigResponseHeader
	if _, ok := reply.Ext.Get("totalGroupNum"); ok {
		if err := out.DecodeExt(reply.Ext); err != nil {
			return nil, 0, err
		}
	}
	return w.SubscriptionGroupTable, int(out.TotalGroupNum), nil
}

// GroupBrokers lists whom to ask about a consumer group: the brokers that have its retry topic.
func (c *Client) GroupBrokers(ctx context.Context, group string) ([]Replica, error) {
	return c.TopicBrokers(ctx, protocol.RetryTopic(group))
}

// ConsumerConnection returns the clients of a group and what they subscribe to, from the broker at addr, or, if addr is "", from one that has the group.
// A group with no client is an *Error with code CONSUMER_NOT_ONLINE.
func (c *Client) ConsumerConnection(ctx context.Context, group, addr string) (*protocol.ConsumerConnection, error) {
	addr, err := c.groupBroker(ctx, group, addr)
	if err != nil {
		return nil, err
	}
	h := &protocol.GetConsumerConnectionListRequestHeader{ConsumerGroup: group}
	return decode[protocol.ConsumerConnection](c.broker(ctx, addr, request{code: protocol.ReqGetConsumerConnectionList, header: h}))
}

func (c *Client) groupBroker(ctx context.Context, group, addr string) (string, error) {
	if addr != "" {
		return addr, nil
	}
	brokers, err := c.GroupBrokers(ctx, group)
	if err != nil {
		return "", err
	}
	if len(brokers) == 0 {
		return "", ErrNoBroker
	}
	return brokers[0].Addr, nil
}

// ProducerConnection returns the clients of a producer group, from a broker of a topic.
func (c *Client) ProducerConnection(ctx context.Context, group, topic string) (*protocol.ProducerConnection, error) {
	brokers, err := c.TopicBrokers(ctx, topic)
	if err != nil {
		return nil, err
	}
	if len(brokers) == 0 {
		return nil, ErrNoBroker
	}
	h := &protocol.GetProducerConnectionListRequestHeader{ProducerGroup: group}
	return decode[protocol.ProducerConnection](c.broker(ctx, brokers[0].Addr, request{code: protocol.ReqGetProducerConnectionList, header: h}))
}

// Producers returns all producer groups of the broker at addr.
func (c *Client) Producers(ctx context.Context, addr string) (*protocol.ProducerTableInfo, error) {
	return decode[protocol.ProducerTableInfo](c.broker(ctx, addr, request{code: protocol.ReqGetAllProducerInfo}))
}

// RunningInfo asks a consumer, through a broker (see ConsumerConnection), what it is doing.
func (c *Client) RunningInfo(ctx context.Context, group, clientID string, stacks bool, addr string) (*protocol.ConsumerRunningInfo, error) {
	addr, err := c.groupBroker(ctx, group, addr)
	if err != nil {
		return nil, err
	}
	h := &protocol.GetConsumerRunningInfoRequestHeader{ConsumerGroup: group, ClientID: clientID, JstackEnable: protocol.Some(stacks)}
	return decode[protocol.ConsumerRunningInfo](c.broker(ctx, addr, request{code: protocol.ReqGetConsumerRunningInfo, header: h}))
}

// ConsumeDirectly makes one consumer handle one message now, through the broker at addr that stores it, and returns what the consumer said.
func (c *Client) ConsumeDirectly(ctx context.Context, addr, group, clientID, topic, offsetID string) (*protocol.ConsumeMessageDirectlyResult, error) {
	h := &protocol.ConsumeMessageDirectlyRequestHeader{ConsumerGroup: group, ClientID: clientID, MsgID: offsetID, Topic: topic}
	return decode[protocol.ConsumeMessageDirectlyResult](c.broker(ctx, addr, request{code: protocol.ReqConsumeMessageDirectly, header: h}))
}
