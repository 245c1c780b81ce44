package store

import (
	"encoding/binary"
	"hash/crc32"
	"strings"

	"github.com/seedmq/seedmq/remoting/protocol"
	"github.com/seedmq/seedmq/store/mappedfile"
)

const (
	// mendTopic stands in filler records. No queue is made for it.
	mendTopic = "SEEDMQ_DAMAGED"
	// fillerSize is that of all filler records but a hole's last: the least that there can be.
	fillerSize = minRecord - 1 + int64(len(mendTopic))
	// fillAtOnce is how many bytes of fillers are written at once.
	fillAtOnce = 1 << 20
	// fillRestMax bounds the fillers in a hole that reaches to the end of its file, where a blank record does for the rest.
	fillRestMax = 64 << 20
)

// places are filler records of one size that follow each other. A unit of a queue may point to one in the place of a
// record that was lost.
type places struct {
	from  int64
	size  int32
	count int64
}

// mend deals with bytes at r.pos that are no record. Where good records follow, the bytes up to the next one are put
// aside and covered with fillers, which the scan then meets; otherwise the log ends here.
func (r *recovery) mend(f *mappedfile.File, limit int64, cause error) (again bool, err error) {
	s := r.s
	if !r.crashed && r.pos >= r.known {
		return false, nil // after a clean stop nothing lies behind what the queues know
	}
	next, ok, err := s.dispatch.scan.find(r.pos, f.End(), r.notBefore())
	if ok && next-r.pos < minRecord && err == nil {
		next, ok, err = s.dispatch.scan.find(r.pos+minRecord, f.End(), r.notBefore())
	}
	if err != nil {
		return false, err
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
			return true, r.fillRest(f)
		}
	}
	return false, nil
}

// fillHole covers [r.pos, next) with fillers.
func (r *recovery) fillHole(f *mappedfile.File, next int64) error {
	if err := r.s.setAside(f, r.pos-f.Start(), next-f.Start()); err != nil {
		return err
	}
	return r.mended(f, r.writeFillers(f, r.pos, next))
}

// fillRest covers the rest of f, from r.pos on, with fillers and the blank record that ends a file.
func (r *recovery) fillRest(f *mappedfile.File) error {
	if err := r.s.setAside(f, r.pos-f.Start(), f.Size()); err != nil {
		return err
	}
	left := f.End() - r.pos
	if left < blankSize {
		r.pos = f.End() // no writer leaves so little: the file was never ours
		return r.mended(f, nil)
	}
	fill := min(left-blankSize, fillRestMax) / fillerSize * fillerSize
	err := r.writeFillers(f, r.pos, r.pos+fill)
	if err == nil {
		var b [blankSize]byte
		putBlank(b[:], left-fill)
		_, err = f.WriteAt(b[:], r.pos+fill-f.Start())
	}
	return r.mended(f, err)
}

// mended syncs f before anything goes on that relies on the fillers.
func (r *recovery) mended(f *mappedfile.File, err error) error {
	r.holes++
	r.s.dispatch.scan.forget()
	if err != nil {
		return err
	}
	return f.Sync()
}

// writeFillers covers [from, to) with records of a rolled back transaction, which enter no queue and no index, ours or
// Java's. A range shorter than a filler gets one with a shortened topic.
func (r *recovery) writeFillers(f *mappedfile.File, from, to int64) error {
	var buf []byte
	for from < to {
		start := from
		for buf = buf[:0]; from < to && len(buf) < fillAtOnce; {
			size := to - from
			if size >= 2*fillerSize {
				size = fillerSize
			}
			buf = appendFiller(buf, int(size), from, r.lastTime)
			from += size
		}
		if _, err := f.WriteAt(buf, start-f.Start()); err != nil {
			return err
		}
	}
	return nil
}

// appendFiller appends a filler record of size bytes, which is less than two of the least.
func appendFiller(dst []byte, size int, phys, storeTime int64) []byte {
	at := len(dst)
	dst = append(dst, make([]byte, size)...)
	b := dst[at:]
	topic := mendTopic[:min(len(mendTopic), size-minRecord+1)]
	body := b[88 : size-3-len(topic)]
	be := binary.BigEndian
	be.PutUint32(b, uint32(size))
	be.PutUint32(b[posMagic:], magicV1)
	be.PutUint32(b[posCRC:], crc32.ChecksumIEEE(body)&crcMask)
	be.PutUint64(b[posPhys:], uint64(phys))
	be.PutUint32(b[posSysFlag:], uint32(protocol.SysFlagTransactionRollback))
	be.PutUint64(b[posStoreTime:], uint64(storeTime))
	be.PutUint32(b[84:], uint32(len(body)))
	b[88+len(body)] = byte(len(topic))
	copy(b[88+len(body)+1:], topic)
	return dst
}

// isFiller says that the record stands for one that was lost.
func isFiller(rec *record) bool {
	return rec.sysFlag&protocol.SysFlagTransactionMask == protocol.SysFlagTransactionRollback && strings.HasPrefix(mendTopic, string(rec.topic))
}

// addPlace remembers a filler.
func (r *recovery) addPlace(rec *record) {
	if n := len(r.places); n > 0 {
		if p := &r.places[n-1]; p.size == rec.size && p.from+p.count*int64(p.size) == rec.phys {
			p.count++
			return
		}
	}
	r.places = append(r.places, places{rec.phys, rec.size, 1})
}

// fillQueue gives the offsets of e's queue that were lost in holes to fillers, so that the messages behind the holes keep
// their offsets. Readers skip them.
func (r *recovery) fillQueue(e *dispatchEntry) error {
	if err := r.dispatch(); err != nil {
		return err
	}
	cq := r.s.consumeQueue(e.q.topic, e.q.id)
	if cq == nil || cq.MaxPhys() < 0 {
		return nil // it begins where its first message says
	}
	_, next := cq.Range()
	lost, behind := e.queueOffset-next, cq.MaxPhys()
	if lost <= 0 || lost > r.room(behind) {
		return nil // that many were not lost there
	}
	for _, p := range r.places {
		for i := int64(0); i < p.count && lost > 0; i++ {
			if at := p.from + i*int64(p.size); at >= behind {
				r.pending = append(r.pending, dispatchEntry{q: e.q, phys: at, queueOffset: next, size: p.size})
				next, lost = next+1, lost-1
			}
		}
	}
	return nil
}

// room is the number of fillers at or behind phys.
func (r *recovery) room(phys int64) (n int64) {
	for _, p := range r.places {
		skip := max(phys-p.from+int64(p.size)-1, 0) / int64(p.size)
		n += max(p.count-skip, 0)
	}
	return n
}
