package broker

// INVOKE_BROKER_TO_GET_CONSUMER_STATUS 223, GET_CONSUMER_RUNNING_INFO 307, CONSUME_MESSAGE_DIRECTLY 309: requests that a client answers, as
// Java's AdminBrokerProcessor.callConsumer and Broker2Client. What a client answers to 307 and 309 goes back byte for byte: the Go
// client's is not clean JSON.

import (
	"context"
	"errors"
	"strconv"
	"strings"
	"time"

	"github.com/seedmq/seedmq/broker/clients"
	"github.com/seedmq/seedmq/remoting"
	"github.com/seedmq/seedmq/remoting/protocol"
)

const (
	relayTimeout  = 10 * time.Second
	statusTimeout = 5 * time.Second
	// oldestRelayVersion is the first client version that knows 307 and 309 (V3_1_8_SNAPSHOT).
	oldestRelayVersion = 62
)

// consumerRunningInfo asks a client what it is doing.
func (b *Broker) consumerRunningInfo(c *call, h *protocol.GetConsumerRunningInfoRequestHeader) (*remoting.Reply, error) {
	return b.relay(h.ConsumerGroup, h.ClientID, &protocol.Command{Code: c.req.Code, Ext: c.req.Ext, Body: c.req.Body})
}

// consumeDirectly hands a message to a client, which consumes it and says how that went.
func (b *Broker) consumeDirectly(c *call, h *protocol.ConsumeMessageDirectlyRequestHeader) (*remoting.Reply, error) {
	out := &protocol.Command{Code: c.req.Code}
	for _, f := range c.req.Ext {
		if f.Key != "brokerName" && f.Key != "topicSysFlag" && f.Key != "groupSysFlag" {
			out.Ext = append(out.Ext, f)
		}
	}
	more := &protocol.ConsumeMessageDirectlyRequestHeader{BrokerName: b.o.Broker.BrokerName}
	if h.MsgID != "" {
		_, phys, err := protocol.ParseOffsetMsgID(h.MsgID)
		if err != nil {
			return nil, refuse(protocol.RespSystemError, "msgId %s: %v", clip(h.MsgID), err)
		}
		if out.Body, err = b.store.Record(phys, nil); err != nil {
			return nil, refuse(protocol.RespSystemError, "can not find message by the offset, %d", phys)
		}
	}
	if e := b.topics.Get(h.Topic); e != nil {
		more.TopicSysFlag = protocol.Some(e.Config.TopicSysFlag)
	}
	if g := b.groups.Get(h.ConsumerGroup); g != nil {
		more.GroupSysFlag = protocol.Some(g.Config.GroupSysFlag)
	}
	out.Ext = append(out.Ext, protocol.ExtField{Key: "brokerName", Value: more.BrokerName})
	return b.relay(h.ConsumerGroup, h.ClientID, withFlags(out, more))
}

// withFlags adds the system flags that are known.
func withFlags(out *protocol.Command, h *protocol.ConsumeMessageDirectlyRequestHeader) *protocol.Command {
	add := func(key string, v protocol.Opt[int32]) {
		if v.OK {
			out.Ext = append(out.Ext, protocol.ExtField{Key: key, Value: strconv.Itoa(int(v.V))})
		}
	}
	add("topicSysFlag", h.TopicSysFlag)
	add("groupSysFlag", h.GroupSysFlag)
	return out
}

// relay sends a request to one client of a group and passes its answer on.
func (b *Broker) relay(group, clientID string, out *protocol.Command) (*remoting.Reply, error) {
	m, online := b.clients.Consumer(group, clientID)
	if !online {
		return nil, refuse(protocol.RespSystemError, "The Consumer <%s> <%s> not online", clip(group), clip(clientID))
	}
	if m.Version < oldestRelayVersion {
		return nil, refuse(protocol.RespSystemError, "The Consumer <%s> Version <%d> too low to finish, please upgrade it to V3_1_8_SNAPSHOT",
			clip(clientID), m.Version)
	}
	ctx, cancel := context.WithTimeout(context.Background(), relayTimeout)
	defer cancel()
	reply, err := m.Conn.Invoke(ctx, clientRequest(out))
	if errors.Is(err, context.DeadlineExceeded) {
		return nil, refuse(protocol.RespConsumeMsgTimeout, "consumer <%s> <%s> Timeout: no answer in %v", clip(group), clip(clientID), relayTimeout)
	}
	if err != nil {
		return nil, refuse(protocol.RespSystemError, "invoke consumer <%s> <%s> Exception: %v", clip(group), clip(clientID), err)
	}
	return &remoting.Reply{Code: protocol.ResponseCode(reply.Code), Remark: reply.Remark, Ext: reply.Ext, Body: reply.Body}, nil
}

// clientRequest fills what every request of ours has.
func clientRequest(out *protocol.Command) *protocol.Command {
	cmd := protocol.NewRequest(out.Code, nil, out.Body)
	cmd.Ext = out.Ext
	return cmd
}

// consumerStatus asks one or all clients of a group for the offsets that they hold.
func (b *Broker) consumerStatus(_ *call, h *protocol.InvokeBrokerToGetConsumerStatusRequestHeader) (*remoting.Reply, error) {
	g, online := b.clients.Consumers(h.Group)
	if !online {
		return nil, refuse(protocol.RespSystemError, "No Any Consumer online in the consumer group: [%s]", clip(h.Group))
	}
	body := protocol.GetConsumerStatusBody{ConsumerTable: map[string]protocol.MessageQueueMap[int64]{},
		MessageQueueTable: protocol.MessageQueueMap[int64]{}}
	for i := range g.Members {
		m := &g.Members[i]
		if m.Version < oldestResetVersion {
			return nil, refuse(protocol.RespSystemError, "the client does not support this feature. version=%d", m.Version)
		}
		if h.ClientAddr != "" && h.ClientAddr != m.ClientID {
			continue
		}
		if table, err := b.statusOf(m, h.Group, h.Topic); err != nil {
			b.log.Warnf("status of consumer group %s: client %s: %v", h.Group, m.ClientID, err)
		} else {
			body.ConsumerTable[m.ClientID] = table
		}
	}
	return jsonReply(&body)
}

func (b *Broker) statusOf(m *clients.Member, group, topic string) (protocol.MessageQueueMap[int64], error) {
	ctx, cancel := context.WithTimeout(context.Background(), statusTimeout)
	defer cancel()
	reply, err := m.Conn.Invoke(ctx, protocol.NewRequest(int32(protocol.ReqGetConsumerStatusFromClient),
		&protocol.GetConsumerStatusFromClientRequestHeader{Topic: strings.Clone(topic), Group: strings.Clone(group)}, nil))
	if err != nil {
		return nil, err
	}
	var body protocol.GetConsumerStatusBody
	if reply.Code != int32(protocol.RespSuccess) {
		return nil, refuse(protocol.ResponseCode(reply.Code), "%s", reply.Remark)
	}
	if err := protocol.UnmarshalFast(reply.Body, &body); err != nil {
		return nil, err
	}
	return body.MessageQueueTable, nil
}
