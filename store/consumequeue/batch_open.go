package consumequeue

import (
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"

	"github.com/seedmq/seedmq/store/fs"
)

// batchAtOnce is how many units are looked at with one read.
const batchAtOnce = 1024

// OpenBatch reads the folder o.Dir; it may be missing. Damaged files are moved to o.BadDir, with the later ones of their
// queue: RebuildFrom says from where the log must be dispatched again.
func OpenBatch(o BatchOptions) (*BatchSet, error) {
	o = o.withDefaults()
	s := &BatchSet{opt: o, fileUnits: int64(o.FileUnits)}
	s.need.Store(math.MaxInt64)
	s.mu.queues = map[string]map[int32]*BatchQueue{}
	if err := o.FS.RemoveAll(filepath.Clean(o.Dir) + ".deleted"); err != nil {
		return nil, err
	}
	topics, err := listDir(o.FS, o.Dir)
	if err != nil {
		return nil, err
	}
	for _, t := range topics {
		ids, err := listDir(o.FS, filepath.Join(o.Dir, t.Name))
		if err != nil {
			return nil, err
		}
		for _, i := range ids {
			id, ok := parseQueueID(i.Name)
			if !ok || !i.Dir {
				continue
			}
			q := s.newQueue(t.Name, id)
			if err := q.load(); err != nil {
				return nil, fmt.Errorf("open batch consume queue %s/%d: %w", t.Name, id, err)
			}
			s.mu.Lock()
			s.addLocked(q)
			s.mu.Unlock()
		}
	}
	return s, nil
}

// listDir lists a folder; one that is missing has nothing.
func listDir(f fs.FS, dir string) ([]fs.Info, error) {
	list, err := f.List(dir)
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	return list, err
}

// load finds out where q begins and ends, and puts damaged files aside.
func (q *BatchQueue) load() error {
	list, err := q.set.opt.FS.List(q.dir())
	if err != nil {
		return err
	}
	var starts []int64
	sizes := map[int64]int64{}
	for _, i := range list {
		if start, ok := parseBatchFileName(i.Name); ok && !i.Dir {
			starts = append(starts, start)
			sizes[start] = i.Size
		}
	}
	slices.Sort(starts)
	if len(starts) == 0 { // every queue on disk has a file
		q.set.needFrom(0)
		return nil
	}
	n := q.set.fileUnits
	q.base, q.fileEnd = starts[0], starts[0]
	q.max = q.base
	for i, start := range starts {
		err := q.loadFile(start, sizes[start], i == len(starts)-1)
		if errors.Is(err, ErrCorrupt) {
			if err := q.putAside(starts[i:], err); err != nil {
				return err
			}
			q.set.needFrom(q.maxPhys.Load())
			break
		}
		if err != nil {
			return err
		}
		q.fileEnd = start + n
	}
	q.min, q.written, q.synced = q.base, q.max, q.max
	q.newNames = q.set.opt.AfterCrash // a killed process may not have synced them
	if q.set.opt.AfterCrash && q.max == q.fileEnd {
		q.set.needFrom(q.maxPhys.Load()) // the file behind it was not made yet, or it is gone
	}
	return nil
}

// loadFile goes through the units of one file, and notes the last good one. After an error nothing of it counts.
func (q *BatchQueue) loadFile(start, size int64, last bool) (err error) {
	n, crashed := q.set.fileUnits, q.set.opt.AfterCrash
	switch {
	case size != n*BatchUnitSize:
		return fmt.Errorf("%w: it has %d bytes, not %d", ErrCorrupt, size, n*BatchUnitSize)
	case start%n != 0:
		return fmt.Errorf("%w: its name is no multiple of the file size", ErrCorrupt)
	case start != q.fileEnd:
		return fmt.Errorf("%w: the file before it is missing", ErrCorrupt)
	case q.max != start:
		return fmt.Errorf("%w: the file before it is not full", ErrCorrupt)
	}
	was := [4]int64{q.max, q.maxPhys.Load(), q.maxOffset.Load(), q.minOffset.Load()}
	if err = q.loadUnits(start, last, crashed); err == nil && q.max == start {
		err = fmt.Errorf("%w: %w", ErrCorrupt, errNoUnits)
	}
	if err != nil {
		q.max = was[0]
		q.maxPhys.Store(was[1])
		q.maxOffset.Store(was[2])
		q.minOffset.Store(was[3])
	}
	return err
}

func (q *BatchQueue) loadUnits(start int64, last, crashed bool) error {
	file, err := q.set.opt.FS.Open(q.fileName(start))
	if err != nil {
		return err
	}
	defer file.Close()
	b := make([]byte, batchAtOnce*BatchUnitSize)
	for at := int64(0); at < q.set.fileUnits; at += batchAtOnce {
		b = b[:min(batchAtOnce, q.set.fileUnits-at)*BatchUnitSize]
		if n, err := file.ReadAt(b, at*BatchUnitSize); n < len(b) {
			if err == io.EOF {
				err = fmt.Errorf("%w: it ends early", ErrCorrupt)
			}
			return err
		}
		for off := 0; off < len(b); off += BatchUnitSize {
			u := DecodeBatch(b[off:])
			if u.Valid() && u.PhysicalOffset >= q.maxPhys.Load() && (u.Base >= q.maxOffset.Load() || q.maxPhys.Load() == noPhys) {
				q.take(u)
				continue
			}
			if u == (BatchUnit{}) && last || crashed {
				return q.checkBehind(file, at*BatchUnitSize+int64(off), last)
			}
			return fmt.Errorf("%w: unit %d is %+v", ErrCorrupt, start+at+int64(off/BatchUnitSize), u)
		}
	}
	return nil
}

// take counts a unit that was read.
func (q *BatchQueue) take(u BatchUnit) {
	if q.maxPhys.Load() == noPhys {
		q.minOffset.Store(u.Base)
	}
	q.max++
	q.maxPhys.Store(u.end())
	q.maxOffset.Store(u.Next())
}

// checkBehind looks at what follows the last good unit: there must be nothing. After a crash there may be what it left, and
// then units before it may be missing too.
func (q *BatchQueue) checkBehind(file fs.File, off int64, last bool) error {
	clean, err := zerosBehind(file, off, q.set.fileUnits*BatchUnitSize)
	switch {
	case err != nil:
		return err
	case clean && last:
	case q.set.opt.AfterCrash:
		q.set.needFrom(q.maxPhys.Load())
	default:
		return fmt.Errorf("%w: there is something behind unit %d, which is none", ErrCorrupt, q.max)
	}
	return nil
}

// putAside moves files to BadDir; those without units are removed.
func (q *BatchQueue) putAside(starts []int64, why error) error {
	dir := filepath.Join(q.set.opt.BadDir, "batchconsumequeue", q.topic, strconv.Itoa(int(q.id)))
	for _, start := range starts {
		name := q.fileName(start)
		q.set.opt.Log.Errorf("batch consume queue file %s is damaged and will be made again from the log: %v", name, why)
		var err error
		if errors.Is(why, errNoUnits) {
			err = q.set.opt.FS.Remove(name)
		} else if err = fs.MakeDirs(q.set.opt.FS, dir); err == nil {
			err = q.set.opt.FS.Rename(name, freeName(q.set.opt.FS, filepath.Join(dir, batchFileName(start))))
		}
		if err != nil {
			return err
		}
		why = errFollows
	}
	return q.set.opt.FS.SyncDir(q.dir())
}

// truncate makes the first unit of a record at or behind p the end of the queue, and zeros of what is behind it.
func (q *BatchQueue) truncate(p int64) error {
	q.ioMu.Lock()
	defer q.ioMu.Unlock()
	if err := q.writeIO(); err != nil {
		return err
	}
	q.mu.Lock()
	q.recent = nil // what follows reads the files
	base, end, fileEnd := q.base, q.max, q.fileEnd
	q.mu.Unlock()
	if base == fileEnd {
		return nil
	}
	r := batchReader{q: q}
	defer r.close()
	lo, hi := base, end
	var u [1]BatchUnit
	for lo < hi {
		mid := lo + (hi-lo)/2
		if n, err := r.read(mid, u[:]); n == 0 {
			return err
		}
		if u[0].PhysicalOffset < p {
			lo = mid + 1
		} else {
			hi = mid
		}
	}
	if lo > base {
		if n, err := r.read(lo-1, u[:]); n == 0 {
			return err
		}
	}
	return q.cutIO(lo, u[0])
}

// cutIO makes at the end of the queue; last is the unit before it, if there is one. ioMu is held, memory has no units.
func (q *BatchQueue) cutIO(at int64, last BatchUnit) error {
	n, base, fileEnd := q.set.fileUnits, q.base, q.fileEnd
	keep := at - at%n
	if at == keep {
		keep -= n // the file before, if any, is full and stays the last
	}
	for start := fileEnd - n; start > keep; start -= n {
		if err := q.set.opt.FS.Remove(q.fileName(start)); err != nil && !errors.Is(err, os.ErrNotExist) {
			return err
		}
	}
	if at > base && at < keep+n {
		if err := q.zeroBehind(keep, at); err != nil {
			return err
		}
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	q.max, q.written, q.synced, q.fileEnd, q.recut = at, at, min(q.synced, at), keep+n, true
	if at > base {
		q.maxPhys.Store(last.end())
		q.maxOffset.Store(last.Next())
		q.min = min(q.min, at)
		return nil
	}
	q.fileEnd, q.min = base, base // no file is left; the next Append makes one
	q.maxPhys.Store(noPhys)
	q.minOffset.Store(0)
	q.maxOffset.Store(0)
	return nil
}

// zeroBehind clears the units of file start from at on.
func (q *BatchQueue) zeroBehind(start, at int64) (err error) {
	f, err := q.set.opt.FS.OpenFile(q.fileName(start), os.O_RDWR, 0)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	size := q.set.fileUnits * BatchUnitSize
	if clean, err := zerosBehind(f, (at-start)*BatchUnitSize, size); clean || err != nil {
		return err
	}
	zeros := make([]byte, batchAtOnce*BatchUnitSize)
	for off := (at - start) * BatchUnitSize; off < size; off += int64(len(zeros)) {
		if _, err := f.WriteAt(zeros[:min(int64(len(zeros)), size-off)], off); err != nil {
			return err
		}
	}
	return nil
}
