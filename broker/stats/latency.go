package stats

import (
	"math/bits"
	"sync"
	"sync/atomic"
	"time"
)

// latencyClasses are four to each doubling of a microsecond.
const latencyClasses = 4 * 40

// latencyTicks are a minute, in samples.
const latencyTicks = 6

// latencies counts times of the running minute, and keeps those of the minute before.
type latencies struct {
	now [latencyClasses]atomic.Int64
	mu  struct {
		sync.Mutex
		last [latencyClasses]int64
	}
}

func latencyClass(d time.Duration) int {
	us := uint64(max(d.Microseconds(), 0))
	if us < 4 {
		return int(us)
	}
	log := bits.Len64(us) - 1 // 2 and more
	return min(4*(log-1)+int(us>>(log-2)&3), latencyClasses-1)
}

// latencyBound is the time above those of a class.
func latencyBound(class int) time.Duration {
	if class < 4 {
		return time.Duration(class+1) * time.Microsecond
	}
	log := class/4 + 1
	return time.Duration((4+class%4+1)<<(log-2)) * time.Microsecond
}

func (l *latencies) add(d time.Duration, n int64) { l.now[latencyClass(d)].Add(n) }

// roll ends a minute.
func (l *latencies) roll() {
	l.mu.Lock()
	defer l.mu.Unlock()
	for i := range l.now {
		l.mu.last[i] = l.now[i].Swap(0)
	}
}

// quantile is the time that the share q of the last whole minute did not exceed; of the running one when that had none.
func (l *latencies) quantile(q float64) time.Duration {
	l.mu.Lock()
	counts := l.mu.last
	l.mu.Unlock()
	total := sum(counts[:])
	if total == 0 {
		for i := range l.now {
			counts[i] = l.now[i].Load()
		}
		total = sum(counts[:])
	}
	rest := int64(float64(total) * (1 - q))
	for i := len(counts) - 1; i >= 0; i-- {
		if rest -= counts[i]; rest < 0 {
			return latencyBound(i)
		}
	}
	return 0
}

func sum(counts []int64) (total int64) {
	for _, n := range counts {
		total += n
	}
	return total
}

// PutLatency is the time within which the share q of the messages of the last minute was stored, to a quarter of it.
func (s *Stats) PutLatency(q float64) time.Duration { return s.puts.latency.quantile(q) }
