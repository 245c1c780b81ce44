package store_test

import (
	"encoding/binary"
	"fmt"
	"net/netip"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/seedmq/seedmq/remoting/protocol"
	"github.com/seedmq/seedmq/store"
)

// Writers, readers, a deleter of topics and the files' preparer at once, on real files: every message that was
// acknowledged is read once, in its writer's order, while and after it is written.
func TestConcurrent(t *testing.T) {
	for _, sync := range []bool{false, true} {
		t.Run(fmt.Sprintf("sync=%v", sync), func(t *testing.T) { testConcurrent(t, sync) })
	}
}

const (
	writers   = 4
	perWriter = 1500
)

func testConcurrent(t *testing.T, syncFlush bool) {
	var arrived atomic.Int64
	o := store.Options{Root: t.TempDir(), CommitLogFileSize: 256 << 10, QueueFileUnits: 500, SyncFlush: syncFlush, MapBytes: 1,
		StoreHost: netip.MustParseAddrPort("127.0.0.1:1"), OnArrival: func(a []store.Arrival) { arrived.Add(int64(len(a))) }}
	s, err := store.Open(o)
	if err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	for w := range writers {
		wg.Go(func() { writeMany(t, s, w) })
		wg.Go(func() { readMany(t, s, w) })
	}
	wg.Go(func() {
		for range 20 {
			if err := s.DeleteTopic("gone"); err != nil {
				t.Error(err)
			}
			_, _ = s.Status(), s.Topics()
		}
	})
	wg.Wait()
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if n := arrived.Load(); n != writers*perWriter+writers*perWriter/10 {
		t.Fatalf("told of %d messages", n)
	}
	if s, err = store.Open(o); err != nil {
		t.Fatal(err)
	}
	for w := range writers {
		readMany(t, s, w)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
}

func writeMany(t *testing.T, s *store.Store, w int) {
	b := s.NewBatch()
	done := make(chan error, 1)
	for n := 0; n < perWriter; {
		b.Reset()
		for i := 0; i < 10; i++ {
			body := make([]byte, 8+n%600)
			binary.BigEndian.PutUint64(body, uint64(n))
			m := &store.Message{Topic: "T", QueueID: int32(w), Body: body}
			if err := b.Add(m); err != nil {
				t.Error(err)
				return
			}
			n++
		}
		if err := b.Add(&store.Message{Topic: "gone", QueueID: int32(w), Body: []byte("x")}); err != nil {
			t.Error(err)
		}
		if err := s.Append(b); err != nil {
			t.Error(err)
			return
		}
		s.AwaitSafe(b.End(), func(err error) { done <- err })
		if err := <-done; err != nil {
			t.Error(err)
			return
		}
	}
}

func readMany(t *testing.T, s *store.Store, w int) {
	var buf []byte
	want := uint64(0)
	for want < perWriter {
		var res store.GetResult
		buf, res = s.Get(&store.GetRequest{Topic: "T", QueueID: int32(w), Offset: int64(want), MaxCount: 32, MaxBytes: 1 << 20}, buf[:0])
		for rest := buf; len(rest) > 0; {
			var v protocol.MessageView
			n, err := protocol.DecodeMessage(rest, &v)
			if err != nil || v.CheckBody() != nil || binary.BigEndian.Uint64(v.Body) != want || v.QueueOffset != int64(want) {
				t.Errorf("writer %d: offset %d, body %x, %v; want %d", w, v.QueueOffset, v.Body[:8], err, want)
				return
			}
			rest = rest[n:]
			want++
		}
		if res.Status != store.GetFound && res.Status != store.GetOffsetOverflowOne && res.Status != store.GetNoQueue && res.Status != store.GetNoMessageInQueue {
			t.Errorf("writer %d: %+v", w, res)
			return
		}
	}
}

// The store is closed while messages come in: those that were acknowledged are there afterwards, and the stop is clean.
func TestCloseUnderLoad(t *testing.T) {
	for _, syncFlush := range []bool{false, true} {
		o := store.Options{Root: t.TempDir(), CommitLogFileSize: 1 << 20, SyncFlush: syncFlush, IndexEnabled: true, IndexSlots: 100, IndexEntries: 10_000}
		s, err := store.Open(o)
		if err != nil {
			t.Fatal(err)
		}
		var acked [writers]int64
		var wg sync.WaitGroup
		started := make(chan struct{}, writers)
		for w := range writers {
			wg.Go(func() {
				b := s.NewBatch()
				done := make(chan error, 1)
				for n := 0; ; n++ {
					b.Reset()
					if err := b.Add(&store.Message{Topic: "T", QueueID: int32(w), Body: make([]byte, 300), UniqKey: fmt.Sprint(w, n)}); err != nil {
						t.Error(err)
					}
					if err := s.Append(b); err != nil {
						return // closed
					}
					s.AwaitSafe(b.End(), func(err error) { done <- err })
					if err := <-done; err != nil {
						t.Error(err)
						return
					}
					acked[w]++
					if n == 100 {
						started <- struct{}{}
					}
				}
			})
		}
		for range writers {
			<-started
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		wg.Wait()
		if s, err = store.Open(o); err != nil {
			t.Fatal(err)
		}
		for w := range writers {
			if _, max, _ := s.QueueRange("T", int32(w)); max != acked[w] {
				t.Errorf("sync %v, writer %d: queue ends at %d, %d were acknowledged", syncFlush, w, max, acked[w])
			}
		}
		if st := s.Status(); st.DispatchedPhys != st.MaxPhys {
			t.Errorf("%+v", st)
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
}
