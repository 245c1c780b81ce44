package broker

// CONSUMER_SEND_MSG_BACK 36: as Java's SendMessageProcessor.consumerSendMsgBack.
//
// Different from Java: a group's own list of delays (customizedRetryPolicy, exponentialRetryPolicy) is followed, rounded up to the
// next delay level; a dead message says in DLQ_REASON why it is one, and in DLQ_ORIGIN_TOPIC and DLQ_ORIGIN_MESSAGE_ID what it was.

import (
	"errors"
	"fmt"
	"strconv"

	"github.com/seedmq/seedmq/broker/group"
	"github.com/seedmq/seedmq/broker/topic"
	"github.com/seedmq/seedmq/remoting"
	"github.com/seedmq/seedmq/remoting/protocol"
	"github.com/seedmq/seedmq/store"
)

const (
	propertyDLQReason = "DLQ_REASON"
	// maxTimesVersion is the first client version whose maxReconsumeTimes counts (V3_4_9).
	maxTimesVersion = 121
	// firstRetryLevel is the delay level of the first retry, where the group has no delays of its own.
	firstRetryLevel = 3
)

func (b *Broker) sendBackRoutes() []remoting.Route {
	return []remoting.Route{{Code: protocol.ReqConsumerSendMsgBack, Mode: remoting.Pooled, Pool: poolQuery, Handle: b.sendBack}}
}

// sendBack stores a message that a consumer could not handle for another try, or among the group's dead letters.
func (b *Broker) sendBack(c remoting.Conn, req *protocol.Command) {
	var h protocol.ConsumerSendMsgBackRequestHeader
	err := h.DecodeExt(req.Ext)
	var back *backMessage
	if err == nil {
		back, err = b.prepareBack(req, &h)
	}
	if err != nil {
		fail(c, req, err)
		return
	}
	if back == nil { // the group keeps no retries
		c.Reply(req, &remoting.Reply{})
		return
	}
	batch := b.store.NewBatch()
	if err := batch.Add(&back.m); err != nil {
		fail(c, req, err)
		return
	}
	if err := b.store.Append(batch); err != nil {
		fail(c, req, err)
		return
	}
	b.store.AwaitSafe(batch.End(), func(err error) {
		if err != nil {
			r := refusal(err)
			r.Code = protocol.RespSystemError // as Java: the client then sends the message itself
			fail(c, req, r)
			return
		}
		b.countBack(back)
		c.Reply(req, &remoting.Reply{})
	})
}

// backMessage is a message on its way back.
type backMessage struct {
	m      store.Message
	group  string
	origin string // topic that it was first sent to
	dead   bool
}

func (b *Broker) countBack(k *backMessage) {
	dead := int64(0)
	if k.dead {
		dead = 1
	}
	b.stats.AddSendBack(b.stats.Group(k.origin, k.group), 1, dead)
	b.stats.AddPut(b.stats.Topic(k.m.Topic), 1, int64(len(k.m.Body)+len(k.m.Properties)))
}

// prepareBack checks the request and makes the message. It is nil for a group without retries.
func (b *Broker) prepareBack(req *protocol.Command, h *protocol.ConsumerSendMsgBackRequestHeader) (*backMessage, error) {
	g, err := b.groupFor(h.Group)
	if err != nil {
		return nil, err
	}
	s := b.settings()
	if int32(s.BrokerPermission)&protocol.PermWrite == 0 {
		return nil, refuse(protocol.RespNoPermission, "the broker[%s] sending message is forbidden: brokerPermission is %d", s.BrokerIP1, s.BrokerPermission)
	}
	if g.Config.RetryQueueNums <= 0 {
		return nil, nil
	}
	to, err := b.ensureRetryTopic(g, h.UnitMode.Or(false))
	if err != nil {
		return nil, err
	}
	if !to.Writable() {
		return nil, refuse(protocol.RespNoPermission, "the topic[%s] sending message is forbidden", to.Name())
	}
	rec, err := b.store.Record(h.Offset, nil)
	if errors.Is(err, store.ErrNotFound) {
		return nil, refuse(protocol.RespSystemError, "look message by offset failed, %d", h.Offset)
	}
	if err != nil {
		return nil, err
	}
	var v protocol.MessageView
	if _, err := protocol.DecodeMessage(rec, &v); err != nil {
		return nil, refuse(protocol.RespSystemError, "look message by offset failed, %d: %v", h.Offset, err)
	}
	if store.IsInnerBatch(v.SysFlag) {
		if err := takeInner(&v, h.OriginMsgID); err != nil {
			return nil, err
		}
	}
	return b.makeBack(req, h, g, to, &v)
}

// makeBack makes the message that goes back: the record's, one try older.
func (b *Broker) makeBack(req *protocol.Command, h *protocol.ConsumerSendMsgBackRequestHeader, g *group.Entry, to *topic.Entry, v *protocol.MessageView) (*backMessage, error) {
	most := g.Config.RetryMaxTimes
	if req.Version >= maxTimesVersion {
		most = h.MaxReconsumeTimes.Or(most)
	}
	level := h.DelayLevel
	reason := ""
	switch {
	case level < 0:
		reason = "the consumer sent it to the dead letters"
	case v.ReconsumeTimes >= most:
		reason = fmt.Sprintf("%d of at most %d retries failed", v.ReconsumeTimes, most)
	}
	k := &backMessage{group: g.Name(), dead: reason != ""}
	if k.dead {
		var err error
		if to, err = b.ensureDLQTopic(g.Name()); err != nil {
			return nil, err
		}
		level = 0
	} else if level == 0 {
		level = b.retryLevel(g, v.ReconsumeTimes)
	}
	p := protocol.ParseProperties(v.Properties)
	if p[protocol.PropertyRetryTopic] == "" {
		p[protocol.PropertyRetryTopic] = v.Topic
	}
	k.origin = p[protocol.PropertyRetryTopic]
	if p[protocol.PropertyOriginMessageID] == "" {
		p[protocol.PropertyOriginMessageID] = v.OffsetMsgID()
	}
	delete(p, protocol.PropertyInnerNum) // it leaves a batch queue
	delete(p, protocol.PropertyInnerBase)
	p[protocol.PropertyWait] = "false"
	p[protocol.PropertyDelay] = strconv.Itoa(int(level))
	if k.dead {
		p[propertyDLQReason] = reason
		p[protocol.PropertyDLQOriginTopic] = k.origin
		p[protocol.PropertyDLQOriginMessageID] = p[protocol.PropertyOriginMessageID]
	}
	k.m = store.Message{Topic: to.Name(), QueueID: b.anyQueue(to), Flag: v.Flag, SysFlag: v.SysFlag, BornTimestamp: v.BornTimestamp,
		BornHost: v.BornHost, StoreHost: b.Self(), ReconsumeTimes: v.ReconsumeTimes + 1, Properties: p.Encode(), Body: v.Body,
		Tags: p[protocol.PropertyTags], Keys: p[protocol.PropertyKeys], UniqKey: p[protocol.PropertyUniqKey]}
	if level > 0 {
		b.levels.Divert(&k.m, level, nil)
	}
	return k, nil
}

// retryLevel is the delay level of the next try: Java's 3 + the number of tries, or what the group's policy says.
func (b *Broker) retryLevel(g *group.Entry, tries int32) int32 {
	policy := &g.Config.GroupRetryPolicy
	var ms int64
	switch {
	case policy.Type == protocol.RetryPolicyExponential && policy.ExponentialRetryPolicy != nil:
		e := policy.ExponentialRetryPolicy
		for ms = e.Initial; tries > 0 && ms < e.Max && e.Multiplier > 1; tries-- {
			ms *= e.Multiplier
		}
		ms = min(ms, e.Max)
	case policy.Type == protocol.RetryPolicyCustomized && policy.CustomizedRetryPolicy != nil && len(policy.CustomizedRetryPolicy.Next) > 0:
		next := policy.CustomizedRetryPolicy.Next
		ms = next[min(int(tries), len(next)-1)]
	default:
		return firstRetryLevel + tries
	}
	for level := int32(1); level < b.levels.Max(); level++ {
		if b.levels.Delay(level).Milliseconds() >= ms {
			return level
		}
	}
	return b.levels.Max()
}
