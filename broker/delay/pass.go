package delay

import (
	"errors"
	"time"

	"github.com/seedmq/seedmq/remoting/protocol"
	"github.com/seedmq/seedmq/store"
)

const (
	// A pass takes at most so many messages and bytes: as many as come due during the sync of the pass before, also on a slow
	// disk, but not so many that one level waits long for another.
	passMessages = 4096
	passBytes    = 8 << 20
	// unitsPerRead is how many queue units are read at a time.
	unitsPerRead = 256
	// Pauses after an error grow between these.
	minPause = 100 * time.Millisecond
	maxPause = 5 * time.Second
)

// passState is what a pass gathers.
type passState struct {
	now    time.Time
	count  int
	bytes  int
	done   []store.Message
	failed error
}

// runPass delivers what is due now, up to the limits. It returns when to look again, and whether there is anything to
// wait for but arrivals and flights.
func (s *Service) runPass() (next time.Time, pending bool) {
	p := &s.pass
	*p = passState{now: s.observe(), done: p.done[:0]}
	s.o.Sink.Reset()
	for i := range s.levels {
		s.collect(s.levels[(s.first+i)%len(s.levels)])
	}
	s.first = (s.first + 1) % len(s.levels)
	err := p.failed
	if e := s.takeOff(); e != nil {
		err = e
	}
	if err != nil {
		s.resume = s.backOff(err)
		return s.resume, true
	}
	s.pause = 0
	return s.nextDue()
}

func (s *Service) backOff(err error) time.Time {
	s.pause = min(max(2*s.pause, minPause), maxPause)
	s.o.Log.Limited(s.o.Clock, "delay-pause", 10*time.Second).
		Warnf("delayed messages wait, next try in %v: %v", s.pause, err)
	return s.o.Clock.Now().Add(s.pause)
}

// nextDue is the next due time, at most a glance away. A level that has nothing is marked hungry, then looked at once
// more: an arrival either sees the mark, or is seen here.
func (s *Service) nextDue() (next time.Time, pending bool) {
	now := s.o.Clock.Now()
	next = now.Add(glance)
	for _, l := range s.levels {
		if l.head != nil {
			if pending = true; l.head.at.Before(next) {
				next = l.head.at
			}
			continue
		}
		l.hungry.Store(true)
		if l.next < l.tail.Load() {
			l.hungry.Store(false)
			return now, true
		}
	}
	return next, pending
}

// collect adds the due messages of one level to the pass and leaves l.reached after the last one.
func (s *Service) collect(l *level) {
	p := &s.pass
	l.reached = l.next
	if l.head != nil {
		if p.now.Before(l.head.at) {
			return
		}
		l.head = nil
	}
	for l.reached < l.tail.Load() && p.count < passMessages && p.bytes < passBytes {
		units, err := s.o.Source.QueueUnits(protocol.TopicSchedule, l.queueID, l.reached, min(unitsPerRead, passMessages-p.count))
		if err != nil || len(units) == 0 {
			if !s.reenter(l, err) {
				return
			}
			continue
		}
		if !s.collectUnits(l, units) {
			return
		}
	}
}

// reenter handles a read that brought nothing: the queue's head was deleted, or the queue is shorter than announced.
// It says whether to go on.
func (s *Service) reenter(l *level, err error) bool {
	if err != nil && !errors.Is(err, store.ErrNotFound) {
		s.pass.failed = err
		return false
	}
	lo, hi, ok := s.o.Source.QueueRange(protocol.TopicSchedule, l.queueID)
	if ok && l.reached < lo {
		s.o.Log.Warnf("delay level %d: offsets %d to %d are gone from the store", l.queueID+1, l.reached, lo-1)
		l.reached = lo
		return true
	}
	l.tail.Store(min(hi, l.reached))
	return false
}

// collectUnits adds units that begin at l.reached until one is not due. It says whether all were taken.
func (s *Service) collectUnits(l *level, units []store.QueueUnit) bool {
	p := &s.pass
	for i := range units {
		if p.count >= passMessages || p.bytes >= passBytes {
			return false
		}
		u := &units[i]
		if at, due := s.dueAt(l, u); !due {
			l.head = &head{at: at}
			return false
		}
		if s.recalled(l) {
			l.reached++
			continue
		}
		if err := s.add(u); err != nil {
			p.failed = err
			return false
		}
		l.reached++
	}
	return true
}
