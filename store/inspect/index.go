package inspect

import (
	"encoding/binary"

	"github.com/seedmq/seedmq/store/index"
)

const entriesAtOnce = 3000

// indexFile prints header and entries of an index file, and checks its slots and chains.
func indexFile(p *printer, in input) error {
	shape := p.o.Index
	if in.size != shape.FileSize() {
		p.line("DAMAGED, or other settings: %d slots and %d entries make %d bytes", shape.Slots, shape.Entries, shape.FileSize())
		return nil
	}
	var b [index.HeaderSize]byte
	if err := in.read(b[:], 0); err != nil {
		return err
	}
	h := index.DecodeHeader(b[:])
	p.line("messages stored %s to %s, positions %d to %d, %d slots used, next entry %d", p.time(h.BeginTimestamp), p.time(h.EndTimestamp),
		h.BeginPhyOffset, h.EndPhyOffset, h.HashSlotCount, h.IndexCount)
	c := indexChecker{shape: shape, slots: map[int32]int32{}}
	count := max(min(h.IndexCount, shape.Entries), 1)
	if count != h.IndexCount && h != (index.Header{}) {
		p.line("DAMAGED: the count is impossible")
	}
	if err := c.entries(p, in, h, count); err != nil {
		return err
	}
	if err := c.checkSlots(p, in); err != nil {
		return err
	}
	p.line("%d entries in %d slots, %d damaged ones, %d damaged slots", count-1, len(c.slots), c.bad, c.badSlots)
	return nil
}

// indexChecker plays a file back: slots is what they must be.
type indexChecker struct {
	shape         index.Shape
	slots         map[int32]int32
	bad, badSlots int
}

func (c *indexChecker) entries(p *printer, in input, h index.Header, count int32) error {
	buf := make([]byte, entriesAtOnce*index.EntrySize)
	for n := int32(1); n < count; n += entriesAtOnce {
		part := buf[:min(count-n, entriesAtOnce)*index.EntrySize]
		if err := in.read(part, c.shape.EntryOffset(n)); err != nil {
			return err
		}
		for off := 0; off < len(part); off += index.EntrySize {
			c.entry(p, h, n+int32(off/index.EntrySize), index.DecodeRecord(part[off:]))
		}
	}
	return nil
}

func (c *indexChecker) entry(p *printer, h index.Header, n int32, r index.Record) {
	note := ""
	slot := int32(-1)
	if r.Hash >= 0 {
		slot = r.Hash % c.shape.Slots
	}
	if slot < 0 || r.Previous != c.slots[slot] || r.PhysicalOffset < 0 || r.Seconds < 0 {
		note = ", DAMAGED"
		c.bad++
	}
	if slot >= 0 {
		c.slots[slot] = n
	}
	p.item(int64(n), "%d: hash %d, slot %d, position %d, stored %s, previous %d%s", n, r.Hash, slot, r.PhysicalOffset,
		p.time(h.BeginTimestamp+int64(r.Seconds)*1000), r.Previous, note)
}

func (c *indexChecker) checkSlots(p *printer, in input) error {
	const atOnce = 16384
	buf := make([]byte, atOnce*4)
	for first := int32(0); first < c.shape.Slots; first += atOnce {
		part := buf[:min(c.shape.Slots-first, atOnce)*4]
		if err := in.read(part, c.shape.SlotOffset(first)); err != nil {
			return err
		}
		for i := int32(0); i < int32(len(part)/4); i++ {
			have, want := int32(binary.BigEndian.Uint32(part[i*4:])), c.slots[first+i]
			if have != want {
				c.badSlots++
				p.item(0, "slot %d: DAMAGED: entry %d, want %d", first+i, have, want)
			}
		}
	}
	return nil
}
