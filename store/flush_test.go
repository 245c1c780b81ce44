package store_test

import (
	"errors"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/seedmq/seedmq/store"
	"github.com/seedmq/seedmq/store/fs"
)

// slowFS lets a test hold the syncs of the log.
type slowFS struct {
	*fs.Mem
	mu      sync.Mutex
	syncs   int
	gate    chan struct{} // syncs wait until it is closed; nil: they do not
	waiting chan struct{}
}

type slowFile struct {
	fs.File
	fs *slowFS
}

func (s *slowFS) OpenFile(name string, flag int, perm os.FileMode) (fs.File, error) {
	f, err := s.Mem.OpenFile(name, flag, perm)
	if err == nil && strings.Contains(name, "commitlog") {
		return &slowFile{f, s}, nil
	}
	return f, err
}

func (s *slowFS) Create(name string) (fs.File, error) {
	return s.OpenFile(name, os.O_RDWR|os.O_CREATE|os.O_TRUNC, 0o644)
}

func (f *slowFile) Datasync() error {
	f.fs.mu.Lock()
	f.fs.syncs++
	gate := f.fs.gate
	f.fs.mu.Unlock()
	if gate != nil {
		f.fs.waiting <- struct{}{}
		<-gate
	}
	return f.File.Datasync()
}

func (s *slowFS) hold() chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.gate = make(chan struct{})
	return s.gate
}

func (s *slowFS) free() {
	s.mu.Lock()
	defer s.mu.Unlock()
	close(s.gate)
	s.gate, s.syncs = nil, 0
}

func newSlowEnv(t *testing.T) (*env, *slowFS) {
	slow := &slowFS{Mem: fs.NewMem(nil), waiting: make(chan struct{}, 100)}
	e := newEnv(t, func(o *store.Options) {
		o.FS, o.SyncFlush, o.SyncFlushTimeout, o.CommitLogFileSize = slow, true, time.Second, 1<<20
	})
	return e, slow
}

func (e *env) append(body string) int64 {
	e.t.Helper()
	b := e.s.NewBatch()
	if err := b.Add(msg("A", 0, body)); err != nil {
		e.t.Fatal(err)
	}
	if err := e.s.Append(b); err != nil {
		e.t.Fatal(err)
	}
	return b.End()
}

func TestOneSyncForAllWhoWait(t *testing.T) {
	e, slow := newSlowEnv(t)
	slow.hold()
	first := make(chan error, 1)
	end := e.append("0")
	go e.s.AwaitSafe(end, func(err error) { first <- err })
	<-slow.waiting // the first sync is on its way
	var wg sync.WaitGroup
	for range 50 {
		wg.Add(1)
		e.s.AwaitSafe(e.append("x"), func(err error) {
			if err != nil {
				t.Error(err)
			}
			wg.Done()
		})
	}
	slow.free()
	if err := <-first; err != nil {
		t.Fatal(err)
	}
	wg.Wait()
	slow.mu.Lock()
	defer slow.mu.Unlock()
	if slow.syncs != 1 {
		t.Fatalf("%d syncs for 50 who waited", slow.syncs)
	}
}

func TestSyncTakesTooLong(t *testing.T) {
	e, slow := newSlowEnv(t)
	slow.hold()
	done := make(chan error, 1)
	end := e.append("0")
	go e.s.AwaitSafe(end, func(err error) { done <- err })
	<-slow.waiting
	late := make(chan error, 1)
	e.s.AwaitSafe(e.append("1"), func(err error) { late <- err })
	e.until("timeout", func() bool { return len(late) == 1 })
	if err := <-late; !errors.Is(err, store.ErrFlushTimeout) {
		t.Fatal(err)
	}
	slow.free()
	if err := <-done; !errors.Is(err, store.ErrFlushTimeout) {
		t.Fatal(err)
	}
	end = e.append("2")
	e.s.AwaitSafe(end, func(err error) { done <- err })
	if err := <-done; err != nil {
		t.Fatalf("after the slow one: %v", err)
	}
}

func TestWhatNobodyWaitsForIsSyncedSoon(t *testing.T) {
	e, _ := newSlowEnv(t)
	end := e.append("0")
	e.until("dispatched", func() bool { return e.s.Status().DispatchedPhys >= end })
	if got, _ := e.get(get("A", 0, 0)); len(got) != 1 {
		t.Fatal(got)
	}
}
