package consumequeue

import (
	"errors"
	"fmt"
	"math"
	"os"
	"sync"
	"sync/atomic"

	"github.com/seedmq/seedmq/store/fs"
)

// workers is how many queues are worked on at once where thousands are: mostly waiting for the disk.
const workers = 8

// each calls fn for all queues, several at a time, and returns the first error.
func (s *Set) each(fn func(*Queue) error) error {
	qs := s.all()
	return inParallel(len(qs), func(i int) error { return fn(qs[i]) })
}

// inParallel calls fn for 0 to n-1 and returns the first error, after which no more calls begin.
func inParallel(n int, fn func(i int) error) error {
	var wg sync.WaitGroup
	var next atomic.Int64
	var failed atomic.Pointer[error]
	for range min(workers, n) {
		wg.Add(1)
		go func() {
			defer wg.Done()
			for failed.Load() == nil {
				i := int(next.Add(1)) - 1
				if i >= n {
					return
				}
				if err := fn(i); err != nil {
					failed.CompareAndSwap(nil, &err)
				}
			}
		}()
	}
	wg.Wait()
	if err := failed.Load(); err != nil {
		return *err
	}
	return nil
}

// TruncateToPhys removes all units of records that begin at or after log position p, and, after a crash, whatever else
// lies behind them in the files. The counters follow. Nothing may be appended meanwhile.
func (s *Set) TruncateToPhys(p int64) error {
	err := s.each(func(q *Queue) error {
		if err := q.truncateToPhys(p); err != nil {
			return fmt.Errorf("cut consume queue %s/%d: %w", q.topic.name, q.id, err)
		}
		return nil
	})
	if err == nil && p <= s.need.Load() {
		s.need.Store(math.MaxInt64)
	}
	s.flushMu.Lock()
	defer s.flushMu.Unlock()
	s.appended.Store(min(s.appended.Load(), p))
	s.flush.written, s.flush.synced = min(s.flush.written, p), min(s.flush.synced, p)
	return err
}

func (q *Queue) truncateToPhys(p int64) error {
	crashed := q.set.opt.AfterCrash
	if q.MaxPhys() <= p && !crashed {
		return nil
	}
	q.ioMu.Lock()
	defer q.ioMu.Unlock()
	if err := q.writeOutIO(); err != nil {
		return err
	}
	q.mu.Lock()
	from, to := q.base, q.fileEnd
	if !crashed {
		to = min(to, q.written)
	}
	q.mu.Unlock()
	if from == to {
		return nil
	}
	at, err := q.search(from, to, func(u Unit) bool { return u.Valid() && u.PhysicalOffset < p })
	if err != nil {
		return err
	}
	return q.cutIO(at)
}

// cutIO makes at, which is in a file, the end of the queue, and zeros of what is behind it. ioMu is held, and the ring
// has nothing that is not written.
func (q *Queue) cutIO(at int64) error {
	q.mu.Lock()
	base, end := q.base, q.fileEnd
	q.mu.Unlock()
	n := q.set.fileUnits
	keep := at - at%n
	if at == keep {
		keep -= n // the file before, if any, is full and stays the last
	}
	for start := end - n; start > keep; start -= n {
		q.set.files.drop(q, start, start+n)
		if err := q.set.fs.Remove(q.fileName(start)); err != nil && !errors.Is(err, os.ErrNotExist) {
			return err
		}
	}
	phys := int64(noPhys)
	if at > base {
		var err error
		if phys, err = q.clearFrom(keep, at); err != nil {
			return err
		}
	}
	q.mu.Lock()
	q.written, q.synced, q.mark, q.ringFrom = at, min(q.synced, at), at, at
	q.fileEnd = keep + n
	if at == base {
		q.blank = base // no file is left; the next Append makes one
	}
	ring := q.ring
	q.ring = nil
	q.max.Store(at)
	q.maxPhys.Store(phys)
	q.next.Store(at)
	if q.min.Load() >= at {
		q.min.Store(at)
		q.minPhys = noPhys
	}
	q.recut = true
	q.mu.Unlock()
	if ring != nil {
		q.set.rings.put(ring)
	}
	return nil
}

// clearFrom makes holes of the units of file start from at on, and returns the end of the last record before. at is not
// the first unit of the queue.
func (q *Queue) clearFrom(start, at int64) (phys int64, err error) {
	h, err := q.set.files.get(fileKey{q, start})
	if err != nil {
		return 0, err
	}
	defer q.set.files.put(h)
	if at < start+q.set.fileUnits {
		if clean, err := zerosBehind(h.file, (at-start)*UnitSize, q.set.fileBytes()); err != nil || clean {
			return q.physBefore(at, err)
		}
		if err := errors.Join(h.file.Truncate((at-start)*UnitSize), h.file.Truncate(q.set.fileBytes())); err != nil {
			return 0, err
		}
	}
	return q.physBefore(at, nil)
}

// physBefore is the end of the record of the unit before at, noPhys if that is a blank one. It passes an error on.
func (q *Queue) physBefore(at int64, err error) (int64, error) {
	var b [UnitSize]byte
	if err == nil {
		_, err = q.readBytes(at-1, b[:])
	}
	if err != nil {
		return 0, err
	}
	if u := Decode(b[:]); u.Valid() && !u.Blank() {
		return u.end(), nil
	}
	return noPhys, nil
}

const diskPage = 4096

// zerosBehind says that nothing but zeros is in a file from off to size: the rest of a page is looked at, and behind that
// the file system is asked, for reading a long hole costs more than making one.
func zerosBehind(f fs.File, off, size int64) (bool, error) {
	buf := readBuffers.Get().(*[readAtOnce * UnitSize]byte)
	defer readBuffers.Put(buf)
	end := min((off+diskPage-1)/diskPage*diskPage, size)
	for off < end {
		b := buf[:min(int64(len(buf)), end-off)]
		if _, err := f.ReadAt(b, off); err != nil {
			return false, err
		}
		for _, c := range b {
			if c != 0 {
				return false, nil
			}
		}
		off += int64(len(b))
	}
	return off == size || !fs.HasData(f, off), nil
}

// stepBackLocked cuts q to at. mu is released meanwhile.
func (q *Queue) stepBackLocked(at int64) error {
	q.mu.Unlock()
	defer q.mu.Lock()
	q.ioMu.Lock()
	defer q.ioMu.Unlock()
	if err := q.writeOutIO(); err != nil {
		return err
	}
	err := q.cutIO(at)
	q.mu.Lock()
	q.recut = false
	q.mu.Unlock()
	return err
}

// restartLocked has the queue, which has no message that counts, begin at the offset at. mu is released meanwhile.
func (q *Queue) restartLocked(at int64) error {
	if q.fileEnd == q.base {
		q.startAtLocked(at)
		return nil
	}
	end, n := q.max.Load(), q.set.fileUnits
	if q.maxPhys.Load() == noPhys && at-at%n == q.base && at >= end && end < q.base+n {
		q.resetLocked(at)
		q.blank = end
		return nil
	}
	q.mu.Unlock()
	defer q.mu.Lock()
	q.ioMu.Lock()
	defer q.ioMu.Unlock()
	q.mu.Lock()
	from, to := q.base, q.fileEnd
	q.startAtLocked(at)
	q.mu.Unlock()
	if err := q.removeFiles(from, to); err != nil {
		return err
	}
	return q.set.fs.SyncDir(q.dir())
}

// removeFiles removes the files that start in [from, to), oldest first.
func (q *Queue) removeFiles(from, to int64) error {
	q.set.files.drop(q, from, to)
	for start := from; start < to; start += q.set.fileUnits {
		if err := q.set.fs.Remove(q.fileName(start)); err != nil && !errors.Is(err, os.ErrNotExist) {
			return err
		}
	}
	return nil
}

// CorrectMin tells the set where the log begins: the first offset of each queue becomes that of the first message that
// the log still has. Call it after Open, before anything is appended, and whenever log files were deleted.
func (s *Set) CorrectMin(minPhys int64) error {
	s.minPhys.Store(minPhys)
	return s.each(func(q *Queue) error {
		if err := q.correctMin(minPhys); err != nil {
			return fmt.Errorf("consume queue %s/%d: %w", q.topic.name, q.id, err)
		}
		return nil
	})
}

func (q *Queue) correctMin(minPhys int64) error {
	if q.settledMin(minPhys) {
		return nil
	}
	q.ioMu.Lock()
	defer q.ioMu.Unlock()
	if err := q.writeOutIO(); err != nil {
		return err
	}
	q.mu.Lock()
	from, to := max(q.min.Load(), q.base), q.written
	q.mu.Unlock()
	at, err := q.search(from, to, func(u Unit) bool { return u.Blank() || u.PhysicalOffset < minPhys })
	if err != nil {
		return err
	}
	phys := int64(noPhys)
	var b [UnitSize]byte
	if at < to {
		if _, err := q.readBytes(at, b[:]); err != nil {
			return err
		}
		phys = Decode(b[:]).PhysicalOffset
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	q.min.Store(at)
	q.minPhys = phys
	return nil
}

// settledMin corrects min where that needs no search.
func (q *Queue) settledMin(minPhys int64) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	switch {
	case q.removed || q.minPhys != noPhys && q.minPhys >= minPhys:
		return true
	case q.maxPhys.Load() <= minPhys: // or no message at all
		q.min.Store(q.max.Load())
		q.minPhys = noPhys
		return true
	}
	return false
}

// DeleteBefore is CorrectMin, and then removes the files that have no message which the log still has, except the last
// file of each queue.
func (s *Set) DeleteBefore(minPhys int64) error {
	if err := s.CorrectMin(minPhys); err != nil {
		return err
	}
	return s.each((*Queue).deleteHead)
}

func (q *Queue) deleteHead() error {
	q.mu.Lock()
	n := q.set.fileUnits
	last := max(q.written-1, 0) / n * n
	if q.removed || q.base >= last || q.base+n > q.min.Load() {
		q.mu.Unlock()
		return nil
	}
	q.mu.Unlock()
	q.ioMu.Lock()
	defer q.ioMu.Unlock()
	head, err := q.headIO()
	if err != nil {
		return err
	}
	q.mu.Lock()
	from, to := q.base, min(head/n*n, last)
	if q.removed || from >= to {
		q.mu.Unlock()
		return nil
	}
	q.base = to
	q.mu.Unlock()
	return q.removeFiles(from, to)
}
