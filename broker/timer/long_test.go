package timer

import (
	"strconv"
	"testing"
	"time"
)

// TestSixWeeks: a message for 41 days from now goes round by way of the queue, through restarts, and comes to the millisecond.
func TestSixWeeks(t *testing.T) {
	r := newRig(t)
	r.o.FlushEvery = time.Hour
	r.open()
	due := r.send("far", "TIMER_DELIVER_MS", strconv.FormatInt(r.clk.Now().Add(41*24*time.Hour).UnixMilli()+77, 10))
	for range 4 {
		r.pass(10 * 24 * time.Hour)
		r.close()
		r.open()
	}
	r.want()
	r.pass(24*time.Hour + 78*time.Millisecond)
	r.want("far")
	if at := r.got()[0].at; at != due {
		t.Errorf("it came %d ms late", at-due)
	}
	r.close()
}
