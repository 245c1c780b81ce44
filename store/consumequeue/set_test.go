package consumequeue

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"testing"

	"github.com/seedmq/seedmq/store/fs"
)

const testUnits = 10 // units per file: every test crosses files

func openTest(t testing.TB, f fs.FS, change func(*Options)) *Set {
	t.Helper()
	o := Options{FS: f, Dir: "/s/consumequeue", FileUnits: testUnits}
	if change != nil {
		change(&o)
	}
	s, err := Open(o)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func newQueue(t testing.TB, s *Set, topic string, id int32, next int64) *Queue {
	t.Helper()
	q, err := s.GetOrCreate(topic, id, next)
	if err != nil {
		t.Fatal(err)
	}
	return q
}

func check(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// unitAt is the unit of the n-th record of a log in which every record has 100 bytes.
func unitAt(n int64) Unit { return Unit{PhysicalOffset: n * 100, Size: 100, TagsCode: n * 7} }

func fill(t testing.TB, q *Queue, from, to int64) {
	t.Helper()
	for n := from; n < to; n++ {
		check(t, q.Append(n, []Unit{unitAt(n)}))
	}
}

// content reads everything from min to max, unit by unit and all at once, and wants both to agree.
func content(t testing.TB, q *Queue) []Unit {
	t.Helper()
	from, to := q.Range()
	out := make([]Unit, to-from)
	n, err := q.Read(from, out)
	if err != nil || int64(n) != to-from {
		t.Fatalf("read [%d, %d): %d units, %v", from, to, n, err)
	}
	var one [1]Unit
	for i := range out {
		if n, err := q.Read(from+int64(i), one[:]); n != 1 || err != nil || one[0] != out[i] {
			t.Fatalf("read %d: %d, %v, %+v instead of %+v", from+int64(i), n, err, one[0], out[i])
		}
	}
	return out
}

func wantRange(t testing.TB, q *Queue, from, to int64) {
	t.Helper()
	if a, b := q.Range(); a != from || b != to {
		t.Fatalf("range [%d, %d), want [%d, %d)", a, b, from, to)
	}
	for i, u := range content(t, q) {
		if u != unitAt(from+int64(i)) {
			t.Fatalf("unit %d is %+v", from+int64(i), u)
		}
	}
}

func TestAppendReadReopen(t *testing.T) {
	m := fs.NewMem(nil)
	s := openTest(t, m, nil)
	q := newQueue(t, s, "T", 3, 0)
	for n := int64(0); n < 300; n++ {
		fill(t, q, n, n+1)
		if n%37 == 0 {
			wantRange(t, q, 0, n+1)
		}
		if n%91 == 0 {
			if _, err := s.Flush(false); err != nil {
				t.Fatal(err)
			}
		}
	}
	if q.Next() != 300 || q.MaxPhys() != 30_000 {
		t.Fatalf("next %d, max phys %d", q.Next(), q.MaxPhys())
	}
	if n, err := q.Read(300, make([]Unit, 1)); n != 0 || err != nil {
		t.Fatalf("read at the end: %d, %v", n, err)
	}
	check(t, s.Close())

	s = openTest(t, m, nil)
	q, ok := s.Queue("T", 3)
	if !ok || s.MaxPhys() != 30_000 || q.Next() != 300 || s.Report().Damaged != nil {
		t.Fatalf("reopened: %v, %d, %+v", ok, s.MaxPhys(), s.Report())
	}
	wantRange(t, q, 0, 300)
	fill(t, q, 300, 320)
	wantRange(t, q, 0, 320)
}

func TestFilesAreJavas(t *testing.T) {
	m := fs.NewMem(nil)
	s := openTest(t, m, nil)
	fill(t, newQueue(t, s, "%RETRY%g", 12, 25), 25, 31)
	check(t, s.Close())
	list, err := m.List("/s/consumequeue/%RETRY%g/12")
	check(t, err)
	if len(list) != 2 || list[0].Name != "00000000000000000400" || list[1].Name != "00000000000000000600" ||
		list[0].Size != 200 || list[1].Size != 200 {
		t.Fatalf("%+v", list)
	}
	b, err := fs.ReadFile(m, "/s/consumequeue/%RETRY%g/12/00000000000000000400")
	check(t, err)
	for i := range int64(testUnits) {
		want := Unit{Size: blankSize}
		if i >= 5 {
			want = unitAt(20 + i)
		}
		if u := Decode(b[i*UnitSize:]); u != want {
			t.Fatalf("unit %d is %+v, want %+v", i, u, want)
		}
	}
	s = openTest(t, m, nil)
	check(t, s.CorrectMin(0))
	q, _ := s.Queue("%RETRY%g", 12)
	wantRange(t, q, 25, 31)
}

func TestRepeatedDispatchIsIgnored(t *testing.T) {
	s := openTest(t, fs.NewMem(nil), nil)
	q := newQueue(t, s, "T", 0, 0)
	units := []Unit{unitAt(0), unitAt(1), unitAt(2), unitAt(3), unitAt(4)}
	check(t, q.Append(0, units[:3]))
	check(t, q.Append(0, units))
	check(t, q.Append(2, units[2:4]))
	wantRange(t, q, 0, 5)
}

func TestGapGoesToTheEnd(t *testing.T) {
	s := openTest(t, fs.NewMem(nil), nil)
	q := newQueue(t, s, "T", 0, 0)
	check(t, q.Append(0, []Unit{unitAt(0)}))
	check(t, q.Append(5, []Unit{unitAt(5)}))
	check(t, q.Append(1, []Unit{unitAt(7)})) // taken
	check(t, q.Append(0, []Unit{unitAt(8)})) // a counter that began anew
	if got, want := content(t, q), []Unit{unitAt(0), unitAt(5), unitAt(8)}; !reflect.DeepEqual(got, want) {
		t.Fatalf("%+v", got)
	}
}

func TestQueueOfExpiredMessagesBeginsWhereTheLogSays(t *testing.T) {
	m := fs.NewMem(nil)
	s := openTest(t, m, nil)
	q := newQueue(t, s, "T", 0, 0)
	fill(t, q, 0, 25)
	check(t, s.CorrectMin(2500))
	if from, to := q.Range(); from != 25 || to != 25 {
		t.Fatalf("[%d, %d)", from, to)
	}
	fill(t, q, 47, 49)
	wantRange(t, q, 47, 49)
	check(t, s.Close())
	list, err := m.List(q.dir())
	check(t, err)
	if len(list) != 1 || list[0].Name != fileName(40) {
		t.Fatalf("%+v", list)
	}
}

func TestCorrectMinAndDeleteBefore(t *testing.T) {
	m := fs.NewMem(nil)
	s := openTest(t, m, nil)
	q := newQueue(t, s, "T", 0, 0)
	fill(t, q, 0, 95)
	_, err := s.Flush(false)
	check(t, err)
	for _, c := range []struct{ phys, min, files int64 }{{0, 0, 10}, {50, 1, 10}, {100, 1, 10}, {1999, 20, 8}, {2001, 21, 8}, {9400, 94, 1}, {9500, 95, 1}} {
		check(t, s.DeleteBefore(c.phys))
		if from, _ := q.Range(); from != c.min {
			t.Fatalf("before %d: min %d, want %d", c.phys, from, c.min)
		}
		list, err := m.List(q.dir())
		check(t, err)
		if int64(len(list)) != c.files {
			t.Fatalf("before %d: %d files, want %d", c.phys, len(list), c.files)
		}
		wantRange(t, q, c.min, 95)
	}
	for range 2 { // the ring still has them
		_, err := s.Flush(false)
		check(t, err)
	}
	if _, err := q.Read(3, make([]Unit, 1)); !errors.Is(err, ErrNotFound) {
		t.Fatalf("read of a removed unit: %v", err)
	}
	check(t, s.Close())
	s = openTest(t, m, nil)
	q, _ = s.Queue("T", 0)
	if from, to := q.Range(); from != 90 || to != 95 {
		t.Fatalf("[%d, %d)", from, to)
	}
}

func TestTruncateToPhys(t *testing.T) {
	for _, crashed := range []bool{false, true} {
		for n := int64(0); n <= 35; n++ {
			m := fs.NewMem(nil)
			s := openTest(t, m, func(o *Options) { o.AfterCrash = crashed })
			q, other := newQueue(t, s, "T", 0, 0), newQueue(t, s, "T", 1, 7)
			fill(t, q, 0, 35)
			check(t, s.TruncateToPhys(n*100))
			if phys := q.MaxPhys(); q.Next() != n || n > 0 && phys != n*100 || n == 0 && phys != noPhys {
				t.Fatalf("cut to %d: next %d, phys %d", n, q.Next(), phys)
			}
			wantRange(t, q, 0, n)
			if from, to := other.Range(); from != 7 || to != 7 {
				t.Fatalf("other [%d, %d)", from, to)
			}
			check(t, s.Close())
			s = openTest(t, m, nil) // nothing is left behind the end
			if r := s.Report(); r.Damaged != nil {
				t.Fatalf("cut to %d: %+v", n, r)
			}
			q, _ = s.Queue("T", 0)
			wantRange(t, q, 0, n)
			fill(t, q, n, 40)
			wantRange(t, q, 0, 40)
		}
	}
}

func TestDeleteTopicAndQueue(t *testing.T) {
	m := fs.NewMem(nil)
	s := openTest(t, m, nil)
	q0, q1 := newQueue(t, s, "T", 0, 0), newQueue(t, s, "T", 1, 0)
	fill(t, q0, 0, 25)
	fill(t, q1, 0, 5)
	fill(t, newQueue(t, s, "U", 0, 0), 0, 5)
	_, err := s.Flush(true)
	check(t, err)
	check(t, s.DeleteQueue("T", 0))
	if _, ok := s.Queue("T", 0); ok || len(s.Queues("T")) != 1 {
		t.Fatal("still there")
	}
	if err := q0.Append(25, []Unit{unitAt(25)}); !errors.Is(err, ErrRemoved) {
		t.Fatal(err)
	}
	if _, err := q0.Read(3, make([]Unit, 1)); !errors.Is(err, ErrRemoved) {
		t.Fatal(err)
	}
	check(t, s.DeleteTopic("T"))
	check(t, s.DeleteTopic("T"))
	if got := s.Topics(); !reflect.DeepEqual(got, []string{"U"}) {
		t.Fatal(got)
	}
	q := newQueue(t, s, "T", 0, 0)
	fill(t, q, 0, 3)
	wantRange(t, q, 0, 3)
	check(t, s.Close())
	s = openTest(t, m, nil)
	q, _ = s.Queue("T", 0)
	wantRange(t, q, 0, 3)
	if _, err := m.Stat("/s/consumequeue.deleted/1"); !errors.Is(err, os.ErrNotExist) {
		t.Fatal("trash is left", err)
	}
}

func TestNames(t *testing.T) {
	s := openTest(t, fs.NewMem(nil), nil)
	for _, topic := range []string{"", ".", "..", "a/b", "a\x00", string(make([]byte, 300))} {
		if _, err := s.GetOrCreate(topic, 0, 0); !errors.Is(err, ErrName) {
			t.Fatalf("%q: %v", topic, err)
		}
	}
	if _, err := s.GetOrCreate("T", -1, 0); !errors.Is(err, ErrName) {
		t.Fatal(err)
	}
	for _, id := range []int32{5, 0, 1<<31 - 1, 3, 1} {
		newQueue(t, s, "T", id, 0)
	}
	var ids []int32
	for _, q := range s.Queues("T") {
		ids = append(ids, q.ID())
		if got, ok := s.Queue("T", q.ID()); !ok || got != q {
			t.Fatal("lookup of", q.ID())
		}
	}
	if !reflect.DeepEqual(ids, []int32{0, 1, 3, 5, 1<<31 - 1}) {
		t.Fatal(ids)
	}
	if _, ok := s.Queue("T", 2); ok {
		t.Fatal("found what is not there")
	}
}

func TestHandlesAreBounded(t *testing.T) {
	m := fs.NewMem(nil)
	s := openTest(t, m, func(o *Options) { o.MaxOpenFiles = 3 })
	for id := range int32(20) {
		fill(t, newQueue(t, s, "T", id, 0), 0, 15)
	}
	check2 := func() {
		t.Helper()
		if n := s.files.count(); n > 3 {
			t.Fatalf("%d files open", n)
		}
	}
	if n := s.InUse(); n != 20 {
		t.Fatalf("%d queues in use", n)
	}
	_, err := s.Flush(true)
	check(t, err)
	check2()
	_, err = s.Flush(false) // idle by now: the rings go
	check(t, err)
	for _, q := range s.Queues("T") {
		if q.ring != nil {
			t.Fatal("an idle queue has a ring")
		}
		wantRange(t, q, 0, 15)
	}
	check2()
	if n := s.InUse(); n != 0 {
		t.Fatalf("%d queues still in use", n)
	}
	check(t, s.Close())
	if n := s.files.count(); n != 0 {
		t.Fatalf("%d files open after Close", n)
	}
}

func TestRefusesRocksDB(t *testing.T) {
	for _, name := range []string{"CURRENT", "MANIFEST-000005", "000012.sst"} {
		m := fs.NewMem(nil)
		check(t, m.MkdirAll("/s/consumequeue"))
		_, err := m.Create("/s/consumequeue/" + name)
		check(t, err)
		ops := m.Ops()
		if _, err := Open(Options{FS: m, Dir: "/s/consumequeue"}); !errors.Is(err, ErrUnsupported) {
			t.Fatalf("%s: %v", name, err)
		}
		if m.Ops() != ops {
			t.Fatal("touched")
		}
	}
}

func TestIgnoresWhatIsNotIts(t *testing.T) {
	m := fs.NewMem(nil)
	s := openTest(t, m, nil)
	fill(t, newQueue(t, s, "T", 0, 0), 0, 3)
	check(t, s.Close())
	var want []string
	for _, name := range []string{"file", "T/x/y", "T/01/y", "T/0/abc", "T/0/00000000000000000007"} {
		name = filepath.Join("/s/consumequeue", name)
		check(t, m.MkdirAll(filepath.Dir(name)))
		_, err := m.Create(name)
		check(t, err)
	}
	s = openTest(t, m, nil)
	want = []string{"/s/consumequeue/file", "/s/consumequeue/T/01", "/s/consumequeue/T/x", "/s/consumequeue/T/0/abc", "/s/consumequeue/T/0/00000000000000000007"}
	got := s.Report().Ignored
	if fmt.Sprint(len(got)) != fmt.Sprint(len(want)) {
		t.Fatalf("%v", got)
	}
	q, _ := s.Queue("T", 0)
	wantRange(t, q, 0, 3)
}

// TestCorrectMinOfNewQueuesMakesNoFiles: a start with very many queues must not.
func TestCorrectMinOfNewQueuesMakesNoFiles(t *testing.T) {
	m := fs.NewMem(nil)
	s := openTest(t, m, nil)
	q := newQueue(t, s, "T", 0, 7)
	fill(t, q, 7, 12)
	check(t, s.CorrectMin(0))
	wantRange(t, q, 7, 12)
	if _, err := m.Stat(q.dir()); err == nil {
		t.Error("the queue was written")
	}
	check(t, s.CorrectMin(900)) // now it must look for the first that is left
	wantRange(t, q, 9, 12)
}

func TestInterrupt(t *testing.T) {
	m := fs.NewMem(nil)
	s := openTest(t, m, withSnapshot)
	q := newQueue(t, s, "T", 0, 0)
	fill(t, q, 0, 5)
	if p, err := s.Flush(true); err != nil || p == 0 {
		t.Fatal(p, err)
	}
	fill(t, q, 5, 5)
	s.Interrupt()
	if _, err := s.Flush(false); !errors.Is(err, ErrInterrupted) {
		t.Fatalf("flush after an interrupt: %v", err)
	}
	check(t, s.Close())
	if _, err := m.Stat(s.snapshotPath()); err == nil {
		t.Error("there is a snapshot of what was not written")
	}
	s = openTest(t, m, nil)
	q, _ = s.Queue("T", 0)
	if _, end := q.Range(); end != 5 {
		t.Errorf("the queue ends at %d, 5 units were written", end)
	}
}
