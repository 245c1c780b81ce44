package store_test

import (
	"errors"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/seedmq/seedmq/store"
	"github.com/seedmq/seedmq/store/fs"
)

// slowQueues lets a test hold the making of consume queue files.
type slowQueues struct {
	*fs.Mem
	waiting, gate chan struct{}
}

func (s *slowQueues) OpenFile(name string, flag int, perm os.FileMode) (fs.File, error) {
	if strings.Contains(name, "/consumequeue/") && flag&os.O_CREATE != 0 {
		s.waiting <- struct{}{}
		<-s.gate
	}
	return s.Mem.OpenFile(name, flag, perm)
}

// TestCloseDoesNotWaitForManyQueues: a stop takes its time at most. What is not written then is made from the log.
func TestCloseDoesNotWaitForManyQueues(t *testing.T) {
	slow := &slowQueues{Mem: fs.NewMem(nil), waiting: make(chan struct{}, 1000), gate: make(chan struct{})}
	e := newEnv(t, func(o *store.Options) { o.FS, o.CommitLogFileSize = slow, 1<<20 })
	const queues = 200
	for q := range int32(queues) {
		e.send(msg("A", q, "body"))
	}
	closed := make(chan error, 1)
	go func() { closed <- e.s.Close() }()
	<-slow.waiting
	e.until("the close has begun", func() bool { return errors.Is(e.s.Writable(), store.ErrClosed) })
	e.until("the close is cut short", func() bool {
		e.clock.Advance(time.Minute) // its timer may not be set yet the first time
		select {
		case slow.gate <- struct{}{}:
		default:
		}
		return len(closed) == 1
	})
	if err := <-closed; err != nil {
		t.Fatal(err)
	}
	if made := 1 + len(slow.waiting); made == queues {
		t.Fatalf("all %d queues were written", made)
	}
	if _, err := slow.Stat("/s/abort"); err != nil {
		t.Fatalf("the next start would not know: %v", err)
	}
	close(slow.gate)
	e.open()
	for q := range int32(queues) {
		if got, _ := e.get(get("A", q, 0)); len(got) != 1 {
			t.Errorf("queue %d has %q", q, got)
		}
	}
}

// TestCrashOfAnIdleStoreCostsNothing: when the checkpoint is at the log's end, a start leaves the queues as they are.
func TestCrashOfAnIdleStoreCostsNothing(t *testing.T) {
	e := newEnv(t, func(o *store.Options) { o.CommitLogFileSize = 1 << 20 })
	for q := range int32(5) {
		e.send(msg("A", q, "body"))
	}
	e.reopen() // the checkpoint is at the end now
	var removed []string
	e.kill(func() {
		e.mem.SetHook(func(op fs.Op) fs.Fault {
			if op.Kind == fs.OpRemove && strings.Contains(op.Name, "/consumequeue/") {
				removed = append(removed, op.Name)
			}
			return fs.Fault{}
		})
	})
	if len(removed) > 0 {
		t.Errorf("removed and to be made again: %q", removed)
	}
	for q := range int32(5) {
		if got, _ := e.get(get("A", q, 0)); len(got) != 1 {
			t.Errorf("queue %d has %q", q, got)
		}
	}
}
