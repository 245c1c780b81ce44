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

// testLog is a log of records for some queues: what a dispatcher reads.
type testLog struct {
	records []testRecord
	next    map[int32]int64
	end     int64
}

type testRecord struct {
	queue  int32
	offset int64
	unit   Unit
}

func (l *testLog) add(queue int32) testRecord {
	if l.next == nil {
		l.next = map[int32]int64{}
	}
	r := testRecord{queue, l.next[queue], Unit{PhysicalOffset: l.end, Size: int32(80 + l.end%50), TagsCode: l.end * -3}}
	l.next[queue]++
	l.end += int64(r.unit.Size)
	l.records = append(l.records, r)
	return r
}

// dispatch gives the set every record from a position on.
func (l *testLog) dispatch(s *Set, from int64) error {
	for _, r := range l.records {
		if r.unit.PhysicalOffset < from {
			continue
		}
		q, err := s.GetOrCreate("T", r.queue, r.offset)
		if err != nil {
			return err
		}
		if err := q.Append(r.offset, []Unit{r.unit}); err != nil {
			return err
		}
	}
	return nil
}

// recover does what a store does after a crash, if everything below from is known to be synced.
func (l *testLog) recover(t *testing.T, s *Set, from int64) {
	t.Helper()
	for from = min(from, s.RebuildFrom()); ; from = s.RebuildFrom() {
		check(t, s.TruncateToPhys(from))
		check(t, s.CorrectMin(0))
		check(t, l.dispatch(s, from))
		if s.RebuildFrom() == math.MaxInt64 {
			return
		}
	}
}

// want wants every queue to have exactly the log's units.
func (l *testLog) want(t *testing.T, s *Set, what string) {
	t.Helper()
	units := map[int32][]Unit{}
	for _, r := range l.records {
		units[r.queue] = append(units[r.queue], r.unit)
	}
	for id, want := range units {
		q, ok := s.Queue("T", id)
		if !ok {
			t.Fatalf("%s: queue %d is missing", what, id)
		}
		if from, _ := q.Range(); from != 0 {
			t.Fatalf("%s: queue %d begins at %d", what, id, from)
		}
		if got := content(t, q); !slices.Equal(got, want) {
			t.Fatalf("%s: queue %d has %d units, want %d:\n%v\n%v", what, id, len(got), len(want), got, want)
		}
	}
}

// script appends to the log and the set, with flushes between, until an error; it returns the position that the last
// successful Flush(sync) reported.
func script(s *Set, l *testLog, sync bool) (flushed int64) {
	r := rand.New(rand.NewPCG(7, 7))
	for range 260 {
		rec := l.add(r.Int32N(4))
		q, err := s.GetOrCreate("T", rec.queue, 0)
		if err != nil {
			return flushed
		}
		if err := q.Append(rec.offset, []Unit{rec.unit}); err != nil {
			return flushed
		}
		if r.IntN(12) == 0 {
			p, err := s.Flush(sync || r.IntN(3) == 0)
			if err != nil {
				return flushed
			}
			flushed = p
		}
	}
	return flushed
}

// TestPowerFailure stops a run at every operation, keeps of what was not synced some sectors only, and recovers from
// the position that the last Flush(true) reported.
func TestPowerFailure(t *testing.T) {
	dry := fs.NewMem(nil)
	script(openTest(t, dry, nil), &testLog{}, true)
	for stop := int64(1); stop <= dry.Ops(); stop++ {
		for seed := range uint64(6) {
			m := fs.NewMem(nil)
			m.SetHook(func(op fs.Op) fs.Fault { return fs.Fault{Kill: op.N == stop, Short: op.Len / 2} })
			l := &testLog{}
			flushed := int64(0)
			if s, err := Open(Options{FS: m, Dir: "/s/consumequeue", FileUnits: testUnits}); err == nil {
				flushed = script(s, l, true)
			}
			s := openTest(t, m.Crash(seed), func(o *Options) { o.AfterCrash, o.SyncedPhys = true, flushed })
			l.recover(t, s, flushed)
			l.want(t, s, fmt.Sprintf("stop %d seed %d", stop, seed))
			check(t, s.Close())
		}
	}
}

// TestKill is the same for a process that is killed while the machine goes on: Flush(false) is enough then.
func TestKill(t *testing.T) {
	dry := fs.NewMem(nil)
	script(openTest(t, dry, nil), &testLog{}, false)
	for stop := int64(1); stop <= dry.Ops(); stop++ {
		m := fs.NewMem(nil)
		m.SetHook(func(op fs.Op) fs.Fault { return fs.Fault{Kill: op.N == stop, Short: op.Len / 2} })
		l := &testLog{}
		flushed := int64(0)
		if s, err := Open(Options{FS: m, Dir: "/s/consumequeue", FileUnits: testUnits}); err == nil {
			flushed = script(s, l, false)
		}
		s := openTest(t, m.Reboot(), func(o *Options) { o.AfterCrash = true })
		l.recover(t, s, flushed)
		l.want(t, s, fmt.Sprintf("stop %d", stop))
	}
}

// TestErrors has every operation fail once. Nothing is lost: the caller repeats what failed.
func TestErrors(t *testing.T) {
	dry := fs.NewMem(nil)
	script(openTest(t, dry, nil), &testLog{}, false)
	for stop := int64(1); stop <= dry.Ops(); stop++ {
		m := fs.NewMem(nil)
		m.SetHook(func(op fs.Op) fs.Fault {
			if op.N == stop {
				return fs.Fault{Err: syscall.ENOSPC, Short: op.Len / 2}
			}
			return fs.Fault{}
		})
		s := openTest(t, m, nil)
		l := &testLog{}
		script(s, l, false)
		if len(l.records) == 260 && m.Ops() < stop {
			t.Fatalf("operation %d never came", stop)
		}
		check(t, l.dispatch(s, 0))
		l.want(t, s, fmt.Sprintf("stop %d", stop))
		if _, err := s.Flush(true); err != nil && !errors.Is(err, ErrSync) {
			t.Fatalf("stop %d: %v", stop, err)
		}
	}
}

func TestFailedSyncIsFinal(t *testing.T) {
	m := fs.NewMem(nil)
	s := openTest(t, m, nil)
	q := newQueue(t, s, "T", 0, 0)
	fill(t, q, 0, 5)
	if p, err := s.Flush(true); p != 500 || err != nil {
		t.Fatal(p, err)
	}
	fill(t, q, 5, 8)
	m.SetHook(func(op fs.Op) fs.Fault {
		if op.Kind == fs.OpSync {
			return fs.Fault{Err: syscall.EIO}
		}
		return fs.Fault{}
	})
	if p, err := s.Flush(true); p != 500 || !errors.Is(err, ErrSync) || !errors.Is(err, syscall.EIO) {
		t.Fatal(p, err)
	}
	m.SetHook(nil)
	if p, err := s.Flush(true); p != 500 || !errors.Is(err, ErrSync) {
		t.Fatal("a failed sync was repeated", p, err)
	}
	if p, err := s.Flush(false); p != 800 || err != nil {
		t.Fatal(p, err)
	}
	wantRange(t, q, 0, 8)
}

// damages are what happens to a file between two starts.
var damages = map[string]func(b []byte, r *rand.Rand) []byte{
	"emptied": func([]byte, *rand.Rand) []byte { return nil },
	"halved":  func(b []byte, _ *rand.Rand) []byte { return b[:len(b)/2] },
	"longer":  func(b []byte, _ *rand.Rand) []byte { return append(b, 0) },
	"zeros":   func(b []byte, _ *rand.Rand) []byte { return make([]byte, len(b)) },
	"noise": func(b []byte, r *rand.Rand) []byte {
		for i := range b {
			b[i] = byte(r.Uint32())
		}
		return b
	},
	"noise in the middle": func(b []byte, r *rand.Rand) []byte {
		for i := len(b) / 3; i < len(b)/2; i++ {
			b[i] = byte(r.Uint32())
		}
		return b
	},
}

func TestDamagedFilesAreRebuilt(t *testing.T) {
	for name, damage := range damages {
		for _, crashed := range []bool{false, true} {
			for start := int64(0); start < 40; start += testUnits {
				m := fs.NewMem(nil)
				s := openTest(t, m, nil)
				l := &testLog{}
				for n := range 70 {
					l.add(int32(n % 2)) // 35 units each
				}
				check(t, l.dispatch(s, 0))
				check(t, s.Close())
				q, _ := s.Queue("T", 1)
				file := q.fileName(start)
				b, err := fs.ReadFile(m, file)
				check(t, err)
				f, err := m.Create(file)
				check(t, err)
				_, err = f.WriteAt(damage(b, rand.New(rand.NewPCG(1, uint64(start)))), 0)
				check(t, err)

				s = openTest(t, m, func(o *Options) { o.AfterCrash, o.SyncedPhys = crashed, l.end })
				what := fmt.Sprintf("%s at %d, crashed %v", name, start, crashed)
				r := s.Report()
				if len(r.Damaged) == 0 || r.Damaged[0].File != file || r.RebuildFrom == math.MaxInt64 {
					t.Fatalf("%s: %+v", what, r)
				}
				if name != "zeros" && name != "emptied" {
					if list, err := m.List("/s/bad/consumequeue/T/1"); err != nil || list[0].Name != fileName(start) {
						t.Fatalf("%s: put aside %v, %v", what, list, err)
					}
				}
				if crashed {
					l.recover(t, s, l.end)
				} else {
					check(t, s.CorrectMin(0))
					check(t, l.dispatch(s, r.RebuildFrom))
				}
				l.want(t, s, what)
				check(t, s.Close())
				if s = openTest(t, m, nil); s.Report().Damaged != nil {
					t.Fatalf("%s: %+v", what, s.Report())
				}
				l.want(t, s, what)
			}
		}
	}
}

// TestLostTailIsSeen: units that are simply gone from the end show when the next record of the queue is dispatched.
func TestLostTailIsSeen(t *testing.T) {
	m := fs.NewMem(nil)
	s := openTest(t, m, nil)
	l := &testLog{}
	for range 25 {
		l.add(0)
	}
	check(t, l.dispatch(s, 0))
	check(t, s.Close())
	q, _ := s.Queue("T", 0)
	f, err := m.OpenFile(q.fileName(20), 2, 0)
	check(t, err)
	_, err = f.WriteAt(make([]byte, 3*UnitSize), 2*UnitSize)
	check(t, err)
	known := l.end
	l.add(0)
	s = openTest(t, m, func(o *Options) { o.AfterCrash = true })
	l.recover(t, s, known)
	l.want(t, s, "lost tail")
}

// TestRebuildWhereTheLogBeginsLater: the file that is made again begins with the first record that the log still has.
func TestRebuildWhereTheLogBeginsLater(t *testing.T) {
	m := fs.NewMem(nil)
	s := openTest(t, m, nil)
	q := newQueue(t, s, "T", 0, 0)
	fill(t, q, 0, 38)
	check(t, s.Close())
	_, err := m.Create(q.fileName(20))
	check(t, err)
	s = openTest(t, m, nil)
	check(t, s.CorrectMin(2400)) // the log has 24 and later
	q, _ = s.Queue("T", 0)
	fill(t, q, 24, 38)
	wantRange(t, q, 24, 38)
	check(t, s.Close())
	s = openTest(t, m, nil)
	check(t, s.CorrectMin(2400))
	q, _ = s.Queue("T", 0)
	wantRange(t, q, 24, 38)
}

// FuzzOpen: whatever two files of a queue hold, opening does not panic; what is accepted reads as increasing positions;
// and after cut and dispatch the queue equals the log.
func FuzzOpen(f *testing.F) {
	good := make([]byte, 15*UnitSize)
	for i := range int64(15) {
		unitAt(i).Put(good[i*UnitSize:])
	}
	f.Add(good[:10*UnitSize], append(good[10*UnitSize:], make([]byte, 5*UnitSize)...), true)
	f.Add(good[:10*UnitSize], []byte{}, false)
	f.Add(make([]byte, 10*UnitSize), good[:10*UnitSize], true)
	f.Add(good[:9], good[:10*UnitSize], false)
	f.Fuzz(func(t *testing.T, first, second []byte, crashed bool) {
		m := fs.NewMem(nil)
		check(t, m.MkdirAll("/s/consumequeue/T/0"))
		for i, b := range [][]byte{first, second} {
			file, err := m.Create("/s/consumequeue/T/0/" + fileName(int64(i)*testUnits))
			check(t, err)
			_, err = file.WriteAt(b, 0)
			check(t, err)
		}
		s := openTest(t, m, func(o *Options) { o.AfterCrash = crashed })
		check(t, s.CorrectMin(0))
		if !crashed {
			phys := int64(0)
			for _, q := range s.Queues("T") {
				for i, u := range content(t, q) {
					if u.PhysicalOffset < phys {
						t.Fatalf("unit %d is %+v after %d", i, u, phys)
					}
					phys = u.end()
				}
			}
			return
		}
		l := &testLog{}
		for range 25 {
			l.add(0)
		}
		l.recover(t, s, 0)
		l.want(t, s, "after recovery")
	})
}
