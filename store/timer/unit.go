package timer

import (
	"encoding/binary"
	"fmt"
	"math"
)

// On disk, do not change.
const (
	UnitSize  = 52
	blankSize = 16
)

const (
	blankMagic = 0xCBD43194
	noPrevious = -1
)

// Bits of a unit's magic.
const (
	MagicDefault = 1
	MagicRoll    = 2 // when due, the message goes back to the timer topic
	MagicDelete  = 4 // the message deletes another one of the same slot
)

// Unit is one entry of the timer log.
type Unit struct {
	Previous  int64 // position of the unit before in the same slot, -1 none
	Magic     int32
	WriteTime int64 // ms: the tick in which it was put in
	Delay     int32 // ms from WriteTime to the slot's tick
	Phys      int64 // of the message in the commit log
	Size      int32 // of the message
	TopicHash int32 // Java's hash of the real topic
}

// Due is the time in ms of the tick whose slot has the unit.
func (u *Unit) Due() int64 { return u.WriteTime + int64(u.Delay) }

// Rolls says that the unit is not the last stage of its message.
func (u *Unit) Rolls() bool { return u.Magic&MagicRoll != 0 }

// Deletes says that the message deletes another one.
func (u *Unit) Deletes() bool { return u.Magic&MagicDelete != 0 }

// Append appends the unit's 52 bytes.
func (u *Unit) Append(dst []byte) []byte {
	dst = binary.BigEndian.AppendUint32(dst, UnitSize)
	dst = binary.BigEndian.AppendUint64(dst, uint64(u.Previous))
	dst = binary.BigEndian.AppendUint32(dst, uint32(u.Magic))
	dst = binary.BigEndian.AppendUint64(dst, uint64(u.WriteTime))
	dst = binary.BigEndian.AppendUint32(dst, uint32(u.Delay))
	dst = binary.BigEndian.AppendUint64(dst, uint64(u.Phys))
	dst = binary.BigEndian.AppendUint32(dst, uint32(u.Size))
	dst = binary.BigEndian.AppendUint32(dst, uint32(u.TopicHash))
	return binary.BigEndian.AppendUint64(dst, 0)
}

// maxTime is what can be meant as a time: the year 3084.
const maxTime = 1<<45 - 1

// Decode reads a unit that is at position pos. What cannot be one, as in the part of a file that was not written, is ErrCorrupt.
func (u *Unit) Decode(b []byte, pos int64) error {
	if len(b) < UnitSize {
		return fmt.Errorf("%w: %d bytes at %d of the timer log", ErrCorrupt, len(b), pos)
	}
	*u = Unit{
		Previous: int64(binary.BigEndian.Uint64(b[4:])), Magic: int32(binary.BigEndian.Uint32(b[12:])),
		WriteTime: int64(binary.BigEndian.Uint64(b[16:])), Delay: int32(binary.BigEndian.Uint32(b[24:])),
		Phys: int64(binary.BigEndian.Uint64(b[28:])), Size: int32(binary.BigEndian.Uint32(b[36:])), TopicHash: int32(binary.BigEndian.Uint32(b[40:])),
	}
	size := binary.BigEndian.Uint32(b)
	if size != UnitSize || u.Magic <= 0 || u.Magic > 0xF || u.Previous < noPrevious || u.Previous >= pos ||
		u.WriteTime < 0 || u.WriteTime > maxTime || u.Delay < 0 || u.Phys < 0 || u.Size <= 0 || u.Phys > math.MaxInt64-int64(u.Size) {
		return fmt.Errorf("%w: no unit at %d of the timer log: size %d, magic %#x", ErrCorrupt, pos, size, uint32(u.Magic))
	}
	return nil
}

// isBlank says that the rest of a log file is unused.
func isBlank(b []byte) bool {
	return len(b) >= blankSize && binary.BigEndian.Uint32(b[12:]) == blankMagic
}

func appendBlank(dst []byte, left int64) []byte {
	dst = binary.BigEndian.AppendUint32(dst, uint32(left))
	dst = binary.BigEndian.AppendUint64(dst, 0)
	return binary.BigEndian.AppendUint32(dst, blankMagic)
}
