package timer

import (
	"errors"
	"fmt"
	"strconv"

	"github.com/seedmq/seedmq/remoting/protocol"
	"github.com/seedmq/seedmq/store"
)

// ErrBadTime: a TIMER_ property is no number, or stands for no time.
var ErrBadTime = errors.New("timer: no time")

// maxTime bounds what is taken for a time in ms: the year 3084.
const maxTime = 1<<45 - 1

// Due is when a message with these properties asks to be delivered, in ms, if it came at now. asked is false when it asks for
// nothing: no TIMER_ property, or one that was through the wheel already (TIMER_OUT_MS). TIMER_DELAY_SEC overrules
// TIMER_DELAY_MS, which overrules TIMER_DELIVER_MS, as in Java.
func Due(v *protocol.PropertyView, now int64) (ms int64, asked bool, err error) {
	if v.TimerOutMs != "" {
		return 0, false, nil
	}
	return dueOf(v, now)
}

func dueOf(v *protocol.PropertyView, now int64) (ms int64, asked bool, err error) {
	switch {
	case v.TimerDelaySec != "":
		ms, err = timeFrom(protocol.PropertyTimerDelaySec, v.TimerDelaySec, now, 1000)
	case v.TimerDelayMs != "":
		ms, err = timeFrom(protocol.PropertyTimerDelayMs, v.TimerDelayMs, now, 1)
	case v.TimerDeliverMs != "":
		ms, err = timeFrom(protocol.PropertyTimerDeliverMs, v.TimerDeliverMs, 0, 1)
	default:
		return 0, false, nil
	}
	return ms, true, err
}

func timeFrom(name, value string, base, unit int64) (int64, error) {
	n, err := strconv.ParseInt(value, 10, 64)
	if err != nil {
		return 0, fmt.Errorf("%w: property %s is %q", ErrBadTime, name, clip(value))
	}
	if n > (maxTime-base)/unit {
		return 0, fmt.Errorf("%w: property %s is %d, beyond the year 3000", ErrBadTime, name, n)
	}
	return base + max(n, -maxTime/unit)*unit, nil
}

func clip(s string) string { return s[:min(len(s), 64)] }

// Out is TIMER_OUT_MS for a message due at ms: the beginning of the tick whose slot it is in. A slot holds what is due after
// its tick's beginning and not after its end.
func Out(ms, tick int64) int64 { return (ms - 1) / tick * tick }

// Divert turns m, due at ms, into its record for the timer topic: topic, queue, and properties REAL_TOPIC, REAL_QID and TIMER_OUT_MS.
// The new properties are appended to dst, which is returned, and m.Properties aliases them.
func Divert(m *store.Message, ms, tick int64, dst []byte) []byte {
	start := len(dst)
	protocol.EachProperty(m.Properties, func(name, value string) bool {
		if name != protocol.PropertyRealTopic && name != protocol.PropertyRealQueueID && name != protocol.PropertyTimerOutMs {
			dst = protocol.AppendProperty(dst, name, value)
		}
		return true
	})
	dst = appendInt(dst, protocol.PropertyTimerOutMs, Out(ms, tick))
	dst = protocol.AppendProperty(dst, protocol.PropertyRealTopic, m.Topic)
	dst = appendInt(dst, protocol.PropertyRealQueueID, int64(m.QueueID))
	m.Properties = dst[start:]
	m.Topic, m.QueueID = protocol.TopicTimer, 0
	return dst
}

func appendInt(dst []byte, name string, n int64) []byte {
	dst = append(append(dst, name...), 1)
	return append(strconv.AppendInt(dst, n, 10), protocol.PropertySeparator)
}

// DeleteKey is the value of TIMER_DEL_UNIQKEY for a message, in one of two forms: Java 5.3.2 to 5.4 put the topic before the
// key; the versions before, and 5.5.0 unless appendTopicForTimerDeleteKey is set, do not.
func DeleteKey(topic, uniqKey string, withTopic bool) string {
	if withTopic {
		return topic + "+" + uniqKey
	}
	return uniqKey
}
