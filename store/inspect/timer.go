package inspect

import "encoding/binary"

// On disk, do not change.
const (
	timerUnitSize = 52
	timerSlotSize = 32
	timerBlank    = 0xCBD43194
)

// Bits of a timer log unit.
const (
	timerRoll   = 2
	timerDelete = 4
)

// timerLog prints the units of one timer log file:
//
//	0 4 size 52   4 8 previous unit of the slot, -1 none   12 4 magic: 1, |2 roll, |4 delete   16 8 wheel's write time (ms)
//	24 4 delay from then (ms)   28 8 log position   36 4 message size   40 4 hash of the real topic   44 8 zero
func timerLog(p *printer, in input) error {
	var b [timerUnitSize]byte
	units := 0
	for off := int64(0); off+timerUnitSize <= in.size; off += timerUnitSize {
		if err := in.read(b[:], off); err != nil {
			return err
		}
		at := in.start + off
		size, magic := binary.BigEndian.Uint32(b[:]), binary.BigEndian.Uint32(b[12:])
		switch {
		case size == 0 && magic == 0:
			p.line("%d units, ends at %d", units, at)
			return nil
		case magic == timerBlank:
			p.line("%d units, end of file at %d", units, at)
			return nil
		case size != timerUnitSize:
			p.line("%d: DAMAGED: size %d, magic %#x", at, size, magic)
			p.line("%d units before that", units)
			return nil
		}
		units++
		write := int64(binary.BigEndian.Uint64(b[16:]))
		due := write + int64(int32(binary.BigEndian.Uint32(b[24:])))
		p.item(at, "%d: due %s%s, written %s, position %d, %d bytes, topic hash %d, previous %d", at, p.time(due), timerFlags(magic),
			p.time(write), int64(binary.BigEndian.Uint64(b[28:])), int32(binary.BigEndian.Uint32(b[36:])),
			int32(binary.BigEndian.Uint32(b[40:])), int64(binary.BigEndian.Uint64(b[4:])))
	}
	p.line("%d units", units)
	return nil
}

func timerFlags(magic uint32) string {
	s := ""
	if magic&timerRoll != 0 {
		s += ", to be rolled"
	}
	if magic&timerDelete != 0 {
		s += ", deletes another"
	}
	return s
}

// timerWheel prints the slots of the wheel that are in use:
//
//	0 8 time / precision   8 8 first unit in the timer log, -1 none   16 8 last   24 4 messages   28 4 unused
func timerWheel(p *printer, in input) error {
	const atOnce = 2048
	buf := make([]byte, atOnce*timerSlotSize)
	used := 0
	for off := int64(0); off < in.size; off += int64(len(buf)) {
		part := buf[:min(int64(len(buf)), in.size-off)]
		if err := in.read(part, off); err != nil {
			return err
		}
		for slot := off / timerSlotSize; len(part) >= timerSlotSize; slot++ {
			when := int64(binary.BigEndian.Uint64(part))
			first, last := int64(binary.BigEndian.Uint64(part[8:])), int64(binary.BigEndian.Uint64(part[16:]))
			num := int32(binary.BigEndian.Uint32(part[24:]))
			if when != 0 || num != 0 {
				used++
				p.item(slot, "%d: tick %d, %d messages, timer log %d to %d", slot, when, num, first, last)
			}
			part = part[timerSlotSize:]
		}
	}
	p.line("%d slots, %d used", in.size/timerSlotSize, used)
	return nil
}
