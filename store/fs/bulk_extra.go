package fs

import "os"

// MakeDirs is MkdirAll, except that the new names need not be durable when it returns: whoever makes thousands of folders
// syncs them together, with SyncDir or SyncAll.
func MakeDirs(f FS, dir string) error {
	if m, ok := f.(interface{ MakeDirs(string) error }); ok {
		return m.MakeDirs(dir)
	}
	return f.MkdirAll(dir)
}

// SyncAll makes all files and names on the disk under dir durable with one operation: cheaper than syncing some hundred
// files one by one. ok is false, and nothing was done, where the file system has no such operation.
func SyncAll(f FS, dir string) (ok bool, err error) {
	if s, ok := f.(interface{ SyncAll(string) error }); ok {
		return true, s.SyncAll(dir)
	}
	return false, nil
}

// MakeDirs is os.MkdirAll.
func (OS) MakeDirs(dir string) error { return os.MkdirAll(dir, 0o755) }

// HasData says whether f may hold anything but a hole from off on. It is true where the file system cannot tell.
func HasData(f File, off int64) bool {
	if d, ok := f.(interface{ HasData(int64) bool }); ok {
		return d.HasData(off)
	}
	return true
}
