package broker

import (
	"strings"

	"github.com/seedmq/seedmq/broker/group"
	"github.com/seedmq/seedmq/broker/topic"
	"github.com/seedmq/seedmq/remoting"
	"github.com/seedmq/seedmq/remoting/protocol"
	"github.com/seedmq/seedmq/store"
)

// check does what Java checks, in its order, and fills q.
func (p *puller) check(c remoting.Conn, req *protocol.Command, h *protocol.PullMessageRequestHeader, q *pull) error {
	set := p.b.settings()
	if !protocol.PermReadable(int32(set.BrokerPermission)) {
		return forbid(forbiddenBroker, "the broker[%s] pulling message is forbidden: brokerPermission is %d", set.BrokerIP1, set.BrokerPermission)
	}
	if req.Code == protocol.ReqLitePullMessage && !set.LitePullMessageEnable {
		return forbid(forbiddenBroker, "the broker[%s] for lite pull consumer is forbidden: litePullMessageEnable is false", set.BrokerIP1)
	}
	ses := sessionOf(c)
	g, err := p.groupFor(ses, h.ConsumerGroup)
	if err != nil {
		return err
	}
	if !g.Config.ConsumeEnable {
		return forbid(forbiddenGroup, "subscription group no permission, %s: consumeEnable is false", g.Name())
	}
	t, err := p.topicFor(ses, h)
	if err != nil {
		return err
	}
	if h.QueueID < 0 || h.QueueID >= t.Config.ReadQueueNums {
		return refuse(protocol.RespInvalidParameter, "queueId[%d] is illegal, topic:[%s] topicConfig.readQueueNums:[%d] consumer:[%s]",
			h.QueueID, t.Name(), t.Config.ReadQueueNums, c.RemoteAddr())
	}
	f, err := p.filterFor(c, ses, g, t.Name(), h)
	if err != nil {
		return err
	}
	*q = pull{c: c, group: g, topic: t, filter: f, opaque: req.Opaque, flag: req.Flag, code: req.Code, queueID: h.QueueID, offset: h.QueueOffset}
	q.limits(set, h)
	q.unwrap = t.BatchCQ && (!takesApart(req) || isSQL(f))
	return nil
}

// limits sets how much a reply may carry and how long the pull may be held.
func (q *pull) limits(set *settings, h *protocol.PullMessageRequestHeader) {
	q.maxCount = min(max(1, int(h.MaxMsgNums)), max(1, set.Store.MaxTransferCountOnMessageInMemory))
	q.maxBytes = max(1, set.Store.MaxTransferBytesOnMessageInMemory)
	if h.MaxMsgBytes.OK && h.MaxMsgBytes.V > 0 {
		q.maxBytes = min(q.maxBytes, int(h.MaxMsgBytes.V))
	}
	if h.SysFlag&protocol.PullFlagSuspend == 0 {
		return
	}
	q.suspendMs = min(h.SuspendTimeoutMillis, maxSuspendMs)
	if !set.LongPollingEnable {
		q.suspendMs = set.ShortPollingTimeMills
	}
}

// maxSuspendMs bounds how long a pull is held, whatever the client asks for.
const maxSuspendMs = 120_000

func (p *puller) groupFor(ses *session, name string) (*group.Entry, error) {
	if g := ses.pullGroup; g != nil && g.Name() == name && !g.Stale() {
		return g, nil
	}
	g, err := p.b.groupFor(name)
	if err != nil {
		return nil, err
	}
	ses.pullGroup = g
	return g, nil
}

// groupFor returns a consumer group, made when that is allowed.
func (b *Broker) groupFor(name string) (*group.Entry, error) {
	if g := b.groups.Get(name); g != nil {
		return g, nil
	}
	if err := protocol.CheckGroup(name); err != nil {
		return nil, refuse(protocol.RespSubscriptionGroupNotExist, "subscription group [%s] does not exist, %v%s", clip(name), err, faq)
	}
	g, err := b.groups.GetOrCreate(name)
	if err != nil {
		return nil, refuse(protocol.RespSubscriptionGroupNotExist, "subscription group [%s] does not exist, %v%s", name, err, faq)
	}
	return g, nil
}

func (p *puller) topicFor(ses *session, h *protocol.PullMessageRequestHeader) (*topic.Entry, error) {
	t := ses.pullTopic
	if t == nil || t.Name() != h.Topic || t.Stale() {
		if t = p.b.topics.Get(h.Topic); t == nil {
			return nil, refuse(protocol.RespTopicNotExist, "topic[%s] not exist, apply first please!%s", clip(h.Topic), faq)
		}
		ses.pullTopic = t
	}
	if !t.Readable() {
		return nil, forbid(forbiddenTopic, "the topic[%s] pulling message is forbidden: its permission is %s", t.Name(), protocol.PermString(t.Config.Perm))
	}
	return t, nil
}

// filterFor finds what the puller subscribes to: what the request says, or else what its heartbeats said.
func (p *puller) filterFor(c remoting.Conn, ses *session, g *group.Entry, topic string, h *protocol.PullMessageRequestHeader) (store.Filter, error) {
	if !p.b.groups.MayRead(g.Name(), topic) {
		return nil, forbid(forbiddenSubscription, "the consumer group[%s] is forbidden for topic[%s]", g.Name(), topic)
	}
	var f store.Filter
	var err error
	if h.SysFlag&protocol.PullFlagSubscription != 0 {
		f, err = p.inlineFilter(ses, h)
	} else {
		f, err = p.ownFilter(c, g, topic, h)
	}
	if f == nil && err == nil && p.b.settings().FilterSupportRetry && protocol.IsRetryTopic(topic) {
		f = p.b.retryFilter(g.Name())
	}
	return f, err
}

// ownFilter is the filter of the puller's subscription, or else of its group's.
func (p *puller) ownFilter(c remoting.Conn, g *group.Entry, topic string, h *protocol.PullMessageRequestHeader) (store.Filter, error) {
	sub, model, known := p.b.clients.Lookup(g.Name(), topic, c.ID())
	switch {
	case !known:
		return nil, refuse(protocol.RespSubscriptionNotExist, "the consumer's group info not exist%s", faq)
	case !g.Config.ConsumeBroadcastEnable && model == protocol.ModelBroadcasting:
		return nil, forbid(forbiddenBroadcast, "the consumer group[%s] can not consume by broadcast way", g.Name())
	case sub == nil:
		return nil, refuse(protocol.RespSubscriptionNotExist, "the consumer's subscription not exist%s", faq)
	case sub.Data.SubVersion < h.SubVersion:
		p.b.askSubscriptions(c, g.Name())
		return nil, refuse(protocol.RespSubscriptionNotLatest, "the consumer's subscription not latest")
	case sub.Err != nil:
		return nil, noFilterData(sub.Err)
	}
	if err := p.b.filterAllowed(sub.Data.ExpressionType); err != nil {
		return nil, err
	}
	return sub.Filter, nil
}

// inlineFilter compiles the subscription of the request; the last one is kept, for clients repeat themselves.
func (p *puller) inlineFilter(ses *session, h *protocol.PullMessageRequestHeader) (store.Filter, error) {
	if !ses.subKnown || ses.subExpr != h.Subscription || ses.subType != h.ExpressionType {
		f, err := p.b.filters.Compile(h.Subscription, h.ExpressionType)
		if err != nil {
			return nil, refuse(protocol.RespSubscriptionParseFailed, "parse the consumer's subscription failed: %v", err)
		}
		ses.subKnown, ses.subFilter = true, f
		ses.subExpr, ses.subType = strings.Clone(h.Subscription), strings.Clone(h.ExpressionType)
	}
	if err := p.b.filterAllowed(ses.subType); err != nil {
		return nil, err
	}
	return ses.subFilter, nil
}

// forbid is NO_PERMISSION with the kind of prohibition.
func forbid(kind int, format string, a ...any) *Refusal {
	r := refuse(protocol.RespNoPermission, format, a...)
	r.Forbidden = kind
	return r
}
