package timer

import (
	"strconv"
	"testing"
	"time"
)

// A clock that is set back makes nothing early and loses nothing: what waits keeps its time of day, what comes later its delay.
func TestClockSetBack(t *testing.T) {
	r := newRig(t)
	r.open()
	r.after("done", time.Second)
	r.after("waits", 10*time.Second)
	r.pass(5 * time.Second)
	r.want("done")
	was := r.clk.Now()
	r.clk.Set(was.Add(-time.Hour))
	r.run()
	r.after("new", 2*time.Second)
	soonDue := r.after("recalled", 3*time.Second)
	r.recall("recalled", soonDue, false)
	r.pass(time.Second)
	r.kill() // the new ones are in the wheel, in slots that were read before
	r.open()
	r.pass(time.Second - time.Millisecond)
	r.want("done")
	r.pass(time.Millisecond)
	r.want("done", "new")
	r.pass(time.Minute)
	r.want("done", "new")
	r.pass(time.Hour - time.Minute - 2*time.Second)
	r.want("done", "new")
	r.pass(5*time.Second - time.Millisecond)
	r.want("done", "new")
	r.pass(time.Millisecond)
	r.want("done", "new", "waits")
	r.close()
}

// What was loaded before the step is neither lost nor doubled when its slot comes round again.
func TestClockSetBackALittle(t *testing.T) {
	for _, back := range []time.Duration{200 * time.Millisecond, 900 * time.Millisecond, 1500 * time.Millisecond, 7 * time.Second} {
		r := newRig(t)
		r.open()
		due := map[string]int64{}
		for i := range 200 {
			id := strconv.Itoa(i)
			due[id] = r.after(id, time.Duration(i*30)*time.Millisecond+time.Millisecond)
		}
		r.pass(3 * time.Second)
		r.clk.Set(r.clk.Now().Add(-back))
		r.run()
		due["x"] = r.after("x", 500*time.Millisecond)
		r.pass(30 * time.Second)
		seen := map[string]int{}
		for _, d := range r.got() {
			if seen[string(d.m.Body)]++; d.at < due[string(d.m.Body)] {
				t.Fatalf("back %v: %s came at %d, asked for %d", back, d.m.Body, d.at, due[string(d.m.Body)])
			}
		}
		if len(seen) != len(due) || len(r.got()) != len(due) {
			t.Fatalf("back %v: %d messages, %d times, want %d", back, len(seen), len(r.got()), len(due))
		}
		r.close()
	}
}

func TestClockSetForward(t *testing.T) {
	r := newRig(t)
	r.open()
	r.after("a", time.Minute)
	r.after("b", 3*time.Hour)
	r.pass(time.Second)
	r.clk.Set(r.clk.Now().Add(2 * time.Hour))
	r.run()
	r.want("a")
	r.pass(time.Hour)
	r.want("a", "b")
	r.close()
}

// A store written by a clock ahead is opened after the clock was put right.
func TestStoreFromTheFuture(t *testing.T) {
	r := newRig(t)
	r.open()
	r.clk.Advance(3 * time.Hour)
	r.run()
	r.after("a", 10*time.Second)
	r.pass(time.Second)
	r.close()
	r.clk.Set(begin)
	r.open()
	r.after("b", 10*time.Second)
	r.pass(10*time.Second - time.Millisecond)
	r.want()
	r.pass(time.Millisecond)
	r.want("b")
	r.pass(4 * time.Hour)
	r.want("b", "a")
	r.close()
}
