package store_test

import (
	"fmt"
	"testing"

	"github.com/seedmq/seedmq/store"
	"github.com/seedmq/seedmq/store/fs"
)

// BenchmarkRaise: one queue of a store in which as many as said are raised already, on the real disk.
func BenchmarkRaise(b *testing.B) {
	for _, raised := range []int{1, 1000} {
		b.Run(fmt.Sprint("raised=", raised), func(b *testing.B) {
			s, err := store.Open(store.Options{Root: b.TempDir(), FS: fs.OS{}, CommitLogFileSize: 64 << 20, NoPrepare: true})
			if err != nil {
				b.Fatal(err)
			}
			defer s.Close()
			batch := s.NewBatch()
			send := func(queue int32) {
				batch.Reset()
				if err := batch.Add(msg("A", queue, "x")); err != nil {
					b.Fatal(err)
				}
				if err := s.Append(batch); err != nil {
					b.Fatal(err)
				}
			}
			mins := make([]store.QueueMin, raised)
			for q := range int32(raised) {
				send(q)
				mins[q] = store.QueueMin{Topic: "A", QueueID: q, Offset: 1}
			}
			if _, err := s.Raise(mins); err != nil {
				b.Fatal(err)
			}
			n := int64(1)
			for b.Loop() {
				send(0)
				n++
				if _, err := s.Raise([]store.QueueMin{{Topic: "A", Offset: n}}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
