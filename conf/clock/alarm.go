package clock

import "time"

// Alarm wakes a loop that chooses its next moment anew in each turn. One goroutine uses it.
type Alarm struct {
	c Clock
	t Timer
}

// NewAlarm makes an alarm that is not set. Clear it when it is no longer needed.
func NewAlarm(c Clock) *Alarm {
	a := &Alarm{c: c, t: c.NewTimer(time.Hour)}
	a.Clear()
	return a
}

// Clear forgets the moment that was set, even if it has come already.
func (a *Alarm) Clear() {
	a.t.Stop()
	select {
	case <-a.t.C():
	default:
	}
}

// Set returns a channel that receives at a moment, at once when it is over. The alarm must be clear.
func (a *Alarm) Set(at time.Time) <-chan time.Time {
	a.t.Reset(at.Sub(a.c.Now()))
	return a.t.C()
}
