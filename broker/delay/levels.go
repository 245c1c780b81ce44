package delay

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/seedmq/seedmq/remoting/protocol"
	"github.com/seedmq/seedmq/store"
)

// DefaultLevels is the default of messageDelayLevel.
const DefaultLevels = "1s 5s 10s 30s 1m 2m 3m 4m 5m 6m 7m 8m 9m 10m 20m 30m 1h 2h"

// maxLevels bounds the table: each level is a queue of the schedule topic.
const maxLevels = 1024

// maxDelay is the longest delay of a level.
const maxDelay = 100 * 365 * 24 * time.Hour

// Levels is the table of delay levels. Level 1 is the first; level 0 means no delay.
type Levels struct{ delays []time.Duration }

// ParseLevels reads a messageDelayLevel text: numbers with a unit s, m, h or d, separated by blanks.
func ParseLevels(text string) (*Levels, error) {
	l := &Levels{}
	for i, word := range strings.Fields(text) {
		d, err := parseDelay(word)
		if err != nil {
			return nil, fmt.Errorf("delay: messageDelayLevel: level %d: %w", i+1, err)
		}
		l.delays = append(l.delays, d)
	}
	if len(l.delays) == 0 {
		return nil, fmt.Errorf("delay: messageDelayLevel is empty")
	}
	if len(l.delays) > maxLevels {
		return nil, fmt.Errorf("delay: messageDelayLevel has %d levels, the most is %d", len(l.delays), maxLevels)
	}
	return l, nil
}

var units = map[byte]time.Duration{'s': time.Second, 'm': time.Minute, 'h': time.Hour, 'd': 24 * time.Hour}

func parseDelay(word string) (time.Duration, error) {
	unit, ok := units[word[len(word)-1]]
	if !ok {
		return 0, fmt.Errorf("%q has no unit s, m, h or d", word)
	}
	n, err := strconv.ParseInt(word[:len(word)-1], 10, 32)
	if err != nil || n < 0 {
		return 0, fmt.Errorf("%q is not a number with a unit", word)
	}
	if n > int64(maxDelay/unit) {
		return 0, fmt.Errorf("%q is too long, the most is %dd", word, maxDelay/units['d'])
	}
	return time.Duration(n) * unit, nil
}

// Max is the highest level.
func (l *Levels) Max() int32 { return int32(len(l.delays)) }

// All lists the delays of levels 1, 2, …
func (l *Levels) All() []time.Duration { return slices.Clone(l.delays) }

// Delay is the delay of a level, capped to the highest one; 0 for level 0 and below.
func (l *Levels) Delay(level int32) time.Duration {
	if level <= 0 {
		return 0
	}
	return l.delays[min(level, l.Max())-1]
}

// Divert turns m, which asks for level > 0, into its record for the schedule topic: topic, queue, delay and properties
// (DELAY capped, REAL_TOPIC, REAL_QID). The new properties are appended to dst, which is returned, and m.Properties
// aliases them.
func (l *Levels) Divert(m *store.Message, level int32, dst []byte) []byte {
	level = min(level, l.Max())
	start := len(dst)
	dst = appendWithout(dst, m.Properties)
	dst = protocol.AppendProperty(dst, protocol.PropertyDelay, strconv.Itoa(int(level)))
	dst = protocol.AppendProperty(dst, protocol.PropertyRealTopic, m.Topic)
	dst = protocol.AppendProperty(dst, protocol.PropertyRealQueueID, strconv.Itoa(int(m.QueueID)))
	m.Properties = dst[start:]
	m.Topic = protocol.TopicSchedule
	m.QueueID = level - 1
	m.DelayLevel = level
	m.DelayMs = l.Delay(level).Milliseconds()
	return dst
}

// diverted are the properties that Divert sets anew, and those of timers, which a delay level overrules.
var diverted = map[string]bool{
	protocol.PropertyDelay: true, protocol.PropertyRealTopic: true, protocol.PropertyRealQueueID: true,
	protocol.PropertyTimerDelaySec: true, protocol.PropertyTimerDelayMs: true, protocol.PropertyTimerDeliverMs: true,
}

func appendWithout(dst, props []byte) []byte {
	protocol.EachProperty(props, func(name, value string) bool {
		if !diverted[name] {
			dst = protocol.AppendProperty(dst, name, value)
		}
		return true
	})
	return dst
}
