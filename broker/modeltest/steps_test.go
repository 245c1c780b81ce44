package modeltest

import (
	"fmt"
	"strconv"
	"time"

	"github.com/seedmq/seedmq/remoting/protocol"
)

// tick is the length of a slot of the timer wheel: in the one that a message is due in, it is too late to recall it.
const tick = 1000

// levels are the delays of the first delay levels.
var levels = []time.Duration{0, time.Second, 5 * time.Second, 10 * time.Second, 30 * time.Second, time.Minute, 2 * time.Minute}

// sending is a message on its way.
type sending struct {
	*item
	tx *tx
	r  *protocol.Command
}

// sends are messages of all kinds in one burst.
func (w *world) sends() error {
	var all []sending
	var reqs []*protocol.Command
	kind := w.rng.IntN(6)
	for range 1 + w.rng.IntN(5) {
		if w.rng.IntN(3) == 0 {
			kind = w.rng.IntN(6)
		}
		s := w.message(kind)
		all, reqs = append(all, s), append(reqs, s.r)
	}
	replies, err := w.producer.burst(w.clk, w.killed.Load, reqs...)
	for i, r := range replies {
		if r == nil {
			continue
		}
		if err := w.sent(all[i], r); err != nil {
			return err
		}
	}
	return err
}

// message makes the next message: plain, delayed, timed or half.
func (w *world) message(kind int) sending {
	n := len(w.names)
	it := &item{name: fmt.Sprint("m", n), topic: allTopics[w.rng.IntN(len(allTopics))], queue: int32(w.rng.IntN(queues)), sentAt: w.now()}
	var props []byte
	prop := func(name, value string) { props = protocol.AppendProperty(props, name, value) }
	prop(protocol.PropertyUniqKey, "U"+it.name)
	prop(protocol.PropertyWait, "true")
	what, s := "plain", sending{item: it}
	h := &protocol.SendMessageV2RequestHeader{ProducerGroup: producerGroup, Topic: it.topic, DefaultTopic: protocol.DefaultTopic, DefaultTopicQueueNums: queues,
		QueueID: it.queue, BornTimestamp: w.now()}
	switch kind {
	case 0, 1:
		it.plain = true
	case 2:
		level := 1 + w.rng.IntN(len(levels)-1)
		it.due = w.now() + levels[level].Milliseconds()
		prop(protocol.PropertyDelay, strconv.Itoa(level))
		what = fmt.Sprint("level ", level)
	case 3:
		ms := 1 + w.rng.Int64N(1+w.rng.Int64N(300_000))
		it.due = w.now() + ms
		prop(protocol.PropertyTimerDelayMs, strconv.FormatInt(ms, 10))
		what = fmt.Sprintf("in %d ms", ms)
	case 4:
		it.due = w.now() + 1 + w.rng.Int64N(1+w.rng.Int64N(300_000))
		prop(protocol.PropertyTimerDeliverMs, strconv.FormatInt(it.due, 10))
		what = fmt.Sprintf("at %d", it.due)
	default:
		it.never = "belongs to a transaction that was not committed"
		s.tx = &tx{item: it}
		prop(protocol.PropertyTransactionPrepared, "true")
		prop(protocol.PropertyProducerGroup, producerGroup)
		h.SysFlag, what = protocol.SysFlagTransactionPrepared, "half"
		w.txs = append(w.txs, s.tx)
	}
	h.Properties = string(props)
	w.add(it)
	w.note("send %s to %s/%d: %s", it.name, it.topic, it.queue, what)
	s.r = request(protocol.ReqSendMessageV2, h, []byte(it.name))
	return s
}

// sent notes what the broker said of a message.
func (w *world) sent(s sending, r *protocol.Command) error {
	if r.Code != protocol.RespSuccess {
		if w.killed.Load() {
			return nil // perhaps stored
		}
		return fmt.Errorf("send of %s: code %d %s", s.name, r.Code, r.Remark)
	}
	var h protocol.SendMessageResponseHeader
	if err := h.DecodeExt(r.Ext); err != nil {
		return err
	}
	_, phys, err := protocol.ParseOffsetMsgID(h.MsgID)
	if err != nil {
		return err
	}
	s.sure, s.offset, s.handle = true, h.QueueOffset, h.RecallHandle
	if s.tx != nil {
		s.tx.stored, s.tx.records = true, []halfRecord{{h.QueueOffset, phys}}
		s.sure = false
	} else if s.due > 0 && s.handle == "" {
		s.handle = string((&protocol.RecallHandle{Topic: s.topic, Broker: "test-broker", DeliverMs: phys, UniqKey: "U" + s.name, Level: true}).Append(nil))
	}
	return nil
}

// recall takes a delayed or timed message back.
func (w *world) recall() error {
	var open []*item
	for _, name := range w.names {
		if it := w.items[name]; it.handle != "" && it.never == "" && it.due > w.now()-5000 {
			open = append(open, it)
		}
	}
	if len(open) == 0 {
		return nil
	}
	it := open[w.rng.IntN(len(open))]
	w.note("recall %s, due in %d ms", it.name, it.due-w.now())
	r, err := w.call(w.producer, protocol.ReqRecallMessage, &protocol.RecallMessageRequestHeader{ProducerGroup: producerGroup, Topic: it.topic, RecallHandle: it.handle}, nil)
	switch {
	case err == nil && r.Code == protocol.RespSuccess && it.due > w.now():
		it.never = "was recalled"
	case err != nil || r.Code == protocol.RespSuccess || w.killed.Load():
		it.sure = false // it may have been delivered, or recalled
	case it.due > w.now()+tick:
		return fmt.Errorf("recall of %s, due in %d ms: code %d %s", it.name, it.due-w.now(), r.Code, r.Remark)
	}
	it.handle = ""
	return err
}

// back sends a message that a consumer could read back for another try.
func (w *world) back() error {
	all, err := w.expect()
	if err != nil {
		return err
	}
	var open []seen
	for _, s := range all {
		if !w.tried[s.name] && !protocol.IsDLQTopic(s.Topic) {
			open = append(open, s)
		}
	}
	if len(open) == 0 {
		return nil
	}
	s := open[w.rng.IntN(len(open))]
	w.tried[s.name] = true
	h := &protocol.ConsumerSendMsgBackRequestHeader{Offset: s.PhysicalOffset, Group: consumerGroup, OriginMsgID: s.OffsetMsgID(), OriginTopic: s.Topic, MaxReconsumeTimes: protocol.Some(int32(2))}
	it := &item{topic: protocol.RetryTopic(consumerGroup), queue: -1, sentAt: w.now()}
	if s.ReconsumeTimes >= 2 {
		it.topic = protocol.DLQTopic(consumerGroup)
	} else {
		it.due = w.now() + levels[3+s.ReconsumeTimes].Milliseconds()
	}
	it.name = tryOf(it.topic, string(s.Body), s.ReconsumeTimes+1)
	w.add(it)
	w.note("send back %s", it.name)
	_, err = w.must(w.members[w.rng.IntN(2)], protocol.ReqConsumerSendMsgBack, h, nil)
	it.sure = err == nil
	return err
}
