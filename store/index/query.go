package index

import (
	"encoding/binary"
	"slices"
)

// Query appends to dst the log positions of at most limit messages with a key of this hash that were stored between
// begin and end (ms, inclusive), newest first. As only hashes and whole seconds are kept, the caller must look at the
// messages' keys, and at their times if the bounds matter to the millisecond. On an error what was found so far is there.
func (i *Index) Query(dst []int64, hash int32, limit int, begin, end int64) ([]int64, error) {
	if hash < 0 || limit <= 0 {
		return dst, nil
	}
	files, headers := i.retainAll()
	defer func() {
		for _, f := range files {
			i.release(f) //nolint:errcheck // the reader is not the one to be told
		}
	}()
	stop := len(dst) + limit
	for n := len(files) - 1; n >= 0 && len(dst) < stop; n-- {
		h := headers[n]
		if h.IndexCount <= 1 {
			continue
		}
		if begin <= h.EndTimestamp && end >= h.BeginTimestamp {
			var err error
			if dst, err = i.queryFile(dst, files[n], h, hash, stop, begin, end); err != nil {
				return dst, err
			}
		}
		if h.BeginTimestamp < begin {
			break
		}
	}
	return dst, nil
}

func (i *Index) retainAll() ([]*file, []Header) {
	i.mu.Lock()
	defer i.mu.Unlock()
	files := slices.Clone(i.mu.files)
	headers := make([]Header, len(files))
	for n, f := range files {
		f.retain()
		headers[n] = f.h
	}
	return files, headers
}

func (i *Index) queryFile(dst []int64, f *file, h Header, hash int32, stop int, begin, end int64) ([]int64, error) {
	n, err := i.newest(f, hash%f.shape.Slots)
	if err != nil {
		return dst, err
	}
	below := h.IndexCount // what came since the header was copied is not for this query
	for n > 0 && len(dst) < stop {
		r, err := i.readEntry(f, n)
		if err != nil {
			return dst, err
		}
		if n < below && r.Hash == hash {
			ms := h.BeginTimestamp + int64(r.Seconds)*1000
			known := len(dst) > 0 && dst[len(dst)-1] == r.PhysicalOffset
			if ms <= end && ms+999 >= begin && !known {
				dst = append(dst, r.PhysicalOffset)
			}
		}
		if r.Previous >= n {
			break // damaged: chains lead back
		}
		n = r.Previous
	}
	return dst, nil
}

// newest is the newest entry of a slot, from memory if its page is there.
func (i *Index) newest(f *file, slot int32) (int32, error) {
	i.mu.Lock()
	if p := f.pages[slot/pageSlots]; p != nil {
		n := int32(binary.BigEndian.Uint32(p[slot%pageSlots*slotSize:]))
		i.mu.Unlock()
		return f.inRange(n), nil
	}
	i.mu.Unlock()
	var b [slotSize]byte
	if _, err := f.f.ReadAt(b[:], f.shape.SlotOffset(slot)); err != nil {
		return 0, err
	}
	return f.inRange(int32(binary.BigEndian.Uint32(b[:]))), nil
}

// inRange is n if it can be an entry, else 0.
func (f *file) inRange(n int32) int32 {
	if n < 0 || n >= f.shape.Entries {
		return 0
	}
	return n
}

// readEntry reads entry n from the buffer or the file.
func (i *Index) readEntry(f *file, n int32) (Record, error) {
	i.mu.Lock()
	if n >= f.bufFrom && int(n-f.bufFrom) < len(f.buffer)/EntrySize {
		r := DecodeRecord(f.buffer[int(n-f.bufFrom)*EntrySize:])
		i.mu.Unlock()
		return r, nil
	}
	i.mu.Unlock()
	return f.entry(n)
}
