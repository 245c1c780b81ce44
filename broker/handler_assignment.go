package broker

// QUERY_ASSIGNMENT 400, SET_MESSAGE_REQUEST_MODE 401, GET_ALL_MESSAGE_REQUEST_MODE 402: as Java's QueryAssignmentProcessor.
//
// Different from Java: a mode that is neither PULL nor POP is refused; the members of a group whose mode changes are told to ask anew
// at once; the queues of a topic are looked up again after 5 s, not 30, so that all members see a change at their next question.
// A question that cannot be answered (no such topic, no member, a strategy that only clients know) is answered with no
// assignment at all, at which a client keeps what it has.

import (
	"strings"

	"github.com/seedmq/seedmq/broker/assign"
	"github.com/seedmq/seedmq/remoting"
	"github.com/seedmq/seedmq/remoting/protocol"
)

func (b *Broker) assignmentRoutes() []remoting.Route {
	return []remoting.Route{
		{Code: protocol.ReqQueryAssignment, Mode: remoting.Pooled, Pool: poolShare, Handle: admin(b.queryAssignment)},
		{Code: protocol.ReqSetMessageRequestMode, Mode: remoting.Pooled, Pool: poolAdmin, Handle: admin(b.setRequestMode)},
		{Code: protocol.ReqGetAllMessageRequestMode, Mode: remoting.Pooled, Pool: poolAdmin, Handle: admin(b.allRequestModes)},
	}
}

// queryAssignment tells a member its queues of a topic, and how to ask for their messages.
func (b *Broker) queryAssignment(c *call, _ *none) (*remoting.Reply, error) {
	var q protocol.QueryAssignmentRequestBody
	if err := decodeBody(c, &q); err != nil {
		return nil, err
	}
	mode := b.requestMode(q.Topic, q.ConsumerGroup)
	queues, known := b.assigned(&q, &mode)
	if !known {
		return jsonReply(&struct{}{})
	}
	body := protocol.QueryAssignmentResponseBody{MessageQueueAssignments: make([]protocol.MessageQueueAssignment, 0, len(queues))}
	for _, mq := range queues {
		body.MessageQueueAssignments = append(body.MessageQueueAssignments, protocol.MessageQueueAssignment{MessageQueue: mq, Mode: mode.Mode})
	}
	return jsonReply(&body)
}

// requestMode is what was set for a topic and group, or the default. Retry topics are pulled.
func (b *Broker) requestMode(topic, group string) assign.Mode {
	if mode, ok := b.modes.Get(topic, group); ok {
		return mode
	}
	set := b.settings()
	mode := assign.Mode{Topic: topic, ConsumerGroup: group, Mode: set.DefaultMessageRequestMode}
	if strings.HasPrefix(topic, protocol.RetryGroupTopicPrefix) {
		mode.Mode = protocol.RequestModePull
	}
	if mode.Mode == protocol.RequestModePop {
		mode.PopShareQueueNum = set.DefaultPopShareQueueNum
	}
	return mode
}

// assigned are the queues for whoever asks; known is false when that cannot be said.
func (b *Broker) assigned(q *protocol.QueryAssignmentRequestBody, mode *assign.Mode) (queues []protocol.MessageQueue, known bool) {
	clustering := q.MessageModel != protocol.ModelBroadcasting
	if clustering && protocol.IsLMQ(q.Topic) {
		queues = []protocol.MessageQueue{{Topic: q.Topic, BrokerName: b.o.Broker.BrokerName}}
	} else if queues, known = b.shared.of(q.Topic); !known {
		return nil, false
	}
	if !clustering || !b.settings().ServerLoadBalancerEnable {
		return queues, true
	}
	members := b.clients.ConsumerIDs(q.ConsumerGroup)
	if len(members) == 0 || !assign.Known(q.StrategyName) {
		b.log.Limited(b.clk, "assignment "+clip(q.ConsumerGroup), logEvery).Warnf("group %s has no assignment of topic %s: it has %d members, the strategy is %q",
			clip(q.ConsumerGroup), clip(q.Topic), len(members), clip(q.StrategyName))
		return nil, false
	}
	if mode.Mode == protocol.RequestModePop {
		return assign.Share(q.StrategyName, q.ClientID, members, queues, int(mode.PopShareQueueNum)), true
	}
	return assign.Allocate(q.StrategyName, q.ClientID, members, queues), true
}

// setRequestMode sets how a group asks for the messages of a topic.
func (b *Broker) setRequestMode(c *call, _ *none) (*remoting.Reply, error) {
	var m protocol.SetMessageRequestModeRequestBody
	if err := decodeBody(c, &m); err != nil {
		return nil, err
	}
	switch {
	case strings.HasPrefix(m.Topic, protocol.RetryGroupTopicPrefix):
		return nil, refuse(protocol.RespNoPermission, "retry topic is not allowed to set mode")
	case b.topics.Get(m.Topic) == nil:
		return nil, refuse(protocol.RespTopicNotExist, "topic[%s] not exist", clip(m.Topic))
	case b.groups.Get(m.ConsumerGroup) == nil:
		return nil, refuse(protocol.RespSubscriptionGroupNotExist, "subscription group does not exist: %s", clip(m.ConsumerGroup))
	case m.Mode != protocol.RequestModePull && m.Mode != protocol.RequestModePop:
		return nil, refuse(protocol.RespInvalidParameter, "mode %q is neither PULL nor POP", clip(m.Mode))
	}
	if err := b.modes.Set(m); err != nil {
		return nil, err
	}
	b.log.Infof("group %s asks for messages of topic %s by %s, popShareQueueNum %d, by %s", m.ConsumerGroup, m.Topic, m.Mode, m.PopShareQueueNum, c.who())
	b.tellMembers(m.ConsumerGroup)
	return ok()
}

// tellMembers makes the members of a group share their queues anew.
func (b *Broker) tellMembers(group string) {
	g, _ := b.clients.Consumers(group)
	for i := range g.Members {
		b.tellMember(group, g.Members[i].Conn)
	}
}

// tellMember makes one member ask who is in its group, unless the group's members are not to be told of changes.
func (b *Broker) tellMember(group string, c remoting.Conn) {
	if !b.notifyEnabled(group) {
		return
	}
	cmd := protocol.NewRequest(protocol.ReqNotifyConsumerIDsChanged, &protocol.NotifyConsumerIDsChangedRequestHeader{ConsumerGroup: group}, nil)
	if err := c.Oneway(cmd); err != nil {
		b.log.Debugf("group %s: telling %s to share queues anew: %v", group, c.RemoteAddr(), err)
	}
}

// allRequestModes tells the table.
func (b *Broker) allRequestModes(*call, *none) (*remoting.Reply, error) {
	all := b.modes.All()
	return jsonReply(&all)
}
