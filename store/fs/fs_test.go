package fs

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

// each runs a test on every implementation.
func each(t *testing.T, fn func(t *testing.T, f FS, dir string)) {
	t.Run("os", func(t *testing.T) { fn(t, OS{}, t.TempDir()) })
	t.Run("mem", func(t *testing.T) {
		m := NewMem(nil)
		if err := m.MkdirAll("/data"); err != nil {
			t.Fatal(err)
		}
		fn(t, m, "/data")
	})
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func TestReadWrite(t *testing.T) {
	each(t, func(t *testing.T, f FS, dir string) {
		name := filepath.Join(dir, "a")
		if _, err := f.Open(name); !errors.Is(err, os.ErrNotExist) {
			t.Fatalf("open of nothing: %v", err)
		}
		file, err := f.Create(name)
		must(t, err)
		_, err = file.WriteAt([]byte("world"), 6)
		must(t, err)
		_, err = file.WriteAt([]byte("hello"), 0)
		must(t, err)
		must(t, file.Datasync())
		must(t, file.Sync())
		must(t, file.StartWrite(0, 11))
		if b, err := ReadFile(f, name); err != nil || string(b) != "hello\x00world" {
			t.Fatalf("read %q, %v", b, err)
		}
		p := make([]byte, 8)
		if n, err := file.ReadAt(p, 6); n != 5 || err != io.EOF {
			t.Fatalf("read at the end: %d, %v", n, err)
		}
		must(t, file.Truncate(3))
		must(t, file.Truncate(5))
		if b, err := ReadFile(f, name); err != nil || string(b) != "hel\x00\x00" {
			t.Fatalf("after truncate %q, %v", b, err)
		}
		must(t, file.Close())
		if _, err := file.ReadAt(p, 0); !errors.Is(err, os.ErrClosed) {
			t.Fatalf("read after close: %v", err)
		}
	})
}

func TestNames(t *testing.T) {
	each(t, func(t *testing.T, f FS, dir string) {
		must(t, f.MkdirAll(filepath.Join(dir, "x", "y")))
		for _, n := range []string{"b", "a", "x/y/c"} {
			file, err := f.OpenFile(filepath.Join(dir, n), os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o644)
			must(t, err)
			_, err = file.WriteAt([]byte(n), 0)
			must(t, err)
			must(t, file.Close())
		}
		if _, err := f.OpenFile(filepath.Join(dir, "a"), os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o644); !errors.Is(err, os.ErrExist) {
			t.Fatalf("exclusive create: %v", err)
		}
		must(t, f.Rename(filepath.Join(dir, "a"), filepath.Join(dir, "b")))
		must(t, f.SyncDir(dir))
		list, err := f.List(dir)
		must(t, err)
		if len(list) != 2 || list[0].Name != "b" || list[0].Size != 1 || list[1].Name != "x" || !list[1].Dir {
			t.Fatalf("list: %+v", list)
		}
		if err := f.Remove(filepath.Join(dir, "x")); err == nil {
			t.Fatal("removed a folder that is not empty")
		}
		must(t, f.RemoveAll(filepath.Join(dir, "x")))
		must(t, f.RemoveAll(filepath.Join(dir, "x")))
		if _, err := f.Stat(filepath.Join(dir, "x", "y", "c")); !errors.Is(err, os.ErrNotExist) {
			t.Fatalf("stat: %v", err)
		}
	})
}

func TestLock(t *testing.T) {
	each(t, func(t *testing.T, f FS, dir string) {
		l, err := f.Lock(filepath.Join(dir, "lock"))
		must(t, err)
		if _, err := f.Lock(filepath.Join(dir, "lock")); !errors.Is(err, ErrLocked) {
			t.Fatalf("second lock: %v", err)
		}
		must(t, l.Close())
		l, err = f.Lock(filepath.Join(dir, "lock"))
		must(t, err)
		must(t, l.Close())
	})
}

func TestUsage(t *testing.T) {
	each(t, func(t *testing.T, f FS, dir string) {
		u, err := f.Usage(dir)
		must(t, err)
		if u.Total <= 0 || u.UsedRatio < 0 || u.UsedRatio > 1 {
			t.Fatalf("usage %+v", u)
		}
	})
}

func TestCrashKeepsWhatWasSynced(t *testing.T) {
	for seed := uint64(0); seed < 64; seed++ {
		m := NewMem(nil)
		must(t, m.MkdirAll("/d"))
		f, err := m.Create("/d/a")
		must(t, err)
		want := bytes.Repeat([]byte("s"), 4*sector)
		_, err = f.WriteAt(want, 0)
		must(t, err)
		must(t, f.Datasync())
		must(t, m.SyncDir("/d"))
		_, err = f.WriteAt(bytes.Repeat([]byte("u"), 3*sector), sector)
		must(t, err)
		must(t, m.Rename("/d/a", "/d/b"))

		after := m.Crash(seed)
		if _, err := f.WriteAt(want, 0); !errors.Is(err, ErrKilled) {
			t.Fatalf("write after the crash: %v", err)
		}
		got, err := ReadFile(after, "/d/a")
		if err != nil {
			got, err = ReadFile(after, "/d/b")
		}
		must(t, err)
		if len(got) != len(want) || !bytes.Equal(got[:sector], want[:sector]) {
			t.Fatalf("seed %d: the synced sector is gone: %q", seed, got)
		}
		for i := sector; i < len(got); i += sector {
			if s := got[i : i+sector]; bytes.Count(s, []byte("s"))%sector != 0 {
				t.Fatalf("seed %d: torn sector %q", seed, s)
			}
		}
	}
}

func TestRebootKeepsAll(t *testing.T) {
	m := NewMem(nil)
	f, err := m.Create("/a")
	must(t, err)
	_, err = f.WriteAt([]byte("written"), 0)
	must(t, err)
	_, err = m.Lock("/lock")
	must(t, err)
	m.Kill()
	after := m.Reboot()
	if b, err := ReadFile(after, "/a"); err != nil || string(b) != "written" {
		t.Fatalf("%q, %v", b, err)
	}
	_, err = after.Lock("/lock")
	must(t, err)
}

func TestFaults(t *testing.T) {
	m := NewMem(nil)
	f, err := m.Create("/a")
	must(t, err)
	m.SetHook(func(op Op) Fault {
		switch {
		case op.Kind == OpWrite && op.Off == 0:
			return Fault{Err: syscall.EIO, Short: 2}
		case op.Kind == OpSync:
			return Fault{Kill: true}
		}
		return Fault{}
	})
	if n, err := f.WriteAt([]byte("abcd"), 0); n != 2 || !errors.Is(err, syscall.EIO) {
		t.Fatalf("%d, %v", n, err)
	}
	_, err = f.WriteAt([]byte("ef"), 2)
	must(t, err)
	if err := f.Sync(); !errors.Is(err, ErrKilled) {
		t.Fatal(err)
	}
	if b, err := ReadFile(m.Reboot(), "/a"); err != nil || string(b) != "abef" {
		t.Fatalf("%q, %v", b, err)
	}
}

func TestCapacity(t *testing.T) {
	m := NewMem(nil)
	m.SetCapacity(10)
	f, err := m.Create("/a")
	must(t, err)
	if n, err := f.WriteAt(make([]byte, 12), 0); n != 10 || !errors.Is(err, syscall.ENOSPC) {
		t.Fatalf("%d, %v", n, err)
	}
	must(t, f.Close())
	must(t, m.Remove("/a"))
	u, err := m.Usage("/")
	must(t, err)
	if u.Free != 10 {
		t.Fatalf("usage %+v", u)
	}
}

func TestReadAtNoWait(t *testing.T) {
	each(t, func(t *testing.T, f FS, dir string) {
		file, err := f.Create(filepath.Join(dir, "a"))
		must(t, err)
		defer file.Close()
		_, err = file.WriteAt([]byte("warm"), 0)
		must(t, err)
		p := make([]byte, 4)
		if n, err := file.(NoWaiter).ReadAtNoWait(p, 0); err != nil || string(p[:n]) != "warm" {
			t.Fatalf("%q, %v", p, err)
		}
		if m, ok := f.(*Mem); ok {
			m.SetCold(func(string, int64) bool { return true })
			if _, err := file.(NoWaiter).ReadAtNoWait(p, 0); !errors.Is(err, ErrWouldWait) {
				t.Fatalf("cold: %v", err)
			}
		}
	})
}

// A folder that is removed and made again is there after a power failure, whatever order names are synced in.
func TestMemFolderMadeAgain(t *testing.T) {
	m := NewMem(nil)
	must(t, m.MkdirAll("/a/b"))
	must(t, m.Remove("/a/b"))
	must(t, m.MkdirAll("/a/b"))
	f, err := m.Create("/a/b/f")
	must(t, err)
	must(t, f.Close())
	must(t, m.SyncDir("/a/b"))
	for seed := range uint64(20) {
		if list, err := m.Crash(seed).List("/a"); err != nil || len(list) != 1 {
			t.Fatal(seed, list, err)
		}
	}
}

// Folders of MakeDirs are durable when their parents' names are synced.
func TestMemMakeDirs(t *testing.T) {
	m := NewMem(nil)
	must(t, MakeDirs(m, "/a/b"))
	m = m.Reboot() // of the process: what was not synced still is not
	lost := 0
	for seed := range uint64(20) {
		if _, err := m.Crash(seed).Stat("/a"); err != nil {
			lost++
		}
	}
	if lost == 0 {
		t.Fatal("a folder is durable that nobody synced")
	}
	m = m.Reboot()
	must(t, m.SyncDir("/a"))
	for seed := range uint64(20) {
		if _, err := m.Crash(seed).Stat("/a/b"); err != nil {
			t.Fatal(seed, err)
		}
	}
}
