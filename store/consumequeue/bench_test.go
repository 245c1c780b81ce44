package consumequeue

import (
	"fmt"
	"math"
	"path/filepath"
	"runtime"
	"testing"
	"time"

	"github.com/seedmq/seedmq/store/fs"
)

func BenchmarkAppend(b *testing.B) {
	for _, queues := range []int{1, 8, 1000} {
		b.Run(fmt.Sprintf("batch=64/queues=%d", queues), func(b *testing.B) {
			s, err := Open(Options{FS: fs.OS{}, Dir: b.TempDir()})
			check(b, err)
			qs := make([]*Queue, queues)
			for i := range qs {
				qs[i] = newQueue(b, s, "Topic", int32(i), 0)
			}
			per := max(64/queues, 1)
			units := make([]Unit, per)
			var phys int64
			b.ReportAllocs()
			b.ResetTimer()
			for n, i := 0, 0; n < b.N; n, i = n+per, i+1 {
				for k := range units {
					units[k] = Unit{PhysicalOffset: phys, Size: 1024, TagsCode: 1}
					phys += 1024
				}
				q := qs[i%queues]
				if err := q.Append(q.Next(), units); err != nil {
					b.Fatal(err)
				}
			}
			b.StopTimer()
			check(b, s.Close())
		})
	}
}

func BenchmarkLookup(b *testing.B) {
	s := newSet(Options{FS: fs.NewMem(nil), Dir: "/d"})
	topics := make([]string, 10_000)
	for i := range topics {
		topics[i] = fmt.Sprintf("some-topic-of-a-usual-length-%05d", i)
		for id := range int32(8) {
			newQueue(b, s, topics[i], id, 0)
		}
	}
	b.ReportAllocs()
	b.ResetTimer()
	for n := range b.N {
		if _, ok := s.Queue(topics[n%len(topics)], int32(n&7)); !ok {
			b.Fatal("not found")
		}
	}
}

func BenchmarkRead(b *testing.B) {
	for _, where := range []string{"ring", "file"} {
		b.Run(where, func(b *testing.B) {
			s, err := Open(Options{FS: fs.OS{}, Dir: b.TempDir()})
			check(b, err)
			q := newQueue(b, s, "T", 0, 0)
			fill(b, q, 0, 1000)
			if where == "file" {
				for range 2 {
					_, err := s.Flush(false)
					check(b, err)
				}
			}
			buf := make([]Unit, 32)
			b.ReportAllocs()
			b.ResetTimer()
			for range b.N {
				if n, err := q.Read(960, buf); n != 32 || err != nil {
					b.Fatal(n, err)
				}
			}
			b.StopTimer()
			check(b, s.Close())
		})
	}
}

// BenchmarkManyQueues makes, closes and opens 100,000 queues of ten messages each, without a snapshot and with one. One
// round takes a minute or more, most of it in the making; it tells the memory of the set when all is idle.
func BenchmarkManyQueues(b *testing.B) {
	const topics, queues = 12_500, 8
	o := Options{FS: fs.OS{}, Dir: b.TempDir() + "/consumequeue"}
	for range b.N {
		s, err := Open(o)
		check(b, err)
		var units [10]Unit
		var phys int64
		start := time.Now()
		for i := range topics {
			for id := range int32(queues) {
				q := newQueue(b, s, fmt.Sprintf("topic-%05d", i), id, 0)
				for k := range units {
					units[k] = Unit{PhysicalOffset: phys, Size: 100}
					phys += 100
				}
				check(b, q.Append(q.Next(), units[:]))
			}
		}
		b.ReportMetric(time.Since(start).Seconds(), "append-s")
		start = time.Now()
		_, err = s.Flush(true)
		check(b, err)
		b.ReportMetric(time.Since(start).Seconds(), "flush-s")
		check(b, s.Close())
		start = time.Now()
		s, err = Open(o)
		check(b, err)
		check(b, s.CorrectMin(0))
		b.ReportMetric(time.Since(start).Seconds(), "open-s")
		if s.Len() != topics*queues || s.MaxPhys() != phys || s.RebuildFrom() != math.MaxInt64 {
			b.Fatal(s.Len(), s.MaxPhys(), phys, s.RebuildFrom())
		}
		var m runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&m)
		b.ReportMetric(float64(m.HeapAlloc)/(topics*queues), "heap-B/queue")
		f, err := o.FS.Create(filepath.Join(filepath.Dir(o.Dir), tokenName))
		check(b, err)
		check(b, f.Close())
		check(b, s.Close())
		start = time.Now()
		s, err = Open(o)
		check(b, err)
		check(b, s.CorrectMin(0))
		b.ReportMetric(time.Since(start).Seconds(), "snapshot-open-s")
		if s.Len() != topics*queues || s.MaxPhys() != phys {
			b.Fatal(s.Len(), s.MaxPhys(), phys)
		}
		check(b, s.Close())
	}
}

// TestSteadyStateDoesNotAllocate holds for appends, lookups and reads.
func TestSteadyStateDoesNotAllocate(t *testing.T) {
	s, err := Open(Options{FS: fs.OS{}, Dir: t.TempDir()})
	check(t, err)
	q := newQueue(t, s, "T", 0, 0)
	fill(t, q, 0, 2000)
	buf := make([]Unit, 32)
	unit := make([]Unit, 1)
	if n := testing.AllocsPerRun(2000, func() {
		q, _ := s.Queue("T", 0)
		unit[0] = unitAt(q.Next())
		if err := q.Append(q.Next(), unit); err != nil {
			t.Fatal(err)
		}
		q.Read(q.Next()-32, buf)
		q.Read(100, buf)
	}); n > 0.1 { // pools may lose a buffer to the garbage collector
		t.Fatalf("%v allocations", n)
	}
	check(t, s.Close())
}
