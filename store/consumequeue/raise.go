package consumequeue

import "fmt"

// RaiseMin makes the first message at or behind log position phys the queue's first, as if the log began there for this queue. Those
// before it stay in the files, and in the log, but cannot be found any more. It never lowers the first offset, and is forgotten when the
// set is closed: the caller remembers the position. It excludes Append, as CorrectMin does.
func (q *Queue) RaiseMin(phys int64) error {
	q.mu.Lock()
	q.raised = true
	q.mu.Unlock()
	if err := q.correctMin(phys); err != nil {
		return fmt.Errorf("consume queue %s/%d: %w", q.topic.name, q.id, err)
	}
	return nil
}

// headIO is the first unit whose record the log still has: min, unless that was raised. ioMu is held.
//
// Files in front of it are removed, those between it and min are not: BeginsLate takes a queue that begins later than the log for one that
// has lost a file, and all queues would be made again after every crash.
func (q *Queue) headIO() (int64, error) {
	q.mu.Lock()
	raised, first, from, to := q.raised, q.min.Load(), q.base, q.written
	q.mu.Unlock()
	to = min(to, first)
	if !raised || from >= to {
		return first, nil
	}
	start := q.set.minPhys.Load()
	return q.search(from, to, func(u Unit) bool { return u.Blank() || u.PhysicalOffset < start })
}
