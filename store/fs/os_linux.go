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

// lockFile takes an open-file-description lock: unlike a plain POSIX lock it also excludes other users in this
// process and survives the closing of other descriptors, and POSIX locks such as Java's still conflict with it.
func lockFile(fd int) error {
	return unix.FcntlFlock(uintptr(fd), unix.F_OFD_SETLK, &unix.Flock_t{Type: unix.F_WRLCK, Whence: io.SeekStart, Start: 0, Len: 1})
}
