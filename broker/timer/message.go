package timer

import (
	"fmt"
	"strconv"

	"github.com/seedmq/seedmq/remoting/protocol"
	"github.com/seedmq/seedmq/store"
)

// parcel is a record of the timer topic, read. It aliases the record.
type parcel struct {
	view      protocol.MessageView
	props     protocol.PropertyView
	out       int64  // TIMER_OUT_MS
	deleteKey string // TIMER_DEL_UNIQKEY
	rolls     int64  // TIMER_ROLL_TIMES
}

// open reads rec. An error means that it is no message of the timer topic that can ever be delivered.
func (p *parcel) open(rec []byte) error {
	*p = parcel{}
	if _, err := protocol.DecodeMessage(rec, &p.view); err != nil {
		return err
	}
	if p.view.Topic != protocol.TopicTimer {
		return fmt.Errorf("a record of topic %s", p.view.Topic)
	}
	p.props.Parse(p.view.Properties)
	var rolls string
	protocol.EachProperty(p.view.Properties, func(name, value string) bool {
		switch name {
		case protocol.PropertyTimerDelUniqKey:
			p.deleteKey = value
		case protocol.PropertyTimerRollTimes:
			rolls = value
		}
		return true
	})
	var err error
	if p.out, err = strconv.ParseInt(p.props.TimerOutMs, 10, 64); err != nil || p.out < 0 || p.out > maxTime {
		return fmt.Errorf("property %s is %q", protocol.PropertyTimerOutMs, clip(p.props.TimerOutMs))
	}
	if rolls != "" {
		if p.rolls, err = strconv.ParseInt(rolls, 10, 32); err != nil {
			p.rolls = 0
		}
	}
	return nil
}

// longestTick is the longest timerPrecisionMs. A store may have been written with another one than today's.
const longestTick = 1000

// exact is when the message is to be delivered, to the millisecond. It is never before what its sender asked for: see the package
// comment. What contradicts TIMER_OUT_MS is not believed.
func (p *parcel) exact(tick int64) int64 {
	if p.rolls > 0 { // the store time is that of the last roll; the first one of ours noted the time
		if ms, err := strconv.ParseInt(p.props.TimerDeliverMs, 10, 64); err == nil && p.fits(ms) {
			return ms
		}
		if p.props.TimerDelaySec != "" || p.props.TimerDelayMs != "" {
			return p.out + longestTick
		}
	}
	ms, asked, err := dueOf(&p.props, p.view.StoreTimestamp)
	if err != nil || !asked || ms <= p.out {
		return p.out + tick
	}
	return min(ms, p.out+longestTick)
}

func (p *parcel) fits(ms int64) bool { return ms > p.out && ms <= p.out+longestTick }

// stamps are the times that a delivered or rolled message carries.
type stamps struct{ enqueued, dequeued int64 }

// never is the enqueue time of a message that was due before it could be put in the wheel: Java's Long.MAX_VALUE.
const never = 1<<63 - 1

// forward makes the message that goes to the real topic, or back to the timer topic when roll is set. It keeps all properties, as
// Java does; its own are appended to dst, and the result aliases dst and the record.
func (p *parcel) forward(roll bool, exact int64, st stamps, dst []byte) (store.Message, []byte, error) {
	v := &p.view
	m := store.Message{
		Topic: v.Topic, QueueID: v.QueueID, Flag: v.Flag, SysFlag: v.SysFlag, BornTimestamp: v.BornTimestamp, BornHost: v.BornHost,
		StoreHost: v.StoreHost, ReconsumeTimes: v.ReconsumeTimes, PreparedTransactionOffset: v.PreparedTransactionOffset,
		Body: v.Body, Tags: p.props.Tags, Keys: p.props.Keys, UniqKey: p.props.UniqKey,
	}
	start := len(dst)
	noted := false
	protocol.EachProperty(v.Properties, func(name, value string) bool {
		switch name {
		case protocol.PropertyTimerEnqueueMs, protocol.PropertyTimerDequeueMs:
			return true
		case protocol.PropertyTimerRollTimes:
			if roll {
				return true
			}
		case protocol.PropertyTimerDeliverMs:
			noted = true
		}
		dst = protocol.AppendProperty(dst, name, value)
		return true
	})
	dst = appendInt(dst, protocol.PropertyTimerEnqueueMs, st.enqueued)
	if roll {
		dst = appendInt(dst, protocol.PropertyTimerRollTimes, p.rolls+1)
		if !noted && exact > 0 {
			dst = appendInt(dst, protocol.PropertyTimerDeliverMs, exact)
		}
	}
	dst = appendInt(dst, protocol.PropertyTimerDequeueMs, st.dequeued)
	m.Properties = dst[start:]
	if roll {
		return m, dst, nil
	}
	return m, dst, p.address(&m)
}

// address gives m its real topic and queue. A real topic that does not exist any more still gets its message.
func (p *parcel) address(m *store.Message) error {
	m.Topic = p.props.RealTopic
	if err := protocol.CheckTopic(m.Topic); err != nil {
		return fmt.Errorf("property %s: %w", protocol.PropertyRealTopic, err)
	}
	if m.Topic == protocol.TopicTimer || m.Topic == protocol.TopicSchedule {
		return fmt.Errorf("property %s names the system topic %s", protocol.PropertyRealTopic, m.Topic)
	}
	q, err := strconv.ParseInt(p.props.RealQueueID, 10, 32)
	if err != nil || q < 0 {
		return fmt.Errorf("property %s is %q", protocol.PropertyRealQueueID, clip(p.props.RealQueueID))
	}
	m.QueueID = int32(q)
	return nil
}

// deletes says that a marker with key for the same real topic means this message. Both forms of the key count.
func (p *parcel) deletedBy(key string) bool {
	u := p.props.UniqKey
	return u != "" && (key == u || len(key) == len(p.props.RealTopic)+1+len(u) && key == p.props.RealTopic+"+"+u)
}
