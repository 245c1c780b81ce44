package admin

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/seedmq/seedmq/remoting/protocol"
)

// defaultQueues is how many queues a topic gets that a send creates.
const defaultQueues = 4

// SendStatus says how safe a sent message is.
type SendStatus string

// Send statuses, in Java's words. All but SendOK mean stored, but not as safely as the broker is configured to.
const (
	SendOK                SendStatus = "SEND_OK"
	SendFlushDiskTimeout  SendStatus = "FLUSH_DISK_TIMEOUT"
	SendFlushSlaveTimeout SendStatus = "FLUSH_SLAVE_TIMEOUT"
	SendSlaveNotAvailable SendStatus = "SLAVE_NOT_AVAILABLE"
)

// Outgoing is a message to send.
type Outgoing struct {
	Topic string
	Group string // producer group
	Body  []byte
	// Properties are sent as they are, with a UNIQ_KEY added if there is none.
	Properties protocol.Properties
}

// SendResult is where a message went.
type SendResult struct {
	Status      SendStatus
	ID          string // the client's id
	OffsetID    string // the broker's
	Queue       protocol.MessageQueue
	QueueOffset int64
}

// WriteQueues lists the queues of a topic that can be written, sorted by broker and number. For a topic that does not exist yet they
// are those that the first send to it would create, if brokers do that.
func (c *Client) WriteQueues(ctx context.Context, topic string) ([]protocol.MessageQueue, *protocol.TopicRouteData, error) {
	limit := int32(0)
	route, err := c.Route(ctx, topic)
	if IsCode(err, protocol.RespTopicNotExist) {
		limit = defaultQueues
		if r, e := c.Route(ctx, protocol.DefaultTopic); e == nil {
			route, err = r, nil
		}
	}
	if err != nil {
		return nil, nil, err
	}
	var out []protocol.MessageQueue
	for _, q := range route.QueueDatas {
		if _, err := MasterOf(route, q.BrokerName); err != nil || !protocol.PermWritable(q.Perm) {
			continue
		}
		n := q.WriteQueueNums
		if limit > 0 {
			n = min(n, limit)
		}
		for id := range n {
			out = append(out, protocol.MessageQueue{BrokerName: q.BrokerName, QueueID: id, Topic: topic})
		}
	}
	slices.SortFunc(out, protocol.MessageQueue.Compare)
	if len(out) == 0 {
		return nil, nil, fmt.Errorf("topic %s has no queue that can be written: %w", topic, ErrNoBroker)
	}
	return out, route, nil
}

// Send sends one message to one queue of the broker at addr. It is not repeated.
func (c *Client) Send(ctx context.Context, addr string, q protocol.MessageQueue, m *Outgoing) (*SendResult, error) {
	props := protocol.Properties{protocol.PropertyUniqKey: c.ids.Next()}
	for k, v := range m.Properties {
		if err := protocol.CheckProperty(k, v); err != nil {
			return nil, err
		}
		props[k] = v
	}
	h := &protocol.SendMessageV2RequestHeader{
		ProducerGroup: m.Group, Topic: m.Topic, DefaultTopic: protocol.DefaultTopic, DefaultTopicQueueNums: defaultQueues,
		QueueID: q.QueueID, BornTimestamp: c.clock.Now().UnixMilli(), Properties: string(props.Encode()),
		ReconsumeTimes: protocol.Some(int32(0)), UnitMode: protocol.Some(false), Batch: protocol.Some(false), BrokerName: q.BrokerName,
	}
	req := request{code: protocol.ReqSendMessageV2, header: h, body: m.Body}
	reply, err := c.net.Invoke(ctx, addr, req.command(), c.limit(&req))
	if err != nil {
		return nil, err
	}
	status, ok := sendStatus(reply.Code)
	if !ok {
		return nil, refusal(reply, addr, req.code)
	}
	var out protocol.SendMessageResponseHeader
	if err := out.DecodeExt(reply.Ext); err != nil {
		return nil, err
	}
	return &SendResult{
		Status: status, ID: props[protocol.PropertyUniqKey], OffsetID: strings.Clone(out.MsgID), QueueOffset: out.QueueOffset,
		Queue: protocol.MessageQueue{BrokerName: q.BrokerName, QueueID: out.QueueID, Topic: m.Topic},
	}, nil
}

func sendStatus(code protocol.ResponseCode) (SendStatus, bool) {
	switch code {
	case protocol.RespSuccess:
		return SendOK, true
	case protocol.RespFlushDiskTimeout:
		return SendFlushDiskTimeout, true
	case protocol.RespFlushSlaveTimeout:
		return SendFlushSlaveTimeout, true
	case protocol.RespSlaveNotAvailable:
		return SendSlaveNotAvailable, true
	}
	return "", false
}
