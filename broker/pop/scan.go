package pop

import (
	"errors"
	"math"

	"github.com/seedmq/seedmq/conf/clock"
)

// job is what one append of the scan stores of one check point.
type job struct {
	q    *queue
	p    *point
	bits uint32 // acks that go with it
	ck   bool   // its own record
}

// Scan stores what must be stored by now: check points that stay, acks of those that are stored. It returns how many records it wrote.
// The service calls it by itself; tests do, too.
func (s *Service) Scan() int {
	if s.journal.full() {
		s.journal.mu.Lock()
		no := s.journal.no
		s.journal.mu.Unlock()
		if err := s.rotate(no + 1); err != nil {
			s.o.Log.Limited(s.o.Clock, "journal", logEvery).Errorf("the journal of popped messages stays in its old file: %v", err)
		}
	}
	n, err := s.scan(clock.Millis(s.o.Clock))
	if err != nil {
		s.o.Log.Limited(s.o.Clock, "scan", logEvery).Errorf("check points of popped messages stay in memory: %v", err)
	}
	s.sweep(clock.Millis(s.o.Clock))
	return n
}

// storeAll stores everything.
func (s *Service) storeAll() error {
	_, err := s.scan(math.MaxInt64)
	return err
}

func (s *Service) scan(now int64) (int, error) {
	s.mu.Lock()
	active := s.active
	s.active = nil
	s.mu.Unlock()
	t := s.Begin()
	defer t.free()
	var jobs []job
	var errs []error
	total := 0
	keep := active[:0]
	for _, q := range active {
		var more bool
		if jobs, more = t.collect(q, now, jobs); more {
			keep = append(keep, q)
		}
		if t.records >= recordsAtOnce {
			total += t.records
			errs = append(errs, t.store(jobs))
			jobs = jobs[:0]
		}
	}
	total += t.records
	errs = append(errs, t.store(jobs))
	s.mu.Lock()
	s.active = append(s.active, keep...)
	s.mu.Unlock()
	return total, errors.Join(errs...)
}

// collect adds the records that q must store now. more says that q must be looked at again.
func (t *Turn) collect(q *queue, now int64, jobs []job) (_ []job, more bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	real := min(now, clock.Millis(t.s.o.Clock))
	if q.due > 0 && now >= q.due {
		q.due = 0
		for _, p := range q.list {
			if p.gone || p.state != held {
				continue
			}
			if due := t.s.dueOf(p); due > now && t.s.held.Load() <= bufferSize {
				if q.due == 0 || due < q.due {
					q.due = due
				}
				continue
			}
			if t.checkpoint(&p.Checkpoint, p.reviveQueue, real) == nil && t.acks(p, p.Bits, real) == nil {
				p.state, p.tried = storing, true
				t.j.of(entryStoring, q, p) // or a kill between here and there would take its acks for all there is
				jobs = append(jobs, job{q, p, p.Bits, true})
			}
		}
	}
	for _, p := range q.acked {
		p.dirty = false
		if bits := p.Bits &^ p.written; !p.gone && bits != 0 && t.acks(p, bits, real) == nil {
			jobs = append(jobs, job{q, p, bits, false})
		}
	}
	clear(q.acked)
	q.acked = q.acked[:0]
	q.active = len(q.points) > 0
	return jobs, q.active
}

// store appends the records of jobs, and notes what is stored once it is safe.
func (t *Turn) store(jobs []job) error {
	if t.records == 0 {
		return nil
	}
	t.s.note(&t.j)
	end, err := t.sink.Append()
	t.records = 0
	t.sink.Reset()
	if err == nil {
		safe := make(chan error, 1)
		t.s.o.AwaitSafe(end, func(err error) { safe <- err })
		err = <-safe
	}
	for i := range jobs {
		t.settle(&jobs[i], err == nil)
	}
	t.s.note(&t.j)
	return err
}

// settle notes what became of a job.
func (t *Turn) settle(j *job, ok bool) {
	q, p, s := j.q, j.p, t.s
	q.mu.Lock()
	defer q.mu.Unlock()
	switch {
	case p.gone:
		return
	case !ok && j.ck: // the next scan tries again
		p.state = held
		q.due = max(1, min(q.due, p.PopTime))
		return
	case !ok:
		if !p.dirty {
			p.dirty = true
			q.acked = append(q.acked, p)
		}
		return
	case j.ck:
		p.state = stored
		s.held.Add(-1)
		if p.Bits != j.bits && !p.dirty {
			p.dirty = true
			q.acked = append(q.acked, p)
		}
		defer s.advanceLocked(q)
	}
	p.written |= j.bits
	t.j.of(entryStored, q, p)
	if p.finished() && p.written&p.full() == p.full() {
		q.dropLocked(p) // its records say everything
		t.j.of(entryGone, q, p)
	}
}
