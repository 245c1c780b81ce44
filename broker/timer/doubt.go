package timer

import (
	"strconv"
	"time"

	"github.com/seedmq/seedmq/remoting/protocol"
)

// doubt is which messages may have been delivered after the check point was written and before the process ended: those of its last ticks.
// They are looked up in the key index, so that neither a stop nor a kill repeats them. What was delivered later than doubtful
// after the check point, as when the disk hung, may be repeated. Without a check point everything is doubted that was due before the start.
type doubt struct {
	from, to, before int64
	all              bool // there was no check point
}

// doubtful is how long after a written check point deliveries are doubted.
const doubtful = time.Minute

// came says whether the message in the pass's box was forwarded by the process before.
func (s *Service) came(e *entry) (bool, error) {
	d, p := &s.doubt, &s.pass.box
	if s.o.Came == nil || p.props.UniqKey == "" || e.exact > d.before && !e.rolls {
		return false, nil
	}
	if e.loose && !d.all || !e.loose && (e.slot < d.from || e.slot >= d.to) {
		return false, nil
	}
	topic, rolls := p.props.RealTopic, int64(0)
	if e.rolls {
		topic, rolls = protocol.TopicTimer, p.rolls+1
	}
	out := strconv.FormatInt(p.out, 10)
	return s.o.Came(topic, p.props.UniqKey, func(props string) bool {
		var mine, n, deletes string // a deletion has the key of what it deletes
		protocol.EachProperty(props, func(name, value string) bool {
			switch name {
			case protocol.PropertyTimerOutMs:
				mine = value
			case protocol.PropertyTimerRollTimes:
				n = value
			case protocol.PropertyTimerDelUniqKey:
				deletes = value
			}
			return true
		})
		return mine == out && deletes == p.deleteKey && (rolls == 0 || n == strconv.FormatInt(rolls, 10))
	})
}
