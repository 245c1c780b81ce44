package consumequeue

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/seedmq/seedmq/store/fs"
)

// batchReader reads units from files, and keeps the last one open.
type batchReader struct {
	q     *BatchQueue
	file  fs.File
	start int64
	buf   []byte
}

func (r *batchReader) close() {
	if r.file != nil {
		r.file.Close() // only read
		r.file = nil
	}
}

// open opens the file that unit n is in.
func (r *batchReader) open(n int64) error {
	start := n - n%r.q.set.fileUnits
	if r.file != nil && r.start == start {
		return nil
	}
	r.close()
	f, err := r.q.set.opt.FS.Open(r.q.fileName(start))
	if errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("%w: %s/%d: unit %d", ErrNotFound, r.q.topic, r.q.id, n)
	}
	if err != nil {
		return err
	}
	r.file, r.start = f, start
	return nil
}

// raw reads units as they are, up to the end of the file that the first is in.
func (r *batchReader) raw(n int64, count int) ([]byte, error) {
	if err := r.open(n); err != nil {
		return nil, err
	}
	want := int(min(int64(count), r.start+r.q.set.fileUnits-n)) * BatchUnitSize
	if cap(r.buf) < want {
		r.buf = make([]byte, want)
	}
	b := r.buf[:want]
	if got, err := r.file.ReadAt(b, (n-r.start)*BatchUnitSize); got < want {
		if err == nil || err == io.EOF {
			err = fmt.Errorf("%w: %s ends early", ErrCorrupt, r.file.Name())
		}
		return nil, err
	}
	return b, nil
}

func (r *batchReader) read(n int64, buf []BatchUnit) (int, error) {
	b, err := r.raw(n, len(buf))
	if err != nil {
		return 0, err
	}
	for i := range len(b) / BatchUnitSize {
		u := DecodeBatch(b[i*BatchUnitSize:])
		if !u.Valid() {
			return i, fmt.Errorf("%w: %s/%d: unit %d is %+v", ErrCorrupt, r.q.topic, r.q.id, n+int64(i), u)
		}
		buf[i] = u
	}
	return len(b) / BatchUnitSize, nil
}

// write writes to the files what only memory has.
func (q *BatchQueue) write() error {
	q.ioMu.Lock()
	defer q.ioMu.Unlock()
	return q.writeIO()
}

// writeIO is write; ioMu is held. A queue that got nothing since the last time keeps nothing in memory.
func (q *BatchQueue) writeIO() error {
	for idle := true; ; idle = false {
		q.mu.Lock()
		from := q.written
		n := min(q.max-from, q.set.fileUnits-from%q.set.fileUnits)
		if q.removed || n == 0 {
			if idle {
				q.recent = nil
			}
			q.trimLocked()
			q.mu.Unlock()
			return nil
		}
		b := make([]byte, n*BatchUnitSize)
		for i, u := range q.recent[len(q.recent)-int(q.max-from):][:n] {
			u.Put(b[i*BatchUnitSize:])
		}
		q.mu.Unlock()
		if err := q.writeUnits(from, b); err != nil {
			return err
		}
		q.mu.Lock()
		q.written = from + n
		q.fileEnd = max(q.fileEnd, from-from%q.set.fileUnits+q.set.fileUnits)
		q.mu.Unlock()
	}
}

// trimLocked forgets units that are in files, but for the last ones.
func (q *BatchQueue) trimLocked() {
	if spare := len(q.recent) - batchKeep; spare > 0 && q.written == q.max {
		q.recent = append(make([]BatchUnit, 0, batchKeep), q.recent[spare:]...)
	}
}

// writeUnits writes units that are in one file, which is made if needed.
func (q *BatchQueue) writeUnits(from int64, b []byte) (err error) {
	start := from - from%q.set.fileUnits
	f, err := q.openForWrite(start)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	_, err = f.WriteAt(b, (from-start)*BatchUnitSize)
	return err
}

func (q *BatchQueue) openForWrite(start int64) (fs.File, error) {
	name := q.fileName(start)
	f, err := q.set.opt.FS.OpenFile(name, os.O_RDWR, 0)
	if !errors.Is(err, os.ErrNotExist) {
		return f, err
	}
	if err := fs.MakeDirs(q.set.opt.FS, q.dir()); err != nil {
		return nil, err
	}
	if f, err = q.set.opt.FS.OpenFile(name, os.O_RDWR|os.O_CREATE, 0o644); err != nil {
		return nil, err
	}
	if err := f.Truncate(q.set.fileUnits * BatchUnitSize); err != nil {
		return nil, errors.Join(err, f.Close(), q.set.opt.FS.Remove(name))
	}
	q.mu.Lock()
	q.newNames = true
	q.mu.Unlock()
	return f, nil
}

// sync makes what is written durable, with the names of new files and folders.
func (q *BatchQueue) sync() error {
	q.ioMu.Lock()
	defer q.ioMu.Unlock()
	q.mu.Lock()
	from, to, names, removed := max(q.synced, q.base), q.written, q.newNames, q.removed
	q.mu.Unlock()
	if removed || from == to && !names {
		return nil
	}
	n := q.set.fileUnits
	for start := from - from%n; start < to; start += n {
		f, err := q.set.opt.FS.OpenFile(q.fileName(start), os.O_RDWR, 0)
		if err == nil {
			err = errors.Join(f.Datasync(), f.Close())
		}
		if err != nil {
			return err
		}
	}
	for dir, up := q.dir(), 0; names && up < 3; dir, up = filepath.Dir(dir), up+1 { // queue, topic, root
		if err := q.set.opt.FS.SyncDir(dir); err != nil {
			return err
		}
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	q.synced, q.newNames = max(q.synced, to), false
	return nil
}

// removeFiles removes the files that start in [from, to), oldest first.
func (q *BatchQueue) removeFiles(from, to int64) error {
	for start := from; start < to; start += q.set.fileUnits {
		if err := q.set.opt.FS.Remove(q.fileName(start)); err != nil && !errors.Is(err, os.ErrNotExist) {
			return err
		}
	}
	return nil
}

// correctMin makes the first message that the log has the first of the queue.
func (q *BatchQueue) correctMin(minPhys int64) error {
	q.mu.Lock()
	if q.maxPhys.Load() <= minPhys {
		defer q.mu.Unlock()
		q.min = q.max
		q.minOffset.Store(q.maxOffset.Load())
		return nil
	}
	q.mu.Unlock()
	at, err := q.search(func(u *BatchUnit) bool { return u.PhysicalOffset < minPhys })
	if err != nil {
		return err
	}
	var u [1]BatchUnit
	n, err := q.Read(at, u[:])
	if err != nil {
		return err
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.min = at; n == 1 {
		q.minOffset.Store(u[0].Base)
	}
	return nil
}

// headIO is the first unit whose record the log still has: min, unless that was raised. ioMu is held. Files behind it stay, for
// BeginsLate would miss them.
func (q *BatchQueue) headIO() (int64, error) {
	q.mu.Lock()
	raised, lo, hi := q.raised, q.base, q.min
	q.mu.Unlock()
	if hi = min(hi, q.written); !raised || lo >= hi {
		return hi, nil
	}
	r := batchReader{q: q}
	defer r.close()
	for lo < hi {
		mid := lo + (hi-lo)/2
		var u [1]BatchUnit
		if n, err := r.read(mid, u[:]); n == 0 {
			return 0, err
		}
		if u[0].PhysicalOffset < q.set.minPhys.Load() {
			lo = mid + 1
		} else {
			hi = mid
		}
	}
	return lo, nil
}

// deleteHead removes files before that of the first unit whose record the log has.
func (q *BatchQueue) deleteHead() error {
	q.ioMu.Lock()
	defer q.ioMu.Unlock()
	head, err := q.headIO()
	if err != nil {
		return err
	}
	q.mu.Lock()
	n := q.set.fileUnits
	from, to := q.base, min(head/n*n, max(q.written-1, 0)/n*n)
	if q.removed || from >= to {
		q.mu.Unlock()
		return nil
	}
	q.base = to
	q.mu.Unlock()
	return q.removeFiles(from, to)
}
