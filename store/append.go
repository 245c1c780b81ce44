package store

import (
	"errors"
	"fmt"
	"syscall"

	"github.com/seedmq/seedmq/store/mappedfile"
)

// chunk is a run of a batch's records that goes to one file with one write.
type chunk struct {
	pos    int64 // in the log
	lo, hi int   // in the batch's buffer
	blank  int64 // bytes left in the file that a blank record fills behind the run; 0: none
}

// Append gives positions to all messages of b and writes them with one write. When it returns an error nothing of b is
// in the log. It does not wait for the disk: see AwaitSafe.
//
// Invariants: queue offsets and positions are given and written under one lock, so that the log's order is the order of
// every queue; the log's end moves only over bytes that were written whole.
func (s *Store) Append(b *Batch) error {
	if len(b.entries) == 0 {
		return nil
	}
	if err := s.Writable(); err != nil {
		return err
	}
	l := &s.log
	now := s.o.Clock.Now()
	l.mu.Lock()
	l.lockedAt.Store(now.UnixNano())
	err := s.appendLocked(b, max(now.UnixMilli(), l.lastTime.Load()))
	l.lockedAt.Store(0)
	l.mu.Unlock()
	if err != nil {
		s.putFailures.Add(int64(len(b.entries)))
		return err
	}
	s.putTimes.Add(int64(len(b.entries)))
	s.putBytes.Add(int64(len(b.buf)))
	s.flush.appended(b.end)
	s.forget.appended(b.end)
	if !s.o.SyncFlush {
		s.confirm.advance(b.end)
		s.dispatch.kick()
	}
	return nil
}

// appendLocked does the work under the log's lock.
func (s *Store) appendLocked(b *Batch, now int64) error {
	l := &s.log
	if err := s.state.err(); err != nil {
		return err // it changed while we waited for the lock
	}
	if err := s.checkRoomLocked(int64(len(b.buf))); err != nil {
		return err
	}
	if err := s.zeroTornLocked(); err != nil {
		return s.writeFailed(err)
	}
	if len(b.late.fields) > 0 {
		if err := s.fillLateLocked(b); err != nil {
			return err
		}
	}
	end := s.placeLocked(b, now)
	if err := s.writeLocked(b); err != nil {
		for i := range b.entries {
			e := &b.entries[i]
			e.q.next -= int64(e.num)
		}
		b.late.undo()
		return s.writeFailed(err)
	}
	b.end = end
	l.lastTime.Store(now)
	s.dispatch.push(b)
	l.end.Store(end)
	if end >= l.prepareAt.Load() {
		l.wakePrepare()
	}
	return nil
}

// placeLocked gives queue offsets, positions and the store time, and cuts the batch into chunks.
func (s *Store) placeLocked(b *Batch, now int64) (end int64) {
	l := &s.log
	pos := l.end.Load()
	numbered := len(b.late.fields) > 0 // by fillLateLocked
	b.chunks = append(b.chunks[:0], chunk{pos: pos})
	for i := range b.entries {
		e := &b.entries[i]
		if e.group > 0 {
			need := 0
			for j := range b.entries[i : i+int(e.group)] {
				need += int(b.entries[i+j].size)
			}
			if left := l.fileSize - pos%l.fileSize; int64(need)+blankSize > left {
				c := &b.chunks[len(b.chunks)-1]
				c.hi, c.blank = e.off, left
				pos += left
				b.chunks = append(b.chunks, chunk{pos: pos, lo: e.off})
			}
		}
		if e.q.dead.Load() {
			e.q = s.queues.get(e.q.topic, e.q.id) // deleted since Add
		}
		e.phys, e.storedAt = pos, now
		if !numbered {
			e.queueOffset = 0
			if e.num > 0 {
				e.queueOffset = e.q.next
				e.q.next++
			}
		}
		patchRecord(b.buf[e.off:], int(e.storeTime), e.queueOffset, pos, now)
		pos += int64(e.size)
	}
	b.chunks[len(b.chunks)-1].hi = len(b.buf)
	return pos
}

// writeLocked writes the chunks. After an error what they left is noted, and zeroed if possible.
func (s *Store) writeLocked(b *Batch) error {
	for _, c := range b.chunks {
		f, err := s.log.fileForLocked(c.pos)
		if err != nil {
			return err
		}
		n, err := writeChunk(f, b, c)
		s.log.mu.torn = append(s.log.mu.torn, tornWrite{f, c.pos - f.Start(), int64(n)})
		if err != nil {
			return errors.Join(err, s.zeroTornLocked())
		}
	}
	s.log.mu.torn = s.log.mu.torn[:0]
	return nil
}

// writeChunk writes one chunk; its blank borrows the first bytes of the record that follows it in the buffer.
func writeChunk(f *mappedfile.File, b *Batch, c chunk) (int, error) {
	if c.blank == 0 {
		return f.WriteAt(b.buf[c.lo:c.hi], c.pos-f.Start())
	}
	var keep [blankSize]byte
	next := b.buf[c.hi : c.hi+blankSize]
	copy(keep[:], next)
	putBlank(next, c.blank)
	n, err := f.WriteAt(b.buf[c.lo:c.hi+blankSize], c.pos-f.Start())
	copy(next, keep[:])
	return n, err
}

// zeroTornLocked clears what failed writes left behind the log's end, so that it can never be taken for records. The zeros
// are synced: after a power failure the records might be there without them, behind what was appended since.
func (s *Store) zeroTornLocked() error {
	for len(s.log.mu.torn) > 0 {
		t := s.log.mu.torn[len(s.log.mu.torn)-1]
		err := writeZeros(t.f, t.off, t.n)
		if err == nil && t.n > 0 {
			err = t.f.Sync()
		}
		if err != nil {
			return fmt.Errorf("clear a torn write: %w", err)
		}
		s.log.mu.torn = s.log.mu.torn[:len(s.log.mu.torn)-1]
	}
	return nil
}

func writeZeros(f *mappedfile.File, off, n int64) error {
	var zeros [64 << 10]byte
	for n > 0 {
		k := min(n, int64(len(zeros)))
		if _, err := f.WriteAt(zeros[:k], off); err != nil {
			return err
		}
		off, n = off+k, n-k
	}
	return nil
}

// writeFailed stops the appends: until there is room again if the disk is full, else until the next start.
func (s *Store) writeFailed(err error) error {
	if errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) {
		s.state.setDiskFull(true, "a write failed for lack of space")
		return fmt.Errorf("append: %w: %w", ErrDiskFull, err)
	}
	s.state.setReadOnly(err)
	return fmt.Errorf("append: %w: %w", ErrReadOnly, err)
}
