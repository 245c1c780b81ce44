package store

import (
	"context"
	"sync"
	"sync/atomic"
	"time"
)

const (
	// writeBackEvery is how much may be written under async flush before the kernel is asked to start writing it out.
	writeBackEvery = 8 << 20
	// writeBackLag keeps the end of the log out of that: it is about to be written again.
	writeBackLag = 1 << 20
	// unawaitedDelay is how soon under sync flush what nobody waits for (WAIT=false, one-way) is synced.
	unawaitedDelay = 10 * time.Millisecond
)

// flusher makes the log durable.
//
// Under sync flush it is a group commit. AwaitSafe of a position that is not yet safe adds a waiter; whoever finds no
// sync going on runs one for all that wait, and those who come meanwhile form the next group, which the flusher's own
// goroutine syncs. So a single writer pays one write and one fdatasync and no hand-over, and many writers share.
//
// Under async flush the goroutine syncs at every interval, and starts write-back when much was written in between.
type flusher struct {
	s       *Store
	flushed atomic.Int64 // all below is durable
	// flushedTime is the store time of a record below flushed, ms.
	flushedTime atomic.Int64
	written     atomic.Int64 // write-back was started below
	wake        chan struct{}
	parked      atomic.Bool // under sync flush: the goroutine sleeps until there is something to sync

	mu struct {
		sync.Mutex
		busy    bool // a sync is going on
		waiters []waiter
		failed  error
	}
	ready []waiter // scratch of whoever is busy
}

type waiter struct {
	end      int64
	deadline time.Time
	done     func(error)
}

// AwaitSafe calls done exactly once: with nil when everything below end is as safe as the flush mode (and later the
// replication) asks for, at once under async flush; with ErrFlushTimeout after the sync flush timeout; with ErrReadOnly
// when a sync failed. done must not block; it may run on the caller's goroutine.
func (s *Store) AwaitSafe(end int64, done func(error)) {
	if !s.o.SyncFlush || s.flush.flushed.Load() >= end {
		done(nil)
		return
	}
	s.flush.await(end, done)
}

func (f *flusher) await(end int64, done func(error)) {
	f.mu.Lock()
	if err := f.mu.failed; err != nil {
		f.mu.Unlock()
		done(err)
		return
	}
	f.mu.waiters = append(f.mu.waiters, waiter{end, f.s.o.Clock.Now().Add(f.s.o.SyncFlushTimeout), done})
	if f.mu.busy {
		f.mu.Unlock()
		return
	}
	f.mu.busy = true
	f.mu.Unlock()
	f.commit()
	if f.more() {
		f.kick()
	}
}

// more says that waiters are left and nobody syncs for them.
func (f *flusher) more() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return !f.mu.busy && len(f.mu.waiters) > 0
}

// claim makes the caller the one who syncs; false if somebody is.
func (f *flusher) claim() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.mu.busy || f.mu.failed != nil {
		return false
	}
	f.mu.busy = true
	return true
}

// commit syncs what the log has now, gives up the claim and answers those whose position is reached.
func (f *flusher) commit() {
	err := f.sync()
	f.mu.Lock()
	f.mu.busy = false
	if err != nil {
		f.mu.failed = err
	}
	flushed := f.flushed.Load()
	ready := f.ready[:0]
	keep := f.mu.waiters[:0]
	for _, w := range f.mu.waiters {
		if err != nil || w.end <= flushed {
			ready = append(ready, w)
		} else {
			keep = append(keep, w)
		}
	}
	clear(f.mu.waiters[len(keep):])
	f.mu.waiters = keep
	f.ready = nil // another group may come while the callbacks run
	f.mu.Unlock()
	for _, w := range ready {
		w.done(err)
	}
	clear(ready)
	f.mu.Lock()
	f.ready = ready[:0]
	f.mu.Unlock()
}

// sync makes the log durable up to its present end. After a failure nothing is ever called safe again: the kernel may
// have dropped what it could not write.
func (f *flusher) sync() error {
	s := f.s
	last := s.log.lastTime.Load() // before the end: a record of this time lies below it
	end := s.log.end.Load()
	from := f.flushed.Load()
	if end <= from {
		return nil
	}
	if err := s.log.sync(from, end); err != nil {
		s.state.setReadOnly(err)
		return *s.state.readOnly.Load()
	}
	if err := f.failure(); err != nil {
		return err // the preparer's sync failed meanwhile
	}
	f.flushedTime.Store(last)
	advance(&f.flushed, end)
	if s.o.SyncFlush {
		s.confirm.advance(end)
		s.dispatch.kick()
	}
	return nil
}

// appended is told of the log's new end.
func (f *flusher) appended(end int64) {
	if f.s.o.SyncFlush {
		if f.parked.Load() && f.parked.CompareAndSwap(true, false) {
			f.kick()
		}
	} else if end-f.written.Load() >= writeBackEvery {
		f.kick()
	}
}

func (f *flusher) kick() {
	select {
	case f.wake <- struct{}{}:
	default:
	}
}

// run is the flusher's goroutine.
func (f *flusher) run(ctx context.Context) {
	if f.s.o.SyncFlush {
		f.runSync(ctx)
	} else {
		f.runAsync(ctx)
	}
}

func (f *flusher) runAsync(ctx context.Context) {
	timer := f.s.o.Clock.NewTimer(f.s.o.FlushInterval)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-f.wake:
			f.startWrite()
		case <-timer.C():
			f.group()
			timer.Reset(f.s.o.FlushInterval)
		}
	}
}

// runSync syncs for those that wait, and soon for what nobody waits for. It sleeps without a timer while all is safe.
func (f *flusher) runSync(ctx context.Context) {
	timer := f.s.o.Clock.NewTimer(unawaitedDelay)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-f.wake:
			if f.more() {
				f.group()
			}
			timer.Reset(unawaitedDelay)
		case <-timer.C():
			f.group()
			f.parked.Store(true)
			if f.flushed.Load() < f.s.log.end.Load() && f.parked.CompareAndSwap(true, false) {
				timer.Reset(unawaitedDelay)
			}
		}
	}
}

// group syncs until nobody waits.
func (f *flusher) group() {
	for f.claim() {
		f.commit()
		if !f.more() {
			return
		}
	}
}

// startWrite starts write-back of what was appended.
func (f *flusher) startWrite() {
	l := &f.s.log
	from, end := max(f.written.Load(), f.flushed.Load()), l.end.Load()-writeBackLag
	for from < end {
		file := l.fileOf(from)
		if file == nil || !file.Acquire() {
			break
		}
		to := min(end, file.End())
		_ = file.StartWrite(from-file.Start(), to-from) // a hint: the sync that follows tells of errors
		file.Release()
		from = to
	}
	advance(&f.written, end)
}

// fail ends all syncing: err came from a sync of a file of the log, which may have been the only call to learn that
// something written to it is lost.
func (f *flusher) fail(err error) {
	f.s.state.setReadOnly(err)
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.mu.failed == nil {
		f.mu.failed = *f.s.state.readOnly.Load()
	}
}

// expire answers those who waited too long.
func (f *flusher) expire(now time.Time) {
	f.mu.Lock()
	var late []waiter
	keep := f.mu.waiters[:0]
	for _, w := range f.mu.waiters {
		if now.After(w.deadline) {
			late = append(late, w)
		} else {
			keep = append(keep, w)
		}
	}
	clear(f.mu.waiters[len(keep):])
	f.mu.waiters = keep
	f.mu.Unlock()
	for _, w := range late {
		w.done(ErrFlushTimeout)
	}
}
