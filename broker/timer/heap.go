package timer

// entry is a message that is known to be due soon.
type entry struct {
	exact    int64 // ms
	phys     int64
	pos      int64 // of its unit; of equal times the older comes first. Without a unit: a number after all units
	slot     int64 // tick that it belongs to
	enqueued int64 // TIMER_ENQUEUE_MS
	size     int32
	rolls    bool
	loose    bool // has no unit in the wheel: until it is delivered, only the queue knows of it
}

func (e *entry) before(o *entry) bool {
	return e.exact < o.exact || e.exact == o.exact && e.pos < o.pos
}

// heap is a binary heap of entries, the first one due at [0].
type heap []entry

func (h *heap) push(e entry) {
	*h = append(*h, e)
	a := *h
	for i := len(a) - 1; i > 0; {
		up := (i - 1) / 2
		if !a[i].before(&a[up]) {
			return
		}
		a[i], a[up] = a[up], a[i]
		i = up
	}
}

func (h *heap) pop() entry {
	a := *h
	first, n := a[0], len(a)-1
	a[0] = a[n]
	a = a[:n]
	for i := 0; ; {
		down := 2*i + 1
		if down >= n {
			break
		}
		if down+1 < n && a[down+1].before(&a[down]) {
			down++
		}
		if !a[down].before(&a[i]) {
			break
		}
		a[i], a[down] = a[down], a[i]
		i = down
	}
	if *h = a; n == 0 && cap(a) > keepHeap {
		*h = nil // a burst is over
	}
	return first
}

// keepHeap is how many entries' memory an empty heap keeps.
const keepHeap = 1 << 16
