package store_test

import (
	"fmt"
	"net/netip"
	"sync"
	"testing"

	"github.com/seedmq/seedmq/remoting/protocol"
	"github.com/seedmq/seedmq/store"
)

func benchStore(b *testing.B, change func(*store.Options)) *store.Store {
	o := store.Options{Root: b.TempDir(), StoreHost: netip.MustParseAddrPort("127.0.0.1:10911"), IndexEnabled: true}
	if change != nil {
		change(&o)
	}
	s, err := store.Open(o)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		if err := s.Close(); err != nil {
			b.Error(err)
		}
	})
	return s
}

func benchMessages(n, queues, size int) []store.Message {
	ms := make([]store.Message, n)
	for i := range ms {
		uniq := fmt.Sprintf("7F0000010001A2B3C4D5%012d", i)
		ms[i] = store.Message{Topic: "BenchTopic", QueueID: int32(i % queues), BornHost: netip.MustParseAddrPort("127.0.0.1:5000"),
			BornTimestamp: 1, Body: make([]byte, size), UniqKey: uniq,
			Properties: protocol.AppendProperty(nil, protocol.PropertyUniqKey, uniq)}
	}
	return ms
}

func BenchmarkAppend(b *testing.B) {
	for _, batch := range []int{1, 16, 64} {
		for _, queues := range []int{1, 8} {
			b.Run(fmt.Sprintf("batch=%d/queues=%d/body=1k", batch, queues), func(b *testing.B) {
				s := benchStore(b, nil)
				ms := benchMessages(batch, queues, 1024)
				bt := s.NewBatch()
				b.ReportAllocs()
				b.SetBytes(1024)
				for n := 0; n < b.N; n += batch {
					bt.Reset()
					for i := range ms {
						if err := bt.Add(&ms[i]); err != nil {
							b.Fatal(err)
						}
					}
					if err := s.Append(bt); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}

// BenchmarkEncode is Append without the log.
func BenchmarkEncode(b *testing.B) {
	s := benchStore(b, nil)
	ms := benchMessages(64, 8, 1024)
	bt := s.NewBatch()
	b.ReportAllocs()
	for n := 0; n < b.N; n += len(ms) {
		bt.Reset()
		for i := range ms {
			if err := bt.Add(&ms[i]); err != nil {
				b.Fatal(err)
			}
		}
	}
}

func BenchmarkSyncAppend(b *testing.B) {
	for _, batch := range []int{1, 64} {
		b.Run(fmt.Sprintf("batch=%d", batch), func(b *testing.B) {
			s := benchStore(b, func(o *store.Options) { o.SyncFlush = true })
			ms := benchMessages(batch, 8, 1024)
			bt := s.NewBatch()
			done := make(chan error, 1)
			b.ReportAllocs()
			for n := 0; n < b.N; n += batch {
				bt.Reset()
				for i := range ms {
					if err := bt.Add(&ms[i]); err != nil {
						b.Fatal(err)
					}
				}
				if err := s.Append(bt); err != nil {
					b.Fatal(err)
				}
				s.AwaitSafe(bt.End(), func(err error) { done <- err })
				if err := <-done; err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkGet(b *testing.B) {
	for _, queues := range []int{1, 8} {
		b.Run(fmt.Sprintf("count=32/queues=%d/body=1k", queues), func(b *testing.B) {
			s := benchStore(b, nil)
			ms := benchMessages(64, queues, 1024)
			bt := s.NewBatch()
			for range 256 {
				bt.Reset()
				for i := range ms {
					if err := bt.Add(&ms[i]); err != nil {
						b.Fatal(err)
					}
				}
				if err := s.Append(bt); err != nil {
					b.Fatal(err)
				}
			}
			var dst []byte
			var at int64
			b.ReportAllocs()
			b.SetBytes(32 * 1150)
			for b.Loop() {
				var res store.GetResult
				dst, res = s.Get(&store.GetRequest{Topic: "BenchTopic", Offset: at, MaxCount: 32, MaxBytes: 1 << 20}, dst[:0])
				if at = res.NextBeginOffset; res.Status != store.GetFound {
					at = 0
				}
			}
		})
	}
}

// BenchmarkSyncGroup is sync flush with many writers, each of which waits for its batch.
func BenchmarkSyncGroup(b *testing.B) {
	for _, writers := range []int{8, 64} {
		b.Run(fmt.Sprintf("writers=%d/batch=16", writers), func(b *testing.B) {
			s := benchStore(b, func(o *store.Options) { o.SyncFlush = true })
			var wg sync.WaitGroup
			b.ReportAllocs()
			for range writers {
				wg.Go(func() {
					ms := benchMessages(16, 8, 1024)
					bt := s.NewBatch()
					done := make(chan error, 1)
					for n := 0; n < b.N/writers; n += len(ms) {
						bt.Reset()
						for i := range ms {
							if err := bt.Add(&ms[i]); err != nil {
								b.Error(err)
							}
						}
						if err := s.Append(bt); err != nil {
							b.Error(err)
						}
						s.AwaitSafe(bt.End(), func(err error) { done <- err })
						if err := <-done; err != nil {
							b.Error(err)
						}
					}
				})
			}
			wg.Wait()
		})
	}
}
