package admin

import (
	"context"
	"errors"

	"github.com/seedmq/seedmq/remoting/protocol"
)

// Purge says what of a topic goes.
type Purge struct {
	Topic string
	// QueueID is the queue; none: all.
	QueueID protocol.Opt[int32]
	// Before, in ms, keeps what was stored at or after it; none: nothing is kept.
	Before protocol.Opt[int64]
	// Preview only counts.
	Preview bool
}

// PurgeTopic has the broker at addr hide messages that it has now, and returns its queues, by number. Only our brokers can: others
// refuse with REQUEST_CODE_NOT_SUPPORTED.
func (c *Client) PurgeTopic(ctx context.Context, addr string, p Purge) ([]protocol.PurgedQueue, error) {
	h := &protocol.PurgeTopicRequestHeader{Topic: p.Topic, QueueID: p.QueueID, Before: p.Before, Preview: p.Preview}
	body, err := decode[protocol.PurgeTopicResponseBody](c.broker(ctx, addr, request{code: protocol.ReqPurgeTopic, header: h}))
	if err != nil {
		return nil, err
	}
	return body.Queues, nil
}

// IsNoTopic says that a broker refused because it does not have the topic.
func IsNoTopic(err error) bool {
	var e *Error
	return errors.As(err, &e) && e.Code == protocol.RespTopicNotExist
}
