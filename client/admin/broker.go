package admin

import (
	"context"
	"time"

	"github.com/seedmq/seedmq/remoting/protocol"
)

// RuntimeInfo reads the runtime figures of the broker at addr.
func (c *Client) RuntimeInfo(ctx context.Context, addr string) (map[string]string, error) {
	t, err := decode[protocol.KVTable](c.broker(ctx, addr, request{code: protocol.ReqGetBrokerRuntimeInfo}))
	if err != nil {
		return nil, err
	}
	return t.Table, nil
}

// BrokerConfig reads the configuration of the broker at addr.
func (c *Client) BrokerConfig(ctx context.Context, addr string) (map[string]string, error) {
	reply, err := c.broker(ctx, addr, request{code: protocol.ReqGetBrokerConfig})
	if err != nil {
		return nil, err
	}
	return parseProperties(reply.Body), nil
}

// UpdateBrokerConfig changes keys of the broker at addr.
func (c *Client) UpdateBrokerConfig(ctx context.Context, addr string, kv map[string]string) error {
	body, err := formatProperties(kv)
	if err != nil {
		return err
	}
	_, err = c.broker(ctx, addr, request{code: protocol.ReqUpdateBrokerConfig, body: body})
	return err
}

// Chore is housekeeping that a broker can be told to do now.
type Chore protocol.RequestCode

// Chores.
const (
	CleanExpiredQueues     = Chore(protocol.ReqCleanExpiredConsumeQueue)
	CleanUnusedTopics      = Chore(protocol.ReqCleanUnusedTopic)
	DeleteExpiredCommitLog = Chore(protocol.ReqDeleteExpiredCommitLog)
)

// Do tells the broker at addr to do a chore.
func (c *Client) Do(ctx context.Context, addr string, chore Chore) error {
	_, err := c.broker(ctx, addr, request{code: protocol.RequestCode(chore)})
	return err
}

// BrokerConsumeStats returns the offsets of all groups of the broker at addr. timeout 0 is 50 s: a broker with many groups takes long.
func (c *Client) BrokerConsumeStats(ctx context.Context, addr string, orderlyOnly bool, timeout time.Duration) (*protocol.ConsumeStatsList, error) {
	if timeout <= 0 {
		timeout = brokerConsumeStatTimeout
	}
	h := &protocol.GetBrokerConsumeStatsRequestHeader{IsOrder: orderlyOnly}
	return decode[protocol.ConsumeStatsList](c.broker(ctx, addr, request{code: protocol.ReqGetBrokerConsumeStats, header: h, timeout: timeout}))
}
