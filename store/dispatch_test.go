package store_test

import (
	"fmt"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/seedmq/seedmq/remoting/protocol"
	"github.com/seedmq/seedmq/store"
	"github.com/seedmq/seedmq/store/consumequeue"
	"github.com/seedmq/seedmq/store/fs"
)

// arrivals collects what the dispatcher tells, and says whether it comes in log order without gaps in a queue.
type arrivals struct {
	mu   sync.Mutex
	n    int
	last int64
	bad  string
}

func (a *arrivals) take(batch []store.Arrival) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, m := range batch {
		if m.PhysicalOffset < a.last || m.QueueOffset != int64(a.n) {
			a.bad = fmt.Sprintf("message %d: %+v", a.n, m)
		}
		a.last = m.PhysicalOffset + int64(m.Size)
		a.n++
	}
}

func (a *arrivals) count() int {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.n
}

func (a *arrivals) check(t *testing.T, want int) {
	t.Helper()
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.n != want || a.bad != "" {
		t.Fatalf("told of %d messages, want %d; %s", a.n, want, a.bad)
	}
}

func (e *env) sendMany(n int) {
	e.t.Helper()
	b := e.s.NewBatch()
	for i := range n {
		if err := b.Add(msg("A", 0, "x")); err != nil {
			e.t.Fatal(err)
		}
		if b.Len() == 1000 || i == n-1 {
			if err := e.s.Append(b); err != nil {
				e.t.Fatal(err)
			}
			b.Reset()
		}
	}
}

// More messages come than are handed over in memory while the listener holds the dispatcher up.
func TestDispatcherReadsTheLogWhenItIsBehind(t *testing.T) {
	for _, syncFlush := range []bool{false, true} {
		t.Run(fmt.Sprintf("sync=%v", syncFlush), func(t *testing.T) {
			var a arrivals
			hold, held := make(chan struct{}), make(chan struct{})
			var once sync.Once
			e := newEnv(t, func(o *store.Options) {
				o.CommitLogFileSize, o.SyncFlush, o.QueueFileUnits = 1<<20, syncFlush, 10_000
				o.OnArrival = func(batch []store.Arrival) {
					once.Do(func() { close(held); <-hold })
					a.take(batch)
				}
			})
			go e.s.AwaitSafe(e.sendOne(), func(error) {}) // runs into the listener
			<-held
			const n = 70_000
			e.sendMany(n)
			close(hold)
			e.until("all dispatched", func() bool { return a.count() == n+1 })
			a.check(t, n+1)
			if _, max, _ := e.s.QueueRange("A", 0); max != n+1 {
				t.Fatalf("queue ends at %d", max)
			}
			e.reopen()
			if _, max, _ := e.s.QueueRange("A", 0); max != n+1 {
				t.Fatalf("after a restart the queue ends at %d", max)
			}
		})
	}
}

// sendOne sends a message from a goroutine of its own, since the listener may hold it up, and returns a position.
func (e *env) sendOne() int64 {
	b := e.s.NewBatch()
	if err := b.Add(msg("A", 0, "x")); err != nil {
		e.t.Fatal(err)
	}
	if e.o.SyncFlush {
		if err := e.s.Append(b); err != nil {
			e.t.Fatal(err)
		}
		return b.End()
	}
	go func() {
		if err := e.s.Append(b); err != nil {
			e.t.Error(err)
		}
	}()
	return 0
}

// While queues and index cannot be written, sends go on; when they can, everything is dispatched, once and in order.
func TestDispatchGoesOnAfterErrors(t *testing.T) {
	var a arrivals
	e := newEnv(t, func(o *store.Options) { o.CommitLogFileSize, o.OnArrival = 1<<20, a.take })
	e.mem.SetHook(func(op fs.Op) fs.Fault {
		if (op.Kind == fs.OpWrite || op.Kind == fs.OpCreate) && strings.Contains(op.Name, "consumequeue") {
			return fs.Fault{Err: syscall.ENOSPC}
		}
		return fs.Fault{}
	})
	const n = 10_000
	e.sendMany(n)
	if a.count() == n {
		t.Fatal("the errors were not met")
	}
	e.mem.SetHook(nil)
	e.until("all dispatched", func() bool { return a.count() == n })
	a.check(t, n)
	e.reopen()
	if _, max, _ := e.s.QueueRange("A", 0); max != n {
		t.Fatalf("queue ends at %d", max)
	}
}

func TestHotOnly(t *testing.T) {
	e := newEnv(t, func(o *store.Options) { o.HotBytes = 1 })
	e.send(msg("A", 0, "0"), msg("A", 0, "1"))
	q := get("A", 0, 0)
	q.HotOnly = true
	if got, _ := e.get(q); len(got) != 2 {
		t.Fatalf("in memory: %v", got)
	}
	e.mem.SetCold(func(name string, off int64) bool { return true })
	if got, res := e.get(q); len(got) != 0 || res.Status != store.GetCold {
		t.Fatalf("cold: %v %+v", got, res)
	}
	q.HotOnly = false
	if got, _ := e.get(q); len(got) != 2 {
		t.Fatalf("cold, waiting: %v", got)
	}
}

// Units of delayed messages survive a killed process without waiting for a flush.
func TestDelayedUnitsAreWrittenAtOnce(t *testing.T) {
	e := newEnv(t, nil)
	m := msg(protocol.TopicSchedule, 2, "later")
	m.DelayLevel, m.DelayMs = 3, 10_000
	r := e.send(m, msg("T", 0, "now"))
	if _, max, _ := e.s.QueueRange(protocol.TopicSchedule, 2); max != 1 {
		t.Fatal("not dispatched")
	}
	b, err := fs.ReadFile(e.mem, "/s/consumequeue/SCHEDULE_TOPIC_XXXX/2/00000000000000000000")
	if err != nil || len(b) != 200 {
		t.Fatal(len(b), err)
	}
	u := consumequeue.Decode(b)
	if u.PhysicalOffset != r[0].PhysicalOffset || u.TagsCode != now.UnixMilli()+10_000 {
		t.Errorf("the file says %+v of %+v", u, r[0])
	}
}
