package store

import (
	"context"
	"errors"
	"os"
	"time"

	"github.com/seedmq/seedmq/store/consumequeue"
)

// closeDrain bounds how long Close waits for the dispatcher, and closeQueues, which counts from the same moment, until it
// gives up writing queues: the files of 100,000 new ones take many seconds to make. What was not done then, the next
// start does.
const (
	closeDrain  = 2 * time.Second
	closeQueues = 3 * time.Second
)

// close stops in an order in which nothing that was promised is lost: no more appends; the log is synced, which answers
// those who wait; the dispatcher catches up; the goroutines end; queues, index and checkpoint are synced; and only when
// all of that went well the abort file goes, and with it the reason for the next start to read the log again.
func (s *Store) close() error {
	s.stopAppends()
	if !s.o.SyncFlush {
		s.confirm.advance(s.log.end.Load()) // an append that has just ended may not have come to it
	}
	defer s.interruptAfter(closeQueues)()
	s.drain()
	s.group.Close()
	err, left := s.flush.failure(), s.flushQueues(true)
	if !errors.Is(left, consumequeue.ErrInterrupted) {
		err, left = errors.Join(err, left), nil
	}
	if s.dispatch.pos.Load() < s.log.end.Load() {
		left = errors.Join(left, errors.New("store: not everything was dispatched"))
	}
	if s.dispatch.isFailed() {
		err = errors.Join(err, left)
	}
	if err = errors.Join(err, s.closeFiles()); err == nil && left == nil {
		err = s.removeAbort()
	}
	switch {
	case err != nil:
		s.o.Log.Errorf("the store was not closed cleanly, the next start will recover it: %v", err)
	case left != nil:
		s.o.Log.Warnf("the store was closed before its queues were complete, the next start completes them: %v", left)
	}
	return errors.Join(err, s.unlock())
}

// interruptAfter ends the writing of queues after d, unless what it returns was called before.
func (s *Store) interruptAfter(d time.Duration) (stop func()) {
	t := s.o.Clock.NewTimer(d)
	done, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		select {
		case <-done:
		case <-t.C():
			s.cq.Interrupt()
		}
	}()
	return func() {
		t.Stop()
		close(done)
		<-ended
	}
}

// stopAppends returns when no append is going on and none will begin.
func (s *Store) stopAppends() {
	s.state.closed.Store(true)
	s.log.mu.Lock()
	defer s.log.mu.Unlock()
}

// drain waits until the log is synced and dispatched, but not for ever.
func (s *Store) drain() {
	s.dispatch.retry() // what failed a while ago may work now
	done := make(chan struct{})
	if s.group.Go("store drain", func(ctx context.Context) {
		defer close(done)
		synced := make(chan error, 1)
		s.flush.await(s.log.end.Load(), func(err error) { synced <- err })
		select {
		case err := <-synced:
			if err == nil {
				s.dispatch.drain()
			}
		case <-ctx.Done():
		}
	}) != nil {
		return
	}
	t := s.o.Clock.NewTimer(closeDrain)
	defer t.Stop()
	select {
	case <-done:
	case <-t.C():
	}
}

func (s *Store) removeAbort() error {
	if err := s.fs.Remove(s.path(abortFile)); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err // else somebody tidied up
	}
	if err := writeFile(s.fs, s.path(lockFile), lockClosed); err != nil {
		return err
	}
	return s.fs.SyncDir(s.o.Root)
}

// closeFiles closes what open opened.
func (s *Store) closeFiles() error {
	var err error
	if s.cq != nil {
		err = s.cq.Close()
	}
	if s.bq != nil {
		err = errors.Join(err, s.bq.Close())
	}
	if s.index != nil {
		err = errors.Join(err, s.index.Close())
	}
	if s.check != nil {
		err = errors.Join(err, s.check.Close())
	}
	return errors.Join(err, s.log.close())
}

// release undoes a failed open.
func (s *Store) release() error {
	s.state.closed.Store(true)
	s.group.Close()
	return errors.Join(s.closeFiles(), s.unlock())
}

func (s *Store) unlock() error {
	if s.lock == nil {
		return nil
	}
	err := s.lock.Close()
	s.lock = nil
	return err
}

// flushQueues writes what queues and index have in memory; with sync it makes them durable and moves the checkpoint.
func (s *Store) flushQueues(sync bool) error {
	logTime, logEnd := s.flush.flushedTime.Load(), s.flush.flushed.Load()
	dispatchTime := s.dispatch.time.Load() // before the flush, which covers at least this
	pos := s.dispatch.pos.Load()           // all below is in the queues: a round gives them its units one after the other
	phys, err := s.cq.Flush(sync)
	err = errors.Join(err, s.bq.Flush(sync))
	if s.index != nil && sync {
		err = errors.Join(err, s.index.Flush())
	}
	if err != nil || !sync {
		return err
	}
	was := s.check.Get()
	t := was
	t.PhysicMsgTimestamp, t.LogicsMsgTimestamp = logTime, dispatchTime
	t.ConfirmPhyOffset = s.confirm.get()
	t.LogicsPhyOffset = min(max(phys, s.bq.MaxPhys()), pos, logEnd)
	if s.index != nil {
		t.IndexMsgTimestamp = s.index.FlushedTime()
	}
	if t == was {
		return nil
	}
	return s.check.Set(t)
}

// failure is why syncs no longer work, nil if they do.
func (f *flusher) failure() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.mu.failed
}
