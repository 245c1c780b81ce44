package modeltest

import (
	"fmt"
	"strings"
	"time"

	"github.com/seedmq/seedmq/broker/pop"
	"github.com/seedmq/seedmq/remoting/protocol"
)

// popGroup takes messages by POP.
const popGroup = "Pops"

// popped is a message that was taken and may still be acknowledged.
type popped struct {
	name   string
	topic  string // that acks name
	queue  int32
	offset int64
	handle string
	until  int64 // ms: invisible
}

// pops is what the group of poppers knows, by topic and name of a message.
type pops struct {
	open  []popped
	done  map[string]bool  // acknowledged, once at least
	never map[string]bool  // must not come again
	twice map[string]bool  // a kill may have left two of it: it was popped and not acknowledged
	until map[string]int64 // not before this time in ms
}

func newPops() pops {
	return pops{done: map[string]bool{}, never: map[string]bool{}, twice: map[string]bool{}, until: map[string]int64{}}
}

// popSome takes messages of a topic.
func (w *world) popSome(topic string, queue int32, invisible time.Duration) error {
	now := w.now()
	r, err := w.call(w.members[0], protocol.ReqPopMessage, &protocol.PopMessageRequestHeader{ConsumerGroup: popGroup, Topic: topic, QueueID: queue, MaxMsgNums: 32,
		InvisibleTime: invisible.Milliseconds(), BornTime: now, ExpType: "TAG", Exp: "*"}, nil)
	switch {
	case err != nil:
		return err
	case r.Code == protocol.RespPollingTimeout || r.Code == protocol.RespPollingFull || r.Code == protocol.RespPullNotFound:
		return nil
	case r.Code != protocol.RespSuccess && w.killed.Load():
		return errDead
	case r.Code != protocol.RespSuccess:
		return fmt.Errorf("pop of %s/%d: code %d %s", topic, queue, r.Code, r.Remark)
	}
	var h protocol.PopMessageResponseHeader
	if err := h.DecodeExt(r.Ext); err != nil {
		return err
	}
	for body := r.Body; len(body) > 0; {
		var v protocol.MessageView
		n, err := protocol.DecodeMessage(body, &v)
		if err != nil {
			return wrong{err}
		}
		if err := w.tookOne(topic, &v, &h, now); err != nil {
			return wrong{err}
		}
		body = body[n:]
	}
	return nil
}

// tookOne judges a message that a pop brought. What is delivered twice by itself, as after kills, comes twice here, too.
func (w *world) tookOne(topic string, v *protocol.MessageView, h *protocol.PopMessageResponseHeader, now int64) error {
	name := string(v.Body)
	it := w.items[name]
	if it == nil || it.topic != topic || it.never != "" {
		return fmt.Errorf("popped %q of %s, which is not there: %+v", name, topic, it)
	}
	m := popped{name: name, topic: topic, queue: v.QueueID, offset: v.QueueOffset, until: h.PopTime + h.InvisibleTime}
	ck, retried := v.Property(protocol.PropertyPopCK)
	if m.handle = ck; retried {
		p, err := pop.ParseHandle(ck)
		if err != nil {
			return err
		}
		m.topic = pop.RealTopic(topic, popGroup, p.Mark)
	} else {
		start := ""
		for entry := range strings.SplitSeq(h.StartOffsetInfo, ";") {
			if f := strings.Fields(entry); len(f) == 3 && f[1] == fmt.Sprint(v.QueueID) && f[0] == "0" {
				start = f[2]
			}
		}
		m.handle = fmt.Sprintf("%s %d %d %d 0 test-broker %d %d", start, h.PopTime, h.InvisibleTime, h.ReviveQid, v.QueueID, v.QueueOffset)
	}
	once := it.plain && !w.pops.twice[name]
	if once && w.pops.never[name] {
		return fmt.Errorf("%s comes back after it was acknowledged: try %d, handle %s", name, v.ReconsumeTimes, m.handle)
	}
	if once && now < w.pops.until[name] {
		return fmt.Errorf("%s comes %d ms before its time is over: try %d, handle %s", name, w.pops.until[name]-now, v.ReconsumeTimes, m.handle)
	}
	w.note("took %s: %s", name, m.handle)
	if !w.killed.Load() {
		w.pops.until[name] = m.until
		w.pops.open = append(w.pops.open, m)
	}
	return nil
}

func (w *world) popAny() error {
	k := w.anyPlace()
	if w.rng.IntN(2) == 0 {
		k.queue = -1
	}
	d := time.Duration(1+w.rng.IntN(40)) * time.Second
	w.note("pop %v for %v", k, d)
	return w.popSome(k.topic, k.queue, d)
}

// takeOpen takes one of the open messages out, if its time is not nearly over.
func (w *world) takeOpen() (m popped, ok bool) {
	o := w.pops.open
	if len(o) == 0 {
		return m, false
	}
	i := w.rng.IntN(len(o))
	m, o[i] = o[i], o[len(o)-1]
	w.pops.open = o[:len(o)-1]
	return m, w.now()+500 < m.until
}

// ackSome acknowledges some of what is open.
func (w *world) ackSome() error {
	for range 1 + w.rng.IntN(8) {
		if m, ok := w.takeOpen(); ok {
			w.note("ack %s: %s", m.name, m.handle)
			if err := w.ack(&m); err != nil {
				return err
			}
		}
	}
	return nil
}

func (w *world) ack(m *popped) error {
	delete(w.pops.until, m.name) // it may have been done
	_, err := w.must(w.members[0], protocol.ReqAckMessage, &protocol.AckMessageRequestHeader{ConsumerGroup: popGroup, Topic: m.topic, QueueID: m.queue,
		ExtraInfo: m.handle, Offset: m.offset}, nil)
	w.pops.done[m.name] = true          // or perhaps
	if err == nil && !w.killed.Load() { // a broker whose disk has stopped answers all the same
		w.pops.never[m.name] = true
	}
	return err
}

// changeOne gives one more, or less, time.
func (w *world) changeOne() error {
	m, ok := w.takeOpen()
	if !ok {
		return nil
	}
	d := int64(1000 + w.rng.IntN(30_000))
	w.note("change %s to %d ms: %s", m.name, d, m.handle)
	delete(w.pops.until, m.name)
	now := w.now()
	r, err := w.must(w.members[0], protocol.ReqChangeMessageInvisibleTime, &protocol.ChangeMessageInvisibleTimeRequestHeader{ConsumerGroup: popGroup, Topic: m.topic, QueueID: m.queue,
		ExtraInfo: m.handle, Offset: m.offset, InvisibleTime: d}, nil)
	if err != nil {
		return err
	}
	var h protocol.ChangeMessageInvisibleTimeResponseHeader
	if err := h.DecodeExt(r.Ext); err != nil {
		return err
	}
	m.until = h.PopTime + h.InvisibleTime
	m.handle = changed(m.handle, &h)
	if !w.killed.Load() {
		w.pops.until[m.name] = now + d
		w.pops.open = append(w.pops.open, m)
	}
	return nil
}

// changed is a handle with the times of a change, as clients make it.
func changed(handle string, h *protocol.ChangeMessageInvisibleTimeResponseHeader) string {
	f := strings.Fields(handle)
	f[0] = f[len(f)-1] // it begins at the message itself
	f[1], f[2], f[3] = fmt.Sprint(h.PopTime), fmt.Sprint(h.InvisibleTime), fmt.Sprint(h.ReviveQid)
	return strings.Join(f, " ")
}

// popRest takes and acknowledges until everything was acknowledged that is there.
func (w *world) popRest() error {
	var left []string
	for range 200 {
		if left = w.notAcked(); len(left) == 0 {
			return nil
		}
		for _, t := range topics {
			if err := w.popSome(t, -1, time.Minute); err != nil {
				return err
			}
		}
		for len(w.pops.open) > 0 {
			if m, ok := w.takeOpen(); ok {
				if err := w.ack(&m); err != nil {
					return err
				}
			}
		}
		if err := w.pass(3 * time.Second); err != nil {
			return err
		}
		time.Sleep(time.Millisecond) // what was revived is stored by a goroutine
	}
	return fmt.Errorf("never popped: %v", left)
}

func (w *world) notAcked() (left []string) {
	for _, name := range w.names {
		it := w.items[name]
		if it.sure && it.never == "" && it.topic != purgedTopic && !protocol.IsRetryTopic(it.topic) && !protocol.IsDLQTopic(it.topic) && !w.pops.done[name] {
			left = append(left, name)
		}
	}
	return left
}
