package pop

import (
	"errors"
	"testing"
	"time"
)

func TestFigures(t *testing.T) {
	b := newBench(t)
	b.sends(10)
	want := func(what string, f Figures) {
		t.Helper()
		if got := b.s.Figures(); got != f {
			t.Fatalf("%s:\n got %+v\nwant %+v", what, got, f)
		}
	}
	list, _, _ := b.take(Take{Topic: "T", Max: 4, Invisible: 20_000})
	more, _, _ := b.take(Take{Topic: "T", Max: 6, Invisible: 60_000})
	want("popped", Figures{Queues: 1, Held: 2, Points: 2, Waiting: 2, InFlight: 10})
	b.mustAck(more...)
	b.mustAck(list[0])
	want("acknowledged", Figures{Queues: 1, Held: 1, Points: 1, Waiting: 2, InFlight: 3})
	b.step(11 * time.Second)
	want("stored", Figures{Queues: 1, Points: 1, InFlight: 3})
	b.store.fail = errors.New("disk")
	b.step(14 * time.Second)
	if f := b.s.Figures(); f.ReviveRecords == 0 || f.ReviveLate < 4*time.Second || f.ReviveLate > 6*time.Second {
		t.Fatalf("it cannot come back: %+v", f)
	}
	b.store.fail = nil
	b.step(time.Second)
	want("back", Figures{Queues: 1})
}
