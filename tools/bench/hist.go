package bench

import (
	"math/bits"
	"sync/atomic"
	"time"
)

// Each power of two of nanoseconds has subBuckets counters, which makes a value exact to 1/subBuckets.
const (
	subBits    = 6
	subBuckets = 1 << subBits
	bucketSize = (64 - subBits) * subBuckets
)

// histogram counts durations. One goroutine may record while others read.
type histogram struct {
	counts [bucketSize]atomic.Int64
	max    atomic.Int64
}

func bucketOf(ns int64) int {
	if ns < subBuckets {
		return int(max(ns, 0))
	}
	exp := bits.Len64(uint64(ns)) - subBits - 1 // ns>>exp is in subBuckets..2*subBuckets-1
	return exp*subBuckets + int(ns>>exp)
}

// valueOf is the middle of what a bucket holds.
func valueOf(bucket int) int64 {
	if bucket < 2*subBuckets {
		return int64(bucket)
	}
	exp := bucket/subBuckets - 1
	low := int64(bucket%subBuckets+subBuckets) << exp
	return low + int64(1)<<exp/2
}

func (h *histogram) record(d time.Duration) {
	ns := int64(d)
	h.counts[bucketOf(ns)].Add(1)
	for {
		m := h.max.Load()
		if ns <= m || h.max.CompareAndSwap(m, ns) {
			return
		}
	}
}

// counts are the contents of histograms at a moment.
type counts struct {
	n   [bucketSize]int64
	sum int64
	max int64
}

func (c *counts) add(h *histogram) {
	for i := range h.counts {
		n := h.counts[i].Load()
		c.n[i] += n
		c.sum += n
	}
	c.max = max(c.max, h.max.Load())
}

// since is what was recorded after before was taken. Its max is that of all.
func (c *counts) since(before *counts) *counts {
	d := &counts{sum: c.sum - before.sum, max: c.max}
	for i := range c.n {
		d.n[i] = c.n[i] - before.n[i]
	}
	return d
}

// quantile is the smallest recorded duration that at least the share q of all does not exceed.
func (c *counts) quantile(q float64) time.Duration {
	if c.sum == 0 {
		return 0
	}
	want := int64(q*float64(c.sum) + 0.5)
	want = min(max(want, 1), c.sum)
	for i, n := range c.n {
		if want -= n; want <= 0 {
			return time.Duration(min(valueOf(i), c.max))
		}
	}
	return time.Duration(c.max)
}
