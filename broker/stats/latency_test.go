package stats

import (
	"testing"
	"time"

	"github.com/seedmq/seedmq/conf/clock"
)

func TestLatencyClasses(t *testing.T) {
	last := -1
	for us := time.Duration(0); us < 100_000; us++ {
		d := us * time.Microsecond
		class := latencyClass(d)
		if class < last || class > last+1 {
			t.Fatalf("%v: class %d after %d", d, class, last)
		}
		last = class
		if bound := latencyBound(class); d >= bound || bound > d+d/4+time.Microsecond {
			t.Fatalf("%v: class %d ends at %v", d, class, bound)
		}
	}
	if latencyClass(-time.Second) != 0 || latencyClass(1<<62) != latencyClasses-1 {
		t.Error("times out of range")
	}
}

func TestPutLatency(t *testing.T) {
	s := New(Options{Clock: clock.NewFake(time.Unix(1_800_000_000, 0))})
	if s.PutLatency(0.99) != 0 {
		t.Error("a latency of nothing")
	}
	s.AddPutTime(time.Millisecond, 985)
	s.AddPutTime(100*time.Millisecond, 15)
	near := func(q float64, want time.Duration) {
		t.Helper()
		if got := s.PutLatency(q); got < want || got > want+want/4+time.Microsecond {
			t.Errorf("%v: %v, want %v", q, got, want)
		}
	}
	near(0.5, time.Millisecond)
	near(0.99, 100*time.Millisecond)
	for tick := 1; tick <= 6; tick++ {
		s.sample(s.o.Clock.Now(), tick)
	}
	s.AddPutTime(time.Hour, 5) // in the running minute
	near(0.99, 100*time.Millisecond)
	for tick := 7; tick <= 12; tick++ {
		s.sample(s.o.Clock.Now(), tick)
	}
	near(0.99, time.Hour)
}
