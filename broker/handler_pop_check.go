package broker

import (
	"errors"
	"path/filepath"
	"strings"
	"time"

	"github.com/seedmq/seedmq/broker/delay"
	"github.com/seedmq/seedmq/broker/group"
	"github.com/seedmq/seedmq/broker/offset"
	"github.com/seedmq/seedmq/broker/pop"
	"github.com/seedmq/seedmq/broker/topic"
	"github.com/seedmq/seedmq/conf/clock"
	"github.com/seedmq/seedmq/remoting"
	"github.com/seedmq/seedmq/remoting/protocol"
)

// check does what Java checks, in its order.
func (p *popper) check(c remoting.Conn, req *protocol.Command, h *protocol.PopMessageRequestHeader) (*popReq, error) {
	set, now := p.b.settings(), clock.Millis(p.b.clk)
	if h.BornTime == 0 {
		h.BornTime = now
	}
	switch {
	case now-h.BornTime-h.PollTime > popLateMs:
		return nil, refuse(protocol.RespPollingTimeout, "the broker[%s] pop message is timeout too much: it was made %d ms ago, for %d ms", set.BrokerIP1, now-h.BornTime, h.PollTime)
	case !protocol.PermReadable(int32(set.BrokerPermission)):
		return nil, refuse(protocol.RespNoPermission, "the broker[%s] pop message is forbidden: brokerPermission is %d", set.BrokerIP1, set.BrokerPermission)
	case h.MaxMsgNums > pop.MaxTake:
		return nil, refuse(protocol.RespInvalidParameter, "the broker[%s] pop message's num is greater than %d", set.BrokerIP1, pop.MaxTake)
	case h.MaxMsgNums < 1:
		return nil, refuse(protocol.RespInvalidParameter, "the broker[%s] pop message's num is %d", set.BrokerIP1, h.MaxMsgNums)
	case p.b.pop == nil:
		return nil, refuse(protocol.RespSystemError, "the broker[%s] pop message is forbidden because timerWheelEnable is false", set.BrokerIP1)
	}
	if err := p.invisible(h.InvisibleTime, 1); err != nil {
		return nil, err
	}
	t, g, err := p.target(sessionOf(c), c, h.Topic, h.ConsumerGroup, h.QueueID)
	if err != nil {
		return nil, err
	}
	f, err := p.popFilter(sessionOf(c), h.Exp, h.ExpType)
	if err != nil {
		return nil, err
	}
	q := &popReq{c: c, opaque: req.Opaque, flag: req.Flag, code: req.Code, topic: t, group: g, filter: f, queueID: max(h.QueueID, -1),
		max: int(h.MaxMsgNums), invisible: h.InvisibleTime, init: pop.InitMode(h.InitMode), ordered: h.Order.Or(false), attempt: strings.Clone(h.AttemptID)}
	q.deadline = pollDeadline(now, h.BornTime, h.PollTime)
	return q, nil
}

// pollDeadline is until when a request may wait, 0 when it may not. A client whose clock is ahead gains nothing.
func pollDeadline(now, born, poll int64) int64 {
	if poll <= 0 {
		return 0
	}
	return min(born, now) + min(poll, maxSuspendMs)
}

// invisible checks an invisible time.
func (p *popper) invisible(ms, least int64) error {
	limit := clock.Span(p.b.o.Store.TimerMaxDelaySec, time.Second).Milliseconds()
	if ms < least || ms > limit {
		return refuse(protocol.RespInvalidParameter, "invisibleTime %d ms is not between %d and %d (timerMaxDelaySec)", ms, least, limit)
	}
	return nil
}

// target finds what a request is about: topic, group, queue, and whether the group may read it.
func (p *popper) target(ses *session, c remoting.Conn, name, groupName string, queueID int32) (*topic.Entry, *group.Entry, error) {
	t := ses.pullTopic
	if t == nil || t.Name() != name || t.Stale() {
		if t = p.b.topics.Get(name); t == nil {
			return nil, nil, refuse(protocol.RespTopicNotExist, "topic[%s] not exist, apply first please!%s", clip(name), faq)
		}
		ses.pullTopic = t
	}
	switch {
	case !t.Readable():
		return nil, nil, refuse(protocol.RespNoPermission, "the topic[%s] peeking message is forbidden: its permission is %s", t.Name(), protocol.PermString(t.Config.Perm))
	case queueID >= t.Config.ReadQueueNums:
		return nil, nil, refuse(protocol.RespInvalidParameter, "queueId[%d] is illegal, topic:[%s] topicConfig.readQueueNums:[%d] consumer:[%s]", queueID, t.Name(), t.Config.ReadQueueNums, c.RemoteAddr())
	}
	g, err := p.b.puller.groupFor(ses, groupName)
	switch {
	case err != nil:
		return nil, nil, err
	case !g.Config.ConsumeEnable:
		return nil, nil, refuse(protocol.RespNoPermission, "subscription group no permission, %s: consumeEnable is false", g.Name())
	case !p.b.groups.MayRead(g.Name(), t.Name()):
		return nil, nil, refuse(protocol.RespNoPermission, "the consumer group[%s] is forbidden for topic[%s]", g.Name(), t.Name())
	}
	return t, g, nil
}

// popRefusal maps the errors of package pop.
func popRefusal(err error) error {
	switch {
	case errors.Is(err, pop.ErrHandle), errors.Is(err, pop.ErrUnknown), errors.Is(err, pop.ErrOffset):
		return &Refusal{Code: protocol.RespMessageIllegal, Remark: err.Error()}
	}
	return err
}

// makePop makes the service that keeps what is popped, unless there is no timer to bring it back.
func (b *Broker) makePop() error {
	if b.timer == nil {
		return nil
	}
	root := b.o.Store.StorePathRootDir
	b.pop = pop.New(pop.Options{Source: singles{b.store}, NewSink: func() pop.Sink { return delay.NewStoreSink(b.store) }, AwaitSafe: b.store.AwaitSafe,
		Offsets: b.offsets, FS: b.o.FS, Dir: pop.JournalDir(root), OrderPath: filepath.Join(root, "config", "consumerOrderInfo.json"),
		Clock: b.clk, Log: b.log, Broker: b.o.Broker.BrokerName, ReviveTopic: protocol.ReviveTopicPrefix + b.o.Broker.BrokerClusterName,
		ReviveQueues: int32(max(1, b.o.Broker.ReviveQueueNum)), TickMs: b.timerTick(), Self: b.Self,
		HasTopic:    func(name string) bool { return b.topics.Get(name) != nil },
		HasGroup:    func(name string) bool { return b.groups.Get(name) != nil },
		Retry:       b.popRetry,
		Tuning:      b.popTuning,
		TimerBehind: func() time.Duration { return b.timer.Figures().Behind },
		Revived: func(topic string, size int) {
			b.stats.AddPut(b.stats.Topic(topic), 1, int64(size))
		},
		Released: b.popReleased})
	return b.pop.Load()
}

// dropPopJournal removes what a kill of ours left, because another broker, or a clean stop, came after it: the store may say something else
// by now. Without the journal everything goes on at the committed offsets, which lose nothing.
func (b *Broker) dropPopJournal() error {
	n, err := pop.DropJournal(b.o.FS, pop.JournalDir(b.o.Store.StorePathRootDir))
	if n > 0 {
		b.log.Warnf("another broker had the store open since this one was killed: what was popped then and is not in the log comes again")
	}
	return err
}

func (b *Broker) startPop() error {
	b.popWaits.Start()
	b.popNotices.Start()
	if b.pop == nil {
		return nil
	}
	return b.pop.Start()
}

// popReleased wakes who may go on now.
func (b *Broker) popReleased(topic, group string, queueID int32) {
	if name := pop.NormalTopic(topic, group); name != topic {
		topic, queueID = name, -1
	}
	b.popWaits.Wake(topic, group, queueID)
	b.popNotices.Wake(topic, group, queueID)
}

// popRetry is where a message goes that was not acknowledged in time.
func (b *Broker) popRetry(c *pop.Checkpoint, times int32) (string, error) {
	if g := b.groups.Get(c.Group); g != nil && times >= g.Config.RetryMaxTimes {
		e, err := b.ensureDLQTopic(c.Group)
		if err != nil {
			return "", err
		}
		return e.Name(), nil
	}
	name := c.Topic
	if pop.MarkOf(name) == pop.Normal {
		name = protocol.PopRetryTopicV1(c.Group, c.Topic)
		if b.settings().EnableRetryTopicV2 {
			name = protocol.PopRetryTopicV2(c.Group, c.Topic)
		}
	}
	e := b.topics.Get(name)
	if e == nil {
		var err error
		if e, err = b.ensureOwn(name, 1); err != nil {
			return "", err
		}
	}
	k := offset.Key{Group: c.Group, Topic: e.Name()}
	if _, ok := b.offsets.Query(k); !ok {
		b.offsets.Commit(k, 0, offset.Origin{})
	}
	return e.Name(), nil
}

// savePop writes the table of ordered pops.
func (b *Broker) savePop() error {
	if b.pop == nil {
		return nil
	}
	return b.pop.Save()
}
