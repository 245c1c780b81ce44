package index

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"sort"
)

const entriesAtOnce = 16384

// eachEntry calls fn for the entries from number from to before to, until it returns false.
func (f *file) eachEntry(from, to int32, fn func(n int32, r Record) bool) error {
	buf := make([]byte, entriesAtOnce*EntrySize)
	for from < to {
		part := buf[:min(to-from, entriesAtOnce)*EntrySize]
		if _, err := f.f.ReadAt(part, f.shape.EntryOffset(from)); err != nil && err != io.EOF {
			return fmt.Errorf("index %s: %w", f.name, err)
		}
		for off := 0; off < len(part); off += EntrySize {
			if !fn(from, DecodeRecord(part[off:])) {
				return nil
			}
			from++
		}
	}
	return nil
}

// replay makes slots and header again from the entries, as far as these fit together: each must name as the previous one
// what its slot had, and positions must not go down. The header's begin must be that of the first entry.
func (i *Index) replay(f *file) error {
	old := f.h
	if err := f.shape.check(old); err != nil {
		return fmt.Errorf("%w: %w", ErrCorrupt, err)
	}
	f.h = Header{BeginTimestamp: old.BeginTimestamp, BeginPhyOffset: old.BeginPhyOffset, EndPhyOffset: old.BeginPhyOffset, IndexCount: 1}
	for n := range f.pages {
		f.pages[n] = new(page)
		f.dirty[n/64] |= 1 << (n % 64)
	}
	f.changed = true
	var last Record
	err := f.eachEntry(1, f.shape.Entries, func(n int32, r Record) bool {
		switch {
		case r == Record{} && (n > 1 || old.IndexCount <= 1):
			return false // never written
		case r.Hash < 0 || r.Seconds < 0 || r.PhysicalOffset < f.h.EndPhyOffset || n == 1 && r.PhysicalOffset != old.BeginPhyOffset:
			return false
		}
		slot := r.Hash % f.shape.Slots
		p, at := f.pages[slot/pageSlots], slot%pageSlots*slotSize
		if int32(binary.BigEndian.Uint32(p[at:])) != r.Previous {
			return false
		}
		if r.Previous == 0 {
			f.h.HashSlotCount++
		}
		binary.BigEndian.PutUint32(p[at:], uint32(n))
		f.h.IndexCount, f.h.EndPhyOffset, last = n+1, r.PhysicalOffset, r
		return true
	})
	if err != nil {
		return err
	}
	if f.empty() && old.IndexCount > 1 {
		return fmt.Errorf("%w: it has no good entry", ErrCorrupt)
	}
	f.setEndTime(old, last)
	f.bufFrom = f.h.IndexCount
	i.report.Dropped += max(int(old.IndexCount-f.h.IndexCount), 0)
	return f.clearBehind()
}

// dropLast takes the last message's entries out of a file that has room to put them again, and lets Put take it again.
func (i *Index) dropLast(f *file) error {
	if f.empty() {
		return nil
	}
	i.mu.endPhys = f.h.EndPhyOffset - 1
	if f.full() {
		return nil
	}
	return f.cut(f.h.EndPhyOffset)
}

// setEndTime gives the header the store time of its last entry: exactly if old has the same end, else to the second.
func (f *file) setEndTime(old Header, last Record) {
	if f.h.IndexCount == old.IndexCount && f.h.EndPhyOffset == old.EndPhyOffset {
		f.h.EndTimestamp = old.EndTimestamp
		return
	}
	f.h.EndTimestamp = f.h.BeginTimestamp + int64(last.Seconds)*1000 + 999
}

// TruncateTo removes the entries of all messages at or after log position pos.
func (i *Index) TruncateTo(pos int64) error {
	i.mu.Lock()
	defer i.mu.Unlock()
	for n := len(i.mu.files) - 1; n >= 0; n-- {
		f := i.mu.files[n]
		if !f.empty() && f.h.BeginPhyOffset < pos {
			if err := f.cut(pos); err != nil {
				return err
			}
			i.mu.endPhys = f.h.EndPhyOffset
			return nil
		}
		i.mu.files = i.mu.files[:n:n]
		f.gone.Store(true)
		if err := i.release(f); err != nil {
			return err
		}
	}
	i.mu.endPhys = -1
	return i.syncDir()
}

func (i *Index) syncDir() error {
	if _, err := i.o.FS.Stat(i.o.Dir); err != nil {
		return nil //nolint:nilerr // there never was an index
	}
	return i.o.FS.SyncDir(i.o.Dir)
}

// cut takes entries at or after pos back, newest first, so that the slots are what they were before them.
func (f *file) cut(pos int64) error {
	if f.h.EndPhyOffset < pos {
		return nil
	}
	if err := f.writeBuffer(); err != nil {
		return err
	}
	var failed error
	keep := 1 + int32(sort.Search(int(f.h.IndexCount)-1, func(n int) bool {
		r, err := f.entry(int32(n) + 1)
		failed = errors.Join(failed, err)
		return r.PhysicalOffset >= pos
	}))
	if failed != nil {
		return failed
	}
	for to := f.h.IndexCount; to > keep; {
		from := max(keep, to-entriesAtOnce)
		part := make([]Record, 0, to-from)
		if err := f.eachEntry(from, to, func(_ int32, r Record) bool { part = append(part, r); return true }); err != nil {
			return err
		}
		for n := len(part) - 1; n >= 0; n-- {
			if err := f.takeBack(part[n]); err != nil {
				return err
			}
		}
		to = from
	}
	return f.endAt(keep)
}

func (f *file) takeBack(r Record) error {
	slot := r.Hash % f.shape.Slots
	p, at, err := f.slot(slot)
	if err != nil {
		return err
	}
	binary.BigEndian.PutUint32(p[at:], uint32(r.Previous))
	if r.Previous == 0 {
		f.h.HashSlotCount--
	}
	f.markDirty(slot)
	return nil
}

// endAt makes keep the next entry, and zeros of what was behind it.
func (f *file) endAt(keep int32) error {
	old := f.h
	f.h.IndexCount, f.bufFrom, f.changed = keep, keep, true
	if f.empty() {
		f.h.EndPhyOffset, f.h.EndTimestamp = f.h.BeginPhyOffset, f.h.BeginTimestamp
	} else {
		last, err := f.entry(keep - 1)
		if err != nil {
			return err
		}
		f.h.EndPhyOffset = last.PhysicalOffset
		f.setEndTime(old, last)
		f.h.EndTimestamp = min(f.h.EndTimestamp, old.EndTimestamp)
	}
	if err := f.clearBehind(); err != nil {
		return err
	}
	return f.writeHeader()
}

// clearBehind makes zeros of what lies behind the last entry.
func (f *file) clearBehind() error {
	return errors.Join(f.f.Truncate(f.shape.EntryOffset(f.h.IndexCount)), f.f.Truncate(f.shape.FileSize()))
}
