package consumequeue

import (
	"encoding/binary"
	"errors"
)

// On disk, do not change.
const (
	UnitSize         = 20
	DefaultFileUnits = 300_000

	blankSize = 0x7FFFFFFF
	nameLen   = 20
)

// Errors of the package. Callers test with errors.Is.
var (
	// ErrUnsupported: the folder holds something else than file queues (RocksDB); it was left untouched.
	ErrUnsupported = errors.New("consumequeue: unsupported format")
	// ErrCorrupt: units that cannot be; they must be made again from the log.
	ErrCorrupt = errors.New("consumequeue: corrupt")
	// ErrNotFound: the units asked for are not there (removed, or never were).
	ErrNotFound = errors.New("consumequeue: not found")
	// ErrRemoved: the queue was deleted; ask the Set for a new one.
	ErrRemoved = errors.New("consumequeue: queue was removed")
	// ErrSync: a sync failed; what is on the disk is unknown until the next start has cut and rebuilt it.
	ErrSync = errors.New("consumequeue: sync failed")
	// ErrInterrupted: Interrupt was called; what is not written stays in memory.
	ErrInterrupted = errors.New("consumequeue: interrupted")
	// ErrName: a topic or queue id that cannot be a folder's name.
	ErrName = errors.New("consumequeue: bad name")
)

// Unit is one entry of a queue.
type Unit struct {
	PhysicalOffset int64
	Size           int32
	TagsCode       int64
}

// Valid says that the unit can have been written.
func (u Unit) Valid() bool { return u.PhysicalOffset >= 0 && u.Size > 0 }

// Blank says that the unit only fills the space before a queue's first message.
func (u Unit) Blank() bool { return u.Size == blankSize && u.PhysicalOffset == 0 }

func (u Unit) end() int64 { return u.PhysicalOffset + int64(u.Size) }

// Put writes the unit to the first UnitSize bytes of b.
func (u Unit) Put(b []byte) {
	_ = b[UnitSize-1]
	binary.BigEndian.PutUint64(b, uint64(u.PhysicalOffset))
	binary.BigEndian.PutUint32(b[8:], uint32(u.Size))
	binary.BigEndian.PutUint64(b[12:], uint64(u.TagsCode))
}

// Decode reads a unit from the first UnitSize bytes of b, valid or not.
func Decode(b []byte) Unit {
	_ = b[UnitSize-1]
	return Unit{
		PhysicalOffset: int64(binary.BigEndian.Uint64(b)),
		Size:           int32(binary.BigEndian.Uint32(b[8:])),
		TagsCode:       int64(binary.BigEndian.Uint64(b[12:])),
	}
}

// MaxOffset is the greatest offset that a queue can have: file names hold offsets in bytes, in any format of units.
const MaxOffset = 1 << 56

// fileName is the name of the file whose first unit is start.
func fileName(start int64) string { return byteName(start * UnitSize) }

// parseFileName is the first unit of the file called name.
func parseFileName(name string) (start int64, ok bool) { return parseByteName(name, UnitSize) }

// byteName is n in 20 digits.
func byteName(n int64) string {
	var b [nameLen]byte
	for i := len(b) - 1; i >= 0; i-- {
		b[i] = byte('0' + n%10)
		n /= 10
	}
	return string(b[:])
}

// parseByteName is the first unit of the file called name, which has units of unitSize bytes.
func parseByteName(name string, unitSize int64) (start int64, ok bool) {
	if len(name) != nameLen {
		return 0, false
	}
	var n int64
	for i := range len(name) {
		c := name[i]
		if c < '0' || c > '9' || n > (1<<62)/10 {
			return 0, false
		}
		n = n*10 + int64(c-'0')
	}
	return n / unitSize, n%unitSize == 0
}

// parseQueueID reads the name of a queue's folder: a plain decimal, as it would be written.
func parseQueueID(name string) (id int32, ok bool) {
	if name == "" || len(name) > 10 || (name[0] == '0' && len(name) > 1) {
		return 0, false
	}
	var n int64
	for i := range len(name) {
		c := name[i]
		if c < '0' || c > '9' {
			return 0, false
		}
		n = n*10 + int64(c-'0')
	}
	return int32(n), n <= 1<<31-1
}
