//go:build !linux

package fs

import (
	"io"

	"golang.org/x/sys/unix"
)

// Datasync is Sync where there is no fdatasync.
func (f *osFile) Datasync() error { return f.Sync() }

// StartWrite does nothing here.
func (f *osFile) StartWrite(off, n int64) error { return nil }

// PhysicalMemory is a guess at the size of the machine's memory in bytes.
func PhysicalMemory() int64 { return 4 << 30 }

func lockFile(fd int) error {
	if err := unix.Flock(fd, unix.LOCK_EX|unix.LOCK_NB); err != nil {
		return err
	}
	return unix.FcntlFlock(uintptr(fd), unix.F_SETLK, &unix.Flock_t{Type: unix.F_WRLCK, Whence: io.SeekStart, Start: 0, Len: 1})
}

// FreeMemoryIsReturned is not known here.
func FreeMemoryIsReturned() bool { return false }
