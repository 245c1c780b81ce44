package consumequeue

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"

	"github.com/seedmq/seedmq/store/fs"
)

// model is the simple twin of a queue: all of its units in a slice.
type model struct {
	first int64 // offset of units[0]
	min   int64
	units []Unit
}

func (m *model) end() int64 { return m.first + int64(len(m.units)) }

func (m *model) maxPhys() int64 {
	if len(m.units) == 0 {
		return noPhys
	}
	return m.units[len(m.units)-1].end()
}

// TestRandomOperations drives a set and its twin with the same operations and compares them.
func TestRandomOperations(t *testing.T) {
	for seed := range uint64(30) {
		t.Run(fmt.Sprintf("seed=%d", seed), func(t *testing.T) {
			r := rand.New(rand.NewPCG(seed, 3))
			m := fs.NewMem(nil)
			change := func(o *Options) {
				o.MaxOpenFiles = 1 + int(seed%5)
				if seed%2 == 0 {
					o.BufferBytes = 1 // rings never grow
				}
			}
			s := openTest(t, m, change)
			models := map[int32]*model{}
			var phys, minPhys int64
			for range 400 {
				id := r.Int32N(3)
				switch op := r.IntN(100); {
				case op < 60:
					md := models[id]
					if md == nil {
						md = &model{first: r.Int64N(35)}
						md.min = md.first
						models[id] = md
					}
					q := newQueue(t, s, "T", id, md.first)
					var units []Unit
					for range 1 + r.IntN(40) {
						units = append(units, Unit{PhysicalOffset: phys, Size: 50, TagsCode: r.Int64()})
						phys += 50
					}
					at := md.end()
					check(t, q.Append(at, units))
					if r.IntN(4) == 0 {
						check(t, q.Append(at, units)) // dispatched again
					}
					md.units = append(md.units, units...)
				case op < 75:
					_, err := s.Flush(r.IntN(2) == 0)
					check(t, err)
				case op < 85:
					minPhys = minPhys + r.Int64N(phys-minPhys+1)/4
					check(t, s.DeleteBefore(minPhys))
					for _, md := range models {
						for md.min < md.end() && md.units[md.min-md.first].PhysicalOffset < minPhys {
							md.min++
						}
					}
				case op < 90:
					p := max((minPhys+49)/50, phys/50-r.Int64N(30)) * 50
					check(t, s.TruncateToPhys(p))
					phys = p
					for _, md := range models {
						for len(md.units) > 0 && md.units[len(md.units)-1].PhysicalOffset >= p {
							md.units = md.units[:len(md.units)-1]
						}
						md.min = min(md.min, md.end())
					}
				case op < 93:
					check(t, s.DeleteQueue("T", id))
					delete(models, id)
				default:
					check(t, s.Close())
					s = openTest(t, m, change)
					check(t, s.CorrectMin(minPhys))
				}
				compare(t, s, models, r)
			}
		})
	}
}

func compare(t *testing.T, s *Set, models map[int32]*model, r *rand.Rand) {
	t.Helper()
	for id, md := range models {
		q, ok := s.Queue("T", id)
		if !ok {
			if len(md.units) == 0 { // never written, and the set was opened again
				delete(models, id)
				continue
			}
			t.Fatalf("queue %d is gone", id)
		}
		from, to := q.Range()
		if len(md.units) == 0 || md.min == md.end() {
			// Nothing to read. Where an empty queue stands may be forgotten over a restart.
			if from != to {
				t.Fatalf("queue %d: [%d, %d), want it empty", id, from, to)
			}
			if len(md.units) == 0 {
				md.first, md.min = to, to
			}
			continue
		}
		if from != md.min || to != md.end() || q.MaxPhys() != md.maxPhys() {
			t.Fatalf("queue %d: [%d, %d) up to %d, want [%d, %d) up to %d", id, from, to, q.MaxPhys(), md.min, md.end(), md.maxPhys())
		}
		at := from + r.Int64N(to-from)
		buf := make([]Unit, 1+r.IntN(60))
		n, err := q.Read(at, buf)
		want := md.units[at-md.first:]
		want = want[:min(len(want), len(buf))]
		if err != nil || !slices.Equal(buf[:n], want) {
			t.Fatalf("queue %d: read %d at %d: %d, %v", id, len(buf), at, n, err)
		}
	}
}

// TestReadersBesideTheDispatcher: readers always see whole, ordered units, while others append, flush and delete.
func TestReadersBesideTheDispatcher(t *testing.T) {
	s := openTest(t, fs.NewMem(nil), func(o *Options) { o.MaxOpenFiles = 2 })
	q := newQueue(t, s, "T", 0, 0)
	done := make(chan struct{})
	var wg sync.WaitGroup
	for range 3 {
		wg.Add(1)
		go func() {
			defer wg.Done()
			buf := make([]Unit, 33)
			r := rand.New(rand.NewPCG(1, 2))
			for {
				select {
				case <-done:
					return
				default:
				}
				from, to := q.Range()
				if from == to {
					continue
				}
				at := from + r.Int64N(to-from)
				n, err := q.Read(at, buf)
				if now, _ := q.Range(); err != nil && now <= at {
					t.Errorf("read at %d: %v", at, err)
					return
				}
				for i, u := range buf[:n] {
					if u != unitAt(at+int64(i)) {
						t.Errorf("unit %d is %+v", at+int64(i), u)
						return
					}
				}
			}
		}()
	}
	for n := int64(0); n < 6000; n++ {
		fill(t, q, n, n+1)
		switch {
		case n%97 == 0:
			_, err := s.Flush(n%2 == 0)
			check(t, err)
		case n%501 == 0:
			check(t, s.DeleteBefore(n*50))
		}
	}
	close(done)
	wg.Wait()
}
