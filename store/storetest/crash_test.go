package storetest

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"strconv"
	"sync"
	"syscall"
	"testing"

	"github.com/seedmq/seedmq/store/fs"
)

// steps is the length of the scripted run: it rolls over several log and queue files.
const steps = 25

func newBench(t *testing.T, seed uint64, sync bool) (*Bench, *bytes.Buffer) {
	b := New(seed)
	b.Opt.SyncFlush = sync
	b.Opt.IndexEnabled = os.Getenv("NOINDEX") == ""
	log := &bytes.Buffer{}
	b.Log(&lockedWriter{w: log})
	return b, log
}

type lockedWriter struct {
	mu sync.Mutex
	w  *bytes.Buffer
}

func (l *lockedWriter) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.w.Write(p)
}

// countOps is how many operations the script makes without a fault.
func countOps(t *testing.T, seed uint64, sync bool) int64 {
	t.Helper()
	b, _ := newBench(t, seed, sync)
	if err := b.Open(); err != nil {
		t.Fatal(err)
	}
	if err := b.Play(steps); err != nil {
		t.Fatal(err)
	}
	if err := b.Check(); err != nil {
		t.Fatal(err)
	}
	if err := b.Store.Close(); err != nil {
		t.Fatal(err)
	}
	return b.FS.Ops()
}

// run plays the script against a fault at operation n, then recovers what is left and checks it, goes on, stops, and
// checks again.
func run(seed uint64, n int64, sync bool, fault fs.Fault, keepAll bool) (err error) {
	b, log := newBench(nil, seed, sync)
	defer func() {
		if err != nil {
			err = fmt.Errorf("seed %d, operation %d: %w\n%s", seed, n, err, log)
		}
	}()
	b.FS.SetHook(func(op fs.Op) fs.Fault {
		if op.N != n {
			return fs.Fault{}
		}
		f := fault
		f.Short = op.Len * int(seed%5) / 4
		return f
	})
	if err := b.Open(); err == nil {
		_ = b.Play(steps) // ends at the fault, or not
	}
	b.Crash(seed+uint64(n), keepAll)
	if !sync && !keepAll {
		b.Acked = nil // nothing was promised
	}
	for _, what := range []string{"recovery", "clean restart"} {
		if err := b.Open(); err != nil {
			return fmt.Errorf("open for %s: %w", what, err)
		}
		if err := b.Check(); err != nil {
			return fmt.Errorf("after %s: %w", what, err)
		}
		if err := b.Play(3); err != nil {
			return fmt.Errorf("send after %s: %w", what, err)
		}
		if err := b.Check(); err != nil {
			return fmt.Errorf("sent after %s: %w", what, err)
		}
		if err := b.Store.Close(); err != nil {
			return fmt.Errorf("close after %s: %w", what, err)
		}
	}
	return nil
}

// seeds is how many different runs each test makes; SEEDMQ_CRASH_SEEDS asks for more, SEEDMQ_CRASH_FIRST for others.
func seeds() (first, last uint64) {
	first, _ = strconv.ParseUint(os.Getenv("SEEDMQ_CRASH_FIRST"), 10, 64)
	n, _ := strconv.ParseUint(os.Getenv("SEEDMQ_CRASH_SEEDS"), 10, 64)
	return first, first + max(n, 1)
}

// stride is 1, every operation, when runs are asked for, and else keeps the tests short.
func stride() int64 {
	if os.Getenv("SEEDMQ_CRASH_SEEDS") != "" {
		return 1
	}
	return 7
}

func everyOp(t *testing.T, sync bool, fault fs.Fault, keepAll bool) {
	t.Parallel()
	first, last := seeds()
	for seed := first; seed < last; seed++ {
		ops := countOps(t, seed, sync)
		for n := 1 + int64(seed)%stride(); n <= ops; n += stride() {
			if err := run(seed, n, sync, fault, keepAll); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// Power fails at the operations of the script, one after the other.
func TestPowerFailureSyncFlush(t *testing.T)  { everyOp(t, true, fs.Fault{Kill: true}, false) }
func TestPowerFailureAsyncFlush(t *testing.T) { everyOp(t, false, fs.Fault{Kill: true}, false) }

// The process is killed at the operations; what it wrote stays.
func TestKillSyncFlush(t *testing.T)  { everyOp(t, true, fs.Fault{Kill: true}, true) }
func TestKillAsyncFlush(t *testing.T) { everyOp(t, false, fs.Fault{Kill: true}, true) }

// The operations fail once, and then the process is killed or the power fails.
func TestErrorSyncFlush(t *testing.T) {
	everyOp(t, true, fs.Fault{Err: syscall.EIO}, false)
}
func TestErrorAsyncFlush(t *testing.T) {
	everyOp(t, false, fs.Fault{Err: syscall.EIO}, true)
}
func TestNoSpaceSyncFlush(t *testing.T) {
	everyOp(t, true, fs.Fault{Err: syscall.ENOSPC}, false)
}

func TestRecoveryIsInterrupted(t *testing.T) {
	t.Parallel()
	first, last := seeds()
	for seed := first; seed < last; seed++ {
		for n := int64(1); ; n += stride() {
			done, err := interrupted(seed, n)
			if err != nil {
				t.Fatalf("seed %d, operation %d: %v", seed, n, err)
			}
			if done {
				break
			}
		}
	}
}

// interrupted lets the power fail in the middle of a run and again at the recovery's operation n. done: it has fewer.
func interrupted(seed uint64, n int64) (done bool, err error) {
	b, log := newBench(nil, seed, true)
	defer func() {
		if err != nil {
			err = fmt.Errorf("%w\n%s", err, log)
		}
	}()
	b.FS.SetHook(func(op fs.Op) fs.Fault { return fs.Fault{Kill: op.N == 90+int64(seed), Short: op.Len / 2} })
	if err := b.Open(); err == nil {
		_ = b.Play(steps)
	}
	b.Crash(seed, false)
	b.FS.SetHook(func(op fs.Op) fs.Fault { return fs.Fault{Kill: op.N == n} })
	err = b.Open()
	if err == nil {
		done = b.FS.Ops() < n
	} else if !errors.Is(err, fs.ErrKilled) {
		return false, err
	}
	b.Crash(seed*31+uint64(n), false)
	if err := b.Open(); err != nil {
		return false, err
	}
	if err := b.Check(); err != nil {
		return false, err
	}
	return done, b.Store.Close()
}
