package broker

// INVOKE_BROKER_TO_RESET_OFFSET 222: as Java's AdminBrokerProcessor.resetOffset and Broker2Client.resetOffset.
//
// useServerSideResetOffset (the default): the committed offset is set at once, whether or not the group is online, and the next pull
// of each queue is sent to it. Otherwise RESET_CONSUMER_CLIENT_OFFSET 220 is pushed to the group's members.

import (
	"errors"

	"github.com/seedmq/seedmq/broker/offset"
	"github.com/seedmq/seedmq/broker/topic"
	"github.com/seedmq/seedmq/remoting"
	"github.com/seedmq/seedmq/remoting/protocol"
	"github.com/seedmq/seedmq/store"
)

// oldestResetVersion is the first client version that knows 220 and 221 (V3_0_7_SNAPSHOT).
const oldestResetVersion = 28

const (
	languageCPP  = "CPP"
	languageGo   = "GO"
	languageJava = "JAVA"
)

func (b *Broker) resetOffset(c *call, h *protocol.InvokeBrokerToResetOffsetRequestHeader) (*remoting.Reply, error) {
	e := b.topics.Get(h.Topic)
	if e == nil {
		return nil, refuse(protocol.RespTopicNotExist, "Topic %s does not exist", clip(h.Topic))
	}
	g := b.groups.Get(h.Group)
	if g == nil {
		return nil, refuse(protocol.RespSubscriptionGroupNotExist, "Group %s does not exist", clip(h.Group))
	}
	if !b.settings().UseServerSideResetOffset {
		return b.pushReset(c, h, e, g.Name())
	}
	targets, err := b.resetTargets(h, e)
	if err != nil {
		return nil, err
	}
	if len(targets) == 0 {
		return nil, refuse(protocol.RespSystemError, "No queues to reset.")
	}
	keys := make([]offset.Key, 0, len(targets))
	for q, off := range targets {
		k := offset.Key{Group: g.Name(), Topic: e.Name(), QueueID: q.QueueID}
		b.offsets.Reset(k, off, c.who())
		keys = append(keys, k)
	}
	if err := b.saveOffsets(); err != nil {
		return nil, err
	}
	b.followReset(g.Name(), e.Name(), keys)
	return jsonReply(&protocol.ResetOffsetBody{OffsetTable: targets})
}

// resetTargets computes the new offsets: of one queue, at an offset or a time, or of all read queues at a time.
func (b *Broker) resetTargets(h *protocol.InvokeBrokerToResetOffsetRequestHeader, e *topic.Entry) (protocol.MessageQueueMap[int64], error) {
	targets := protocol.MessageQueueMap[int64]{}
	one := h.QueueID.Or(-1)
	if one >= 0 && h.Offset.Or(-1) != -1 {
		begin, end, _ := b.store.QueueRange(e.Name(), one)
		if off := h.Offset.V; off < begin || off > end {
			return nil, refuse(protocol.RespSystemError, "Target offset %d not in consume queue range [%d-%d]", off, begin, end)
		}
		targets[b.queue(e.Name(), one)] = h.Offset.V
		return targets, nil
	}
	for q := range int32(e.Config.ReadQueueNums) {
		if one >= 0 && one != q {
			continue
		}
		off, err := b.offsetAt(e.Name(), q, h.Timestamp)
		if err != nil {
			return nil, err
		}
		targets[b.queue(e.Name(), q)] = off
	}
	return targets, nil
}

// offsetAt is the first offset stored at or after a time in ms; a negative time is the end of the queue.
func (b *Broker) offsetAt(topic string, queueID int32, ms int64) (int64, error) {
	_, end, there := b.store.QueueRange(topic, queueID)
	if ms < 0 || !there {
		return end, nil
	}
	off, err := b.store.OffsetByTime(topic, queueID, ms, store.Lower)
	if errors.Is(err, store.ErrNotFound) {
		return end, nil
	}
	return off, err
}

// pushReset asks the members of the group to reset themselves.
func (b *Broker) pushReset(c *call, h *protocol.InvokeBrokerToResetOffsetRequestHeader, e *topic.Entry, group string) (*remoting.Reply, error) {
	body := protocol.ResetOffsetBody{OffsetTable: protocol.MessageQueueMap[int64]{}}
	for q := range int32(e.Config.WriteQueueNums) {
		now, known := b.offsets.Query(offset.Key{Group: group, Topic: e.Name(), QueueID: q})
		if !known {
			return nil, refuse(protocol.RespSystemError, "THe consumer group <%s> not exist", group)
		}
		off, err := b.offsetAt(e.Name(), q, h.Timestamp)
		if err != nil {
			return nil, err
		}
		if !h.IsForce && off > now {
			off = now
		}
		body.OffsetTable[b.queue(e.Name(), q)] = off
	}
	members, online := b.clients.Consumers(group)
	if !online {
		return nil, refuse(protocol.RespConsumerNotOnline, "Consumer not online, so can not reset offset, Group: %s Topic: %s Timestamp: %d",
			group, e.Name(), h.Timestamp)
	}
	for i := range members.Members {
		m := &members.Members[i]
		if m.Version < oldestResetVersion {
			return nil, refuse(protocol.RespSystemError, "the client does not support this feature. version=%d", m.Version)
		}
		text, err := resetBody(&body, m.Language.String(), c.req.Language.String())
		if err != nil {
			return nil, err
		}
		push := protocol.NewRequest(int32(protocol.ReqResetConsumerClientOffset), &protocol.ResetConsumerClientOffsetRequestHeader{
			Topic: e.Name(), Group: group, Timestamp: h.Timestamp, IsForce: h.IsForce}, text)
		if err := m.Conn.Oneway(push); err != nil {
			b.log.Warnf("reset of group %s: client %s: %v", group, m.ClientID, err)
		}
	}
	b.log.Infof("consumer offset reset pushed to %d clients: group %s topic %s time %d by %s", len(members.Members), group, e.Name(), h.Timestamp, c.who())
	return jsonReply(&body)
}

// resetBody encodes the offsets in the form that the client reads (bodies.md 6 of the reference).
func resetBody(body *protocol.ResetOffsetBody, client, asker string) ([]byte, error) {
	switch {
	case client == languageCPP || asker == languageCPP:
		return body.MarshalCPP()
	case client == languageGo:
		return body.MarshalPairs()
	}
	return protocol.MarshalFast(body)
}
