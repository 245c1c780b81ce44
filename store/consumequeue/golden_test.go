package consumequeue

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/seedmq/seedmq/store/fs"
	"github.com/seedmq/seedmq/store/internal/fixture"
)

// goldenQueues puts the files of a dump together by queue.
func goldenQueues(d fixture.Dump) map[string][][4]int64 {
	out := map[string][][4]int64{}
	for name, f := range d.ConsumeQueue {
		out[filepath.Dir(name)] = nil
		_ = f
	}
	for queue := range out {
		for start := 0; ; start++ {
			f, ok := d.ConsumeQueue[fmt.Sprintf("%s/%020d", queue, start*fixture.QueueFileUnits*UnitSize)]
			if !ok {
				break
			}
			out[queue] = append(out[queue], f.Units...)
		}
	}
	return out
}

func splitQueue(t *testing.T, name string) (topic string, id int32) {
	t.Helper()
	topic = filepath.Dir(name)
	id, ok := parseQueueID(filepath.Base(name))
	if !ok {
		t.Fatal(name)
	}
	return topic, id
}

// TestGolden: every unit of the queues of a Java broker is read as it is, and the same units give the same files.
func TestGolden(t *testing.T) {
	for _, store := range []string{fixture.Clean, fixture.Kill9} {
		d := fixture.ReadDump(t, store)
		dir := fixture.Unpack(t, store, "consumequeue/")
		o := Options{FS: fs.OS{}, Dir: filepath.Join(dir, "consumequeue"), FileUnits: fixture.QueueFileUnits, AfterCrash: store == fixture.Kill9}
		s, err := Open(o)
		check(t, err)
		if r := s.Report(); r.Damaged != nil || r.Ignored != nil {
			t.Fatalf("%s: %+v", store, r)
		}
		check(t, s.CorrectMin(0))
		ours := fs.NewMem(nil)
		twin, err := Open(Options{FS: ours, Dir: "/cq", FileUnits: fixture.QueueFileUnits})
		check(t, err)
		queues := goldenQueues(d)
		if s.Len() != len(queues) {
			t.Fatalf("%s: %d queues, want %d", store, s.Len(), len(queues))
		}
		for name, want := range queues {
			topic, id := splitQueue(t, name)
			q, ok := s.Queue(topic, id)
			if !ok {
				t.Fatal("no queue", name)
			}
			made := newQueue(t, twin, topic, id, 0)
			if from, to := q.Range(); from != 0 || to != int64(len(want)) {
				t.Fatalf("%s %s: [%d, %d), want %d units", store, name, from, to, len(want))
			}
			for n, u := range content(t, q) {
				if u != (Unit{want[n][1], int32(want[n][2]), want[n][3]}) || int64(n) != want[n][0] {
					t.Fatalf("%s %s: unit %d is %+v, want %v", store, name, n, u, want[n])
				}
				check(t, made.Append(int64(n), []Unit{u}))
			}
		}
		check(t, twin.Close())
		check(t, s.Close())
		sameFiles(t, d, o.Dir, ours)
	}
}

func sameFiles(t *testing.T, d fixture.Dump, java string, ours *fs.Mem) {
	t.Helper()
	for name := range d.ConsumeQueue {
		want, err := os.ReadFile(filepath.Join(java, name))
		check(t, err)
		got, err := fs.ReadFile(ours, filepath.Join("/cq", name))
		check(t, err)
		if string(got) != string(want) {
			t.Fatalf("%s differs from Java's", strings.TrimPrefix(name, java))
		}
	}
}

// TestGoldenCut: cut anywhere and filled again, the queues of the Java broker are what they were.
func TestGoldenCut(t *testing.T) {
	d := fixture.ReadDump(t, fixture.Kill9)
	dir := fixture.Unpack(t, fixture.Kill9, "consumequeue/")
	for n := len(d.Records) - 1; n >= 0; n -= 97 {
		p := d.Records[n].PhysicalOffset
		s, err := Open(Options{FS: fs.OS{}, Dir: filepath.Join(dir, "consumequeue"), FileUnits: fixture.QueueFileUnits, AfterCrash: true})
		check(t, err)
		check(t, s.TruncateToPhys(p))
		check(t, s.CorrectMin(0))
		for name, want := range goldenQueues(d) {
			topic, id := splitQueue(t, name)
			q := newQueue(t, s, topic, id, 0)
			if q.MaxPhys() > p {
				t.Fatalf("%s: cut to %d, and still at %d", name, p, q.MaxPhys())
			}
			for _, u := range want {
				check(t, q.Append(u[0], []Unit{{u[1], int32(u[2]), u[3]}}))
			}
			if from, to := q.Range(); from != 0 || to != int64(len(want)) {
				t.Fatalf("%s: cut to %d: [%d, %d)", name, p, from, to)
			}
		}
		check(t, s.Close())
		for name := range d.ConsumeQueue {
			b, err := os.ReadFile(filepath.Join(dir, "consumequeue", name))
			check(t, err)
			for i, u := range d.ConsumeQueue[name].Units {
				if got := Decode(b[i*UnitSize:]); got != (Unit{u[1], int32(u[2]), u[3]}) {
					t.Fatalf("%s: unit %d is %+v", name, i, got)
				}
			}
		}
	}
}
