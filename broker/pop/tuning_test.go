package pop

import (
	"errors"
	"testing"
	"time"

	"github.com/seedmq/seedmq/broker/offset"
)

// TestStayTime: popCkStayBufferTime counts for what is popped after a change; 0 stores at the next scan.
func TestStayTime(t *testing.T) {
	b := newBench(t)
	b.tuning.StayMs = 2000
	b.sends(4)
	one := func() {
		t.Helper()
		if list, _, _ := b.take(Take{Topic: "T", Max: 1}); len(list) != 1 {
			t.Fatal("nothing popped")
		}
	}
	want := func(d time.Duration, cks int64) {
		t.Helper()
		b.step(d)
		if f := b.s.Figures(); f.Held != cks {
			t.Fatalf("%d check points are in memory only, want %d", f.Held, cks)
		}
	}
	one()
	want(1900*time.Millisecond, 1)
	want(200*time.Millisecond, 0)
	b.tuning.StayMs = 20_000
	one()
	want(19*time.Second, 1)
	want(2*time.Second, 0)
	b.tuning.StayMs = 0
	one()
	want(100*time.Millisecond, 0)
	if at := b.committed("T", 0); at != 3 {
		t.Fatalf("committed %d", at)
	}
}

// TestInFlight: with more open messages than the threshold a group gets nothing of the queue, until acks, or their time, make them fewer.
func TestInFlight(t *testing.T) {
	b := newBench(t)
	b.tuning.InFlight = 3
	b.sends(10)
	b.store.send("T", 1, "a", "other")
	pop := func(what string, max int, status Status, want string) []got {
		t.Helper()
		list, res, _ := b.take(Take{Topic: "T", Max: max})
		if res.Status != status {
			t.Fatalf("%s: status %d, want %d", what, res.Status, status)
		}
		b.wantBodies(what, list, want)
		return list
	}
	first := pop("first", 3, Found, "0 1 2 ")
	more := pop("at the threshold", 2, Found, "3 4 ")
	_, res, _ := b.take(Take{Topic: "T", Max: 2})
	if res.Status != TooMany || res.Rest != 5 {
		t.Fatalf("above: status %d, rest %d", res.Status, res.Rest)
	}
	if b.s.Available("T", "G", 0, false, "") {
		t.Fatal("it says that there is something to be popped")
	}
	other, _, _ := b.take(Take{Topic: "T", QueueID: 1})
	b.wantBodies("another queue", other, "other ")
	if list, _, _ := b.take(Take{Topic: "T", Group: "H", Max: 1}); len(list) != 1 {
		t.Fatal("another group must wait, too")
	}
	released := b.released.Load()
	b.mustAck(first[0])
	if b.released.Load() != released {
		t.Fatal("somebody is woken too early")
	}
	b.mustAck(first[0], first[1])
	if b.released.Load() != released+1 {
		t.Fatal("nobody is woken")
	}
	more = append(more, pop("after acks", 1, Found, "5 ")...)
	longer, err := b.change(first[2].r, 5*time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	pop("a changed message counts on", 1, TooMany, "")
	b.kill()
	pop("after a kill", 1, TooMany, "")
	b.step(62 * time.Second) // what was popped comes back, the changed one does not
	if b.released.Load() < released+2 {
		t.Fatal("nobody is woken when time is over")
	}
	again := pop("after their time", 3, Found, "6 7 8 ")
	pop("again", 1, TooMany, "")
	b.tuning.InFlight = 4 // while it runs
	pop("raised", 1, Found, "9 ")
	if err := errors.Join(b.ack(longer), b.ack(again[0].r)); err != nil {
		t.Fatal(err)
	}
	if q := b.s.table.get(queueKey{"T", "G", 0}); q.open != 3 {
		t.Fatalf("%d open", q.open)
	}
	_ = more
}

// TestInFlightAndReset: a reset is followed although too much is open, and what was popped before does not count, as in Java.
func TestInFlightAndReset(t *testing.T) {
	b := newBench(t)
	b.tuning.InFlight = 1
	b.sends(4)
	b.take(Take{Topic: "T", Max: 2})
	b.step(11 * time.Second) // it is stored, so the reset leaves it
	if _, res, _ := b.take(Take{Topic: "T", Max: 1}); res.Status != TooMany {
		t.Fatalf("status %d", res.Status)
	}
	b.offsets.Reset(offset.Key{Group: "G", Topic: "T"}, 1, "test")
	if !b.s.Available("T", "G", 0, false, "") {
		t.Fatal("a pop that waits would not see the reset")
	}
	list, _, _ := b.take(Take{Topic: "T"})
	b.wantBodies("after the reset", list, "1 2 3 ")
	b.mustAck(list...)
	if q := b.s.table.get(queueKey{"T", "G", 0}); q.open != 0 {
		t.Fatalf("%d open", q.open)
	}
}

// TestOrderedIsNotCounted: what an ordered group let expire does not stop it.
func TestOrderedIsNotCounted(t *testing.T) {
	b := newBench(t)
	b.tuning.InFlight = 1
	b.sends(4)
	for range 3 {
		list, _, _ := b.take(Take{Topic: "T", Ordered: true})
		b.wantBodies("in order", list, "0 1 2 3 ")
		b.step(61 * time.Second)
	}
}
