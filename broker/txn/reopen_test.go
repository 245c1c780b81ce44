package txn

import (
	"slices"
	"testing"
	"time"

	"github.com/seedmq/seedmq/remoting/protocol"
	"github.com/seedmq/seedmq/store"
)

// lose takes the records [from, to) of the log, as a power failure does whose disk had written what is behind them.
func (f *fakeStore) lose(from, to int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	end := f.end
	if to < len(f.at) {
		end = f.at[to]
	}
	f.holes = append(f.holes, store.LogRange{From: f.at[from], To: end})
	for i := from; i < to; i++ {
		f.log[i] = nil
		for q, us := range f.queues {
			f.queues[q] = slices.DeleteFunc(slices.Clone(us), func(u store.QueueUnit) bool { return u.PhysicalOffset == f.at[i] && q.topic == "T" })
		}
	}
}

// find is the index of the record with a body in a topic.
func (f *fakeStore) find(t *testing.T, topic, body string) int {
	t.Helper()
	f.mu.Lock()
	defer f.mu.Unlock()
	for i, rec := range f.log {
		var v protocol.MessageView
		if _, err := protocol.DecodeMessage(rec, &v); err == nil && v.Topic == topic && string(v.Body) == body {
			return i
		}
	}
	t.Fatal("no record of ", topic, body)
	return 0
}

// TestOutcomeLostMarkKept: the producer is asked again, whatever happens in between, and what it says then counts.
func TestOutcomeLostMarkKept(t *testing.T) {
	for _, again := range []int{0, 1, 3, 10, 11} {
		r := newRig(t)
		r.start()
		lost, kept := r.half("lost"), r.half("kept")
		if again >= 10 { // they were checked before
			again -= 10
			r.advance(7 * time.Second)
			lost, kept = r.asksNow()[0].at, r.asksNow()[1].at
		}
		seen := len(r.asksNow())
		for _, at := range []store.AppendResult{kept, lost} {
			if err := r.end(at, Commit, false); err != nil {
				t.Fatal(err)
			}
		}
		i := r.find(t, "T", "lost")
		r.lose(i, i+1)
		r.start()
		for range again { // it is killed again before anybody is asked, and meets the hole again
			r.start()
		}
		if n := r.s.Open(); n != 1 {
			t.Fatalf("%d transactions are open", n)
		}
		r.holes = nil // the next start does not read so far back
		r.start()
		r.advance(7 * time.Second)
		r.advance(40 * time.Second)
		asks := r.asksNow()[seen:]
		if len(asks) == 0 || asks[0].name != "lost" {
			t.Fatalf("asked: %v", asks)
		}
		if err := r.end(asks[len(asks)-1].at, Commit, true); err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, m := range r.records2("T", 2) {
			got = append(got, string(m.Body))
		}
		if r.start(); r.s.Open() != 0 || !slices.Equal(got, []string{"kept", "lost"}) {
			t.Fatalf("delivered %v, %d open", got, r.s.Open())
		}
	}
}

// TestHoleBeforeTheOutcome: an outcome that is there counts, also right behind a hole; and marks that are behind other messages have nothing to
// do with the hole.
func TestHoleBeforeTheOutcome(t *testing.T) {
	r := newRig(t)
	r.start()
	at := r.half("a")
	if _, err := r.put(store.Message{Topic: "Other", BornHost: host, StoreHost: host, Body: []byte("x")}); err != nil {
		t.Fatal(err)
	}
	if err := r.end(at, Commit, false); err != nil {
		t.Fatal(err)
	}
	b := r.half("b")
	if err := r.end(b, Rollback, false); err != nil {
		t.Fatal(err)
	}
	i := r.find(t, "Other", "x")
	r.lose(i, i+1)
	r.start()
	if n := r.s.Open(); n != 0 {
		t.Fatalf("%d open", n)
	}
}
