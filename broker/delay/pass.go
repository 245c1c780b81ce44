package delay

import (
	"context"
	"errors"
	"time"

	"github.com/seedmq/seedmq/remoting/protocol"
	"github.com/seedmq/seedmq/store"
)

const (
	// A pass takes at most so many messages and bytes, so that no level waits long for another.
	passMessages = 1024
	passBytes    = 4 << 20
	// unitsPerRead is how many queue units are read at a time.
	unitsPerRead = 256
	// Pauses after an error grow between these.
	minPause = 100 * time.Millisecond
	maxPause = 5 * time.Second
)

// passState is what a pass gathers.
type passState struct {
	now     time.Time
	count   int
	bytes   int
	records []byte // of the message at hand
	done    []store.Message
	failed  error
}

// runPass delivers what is due now, up to the limits. It returns when to look again, and whether there is anything to
// wait for but arrivals.
func (s *Service) runPass(ctx context.Context) (next time.Time, pending bool) {
	p := &s.pass
	*p = passState{now: s.observe(), records: p.records[:0], done: p.done[:0]}
	s.o.Sink.Reset()
	for i := range s.levels {
		s.collect(s.levels[(s.first+i)%len(s.levels)])
	}
	s.first = (s.first + 1) % len(s.levels)
	if err := s.commit(ctx); err != nil {
		return s.backOff(err), true
	}
	if p.failed != nil {
		return s.backOff(p.failed), true
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
		if err := s.add(u); err != nil {
			p.failed = err
			return false
		}
		l.reached++
	}
	return true
}

// commit appends the pass, waits until it is safe and moves the offsets.
func (s *Service) commit(ctx context.Context) error {
	var end int64
	if s.pass.count > 0 {
		var err error
		if end, err = s.o.Sink.Append(); err != nil {
			s.dropHeads()
			return err
		}
		if err = s.awaitSafe(ctx, end); err != nil {
			s.dropHeads()
			return err
		}
	}
	s.advance(end)
	if s.o.Delivered != nil {
		for i := range s.pass.done {
			s.o.Delivered(&s.pass.done[i])
		}
	}
	return nil
}

// dropHeads forgets heads that stand behind messages which were not delivered.
func (s *Service) dropHeads() {
	for _, l := range s.levels {
		if l.reached != l.next {
			l.head = nil
		}
	}
}

// awaitSafe waits for the flush. A timeout is waited out: the records are in the log, and appending them again would
// only double them.
func (s *Service) awaitSafe(ctx context.Context, end int64) error {
	for {
		result := make(chan error, 1)
		s.o.Sink.AwaitSafe(end, func(err error) { result <- err })
		select {
		case err := <-result:
			if !errors.Is(err, store.ErrFlushTimeout) {
				return err
			}
			s.o.Log.Limited(s.o.Clock, "delay-flush", 10*time.Second).Warnf("delivered messages are not on disk yet: %v", err)
		case <-ctx.Done():
			return ctx.Err()
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
	}
}

func (s *Service) advance(end int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, l := range s.levels {
		if l.reached == l.next {
			continue
		}
		s.mu.moved += l.reached - l.next
		l.next = l.reached
		s.mu.offsets[l.queueID+1] = l.next
		l.prune()
	}
	s.mu.end = max(s.mu.end, end)
	if s.mu.moved >= dataVersionStep {
		s.mu.moved = 0
		s.mu.version.Counter++
		s.mu.version.Timestamp = s.pass.now.UnixMilli()
	}
}
