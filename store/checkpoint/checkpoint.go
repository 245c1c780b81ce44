// Package checkpoint owns the file of that name in a store's root: up to when log, queues and index are surely on disk.
//
// On disk 4096 bytes, of which the first 48 are used, big-endian:
//
//	offset  field
//	0       physicMsgTimestamp   store time (ms) of the last synced record of the log
//	8       logicsMsgTimestamp   store time (ms) of the last record whose consume queue units are synced
//	16      indexMsgTimestamp    store time (ms) of the last entry of the last full index file
//	24      masterFlushedOffset  log position
//	32      confirmPhyOffset     log position
//	40      logicsPhyOffset      log position below which all consume queue units are synced; Java 5.5.0 writes the position
//	                             of the last such record, older versions nothing
//
// Older Java versions know a beginning of these and leave the rest alone, as do we. All of it lies in one sector, which a
// disk writes whole or not at all, so the file needs no second copy.
//
// A File is safe for concurrent use.
package checkpoint

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"

	"github.com/seedmq/seedmq/store/fs"
)

// On disk, do not change.
const (
	Size     = 4096
	usedSize = 48
)

// ErrCorrupt: the file was there and held nothing that can be a checkpoint.
var ErrCorrupt = errors.New("checkpoint: corrupt")

// Values are what the file says. Zero: nothing is known.
type Values struct {
	PhysicMsgTimestamp  int64 // ms
	LogicsMsgTimestamp  int64 // ms
	IndexMsgTimestamp   int64 // ms
	MasterFlushedOffset int64
	ConfirmPhyOffset    int64
	LogicsPhyOffset     int64
}

// Encode writes v to the first 48 bytes of b.
func (v Values) Encode(b []byte) {
	for i, n := range v.longs() {
		binary.BigEndian.PutUint64(b[8*i:], uint64(n))
	}
}

func (v Values) longs() [6]int64 {
	return [6]int64{v.PhysicMsgTimestamp, v.LogicsMsgTimestamp, v.IndexMsgTimestamp, v.MasterFlushedOffset, v.ConfirmPhyOffset, v.LogicsPhyOffset}
}

// Bounds of what can be meant: the year 3084, and 64 PiB.
const (
	maxTime   = 1<<45 - 1
	maxOffset = 1<<56 - 1
)

// Decode reads a file's content. With ErrCorrupt (too short, or numbers that cannot be) the values are zero.
func Decode(b []byte) (Values, error) {
	if len(b) < usedSize {
		return Values{}, fmt.Errorf("%w: %d bytes", ErrCorrupt, len(b))
	}
	var n [6]int64
	for i := range n {
		n[i] = int64(binary.BigEndian.Uint64(b[8*i:]))
		low, high := int64(0), int64(maxTime)
		if i >= 3 {
			low, high = -1, maxOffset // Java keeps -1 for an offset that it does not know
		}
		if n[i] < low || n[i] > high {
			return Values{}, fmt.Errorf("%w: field %d is %d", ErrCorrupt, i, n[i])
		}
	}
	return Values{n[0], n[1], n[2], n[3], n[4], n[5]}, nil
}

// File is an open checkpoint.
type File struct {
	file   fs.File
	damage error

	mu struct {
		sync.Mutex
		values Values
	}
}

// Open opens the file at path or makes one. A damaged one counts as one that knows nothing: see Damage.
func Open(f fs.FS, path string) (*File, error) {
	file, err := f.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o644)
	if err != nil {
		return nil, err
	}
	c := &File{file: file}
	if err := c.load(); err != nil {
		return nil, errors.Join(err, file.Close())
	}
	return c, nil
}

func (c *File) load() error {
	var b [usedSize]byte
	n, err := c.file.ReadAt(b[:], 0)
	if err != nil && err != io.EOF {
		return err
	}
	info, err := c.file.Stat()
	if err != nil {
		return err
	}
	if info.Size > 0 {
		c.mu.values, c.damage = Decode(b[:n])
	}
	if info.Size != Size {
		return c.file.Truncate(Size)
	}
	return nil
}

// Damage is what was wrong with the file when it was opened (ErrCorrupt), or nil.
func (c *File) Damage() error { return c.damage }

// Get is what was read or set last.
func (c *File) Get() Values {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.mu.values
}

// Set writes v and makes it durable.
func (c *File) Set(v Values) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	var b [usedSize]byte
	v.Encode(b[:])
	if _, err := c.file.WriteAt(b[:], 0); err != nil {
		return err
	}
	if err := c.file.Datasync(); err != nil {
		return err
	}
	c.mu.values = v
	return nil
}

// Close closes the file. It writes nothing.
func (c *File) Close() error { return c.file.Close() }
