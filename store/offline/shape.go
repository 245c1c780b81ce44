package offline

import (
	"encoding/binary"
	"io"

	"github.com/seedmq/seedmq/store/fs"
	"github.com/seedmq/seedmq/store/index"
)

// IndexShape finds out how many slots and entries the index file at path was made with. Its length leaves many pairs;
// tried are Java's default, then four entries for each slot, as in that, then every place where the file has what can be
// its first entry. A shape counts if the file's first entries fit it. ok is false when none does, or when the file has no
// entry to judge by and is not of the default length or proportion.
func IndexShape(f fs.FS, path string) (shape index.Shape, ok bool, err error) {
	file, err := f.Open(path)
	if err != nil {
		return shape, false, err
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return shape, false, err
	}
	var b [index.HeaderSize]byte
	if err := readFull(file, b[:], 0); err != nil {
		return shape, false, err
	}
	s := shapeSearch{r: file, size: info.Size, head: index.DecodeHeader(b[:])}
	try := []index.Shape{{Slots: index.DefaultSlots, Entries: index.DefaultEntries}}
	if n := info.Size - index.HeaderSize; n > 0 && n%(4+4*index.EntrySize) == 0 && n/84 < 1<<29 {
		try = append(try, index.Shape{Slots: int32(n / 84), Entries: int32(n / 84 * 4)})
	}
	for _, shape := range try {
		if shape.FileSize() != info.Size {
			continue
		}
		if ok, err := s.fits(shape); ok || err != nil {
			return shape, ok, err
		}
	}
	return s.search()
}

type shapeSearch struct {
	r    io.ReaderAt
	size int64
	head index.Header
}

// shapeProof is how many entries are looked at; an eighth of them may be damaged.
const shapeProof = 64

// fits plays the first entries back: the first of each slot has none before it, and each other names the one before.
func (s *shapeSearch) fits(shape index.Shape) (bool, error) {
	n := min(s.head.IndexCount-1, shapeProof, shape.Entries-1)
	if n < 1 {
		return true, nil // nothing speaks against it
	}
	b := make([]byte, n*index.EntrySize)
	if err := readFull(s.r, b, shape.EntryOffset(1)); err != nil {
		return false, err
	}
	slots := map[int32]int32{}
	last, bad := s.head.BeginPhyOffset, int32(0)
	for i := range n {
		r := index.DecodeRecord(b[i*index.EntrySize:])
		if r.Hash < 0 || r.Seconds < 0 || r.PhysicalOffset < last || i == 0 && r.PhysicalOffset != last || r.Previous != slots[r.Hash%shape.Slots] {
			bad++
			continue
		}
		slots[r.Hash%shape.Slots], last = i+1, r.PhysicalOffset
	}
	if bad > n/8 {
		return false, nil
	}
	var newest [4]byte
	first := max(index.DecodeRecord(b).Hash, 0) % shape.Slots
	if err := readFull(s.r, newest[:], shape.SlotOffset(first)); err != nil {
		return false, err
	}
	return binary.BigEndian.Uint32(newest[:]) > 0, nil
}

// search goes through the file for what can be its first entry.
func (s *shapeSearch) search() (index.Shape, bool, error) {
	if s.head.IndexCount <= 1 {
		return index.Shape{}, false, nil
	}
	const atOnce = 1 << 20
	buf := make([]byte, atOnce+index.EntrySize)
	for at := int64(index.HeaderSize + index.EntrySize); at < s.size; at += atOnce {
		if err := readFull(s.r, buf, at); err != nil {
			return index.Shape{}, false, err
		}
		for i := 0; i < atOnce && at+int64(i) < s.size; i += 4 {
			b := buf[i:]
			if binary.BigEndian.Uint32(b) == 0 || int64(binary.BigEndian.Uint64(b[4:])) != s.head.BeginPhyOffset || binary.BigEndian.Uint64(b[12:]) != 0 {
				continue
			}
			slots := (at + int64(i) - index.HeaderSize - index.EntrySize) / 4
			rest := s.size - index.HeaderSize - 4*slots
			if slots < 1 || rest%index.EntrySize != 0 || slots >= 1<<31 || rest/index.EntrySize >= 1<<31 {
				continue
			}
			shape := index.Shape{Slots: int32(slots), Entries: int32(rest / index.EntrySize)}
			if shape.Entries < s.head.IndexCount {
				continue
			}
			if ok, err := s.fits(shape); ok || err != nil {
				return shape, ok, err
			}
		}
	}
	return index.Shape{}, false, nil
}

// readFull fills b from off on as far as the file goes, the rest with zeros.
func readFull(r io.ReaderAt, b []byte, off int64) error {
	n, err := r.ReadAt(b, off)
	clear(b[n:])
	if err == io.EOF {
		return nil
	}
	return err
}
