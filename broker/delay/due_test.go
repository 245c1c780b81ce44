package delay

import (
	"testing"
	"time"
)

// A step back with the fake clock has no monotonic reading: no time counts as having gone by.
func TestClockSetBack(t *testing.T) {
	r := newRig(t, "10s 2h")
	r.start(nil)
	r.put(r.levels, 2, r.msg("T", 0, "a"))
	r.put(r.levels, 1, r.msg("T", 1, "b"))
	r.asleep(pending)
	r.clk.Advance(5 * time.Second)
	r.settle()
	before := r.clk.Now()
	r.clk.Set(before.Add(-3 * time.Hour))
	r.settle()
	r.clk.Advance(5*time.Second - time.Millisecond)
	r.asleep(pending)
	r.await(0)
	r.clk.Advance(time.Millisecond) // b keeps the 5 s that were left
	r.await(1)
	r.asleep(pending)
	r.put(r.levels, 1, r.msg("T", 1, "c")) // stored by the new clock
	r.asleep(pending)
	r.clk.Advance(10*time.Second - time.Millisecond)
	r.asleep(pending)
	r.await(1)
	r.clk.Advance(time.Millisecond)
	r.await(2)
	r.asleep(pending)
	r.clk.Advance(2*time.Hour - 20*time.Second - time.Millisecond)
	r.asleep(pending)
	r.await(2)
	r.clk.Advance(time.Millisecond)
	if got := r.await(3); string(got[2].m.Body) != "a" {
		t.Fatal(got)
	}
}

// A clock that goes back and is put right again must not deliver early. The fake clock cannot tell a step forward from
// time going by, so that this looks at the corrections themselves.
func TestStepForwardTakesCorrectionsBack(t *testing.T) {
	l := &level{safe: 3, oldTail: 8}
	l.shift(-30 * time.Minute)
	l.oldTail = 10
	l.shift(-10 * time.Minute)
	want := func(bys ...time.Duration) {
		t.Helper()
		if len(l.shifts) != len(bys) {
			t.Fatalf("%+v, want %v", l.shifts, bys)
		}
		for i := range bys {
			if l.shifts[i].by != bys[i] {
				t.Fatalf("%+v, want %v", l.shifts, bys)
			}
		}
	}
	want(-30*time.Minute, -10*time.Minute)
	l.shift(25 * time.Minute)
	want(-15 * time.Minute)
	l.shift(time.Hour)
	want()
	l.safe = 10
	l.shift(-time.Minute) // nothing waits: nothing to correct
	want()
}

// A store written by a clock far ahead, opened after the clock was put right: each message waits its own delay once more,
// all of them together, not one after the other.
func TestStoreFromTheFuture(t *testing.T) {
	r := newRig(t, "10s")
	now := r.clk.Now()
	r.clk.Set(now.Add(365 * 24 * time.Hour))
	for range 3 {
		r.put(r.levels, 1, r.msg("T", 0, "x"))
		r.clk.Advance(time.Second)
	}
	r.clk.Set(now)
	r.start(nil)
	r.asleep(pending)
	r.clk.Advance(10*time.Second - time.Millisecond)
	r.asleep(pending)
	r.await(0)
	r.clk.Advance(time.Millisecond)
	r.await(3)
}

func TestStepOf(t *testing.T) {
	a := time.Now() // with a monotonic reading
	if s := stepOf(a, a.Add(time.Hour)); s != 0 {
		t.Errorf("no step, got %v", s)
	}
	if s := stepOf(a.Round(0), a.Add(-time.Hour).Round(0)); s != -time.Hour {
		t.Errorf("got %v", s)
	}
}

func BenchmarkPass(b *testing.B) {
	levels, _ := ParseLevels("1s")
	f := newFakeStore()
	r := &rig{fakeStore: f, levels: levels}
	for range passMessages {
		f.put(levels, 1, r.msg("T", 0, "0123456789012345678901234567890123456789"))
	}
	f.clk.Advance(time.Minute)
	s := New(Options{Levels: levels, Source: f, Sink: f, Clock: f.clk})
	s.levels = s.makeLevels()
	s.last = f.clk.Now()
	b.ReportAllocs()
	for b.Loop() {
		l := s.levels[0]
		l.next, l.safe, l.head = 0, 0, nil
		l.tail.Store(passMessages)
		f.delivered = f.delivered[:0]
		s.runPass()
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/passMessages, "ns/msg")
}
