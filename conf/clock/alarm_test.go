package clock

import (
	"testing"
	"time"
)

func TestAlarm(t *testing.T) {
	start := time.UnixMilli(1_700_000_000_000)
	c := NewFake(start)
	rings := func(ch <-chan time.Time) bool {
		select {
		case <-ch:
			return true
		default:
			return false
		}
	}
	a := NewAlarm(c)
	c.Advance(2 * time.Hour)
	if rings(a.t.C()) || c.Timers() != 0 {
		t.Fatal("an alarm that is not set rings")
	}
	ch := a.Set(c.Now().Add(time.Second))
	if c.Advance(999 * time.Millisecond); rings(ch) {
		t.Fatal("early")
	}
	if c.Advance(time.Millisecond); !rings(ch) {
		t.Fatal("not in time")
	}
	if ch = a.Set(start); !rings(ch) {
		t.Fatal("a moment that is over")
	}
	a.Set(start)
	a.Clear() // it rang, and nobody heard it
	ch = a.Set(c.Now().Add(time.Second))
	if rings(ch) {
		t.Fatal("rings for a moment that was cleared")
	}
	if a.Clear(); c.Timers() != 0 {
		t.Fatal("a cleared alarm has a timer")
	}
}
