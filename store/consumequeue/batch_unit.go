package consumequeue

import "encoding/binary"

// On disk, do not change.
const (
	BatchUnitSize         = 46
	DefaultBatchFileUnits = 300_000
	// MaxInner is how many messages one record can hold: the unit has 16 bits with a sign.
	MaxInner = 1<<15 - 1

	notCompacted = -1
)

// BatchUnit is one entry of a batch queue: a record with Count messages, whose queue offsets begin at Base.
//
//	offset  size
//	0       8     position of the record in the commit log
//	8       4     size of the record
//	12      8     tags code of the record
//	20      8     store time, ms
//	28      8     queue offset of the first message
//	36      2     number of messages
//	38      4     offset in a compacted log; -1: none
//	42      4     0
type BatchUnit struct {
	PhysicalOffset int64
	Size           int32
	TagsCode       int64
	StoreTimestamp int64
	Base           int64
	Count          int16
	Compacted      int32
	Reserved       int32
}

// NewBatchUnit returns the unit of a record that is in no compacted log.
func NewBatchUnit(phys int64, size int32, tagsCode, storeTime, base int64, count int16) BatchUnit {
	return BatchUnit{PhysicalOffset: phys, Size: size, TagsCode: tagsCode, StoreTimestamp: storeTime, Base: base, Count: count, Compacted: notCompacted}
}

// Valid says that the unit can have been written.
func (u BatchUnit) Valid() bool {
	return u.PhysicalOffset >= 0 && u.Size > 0 && u.Base >= 0 && u.Base <= MaxOffset && u.Count > 0
}

// Next is the queue offset behind the unit's messages.
func (u BatchUnit) Next() int64 { return u.Base + int64(u.Count) }

func (u BatchUnit) end() int64 { return u.PhysicalOffset + int64(u.Size) }

// Put writes the unit to the first BatchUnitSize bytes of b.
func (u BatchUnit) Put(b []byte) {
	_ = b[BatchUnitSize-1]
	be := binary.BigEndian
	be.PutUint64(b, uint64(u.PhysicalOffset))
	be.PutUint32(b[8:], uint32(u.Size))
	be.PutUint64(b[12:], uint64(u.TagsCode))
	be.PutUint64(b[20:], uint64(u.StoreTimestamp))
	be.PutUint64(b[28:], uint64(u.Base))
	be.PutUint16(b[36:], uint16(u.Count))
	be.PutUint32(b[38:], uint32(u.Compacted))
	be.PutUint32(b[42:], uint32(u.Reserved))
}

// DecodeBatch reads a unit from the first BatchUnitSize bytes of b, valid or not.
func DecodeBatch(b []byte) BatchUnit {
	_ = b[BatchUnitSize-1]
	be := binary.BigEndian
	return BatchUnit{
		PhysicalOffset: int64(be.Uint64(b)),
		Size:           int32(be.Uint32(b[8:])),
		TagsCode:       int64(be.Uint64(b[12:])),
		StoreTimestamp: int64(be.Uint64(b[20:])),
		Base:           int64(be.Uint64(b[28:])),
		Count:          int16(be.Uint16(b[36:])),
		Compacted:      int32(be.Uint32(b[38:])),
		Reserved:       int32(be.Uint32(b[42:])),
	}
}

// batchFileName is the name of the file whose first unit is start.
func batchFileName(start int64) string { return byteName(start * BatchUnitSize) }

// parseBatchFileName is the first unit of the file called name.
func parseBatchFileName(name string) (start int64, ok bool) {
	return parseByteName(name, BatchUnitSize)
}
