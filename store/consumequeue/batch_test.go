package consumequeue

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"syscall"
	"testing"

	"github.com/seedmq/seedmq/store/fs"
)

const batchFileBytes = 4 * BatchUnitSize

func openBatch(t testing.TB, m *fs.Mem, crashed bool) *BatchSet {
	t.Helper()
	s, err := OpenBatch(BatchOptions{FS: m, Dir: "/s/batchconsumequeue", FileUnits: 4, AfterCrash: crashed})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// someUnits are n units, whose batches get larger.
func someUnits(n int) (out []BatchUnit) {
	var phys, base int64
	for i := range n {
		u := NewBatchUnit(phys, int32(100+i), int64(-i), int64(1000+10*i), base, int16(1+i%5))
		out = append(out, u)
		phys, base = u.end()+7, u.Next()
	}
	return out
}

func appendAll(t testing.TB, s *BatchSet, units []BatchUnit) *BatchQueue {
	t.Helper()
	q, err := s.GetOrCreate("B", 3)
	for _, u := range units {
		if err == nil {
			err = q.Append(u)
		}
	}
	if err != nil {
		t.Fatal(err)
	}
	return q
}

func batchContent(t testing.TB, q *BatchQueue) []BatchUnit {
	t.Helper()
	from, to := q.Units()
	buf := make([]BatchUnit, to-from+1)
	n, err := q.Read(from, buf)
	if err != nil || int64(n) != to-from {
		t.Fatalf("%d of %d units, %v", n, to-from, err)
	}
	return buf[:n]
}

func TestBatchUnit(t *testing.T) {
	b := make([]byte, BatchUnitSize)
	u := BatchUnit{1 << 40, 3, -4, 5, 6, 7, -1, 0}
	u.Put(b)
	if got := DecodeBatch(b); got != u || !u.Valid() || u.Next() != 13 {
		t.Fatalf("%+v", got)
	}
	for _, bad := range []BatchUnit{{}, {PhysicalOffset: -1, Size: 1, Count: 1}, {Size: 1}, {Size: 1, Count: 1, Base: -1}, {Count: 1}, {Size: 1, Count: 1, Base: MaxOffset + 1}} {
		if bad.Valid() {
			t.Errorf("%+v", bad)
		}
	}
	if start, ok := parseBatchFileName(batchFileName(123)); start != 123 || !ok {
		t.Errorf("%d", start)
	}
	for _, bad := range []string{"", "1", "00000000000000000045", "0000000000000000004x", "99999999999999999999"} {
		if _, ok := parseBatchFileName(bad); ok {
			t.Errorf("%q", bad)
		}
	}
}

func TestBatchFind(t *testing.T) {
	m := fs.NewMem(nil)
	s := openBatch(t, m, false)
	units := someUnits(30)
	q := appendAll(t, s, units)
	for round, name := range []string{"memory", "memory and files", "files", "opened again"} {
		switch round {
		case 1:
			check(t, s.Flush(true))
		case 2:
			check(t, s.Flush(false)) // idle: nothing stays in memory
		case 3:
			check(t, s.Close())
			s = openBatch(t, m, false)
			q, _ = s.Queue("B", 3)
		}
		if got := batchContent(t, q); !slices.Equal(got, units) {
			t.Fatalf("%s: %v", name, got)
		}
		if from, to := q.Range(); from != 0 || to != units[29].Next() || q.MaxPhys() != units[29].end() || s.MaxPhys() != q.MaxPhys() {
			t.Fatalf("%s: %d to %d, %d", name, from, to, q.MaxPhys())
		}
		for n, u := range units {
			for offset := u.Base; offset < u.Next(); offset++ {
				if at, err := q.Find(offset); at != int64(n) || err != nil {
					t.Fatalf("%s: offset %d is in unit %d, %v, want %d", name, offset, at, err, n)
				}
			}
			for ms, want := range map[int64]int{u.StoreTimestamp - 1: n, u.StoreTimestamp: n, u.StoreTimestamp + 1: n + 1} {
				if at, err := q.FindTime(ms, false); at != int64(want) || err != nil {
					t.Fatalf("%s: time %d is unit %d, %v, want %d", name, ms, at, err, want)
				}
			}
			if at, err := q.FindTime(u.StoreTimestamp, true); at != int64(n+1) || err != nil {
				t.Fatalf("%s: behind time %d is unit %d, %v", name, u.StoreTimestamp, at, err)
			}
		}
		if at, err := q.Find(units[29].Next()); at != 30 || err != nil {
			t.Fatalf("%s: the end is unit %d, %v", name, at, err)
		}
	}
	if got := s.Topics(); !slices.Equal(got, []string{"B"}) || s.Len() != 1 {
		t.Fatal(got, s.Len())
	}
}

func TestBatchAppendAgain(t *testing.T) {
	s := openBatch(t, fs.NewMem(nil), false)
	units := someUnits(5)
	q := appendAll(t, s, units)
	appendAll(t, s, units) // dispatched again
	check(t, q.Append(NewBatchUnit(units[4].end(), 10, 0, 0, units[4].Base, 1)))
	if got := batchContent(t, q); !slices.Equal(got, units) {
		t.Fatalf("%v", got)
	}
	if err := q.Append(BatchUnit{}); !errors.Is(err, ErrCorrupt) {
		t.Fatalf("no unit: %v", err)
	}
	check(t, s.DeleteTopic("B"))
	if err := q.Append(units[4]); !errors.Is(err, ErrRemoved) {
		t.Fatalf("a queue that was removed: %v", err)
	}
	if _, err := q.Read(0, make([]BatchUnit, 1)); !errors.Is(err, ErrRemoved) {
		t.Fatalf("read of a queue that was removed: %v", err)
	}
	if _, err := s.GetOrCreate("a/b", 0); !errors.Is(err, ErrName) {
		t.Fatalf("a name with a slash: %v", err)
	}
}

func TestBatchDelete(t *testing.T) {
	m := fs.NewMem(nil)
	s := openBatch(t, m, false)
	units := someUnits(22)
	q := appendAll(t, s, units)
	check(t, s.Flush(true))
	check(t, s.DeleteBefore(units[9].PhysicalOffset))
	if from, _ := q.Range(); from != units[9].Base || !slices.Equal(batchContent(t, q), units[9:]) {
		t.Fatalf("from %d", from)
	}
	if n, err := q.Read(3, make([]BatchUnit, 1)); n != 0 || !errors.Is(err, ErrNotFound) {
		t.Fatalf("%d, %v", n, err)
	}
	if s.BeginsLate(units[9].PhysicalOffset) || !s.BeginsLate(units[7].PhysicalOffset) {
		t.Fatal("begins late")
	}
	check(t, s.DeleteBefore(math.MaxInt64))
	if from, to := q.Range(); from != to || to != units[21].Next() {
		t.Fatalf("%d to %d", from, to)
	}
	if list, _ := m.List("/s/batchconsumequeue/B/3"); len(list) != 1 || list[0].Name != batchFileName(20) {
		t.Fatalf("%v", list)
	}
	next := NewBatchUnit(1<<30, 5, 0, 0, units[21].Next(), 2)
	check(t, q.Append(next))
	if got := batchContent(t, q); !slices.Equal(got, []BatchUnit{next}) {
		t.Fatalf("%v", got)
	}
	if from, to := q.Range(); from != next.Base || to != next.Next() {
		t.Fatalf("%d to %d", from, to)
	}
	check(t, s.DeleteQueue("B", 3))
	if _, ok := s.Queue("B", 3); ok || s.Len() != 0 {
		t.Fatal("it is still there")
	}
}

func TestBatchTruncate(t *testing.T) {
	for cut := range 13 {
		m := fs.NewMem(nil)
		s := openBatch(t, m, false)
		units := someUnits(12)
		q := appendAll(t, s, units)
		check(t, s.Flush(true))
		p := q.MaxPhys()
		if cut < 12 {
			p = units[cut].PhysicalOffset
		}
		check(t, s.TruncateToPhys(p))
		if got := batchContent(t, q); !slices.Equal(got, units[:cut]) {
			t.Fatalf("%d: %v", cut, got)
		}
		appendAll(t, s, units[cut:])
		check(t, s.Close())
		q, _ = openBatch(t, m, false).Queue("B", 3)
		if got := batchContent(t, q); !slices.Equal(got, units) {
			t.Fatalf("%d: %v", cut, got)
		}
	}
}

// Files that cannot be are put aside, and the log is asked for from where the good ones end.
func TestBatchDamage(t *testing.T) {
	units := someUnits(11)
	for name, c := range map[string]struct {
		do   func(m *fs.Mem)
		left int
	}{
		"short":     {func(m *fs.Mem) { rewrite(t, m, 4, func(b []byte) []byte { return b[:100] }) }, 4},
		"zeros":     {func(m *fs.Mem) { rewrite(t, m, 4, func(b []byte) []byte { return make([]byte, len(b)) }) }, 4},
		"hole":      {func(m *fs.Mem) { rewrite(t, m, 0, func(b []byte) []byte { clear(b[50:120]); return b }) }, 0},
		"last hole": {func(m *fs.Mem) { rewrite(t, m, 8, func(b []byte) []byte { clear(b[:46]); return b }) }, 8},
		"backwards": {func(m *fs.Mem) { rewrite(t, m, 4, func(b []byte) []byte { copy(b[46:], b[:46]); return b }) }, 4},
		"behind":    {func(m *fs.Mem) { rewrite(t, m, 8, func(b []byte) []byte { b[batchFileBytes-1] = 1; return b }) }, 8},
		"gone":      {func(m *fs.Mem) { check(t, m.Remove("/s/batchconsumequeue/B/3/"+batchFileName(4))) }, 4},
		"first gone": {func(m *fs.Mem) {
			for _, n := range []int64{0, 4, 8} {
				check(t, m.Remove("/s/batchconsumequeue/B/3/"+batchFileName(n)))
			}
		}, 0},
	} {
		for _, crashed := range []bool{false, true} {
			m := fs.NewMem(nil)
			s := openBatch(t, m, false)
			appendAll(t, s, units)
			check(t, s.Close())
			c.do(m)
			s = openBatch(t, m, crashed)
			q, _ := s.Queue("B", 3)
			from := s.RebuildFrom()
			if want := int64(0); !crashed && c.left > 0 {
				want = units[c.left-1].end()
				if from != want {
					t.Errorf("%s: log wanted from %d, not %d", name, from, want)
				}
			}
			if from == math.MaxInt64 {
				t.Errorf("%s, crashed %v: not found", name, crashed)
			}
			check(t, s.TruncateToPhys(from))
			for _, u := range units {
				if u.PhysicalOffset >= from {
					check(t, q.Append(u))
				}
			}
			if got := batchContent(t, q); !slices.Equal(got, units) || s.RebuildFrom() != math.MaxInt64 {
				t.Errorf("%s, crashed %v: %v", name, crashed, got)
			}
		}
	}
}

// rewrite changes the file that begins with unit start.
func rewrite(t *testing.T, m *fs.Mem, start int64, change func([]byte) []byte) {
	name := "/s/batchconsumequeue/B/3/" + batchFileName(start)
	b, err := fs.ReadFile(m, name)
	check(t, err)
	f, err := m.Create(name)
	check(t, err)
	_, err = f.WriteAt(change(b), 0)
	check(t, errors.Join(err, f.Close()))
}

func TestBatchSyncFails(t *testing.T) {
	m := fs.NewMem(nil)
	s := openBatch(t, m, false)
	appendAll(t, s, someUnits(3))
	m.SetHook(func(op fs.Op) fs.Fault {
		if op.Kind == fs.OpSync {
			return fs.Fault{Err: syscall.EIO}
		}
		return fs.Fault{}
	})
	for range 2 { // once failed, for good
		if err := s.Flush(true); !errors.Is(err, ErrSync) {
			t.Fatalf("%v", err)
		}
		m.SetHook(nil)
	}
	check(t, s.Flush(false))
}

// FuzzBatchFile: whatever a file holds, the queue opens, is cut and read.
func FuzzBatchFile(f *testing.F) {
	seed := make([]byte, batchFileBytes)
	for i, u := range someUnits(3) {
		u.Put(seed[i*BatchUnitSize:])
	}
	f.Add(seed, false, int64(150))
	f.Add(seed[:100], true, int64(0))
	r := rand.New(rand.NewPCG(1, 2))
	noise := make([]byte, batchFileBytes)
	for i := range noise {
		noise[i] = byte(r.Uint32())
	}
	f.Add(noise, true, int64(math.MaxInt64))
	f.Fuzz(func(t *testing.T, b []byte, crashed bool, p int64) {
		m := fs.NewMem(nil)
		check(t, m.MkdirAll("/s/batchconsumequeue/B/3"))
		file, err := m.Create("/s/batchconsumequeue/B/3/" + batchFileName(0))
		check(t, err)
		_, err = file.WriteAt(b, 0)
		check(t, err)
		s := openBatch(t, m, crashed)
		check(t, s.TruncateToPhys(min(p, s.RebuildFrom())))
		check(t, s.CorrectMin(p/2))
		q, ok := s.Queue("B", 3)
		if !ok {
			t.Fatal("no queue")
		}
		last := int64(-1)
		for _, u := range batchContent(t, q) {
			if !u.Valid() || u.Base < last {
				t.Fatal(fmt.Sprintf("%+v after %d", u, last))
			}
			last = u.Next()
		}
		if last >= 0 {
			check(t, q.Append(NewBatchUnit(min(q.MaxPhys(), math.MaxInt64-5), 5, 0, 0, last, 1)))
		}
		check(t, s.Close())
	})
}
