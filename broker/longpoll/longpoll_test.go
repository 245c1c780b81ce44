package longpoll

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/seedmq/seedmq/conf/clock"
	"github.com/seedmq/seedmq/store"
)

type ended struct {
	h   *Held
	why Reason
}

type bench struct {
	*Table
	clk *clock.Fake
	out chan ended
}

func newBench(t *testing.T, max int) *bench {
	t.Helper()
	b := &bench{clk: clock.NewFake(time.UnixMilli(1_700_000_000_000)), out: make(chan ended, 10_000)}
	b.Table = New(Options{Max: max, Clock: b.clk})
	b.Start()
	t.Cleanup(b.Close)
	return b
}

func (b *bench) pull(topic string, queue int32, off int64, wait time.Duration) *Held {
	return &Held{Topic: topic, QueueID: queue, Offset: off, Timeout: wait, Resume: func(h *Held, why Reason) { b.out <- ended{h, why} }}
}

func (b *bench) hold(t *testing.T, h *Held) *Held {
	t.Helper()
	if !b.Hold(h, func() int64 { return h.Offset }) {
		t.Fatal("not held")
	}
	return h
}

func (b *bench) want(t *testing.T, h *Held, why Reason) {
	t.Helper()
	select {
	case e := <-b.out:
		if e.h != h || e.why != why {
			t.Fatalf("%s@%d ended with %d, want %s@%d with %d", e.h.Topic, e.h.QueueID, e.why, h.Topic, h.QueueID, why)
		}
	case <-time.After(10 * time.Second):
		t.Fatal("not ended")
	}
}

func arrival(topic string, queue int32, off, code int64) []store.Arrival {
	return []store.Arrival{{Topic: topic, QueueID: queue, QueueOffset: off, TagsCode: code}}
}

type onlyCode int64

func (f onlyCode) MatchTagsCode(c int64) bool { return c == int64(f) }
func (onlyCode) MatchRecord([]byte) bool      { return true }

func TestArrivalWakes(t *testing.T) {
	b := newBench(t, 0)
	h := b.hold(t, b.pull("T", 1, 5, time.Minute))
	other := b.hold(t, b.pull("T", 2, 5, time.Minute))
	b.Arrive(arrival("U", 1, 5, 0))
	b.Arrive(arrival("T", 1, 4, 0)) // the pull is past it
	if b.Len() != 2 {
		t.Fatal("woken by something else")
	}
	b.Arrive(arrival("T", 1, 5, 0))
	b.want(t, h, Arrived)
	if b.Len() != 1 {
		t.Fatal(b.Len())
	}
	b.Wake(h) // ended already
	b.Wake(other)
	b.want(t, other, Woken)
}

func TestFilterDecides(t *testing.T) {
	b := newBench(t, 0)
	h := b.pull("T", 0, 0, time.Minute)
	h.Filter = onlyCode(7)
	b.hold(t, h)
	b.Arrive(arrival("T", 0, 0, 6))
	if b.Len() != 1 {
		t.Fatal("woken by another tag")
	}
	b.Arrive(arrival("T", 0, 1, 7))
	b.want(t, h, Arrived)
}

func TestMessageBetweenLookAndHold(t *testing.T) {
	b := newBench(t, 0)
	h := b.pull("T", 0, 5, time.Minute)
	if !b.Hold(h, func() int64 { return 6 }) {
		t.Fatal("not held")
	}
	b.want(t, h, Arrived)
}

func TestTimeOuts(t *testing.T) {
	b := newBench(t, 0)
	late := b.hold(t, b.pull("T", 0, 0, 20*time.Second))
	early := b.hold(t, b.pull("T", 0, 0, 5*time.Second)) // earlier than what the watch sleeps for
	b.advanceUntil(t, 5*time.Second)
	b.want(t, early, TimedOut)
	if b.Len() != 1 {
		t.Fatal("both are gone")
	}
	b.advanceUntil(t, 15*time.Second)
	b.want(t, late, TimedOut)
}

// advanceUntil moves the clock by d and then, since the watch may not have set its timer yet, pokes it until something ends.
func (b *bench) advanceUntil(t *testing.T, d time.Duration) {
	t.Helper()
	b.clk.Advance(d)
	poke(b.kick)
}

func TestFullAndClosed(t *testing.T) {
	b := newBench(t, 2)
	hs := []*Held{b.hold(t, b.pull("T", 0, 0, time.Minute)), b.hold(t, b.pull("T", 0, 0, time.Minute))}
	if b.Hold(b.pull("T", 0, 0, time.Minute), func() int64 { return 0 }) {
		t.Fatal("held more than Max")
	}
	b.Close()
	for range hs {
		if e := <-b.out; e.why != Shutdown {
			t.Fatal(e.why)
		}
	}
	if b.Hold(b.pull("T", 0, 0, time.Minute), func() int64 { return 0 }) {
		t.Fatal("held after Close")
	}
}

func TestWakeAll(t *testing.T) {
	b := newBench(t, 0)
	for q := range int32(20) {
		b.hold(t, b.pull("T", q, 0, time.Duration(20-q)*time.Second))
		b.hold(t, b.pull("U", q, 0, time.Duration(q+1)*time.Second))
	}
	b.WakeAll("T")
	for range 20 {
		if e := <-b.out; e.h.Topic != "T" || e.why != Woken {
			t.Fatal(e.h.Topic, e.why)
		}
	}
	if b.Len() != 20 {
		t.Fatal(b.Len())
	}
	b.WakeAll("")
	for range 20 {
		<-b.out
	}
}

// TestEachEndsOnce holds, wakes and times out at random from several goroutines: every pull that was held ends exactly once.
func TestEachEndsOnce(t *testing.T) {
	b := newBench(t, 0)
	var wg sync.WaitGroup
	var mu sync.Mutex
	held := 0
	for g := range 4 {
		wg.Go(func() {
			rnd := rand.New(rand.NewPCG(uint64(g), 1))
			for i := range 500 {
				h := b.pull(fmt.Sprint("T", rnd.IntN(3)), int32(rnd.IntN(3)), int64(rnd.IntN(10)), time.Duration(1+rnd.IntN(100))*time.Millisecond)
				if b.Hold(h, func() int64 { return int64(rnd.IntN(12)) }) {
					mu.Lock()
					held++
					mu.Unlock()
				}
				switch i % 5 {
				case 0:
					b.Wake(h)
				case 1:
					b.Arrive(arrival(h.Topic, h.QueueID, int64(rnd.IntN(12)), 0))
				case 2:
					b.clk.Advance(10 * time.Millisecond)
				}
			}
		})
	}
	wg.Wait()
	b.Close()
	seen := map[*Held]bool{}
	for range held {
		e := <-b.out
		if seen[e.h] {
			t.Fatal("ended twice")
		}
		seen[e.h] = true
	}
	select {
	case <-b.out:
		t.Fatal("one too many")
	default:
	}
}

func TestHeapIsSorted(t *testing.T) {
	rnd := rand.New(rand.NewPCG(3, 3))
	var q timeHeap
	var all []*Held
	for range 500 {
		h := &Held{deadline: int64(rnd.IntN(100))}
		q.push(h)
		all = append(all, h)
		if len(all) > 5 && rnd.IntN(3) == 0 {
			i := rnd.IntN(len(all))
			q.remove(all[i])
			all = slices.Delete(all, i, i+1)
		}
	}
	last := int64(-1)
	for len(q) > 0 {
		h := q[0]
		q.remove(h)
		if h.deadline < last || h.heapAt != -1 {
			t.Fatal("out of order")
		}
		last = h.deadline
	}
}

func TestArriveWithoutPullsIsFree(t *testing.T) {
	b := newBench(t, 0)
	batch := arrival("T", 0, 0, 0)
	if n := testing.AllocsPerRun(100, func() { b.Arrive(batch) }); n > 0 {
		t.Fatalf("%v allocations", n)
	}
}
