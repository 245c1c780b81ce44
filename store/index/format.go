package index

import (
	"encoding/binary"
	"errors"
	"strconv"
)

// On disk, do not change.
const (
	HeaderSize = 40
	slotSize   = 4
	EntrySize  = 20

	DefaultSlots   = 5_000_000
	DefaultEntries = 20_000_000

	nameLayout = "20060102150405.000" // without the dot
	nameLen    = 17
)

// ErrCorrupt: a file that is not an index of this size, or is damaged.
var ErrCorrupt = errors.New("index: corrupt")

// Header is the beginning of a file.
type Header struct {
	BeginTimestamp, EndTimestamp int64 // ms
	BeginPhyOffset, EndPhyOffset int64
	HashSlotCount                int32
	IndexCount                   int32 // number of the next entry
}

// Put writes h to the first HeaderSize bytes of b.
func (h Header) Put(b []byte) {
	_ = b[HeaderSize-1]
	binary.BigEndian.PutUint64(b, uint64(h.BeginTimestamp))
	binary.BigEndian.PutUint64(b[8:], uint64(h.EndTimestamp))
	binary.BigEndian.PutUint64(b[16:], uint64(h.BeginPhyOffset))
	binary.BigEndian.PutUint64(b[24:], uint64(h.EndPhyOffset))
	binary.BigEndian.PutUint32(b[32:], uint32(h.HashSlotCount))
	binary.BigEndian.PutUint32(b[36:], uint32(h.IndexCount))
}

// DecodeHeader reads the first HeaderSize bytes of b.
func DecodeHeader(b []byte) Header {
	_ = b[HeaderSize-1]
	return Header{
		BeginTimestamp: int64(binary.BigEndian.Uint64(b)),
		EndTimestamp:   int64(binary.BigEndian.Uint64(b[8:])),
		BeginPhyOffset: int64(binary.BigEndian.Uint64(b[16:])),
		EndPhyOffset:   int64(binary.BigEndian.Uint64(b[24:])),
		HashSlotCount:  int32(binary.BigEndian.Uint32(b[32:])),
		IndexCount:     int32(binary.BigEndian.Uint32(b[36:])),
	}
}

// Record is an entry as it is on disk.
type Record struct {
	Hash           int32
	PhysicalOffset int64
	Seconds        int32 // since the file's beginTimestamp
	Previous       int32 // entry of the same slot
}

// Put writes r to the first EntrySize bytes of b.
func (r Record) Put(b []byte) {
	_ = b[EntrySize-1]
	binary.BigEndian.PutUint32(b, uint32(r.Hash))
	binary.BigEndian.PutUint64(b[4:], uint64(r.PhysicalOffset))
	binary.BigEndian.PutUint32(b[12:], uint32(r.Seconds))
	binary.BigEndian.PutUint32(b[16:], uint32(r.Previous))
}

// DecodeRecord reads the first EntrySize bytes of b.
func DecodeRecord(b []byte) Record {
	_ = b[EntrySize-1]
	return Record{
		Hash:           int32(binary.BigEndian.Uint32(b)),
		PhysicalOffset: int64(binary.BigEndian.Uint64(b[4:])),
		Seconds:        int32(binary.BigEndian.Uint32(b[12:])),
		Previous:       int32(binary.BigEndian.Uint32(b[16:])),
	}
}

// Shape is the number of slots and of entries of a file.
type Shape struct{ Slots, Entries int32 }

// FileSize is the length of a file in bytes.
func (s Shape) FileSize() int64 { return s.EntryOffset(s.Entries) }

// SlotOffset is where a slot is in the file.
func (s Shape) SlotOffset(slot int32) int64 { return HeaderSize + slotSize*int64(slot) }

// EntryOffset is where an entry is in the file.
func (s Shape) EntryOffset(n int32) int64 {
	return HeaderSize + slotSize*int64(s.Slots) + EntrySize*int64(n)
}

// check says what in h cannot be in a file of this shape.
func (s Shape) check(h Header) error {
	switch {
	case h == Header{} || h.IndexCount == 1 && h.HashSlotCount == 0:
		return nil // made, and not yet written to
	case h.IndexCount < 1 || h.IndexCount > s.Entries, h.HashSlotCount < 0 || h.HashSlotCount > s.Slots,
		h.HashSlotCount >= h.IndexCount:
		return errors.New("impossible counts in the header")
	case h.BeginPhyOffset < 0 || h.EndPhyOffset < h.BeginPhyOffset, h.BeginTimestamp < 0:
		return errors.New("impossible positions or times in the header")
	}
	return nil
}

// parseName accepts the name of an index file.
func parseName(name string) (int64, bool) {
	if len(name) != nameLen {
		return 0, false
	}
	n, err := strconv.ParseInt(name, 10, 64)
	return n, err == nil && n >= 0 && name[0] != '+'
}

// KeyHash is the hash of a unique key or a word of KEYS of a topic, as an Entry has it.
func KeyHash(topic, key string) int32 { return positive(javaHash(javaHash(0, topic+"#"), key)) }

// TagHash is the hash of the entry that Java 5.5.0 makes for a message's tag.
func TagHash(topic, tag string) int32 { return positive(javaHash(javaHash(0, topic+"#T#"), tag)) }

func positive(h int32) int32 {
	if h < 0 {
		h = -h
	}
	return max(h, 0) // the smallest int has no positive twin: Java takes 0
}

// javaHash goes on with Java's String.hashCode over s.
func javaHash(h int32, s string) int32 {
	for _, r := range s {
		if r < 0x10000 {
			h = 31*h + r
			continue
		}
		r -= 0x10000
		h = 31*h + 0xD800 + r>>10
		h = 31*h + 0xDC00 + r&0x3FF
	}
	return h
}
