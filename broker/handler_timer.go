package broker

// RECALL_MESSAGE 370, GET_TIMER_CHECK_POINT 60, GET_TIMER_METRICS 61; and the timer messages of sends: as Java's RecallMessageProcessor,
// AdminBrokerProcessor and HookUtils.
//
// Different from Java: recalls are on by default; a recall handle must be exactly one that a send returned, and
// belong to a message that was stored (Java stores a deletion for any key). timerCongestNumEachSlot has no effect: a slot is a position in a file, and
// has no limit.

import (
	"errors"
	"math"
	"time"

	"github.com/seedmq/seedmq/broker/delay"
	"github.com/seedmq/seedmq/broker/timer"
	"github.com/seedmq/seedmq/conf/clock"
	"github.com/seedmq/seedmq/remoting"
	"github.com/seedmq/seedmq/remoting/protocol"
	"github.com/seedmq/seedmq/store"
)

// recallTag is the tag of records that delete another one.
const recallTag = "_RECALL_TAG_"

func (b *Broker) timerRoutes() []remoting.Route {
	return []remoting.Route{
		{Code: protocol.ReqRecallMessage, Mode: remoting.Pooled, Pool: poolMeta, Handle: b.recall},
		{Code: protocol.ReqGetTimerCheckPoint, Mode: remoting.Pooled, Pool: poolAdmin, Handle: admin(b.timerCheckpoint)},
		{Code: protocol.ReqGetTimerMetrics, Mode: remoting.Pooled, Pool: poolAdmin, Handle: admin(b.timerMetrics)},
	}
}

// makeTimer makes the service that brings timed messages back, unless timerWheelEnable is off.
func (b *Broker) makeTimer() {
	c := &b.o.Store
	if !c.TimerWheelEnable {
		return
	}
	b.timer = timer.New(timer.Options{Source: b.store, Sink: delay.NewStoreSink(b.store), FS: b.o.FS, Root: c.StorePathRootDir,
		Clock: b.clk, Log: b.log, Tick: timer.Tick(c.TimerPrecisionMs), RollSlots: c.TimerRollWindowSlot,
		Retention:   func() time.Duration { return clock.Span(b.settings().Store.FileReservedTime, time.Hour) },
		FlushEvery:  clock.Span(max(c.TimerFlushIntervalMs, 1), time.Millisecond),
		LogFileSize: c.MappedFileSizeTimerLog,
		Flushed:     func() int64 { return b.store.Status().FlushedPhys },
		MinPhys:     func() int64 { return b.store.Status().MinPhys },
		Came:        b.cameTimed,
		Route:       b.queueNow,
		Delivered:   func(topic string, size int) { b.stats.AddPut(b.stats.Topic(topic), 1, int64(size)) }})
}

func (b *Broker) startTimer() error {
	if b.timer == nil {
		return nil
	}
	return b.timer.Start()
}

// noTimer is the answer when timerWheelEnable is off.
func noTimer() error {
	return refuse(protocol.RespSystemError, "timer message is not under control: the timer wheel is off (timerWheelEnable)")
}

// timerTick is the length of a slot in ms.
func (b *Broker) timerTick() int64 { return timer.Tick(b.o.Store.TimerPrecisionMs).Milliseconds() }

// divertTimer turns w's message, if it asks for a time, into its record for the timer topic. One that asks for a time that is over stays as
// it is. As Java's transformTimerMessage.
func (s *sender) divertTimer(w *sendWork, it *sendItem) error {
	m, now := &w.msg, w.now.UnixMilli()
	if m.Topic == protocol.TopicTimer {
		return refuse(protocol.RespNoPermission, "Sending message to topic[%s] is forbidden.", m.Topic)
	}
	ms, asked, err := timer.Due(&w.view, now)
	switch {
	case err != nil:
		return refuse(protocol.RespMessageIllegal, "timer message illegal: %v", err)
	case !asked:
		return nil
	case s.b.timer == nil:
		return noTimer()
	}
	limit := clock.Span(w.set.Store.TimerMaxDelaySec, time.Second).Milliseconds()
	_, deletes := protocol.Property(m.Properties, protocol.PropertyTimerDelUniqKey)
	if ms-now > limit || ms <= now && deletes {
		return refuse(protocol.RespMessageIllegal, "timer message illegal, the delay time should not be bigger than the max delay %dms; "+
			"or if set del msg, the delay time should be bigger than the current time: the delay is %dms (timerMaxDelaySec)", limit, ms-now)
	}
	if ms <= now {
		return nil
	}
	if !protocol.IsRetryTopic(m.Topic) {
		it.realTopic, it.timerOut = m.Topic, timer.Out(ms, s.b.timerTick())
	}
	w.delay = timer.Divert(m, ms, s.b.timerTick(), w.delay[:0])
	return nil
}

// recallHandle is what the sender of a timed message gets.
func (h *sendHeader) recallHandle() string {
	r := protocol.RecallHandle{Topic: h.it.realTopic, Broker: h.set.BrokerName, DeliverMs: h.it.timerOut + 1, UniqKey: h.it.uniqKey()}
	return string(r.Append(nil))
}

// recall stores a record that deletes a timed message.
func (b *Broker) recall(c remoting.Conn, req *protocol.Command) {
	var h protocol.RecallMessageRequestHeader
	if err := h.DecodeExt(req.Ext); err != nil {
		fail(c, req, err)
		return
	}
	set := b.settings()
	r, err := b.checkRecall(set, &h)
	if err == nil && r.Level {
		done(c, req, &protocol.RecallMessageResponseHeader{MsgID: r.UniqKey, MsgRegion: set.RegionID}, nil, b.recallDelayed(r))
		return
	}
	if err != nil {
		fail(c, req, err)
		return
	}
	if err := b.checkRecalled(r); err != nil {
		fail(c, req, err)
		return
	}
	m, key := b.recallMessage(set, &h, r, c)
	batch := b.store.NewBatch()
	if err := batch.Add(&m); err != nil {
		fail(c, req, err)
		return
	}
	if err := b.store.Append(batch); err != nil {
		fail(c, req, err)
		return
	}
	b.timer.Recalled(r.DeliverMs, r.Topic, key)
	b.stats.AddPut(b.stats.Topic(protocol.TopicTimer), 1, int64(batch.Result(0).Size))
	answer := func(err error) {
		if err != nil && !errors.Is(err, store.ErrFlushTimeout) {
			fail(c, req, err)
			return
		}
		c.Reply(req, &remoting.Reply{Header: &protocol.RecallMessageResponseHeader{MsgID: r.UniqKey, MsgRegion: set.RegionID}})
	}
	b.store.AwaitSafe(batch.End(), answer)
}

// checkRecall says whether a recall may be stored, in Java's order.
func (b *Broker) checkRecall(set *settings, h *protocol.RecallMessageRequestHeader) (*protocol.RecallHandle, error) {
	now := b.clk.Now().UnixMilli()
	switch {
	case !set.RecallMessageEnable:
		return nil, refuse(protocol.RespNoPermission, "recall failed, operation is forbidden (recallMessageEnable)")
	case now < set.StartAcceptSendRequestTimeStamp:
		return nil, refuse(protocol.RespServiceNotAvailable, "recall failed, broker service not available until %d (startAcceptSendRequestTimeStamp)", set.StartAcceptSendRequestTimeStamp)
	case !protocol.PermWritable(int32(set.BrokerPermission)) && !set.AllowRecallWhenBrokerNotWriteable:
		return nil, refuse(protocol.RespServiceNotAvailable, "recall failed, broker service not available: brokerPermission is %d (allowRecallWhenBrokerNotWriteable)", set.BrokerPermission)
	case b.topics.Get(h.Topic) == nil:
		return nil, refuse(protocol.RespTopicNotExist, "recall failed, the topic[%s] not exist", clip(h.Topic))
	}
	r, err := protocol.ParseRecallHandle(h.RecallHandle)
	limit := clock.Span(set.Store.TimerMaxDelaySec, time.Second).Milliseconds()
	switch {
	case err != nil:
		return nil, refuse(protocol.RespIllegalOperation, "%v", err)
	case r.Topic != h.Topic:
		return nil, refuse(protocol.RespIllegalOperation, "recall failed, topic not match: the handle is of topic %s", clip(r.Topic))
	case r.Broker != set.BrokerName:
		return nil, refuse(protocol.RespIllegalOperation, "recall failed, broker service not available: the handle is of broker %s", clip(r.Broker))
	case r.Level:
		return &r, nil
	case b.timer == nil:
		return nil, noTimer()
	case r.DeliverMs <= now:
		return nil, refuse(protocol.RespIllegalOperation, "recall failed, timestamp invalid: %d is %d ms ago, the message is delivered", r.DeliverMs, now-r.DeliverMs)
	case r.DeliverMs-now > limit: // Java: >=
		return nil, refuse(protocol.RespIllegalOperation, "recall failed, timestamp invalid: %d is later than any message (timerMaxDelaySec)", r.DeliverMs)
	}
	return &r, nil
}

const (
	// indexWait is how long a recall waits until the index has what was stored before it.
	indexWait = 2 * time.Second
	indexLook = 2 * time.Millisecond
	// sameKeys is how many timed messages with one key are looked at.
	sameKeys = 64
)

// checkRecalled refuses a handle that belongs to no message: Java stores a record for anything. Without an index everything is taken.
func (b *Broker) checkRecalled(r *protocol.RecallHandle) error {
	if !b.o.Store.MessageIndexEnable {
		return nil
	}
	end := b.store.Status().MaxPhys
	t := b.clk.NewTimer(indexLook)
	defer t.Stop()
	for begin := b.clk.Now(); ; t.Reset(indexLook) {
		indexed := b.store.Status().DispatchedPhys >= end
		found, err := b.findTimed(r)
		if found || err != nil {
			return err
		}
		if indexed {
			return refuse(protocol.RespIllegalOperation, "recall failed, no message of topic %s with key %s waits for %d", clip(r.Topic), clip(r.UniqKey), r.DeliverMs)
		}
		if b.clk.Now().Sub(begin) > indexWait { // a recall that is not needed does no harm
			return nil
		}
		<-t.C()
	}
}

// findTimed says whether a timed message as of the handle was stored.
func (b *Broker) findTimed(r *protocol.RecallHandle) (bool, error) {
	out := itoa(timer.Out(r.DeliverMs, b.timerTick()))
	return b.cameTimed(protocol.TopicTimer, r.UniqKey, func(props string) bool {
		p := protocol.ParseProperties(props)
		return p[protocol.PropertyTimerDelUniqKey] == "" && p[protocol.PropertyRealTopic] == r.Topic && p[protocol.PropertyTimerOutMs] == out
	})
}

// cameTimed says whether a message with that UNIQ_KEY was stored whose properties match. Without an index none is known.
func (b *Broker) cameTimed(topic, uniqKey string, match func(props string) bool) (bool, error) {
	res, err := b.store.QueryKey(topic, uniqKey, store.KeyUniq, sameKeys, 0, math.MaxInt64)
	if err != nil {
		return false, err
	}
	for _, rec := range res.Records {
		var v protocol.MessageView
		if _, err := protocol.DecodeMessage(rec, &v); err == nil && match(v.Properties) {
			return true, nil
		}
	}
	return false, nil
}

// recallDelayed recalls a message with a delay level, which Java cannot.
func (b *Broker) recallDelayed(r *protocol.RecallHandle) error {
	rec, err := b.store.Record(r.DeliverMs, nil)
	if err != nil {
		return refuse(protocol.RespIllegalOperation, "recall failed, no message at log position %d: %v", r.DeliverMs, err)
	}
	var v protocol.MessageView
	if _, err := protocol.DecodeMessage(rec, &v); err != nil {
		return err
	}
	topic, _ := v.Property(protocol.PropertyRealTopic)
	key, _ := v.Property(protocol.PropertyUniqKey)
	if v.Topic != protocol.TopicSchedule || topic != r.Topic || key != r.UniqKey {
		return refuse(protocol.RespIllegalOperation, "recall failed, the message at log position %d is not the delayed one", r.DeliverMs)
	}
	err = b.delay.Recall(v.QueueID+1, v.QueueOffset)
	if errors.Is(err, delay.ErrTooLate) {
		return refuse(protocol.RespIllegalOperation, "recall failed, timestamp invalid: the message is delivered")
	}
	return err
}

// recallMessage makes the record.
func (b *Broker) recallMessage(set *settings, h *protocol.RecallMessageRequestHeader, r *protocol.RecallHandle, c remoting.Conn) (m store.Message, key string) {
	now := b.clk.Now().UnixMilli()
	key = timer.DeleteKey(r.Topic, r.UniqKey, set.Store.AppendTopicForTimerDeleteKey)
	m = store.Message{Topic: r.Topic, Body: []byte("0"), BornTimestamp: now, BornHost: c.RemoteAddr(), StoreHost: set.self, Tags: recallTag, UniqKey: r.UniqKey}
	p := protocol.AppendProperty(nil, protocol.PropertyTimerDelUniqKey, key)
	p = protocol.AppendProperty(p, protocol.PropertyBornTimestamp, itoa(now))
	p = protocol.AppendProperty(p, protocol.PropertyTimerDeliverMs, itoa(r.DeliverMs))
	p = protocol.AppendProperty(p, protocol.PropertyUniqKey, r.UniqKey)
	if h.ProducerGroup != "" {
		p = protocol.AppendProperty(p, protocol.PropertyProducerGroup, h.ProducerGroup)
	}
	m.Properties = protocol.AppendProperty(p, protocol.PropertyTags, recallTag)
	timer.Divert(&m, r.DeliverMs, b.timerTick(), nil)
	return m, key
}

// timerCheckpoint is what slaves follow.
func (b *Broker) timerCheckpoint(*call, *none) (*remoting.Reply, error) {
	if b.timer == nil {
		return nil, refuse(protocol.RespSystemError, "The timer message store is null: timerWheelEnable is off")
	}
	c := b.timer.Checkpoint()
	return &remoting.Reply{Body: c.Append(nil)}, nil
}

func (b *Broker) timerMetrics(*call, *none) (*remoting.Reply, error) {
	if b.timer == nil {
		return nil, refuse(protocol.RespSystemError, "The timer message store is null: timerWheelEnable is off")
	}
	return jsonReply(b.timer.Metrics())
}

// timerInfo adds the state of timed messages to the runtime information.
func (b *Broker) timerInfo(t map[string]string) {
	var f timer.Figures
	if b.timer != nil {
		f = b.timer.Figures()
	}
	t["timerReadBehind"], t["timerOffsetBehind"], t["timerCongestNum"] = itoa(int64(f.Behind/time.Second)), itoa(f.OffsetBehind), itoa(f.Waiting)
	t["timerEnqueueTps"], t["timerDequeueTps"] = javaFloat(f.EnqueueRate), javaFloat(f.DequeueRate)
}
