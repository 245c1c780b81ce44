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
	if n := b.records(); len(n) > 0 || b.s.Figures().open() {
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
		if f := b.s.Figures(); f.open() {
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
	q := b.s.lockFor("T", "G", 0)
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
	if b.released.Load() != 1 {
		t.Fatalf("told %d times", b.released.Load())
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

func TestGetStatusSkips(t *testing.T) {
	for s := store.GetFound; s <= store.GetCold; s++ {
		want := slices.Contains([]store.GetStatus{store.GetNoMatched, store.GetOffsetFoundNull, store.GetWasRemoving}, s)
		if skips(s) != want {
			t.Errorf("status %d: %v", s, !want)
		}
	}
}
