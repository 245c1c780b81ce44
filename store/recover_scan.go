package store

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"

	"github.com/seedmq/seedmq/remoting/protocol"
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
// such records behind the log's end. Its clock may go back a little, ours does not.
const staleAge = 1000 // ms

// notBefore is the least store time that the next record may have where no queue vouches for it.
func (r *recovery) notBefore() int64 { return r.lastTime - staleAge }

// take collects a good record for the dispatcher.
func (r *recovery) take(rec *record) error {
	r.records++
	r.lastTime = max(r.lastTime, rec.storeTime)
	s := r.s
	var e dispatchEntry
	e, r.keys = s.entryOf(rec, r.keys[:0])
	if e.q != nil {
		if e.queueOffset > e.q.next && len(r.holes) > 0 {
			if err := r.fillQueue(&e); err != nil {
				return err
			}
		}
		e.q.next = e.queueOffset + 1
	}
	r.pending, r.hashes = append(r.pending, e), append(r.hashes, r.keys...)
	if len(r.pending) >= roundSize {
		return r.dispatch()
	}
	return nil
}

// dispatch applies what was collected.
func (r *recovery) dispatch() error {
	err := r.s.dispatch.applyQuiet(r.pending, r.hashes)
	r.pending, r.hashes = r.pending[:0], r.hashes[:0]
	return err
}

// fillQueue gives the offsets of records that were lost in holes to places in these holes where no record begins, so
// that the messages behind them keep their offsets. Readers skip them.
func (r *recovery) fillQueue(e *dispatchEntry) error {
	if err := r.dispatch(); err != nil {
		return err
	}
	cq := r.s.consumeQueue(e.q.topic, e.q.id)
	if cq == nil || cq.MaxPhys() < 0 {
		return nil // it begins where its first message says
	}
	_, next := cq.Range()
	at := r.placesAfter(cq.MaxPhys(), e.queueOffset-next)
	for i, phys := range at {
		r.pending = append(r.pending, dispatchEntry{q: e.q, phys: phys, queueOffset: next + int64(i), size: minRecord - 1})
	}
	return nil
}

// placesAfter finds n places in the holes behind phys, each as long as the shortest record. Without as many, the missing
// offsets were not lost there, and it returns nothing.
func (r *recovery) placesAfter(phys, n int64) []int64 {
	var room int64
	for _, h := range r.holes {
		if h.from >= phys {
			room += (h.to - h.from) / minRecord
		}
	}
	if n <= 0 || n > room {
		return nil
	}
	out := make([]int64, 0, n)
	for _, h := range r.holes {
		for at := h.from; h.from >= phys && at+minRecord <= h.to && int64(len(out)) < n; at += minRecord {
			out = append(out, at+1)
		}
	}
	return out
}

// mend deals with bytes at r.pos that are no record. Where good records follow, the bytes up to the next one are put
// aside and made into fillers that every reader skips, ours and Java's, and r.pos moves on; otherwise the log ends here.
func (r *recovery) mend(f *mappedfile.File, limit int64, cause error) (again bool, err error) {
	s := r.s
	if !r.crashed && r.pos >= r.known {
		return false, nil // after a clean stop nothing lies behind what the queues know
	}
	next, ok, err := s.dispatch.scan.find(r.pos, f.End(), r.notBefore())
	if err != nil {
		return false, err
	}
	if ok && next-r.pos < minRecord {
		next, ok, err = s.dispatch.scan.find(r.pos+minRecord, f.End(), r.notBefore())
		if err != nil {
			return false, err
		}
	}
	if ok {
		s.o.Log.Errorf("no record from log position %d to %d (%v); those behind it are kept", r.pos, next, cause)
		return true, r.fillHole(f, next)
	}
	for at := f.End(); at < limit; at += s.log.fileSize {
		if _, ok, err = s.dispatch.scan.find(at, limit, r.notBefore()); err != nil {
			return false, err
		}
		if ok {
			s.o.Log.Errorf("no record from log position %d to the end of its file (%v); those behind it are kept", r.pos, cause)
			return true, r.blankRest(f)
		}
	}
	return false, nil
}

// blankRest makes the rest of f, from r.pos on, the filler that ends a file.
func (r *recovery) blankRest(f *mappedfile.File) error {
	if err := r.s.setAside(f, r.pos-f.Start(), f.Size()); err != nil {
		return err
	}
	var b [blankSize]byte
	if left := f.End() - r.pos; left >= blankSize {
		putBlank(b[:], left)
		if _, err := f.WriteAt(b[:], r.pos-f.Start()); err != nil {
			return err
		}
	}
	r.holeDone(f.End())
	return f.Sync()
}

const (
	// mendPiece bounds the size of one filler record.
	mendPiece = 1 << 20
	// mendTopic stands in filler records. No queue is made for it.
	mendTopic = "SEEDMQ_DAMAGED"
)

// fillHole covers [r.pos, next) with records of a rolled back transaction, which enter no queue and no index. The
// damaged bytes become their bodies, but for those that the records' heads take.
func (r *recovery) fillHole(f *mappedfile.File, next int64) error {
	off, end := r.pos-f.Start(), next-f.Start()
	if err := r.s.setAside(f, off, end); err != nil {
		return err
	}
	for off < end {
		size := min(end-off, mendPiece)
		if rest := end - off - size; rest > 0 && rest < minRecord+int64(len(mendTopic)) {
			size -= minRecord + int64(len(mendTopic))
		}
		b := make([]byte, size)
		if err := f.ReadAt(b, off); err != nil {
			return err
		}
		if err := encodeFiller(b, f.Start()+off, r.lastTime); err != nil {
			return err
		}
		if _, err := f.WriteAt(b, off); err != nil {
			return err
		}
		off += size
	}
	r.holeDone(next)
	return f.Sync()
}

func (r *recovery) holeDone(next int64) {
	r.holes = append(r.holes, span{r.pos, next})
	r.pos = next
	r.s.dispatch.scan.forget()
}

// encodeFiller makes b one record. Its topic is as long as a short hole allows.
func encodeFiller(b []byte, phys, storeTime int64) error {
	topic := mendTopic[:min(len(mendTopic), len(b)-91)]
	body := b[88 : len(b)-3-len(topic)]
	clear(b[:88])
	be := binary.BigEndian
	be.PutUint32(b, uint32(len(b)))
	be.PutUint32(b[posMagic:], magicV1)
	be.PutUint32(b[posCRC:], crc32.ChecksumIEEE(body)&crcMask)
	be.PutUint64(b[posPhys:], uint64(phys))
	be.PutUint32(b[posSysFlag:], uint32(protocol.SysFlagTransactionRollback))
	be.PutUint64(b[posStoreTime:], uint64(storeTime))
	be.PutUint32(b[84:], uint32(len(body)))
	at := 88 + len(body)
	b[at] = byte(len(topic))
	copy(b[at+1:], topic)
	be.PutUint16(b[len(b)-2:], 0)
	var rec record
	if err := parseRecord(b, &rec); err != nil {
		return fmt.Errorf("store: filler record of %d bytes: %w", len(b), err)
	}
	return nil
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
