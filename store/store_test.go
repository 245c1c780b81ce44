package store_test

import (
	"bytes"
	"errors"
	"fmt"
	"net/netip"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/seedmq/seedmq/conf/clock"
	"github.com/seedmq/seedmq/remoting/protocol"
	"github.com/seedmq/seedmq/store"
	"github.com/seedmq/seedmq/store/fs"
)

var now = time.Date(2024, 1, 2, 3, 4, 5, 0, time.UTC)

// env is a small store in memory.
type env struct {
	t     *testing.T
	mem   *fs.Mem
	clock *clock.Fake
	o     store.Options
	s     *store.Store
}

func newEnv(t *testing.T, change func(*store.Options)) *env {
	t.Helper()
	e := &env{t: t, clock: clock.NewFake(now)}
	e.mem = fs.NewMem(e.clock.Now)
	e.o = store.Options{Root: "/s", FS: e.mem, Clock: e.clock, CommitLogFileSize: 4096, QueueFileUnits: 10, MaxMessageSize: 2000,
		IndexEnabled: true, IndexSlots: 10, IndexEntries: 50, StoreHost: netip.MustParseAddrPort("127.0.0.1:1"), NoPrepare: true, CheckCRCOnRecover: true}
	if change != nil {
		change(&e.o)
	}
	e.open()
	return e
}

func (e *env) open() {
	e.t.Helper()
	s, err := store.Open(e.o)
	if err != nil {
		e.t.Fatal(err)
	}
	e.s = s
	e.t.Cleanup(func() { _ = s.Close() }) // the tests that care close it themselves
}

// reopen closes and opens again.
func (e *env) reopen() {
	e.t.Helper()
	if err := e.s.Close(); err != nil {
		e.t.Fatal(err)
	}
	e.open()
}

func msg(topic string, queue int32, body string) *store.Message {
	return &store.Message{Topic: topic, QueueID: queue, Body: []byte(body), BornHost: netip.MustParseAddrPort("10.0.0.1:2")}
}

func (e *env) send(ms ...*store.Message) []store.AppendResult {
	e.t.Helper()
	b := e.s.NewBatch()
	for _, m := range ms {
		if err := b.Add(m); err != nil {
			e.t.Fatal(err)
		}
	}
	if err := e.s.Append(b); err != nil {
		e.t.Fatal(err)
	}
	var out []store.AppendResult
	for i := range ms {
		out = append(out, b.Result(i))
	}
	return out
}

func bodies(t *testing.T, b []byte) []string {
	t.Helper()
	var out []string
	for len(b) > 0 {
		var v protocol.MessageView
		n, err := protocol.DecodeMessage(b, &v)
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, string(v.Body))
		b = b[n:]
	}
	return out
}

func (e *env) get(r store.GetRequest) ([]string, store.GetResult) {
	e.t.Helper()
	b, res := e.s.Get(&r, []byte(nil))
	return bodies(e.t, b), res
}

func get(topic string, queue int32, offset int64) store.GetRequest {
	return store.GetRequest{Topic: topic, QueueID: queue, Offset: offset, MaxCount: 32, MaxBytes: 1 << 20}
}

func TestAppendAndGet(t *testing.T) {
	e := newEnv(t, nil)
	r := e.send(msg("A", 0, "a0"), msg("B", 1, "b0"), msg("A", 0, "a1"))
	if r[0].QueueOffset != 0 || r[1].QueueOffset != 0 || r[2].QueueOffset != 1 || r[0].PhysicalOffset != 0 ||
		r[1].PhysicalOffset != int64(r[0].Size) || r[0].StoreTimestamp != now.UnixMilli() {
		t.Fatalf("results %+v", r)
	}
	got, res := e.get(get("A", 0, 0))
	if fmt.Sprint(got) != "[a0 a1]" || res.Status != store.GetFound || res.NextBeginOffset != 2 || res.MaxOffset != 2 || res.Count != 2 {
		t.Fatalf("%v %+v", got, res)
	}
	rec, err := e.s.Record(r[1].PhysicalOffset, []byte("x"))
	if err != nil || rec[0] != 'x' || fmt.Sprint(bodies(t, rec[1:])) != "[b0]" {
		t.Fatalf("%q, %v", rec, err)
	}
	if _, err := e.s.Record(r[1].PhysicalOffset+1, nil); !errors.Is(err, store.ErrNotFound) {
		t.Fatalf("record beside a record: %v", err)
	}
	if _, err := e.s.Record(1<<40, nil); !errors.Is(err, store.ErrNotFound) {
		t.Fatalf("record behind the end: %v", err)
	}
}

func TestGetStatuses(t *testing.T) {
	e := newEnv(t, nil)
	e.send(msg("A", 0, "0"), msg("A", 0, "1"))
	for _, c := range []struct {
		topic  string
		offset int64
		status store.GetStatus
		next   int64
	}{
		{"none", 0, store.GetNoQueue, 0}, {"A", -1, store.GetOffsetTooSmall, 0}, {"A", 0, store.GetFound, 2},
		{"A", 2, store.GetOffsetOverflowOne, 2}, {"A", 3, store.GetOffsetOverflowBadly, 2},
	} {
		if _, res := e.get(get(c.topic, 0, c.offset)); res.Status != c.status || res.NextBeginOffset != c.next {
			t.Errorf("%s at %d: status %d next %d, want %d, %d", c.topic, c.offset, res.Status, res.NextBeginOffset, c.status, c.next)
		}
	}
}

func TestGetLimits(t *testing.T) {
	e := newEnv(t, nil)
	r := e.send(msg("A", 0, "aaaa"), msg("A", 0, "bbbb"), msg("A", 0, "cccc"))
	q := get("A", 0, 0)
	q.MaxCount = 2
	if got, res := e.get(q); fmt.Sprint(got) != "[aaaa bbbb]" || res.NextBeginOffset != 2 {
		t.Errorf("by count: %v %+v", got, res)
	}
	q = get("A", 0, 0)
	q.MaxBytes = int(r[0].Size) * 2
	if got, _ := e.get(q); fmt.Sprint(got) != "[aaaa bbbb]" {
		t.Errorf("by bytes: %v", got)
	}
	q.MaxBytes = 1
	if got, _ := e.get(q); fmt.Sprint(got) != "[aaaa]" {
		t.Errorf("the first comes whatever its size: %v", got)
	}
}

// odd keeps messages whose body ends in an odd digit; half of the others it refuses by tags code.
type odd struct{ shown *int }

func (f odd) MatchTagsCode(code int64) bool { return code != protocol.TagsCode("no") }
func (f odd) MatchRecord(rec []byte) bool {
	*f.shown++
	return bytes.Contains(rec, []byte("yes"))
}

func TestGetFilters(t *testing.T) {
	e := newEnv(t, nil)
	for i := range 30 {
		m := msg("A", 0, []string{"yes", "maybe", "yes"}[i%3]+fmt.Sprint(i))
		if i%3 == 2 {
			m.Tags = "no"
		}
		e.send(m)
	}
	q, shown := get("A", 0, 0), 0
	q.Filter = odd{&shown}
	got, res := e.get(q)
	if len(got) != 10 || shown != 20 || res.NextBeginOffset != 30 || res.Status != store.GetFound {
		t.Fatalf("%v, %d shown, %+v", got, shown, res)
	}
	q.Offset = 28
	if got, res := e.get(q); len(got) != 0 || res.Status != store.GetNoMatched || res.NextBeginOffset != 30 {
		t.Fatalf("%v %+v", got, res)
	}
}

func TestLimits(t *testing.T) {
	e := newEnv(t, nil)
	b := e.s.NewBatch()
	for name, m := range map[string]*store.Message{
		"maxMessageSize": msg("A", 0, strings.Repeat("x", 2001)),
		"properties":     {Topic: "A", Properties: make([]byte, 32768)},
		"topic":          msg(strings.Repeat("t", 256), 0, "x"),
		"record":         {Topic: "A", Body: make([]byte, 2000), Properties: make([]byte, 2100)},
	} {
		if err := b.Add(m); !errors.Is(err, store.ErrMessageTooLarge) || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if err := b.AddGroup([]store.Message{*msg("A", 0, strings.Repeat("x", 2000)), *msg("A", 0, strings.Repeat("x", 2000))}); !errors.Is(err, store.ErrMessageTooLarge) {
		t.Errorf("group: %v", err)
	}
	if err := b.AddGroup([]store.Message{*msg("A", 0, "x"), *msg("A", 1, "x")}); err == nil {
		t.Error("group of two queues")
	}
	if err := b.Add(msg("A", 0, strings.Repeat("x", 2000))); err != nil || b.Len() != 1 {
		t.Errorf("at the limit: %v, %d", err, b.Len())
	}
}

func TestRollOver(t *testing.T) {
	e := newEnv(t, nil)
	var want []string
	for i := range 40 {
		body := fmt.Sprintf("%02d", i) + strings.Repeat("x", i*37%1000)
		want = append(want, body)
	}
	var ms []*store.Message
	for _, b := range want {
		ms = append(ms, msg("A", 0, b))
	}
	for i, r := range e.send(ms...) { // one batch over many files
		if at := r.PhysicalOffset % 4096; at+int64(r.Size) > 4096-8 {
			t.Fatalf("message %d at %d of its file, %d bytes", i, at, r.Size)
		}
	}
	for range 2 {
		q := get("A", 0, 0)
		q.MaxCount = 100
		if got, _ := e.get(q); fmt.Sprint(got) != fmt.Sprint(want) {
			t.Fatalf("%d messages of %d", len(got), len(want))
		}
		e.reopen()
	}
	if e.send(msg("A", 0, "next"))[0].QueueOffset != 40 {
		t.Error("queue offset after a restart")
	}
}

func TestGroupStaysInOneFile(t *testing.T) {
	e := newEnv(t, nil)
	for i := range 20 {
		b := e.s.NewBatch()
		if err := b.Add(msg("B", 0, strings.Repeat("f", i*31))); err != nil {
			t.Fatal(err)
		}
		ms := []store.Message{*msg("A", 0, "g0"+strings.Repeat("x", 300)), *msg("A", 0, "g1"), *msg("A", 0, "g2"+strings.Repeat("x", 200))}
		if err := b.AddGroup(ms); err != nil {
			t.Fatal(err)
		}
		if err := e.s.Append(b); err != nil {
			t.Fatal(err)
		}
		first, last := b.Result(1), b.Result(3)
		if first.PhysicalOffset/4096 != last.PhysicalOffset/4096 || last.QueueOffset != first.QueueOffset+2 || first.QueueOffset != int64(3*i) {
			t.Fatalf("group %d: %+v to %+v", i, first, last)
		}
		if b.End() != last.PhysicalOffset+int64(last.Size) {
			t.Fatalf("end %d", b.End())
		}
	}
}

func TestStoreTimeNeverDecreases(t *testing.T) {
	e := newEnv(t, nil)
	e.send(msg("A", 0, "0"))
	e.clock.Set(now.Add(-time.Hour))
	if got := e.send(msg("A", 0, "1"))[0].StoreTimestamp; got != now.UnixMilli() {
		t.Fatalf("store time went to %d", got)
	}
	e.clock.Set(now.Add(time.Second))
	if got := e.send(msg("A", 0, "2"))[0].StoreTimestamp; got != now.UnixMilli()+1000 {
		t.Fatalf("store time %d", got)
	}
}

func TestOffsetByTime(t *testing.T) {
	e := newEnv(t, nil)
	for _, at := range []int{0, 10, 10, 10, 20} {
		e.clock.Set(now.Add(time.Duration(at) * time.Millisecond))
		e.send(msg("A", 0, "x"))
	}
	for _, c := range []struct {
		ms           int64
		lower, upper int64
	}{{-1, 0, 0}, {0, 0, 0}, {5, 1, 0}, {10, 1, 3}, {15, 4, 3}, {20, 4, 4}, {21, 5, 4}} {
		lower, err1 := e.s.OffsetByTime("A", 0, now.UnixMilli()+c.ms, store.Lower)
		upper, err2 := e.s.OffsetByTime("A", 0, now.UnixMilli()+c.ms, store.Upper)
		if lower != c.lower || upper != c.upper || err1 != nil || err2 != nil {
			t.Errorf("time %d: %d, %d, %v, %v; want %d, %d", c.ms, lower, upper, err1, err2, c.lower, c.upper)
		}
	}
	if ms, err := e.s.StoreTime("A", 0, 4); err != nil || ms != now.UnixMilli()+20 {
		t.Errorf("store time %d, %v", ms, err)
	}
	if _, err := e.s.StoreTime("A", 0, 5); !errors.Is(err, store.ErrNotFound) {
		t.Error(err)
	}
}

func TestTransactionTypes(t *testing.T) {
	e := newEnv(t, nil)
	half, done := msg("A", 0, "half"), msg("A", 0, "done")
	half.SysFlag, done.SysFlag = protocol.SysFlagTransactionPrepared, protocol.SysFlagTransactionCommit
	r := e.send(msg("A", 0, "0"), half, done)
	if r[1].QueueOffset != 0 || r[2].QueueOffset != 1 {
		t.Fatalf("%+v", r)
	}
	if got, _ := e.get(get("A", 0, 0)); fmt.Sprint(got) != "[0 done]" {
		t.Fatal(got)
	}
}

func TestDelayedMessageHasItsTimeInTheQueue(t *testing.T) {
	e := newEnv(t, nil)
	m := msg(protocol.TopicSchedule, 2, "later")
	m.DelayLevel, m.DelayMs, m.Tags = 3, 10_000, "t"
	m.Properties = protocol.AppendProperty(nil, protocol.PropertyDelay, "3")
	e.send(m)
	u, err := e.s.QueueUnits(protocol.TopicSchedule, 2, 0, 1)
	if err != nil || u[0].TagsCode != now.UnixMilli()+10_000 {
		t.Fatalf("%+v, %v", u, err)
	}
}

func TestArrivals(t *testing.T) {
	var got []store.Arrival
	e := newEnv(t, func(o *store.Options) { o.OnArrival = func(a []store.Arrival) { got = append(got, a...) } })
	m := msg("A", 1, "x")
	m.Tags = "t"
	r := e.send(m, msg("B", 0, "y"))
	want := store.Arrival{Topic: "A", QueueID: 1, PhysicalOffset: r[0].PhysicalOffset, Size: r[0].Size, TagsCode: protocol.TagsCode("t"), StoreTimestamp: now.UnixMilli()}
	if len(got) != 2 || got[0] != want || got[1].Topic != "B" {
		t.Fatalf("%+v, want %+v first", got, want)
	}
}

func TestSyncFlushShowsOnlyWhatIsSafe(t *testing.T) {
	e := newEnv(t, func(o *store.Options) { o.SyncFlush = true })
	syncs := 0
	e.mem.SetHook(func(op fs.Op) fs.Fault {
		if op.Kind == fs.OpSync && strings.Contains(op.Name, "commitlog") {
			syncs++
		}
		return fs.Fault{}
	})
	b := e.s.NewBatch()
	if err := b.Add(msg("A", 0, "x")); err != nil {
		t.Fatal(err)
	}
	if err := e.s.Append(b); err != nil {
		t.Fatal(err)
	}
	if st := e.s.Status(); st.ConfirmedPhys != 0 || st.MaxPhys == 0 {
		t.Fatalf("before the sync: %+v", st)
	}
	if _, _, ok := e.s.QueueRange("A", 0); ok {
		t.Fatal("visible before the sync")
	}
	called := 0
	e.s.AwaitSafe(b.End(), func(err error) {
		if called++; err != nil {
			t.Error(err)
		}
	})
	if called != 1 || syncs != 1 {
		t.Fatalf("%d calls, %d syncs", called, syncs)
	}
	if got, _ := e.get(get("A", 0, 0)); fmt.Sprint(got) != "[x]" {
		t.Fatal(got)
	}
}

func TestFailedSyncIsFinal(t *testing.T) {
	e := newEnv(t, func(o *store.Options) { o.SyncFlush = true })
	e.send(msg("A", 0, "x"))
	e.mem.SetHook(func(op fs.Op) fs.Fault {
		if op.Kind == fs.OpSync {
			return fs.Fault{Err: syscall.EIO}
		}
		return fs.Fault{}
	})
	var first, second error
	e.s.AwaitSafe(e.s.Status().MaxPhys, func(err error) { first = err })
	e.mem.SetHook(nil)
	e.s.AwaitSafe(e.s.Status().MaxPhys, func(err error) { second = err })
	if !errors.Is(first, store.ErrReadOnly) || !errors.Is(first, syscall.EIO) || !errors.Is(second, store.ErrReadOnly) || !errors.Is(e.s.Writable(), store.ErrReadOnly) {
		t.Fatalf("%v, %v, %v", first, second, e.s.Writable())
	}
}

func TestFailedWriteLeavesNothing(t *testing.T) {
	for _, c := range []struct {
		cause error
		want  error
	}{{syscall.EIO, store.ErrReadOnly}, {syscall.ENOSPC, store.ErrDiskFull}} {
		for _, short := range []int{0, 7, 150} {
			e := newEnv(t, nil)
			e.send(msg("A", 0, "first"))
			before := e.s.Status().MaxPhys
			fail := true
			e.mem.SetHook(func(op fs.Op) fs.Fault {
				if fail && op.Kind == fs.OpWrite && strings.Contains(op.Name, "commitlog") {
					fail = false
					return fs.Fault{Err: c.cause, Short: short}
				}
				return fs.Fault{}
			})
			b := e.s.NewBatch()
			for range 3 {
				if err := b.Add(msg("A", 0, "lost")); err != nil {
					t.Fatal(err)
				}
			}
			if err := e.s.Append(b); !errors.Is(err, c.want) || !errors.Is(err, c.cause) {
				t.Fatalf("append: %v", err)
			}
			if st := e.s.Status(); st.MaxPhys != before || st.PutFailures != 3 {
				t.Fatalf("%+v", st)
			}
			if err := e.s.Append(b); !errors.Is(err, c.want) {
				t.Fatalf("next append: %v", err)
			}
			if got, _ := e.get(get("A", 0, 0)); fmt.Sprint(got) != "[first]" {
				t.Fatal(got)
			}
			b2, err := fs.ReadFile(e.mem, fmt.Sprintf("/s/commitlog/%020d", 0))
			if err != nil || len(bytes.TrimRight(b2[before:], "\x00")) != 0 {
				t.Fatalf("torn bytes stay: %v", err)
			}
		}
	}
}

func TestDiskFullHeals(t *testing.T) {
	e := newEnv(t, nil)
	e.send(msg("A", 0, "first"))
	e.mem.SetCapacity(1_000_000)
	ballast, err := e.mem.Create("/ballast")
	if err != nil {
		t.Fatal(err)
	}
	if err := ballast.Truncate(950_000); err != nil {
		t.Fatal(err)
	}
	e.until("disk full", func() bool { return errors.Is(e.s.Writable(), store.ErrDiskFull) })
	if got, _ := e.get(get("A", 0, 0)); fmt.Sprint(got) != "[first]" {
		t.Fatal("reads must go on")
	}
	if err := ballast.Truncate(0); err != nil {
		t.Fatal(err)
	}
	e.until("room", func() bool { return e.s.Writable() == nil })
	if r := e.send(msg("A", 0, "second")); r[0].QueueOffset != 1 {
		t.Fatalf("%+v", r)
	}
}

// until lets the store's time pass until ok.
func (e *env) until(what string, ok func() bool) {
	e.t.Helper()
	for deadline := time.Now().Add(30 * time.Second); time.Now().Before(deadline); {
		if ok() {
			return
		}
		e.clock.Advance(500 * time.Millisecond)
		runtime.Gosched()
	}
	e.t.Fatalf("no %s after a long time", what)
}

func TestClosedStoreRefuses(t *testing.T) {
	e := newEnv(t, nil)
	b := e.s.NewBatch()
	if err := b.Add(msg("A", 0, "x")); err != nil {
		t.Fatal(err)
	}
	if _, err := store.Open(e.o); !errors.Is(err, store.ErrLocked) {
		t.Fatalf("second open: %v", err)
	}
	if err := e.s.Close(); err != nil {
		t.Fatal(err)
	}
	if err := e.s.Close(); err != nil {
		t.Fatalf("second close: %v", err)
	}
	if err := e.s.Append(b); !errors.Is(err, store.ErrClosed) {
		t.Fatal(err)
	}
	if _, err := e.mem.Stat("/s/abort"); err == nil {
		t.Fatal("abort file after a clean stop")
	}
	if c, err := fs.ReadFile(e.mem, "/s/lock"); err != nil || string(c) != "lock" {
		t.Fatalf("lock file %q, %v", c, err)
	}
}

func TestDeleteTopic(t *testing.T) {
	e := newEnv(t, nil)
	e.send(msg("A", 0, "old"), msg("B", 0, "other"))
	if err := e.s.DeleteTopic("A"); err != nil {
		t.Fatal(err)
	}
	if _, _, ok := e.s.QueueRange("A", 0); ok {
		t.Fatal("still there")
	}
	if r := e.send(msg("A", 0, "new")); r[0].QueueOffset != 0 {
		t.Fatalf("%+v", r)
	}
	if got, _ := e.get(get("A", 0, 0)); fmt.Sprint(got) != "[new]" {
		t.Fatal(got)
	}
	if got := fmt.Sprint(e.s.Topics(), e.s.Queues("B")); got != "[A B] [0]" {
		t.Fatal(got)
	}
}
