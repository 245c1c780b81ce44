package store

import (
	"errors"
	"fmt"
	"math"

	"github.com/seedmq/seedmq/store/mappedfile"
)

// scan reads the log from r.from, dispatches its records, mends its holes, and returns where it ends.
func (r *recovery) scan() (end int64, err error) {
	s := r.s
	limit := s.log.end.Load()
	r.pos = r.from
	var rec record
	for r.pos < limit {
		f := s.log.fileOf(r.pos)
		_, err := s.dispatch.scan.record(r.pos, f.End(), scanMode{crc: s.o.CheckCRCOnRecover, torn: r.crashed}, &rec)
		if err == nil && r.pos >= r.known && rec.storeTime < r.notBefore() {
			err = fmt.Errorf("%w: the record at %d is older than those before it", ErrCorrupt, r.pos)
		}
		switch {
		case err == nil:
			if err := r.take(&rec); err != nil {
				return 0, err
			}
			r.pos += int64(rec.size)
		case err == errBlank:
			r.pos = f.End()
		case errors.Is(err, ErrCorrupt):
			again, err2 := r.mend(f, limit, err)
			if err2 != nil {
				return 0, err2
			}
			if !again {
				return r.pos, r.dispatch()
			}
		default:
			return 0, err
		}
	}
	return r.pos, r.dispatch()
}

// staleAge is how much older than the last record one must be to be a leftover of before an earlier recovery: Java leaves
// such records behind the log's end. Its clock may go back a little.
const staleAge = 1000 // ms

// notBefore is the least store time that the next record may have where no queue vouches for it. Where we were at work
// last there are no leftovers, for our recovery leaves zeros; an older record was stored after the clock was set back.
func (r *recovery) notBefore() int64 {
	if r.s.ours {
		return math.MinInt64
	}
	return r.lastTime - staleAge
}

// take collects a good record for the dispatcher.
func (r *recovery) take(rec *record) error {
	r.records++
	r.lastTime = max(r.lastTime, rec.storeTime)
	s := r.s
	var e dispatchEntry
	e, r.keys = s.entryOf(rec, r.keys[:0])
	if isFiller(rec) {
		r.addPlace(rec)
	}
	if err := r.takeEntry(&e); err != nil {
		return err
	}
	r.hashes = append(r.hashes, r.keys...)
	r.lights = s.appendLights(r.lights[:0], rec, &e)
	for i := range r.lights {
		if err := r.takeEntry(&r.lights[i]); err != nil {
			return err
		}
	}
	if len(r.pending) >= roundSize {
		return r.dispatch()
	}
	return nil
}

// takeEntry collects a record's entry of one queue.
func (r *recovery) takeEntry(e *dispatchEntry) error {
	if e.q != nil {
		if e.queueOffset > e.q.next && len(r.places) > 0 && !e.q.batch {
			if err := r.fillQueue(e); err != nil {
				return err
			}
		}
		e.q.next = e.queueOffset + int64(max(e.num, 1))
	}
	r.pending = append(r.pending, *e)
	return nil
}

// dispatch applies what was collected.
func (r *recovery) dispatch() error {
	err := r.s.dispatch.applyQuiet(r.pending, r.hashes)
	r.pending, r.hashes = r.pending[:0], r.hashes[:0]
	return err
}

// cleanTail is how much behind the log's end is looked at after a clean stop.
const cleanTail = 1 << 20

// tailEnd is how far f must be searched for leftovers behind end. After a clean stop there are none but what Java's
// recovery may have left, which begins right behind the end, unless it was written over.
func (r *recovery) tailEnd(f *mappedfile.File, end int64) int64 {
	if r.crashed {
		return f.Size()
	}
	return min(f.Size(), end-f.Start()+cleanTail)
}

// cut removes everything behind end: files that begin there, and in the file of end the bytes, which are zeroed so that
// they can never be taken for records. What is not zero is put aside before.
func (r *recovery) cut(end int64) error {
	s := r.s
	files := s.log.list()
	keep := len(files)
	for keep > 0 && files[keep-1].Start() >= end && keep > 1 {
		f := files[keep-1]
		if err := s.setAside(f, 0, f.Size()); err != nil {
			return err
		}
		keep--
		s.log.setList(append([]*mappedfile.File(nil), files[:keep]...))
		if err := f.Remove(); err != nil {
			return err
		}
	}
	if keep < len(files) {
		if err := s.fs.SyncDir(s.log.dir); err != nil {
			return err
		}
	}
	f := files[keep-1]
	from, to, err := nonZero(f, end-f.Start(), r.tailEnd(f, end))
	if err == nil && from < to {
		if err = s.setAside(f, from, to); err == nil {
			err = writeZeros(f, from, to-from)
		}
	}
	s.dispatch.scan.forget()
	if err == nil {
		err = s.log.sync(min(r.from, end), end+1)
	}
	return err // queues and index have nothing from behind end: they were cut to r.from, and the rest came from the scan
}
