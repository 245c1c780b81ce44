package pop

// The heap of WaitRoom.byTime: the earliest first. Each Wait knows its place, -1 when it is in no heap.

func (r *WaitRoom) pushLocked(w *Wait) {
	w.heapAt = len(r.byTime)
	r.byTime = append(r.byTime, w)
	r.upLocked(w.heapAt)
}

func (r *WaitRoom) removeLocked(w *Wait) {
	i, last := w.heapAt, len(r.byTime)-1
	r.swapLocked(i, last)
	r.byTime[last] = nil
	r.byTime = r.byTime[:last]
	w.heapAt = -1
	if i < last {
		r.downLocked(i)
		r.upLocked(i)
	}
}

func (r *WaitRoom) swapLocked(i, j int) {
	h := r.byTime
	h[i], h[j] = h[j], h[i]
	h[i].heapAt, h[j].heapAt = i, j
}

func (r *WaitRoom) upLocked(i int) {
	for i > 0 && r.byTime[i].at < r.byTime[(i-1)/2].at {
		r.swapLocked(i, (i-1)/2)
		i = (i - 1) / 2
	}
}

func (r *WaitRoom) downLocked(i int) {
	for {
		c := 2*i + 1
		if c >= len(r.byTime) {
			return
		}
		if c+1 < len(r.byTime) && r.byTime[c+1].at < r.byTime[c].at {
			c++
		}
		if r.byTime[i].at <= r.byTime[c].at {
			return
		}
		r.swapLocked(i, c)
		i = c
	}
}
