package pop

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/seedmq/seedmq/broker/filter"
	"github.com/seedmq/seedmq/broker/offset"
	"github.com/seedmq/seedmq/remoting/protocol"
	"github.com/seedmq/seedmq/store"
)

const retryTopic = "%RETRY%G_T"

func (b *bench) wantBodies(what string, list []got, want string) {
	b.t.Helper()
	if s := bodies(list); s != want {
		b.t.Fatalf("%s: got %q, want %q", what, s, want)
	}
}

func (b *bench) sends(n int) {
	for i := range n {
		b.store.send("T", 0, "a", fmt.Sprint(i))
	}
}

func TestWhatIsAcknowledgedInTimeIsNeverStored(t *testing.T) {
	b := newBench(t)
	b.sends(5)
	list := b.pop(time.Minute, 1)
	b.wantBodies("pop", list, "0 1 2 3 4 ")
	b.step(5 * time.Second)
	b.mustAck(list[:3]...)
	if at := b.committed("T", 0); at != 0 {
		t.Fatalf("committed %d with open messages before it", at)
	}
	b.mustAck(list[3:]...)
	if at := b.committed("T", 0); at != 5 {
		t.Fatalf("committed %d", at)
	}
	b.step(2 * time.Minute)
	if n := b.records(); len(n) > 0 || b.s.Figures() != (Figures{}) {
		t.Fatalf("records %v, %+v", n, b.s.Figures())
	}
}

func TestCheckpointsAreStoredAfterAWhile(t *testing.T) {
	b := newBench(t)
	b.sends(5)
	list := b.pop(time.Minute, 1)
	b.mustAck(list[1], list[2])
	b.step(stayMs*time.Millisecond + 200*time.Millisecond)
	if n := b.records(); n[tagCheckpoint] != 1 || n[tagBatchAck] != 1 || len(n) != 2 {
		t.Fatalf("records %v", n)
	}
	if at := b.committed("T", 0); at != 5 || b.s.Figures().Held != 0 {
		t.Fatalf("committed %d, %+v", at, b.s.Figures())
	}
	b.mustAck(list[0])
	b.step(time.Second)
	if n := b.records(); n[tagAck] != 1 {
		t.Fatalf("records %v", n)
	}
	b.step(51 * time.Second) // 62.2 s: what is open came back, after 60 s
	b.wantBodies("retry", b.pop(time.Minute, 1), "3 4 ")
}

func TestComesBackAfterItsTime(t *testing.T) {
	for _, invisible := range []time.Duration{time.Second, 5 * time.Second, 30 * time.Second, 10 * time.Minute} {
		b := newBench(t)
		b.sends(2)
		list := b.pop(invisible, 1)
		b.step(invisible)
		b.wantBodies("too early", b.pop(time.Minute, 1), "")
		b.step(2500 * time.Millisecond)
		again := b.pop(time.Minute, 1)
		b.wantBodies("after "+invisible.String(), again, "0 1 ")
		m := &again[0]
		if group, _ := m.Property(protocol.PropertyOriginGroup); group != "G" {
			t.Fatalf("%s", m.Properties)
		}
		if first, _ := m.Property(protocol.PropertyFirstPopTime); m.Topic != retryTopic || m.ReconsumeTimes != 1 || first != fmt.Sprint(list[0].r.Handle.PopTime) {
			t.Fatalf("%+v", m)
		}
		if err := b.ack(list[0].r); err != nil {
			t.Fatalf("an ack that comes too late: %v", err)
		}
		b.mustAck(again...)
		b.step(3 * time.Minute)
		b.wantBodies("acknowledged", b.pop(time.Minute, 1), "")
		if at := b.committed(retryTopic, 0); at != 2 {
			t.Fatalf("retry topic committed at %d", at)
		}
	}
}

func TestDeadLetters(t *testing.T) {
	b := newBench(t)
	b.maxTimes = 2
	b.sends(1)
	for range 3 {
		if list := b.pop(5*time.Second, 1); len(list) != 1 {
			t.Fatalf("%d messages", len(list))
		}
		b.step(8 * time.Second)
	}
	b.wantBodies("after the last", b.pop(time.Minute, 1), "")
	if _, end, _ := b.store.QueueRange("%DLQ%G", 0); end != 1 {
		t.Fatalf("%d dead letters", end)
	}
}

func TestChangeInvisibleTime(t *testing.T) {
	b := newBench(t)
	b.sends(3)
	list := b.pop(10*time.Second, 1)
	b.step(time.Second)
	longer, err := b.change(list[0].r, 40*time.Second)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := b.change(list[1].r, 0); err != nil { // give it back
		t.Fatal(err)
	}
	b.step(1500 * time.Millisecond)
	now := b.pop(time.Minute, 1)
	b.wantBodies("given back", now, "1 ")
	b.mustAck(now...)
	b.step(12 * time.Second)
	b.wantBodies("not changed", b.pop(time.Minute, 1), "2 ")
	if err := b.ack(list[0].r); err != nil { // its handle is used up
		t.Fatal(err)
	}
	b.kill()
	if err := b.ack(longer); err != nil {
		t.Fatal(err)
	}
	b.step(50 * time.Second)
	b.wantBodies("acknowledged with its new handle", b.pop(time.Minute, 1), "2 "[:0])
}

func TestChangeInTheMillisecondOfThePop(t *testing.T) {
	b := newBench(t)
	b.sends(1)
	list := b.pop(10*time.Second, 1)
	r, err := b.change(list[0].r, 5*time.Second)
	if err != nil || r.Handle.PopTime <= list[0].r.Handle.PopTime {
		t.Fatalf("%+v %v", r, err)
	}
	b.step(9 * time.Second)
	b.wantBodies("changed", b.pop(time.Minute, 1), "0 ")
}

func TestAlteredHandles(t *testing.T) {
	b := newBench(t)
	b.sends(40)
	list, _, _ := b.take(Take{Topic: "T", Max: 10})
	b.take(Take{Topic: "T", Max: 10})
	for name, alter := range map[string]func(*Receipt){
		"broker":       func(r *Receipt) { r.Handle.Broker = "x" },
		"queue":        func(r *Receipt) { r.Handle.QueueID = 1 },
		"offset":       func(r *Receipt) { r.Handle.Offset++ },
		"both offsets": func(r *Receipt) { r.Offset, r.Handle.Offset = 15, 15 },
		"not popped":   func(r *Receipt) { r.Offset, r.Handle.Offset = 39, 39 },
		"start":        func(r *Receipt) { r.Handle.StartOffset++ },
		"pop time":     func(r *Receipt) { r.Handle.PopTime++ },
		"far pop time": func(r *Receipt) { r.Handle.PopTime = maxTime },
		"invisible":    func(r *Receipt) { r.Handle.Invisible++ },
		"revive queue": func(r *Receipt) { r.Handle.ReviveQueue = 1 },
		"revive high":  func(r *Receipt) { r.Handle.ReviveQueue = 7 },
		"mark":         func(r *Receipt) { r.Handle.Mark = RetryV1 },
		"group":        func(r *Receipt) { r.Group = "other" },
		"ordered":      func(r *Receipt) { r.Handle.ReviveQueue = OrderQueue },
	} {
		r := list[3].r
		alter(&r)
		if err := b.ack(r); err == nil {
			t.Errorf("%s: acknowledged", name)
		}
		if _, err := b.change(r, time.Minute); err == nil {
			t.Errorf("%s: changed", name)
		}
	}
	if n := b.records(); len(n) > 0 {
		t.Fatalf("stored: %v", n)
	}
	b.mustAck(list...)
	b.mustAck(list...) // twice
}

// TestHandlesOfAnotherBroker: those that a broker made before a clean stop, or a Java broker, are not in memory.
func TestHandlesFromBeforeAStop(t *testing.T) {
	b := newBench(t)
	b.sends(4)
	list := b.pop(time.Minute, 1)
	b.mustAck(list[0])
	b.stop()
	if files, err := b.disk.List(JournalDir("/s")); err != nil || len(files) > 0 {
		t.Fatalf("a journal stays: %v %v", files, err)
	}
	b.step(time.Second)
	b.open()
	b.mustAck(list[1])
	longer, err := b.change(list[2].r, 2*time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	b.step(65 * time.Second)
	b.wantBodies("only what is open", b.pop(10*time.Minute, 1), "3 ")
	if err := b.ack(longer); err != nil {
		t.Fatal(err)
	}
	b.step(2 * time.Minute)
	b.wantBodies("nothing", b.pop(time.Minute, 1), "")
}

func TestKill(t *testing.T) {
	b := newBench(t)
	b.sends(10)
	one, _, _ := b.take(Take{Topic: "T", Max: 4})
	b.mustAck(one[0], one[2])
	b.kill()
	two, _, _ := b.take(Take{Topic: "T", Max: 4})
	b.wantBodies("goes on", two, "4 5 6 7 ")
	b.mustAck(one[1])
	b.mustAck(two...)
	b.kill()
	if at := b.committed("T", 0); at != 0 && at != -1 {
		t.Fatalf("committed %d", at)
	}
	b.step(11 * time.Second)
	b.kill()
	if at := b.committed("T", 0); at != 8 {
		t.Fatalf("committed %d", at)
	}
	b.step(52 * time.Second)
	b.kill()
	b.step(3 * time.Second)
	all := b.pop(time.Minute, 1)
	b.wantBodies("the rest, and what is open", all, "8 9 3 ")
	b.kill()
	b.mustAck(all...)
	b.kill()
	b.step(2 * time.Minute)
	b.wantBodies("nothing", b.pop(time.Minute, 1), "")
}

// A broker that is killed in the middle of its stop, when the journal is deleted, has the offsets on disk that belong to what was stored.
func TestKillInTheStop(t *testing.T) {
	b := newBench(t)
	b.sends(4)
	all, _, _ := b.take(Take{Topic: "T", Max: 4})
	b.mustAck(all[0], all[1])
	if err := b.s.Close(); err != nil {
		t.Fatal(err)
	}
	b.open() // without saving the offsets
	more, _, _ := b.take(Take{Topic: "T", Max: 4})
	b.wantBodies("what was popped", more, "")
	b.step(70 * time.Second)
	b.wantBodies("what was not acknowledged", b.pop(time.Minute, 1), "2 3 ")
}

// What is acknowledged while its check point is being stored does not come back, whether the broker is killed right then or is not told
// whether the record is safe.
func TestKillWhileStoring(t *testing.T) {
	for _, killed := range []bool{true, false} {
		b := newBench(t)
		b.sends(2)
		all, _, _ := b.take(Take{Topic: "T", Max: 2})
		safe := b.s.o.AwaitSafe
		b.s.o.AwaitSafe = func(_ int64, done func(error)) {
			b.s.o.AwaitSafe = safe
			b.mustAck(all...)
			if killed {
				panic(errors.New("killed"))
			}
			done(errors.New("nobody knows"))
		}
		func() {
			defer func() {
				if recover() != nil {
					b.disk = b.disk.Reboot()
					b.open()
				} else if killed {
					t.Error("the check point was not stored")
				}
			}()
			b.step(50 * time.Second)
		}()
		b.step(2 * time.Minute)
		b.wantBodies("nothing", b.pop(time.Minute, 1), "")
		if f := b.s.Figures(); f != (Figures{}) {
			t.Errorf("left: %+v", f)
		}
	}
}

func TestFilterAndSkippedMessages(t *testing.T) {
	b := newBench(t)
	for i := range 6 {
		b.store.send("T", 0, []string{"a", "b"}[i%2], fmt.Sprint(i))
	}
	f, err := filter.Compile("b", "TAG")
	if err != nil {
		t.Fatal(err)
	}
	list, _, lists := b.take(Take{Topic: "T", Filter: f})
	b.wantBodies("b", list, "1 3 5 ")
	if string(lists.Start) != "0 0 0" || string(lists.Offsets) != "0 0 1,3,5" {
		t.Fatalf("%s, %s", lists.Start, lists.Offsets)
	}
	b.store.send("T", 0, "a", "6")
	if _, res, _ := b.take(Take{Topic: "T", Filter: f}); res.Status != Empty || res.Rest != 0 {
		t.Fatalf("%+v", res)
	}
	if at := b.committed("T", 0); at != 0 {
		t.Fatalf("committed %d before what is open", at)
	}
	b.kill()
	b.mustAck(list...)
	if at := b.committed("T", 0); at < 6 {
		t.Fatalf("committed %d", at)
	}
	if b.s.Available("T", "G", 0, false, "") {
		t.Fatal("something is left after the kill")
	}
}

// TestTwoReaders: while one reads, another gets nothing and is told when it may.
func TestTwoReaders(t *testing.T) {
	b := newBench(t)
	b.sends(2)
	q := b.s.queueFor("T", "G", 0)
	turn := b.s.Begin()
	if _, _, res := turn.begin(q, &Take{Topic: "T", Group: "G"}); res.Status != Found {
		t.Fatalf("%+v", res)
	}
	if _, res, _ := b.take(Take{Topic: "T"}); res.Status != Busy {
		t.Fatalf("%+v", res)
	}
	if b.s.Available("T", "G", 0, false, "") {
		t.Fatal("available while somebody reads")
	}
	q.mu.Lock()
	b.s.endReading(q)
	if b.released != 1 {
		t.Fatalf("told %d times", b.released)
	}
	list, _, _ := b.take(Take{Topic: "T"})
	b.wantBodies("after", list, "0 1 ")
}

func TestInitialOffset(t *testing.T) {
	b := newBench(t)
	b.sends(4)
	young, _, _ := b.take(Take{Topic: "T", Group: "young", Init: InitMax})
	b.wantBodies("a queue in memory", young, "0 1 2 3 ")
	b.store.cold[queueName{"T", 0}] = true
	last, _, _ := b.take(Take{Topic: "T", Group: "old", Init: InitMax})
	b.wantBodies("the last one", last, "3 ")
	if _, res, _ := b.take(Take{Topic: "T", Group: "hot", HotOnly: true}); res.Status != Cold {
		t.Fatalf("%+v", res)
	}
	b.store.lowest[queueName{"T", 0}] = 2
	first, _, _ := b.take(Take{Topic: "T", Group: "min"})
	b.wantBodies("from the beginning", first, "2 3 ")
}

func TestWrongOffsets(t *testing.T) {
	b := newBench(t)
	b.sends(6)
	k := offset.Key{Group: "G", Topic: "T"}
	b.offsets.Commit(k, 0, offset.Origin{})
	b.store.lowest[queueName{"T", 0}] = 4
	list := b.pop(time.Minute, 1)
	b.wantBodies("the oldest are gone", list, "4 5 ")
	b.offsets.Commit(k, 1000, offset.Origin{Explicit: true})
	b.wantBodies("beyond the end", b.pop(time.Minute, 1), "")
	b.store.send("T", 0, "a", "6")
	b.wantBodies("and on", b.pop(time.Minute, 1), "6 ")
}

func TestReset(t *testing.T) {
	b := newBench(t)
	b.sends(6)
	list := b.pop(time.Minute, 1)
	b.offsets.Reset(offset.Key{Group: "G", Topic: "T"}, 2, "test")
	again := b.pop(time.Minute, 1)
	b.wantBodies("after the reset", again, "2 3 4 5 ")
	b.kill()
	b.mustAck(again...)
	if err := b.ack(list[0].r); err != nil {
		t.Fatalf("an ack from before the reset: %v", err)
	}
	b.step(2 * time.Minute)
	b.wantBodies("nothing", b.pop(time.Minute, 1), "")
	if at := b.committed("T", 0); at != 6 {
		t.Fatalf("committed %d", at)
	}
}

func TestDeletedTopic(t *testing.T) {
	b := newBench(t)
	b.sends(6)
	b.pop(time.Minute, 1)
	b.offsets.RemoveTopic("T")
	delete(b.store.queues, queueName{"T", 0})
	b.store.send("T", 0, "a", "new")
	b.wantBodies("of the new topic", b.pop(time.Minute, 1), "new ")
	b.kill()
	b.step(11 * time.Second)
	if n := b.records(); n[tagCheckpoint] != 1 {
		t.Fatalf("records %v", n)
	}
	b.s.Forget("T", "")
	if b.s.Figures() != (Figures{}) {
		t.Fatalf("%+v", b.s.Figures())
	}
}

// TestStoreRefuses: check points stay in memory until the store takes records again.
func TestStoreRefuses(t *testing.T) {
	b := newBench(t)
	b.sends(3)
	list := b.pop(20*time.Second, 1)
	b.store.fail = errors.New("disk full")
	b.step(30 * time.Second)
	if at := b.committed("T", 0); at != 0 || b.s.Figures().Held != 1 {
		t.Fatalf("committed %d, %+v", at, b.s.Figures())
	}
	b.mustAck(list[0])
	if _, err := b.change(list[1].r, time.Minute); err == nil {
		t.Fatal("changed without a record")
	}
	b.store.fail = nil
	b.step(3 * time.Second)
	b.wantBodies("open ones", b.pop(time.Minute, 1), "1 2 ")
}

// TestTimerBehind: while the timer is late, acks may be in it.
func TestTimerBehind(t *testing.T) {
	b := newBench(t)
	b.sends(1)
	b.pop(5*time.Second, 1)
	b.store.late = time.Hour
	b.step(time.Minute)
	b.wantBodies("waits", b.pop(time.Minute, 1), "")
	b.store.late = 0
	b.step(time.Second)
	b.wantBodies("came back", b.pop(time.Minute, 1), "0 ")
}

func TestManyCheckpointsAreStoredEarly(t *testing.T) {
	b := newBench(t)
	b.sends(3)
	b.s.held.Store(bufferSize)
	b.pop(10*time.Minute, 1)
	b.s.Scan()
	if n := b.records(); n[tagCheckpoint] != 1 {
		t.Fatalf("records %v", n)
	}
}

func TestJournalRolls(t *testing.T) {
	b := newBench(t)
	b.sends(8)
	list, _, _ := b.take(Take{Topic: "T", Max: 4})
	b.mustAck(list[1])
	stored, _, _ := b.take(Take{Topic: "T", Max: 2, Invisible: 2500})
	b.step(500 * time.Millisecond)
	ordered, _, _ := b.take(Take{Topic: "T", Group: "O", Ordered: true, Max: 2})
	if err := b.s.rotate(b.s.journal.no + 1); err != nil {
		t.Fatal(err)
	}
	if files, err := b.s.journal.files(); err != nil || len(files) != 1 {
		t.Fatalf("files %v %v", files, err)
	}
	b.kill()
	if f := b.s.Figures(); f.Points != 2 || f.Held != 1 {
		t.Fatalf("%+v", f)
	}
	b.mustAck(list[0], list[2], list[3], stored[1], ordered[0])
	more, _, _ := b.take(Take{Topic: "T"})
	b.wantBodies("goes on", more, "6 7 ")
	if _, res, _ := b.take(Take{Topic: "T", Group: "O", Ordered: true}); res.Status != Blocked {
		t.Fatalf("ordered: %+v", res)
	}
	b.step(10 * time.Second)
	b.wantBodies("open", b.pop(time.Minute, 1), "4 ")
}

// TestPowerFailure: the journal may be ahead of the log.
func TestPowerFailure(t *testing.T) {
	b := newBench(t)
	b.sends(6)
	b.take(Take{Topic: "T", Max: 2})
	two, _, _ := b.take(Take{Topic: "T", Max: 4})
	b.mustAck(two...)
	k := queueName{"T", 0}
	b.store.queues[k] = b.store.queues[k][:3]
	b.kill()
	b.store.send("T", 0, "a", "new 3")
	b.store.send("T", 0, "a", "new 4")
	b.wantBodies("new ones in the place of old ones", b.pop(time.Minute, 1), "new 3 new 4 ")
}

func TestGetStatusSkips(t *testing.T) {
	for s := store.GetFound; s <= store.GetCold; s++ {
		want := slices.Contains([]store.GetStatus{store.GetNoMatched, store.GetOffsetFoundNull, store.GetWasRemoving}, s)
		if skips(s) != want {
			t.Errorf("status %d: %v", s, !want)
		}
	}
}

// TestTurnsEndInAnyOrder: what one turn writes to the journal may come after what another did later.
func TestTurnsEndInAnyOrder(t *testing.T) {
	b := newBench(t)
	b.sends(4)
	q := b.s.queueFor("T", "G", 0)
	slow := b.s.Begin()
	slow.begin(q, &Take{Topic: "T", Group: "G"}) // notes where the group stands
	q.mu.Lock()
	b.s.endReading(q)
	list, _, _ := b.take(Take{Topic: "T"})
	b.mustAck(list...)
	slow.End(func(error) {})
	b.kill()
	b.wantBodies("popped already", b.pop(time.Minute, 1), "")

	late := b.s.Begin()
	var lists Lists
	b.sends(1)
	late.Take(&Take{Topic: "T", Group: "G", Max: 1, MaxBytes: 1 << 20, Invisible: 60_000, PopTime: b.clk.Now().UnixMilli()}, nil, &lists)
	b.offsets.Reset(offset.Key{Group: "G", Topic: "T"}, 2, "test")
	again, _, _ := b.take(Take{Topic: "T", Max: 1})
	b.wantBodies("after the reset", again, "2 ")
	late.End(func(error) {})
	b.kill()
	again, _, _ = b.take(Take{Topic: "T", Max: 1})
	b.wantBodies("after the reset and a kill", again, "3 ")
}

// TestRecordTwice: the timer may bring a check point twice after a kill.
func TestRecordTwice(t *testing.T) {
	b := newBench(t)
	b.sends(2)
	b.pop(5*time.Second, 1)
	b.step(4500 * time.Millisecond)
	k := queueName{testRevive, 0}
	again := slices.Clone(b.store.queues[k])
	if len(again) != 1 {
		t.Fatalf("%d records", len(again))
	}
	b.step(3 * time.Second)
	b.wantBodies("back", b.pop(time.Minute, 1), "0 1 ")
	protocol.PatchRecord(again[0], 1, 0, 0)
	b.store.queues[k] = append(b.store.queues[k], again...)
	b.step(3 * time.Second)
	b.wantBodies("twice", b.pop(time.Minute, 1), "")
}

// TestNoJournalUntilSomebodyPops: a broker without pop has no files of it.
func TestNoJournalUntilSomebodyPops(t *testing.T) {
	b := newBench(t)
	b.step(time.Minute)
	b.stop()
	b.open()
	if files, err := b.disk.List(JournalDir("/s")); err == nil {
		t.Fatalf("%v", files)
	}
	b.sends(1)
	b.pop(time.Minute, 1)
	if files, err := b.disk.List(JournalDir("/s")); err != nil || len(files) != 1 {
		t.Fatalf("%v %v", files, err)
	}
}
