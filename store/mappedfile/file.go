// Package mappedfile owns the fixed-size files of a log and decides how bytes get in and out of them.
//
// Bytes get in by pwrite only, one call per batch: a write through a mapping costs a page fault per page and more than
// that to sync. What is about to be written is prepared by a filler, which allocates the space and writes zeros ahead.
// Bytes get out through read-only mappings of parts of the file (windows) that are in memory, of which a Pool keeps a
// bounded number, so that the memory of an idle store is given back; others by pread, since a page fault that waits for
// the disk stops a scheduler thread. A file system without descriptors (tests) is always read with ReadAt.
//
// Concurrency: a File may be read by many goroutines while one writes. Readers bracket their use with Acquire and
// Release; the file is closed when it was Closed or Removed and the last of them is gone. Reading what is being written at
// the same moment is the caller's fault: it publishes the end of what was written.
package mappedfile

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"

	"github.com/seedmq/seedmq/store/fs"
)

// ErrSize means that a file on disk does not have the size that its log was configured with.
var ErrSize = errors.New("mappedfile: wrong file size")

// Options say which file to open.
type Options struct {
	FS    fs.FS
	Path  string
	Start int64 // position of the file's first byte in the log
	Size  int64 // bytes
	Pool  *Pool // mappings; nil: never map
}

// File is one file of a log.
type File struct {
	fsys  fs.FS
	path  string
	start int64
	size  int64
	f     fs.File
	osf   *os.File // nil: cannot be mapped
	pool  *Pool

	refs    atomic.Int64 // readers, plus 1 until Close
	windows []atomic.Pointer[window]
	asked   []atomic.Uint32 // per window: reads since it was found not to be in memory

	fillMu   sync.Mutex // held while zeros are written
	fillNext atomic.Int64
	alloc    int64 // end of the allocated space; under fillMu
	closed   atomic.Bool
}

// Create makes a new file of full length, all zeros, over what may be there. Its name is not yet durable.
func Create(o Options) (*File, error) {
	f, err := o.FS.Create(o.Path)
	if err != nil {
		return nil, err
	}
	if err := f.Truncate(o.Size); err != nil {
		f.Close()
		return nil, errors.Join(err, o.FS.Remove(o.Path))
	}
	return newFile(o, f), nil
}

// Open opens an existing file; ErrSize when it does not have the full length.
func Open(o Options) (*File, error) {
	f, err := o.FS.OpenFile(o.Path, os.O_RDWR, 0)
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	if err == nil && info.Size != o.Size {
		err = fmt.Errorf("%s: %d bytes, not %d: %w", o.Path, info.Size, o.Size, ErrSize)
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	return newFile(o, f), nil
}

func newFile(o Options, f fs.File) *File {
	m := &File{fsys: o.FS, path: o.Path, start: o.Start, size: o.Size, f: f, pool: o.Pool}
	if d, ok := f.(fs.Descriptor); ok && o.Pool != nil {
		m.osf = d.OSFile()
		n := (o.Size + windowSize - 1) / windowSize
		m.windows, m.asked = make([]atomic.Pointer[window], n), make([]atomic.Uint32, n)
	}
	m.refs.Store(1)
	m.fillNext.Store(o.Size) // no filling unless StartFill
	return m
}

// Start is the log position of the file's first byte.
func (f *File) Start() int64 { return f.start }

// Size is the file's length in bytes.
func (f *File) Size() int64 { return f.size }

// End is the log position after the file's last byte.
func (f *File) End() int64 { return f.start + f.size }

// Path is the file's name.
func (f *File) Path() string { return f.path }

// Stat describes the file on disk.
func (f *File) Stat() (fs.Info, error) { return f.f.Stat() }

// Acquire holds the file open until Release; false when it is gone.
func (f *File) Acquire() bool {
	for {
		n := f.refs.Load()
		if n == 0 {
			return false
		}
		if f.refs.CompareAndSwap(n, n+1) {
			return true
		}
	}
}

// Release ends an Acquire.
func (f *File) Release() {
	if f.refs.Add(-1) == 0 {
		f.dropWindows()
		f.f.Close() // everything that had to be safe was synced before
	}
}

// Close gives the file back; readers that hold it may go on. It does not sync.
func (f *File) Close() {
	if !f.closed.Swap(true) {
		f.Release()
	}
}

// Remove deletes the file's name and closes it. Its space is free once no reader holds it.
func (f *File) Remove() error {
	err := f.fsys.Remove(f.path)
	f.Close()
	return err
}

// MoveTo renames the file into dir; readers that hold it may go on.
func (f *File) MoveTo(dir string) (string, error) {
	to := filepath.Join(dir, filepath.Base(f.path))
	return to, f.fsys.Rename(f.path, to)
}

// Rename gives the file another name, which it has from then on. Nobody else may know the file yet.
func (f *File) Rename(path string) error {
	err := f.fsys.Rename(f.path, path)
	if err == nil {
		f.path = path
	}
	return err
}

// WriteAt writes all of p at off with one call, or returns how much of it and why not all. Only one goroutine may
// write a file.
func (f *File) WriteAt(p []byte, off int64) (int, error) {
	end := off + int64(len(p))
	if off < 0 || end > f.size {
		return 0, fmt.Errorf("%s: write of %d bytes at %d: %w", f.path, len(p), off, ErrSize)
	}
	if end > f.fillNext.Load() {
		f.claim(end)
	}
	n, err := f.f.WriteAt(p, off)
	if err == nil && n < len(p) {
		err = io.ErrShortWrite
	}
	return n, err
}

// ReadAt reads all of p by pread.
func (f *File) ReadAt(p []byte, off int64) error {
	n, err := f.f.ReadAt(p, off)
	if n == len(p) {
		return nil
	}
	if err == nil || err == io.EOF {
		err = io.ErrUnexpectedEOF
	}
	return err
}

// ReadNoWait reads all of p, or returns fs.ErrWouldWait when some of it is not in memory.
func (f *File) ReadNoWait(p []byte, off int64) error {
	nw, ok := f.f.(fs.NoWaiter)
	if !ok {
		return f.ReadAt(p, off)
	}
	for len(p) > 0 {
		n, err := nw.ReadAtNoWait(p, off)
		p, off = p[n:], off+int64(n)
		if len(p) == 0 {
			return nil
		}
		if err == io.EOF {
			return io.ErrUnexpectedEOF
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// Sync makes what was written so far durable.
func (f *File) Sync() error { return f.f.Datasync() }

// StartWrite asks for a range to be written out in the background.
func (f *File) StartWrite(off, n int64) error { return f.f.StartWrite(off, n) }
