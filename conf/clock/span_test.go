package clock

import (
	"math"
	"testing"
	"time"
)

func TestSpan(t *testing.T) {
	for _, c := range []struct {
		n    int64
		unit time.Duration
		want time.Duration
	}{
		{0, time.Hour, 0}, {72, time.Hour, 72 * time.Hour}, {-3, time.Second, -3 * time.Second},
		{99_999_999, time.Hour, longest}, {math.MaxInt64, time.Millisecond, longest}, {math.MinInt64, time.Millisecond, -longest},
	} {
		if got := Span(c.n, c.unit); got != c.want {
			t.Errorf("%d × %v = %v, want %v", c.n, c.unit, got, c.want)
		}
	}
	if time.Now().Add(Span(math.MaxInt64, time.Nanosecond)).Before(time.Now()) {
		t.Error("the end of the longest span is in the past")
	}
}
