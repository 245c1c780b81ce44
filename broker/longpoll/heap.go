package longpoll

// timeHeap is a binary heap of held pulls by deadline; each knows its place, so that it can be removed from the middle.
type timeHeap []*Held

func (q *timeHeap) push(h *Held) {
	h.heapAt = len(*q)
	*q = append(*q, h)
	q.up(h.heapAt)
}

func (q *timeHeap) remove(h *Held) {
	s := *q
	i, last := h.heapAt, len(s)-1
	if i != last {
		s.swap(i, last)
	}
	s[last] = nil
	*q = s[:last]
	if i != last {
		q.down(i)
		q.up(i)
	}
	h.heapAt = -1
}

func (q timeHeap) swap(i, j int) {
	q[i], q[j] = q[j], q[i]
	q[i].heapAt, q[j].heapAt = i, j
}

func (q timeHeap) up(i int) {
	for i > 0 {
		p := (i - 1) / 2
		if q[p].deadline <= q[i].deadline {
			return
		}
		q.swap(i, p)
		i = p
	}
}

func (q timeHeap) down(i int) {
	for {
		c := 2*i + 1
		if c >= len(q) {
			return
		}
		if c+1 < len(q) && q[c+1].deadline < q[c].deadline {
			c++
		}
		if q[i].deadline <= q[c].deadline {
			return
		}
		q.swap(i, c)
		i = c
	}
}
