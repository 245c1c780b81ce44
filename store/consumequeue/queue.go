package consumequeue

import (
	"path/filepath"
	"strconv"
	"sync"
	"sync/atomic"
	"time"
)

const (
	noPhys  = -1 // MaxPhys of a queue without messages
	noBlank = -1
)

// Queue is one consume queue. Of its 150 bytes and its ring, only the former stay when it is idle.
//
//	base        min          ringFrom   written       max
//	 |--blank----|----file only----|---file and ring---|
//	                                          |-ring only-|   (new, until written)
type Queue struct {
	set   *Set
	topic *topicQueues
	id    int32

	// Read without a lock; max, maxPhys and min change under mu.
	min, max atomic.Int64 // first and next queue offset
	maxPhys  atomic.Int64 // end of the last message's record, noPhys if none
	next     atomic.Int64 // the commit log's counter

	ioMu sync.Mutex // held while files change; taken before mu

	mu       sync.Mutex
	base     int64 // first unit of the first file, existing or to be made
	fileEnd  int64 // unit behind the last file that exists; base if none does
	written  int64 // units below are in the files
	synced   int64 // units below are on the disk
	ringFrom int64 // first unit that the ring has seen
	mark     int64 // max at the last Flush
	minPhys  int64 // position of the record at min, noPhys if not known
	blank    int64 // units from here to written must be filled with blank ones before the next write; noBlank: none
	ring     []byte
	listed   bool // in set.active
	recut    bool // cut by TruncateToPhys: the next Append knows where the queue ends
	removed  bool
	raised   bool // by RaiseMin: the log may have messages before min
}

func (s *Set) newQueue(topic string, id int32) *Queue {
	q := &Queue{set: s, topic: &topicQueues{name: topic}, id: id}
	q.maxPhys.Store(noPhys)
	return q
}

// Topic is the name of the queue's topic.
func (q *Queue) Topic() string { return q.topic.name }

// ID is the queue's number within its topic.
func (q *Queue) ID() int32 { return q.id }

// Range is the first and the next queue offset; they are equal when there are no messages.
func (q *Queue) Range() (first, next int64) {
	next = q.max.Load()
	return min(q.min.Load(), next), next
}

// MaxPhys is the end of the record of the last message, or -1 when the queue never had one.
func (q *Queue) MaxPhys() int64 { return q.maxPhys.Load() }

// Next is the offset that the queue's next message gets.
func (q *Queue) Next() int64 { return q.next.Load() }

// SetNext moves the counter. It belongs to the holder of the commit log's append lock.
func (q *Queue) SetNext(n int64) { q.next.Store(n) }

// Files is where the queue's files are: the units that the first one starts with and that the last one ends before.
func (q *Queue) Files() (from, to int64) {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.base, q.fileEnd
}

func (q *Queue) dir() string {
	return filepath.Join(q.set.opt.Dir, q.topic.name, strconv.Itoa(int(q.id)))
}

func (q *Queue) fileName(start int64) string { return filepath.Join(q.dir(), fileName(start)) }

// startAt makes q an empty queue without files whose first message will have offset at.
func (q *Queue) startAt(at int64) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.startAtLocked(at)
}

func (q *Queue) startAtLocked(at int64) {
	q.base = at - at%q.set.fileUnits
	q.blank, q.fileEnd = q.base, q.base
	q.resetLocked(at)
}

// resetLocked makes q empty at the offset at, with the files that it has.
func (q *Queue) resetLocked(at int64) {
	q.written, q.synced, q.ringFrom, q.mark, q.minPhys = at, at, at, at, noPhys
	q.min.Store(at)
	q.max.Store(at)
	q.maxPhys.Store(noPhys)
	q.next.Store(at)
}

// retire makes q refuse all that follows, and closes its files.
func (q *Queue) retire() {
	q.ioMu.Lock()
	defer q.ioMu.Unlock()
	q.mu.Lock()
	q.removed = true
	from, to := q.base, q.fileEnd
	ring := q.ring
	q.ring = nil
	q.mu.Unlock()
	if ring != nil {
		q.set.rings.put(ring)
	}
	q.set.files.drop(q, from, to)
}

// Append adds the units of messages with the offsets from queueOffset on. Units that the queue has already are ignored.
// On an error (of the disk, or ErrRemoved) those before the failing one are in, and the call may be repeated as it is.
// Steady-state calls allocate nothing and write only when the ring is full.
func (q *Queue) Append(queueOffset int64, units []Unit) error {
	q.mu.Lock()
	end, phys := q.max.Load(), q.maxPhys.Load()
	for i := range units {
		u := &units[i]
		if u.end() <= phys {
			continue // dispatched again
		}
		if at := queueOffset + int64(i); at != end || q.recut {
			q.publishLocked(end, phys)
			add, err := q.placeLocked(at, u)
			if err != nil {
				q.mu.Unlock()
				return err
			}
			if end, phys = q.max.Load(), q.maxPhys.Load(); !add {
				continue
			}
		}
		if int(end-q.written)*UnitSize == len(q.ring) || q.removed {
			q.publishLocked(end, phys)
			if err := q.makeRoomLocked(); err != nil {
				q.mu.Unlock()
				return err
			}
		}
		if q.minPhys == noPhys && end == q.min.Load() {
			q.minPhys = u.PhysicalOffset // so that CorrectMin need not look for it
		}
		u.Put(q.ring[int(end)&(len(q.ring)/UnitSize-1)*UnitSize:])
		end, phys = end+1, u.end()
	}
	q.publishLocked(end, phys)
	q.mu.Unlock()
	return nil
}

// publishLocked shows readers what is in the ring.
func (q *Queue) publishLocked(end, phys int64) {
	q.max.Store(end)
	q.maxPhys.Store(phys)
	if q.next.Load() < end {
		q.next.Store(end) // recovery; afterwards the counter is ahead of the queue
	}
	if q.set.appended.Load() < phys {
		q.set.appended.Store(phys)
	}
}

const gapLogEvery = time.Minute

// placeLocked decides about a unit whose offset is not the queue's end: add says that it goes to the end as it is now.
// It may release and take mu again.
func (q *Queue) placeLocked(at int64, u *Unit) (add bool, err error) {
	end, phys := q.max.Load(), q.maxPhys.Load()
	recut := q.recut
	q.recut = false
	switch {
	case at == end:
		return true, nil
	case phys == noPhys, at > end && phys <= q.set.minPhys.Load():
		// No message, or none that the log still has: the queue starts where the log says.
		return true, q.restartLocked(at)
	case at < end && recut && at >= q.min.Load():
		// A torn unit looked whole to TruncateToPhys. The log is right: it goes over what is there.
		return true, q.stepBackLocked(at)
	case at < end && at != 0:
		q.set.log.Limited(q.set.clock, "cq repeat", gapLogEvery).Warnf("consume queue %s/%d: message at %d has queue offset %d, which is taken (next is %d); ignored",
			q.topic.name, q.id, u.PhysicalOffset, at, end)
		return false, nil
	case recut && at > end:
		// Cut there, the queue should have gone on there: it has lost units before. Whoever recovers will ask.
		q.set.needFrom(phys)
		fallthrough
	default:
		// As Java does: readers go by the unit's place from here on.
		q.set.log.Limited(q.set.clock, "cq gap", gapLogEvery).Warnf("consume queue %s/%d: message at %d has queue offset %d, and goes to %d",
			q.topic.name, q.id, u.PhysicalOffset, at, end)
		return true, nil
	}
}

// makeRoomLocked returns with room for one unit in the ring. It may release and take mu again.
func (q *Queue) makeRoomLocked() error {
	if q.removed {
		return ErrRemoved
	}
	if q.growLocked() {
		return nil
	}
	q.mu.Unlock()
	err := q.writeOut()
	q.mu.Lock()
	if err == nil && q.removed {
		err = ErrRemoved
	}
	if err == nil && q.ring == nil {
		q.growLocked() // a Flush came between and found the ring idle
	}
	return err
}

// growLocked gives q its first ring, or a larger one if there is memory.
func (q *Queue) growLocked() bool {
	units := len(q.ring) / UnitSize
	if units >= ringMax {
		return false
	}
	larger := max(ringMin, units*ringStep)
	r := q.set.rings.get(larger, units == 0)
	if r == nil {
		return false
	}
	end := q.max.Load()
	start := q.ringStartLocked()
	for n := start; n < end; n++ {
		copy(r[int(n)&(larger-1)*UnitSize:][:UnitSize], q.ring[int(n)&(units-1)*UnitSize:])
	}
	if q.ring != nil {
		q.set.rings.put(q.ring)
	}
	q.ring, q.ringFrom = r, start
	if !q.listed {
		q.listed = true
		q.set.activate(q)
	}
	return true
}

// ringStartLocked is the first unit that the ring has; max if it has none.
func (q *Queue) ringStartLocked() int64 {
	end := q.max.Load()
	if q.ring == nil {
		return end
	}
	return max(q.ringFrom, end-int64(len(q.ring)/UnitSize))
}
