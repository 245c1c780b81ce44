package fs

import (
	"path/filepath"
	"testing"
)

func TestBulk(t *testing.T) {
	each(t, func(t *testing.T, f FS, dir string) {
		must(t, MakeDirs(f, filepath.Join(dir, "a", "b")))
		file, err := f.Create(filepath.Join(dir, "a", "b", "c"))
		must(t, err)
		must(t, file.Truncate(1<<20))
		_, err = file.WriteAt([]byte{1}, 100_000)
		must(t, err)
		if !HasData(file, 100_000) {
			t.Fatal("no data where something was written")
		}
		if _, inMemory := f.(*Mem); inMemory && HasData(file, 500_000) { // a disk's file system may not tell
			t.Fatal("data in a hole")
		}
		_, err = SyncAll(f, dir)
		must(t, err)
		must(t, file.Close())
	})
}
