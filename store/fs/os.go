package fs

import (
	"errors"
	"io"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// OS is the operating system's file system.
type OS struct{}

var _ FS = OS{}

// Open opens a file for reading.
func (OS) Open(name string) (File, error) { return OS{}.OpenFile(name, os.O_RDONLY, 0) }

// Create makes or empties a file.
func (OS) Create(name string) (File, error) {
	return OS{}.OpenFile(name, os.O_RDWR|os.O_CREATE|os.O_TRUNC, 0o644)
}

// OpenFile is os.OpenFile.
func (OS) OpenFile(name string, flag int, perm os.FileMode) (File, error) {
	f, err := os.OpenFile(name, flag, perm)
	if err != nil {
		return nil, err
	}
	return &osFile{f}, nil
}

// Rename is os.Rename.
func (OS) Rename(oldName, newName string) error { return os.Rename(oldName, newName) }

// Remove is os.Remove.
func (OS) Remove(name string) error { return os.Remove(name) }

// RemoveAll is os.RemoveAll.
func (OS) RemoveAll(name string) error { return os.RemoveAll(name) }

// MkdirAll makes dir and syncs the folder above each one that it made.
func (o OS) MkdirAll(dir string) error {
	if info, err := os.Stat(dir); err == nil && info.IsDir() {
		return nil
	}
	up := filepath.Dir(dir)
	if up != dir {
		if err := o.MkdirAll(up); err != nil {
			return err
		}
	}
	if err := os.Mkdir(dir, 0o755); err != nil && !errors.Is(err, os.ErrExist) {
		return err
	}
	return o.SyncDir(up)
}

// List returns what is in dir, sorted by name.
func (OS) List(dir string) ([]Info, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	out := make([]Info, 0, len(entries))
	for _, e := range entries {
		info, err := e.Info()
		if errors.Is(err, os.ErrNotExist) {
			continue // removed since the folder was read
		}
		if err != nil {
			return nil, err
		}
		out = append(out, infoOf(info))
	}
	return out, nil
}

// Stat is os.Stat.
func (OS) Stat(name string) (Info, error) {
	info, err := os.Stat(name)
	if err != nil {
		return Info{}, err
	}
	return infoOf(info), nil
}

// SyncDir is fsync of the folder.
func (OS) SyncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer d.Close()
	return d.Sync()
}

// Lock locks byte 0 of the file as Java's FileLock does, and the whole file against other users in this process.
func (OS) Lock(name string) (io.Closer, error) {
	f, err := os.OpenFile(name, os.O_RDWR|os.O_CREATE, 0o644)
	if err != nil {
		return nil, err
	}
	if err := lockFile(int(f.Fd())); err != nil {
		f.Close()
		if errors.Is(err, unix.EAGAIN) || errors.Is(err, unix.EACCES) {
			return nil, &os.PathError{Op: "lock", Path: name, Err: ErrLocked}
		}
		return nil, &os.PathError{Op: "lock", Path: name, Err: err}
	}
	return f, nil
}

// Usage is statfs.
func (OS) Usage(dir string) (Usage, error) {
	var s unix.Statfs_t
	if err := unix.Statfs(dir, &s); err != nil {
		return Usage{}, &os.PathError{Op: "statfs", Path: dir, Err: err}
	}
	size := int64(s.Bsize)
	used := (int64(s.Blocks) - int64(s.Bfree)) * size
	u := Usage{Total: int64(s.Blocks) * size, Free: int64(s.Bavail) * size}
	if used+u.Free > 0 {
		u.UsedRatio = float64(used) / float64(used+u.Free)
	}
	return u, nil
}

func infoOf(i os.FileInfo) Info {
	return Info{Name: i.Name(), Size: i.Size(), Dir: i.IsDir(), ModTime: i.ModTime()}
}

type osFile struct{ *os.File }

func (f *osFile) OSFile() *os.File { return f.File }

func (f *osFile) Stat() (Info, error) {
	i, err := f.File.Stat()
	if err != nil {
		return Info{}, err
	}
	return infoOf(i), nil
}
