package clock

import "time"

// longest is what a span is at most: nobody waits longer, and time.Now plus as much is still a time.
const longest = 100 * 365 * 24 * time.Hour

// Span is n units of time, at most a hundred years either way. Numbers from configurations and peers may be larger than a
// time.Duration can hold ("keep files for ever"), and must not turn negative.
func Span[N int | int32 | int64](n N, unit time.Duration) time.Duration {
	return time.Duration(min(max(int64(n), -int64(longest/unit)), int64(longest/unit))) * unit
}
