package store_test

import (
	"testing"
	"time"
)

// TestSkipOlder: the first message that is young enough, told at once where that needs no search.
func TestSkipOlder(t *testing.T) {
	e := newEnv(t, nil)
	for range 5 {
		e.send(msg("A", 0, "x"))
		e.clock.Advance(time.Second)
	}
	ms := func(n int64) int64 { return now.UnixMilli() + n*1000 }
	for _, x := range []struct {
		offset, ms, next int64
		hot, cold        bool
	}{
		{0, ms(0), 0, true, false},
		{2, ms(2), 2, true, false},
		{0, ms(2), 0, true, true},
		{0, ms(2), 2, false, false},
		{3, ms(2), 3, false, false},
		{1, ms(9), 5, false, false},
		{5, ms(9), 5, true, false},
		{9, ms(9), 9, false, false},
		{-1, ms(9), -1, false, false},
	} {
		if next, cold := e.s.SkipOlder("A", 0, x.offset, x.ms, x.hot); next != x.next || cold != x.cold {
			t.Errorf("%+v: %d, %v", x, next, cold)
		}
	}
	if next, cold := e.s.SkipOlder("None", 0, 3, ms(9), false); next != 3 || cold {
		t.Errorf("a queue that is not there: %d, %v", next, cold)
	}
}
