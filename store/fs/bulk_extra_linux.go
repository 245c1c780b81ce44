package fs

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// SyncAll is syncfs. It reports write-back errors since the last call, Linux 5.8 and later.
func (OS) SyncAll(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer d.Close()
	if err := unix.Syncfs(int(d.Fd())); err != nil {
		return &os.PathError{Op: "syncfs", Path: dir, Err: err}
	}
	return nil
}

// HasData is lseek with SEEK_DATA.
func (f *osFile) HasData(off int64) bool {
	_, err := unix.Seek(int(f.Fd()), off, unix.SEEK_DATA)
	return !errors.Is(err, unix.ENXIO)
}
