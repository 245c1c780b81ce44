package mappedfile

import (
	"bytes"
	"errors"
	"math/rand/v2"
	"path/filepath"
	"sync"
	"syscall"
	"testing"

	"github.com/seedmq/seedmq/store/fs"
)

func each(t *testing.T, fn func(t *testing.T, o Options)) {
	t.Run("os", func(t *testing.T) {
		fn(t, Options{FS: fs.OS{}, Path: filepath.Join(t.TempDir(), "a"), Start: 100, Size: 3 * windowSize, Pool: NewPool(2 * windowSize)})
	})
	t.Run("mem", func(t *testing.T) {
		fn(t, Options{FS: fs.NewMem(nil), Path: "/a", Start: 100, Size: 3 * windowSize, Pool: NewPool(2 * windowSize)})
	})
}

func create(t *testing.T, o Options) *File {
	t.Helper()
	f, err := Create(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(f.Close)
	return f
}

func pattern(n int, seed uint64) []byte {
	rng := rand.New(rand.NewPCG(seed, 0))
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(rng.Uint32())
	}
	return b
}

func TestWrittenIsRead(t *testing.T) {
	each(t, func(t *testing.T, o Options) {
		f := create(t, o)
		if f.Start() != 100 || f.End() != 100+o.Size {
			t.Fatalf("positions %d, %d", f.Start(), f.End())
		}
		want := pattern(200_000, 1)
		for _, off := range []int64{0, windowSize - 100_000, 2*windowSize - 5, o.Size - 200_000} {
			if n, err := f.WriteAt(want, off); n != len(want) || err != nil {
				t.Fatalf("write at %d: %d, %v", off, n, err)
			}
			for name, read := range map[string]func([]byte, int64) error{"hot": f.ReadHot, "cold": f.ReadAt, "nowait": f.ReadNoWait} {
				got := make([]byte, len(want))
				if err := read(got, off); err != nil || !bytes.Equal(got, want) {
					t.Fatalf("%s read at %d: %v, equal %v", name, off, err, bytes.Equal(got, want))
				}
			}
		}
		if _, err := f.WriteAt(want, o.Size-1); !errors.Is(err, ErrSize) {
			t.Fatalf("write behind the end: %v", err)
		}
		if err := f.ReadAt(make([]byte, 2), o.Size-1); err == nil {
			t.Fatal("read behind the end")
		}
	})
}

func TestOpenChecksTheSize(t *testing.T) {
	each(t, func(t *testing.T, o Options) {
		create(t, o)
		o.Size++
		if _, err := Open(o); !errors.Is(err, ErrSize) {
			t.Fatal(err)
		}
		o.Size--
		f, err := Open(o)
		if err != nil {
			t.Fatal(err)
		}
		f.Close()
	})
}

func TestHeldFileSurvivesRemove(t *testing.T) {
	each(t, func(t *testing.T, o Options) {
		f := create(t, o)
		if _, err := f.WriteAt([]byte("held"), 0); err != nil {
			t.Fatal(err)
		}
		if !f.Acquire() {
			t.Fatal("cannot acquire")
		}
		if err := f.Remove(); err != nil {
			t.Fatal(err)
		}
		got := make([]byte, 4)
		if err := f.ReadHot(got, 0); err != nil || string(got) != "held" {
			t.Fatalf("%q, %v", got, err)
		}
		f.Release()
		if f.Acquire() {
			t.Fatal("acquired a removed file")
		}
	})
}

func TestPoolIsBoundedAndSwept(t *testing.T) {
	o := Options{FS: fs.OS{}, Path: filepath.Join(t.TempDir(), "a"), Size: 6*windowSize + 10, Pool: NewPool(2 * windowSize)}
	f := create(t, o)
	var wg sync.WaitGroup
	for g := range 4 {
		wg.Go(func() {
			b := make([]byte, 64)
			for i := range 500 {
				if err := f.ReadHot(b, int64((i*7+g)%6)*windowSize+int64(i)); err != nil {
					t.Error(err)
				}
				if i%100 == 0 {
					o.Pool.Sweep()
				}
			}
		})
	}
	wg.Wait()
	if m := o.Pool.Mapped(); m > 2*windowSize {
		t.Fatalf("%d bytes mapped", m)
	}
	if err := f.ReadHot(make([]byte, 10), 6*windowSize); err != nil {
		t.Fatal(err)
	}
	for range 3 {
		o.Pool.Sweep()
	}
	if m := o.Pool.Mapped(); m != 0 {
		t.Fatalf("%d bytes mapped after the sweep", m)
	}
}

func TestFillKeepsOffTheWriter(t *testing.T) {
	each(t, func(t *testing.T, o Options) {
		f := create(t, o)
		f.StartFill(1000)
		var wg sync.WaitGroup
		wg.Go(func() {
			for {
				n, err := f.Fill(1 << 20)
				if err != nil {
					t.Error(err)
				}
				if n == 0 {
					return
				}
			}
		})
		want := pattern(int(o.Size)/8, 2)
		for off := 0; off < len(want); off += 10_000 {
			p := want[off:min(off+10_000, len(want))]
			if _, err := f.WriteAt(p, 1000+int64(off)); err != nil {
				t.Fatal(err)
			}
		}
		wg.Wait()
		got := make([]byte, len(want))
		if err := f.ReadAt(got, 1000); err != nil || !bytes.Equal(got, want) {
			t.Fatalf("the filler wrote over data: %v", err)
		}
		if f.Filled() != o.Size {
			t.Fatalf("filled to %d", f.Filled())
		}
	})
}

func TestForget(t *testing.T) {
	each(t, func(t *testing.T, o Options) {
		f := create(t, o)
		want := pattern(3*windowSize, 3)
		if _, err := f.WriteAt(want, 0); err != nil {
			t.Fatal(err)
		}
		if err := f.Sync(); err != nil {
			t.Fatal(err)
		}
		got := make([]byte, len(want))
		if err := f.ReadHot(got, 0); err != nil {
			t.Fatal(err)
		}
		before := int64(0)
		if o.Pool != nil {
			before = o.Pool.Mapped()
		}
		f.Forget(windowSize, windowSize)
		if o.Pool != nil && before > 0 {
			if f.windows[1].Load() != nil {
				t.Error("the forgotten range is still mapped")
			}
			if m := o.Pool.Mapped(); m > before-windowSize {
				t.Errorf("%d bytes mapped, %d before", m, before)
			}
		}
		clear(got)
		if err := f.ReadHot(got, 0); err != nil || !bytes.Equal(got, want) {
			t.Fatalf("what was forgotten does not read back: %v", err)
		}
	})
}

func TestShortWriteIsTold(t *testing.T) {
	m := fs.NewMem(nil)
	f := create(t, Options{FS: m, Path: "/a", Size: 1 << 20})
	m.SetHook(func(op fs.Op) fs.Fault { return fs.Fault{Err: syscall.ENOSPC, Short: 3} })
	if n, err := f.WriteAt([]byte("abcdef"), 0); n != 3 || !errors.Is(err, syscall.ENOSPC) {
		t.Fatalf("%d, %v", n, err)
	}
}
