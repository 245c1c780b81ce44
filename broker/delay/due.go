package delay

import (
	"slices"
	"time"

	"github.com/seedmq/seedmq/conf/clock"
	"github.com/seedmq/seedmq/remoting/protocol"
	"github.com/seedmq/seedmq/store"
)

// correction moves the due times of units before upto, which were stamped before the clock was set back.
type correction struct {
	upto int64
	by   time.Duration // < 0
}

// mark says that all units before upto were stored before at, a time with a monotonic reading.
type mark struct {
	upto int64
	at   time.Time
}

// observe reads the clock and notes a step back of the wall clock since the last observation: what was stored before
// that observation was stamped by the old clock, so that its due times have to step back as well. What was stored
// between the observation and the step cannot be told from what came after it, and is left to the marks.
//
// The tails are taken before the clock is read, so that what they cover was stored before that reading.
func (s *Service) observe() time.Time {
	for _, l := range s.levels {
		l.newTail = l.tail.Load()
	}
	now := s.o.Clock.Now()
	step := stepOf(s.last, now)
	if step < -minStep { // a preempted reading of the two clocks looks the same; a second one does not
		now = s.o.Clock.Now()
		step = max(step, stepOf(s.last, now))
	}
	if step < -minStep {
		s.o.Log.Warnf("the clock was set back by %v; waiting delayed messages keep their remaining time", -step)
	}
	if step < -minStep || step > minStep {
		for _, l := range s.levels {
			l.shift(step)
		}
	}
	for _, l := range s.levels {
		l.oldTail = l.newTail
	}
	s.last = now
	return now
}

// stepOf is by how much the wall clock moved more than time went by. Elapsed time comes from the monotonic clock, or
// counts as nothing where there is none and the clock went back.
func stepOf(last, now time.Time) time.Duration {
	wall := now.Round(0).Sub(last.Round(0))
	return wall - max(now.Sub(last), 0)
}

// shift corrects due times. A step forward only takes back earlier corrections: otherwise the wall clock rules, and what
// it says is due is due.
func (l *level) shift(by time.Duration) {
	l.head = nil
	if by < 0 {
		if l.oldTail > l.safe {
			l.shifts = append(l.shifts, correction{l.oldTail, by})
		}
		return
	}
	for i := len(l.shifts) - 1; i >= 0 && by > 0; i-- {
		back := min(by, -l.shifts[i].by)
		l.shifts[i].by += back
		by -= back
	}
	l.prune()
}

// prune forgets corrections and marks of units that are delivered.
func (l *level) prune() {
	l.shifts = slices.DeleteFunc(l.shifts, func(c correction) bool { return c.upto <= l.safe || c.by >= 0 })
	l.marks = slices.DeleteFunc(l.marks, func(m mark) bool { return m.upto <= l.safe })
}

// dueAt says whether the unit at l.reached is due now, and else when.
func (s *Service) dueAt(l *level, u *store.QueueUnit) (at time.Time, due bool) {
	now := s.pass.now
	at = time.UnixMilli(u.TagsCode)
	for _, c := range l.shifts {
		if l.reached < c.upto {
			at = at.Add(c.by)
		}
	}
	if !now.Before(at) {
		return at, true
	}
	if ahead := at.Sub(now); l.delay == 0 || ahead > l.delay+minStep {
		if own, ok := s.ownDelay(u); ok && ahead > own {
			at = s.storedBefore(l).Add(own)
		}
	}
	return at, !now.Before(at)
}

// storedBefore is a time, as early as is known, before which the unit at l.reached was stored.
func (s *Service) storedBefore(l *level) time.Time {
	now := s.pass.now
	for i := range l.marks {
		if m := &l.marks[i]; l.reached < m.upto {
			if now.Before(m.at) { // no monotonic clock
				m.at = now
			}
			return m.at
		}
	}
	m := mark{l.oldTail, now}
	if l.reached >= m.upto { // it came during the pass
		m = mark{l.reached + 1, s.o.Clock.Now()}
	}
	l.marks = append(l.marks, m)
	return m.at
}

// ownDelay is the delay that a unit was stored with, whatever the level's delay is today.
func (s *Service) ownDelay(u *store.QueueUnit) (time.Duration, bool) {
	rec, err := s.o.Source.Record(u.PhysicalOffset, nil)
	if err != nil {
		return 0, false
	}
	var v protocol.MessageView
	if _, err := protocol.DecodeMessage(rec, &v); err != nil {
		return 0, false
	}
	return clock.Span(max(u.TagsCode-v.StoreTimestamp, 0), time.Millisecond), true
}
