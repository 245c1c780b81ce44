package consumequeue

import (
	"fmt"
	"testing"

	"github.com/seedmq/seedmq/store/fs"
)

func withSnapshot(o *Options) { o.SnapshotFrom = 1 }

func writeCheckpoint(t testing.TB, m *fs.Mem, text string) {
	t.Helper()
	f, err := m.Create("/s/checkpoint")
	check(t, err)
	_, err = f.WriteAt([]byte(text), 0)
	check(t, err)
}

// snapshotStore leaves a closed set with a snapshot.
func snapshotStore(t testing.TB) *fs.Mem {
	t.Helper()
	m := fs.NewMem(nil)
	check(t, m.MkdirAll("/s"))
	writeCheckpoint(t, m, "one")
	s := openTest(t, m, withSnapshot)
	for id := range int32(3) {
		fill(t, newQueue(t, s, "T", id, int64(id)*7), int64(id)*7, 33)
	}
	newQueue(t, s, "Empty", 4, 25)
	check(t, s.DeleteBefore(1500))
	check(t, s.Close())
	return m
}

func TestSnapshot(t *testing.T) {
	m := snapshotStore(t)
	read := 0
	s := openTest(t, countLists{m, &read}, withSnapshot)
	if read != 0 || s.Report().Queues != 4 || s.MaxPhys() != 3300 {
		t.Fatalf("%d folders read, %+v, up to %d", read, s.Report(), s.MaxPhys())
	}
	check(t, s.CorrectMin(1500))
	for id := range int32(3) {
		q, ok := s.Queue("T", id)
		if !ok {
			t.Fatal("no queue", id)
		}
		wantRange(t, q, 15, 33)
		fill(t, q, 33, 50)
		wantRange(t, q, 15, 50)
	}
	q, _ := s.Queue("Empty", 4)
	fill(t, q, 25, 27)
	wantRange(t, q, 25, 27)
	if _, err := m.Stat("/s/consumequeue.snapshot"); err == nil {
		t.Fatal("it is still there after it was used")
	}
	check(t, s.Close())
	s = openTest(t, m, withSnapshot)
	check(t, s.CorrectMin(1600))
	q, _ = s.Queue("T", 2)
	wantRange(t, q, 16, 50)
}

type countLists struct {
	fs.FS
	n *int
}

func (c countLists) List(dir string) ([]fs.Info, error) { *c.n++; return c.FS.List(dir) }

func TestSnapshotIsNotTrusted(t *testing.T) {
	for name, spoil := range map[string]func(m *fs.Mem, o *Options){
		"after a crash":        func(m *fs.Mem, o *Options) { o.AfterCrash = true },
		"checkpoint changed":   func(m *fs.Mem, o *Options) { writeCheckpoint(t, m, "two") },
		"checkpoint gone":      func(m *fs.Mem, o *Options) { check(t, m.Remove("/s/checkpoint")) },
		"a byte is wrong":      func(m *fs.Mem, o *Options) { spoilSnapshot(t, m, func(b []byte) []byte { b[90] ^= 1; return b }) },
		"the end is missing":   func(m *fs.Mem, o *Options) { spoilSnapshot(t, m, func(b []byte) []byte { return b[:len(b)-9] }) },
		"it is empty":          func(m *fs.Mem, o *Options) { spoilSnapshot(t, m, func(b []byte) []byte { return nil }) },
		"other size of a file": nil,
	} {
		m := snapshotStore(t)
		read := 0
		s := openTest(t, countLists{m, &read}, func(o *Options) {
			if spoil == nil {
				o.FileUnits = 2 * testUnits
				return
			}
			spoil(m, o)
		})
		if read == 0 {
			t.Fatalf("%s: the folders were not read", name)
		}
		if _, err := m.Stat("/s/consumequeue.snapshot"); err == nil {
			t.Fatalf("%s: it is still there", name)
		}
		if spoil != nil {
			check(t, s.CorrectMin(1500))
			q, _ := s.Queue("T", 0)
			wantRange(t, q, 15, 33)
		}
	}
}

func spoilSnapshot(t testing.TB, m *fs.Mem, change func([]byte) []byte) {
	t.Helper()
	b, err := fs.ReadFile(m, "/s/consumequeue.snapshot")
	check(t, err)
	b = change(b)
	f, err := m.Create("/s/consumequeue.snapshot")
	check(t, err)
	_, err = f.WriteAt(b, 0)
	check(t, err)
}

// FuzzSnapshot: no content makes it panic, and a whole one is told from all others by its sum.
func FuzzSnapshot(f *testing.F) {
	m := snapshotStore(f)
	good, err := fs.ReadFile(m, "/s/consumequeue.snapshot")
	check(f, err)
	s := newSet(Options{FS: m, Dir: "/s/consumequeue", FileUnits: testUnits})
	token, err := s.snapshotToken()
	check(f, err)
	f.Add(good)
	f.Add(good[:50])
	f.Fuzz(func(t *testing.T, b []byte) {
		l := loader{s: s}
		if err := l.decodeSnapshot(b, token); err == nil && fmt.Sprintf("%x", b) != fmt.Sprintf("%x", good) {
			t.Logf("another snapshot with a right sum: %d queues", l.mu.report.Queues)
		}
		// Behind the sum, the content must not be able to do harm either.
		c := cursor{b: b}
		for topics := c.u32() % 1000; topics > 0 && c.err == nil; topics-- {
			l.decodeTopic(&c)
		}
	})
}
