package delay

import (
	"errors"
	"time"

	"github.com/seedmq/seedmq/store"
)

// maxFlights is how many appended passes may wait for the disk, so that a slow sync does not hold up what comes due.
const maxFlights = 16

// landingTime is how long Close waits for flights.
const landingTime = 2 * time.Second

// flight is an appended pass that is not yet as safe as the flush mode asks. Flights land in the order they took off.
type flight struct {
	end     int64
	reached []int64 // per level: offset after what was delivered by this and all earlier flights
	safe    bool
}

// landing is what AwaitSafe said of a flight.
type landing struct {
	f   *flight
	err error
}

// takeOff appends the pass and leaves it waiting for the disk.
func (s *Service) takeOff() error {
	if s.pass.count > 0 {
		end, err := s.o.Sink.Append()
		if err != nil {
			s.dropHeads()
			return err
		}
		s.flights = append(s.flights, &flight{end: end})
	}
	moved := false
	for _, l := range s.levels {
		moved = moved || l.next != l.reached
		l.next = l.reached
	}
	if !moved {
		return nil
	}
	if len(s.flights) == 0 { // there were only messages to pass over
		s.advance(s.positions(), 0)
		return nil
	}
	f := s.flights[len(s.flights)-1]
	f.reached = s.positions()
	if s.o.Delivered != nil {
		for i := range s.pass.done {
			s.o.Delivered(&s.pass.done[i])
		}
	}
	if s.pass.count > 0 {
		s.await(f)
	}
	s.land()
	return nil
}

func (s *Service) positions() []int64 {
	at := make([]int64, len(s.levels))
	for i, l := range s.levels {
		at[i] = l.next
	}
	return at
}

// dropHeads forgets heads that stand behind messages which were not delivered.
func (s *Service) dropHeads() {
	for _, l := range s.levels {
		if l.reached != l.next {
			l.head = nil
		}
	}
}

// await asks to be told when f is safe. The channel has room for all that are asked for.
func (s *Service) await(f *flight) {
	s.outstanding++
	s.o.Sink.AwaitSafe(f.end, func(err error) { s.landings <- landing{f, err} })
}

// land takes all landings that are there.
func (s *Service) land() {
	for {
		select {
		case l := <-s.landings:
			s.landed(l)
		default:
			return
		}
	}
}

// landed moves the offsets after a flight and those before it are safe. A timeout is waited out: the records are in the
// log, and appending them again would only double them.
func (s *Service) landed(l landing) {
	s.outstanding--
	switch {
	case errors.Is(l.err, store.ErrFlushTimeout) && s.crash == nil && !s.closing:
		s.o.Log.Limited(s.o.Clock, "delay-flush", 10*time.Second).Warnf("delivered messages are not on disk yet: %v", l.err)
		s.await(l.f)
	case l.err != nil:
		s.crash = l.err
	default:
		l.f.safe = true
	}
	for len(s.flights) > 0 && s.flights[0].safe {
		s.advance(s.flights[0].reached, s.flights[0].end)
		s.flights = s.flights[1:]
	}
}

// rewind goes back to the offsets that are safe after a sync failed: what flew is delivered again.
func (s *Service) rewind() time.Time {
	err := s.crash
	s.crash, s.flights = nil, nil
	for _, l := range s.levels {
		l.next, l.head = l.safe, nil
	}
	return s.backOff(err)
}

// advance publishes offsets.
func (s *Service) advance(reached []int64, end int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i, l := range s.levels {
		if reached[i] == l.safe {
			continue
		}
		s.mu.moved += reached[i] - l.safe
		l.safe = reached[i]
		s.mu.offsets[l.queueID+1] = l.safe
		l.prune()
	}
	s.mu.end = max(s.mu.end, end)
	if s.mu.moved >= dataVersionStep {
		s.mu.moved = 0
		s.mu.version.Counter++
		s.mu.version.Timestamp = s.last.UnixMilli()
	}
}

// landAll waits a while for flights when the service closes, so that a restart does not deliver them again.
func (s *Service) landAll() {
	s.closing = true
	timer := s.o.Clock.NewTimer(landingTime)
	defer timer.Stop()
	for s.outstanding > 0 {
		select {
		case l := <-s.landings:
			s.landed(l)
		case <-timer.C():
			return
		}
	}
}
