package index

import (
	"errors"
	"math/bits"
)

// pagesAtOnce is how many slot pages are copied under the lock and written after it.
const pagesAtOnce = 64

// Flush writes everything put before the call and syncs it. Slots that were not used since the last call leave memory.
func (i *Index) Flush() error {
	i.flushMu.Lock()
	defer i.flushMu.Unlock()
	files, _ := i.retainAll()
	var err error
	for _, f := range files {
		if e := i.flushFile(f); e != nil && err == nil {
			err = e
		}
	}
	i.mu.Lock()
	if err == nil && i.mu.puts == i.mu.seen {
		for _, f := range files {
			f.forget()
		}
	}
	i.mu.seen = i.mu.puts
	i.mu.Unlock()
	for _, f := range files {
		err = errors.Join(err, i.release(f))
	}
	return err
}

// flushFile writes and syncs one file. The lock is not held while slots are written or anything is synced.
func (i *Index) flushFile(f *file) error {
	i.mu.Lock()
	if !f.changed && !f.unsynced {
		i.mu.Unlock()
		return nil
	}
	f.changed = false
	err := f.writeBuffer()
	end, full := f.h.EndTimestamp, f.full()
	i.mu.Unlock()
	if err == nil {
		err = i.writeSlots(f)
	}
	i.mu.Lock()
	f.unsynced = false
	i.mu.Unlock()
	if err == nil {
		err = f.f.Datasync()
	}
	if err == nil {
		err = i.o.FS.SyncDir(i.o.Dir)
	}
	i.mu.Lock()
	defer i.mu.Unlock()
	if err != nil {
		f.changed, f.unsynced = true, true
		return err
	}
	if full {
		i.mu.flushed = max(i.mu.flushed, end)
	}
	return nil
}

// writeSlots writes the pages that changed.
func (i *Index) writeSlots(f *file) error {
	buf := make([]byte, 0, pagesAtOnce*pageSize)
	for from := 0; from < len(f.pages); {
		i.mu.Lock()
		first := f.nextDirty(from)
		buf = buf[:0]
		end := first
		for end < len(f.pages) && end-first < pagesAtOnce && f.dirty[end/64]&(1<<(end%64)) != 0 {
			f.dirty[end/64] &^= 1 << (end % 64)
			buf = append(buf, f.pages[end][:]...)
			end++
		}
		i.mu.Unlock()
		if first == end {
			return nil
		}
		off := f.shape.SlotOffset(int32(first * pageSlots))
		buf = buf[:min(int64(len(buf)), f.shape.SlotOffset(f.shape.Slots)-off)]
		if _, err := f.f.WriteAt(buf, off); err != nil {
			i.mu.Lock()
			for p := first; p < end; p++ {
				f.dirty[p/64] |= 1 << (p % 64)
			}
			i.mu.Unlock()
			return err
		}
		from = end
	}
	return nil
}

// nextDirty is the first page from n on that differs from the disk, or len(pages).
func (f *file) nextDirty(n int) int {
	for n < len(f.pages) {
		if word := f.dirty[n/64] >> (n % 64); word != 0 {
			return n + bits.TrailingZeros64(word)
		}
		n = n/64*64 + 64
	}
	return len(f.pages)
}

// forget drops pages that are on disk too, and the buffer's memory.
func (f *file) forget() {
	if f.changed {
		return
	}
	clear(f.pages)
	if len(f.buffer) == 0 {
		f.buffer = nil
	}
}

// FlushedTime is the store time (ms) of the last entry of the newest file that is full and synced; 0 if there is none.
func (i *Index) FlushedTime() int64 {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.mu.flushed
}
