package offline

import (
	"bytes"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/seedmq/seedmq/store"
	storefs "github.com/seedmq/seedmq/store/fs"
	"github.com/seedmq/seedmq/store/internal/fixture"
)

// inMemory is a store on a disk in memory, everything synced.
func inMemory(t testing.TB, files map[string]string) *storefs.Mem {
	t.Helper()
	m := storefs.NewMem(nil)
	for name, content := range files {
		name = filepath.Join("/s", name)
		if err := m.MkdirAll(filepath.Dir(name)); err != nil {
			t.Fatal(err)
		}
		f, err := m.Create(name)
		if err == nil {
			_, err = f.WriteAt([]byte(content), 0)
		}
		if err == nil {
			err = errors.Join(f.Sync(), f.Close(), m.SyncDir(filepath.Dir(name)))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return m
}

// below is what is in a folder of a disk in memory.
func below(t testing.TB, m *storefs.Mem, dir string) map[string]string {
	t.Helper()
	out := map[string]string{}
	list, err := m.List(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, i := range list {
		name := filepath.Join(dir, i.Name)
		if i.Dir {
			for inner, content := range below(t, m, name) {
				out[filepath.Join(i.Name, inner)] = content
			}
			continue
		}
		b, err := storefs.ReadFile(m, name)
		if err != nil {
			t.Fatal(err)
		}
		out[i.Name] = string(b)
	}
	return out
}

// points are moments, numbered by operation, at which the process is killed or the power fails.
const points = 25

// Whatever the moment, the command again, or a broker's start, finishes what was begun.
func TestRepairsSurviveKills(t *testing.T) {
	dir := unpack(t, fixture.Clean)
	files := digest(t, dir)
	cutAt := boundaries(t, dir)[2]
	repairs := map[string]func(o Options) error{
		"rebuild": func(o Options) error { _, err := Rebuild(o, What{}); return err },
		"cut":     func(o Options) error { _, err := Cut(o, cutAt); return err },
	}
	for name, repair := range repairs {
		m := inMemory(t, files)
		var ops int64
		first := m.Ops()
		if err := repair(Options{Root: "/s", FS: m}); err != nil {
			t.Fatal(err)
		}
		ops = m.Ops() - first
		want := below(t, m, "/s/consumequeue")
		for n := int64(1); n <= ops; n += max(ops/points, 1) {
			for _, power := range []bool{false, true} {
				m := inMemory(t, files)
				at := m.Ops() + n
				m.SetHook(func(op storefs.Op) storefs.Fault { return storefs.Fault{Kill: op.N >= at} })
				if err := repair(Options{Root: "/s", FS: m}); err == nil {
					continue // what came after the last step that matters
				}
				after := m.Reboot
				if power {
					after = func() *storefs.Mem { return m.Crash(uint64(n)) }
				}
				t.Run(fmt.Sprintf("%s/%d/power=%v", name, n, power), func(t *testing.T) { finish(t, after(), repair, want) })
			}
		}
	}
}

func finish(t *testing.T, m *storefs.Mem, repair func(o Options) error, want map[string]string) {
	o := Options{Root: "/s", FS: m}
	s, err := store.Open(store.Options{Root: "/s", FS: m, NoPrepare: true, IndexEnabled: true, CommitLogFileSize: fixture.CommitLogFileSize,
		QueueFileUnits: fixture.QueueFileUnits, IndexSlots: fixture.IndexSlots, IndexEntries: fixture.IndexEntries})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	good := func(when string) {
		t.Helper()
		r, err := Check(o)
		if err != nil {
			t.Fatal(err)
		}
		if r.State() != Good {
			var b bytes.Buffer
			r.Print(&b)
			t.Fatalf("%s: %s", when, b.String())
		}
	}
	good("after a start")
	if err := repair(o); err != nil {
		t.Fatal(err)
	}
	good("after the command again")
	same(t, below(t, m, "/s/consumequeue"), want)
}

// FuzzCheck: whatever stands in a file, checking ends with a verdict and changes nothing.
func FuzzCheck(f *testing.F) {
	files := digest(f, unpack(f, fixture.Clean))
	names := []string{log0, log1, fill, idx, "checkpoint", "config/topics.json", "consumequeue/SCHEDULE_TOPIC_XXXX/2/00000000000000000000"}
	small := map[string]string{}
	for name, content := range files {
		if !strings.HasPrefix(name, "consumequeue/") || name == fill || strings.Contains(name, "SCHEDULE") {
			small[name] = content
		}
	}
	f.Add(uint8(0), uint32(276), []byte("noise"), false)
	f.Add(uint8(1), uint32(4), []byte{0, 0, 0, 0}, true)
	f.Add(uint8(2), uint32(20), bytes.Repeat([]byte{0x7f}, 20), false)
	f.Add(uint8(3), uint32(36), []byte{0x7f, 0xff, 0xff, 0xff}, false)
	f.Add(uint8(3), uint32(4060), []byte{0xff}, true)
	f.Add(uint8(4), uint32(0), []byte{0xff}, false)
	f.Add(uint8(5), uint32(1), []byte("{"), true)
	f.Add(uint8(6), uint32(8), []byte{0x80, 0, 0, 0}, false)
	f.Fuzz(func(t *testing.T, file uint8, at uint32, noise []byte, cut bool) {
		name := names[int(file)%len(names)]
		b := []byte(small[name])
		at %= uint32(len(b))
		n := copy(b[at:], noise)
		if cut {
			b = b[:int(at)+n]
		}
		changed := map[string]string{}
		for k, v := range small {
			changed[k] = v
		}
		changed[name] = string(b)
		m := inMemory(t, changed)
		before := m.Ops()
		r, err := Check(Options{Root: "/s", FS: m})
		if err != nil && !errors.Is(err, store.ErrUnsupported) {
			t.Fatal(err)
		}
		if err == nil && r.Print(&bytes.Buffer{}) != nil {
			t.Fatal("not printed")
		}
		if m.Ops() != before {
			t.Fatal("something was changed")
		}
	})
}
