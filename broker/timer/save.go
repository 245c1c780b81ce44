package timer

import (
	"context"
	"time"

	"github.com/seedmq/seedmq/remoting/protocol"
	"github.com/seedmq/seedmq/store/timer"
)

// saves brings the files to the disk. All but the two channels belongs to the loop, and to Close after it.
type saves struct {
	todo, done chan *timer.Snapshot // to and from the flushing goroutine
	busy       bool
	at         time.Time // when to save next
	safe       position  // what may be saved, once the log is on disk
	held       *position // an earlier one that waits for the disk
	writing    position
	written    position
	unused     bool // nothing was ever timed: there are no files, and none are made
	check      protocol.TimerCheckpoint
}

func (v *saves) begin(check protocol.TimerCheckpoint, known bool, at position) {
	v.unused = !known && at.queue == 0
	v.check, v.safe = check, at
	v.written = position{check.LastReadTimeMs, check.LastTimerQueueOffset, at.end}
}

// dirty says that a save should be done when its time comes.
func (v *saves) dirty() bool {
	v.unused = v.unused && v.safe.queue == v.written.queue
	return !v.busy && !v.unused && (v.safe.read != v.written.read || v.safe.queue != v.written.queue)
}

// save begins to write the files, when it is time and the disk has what they would claim.
func (s *Service) save(now time.Time) {
	v := &s.saves
	early := now.Before(v.at) && v.at.Sub(now) <= s.o.FlushEvery
	if !v.dirty() || early {
		return
	}
	v.at = now.Add(s.o.FlushEvery)
	p, ok := s.savable()
	if !ok {
		return
	}
	v.busy = true
	v.todo <- s.snapshot(p, now)
}

// savable is the newest position that the disk bears out.
func (s *Service) savable() (position, bool) {
	v := &s.saves
	if s.o.Flushed == nil {
		return v.safe, true
	}
	flushed := s.o.Flushed()
	if v.safe.end <= flushed {
		v.held = nil
		return v.safe, true
	}
	if v.held != nil && v.held.end <= flushed {
		p := *v.held
		v.held = nil
		return p, p.read != v.written.read || p.queue != v.written.queue
	}
	if v.held == nil {
		p := v.safe
		v.held = &p
	}
	return position{}, false
}

func (s *Service) snapshot(p position, now time.Time) *timer.Snapshot {
	p.read = min(p.read, s.loader.read) // less after the clock was set back
	s.files.Done(p.read)
	c := &s.saves.check
	c.LastReadTimeMs, c.LastTimerQueueOffset, c.MasterTimerQueueOffset = p.read, p.queue, p.queue
	c.DataVersion.Counter++
	c.DataVersion.Timestamp = now.UnixMilli()
	s.saves.writing = p
	s.stats.publish(*c)
	return s.files.Take(*c)
}

// saved ends a save.
func (s *Service) saved(snap *timer.Snapshot) {
	s.files.Flushed(snap)
	s.saves.busy = false
	if err := snap.Err(); err != nil {
		s.o.Log.Limited(s.o.Clock, "timer-save", 10*time.Second).Errorf("the files of timed messages are not saved: %v", err)
		return
	}
	s.saves.written = s.saves.writing
}

// flushLoop writes snapshots.
func (s *Service) flushLoop(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case snap := <-s.saves.todo:
			s.flushOne(snap)
			s.saves.done <- snap
		}
	}
}

func (s *Service) flushOne(snap *timer.Snapshot) {
	if s.files.Flush(snap) != nil { // the loop tells of it
		return
	}
	if err := s.stats.save(); err != nil {
		s.o.Log.Limited(s.o.Clock, "timer-metrics", 10*time.Second).Errorf("the figures of timed messages are not saved: %v", err)
	}
}

// saveAtEnd writes everything: a store that is closed in order flushes what the files claim.
func (s *Service) saveAtEnd() error {
	if s.saves.busy {
		select {
		case snap := <-s.saves.done:
			s.saved(snap)
		case snap := <-s.saves.todo:
			s.flushOne(snap)
			s.saved(snap)
		}
	}
	err := s.files.Write()
	if s.saves.dirty(); err == nil && s.started && !s.saves.unused {
		snap := s.snapshot(s.saves.safe, s.o.Clock.Now())
		s.flushOne(snap)
		s.files.Flushed(snap)
		err = snap.Err()
	}
	if e := s.files.Close(); err == nil {
		err = e
	}
	return err
}
