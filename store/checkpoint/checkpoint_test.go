package checkpoint

import (
	"bytes"
	"encoding/hex"
	"errors"
	"strings"
	"testing"

	"github.com/seedmq/seedmq/store/fs"
)

// java is the beginning of the file that a Java broker 5.5.0 left, and what it says.
const java = "000001a22cdc82f0000001a22cdbd4190000000000000000000000000000000000000000000000000000000000 07bbf6"

var javaValues = Values{PhysicMsgTimestamp: 1796048978672, LogicsMsgTimestamp: 1796048933913, LogicsPhyOffset: 506870}

func javaFile(t testing.TB) []byte {
	t.Helper()
	b, err := hex.DecodeString(strings.ReplaceAll(java, " ", ""))
	if err != nil {
		t.Fatal(err)
	}
	return append(b, make([]byte, Size-len(b))...)
}

func write(t *testing.T, m *fs.Mem, b []byte) {
	t.Helper()
	f, err := m.Create("/checkpoint")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.WriteAt(b, 0); err != nil {
		t.Fatal(err)
	}
}

func TestJava(t *testing.T) {
	m := fs.NewMem(nil)
	want := javaFile(t)
	write(t, m, want)
	c, err := Open(m, "/checkpoint")
	if err != nil || c.Damage() != nil || c.Get() != javaValues {
		t.Fatalf("%v %v %+v", err, c.Damage(), c.Get())
	}
	if err := errors.Join(c.Set(javaValues), c.Close()); err != nil {
		t.Fatal(err)
	}
	if got, _ := fs.ReadFile(m, "/checkpoint"); !bytes.Equal(got, want) {
		t.Fatalf("wrote % x", got[:64])
	}
}

func TestDamage(t *testing.T) {
	noise := bytes.Repeat([]byte{0x7f, 0x99, 3}, Size/3)
	for name, b := range map[string][]byte{"short": javaFile(t)[:40], "noise": noise} {
		m := fs.NewMem(nil)
		write(t, m, b)
		c, err := Open(m, "/checkpoint")
		if err != nil || !errors.Is(c.Damage(), ErrCorrupt) || c.Get() != (Values{}) {
			t.Fatalf("%s: %v %v %+v", name, err, c.Damage(), c.Get())
		}
		if err := c.Set(javaValues); err != nil {
			t.Fatal(err)
		}
		if c, err = Open(m, "/checkpoint"); err != nil || c.Damage() != nil || c.Get() != javaValues {
			t.Fatalf("%s: after Set %v %v %+v", name, err, c.Damage(), c.Get())
		}
	}
	m := fs.NewMem(nil)
	for range 2 { // missing, then empty or whole
		c, err := Open(m, "/checkpoint")
		if err != nil || c.Damage() != nil || c.Get() != (Values{}) {
			t.Fatalf("%v %+v", err, c)
		}
	}
	write(t, m, nil)
	if c, err := Open(m, "/checkpoint"); err != nil || c.Damage() != nil {
		t.Fatal("an empty file is a new one", err)
	}
}

// TestCrash: after a crash at any operation the file holds what was set last, or what was being set.
func TestCrash(t *testing.T) {
	run := func(m *fs.Mem) (done int64) {
		c, err := Open(m, "/checkpoint")
		if err == nil {
			err = m.SyncDir("/")
		}
		for n := int64(1); n <= 5 && err == nil; n++ {
			if err = c.Set(Values{n, n, n, n, n, n}); err == nil {
				done = n
			}
		}
		return done
	}
	dry := fs.NewMem(nil)
	run(dry)
	for stop := int64(1); stop <= dry.Ops(); stop++ {
		for seed := range uint64(16) {
			m := fs.NewMem(nil)
			m.SetHook(func(op fs.Op) fs.Fault { return fs.Fault{Kill: op.N == stop} })
			done := run(m)
			c, err := Open(m.Crash(seed), "/checkpoint")
			if err != nil {
				t.Fatal(err)
			}
			n := c.Get().PhysicMsgTimestamp
			if n != done && n != done+1 || c.Get() != (Values{n, n, n, n, n, n}) {
				t.Fatalf("stop %d seed %d: %d set, %+v found", stop, seed, done, c.Get())
			}
		}
	}
}

// FuzzDecode: no panic, and what is accepted is written as it was read.
func FuzzDecode(f *testing.F) {
	f.Add(javaFile(f))
	f.Add([]byte{1, 2, 3})
	f.Add(bytes.Repeat([]byte{0xff}, usedSize))
	f.Fuzz(func(t *testing.T, b []byte) {
		v, err := Decode(b)
		if err != nil {
			if !errors.Is(err, ErrCorrupt) || v != (Values{}) {
				t.Fatal(v, err)
			}
			return
		}
		var out [usedSize]byte
		v.Encode(out[:])
		if !bytes.Equal(out[:], b[:usedSize]) {
			t.Fatalf("%x became %x", b[:usedSize], out)
		}
	})
}
