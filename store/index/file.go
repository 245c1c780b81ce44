package index

import (
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"sync/atomic"

	"github.com/seedmq/seedmq/store/fs"
)

const (
	pageSlots   = 1024
	pageSize    = pageSlots * slotSize
	bufferLimit = 4096 // entries
)

type page [pageSize]byte

// file is one index file. What changes is guarded by Index.mu, and only the last file changes; the rest of the state is
// read-only. It is closed when it left the index and its last reader is done.
type file struct {
	name  string
	shape Shape
	f     fs.File
	refs  atomic.Int32 // 1 for the index, 1 for each reader
	gone  atomic.Bool  // to be removed with the last reference

	h       Header
	pages   []*page  // slots in memory, nil = on disk only
	dirty   []uint64 // bit set: the page differs from the disk
	buffer  []byte   // entries from number bufFrom on, not all of them on disk
	touched byte     // so that touchLocked is not optimised away
	// bufFrom is the first entry of the buffer; the file has those before.
	bufFrom int32
	// changed says that header, slots or entries were not all written since the last Flush; unsynced, that they were
	// written but perhaps not synced.
	changed, unsynced bool
}

func (i *Index) path(name string) string { return filepath.Join(i.o.Dir, name) }

// openFile opens an existing file and reads its header.
func (i *Index) openFile(name string) (*file, error) {
	f, err := i.o.FS.OpenFile(i.path(name), os.O_RDWR, 0)
	if err != nil {
		return nil, err
	}
	var b [HeaderSize]byte
	if _, err := f.ReadAt(b[:], 0); err != nil {
		f.Close()
		return nil, err
	}
	return i.newFile(name, f, DecodeHeader(b[:])), nil
}

// createFile makes a file that goes on after what the header h of the one before ends with.
func (i *Index) createFile(name string, h Header) (*file, error) {
	f, err := i.o.FS.OpenFile(i.path(name), os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return nil, err
	}
	made := i.newFile(name, f, Header{BeginTimestamp: h.EndTimestamp, EndTimestamp: h.EndTimestamp,
		BeginPhyOffset: h.EndPhyOffset, EndPhyOffset: h.EndPhyOffset})
	made.changed = true
	if err = f.Truncate(i.shape.FileSize()); err == nil {
		// At once: Java would take a header of zeros for a file older than everything, and put all messages again.
		err = made.writeHeader()
	}
	if err != nil {
		f.Close()
		i.o.FS.Remove(i.path(name)) // the error to tell is the first
		return nil, err
	}
	return made, nil
}

func (i *Index) newFile(name string, f fs.File, h Header) *file {
	h.IndexCount = max(h.IndexCount, 1)
	out := &file{name: name, shape: i.shape, f: f, h: h, bufFrom: h.IndexCount}
	n := (int(i.shape.Slots) + pageSlots - 1) / pageSlots
	out.pages, out.dirty = make([]*page, n), make([]uint64, (n+63)/64)
	out.refs.Store(1)
	return out
}

func (f *file) full() bool  { return f.h.IndexCount >= f.shape.Entries }
func (f *file) empty() bool { return f.h.IndexCount <= 1 }

func (f *file) retain() { f.refs.Add(1) }

// release gives a reference back; with the last one the file is closed, and removed if it is gone.
func (i *Index) release(f *file) error {
	if f.refs.Add(-1) > 0 {
		return nil
	}
	err := f.f.Close()
	if f.gone.Load() {
		return i.o.FS.Remove(i.path(f.name))
	}
	return err
}

// slot returns the page that has a slot and the place in it, loading it if needed.
func (f *file) slot(n int32) (*page, int, error) {
	at := int(n) / pageSlots
	p := f.pages[at]
	if p == nil {
		p = new(page)
		size := min(pageSize, int(f.shape.SlotOffset(f.shape.Slots)-f.shape.SlotOffset(int32(at*pageSlots))))
		if !f.empty() {
			if _, err := f.f.ReadAt(p[:size], f.shape.SlotOffset(int32(at*pageSlots))); err != nil {
				return nil, 0, fmt.Errorf("index %s: %w", f.name, err)
			}
		}
		f.pages[at] = p
	}
	return p, int(n) % pageSlots * slotSize, nil
}

func (f *file) markDirty(slot int32) {
	at := int(slot) / pageSlots
	f.dirty[at/64] |= 1 << (at % 64)
	f.changed = true
}

// put adds an entry to a file that is not full. On an error nothing changed.
func (f *file) put(e *Entry) error {
	if len(f.buffer) == bufferLimit*EntrySize {
		if err := f.writeBuffer(); err != nil {
			return err
		}
	}
	slot := e.Hash % f.shape.Slots
	p, at, err := f.slot(slot)
	if err != nil {
		return err
	}
	first := f.empty()
	if first {
		f.h.BeginTimestamp, f.h.BeginPhyOffset = e.StoreTimestamp, e.PhysicalOffset
	}
	previous := int32(binary.BigEndian.Uint32(p[at:]))
	if previous <= 0 || previous >= f.h.IndexCount {
		previous = 0
		f.h.HashSlotCount++
	}
	n := f.h.IndexCount
	f.buffer = append(f.buffer, make([]byte, EntrySize)...)
	Record{Hash: e.Hash, PhysicalOffset: e.PhysicalOffset, Seconds: f.seconds(e.StoreTimestamp), Previous: previous}.
		Put(f.buffer[len(f.buffer)-EntrySize:])
	binary.BigEndian.PutUint32(p[at:], uint32(n))
	f.markDirty(slot)
	f.h.IndexCount = n + 1
	f.h.EndTimestamp, f.h.EndPhyOffset = e.StoreTimestamp, e.PhysicalOffset
	return nil
}

func (f *file) seconds(ms int64) int32 {
	if f.h.BeginTimestamp <= 0 {
		return 0
	}
	return int32(min(max((ms-f.h.BeginTimestamp)/1000, 0), 1<<31-1))
}

// writeBuffer writes the entries in memory, and the header so that recovery knows when the file began.
func (f *file) writeBuffer() error {
	if len(f.buffer) > 0 {
		if _, err := f.f.WriteAt(f.buffer, f.shape.EntryOffset(f.bufFrom)); err != nil {
			return fmt.Errorf("index %s: %w", f.name, err)
		}
		f.bufFrom += int32(len(f.buffer) / EntrySize)
		f.buffer = f.buffer[:0]
		f.unsynced = true
	}
	return f.writeHeader()
}

func (f *file) writeHeader() error {
	var b [HeaderSize]byte
	f.h.Put(b[:])
	if _, err := f.f.WriteAt(b[:], 0); err != nil {
		return fmt.Errorf("index %s: %w", f.name, err)
	}
	f.unsynced = true
	return nil
}

// entry reads entry n, which exists and is in the file.
func (f *file) entry(n int32) (Record, error) {
	var b [EntrySize]byte
	if _, err := f.f.ReadAt(b[:], f.shape.EntryOffset(n)); err != nil {
		return Record{}, fmt.Errorf("index %s: %w", f.name, err)
	}
	return DecodeRecord(b[:]), nil
}
