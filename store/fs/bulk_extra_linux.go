package fs

import (
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
