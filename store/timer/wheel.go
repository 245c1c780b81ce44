package timer

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/seedmq/seedmq/store/fs"
)

// On disk, do not change.
const (
	// Slots is how many ticks the wheel goes round, whatever the length of a tick.
	Slots     = 2 * 7 * 24 * 60 * 60
	slotSize  = 32
	WheelSize = Slots * slotSize
)

const (
	pageSlots = 128
	pageSize  = pageSlots * slotSize
	pages     = Slots / pageSlots
)

// Slot is what the wheel knows of one tick.
type Slot struct {
	First, Last int64 // positions of the oldest and the newest unit, -1 none
	Num         int32 // messages; a unit that deletes counts -1
}

// wheel is the timer wheel in memory, written out page by page.
type wheel struct {
	tick  int64 // ms
	page  [pages]*[pageSize]byte
	dirty map[int32]struct{}
	fresh bool // the file is not there yet, or must be written whole
}

func newWheel(tick time.Duration) *wheel {
	return &wheel{tick: tick.Milliseconds(), dirty: map[int32]struct{}{}}
}

func (w *wheel) at(ms int64) (page int32, off int) {
	slot := ms / w.tick % Slots
	return int32(slot / pageSlots), int(slot%pageSlots) * slotSize
}

// get returns the slot of the tick that ms is in; ok is false when it is empty.
func (w *wheel) get(ms int64) (s Slot, ok bool) {
	page, off := w.at(ms)
	p := w.page[page]
	if p == nil {
		return Slot{noPrevious, noPrevious, 0}, false
	}
	s, when := decodeSlot(p[off:])
	if when != ms/w.tick {
		return Slot{noPrevious, noPrevious, 0}, false
	}
	return s, true
}

// holder is the tick, in ms, that has the place of ms in the wheel now; 0 when none.
func (w *wheel) holder(ms int64) int64 {
	page, off := w.at(ms)
	p := w.page[page]
	if p == nil {
		return 0
	}
	return int64(binary.BigEndian.Uint64(p[off:])) * w.tick
}

func decodeSlot(b []byte) (s Slot, when int64) {
	return Slot{int64(binary.BigEndian.Uint64(b[8:])), int64(binary.BigEndian.Uint64(b[16:])), int32(binary.BigEndian.Uint32(b[24:]))},
		int64(binary.BigEndian.Uint64(b))
}

func (w *wheel) put(ms int64, s Slot) {
	page, off := w.at(ms)
	p := w.page[page]
	if p == nil {
		p = new([pageSize]byte)
		w.page[page] = p
	}
	b := p[off : off+slotSize]
	binary.BigEndian.PutUint64(b, uint64(ms/w.tick))
	binary.BigEndian.PutUint64(b[8:], uint64(s.First))
	binary.BigEndian.PutUint64(b[16:], uint64(s.Last))
	binary.BigEndian.PutUint32(b[24:], uint32(s.Num))
	binary.BigEndian.PutUint32(b[28:], 0)
	w.dirty[page] = struct{}{}
}

// drop empties the slot of ms.
func (w *wheel) drop(ms int64) {
	if _, ok := w.get(ms); !ok {
		return
	}
	page, off := w.at(ms)
	clear(w.page[page][off : off+slotSize])
	w.dirty[page] = struct{}{}
}

// each calls fn for the slots in use, in no order of time. fn may drop the slot.
func (w *wheel) each(fn func(ms int64, s Slot)) {
	for _, p := range w.page {
		if p == nil {
			continue
		}
		for off := 0; off < pageSize; off += slotSize {
			if s, when := decodeSlot(p[off:]); when != 0 {
				fn(when*w.tick, s)
			}
		}
	}
}

// wipe empties the wheel, in memory and with the next flush on disk.
func (w *wheel) wipe() {
	w.page = [pages]*[pageSize]byte{}
	clear(w.dirty)
	w.fresh = true
}

// load reads the file. ErrCorrupt when it cannot be a wheel of this tick.
func (w *wheel) load(f fs.FS, name string) error {
	file, err := f.Open(name)
	if errors.Is(err, os.ErrNotExist) {
		w.fresh = true
		return nil
	}
	if err != nil {
		return err
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return err
	}
	if info.Size == 0 {
		w.fresh = true
		return nil
	}
	if info.Size != WheelSize {
		return fmt.Errorf("%w: %s has %d bytes, want %d", ErrCorrupt, name, info.Size, WheelSize)
	}
	return w.read(file)
}

func (w *wheel) read(file io.ReaderAt) error {
	const atOnce = 63 // divides the number of pages
	buf := make([]byte, atOnce*pageSize)
	for page := 0; page < pages; page += atOnce {
		if _, err := file.ReadAt(buf, int64(page)*pageSize); err != nil && err != io.EOF {
			return err
		}
		for i := range atOnce {
			if err := w.readPage(page+i, buf[i*pageSize:(i+1)*pageSize]); err != nil {
				return err
			}
		}
	}
	return nil
}

func (w *wheel) readPage(page int, b []byte) error {
	if allZero(b) {
		return nil
	}
	for off := 0; off < pageSize; off += slotSize {
		s, when := decodeSlot(b[off:])
		if when == 0 {
			continue
		}
		if when < 0 || when > maxTime || when%Slots != int64(page*pageSlots+off/slotSize) || s.First < noPrevious || s.Last < s.First {
			return fmt.Errorf("%w: slot %d of the timer wheel says tick %d", ErrCorrupt, page*pageSlots+off/slotSize, when)
		}
	}
	w.page[page] = (*[pageSize]byte)(append([]byte(nil), b...))
	return nil
}

func allZero(b []byte) bool {
	for len(b) >= 8 {
		if binary.NativeEndian.Uint64(b) != 0 {
			return false
		}
		b = b[8:]
	}
	for _, c := range b {
		if c != 0 {
			return false
		}
	}
	return true
}

// dirtyPage is a page to be written.
type dirtyPage struct {
	number int32
	data   *[pageSize]byte
}

// take copies the pages that changed, and lets go of those that are empty.
func (w *wheel) take() []dirtyPage {
	list := make([]dirtyPage, 0, len(w.dirty))
	for n := range w.dirty {
		d := dirtyPage{n, new([pageSize]byte)}
		if p := w.page[n]; p != nil {
			*d.data = *p
			if allZero(p[:]) {
				w.page[n] = nil
			}
		}
		list = append(list, d)
	}
	clear(w.dirty)
	return list
}

// giveBack marks pages as changed again, when they could not be written.
func (w *wheel) giveBack(list []dirtyPage) {
	for _, d := range list {
		w.dirty[d.number] = struct{}{}
	}
}
