package consumequeue

import (
	"fmt"
	"path/filepath"
	"sort"
	"strconv"
	"sync"
	"sync/atomic"
)

const (
	// batchKeep is how many of the last units stay in memory: readers at the queue's end open no file.
	batchKeep = 512
	// batchUnwritten is how many units may be only in memory before Append writes them.
	batchUnwritten = 8 * batchKeep
)

// BatchQueue is one batch queue. Units are numbered from 0 on, in the order of the files; queue offsets are in the units.
//
//	base        min          recent[0]   written      max
//	 |----------file only------|----file and recent----|
//	                                         |--recent only--|
type BatchQueue struct {
	set   *BatchSet
	topic string
	id    int32

	// Read without a lock; they change under mu.
	minOffset, maxOffset atomic.Int64 // first and next queue offset
	maxPhys              atomic.Int64 // end of the last record, noPhys if none

	ioMu sync.Mutex // held while files change; taken before mu

	mu            sync.Mutex
	base, fileEnd int64 // units in files: the first, and the one behind the last file
	min, max      int64 // first unit that the log has, and the next one
	written       int64
	synced        int64
	recent        []BatchUnit // the last ones before max
	newNames      bool        // folders have names that are not synced
	recut         bool        // cut by TruncateToPhys: the next Append knows where the queue ends
	asked         bool        // a gap has lowered RebuildFrom already
	raised        bool        // min may be behind the first unit whose record the log has
	removed       bool
}

func (s *BatchSet) newQueue(topic string, id int32) *BatchQueue {
	q := &BatchQueue{set: s, topic: topic, id: id}
	q.maxPhys.Store(noPhys)
	return q
}

// Topic is the name of the queue's topic.
func (q *BatchQueue) Topic() string { return q.topic }

// ID is the queue's number within its topic.
func (q *BatchQueue) ID() int32 { return q.id }

// Range is the first and the next queue offset; they are equal when there are no messages.
func (q *BatchQueue) Range() (first, next int64) {
	next = q.maxOffset.Load()
	return min(q.minOffset.Load(), next), next
}

// MaxPhys is the end of the last record, or -1 when the queue never had one.
func (q *BatchQueue) MaxPhys() int64 { return q.maxPhys.Load() }

func (q *BatchQueue) dir() string {
	return filepath.Join(q.set.opt.Dir, q.topic, strconv.Itoa(int(q.id)))
}

func (q *BatchQueue) fileName(start int64) string {
	return filepath.Join(q.dir(), batchFileName(start))
}

// Append adds a unit. One that the queue has already is ignored. On an error (of the disk, or ErrRemoved) it is not in.
func (q *BatchQueue) Append(u BatchUnit) error {
	if !u.Valid() {
		return fmt.Errorf("%w: batch unit %+v", ErrCorrupt, u)
	}
	q.mu.Lock()
	full := q.max-q.written >= batchUnwritten
	q.mu.Unlock()
	if full {
		if err := q.write(); err != nil {
			return err
		}
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.removed {
		return ErrRemoved
	}
	next, phys := q.maxOffset.Load(), q.maxPhys.Load()
	if u.end() <= phys {
		return nil // dispatched again
	}
	recut := q.recut
	q.recut = false
	switch {
	case phys == noPhys:
		q.minOffset.Store(u.Base)
	case u.Base < next:
		q.set.opt.Log.Limited(q.set.opt.Clock, "bcq repeat", gapLogEvery).Warnf("batch consume queue %s/%d: the record at %d has queue offset %d, which is taken (next is %d); ignored",
			q.topic, q.id, u.PhysicalOffset, u.Base, next)
		return nil
	case u.Base > next && recut && !q.asked:
		q.asked = true // it has lost units, or they lie in a hole of the log: one more reading tells
		q.set.needFrom(phys)
	}
	if q.min == q.max {
		q.minOffset.Store(u.Base) // none that the log has
	}
	q.recent = append(q.recent, u)
	q.max++
	q.maxPhys.Store(u.end())
	q.maxOffset.Store(u.Next())
	return nil
}

// Find is the number of the unit that has the message with the queue offset, or of the first behind it; the queue's end if
// there is none.
func (q *BatchQueue) Find(offset int64) (int64, error) {
	return q.search(func(u *BatchUnit) bool { return u.Next() <= offset })
}

// FindTime is the number of the first unit that was stored at ms or later; with after, later than ms.
func (q *BatchQueue) FindTime(ms int64, after bool) (int64, error) {
	return q.search(func(u *BatchUnit) bool { return u.StoreTimestamp < ms || after && u.StoreTimestamp == ms })
}

// Units is the range of unit numbers that Read gives: those of records that the log has.
func (q *BatchQueue) Units() (from, to int64) {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.min, q.max
}

// search finds the first unit between min and max for which before is false.
func (q *BatchQueue) search(before func(*BatchUnit) bool) (int64, error) {
	q.mu.Lock()
	lo, hi := q.min, q.max-int64(len(q.recent))
	if len(q.recent) > 0 && (lo >= hi || before(&q.recent[0])) {
		defer q.mu.Unlock()
		skip := max(lo-hi, 0)
		return hi + skip + int64(sort.Search(len(q.recent)-int(skip), func(i int) bool { return !before(&q.recent[i+int(skip)]) })), nil
	}
	q.mu.Unlock()
	r := batchReader{q: q}
	defer r.close()
	for lo < hi {
		mid := lo + (hi-lo)/2
		var u [1]BatchUnit
		if n, err := r.read(mid, u[:]); n == 0 {
			return 0, err
		}
		if before(&u[0]) {
			lo = mid + 1
		} else {
			hi = mid
		}
	}
	return lo, nil
}

// Read fills buf with units from number from on and returns how many: fewer than asked for at the end of the queue.
// ErrNotFound: they were removed. ErrCorrupt: they cannot be units. With an error, n units before it are good.
func (q *BatchQueue) Read(from int64, buf []BatchUnit) (n int, err error) {
	r := batchReader{q: q}
	defer r.close()
	for n < len(buf) {
		got, inFiles, err := q.readRecent(from+int64(n), buf[n:])
		if inFiles > 0 {
			got, err = r.read(from+int64(n), buf[n:min(len(buf), n+inFiles)])
		}
		n += got
		if err != nil || got == 0 {
			return n, err
		}
	}
	return n, nil
}

// readRecent reads from memory. Where it does not reach back to from it says how many units to read from files first.
func (q *BatchQueue) readRecent(from int64, buf []BatchUnit) (n, inFiles int, err error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	switch start := q.max - int64(len(q.recent)); {
	case q.removed:
		return 0, 0, ErrRemoved
	case from < q.base:
		return 0, 0, fmt.Errorf("%w: %s/%d: unit %d", ErrNotFound, q.topic, q.id, from)
	case from >= q.max:
		return 0, 0, nil
	case from < start:
		return 0, int(min(int64(len(buf)), start-from)), nil
	default:
		return copy(buf, q.recent[from-start:]), 0, nil
	}
}

// RaiseMin is Queue.RaiseMin.
func (q *BatchQueue) RaiseMin(phys int64) error {
	q.mu.Lock()
	q.raised = true
	q.mu.Unlock()
	if err := q.correctMin(phys); err != nil {
		return fmt.Errorf("batch consume queue %s/%d: %w", q.topic, q.id, err)
	}
	return nil
}

// retire makes q refuse all that follows.
func (q *BatchQueue) retire() {
	q.ioMu.Lock()
	defer q.ioMu.Unlock()
	q.mu.Lock()
	defer q.mu.Unlock()
	q.removed = true
	q.recent = nil
}

// beginsLate says that the first file is likely to be gone.
func (q *BatchQueue) beginsLate(logStart int64) bool {
	q.mu.Lock()
	base, end := q.base, q.max
	q.mu.Unlock()
	if base == 0 || base >= end {
		return false
	}
	var u [1]BatchUnit
	n, err := q.Read(base, u[:])
	return n == 1 && err == nil && u[0].PhysicalOffset > logStart
}
