package store_test

import (
	"errors"
	"fmt"
	"net/netip"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/seedmq/seedmq/conf/clock"
	"github.com/seedmq/seedmq/conf/xlog"
	"github.com/seedmq/seedmq/store"
	"github.com/seedmq/seedmq/store/fs"
)

// lockedLog is a log that can be read while the store writes it.
type lockedLog struct {
	mu sync.Mutex
	b  strings.Builder
}

func (l *lockedLog) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *lockedLog) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

func logTo(t *testing.T, w *lockedLog) *xlog.Logger {
	t.Helper()
	l, err := xlog.New(w, "info")
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func (e *env) raise(topic string, queue int32, offset int64) int64 {
	e.t.Helper()
	n, err := e.s.Raise([]store.QueueMin{{Topic: topic, QueueID: queue, Offset: offset}})
	if err != nil {
		e.t.Fatal(err)
	}
	return n[0]
}

// expectQueue checks what a queue has from its first offset on.
func (e *env) expectQueue(when, topic string, queue int32, first int64, want string) {
	e.t.Helper()
	from, to, _ := e.s.QueueRange(topic, queue)
	got, _ := e.get(get(topic, queue, from))
	if from != first || fmt.Sprint(got) != want || to != from+int64(len(got)) {
		e.t.Fatalf("%s: queue %s/%d has %v from %d to %d, want %s from %d", when, topic, queue, got, from, to, want, first)
	}
}

// TestRaise: messages below are gone for readers, the others and other queues are not, and that lasts.
func TestRaise(t *testing.T) {
	e := newEnv(t, nil)
	r := e.send(msg("A", 0, "a0"), msg("B", 0, "b0"), msg("A", 0, "a1"), msg("A", 1, "c0"), msg("A", 0, "a2"))
	if n := e.raise("A", 0, 1); n != 1 {
		t.Fatalf("%d hidden", n)
	}
	check := func(when string) {
		t.Helper()
		e.expectQueue(when, "A", 0, 1, "[a1 a2]")
		e.expectQueue(when, "A", 1, 0, "[c0]")
		e.expectQueue(when, "B", 0, 0, "[b0]")
	}
	check("at once")
	if _, res := e.get(get("A", 0, 0)); res.Status != store.GetOffsetTooSmall || res.NextBeginOffset != 1 {
		t.Fatalf("below: %+v", res)
	}
	if _, err := e.s.StoreTime("A", 0, 0); !errors.Is(err, store.ErrNotFound) {
		t.Fatal(err)
	}
	if b, err := e.s.Record(r[0].PhysicalOffset, nil); err != nil || len(bodies(t, b)) != 1 {
		t.Fatalf("by its position: %v", err)
	}
	if n := e.raise("A", 0, 0); n != 0 {
		t.Fatalf("lowering hides %d", n)
	}
	e.reopen()
	check("after a stop")
	e.kill(nil)
	check("after a kill")
	e.kill(func() { _ = e.mem.RemoveAll("/s/consumequeue") })
	check("made again from the log")
	if _, err := e.s.Raise([]store.QueueMin{{Topic: "A", QueueID: 0, Offset: 3}, {Topic: "A", QueueID: 9, Offset: 1}}); !errors.Is(err, store.ErrNotFound) {
		t.Fatal(err)
	}
	check("a queue that is not there refuses all")
}

// TestRaiseToTheEnd: an emptied queue goes on with the next offset, whatever happens in between.
func TestRaiseToTheEnd(t *testing.T) {
	for name, between := range map[string]func(e *env){
		"at once": func(*env) {}, "stop": (*env).reopen, "kill": func(e *env) { e.kill(nil) },
		"rebuilt": func(e *env) { e.kill(func() { _ = e.mem.RemoveAll("/s/consumequeue") }) },
	} {
		e := newEnv(t, nil)
		e.send(msg("A", 0, "a0"), msg("A", 0, "a1"), msg("B", 0, "b0"))
		if n := e.raise("A", 0, 99); n != 2 {
			t.Fatalf("%s: %d hidden", name, n)
		}
		between(e)
		e.expectQueue(name, "A", 0, 2, "[]")
		if r := e.send(msg("A", 0, "a2")); r[0].QueueOffset != 2 {
			t.Fatalf("%s: offset %d", name, r[0].QueueOffset)
		}
		between(e)
		e.expectQueue(name, "A", 0, 2, "[a2]")
	}
}

// TestRaiseEndsWithTheTopic: a topic of the same name, made anew, has all of its messages.
func TestRaiseEndsWithTheTopic(t *testing.T) {
	e := newEnv(t, nil)
	e.send(msg("A", 0, "old0"), msg("A", 0, "old1"))
	e.raise("A", 0, 2)
	if err := e.s.DeleteTopic("A"); err != nil {
		t.Fatal(err)
	}
	e.send(msg("A", 0, "new0"))
	e.expectQueue("at once", "A", 0, 0, "[new0]")
	e.kill(nil)
	e.expectQueue("after a kill", "A", 0, 0, "[new0]")
}

// TestRaiseLeavesQueueFiles: queue files go with the log's, not before, so that a crash does not look like the loss of one.
func TestRaiseLeavesQueueFiles(t *testing.T) {
	log := &lockedLog{}
	e := newEnv(t, func(o *store.Options) { o.FileReservedTime = 100 * time.Hour; o.Log = logTo(t, log) })
	e.fill(4)
	e.clock.Advance(90 * time.Hour)
	e.fill(4)
	_, end, _ := e.s.QueueRange("A", 0)
	e.raise("A", 0, end-1)
	e.send(msg("B", 0, "young"))
	e.clock.Advance(11 * time.Hour)
	if err := e.s.DeleteExpired(); err != nil {
		t.Fatal(err)
	}
	e.until("queue files deleted", func() bool {
		_, err := e.mem.Stat("/s/consumequeue/A/0/00000000000000000000")
		return err != nil
	})
	e.reopen()
	e.kill(nil)
	if e.s.Status().MinPhys > 4*e.o.CommitLogFileSize {
		t.Fatal("too much is deleted for this test")
	}
	if strings.Contains(log.String(), "is not the first of the log") {
		t.Fatalf("all queues were made again:\n%s", log.String())
	}
	e.expectQueue("B", "B", 0, 0, "[young]")
	if from, _, _ := e.s.QueueRange("A", 0); from < end-1 {
		t.Fatalf("A begins at %d", from)
	}
}

// TestRaiseForgetsWhatTheLogHasLost: the table holds nothing that the log has no record of.
func TestRaiseForgetsWhatTheLogHasLost(t *testing.T) {
	e := newEnv(t, func(o *store.Options) { o.FileReservedTime = time.Minute })
	e.send(msg("Gone", 0, "x"))
	e.raise("Gone", 0, 1)
	e.fill(3)
	e.clock.Advance(time.Hour)
	if err := e.s.DeleteExpired(); err != nil {
		t.Fatal(err)
	}
	e.until("deleted", func() bool { return len(e.logFiles()) == 1 })
	_, end, _ := e.s.QueueRange("A", 0)
	e.raise("A", 0, end)
	b, err := fs.ReadFile(e.mem, "/s/config/queueRetention.json")
	if err != nil || strings.Contains(string(b), "Gone") || !strings.Contains(string(b), `"A"`) {
		t.Fatalf("%s, %v", b, err)
	}
}

// TestRaiseWithDamagedTable: the store opens, says what that means, and hides again what it is told to.
func TestRaiseWithDamagedTable(t *testing.T) {
	log := &lockedLog{}
	e := newEnv(t, func(o *store.Options) { o.Log = logTo(t, log) })
	e.send(msg("A", 0, "a0"), msg("A", 0, "a1"))
	e.raise("A", 0, 1)
	e.kill(func() {
		e.patch("/s/config/queueRetention.json", 0, []byte("{{{{{"))
		_ = e.mem.Remove("/s/config/queueRetention.json.bak")
	})
	if !strings.Contains(log.String(), "can be read again") {
		t.Fatal(log.String())
	}
	e.raise("A", 0, 1)
	e.kill(nil)
	e.expectQueue("again", "A", 0, 1, "[a1]")
	if err := e.s.Close(); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"queueRetention.json", "queueRetention.json.bak"} {
		_ = e.mem.Remove("/s/config/" + name)
	}
	e.open()
	e.expectQueue("without the table", "A", 0, 0, "[a0 a1]")
}

// TestRaiseAtEveryFault: the disk fails, or the machine loses power, at every operation of a run. What Raise confirmed stays, what came
// behind it is never hidden, and an offset is never used twice.
func TestRaiseAtEveryFault(t *testing.T) {
	for _, how := range []struct{ sync, keepAll bool }{{false, true}, {true, true}, {true, false}, {false, false}} {
		n := int64(1)
		for !faultyRaise(t, n, how.sync, how.keepAll) {
			n++
		}
		if n < 20 {
			t.Fatalf("only %d operations", n)
		}
	}
}

// raisedRun is what a run of faultyRaise knows.
type raisedRun struct{ sent, acked, tried, confirmed int64 }

// play sends and raises until something fails.
func (r *raisedRun) play(s *store.Store) {
	for range 4 {
		b := s.NewBatch()
		for range 3 {
			if b.Add(msg("A", 0, fmt.Sprint(r.sent))) != nil {
				return
			}
			r.sent++
		}
		if s.Append(b) != nil {
			return
		}
		safe := make(chan error, 1)
		s.AwaitSafe(b.End(), func(err error) { safe <- err })
		if <-safe != nil {
			return
		}
		r.acked, r.tried = r.sent, r.sent-1
		if _, err := s.Raise([]store.QueueMin{{Topic: "A", QueueID: 0, Offset: r.tried}}); err != nil {
			return
		}
		r.confirmed = r.tried
	}
}

// faultyRaise kills a run at operation n; it says whether the run came to its end before.
func faultyRaise(t *testing.T, n int64, sync, keepAll bool) (done bool) {
	t.Helper()
	e := &env{t: t, clock: clock.NewFake(now)}
	e.mem = fs.NewMem(e.clock.Now)
	e.o = store.Options{Root: "/s", FS: e.mem, Clock: e.clock, CommitLogFileSize: 4096, QueueFileUnits: 10, MaxMessageSize: 2000,
		StoreHost: netip.MustParseAddrPort("127.0.0.1:1"), NoPrepare: true, CheckCRCOnRecover: true, SyncFlush: sync}
	e.mem.SetHook(func(op fs.Op) fs.Fault { return fs.Fault{Kill: op.N == n} })
	var r raisedRun
	if s, err := store.Open(e.o); err == nil {
		r.play(s)
		done = e.mem.Ops() < n
		e.mem.Kill()
		_ = s.Close()
	}
	if keepAll {
		e.mem = e.mem.Reboot()
	} else {
		e.mem = e.mem.Crash(uint64(n))
	}
	e.o.FS = e.mem
	e.open()
	when := fmt.Sprintf("operation %d, sync %v, all kept %v, %+v", n, sync, keepAll, r)
	first, end, _ := e.s.QueueRange("A", 0)
	safe := sync || keepAll
	if first > end || safe && (first < r.confirmed || first > max(r.tried, r.confirmed) || end < r.acked) {
		t.Fatalf("%s: the queue is %d to %d", when, first, end)
	}
	if got := e.send(msg("A", 0, "new"))[0].QueueOffset; got != end {
		t.Fatalf("%s: the next message has offset %d, the queue ended at %d", when, got, end)
	}
	e.until("the new message", func() bool { _, now, _ := e.s.QueueRange("A", 0); return now > end })
	for range 2 {
		if got, res := e.get(get("A", 0, end)); fmt.Sprint(got) != "[new]" || res.MinOffset != first {
			t.Fatalf("%s: the new message: %v %+v, the queue began at %d", when, got, res, first)
		}
		e.kill(nil)
	}
	_ = e.s.Close()
	return done
}
