package fs

import (
	"errors"
	"io"
	"os"

	"golang.org/x/sys/unix"
)

// Datasync is fdatasync.
func (f *osFile) Datasync() error {
	for {
		err := unix.Fdatasync(int(f.Fd()))
		if err == nil {
			return nil
		}
		if !errors.Is(err, unix.EINTR) {
			return &os.PathError{Op: "fdatasync", Path: f.Name(), Err: err}
		}
	}
}

// StartWrite is sync_file_range without waiting.
func (f *osFile) StartWrite(off, n int64) error {
	return unix.SyncFileRange(int(f.Fd()), off, n, unix.SYNC_FILE_RANGE_WRITE)
}

// ReadAtNoWait is preadv2 with RWF_NOWAIT. Where the file system does not know that, it is ReadAt.
func (f *osFile) ReadAtNoWait(p []byte, off int64) (int, error) {
	for {
		n, err := unix.Preadv2(int(f.Fd()), [][]byte{p}, off, unix.RWF_NOWAIT)
		switch {
		case err == nil && n == 0 && len(p) > 0:
			return 0, io.EOF
		case err == nil:
			return n, nil
		case errors.Is(err, unix.EAGAIN):
			return 0, ErrWouldWait
		case errors.Is(err, unix.EOPNOTSUPP) || errors.Is(err, unix.ENOSYS):
			return f.ReadAt(p, off)
		case !errors.Is(err, unix.EINTR):
			return 0, &os.PathError{Op: "preadv2", Path: f.Name(), Err: err}
		}
	}
}

// Allocate is fallocate. A file system that cannot do it is no error.
func (f *osFile) Allocate(off, n int64) error {
	err := unix.Fallocate(int(f.Fd()), unix.FALLOC_FL_KEEP_SIZE, off, n)
	if err != nil && !errors.Is(err, unix.EOPNOTSUPP) {
		return &os.PathError{Op: "fallocate", Path: f.Name(), Err: err}
	}
	return nil
}

// Forget is posix_fadvise(DONTNEED).
func (f *osFile) Forget(off, n int64) error {
	return unix.Fadvise(int(f.Fd()), off, n, unix.FADV_DONTNEED)
}

// FreeMemoryIsReturned says that this is a virtual machine that gives free memory back to its host (free page
// reporting): taking memory that was never used, or not lately, then costs ten times what reusing some costs.
func FreeMemoryIsReturned() bool {
	_, err := os.Stat("/sys/module/page_reporting/parameters/page_reporting_order")
	return err == nil
}

// PhysicalMemory is the size of the machine's memory in bytes.
func PhysicalMemory() int64 {
	var s unix.Sysinfo_t
	if unix.Sysinfo(&s) != nil {
		return 4 << 30
	}
	return int64(s.Totalram) * int64(s.Unit)
}

// lockFile takes an open-file-description lock: unlike a plain POSIX lock it also excludes other users in this
// process and survives the closing of other descriptors, and POSIX locks such as Java's still conflict with it.
func lockFile(fd int) error {
	return unix.FcntlFlock(uintptr(fd), unix.F_OFD_SETLK, &unix.Flock_t{Type: unix.F_WRLCK, Whence: io.SeekStart, Start: 0, Len: 1})
}
