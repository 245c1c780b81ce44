package consumequeue

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"

	"github.com/seedmq/seedmq/store/fs"
)

// writeBuffers hold what is being written, so that no lock that readers take is held during a write.
var writeBuffers = sync.Pool{New: func() any { return new([ringMax * UnitSize]byte) }}

// Write writes the units that only memory has to the files, without a sync: they survive a killed process then.
func (q *Queue) Write() error { return q.writeOut() }

// writeOut writes to the files what only the ring has.
func (q *Queue) writeOut() error {
	q.ioMu.Lock()
	defer q.ioMu.Unlock()
	return q.writeOutIO()
}

// writeOutIO is writeOut; ioMu is held.
func (q *Queue) writeOutIO() error {
	buf := writeBuffers.Get().(*[ringMax * UnitSize]byte)
	defer writeBuffers.Put(buf)
	for {
		q.mu.Lock()
		from, n := q.written, q.copyNewLocked(buf[:])
		blank := q.blank
		q.mu.Unlock()
		if n == 0 {
			return nil
		}
		if blank != noBlank {
			if err := q.writeBlanks(blank, from); err != nil {
				return err
			}
		}
		if err := q.writeUnits(from, buf[:n*UnitSize]); err != nil {
			return err
		}
		q.mu.Lock()
		q.written = from + int64(n)
		q.blank, q.fileEnd = noBlank, max(q.fileEnd, from-from%q.set.fileUnits+q.set.fileUnits)
		q.mu.Unlock()
	}
}

// copyNewLocked copies units not yet written to b, up to the end of their file, and returns how many.
func (q *Queue) copyNewLocked(b []byte) int {
	if q.removed || q.ring == nil {
		return 0
	}
	size, fileUnits := int64(len(q.ring)/UnitSize), q.set.fileUnits
	n := min(q.max.Load()-q.written, fileUnits-q.written%fileUnits)
	for done := int64(0); done < n; {
		at := (q.written + done) & (size - 1)
		part := min(n-done, size-at)
		copy(b[done*UnitSize:], q.ring[at*UnitSize:(at+part)*UnitSize])
		done += part
	}
	return int(n)
}

// writeUnits writes units that are in one file, which is made if needed.
func (q *Queue) writeUnits(from int64, b []byte) error {
	start := from - from%q.set.fileUnits
	h, made, err := q.set.files.create(fileKey{q, start})
	if err != nil {
		return fmt.Errorf("consume queue %s/%d: %w", q.topic.name, q.id, err)
	}
	defer q.set.files.put(h)
	if made {
		q.set.namesChanged(q)
	}
	if _, err := h.file.WriteAt(b, (from-start)*UnitSize); err != nil {
		return fmt.Errorf("consume queue %s/%d: %w", q.topic.name, q.id, err)
	}
	return nil
}

const blanksAtOnce = 3000

// writeBlanks fills [from, to), which is in one file. It makes no file for nothing.
func (q *Queue) writeBlanks(from, to int64) error {
	if from >= to {
		return nil
	}
	b := make([]byte, min(to-from, blanksAtOnce)*UnitSize)
	for off := 0; off < len(b); off += UnitSize {
		Unit{Size: blankSize}.Put(b[off:])
	}
	for from < to {
		n := min(to-from, blanksAtOnce)
		if err := q.writeUnits(from, b[:n*UnitSize]); err != nil {
			return err
		}
		from += n
	}
	return nil
}

// flushState belongs to the holder of flushMu; dirs has a lock of its own as Append may make files.
type flushState struct {
	written, synced int64 // positions that were reported
	failed          error // of a sync: final

	dirs struct {
		sync.Mutex
		changed map[string]struct{} // folders with names not yet synced
	}
}

// namesChanged remembers that q got a new file, and perhaps its folder and its topic's with it.
func (s *Set) namesChanged(q *Queue) {
	d := &s.flush.dirs
	d.Lock()
	defer d.Unlock()
	if d.changed == nil {
		d.changed = map[string]struct{}{}
	}
	dir := q.dir()
	for range 3 { // queue, topic, root
		d.changed[dir] = struct{}{}
		dir = filepath.Dir(dir)
	}
}

// activate puts q among those that Flush looks at. q.mu is held, and q.listed was set.
func (s *Set) activate(q *Queue) {
	s.activeMu.Lock()
	defer s.activeMu.Unlock()
	s.active = append(s.active, q)
}

// Flush writes every unit appended before the call to the files, and with sync also syncs them. It returns the log
// position up to which that is so: every record below it that belongs into a queue is there. On an error the position
// is the one reached earlier with the same kind of flush. A failed sync is final (ErrSync): what the disk holds is known
// again only after a restart. Buffers that saw little use since the last call are given back.
func (s *Set) Flush(sync bool) (int64, error) {
	s.flushMu.Lock()
	defer s.flushMu.Unlock()
	f := &s.flush
	if sync && f.failed != nil {
		return f.synced, f.failed
	}
	upTo := s.appended.Load()
	listed := s.takeActive()
	var err error
	for _, q := range listed {
		if s.interrupted.Load() {
			break
		}
		err = errors.Join(err, q.writeOut())
	}
	if err == nil && s.interrupted.Load() {
		err = ErrInterrupted
	}
	if err == nil {
		f.written = max(f.written, upTo)
		if sync {
			if err = s.sync(listed); err == nil {
				f.synced = max(f.synced, upTo)
			} else {
				f.failed = err
			}
		}
	}
	s.relist(listed)
	if sync {
		return f.synced, err
	}
	return f.written, err
}

// Interrupt makes a running Flush, and all later ones, end early with ErrInterrupted: making the files of very many queues
// takes longer than a stop may, and the log has it all. It cannot be undone.
func (s *Set) Interrupt() { s.interrupted.Store(true) }

// InUse is the number of queues that the next Flush will look at.
func (s *Set) InUse() int {
	s.activeMu.Lock()
	defer s.activeMu.Unlock()
	return len(s.active)
}

func (s *Set) takeActive() []*Queue {
	s.activeMu.Lock()
	defer s.activeMu.Unlock()
	listed := s.active
	s.active = nil
	return listed
}

// relist gives back rings that are not needed, and keeps the queues for which something is left to do.
func (s *Set) relist(listed []*Queue) {
	keep := listed[:0]
	for _, q := range listed {
		if q.settle() {
			keep = append(keep, q)
		}
	}
	clear(listed[len(keep):])
	s.activeMu.Lock()
	defer s.activeMu.Unlock()
	s.active = append(keep, s.active...)
}

// settle gives the ring back if there was little to put into it since the last time. It says whether q stays listed.
func (q *Queue) settle() bool {
	q.mu.Lock()
	end := q.max.Load()
	idle := end == q.written && int(end-q.mark) < len(q.ring)/UnitSize/4
	q.mark = end
	var ring []byte
	if idle || q.removed {
		ring, q.ring = q.ring, nil
	}
	stay := !q.removed && (q.ring != nil || q.synced < q.written)
	q.listed = stay
	q.mu.Unlock()
	if ring != nil {
		q.set.rings.put(ring)
	}
	return stay
}

// bulkSync is the number of files and folders from which one sync of the whole disk is cheaper than many of single ones.
const bulkSync = 64

// sync makes the files of listed, and all new names, durable.
func (s *Set) sync(listed []*Queue) error {
	done := make([]int64, len(listed))
	dirty := 0
	for i, q := range listed {
		q.mu.Lock()
		done[i] = q.written
		if q.synced < q.written && !q.removed {
			dirty++
		}
		q.mu.Unlock()
	}
	dirs := s.takeDirs()
	var err error
	bulk := false
	if dirty+len(dirs) >= bulkSync {
		bulk, err = fs.SyncAll(s.fs, s.opt.Dir)
	}
	if !bulk {
		for i, q := range listed {
			err = errors.Join(err, q.syncTo(done[i]))
		}
		err = errors.Join(err, s.syncDirs(dirs))
	}
	if err != nil {
		return fmt.Errorf("%w: %w", ErrSync, err)
	}
	for i, q := range listed {
		q.mu.Lock()
		q.synced = max(q.synced, min(done[i], q.written)) // written is lower if q was cut meanwhile
		q.mu.Unlock()
	}
	return nil
}

func (s *Set) takeDirs() map[string]struct{} {
	d := &s.flush.dirs
	d.Lock()
	defer d.Unlock()
	dirs := d.changed
	d.changed = nil
	return dirs
}

func (s *Set) syncDirs(dirs map[string]struct{}) error {
	var errs error
	for dir := range dirs {
		if err := s.fs.SyncDir(dir); !errors.Is(err, os.ErrNotExist) { // removed meanwhile
			errs = errors.Join(errs, err)
		}
	}
	return errs
}

// syncTo syncs the files that have units not yet synced below to.
func (q *Queue) syncTo(to int64) error {
	q.mu.Lock()
	from, removed := max(q.synced, q.base), q.removed
	q.mu.Unlock()
	if removed {
		return nil
	}
	n := q.set.fileUnits
	for start := from - from%n; start < to; start += n {
		h, err := q.set.files.get(fileKey{q, start})
		if errors.Is(err, os.ErrNotExist) {
			continue // removed meanwhile
		}
		if err != nil {
			return err
		}
		err = h.file.Datasync()
		q.set.files.put(h)
		if err != nil {
			return err
		}
	}
	return nil
}
