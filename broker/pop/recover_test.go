package pop

import (
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/seedmq/seedmq/broker/offset"
	"github.com/seedmq/seedmq/remoting/protocol"
)

// TestHandlesFromBeforeAStop: those that a broker made before a clean stop, or a Java broker, are not in memory.
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
	if b.s.Figures().open() {
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

// TestTurnsEndInAnyOrder: what one turn writes to the journal may come after what another did later.
func TestTurnsEndInAnyOrder(t *testing.T) {
	b := newBench(t)
	b.sends(4)
	q := b.s.lockFor("T", "G", 0)
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
