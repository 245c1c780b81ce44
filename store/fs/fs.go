// Package fs is the only way in which the store touches files, so that tests can take the disk's place.
//
// OS is the real file system. Mem keeps everything in memory, knows what was synced and what was not, and fails on
// demand: it is what the crash tests run on. Both are safe for concurrent use; a File may be read and written by many
// goroutines at once, as pread and pwrite allow, but Close must come last.
//
// What is durable, in both: the bytes of a file after its Sync or Datasync returned nil, and a name (created, renamed or
// removed) after SyncDir of its folder returned nil. Nothing else is promised.
//
// Errors are those of package os: test with errors.Is and os.ErrNotExist, os.ErrExist, syscall.ENOSPC, syscall.EIO.
package fs

import (
	"errors"
	"io"
	"os"
	"time"
)

// ErrLocked is returned by Lock when another holder has the lock.
var ErrLocked = errors.New("fs: locked by another process")

// FS is a file system. Names are paths as the operating system writes them.
type FS interface {
	// Open opens a file for reading.
	Open(name string) (File, error)
	// Create makes a file, or empties the one that is there, for reading and writing.
	Create(name string) (File, error)
	// OpenFile is os.OpenFile; of the flags only O_RDONLY, O_RDWR, O_CREATE, O_EXCL and O_TRUNC are known.
	OpenFile(name string, flag int, perm os.FileMode) (File, error)
	// Rename moves a file, over an existing one if there is one.
	Rename(oldName, newName string) error
	// Remove deletes one file or one empty folder.
	Remove(name string) error
	// RemoveAll deletes a folder with all that is in it; no error when there is none.
	RemoveAll(name string) error
	// MkdirAll makes a folder and those above it, and makes those names durable.
	MkdirAll(dir string) error
	// List returns what is in a folder, sorted by name.
	List(dir string) ([]Info, error)
	// Stat describes a file or folder.
	Stat(name string) (Info, error)
	// SyncDir makes the names in dir durable.
	SyncDir(dir string) error
	// Lock takes an exclusive lock on the file name, making the file if needed, without waiting: ErrLocked when it is
	// taken, also by a Java broker. Closing releases it.
	Lock(name string) (io.Closer, error)
	// Usage says how full the disk under dir is.
	Usage(dir string) (Usage, error)
}

// File is an open file.
type File interface {
	io.ReaderAt
	// WriteAt writes all of p at off, or returns how much it wrote and why not all. A write beyond the end leaves a hole.
	io.WriterAt
	io.Closer
	// Name is the name that the file was opened with.
	Name() string
	// Truncate sets the length; what it adds reads as zeros.
	Truncate(size int64) error
	// Sync makes content and attributes durable.
	Sync() error
	// Datasync makes content and length durable.
	Datasync() error
	// StartWrite asks for the range to be written out soon, and waits for nothing. It promises nothing.
	StartWrite(off, n int64) error
	// Stat describes the file.
	Stat() (Info, error)
}

// Descriptor is implemented by files that can be mapped into memory.
type Descriptor interface {
	// OSFile is the file to map. The File stays its owner.
	OSFile() *os.File
}

// Info describes a file or folder.
type Info struct {
	Name    string // last element
	Size    int64  // bytes
	Dir     bool
	ModTime time.Time
}

// Usage is the state of a disk, in bytes.
type Usage struct {
	Total int64
	Free  int64 // for this user
	// UsedRatio is used / (used + free), as df shows it, 0 to 1.
	UsedRatio float64
}

// ErrWouldWait is returned by ReadAtNoWait when the bytes are not in memory.
var ErrWouldWait = errors.New("fs: read would wait for the disk")

// NoWaiter is implemented by files that can tell whether a read would wait for the disk.
type NoWaiter interface {
	// ReadAtNoWait is ReadAt, or ErrWouldWait at once. It may read less than asked for without an error.
	ReadAtNoWait(p []byte, off int64) (int, error)
}

// Allocator is implemented by files for which disk space can be reserved, which makes later writes cheaper.
type Allocator interface {
	// Allocate reserves space for a range within the file's length; its content stays as it is.
	Allocate(off, n int64) error
}

// Forgetter is implemented by files whose copy in memory can be given back.
type Forgetter interface {
	// Forget lets go of what memory holds of a range that has been written out. The range reads from disk afterwards.
	Forget(off, n int64) error
}

// ReadFile reads a whole file.
func ReadFile(f FS, name string) ([]byte, error) {
	file, err := f.Open(name)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return nil, err
	}
	b := make([]byte, info.Size)
	n, err := file.ReadAt(b, 0)
	if err == io.EOF {
		err = nil
	}
	return b[:n], err
}
