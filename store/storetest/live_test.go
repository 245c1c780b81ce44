package storetest

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"runtime"
	"strconv"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/seedmq/seedmq/conf/clock"
	"github.com/seedmq/seedmq/store"
	"github.com/seedmq/seedmq/store/fs"
)

// A trouble is what happens to operations of the disk from number n on.
type trouble struct {
	name  string
	fault fs.Fault
	last  int64                // how many operations it lasts; 0 is one
	only  func(fs.OpKind) bool // nil: all
	short bool                 // writes reach the file in part
}

func writes(k fs.OpKind) bool { return k == fs.OpWrite || k == fs.OpTruncate || k == fs.OpCreate }
func syncs(k fs.OpKind) bool  { return k == fs.OpSync || k == fs.OpSyncDir }

var troubles = []trouble{
	{name: "kill", fault: fs.Fault{Kill: true}, short: true},
	{name: "EIO once", fault: fs.Fault{Err: syscall.EIO}, short: true},
	{name: "EIO of writes", fault: fs.Fault{Err: syscall.EIO}, last: 30, only: writes, short: true},
	{name: "failed syncs", fault: fs.Fault{Err: syscall.EIO}, last: 3, only: syncs},
	{name: "ENOSPC once", fault: fs.Fault{Err: syscall.ENOSPC}, only: writes, short: true},
	{name: "ENOSPC", fault: fs.Fault{Err: syscall.ENOSPC}, last: 40, only: writes, short: true},
}

// life is one run of the script: what happens, and when.
type life struct {
	seed    uint64
	n       int64 // first operation that the trouble meets
	trouble trouble
	sync    bool // flush
	power   bool // fails at the end; else the process is killed
	prepare bool // files are made ahead
}

func (l life) String() string {
	return fmt.Sprintf("seed %d, operation %d, %s, sync flush %v, power failure %v, files made ahead %v", l.seed, l.n, l.trouble.name, l.sync, l.power, l.prepare)
}

const liveSteps = 24

func (l life) bench() (*Bench, fmt.Stringer) {
	b, log := newBench(nil, l.seed, l.sync)
	b.Opt.FileReservedTime = time.Hour
	b.Opt.NoPrepare = !l.prepare
	return b, log
}

// ops is how many operations the script takes without trouble.
func (l life) ops(t *testing.T) int64 {
	b, log := l.bench()
	err := b.Open()
	if err == nil {
		err = b.Live(liveSteps)
	}
	if err == nil {
		err = b.Check()
	}
	if err == nil {
		err = b.Store.Close()
	}
	if err != nil {
		t.Fatalf("%v: without trouble: %v\n%s", l, err, log)
	}
	if b.Expired == 0 || len(b.Gone) == 0 || len(b.hides) == 0 {
		t.Fatalf("%v: nothing expired or was deleted or hidden", l)
	}
	return b.FS.Ops()
}

// play runs the script into the trouble, and checks what is left: in the same process if it lives, and in the next ones.
func (l life) play() (err error) {
	b, log := l.bench()
	defer func() {
		if err != nil {
			err = fmt.Errorf("%v: %w\n%s", l, err, log)
		}
	}()
	b.FS.SetHook(func(op fs.Op) fs.Fault {
		if op.N < l.n || op.N > l.n+l.trouble.last || l.trouble.only != nil && !l.trouble.only(op.Kind) {
			return fs.Fault{}
		}
		f := l.trouble.fault
		if l.trouble.short {
			f.Short = op.Len * int(l.seed%5) / 4
		}
		return f
	})
	if err := b.Open(); err == nil {
		err := b.Live(liveSteps)
		if !l.trouble.fault.Kill {
			if err := l.livesOn(b, err); err != nil {
				return fmt.Errorf("in the same process: %w", err)
			}
		}
	}
	b.Crash(l.seed+uint64(l.n), !l.power)
	if l.power && !l.sync {
		b.Acked = nil // nothing was promised
		b.forgetDeletions()
	}
	return l.recovers(b)
}

// forgetDeletions: without a promise that messages stay there is none about which topic's they were.
func (b *Bench) forgetDeletions() {
	for n := range b.Gone {
		b.Unsure[n] = true
	}
	clear(b.Gone)
}

// livesOn checks a store that has met an error: it says which, reads go on, and it takes messages again where it can.
func (l life) livesOn(b *Bench, failed error) error {
	b.FS.SetHook(nil)
	space := errors.Is(failed, syscall.ENOSPC) || errors.Is(failed, store.ErrDiskFull)
	if len(b.Refused) > 0 && !errors.Is(failed, store.ErrReadOnly) && !errors.Is(failed, store.ErrDiskFull) {
		return fmt.Errorf("a refusal without a reason: %w", failed)
	}
	var checked, err error
	for n := range 2000 { // the store's goroutines may need a while to get to work
		if n < 15 {
			b.Advance(time.Second)
		} else {
			time.Sleep(5 * time.Millisecond)
		}
		checked, err = b.Check(), b.Store.Writable()
		if checked == nil && (err == nil || errors.Is(err, store.ErrReadOnly)) {
			break
		}
	}
	if checked != nil {
		return checked
	}
	switch {
	case err == nil:
		return b.Play(2)
	case !errors.Is(err, store.ErrReadOnly):
		return fmt.Errorf("15 s after there is room (%v): %w", space, err)
	case l.trouble.fault.Err == syscall.ENOSPC && !l.sync:
		return fmt.Errorf("read-only for lack of space: %w", err)
	}
	if err := b.Send(); !errors.Is(err, store.ErrReadOnly) {
		return fmt.Errorf("sent to a store that is read-only: %w", err)
	}
	return nil
}

func (l life) recovers(b *Bench) error {
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

// TestLives plays the script, with deleted topics, expired files and raised first offsets, into troubles: first a kill at every operation, then all
// kinds at random ones, with one seed after the other until SEEDMQ_CRASH_SECONDS (2) are over. SEEDMQ_CRASH_FIRST is the seed
// to begin with; a failure names the one to repeat.
func TestLives(t *testing.T) {
	wall := clock.Real{}
	seconds, err := strconv.Atoi(os.Getenv("SEEDMQ_CRASH_SECONDS"))
	if err != nil {
		seconds = 2
	}
	end := wall.Now().Add(time.Duration(seconds) * time.Second)
	first, err := strconv.ParseUint(os.Getenv("SEEDMQ_CRASH_FIRST"), 10, 64)
	if err != nil {
		first = uint64(end.UnixNano())
	}
	t.Logf("first seed %d", first)
	var runs atomic.Int64
	var failed atomic.Bool
	lives := make(chan life)
	var workers sync.WaitGroup
	for range 2 * runtime.GOMAXPROCS(0) {
		workers.Go(func() {
			for l := range lives {
				if err := l.play(); err != nil {
					t.Error(err)
					failed.Store(true)
				}
				runs.Add(1)
			}
		})
	}
	over := func() bool { return failed.Load() || !wall.Now().Before(end) }
	seed := first
	for ; !over(); seed++ {
		eachLife(t, seed, func(l life) bool { lives <- l; return !over() })
	}
	close(lives)
	workers.Wait()
	t.Logf("%d runs with the seeds from %d to %d", runs.Load(), first, seed-1)
}

// eachLife calls fn with the lives of a seed until it returns false.
func eachLife(t *testing.T, seed uint64, fn func(life) bool) {
	rng := rand.New(rand.NewPCG(seed, 7))
	kinds := []life{{sync: true, power: true}, {sync: true, power: true, prepare: true}, {sync: true}, {power: true}, {prepare: true}}
	var ops []int64
	for i := range kinds {
		kinds[i].seed = seed
		ops = append(ops, kinds[i].ops(t))
	}
	for i, l := range kinds {
		l.trouble = troubles[0]
		for l.n = 1; l.n <= ops[i]; l.n++ {
			if !fn(l) {
				return
			}
		}
	}
	for range 2000 {
		i := rng.IntN(len(kinds))
		l := kinds[i]
		l.n, l.trouble = 1+rng.Int64N(ops[i]), troubles[rng.IntN(len(troubles))]
		if !fn(l) {
			return
		}
	}
}
