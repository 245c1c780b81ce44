package admin

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/seedmq/seedmq/client/internal/instance"
	"github.com/seedmq/seedmq/remoting/protocol"
)

// MaxUniqueHits is how many messages with one unique id a query returns at most.
const MaxUniqueHits = 32

// View reads the message at a CommitLog offset of the broker at addr.
func (c *Client) View(ctx context.Context, addr, topic string, offset int64) (*Message, error) {
	h := &protocol.ViewMessageByIDRequestHeader{Topic: topic, Offset: offset}
	reply, err := c.broker(ctx, addr, request{code: protocol.ReqViewMessageByID, header: h})
	if err != nil {
		return nil, err
	}
	m, _, err := instance.DecodeMessage(reply.Body)
	return m, err
}

// ViewByID finds a message by the broker's id or by the client's: a text of 32 digits can be either, so the broker that the id would name
// is asked first, and then all brokers of the topic for the client's id. ErrNoMessage when neither knows it.
func (c *Client) ViewByID(ctx context.Context, topic, id string) (*Message, error) {
	if host, offset, err := protocol.ParseOffsetMsgID(id); err == nil {
		m, err := c.View(ctx, host.String(), topic, offset)
		if err == nil || ctx.Err() != nil {
			return m, err
		}
	}
	hits, err := c.QueryByUniqueKey(ctx, topic, id)
	if err != nil {
		return nil, err
	}
	return hits[0], nil
}

// QueryByKey finds messages by one of their keys, stored in begin to end (ms). ErrNoMessage when there is none.
func (c *Client) QueryByKey(ctx context.Context, topic, key string, limit int32, begin, end int64) ([]*Message, error) {
	h := &protocol.QueryMessageRequestHeader{Topic: topic, Key: key, MaxNum: limit, BeginTimestamp: begin, EndTimestamp: end}
	return c.query(ctx, topic, h, false, func(m *Message) bool {
		return slices.Contains(strings.Fields(m.Properties[protocol.PropertyKeys]), key)
	})
}

// QueryByUniqueKey finds messages by the client's id, however old. ErrNoMessage when there is none.
func (c *Client) QueryByUniqueKey(ctx context.Context, topic, id string) ([]*Message, error) {
	h := &protocol.QueryMessageRequestHeader{Topic: topic, Key: id, MaxNum: MaxUniqueHits, EndTimestamp: math.MaxInt64}
	return c.query(ctx, topic, h, true, func(m *Message) bool { return m.ID() == id })
}

// query asks all brokers of the topic. They find by hash; keep drops what only looks alike. One broker that fails does not hide what others found.
func (c *Client) query(ctx context.Context, topic string, h *protocol.QueryMessageRequestHeader, unique bool, keep func(*Message) bool) ([]*Message, error) {
	brokers, err := c.TopicBrokers(ctx, topic)
	if err != nil {
		return nil, err
	}
	var found []*Message
	var failures []error
	for _, b := range brokers {
		msgs, err := c.queryBroker(ctx, b.Addr, h, unique)
		if err != nil {
			failures = append(failures, err)
		}
		for _, m := range msgs {
			if keep(m) {
				m.BrokerName = b.Broker
				found = append(found, m)
			}
		}
	}
	switch {
	case len(found) > 0:
		return found, nil
	case len(failures) > 0:
		return nil, errors.Join(failures...)
	}
	return nil, ErrNoMessage
}

func (c *Client) queryBroker(ctx context.Context, addr string, h *protocol.QueryMessageRequestHeader, unique bool) ([]*Message, error) {
	kind := "K"
	if unique {
		kind = "U"
	}
	ext := protocol.ExtFields{{Key: protocol.UniqueKeyQueryFlag, Value: strconv.FormatBool(unique)}, {Key: "indexType", Value: kind}}
	reply, err := c.broker(ctx, addr, request{code: protocol.ReqQueryMessage, header: h, ext: ext})
	if IsCode(err, protocol.RespQueryNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	msgs, err := instance.DecodeMessages(reply.Body)
	if err != nil {
		err = fmt.Errorf("reply of %s: %w", addr, err)
	}
	return msgs, err
}
