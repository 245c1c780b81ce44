package delay

import (
	"errors"
	"testing"
	"time"
)

func TestRecall(t *testing.T) {
	r := newRig(t, "10s")
	r.start(nil)
	for _, body := range []string{"a", "b", "c"} {
		r.put(r.levels, 1, r.msg("T", 0, body))
	}
	r.asleep(pending)
	if err := r.s.Recall(1, 1); err != nil {
		t.Fatal(err)
	}
	r.start(nil) // a kill does not bring it back
	r.asleep(pending)
	r.clk.Advance(10 * time.Second)
	got := r.await(2)
	r.asleep(idle)
	if string(got[0].m.Body) != "a" || string(got[1].m.Body) != "c" {
		t.Fatal(got)
	}
	if err := r.s.Recall(1, 2); !errors.Is(err, ErrTooLate) {
		t.Fatal(err)
	}
	r.put(r.levels, 1, r.msg("T", 0, "d"))
	r.asleep(pending)
	if err := r.s.Recall(1, 3); err != nil {
		t.Fatal(err)
	}
	if f := r.s.recallFile(); len(f.Recalled[1]) != 2 {
		t.Fatal("delayOffset.json does not know yet that b is over, the recall is forgotten", f)
	}
	r.start(nil) // the kill takes the level back to its beginning
	r.asleep(pending)
	r.await(4) // a and c again
	if err := r.s.persist(true); err != nil {
		t.Fatal(err)
	}
	if f := r.s.recallFile(); len(f.Recalled[1]) != 1 || f.Recalled[1][0] != 3 {
		t.Fatal("the file keeps what is over", f)
	}
	r.clk.Advance(time.Minute)
	r.asleep(idle)
	r.await(4)
}
