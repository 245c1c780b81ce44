// Package clock is the only place that reads the time. Components take a Clock, so that tests drive it.
package clock

import (
	"sync"
	"time"
)

// Clock tells the time and makes timers. Implementations are safe for concurrent use.
type Clock interface {
	Now() time.Time
	// NewTimer fires once after d. Stop it when it is no longer needed.
	NewTimer(d time.Duration) Timer
}

// Timer is a one-shot timer.
type Timer interface {
	C() <-chan time.Time
	Stop() bool
	Reset(d time.Duration) bool
}

// Millis is the time in milliseconds since 1970, as the protocol and the store count it.
func Millis(c Clock) int64 { return c.Now().UnixMilli() }

// Real is the system clock.
type Real struct{}

// Now is time.Now.
func (Real) Now() time.Time { return time.Now() }

// NewTimer is time.NewTimer.
func (Real) NewTimer(d time.Duration) Timer { return realTimer{time.NewTimer(d)} }

type realTimer struct{ t *time.Timer }

func (t realTimer) C() <-chan time.Time        { return t.t.C }
func (t realTimer) Stop() bool                 { return t.t.Stop() }
func (t realTimer) Reset(d time.Duration) bool { return t.t.Reset(d) }

// Fake is a clock that moves only when told to.
type Fake struct {
	mu     sync.Mutex
	now    time.Time
	timers map[*fakeTimer]struct{}
}

// NewFake returns a fake clock that stands at now.
func NewFake(now time.Time) *Fake {
	return &Fake{now: now, timers: map[*fakeTimer]struct{}{}}
}

// Now is the time set last.
func (f *Fake) Now() time.Time {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.now
}

// Timers is the number of timers that wait: a test that wants a goroutine to be asleep waits for it.
func (f *Fake) Timers() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return len(f.timers)
}

// Advance moves the clock and fires what is due, earliest first.
func (f *Fake) Advance(d time.Duration) { f.Set(f.Now().Add(d)) }

// Set moves the clock to now, backwards too, and fires what is due.
func (f *Fake) Set(now time.Time) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.now = now
	for {
		var next *fakeTimer
		for t := range f.timers {
			if !t.at.After(now) && (next == nil || t.at.Before(next.at)) {
				next = t
			}
		}
		if next == nil {
			return
		}
		delete(f.timers, next)
		select {
		case next.c <- next.at:
		default:
		}
	}
}

// NewTimer returns a timer that Advance and Set fire.
func (f *Fake) NewTimer(d time.Duration) Timer {
	t := &fakeTimer{f: f, c: make(chan time.Time, 1)}
	t.Reset(d)
	return t
}

type fakeTimer struct {
	f  *Fake
	at time.Time
	c  chan time.Time
}

func (t *fakeTimer) C() <-chan time.Time { return t.c }

func (t *fakeTimer) Stop() bool {
	t.f.mu.Lock()
	defer t.f.mu.Unlock()
	_, on := t.f.timers[t]
	delete(t.f.timers, t)
	return on
}

func (t *fakeTimer) Reset(d time.Duration) bool {
	t.f.mu.Lock()
	defer t.f.mu.Unlock()
	_, on := t.f.timers[t]
	t.at = t.f.now.Add(d)
	if d <= 0 {
		delete(t.f.timers, t)
		select {
		case t.c <- t.f.now:
		default:
		}
		return on
	}
	t.f.timers[t] = struct{}{}
	return on
}
