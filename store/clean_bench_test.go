package store_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/seedmq/seedmq/store"
)

// BenchmarkAppendWhileDeleting measures single sends, from Append to the moment when they are safe, while nothing else
// happens and while expired log files are deleted. What counts is p99-us of the two. SEEDMQ_DELETE_MIB is the size of a file
// (64); Java's is 1024:
//
//	SEEDMQ_DELETE_MIB=1024 go test ./store -run '^$' -bench WhileDeleting -benchtime 1x
func BenchmarkAppendWhileDeleting(b *testing.B) {
	mib, err := strconv.Atoi(os.Getenv("SEEDMQ_DELETE_MIB"))
	if err != nil {
		mib = 64
	}
	for _, sync := range []bool{false, true} {
		for _, expired := range []bool{false, true} {
			b.Run(fmt.Sprintf("sync=%v/expired=%v", sync, expired), func(b *testing.B) {
				var all []time.Duration
				for b.Loop() {
					all = append(all, sendWhileDeleting(b, int64(mib)<<20, expired, sync)...)
				}
				slices.Sort(all)
				at := func(q float64) float64 { return float64(all[int(q*float64(len(all)-1))].Nanoseconds()) / 1e3 }
				b.ReportMetric(at(0.5), "p50-us")
				b.ReportMetric(at(0.99), "p99-us")
				b.ReportMetric(at(0.999), "p99.9-us")
				b.ReportMetric(at(1), "max-us")
				b.ReportMetric(0, "ns/op")
			})
		}
	}
}

// sendWhileDeleting makes a store of some files and sends for five seconds, in which they are being deleted if they have
// expired. It returns the times.
func sendWhileDeleting(b *testing.B, size int64, expired, sync bool) (times []time.Duration) {
	const files = 4
	b.StopTimer()
	dir := b.TempDir()
	o := store.Options{Root: dir, CommitLogFileSize: size, SyncFlush: sync, FileReservedTime: 24 * time.Hour}
	s := openFor(b, o)
	batch := s.NewBatch()
	big := msg("A", 0, string(make([]byte, 1<<20)))
	for s.Status().MaxPhys < files*size {
		send(b, s, batch, big)
	}
	if err := s.Close(); err != nil {
		b.Fatal(err)
	}
	old := time.Now().Add(-48 * time.Hour)
	for i := 0; i < files && expired; i++ {
		if err := os.Chtimes(filepath.Join(dir, "commitlog", fmt.Sprintf("%020d", int64(i)*size)), old, old); err != nil {
			b.Fatal(err)
		}
	}
	s = openFor(b, o)
	defer s.Close()
	batch = s.NewBatch()
	small := msg("A", 0, string(make([]byte, 1<<10)))
	for range 1000 {
		send(b, s, batch, small)
	}
	b.StartTimer()
	if err := s.DeleteExpired(); err != nil {
		b.Fatal(err)
	}
	for begin := time.Now(); ; {
		start := time.Now()
		send(b, s, batch, small)
		times = append(times, time.Since(start))
		if len(times)%256 == 0 && time.Since(begin) > 5*time.Second {
			break
		}
	}
	if deleted := s.Status().MinPhys > 0; deleted != expired {
		b.Fatalf("files were deleted: %v", deleted)
	}
	return times
}

func openFor(b *testing.B, o store.Options) *store.Store {
	s, err := store.Open(o)
	if err != nil {
		b.Fatal(err)
	}
	return s
}

func send(b *testing.B, s *store.Store, batch *store.Batch, m *store.Message) {
	batch.Reset()
	err := batch.Add(m)
	if err == nil {
		err = s.Append(batch)
	}
	safe := make(chan error, 1)
	if err == nil {
		s.AwaitSafe(batch.End(), func(err error) { safe <- err })
		err = <-safe
	}
	if err != nil {
		b.Fatal(err)
	}
}
