package pop

import (
	"errors"
	"fmt"
	"runtime"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/seedmq/seedmq/conf/clock"
	"github.com/seedmq/seedmq/store/fs"
)

const sweepTime = (idleMs + sweepEvery) * time.Millisecond

// jump moves the clock without the many scans of step.
func (b *bench) jump(d time.Duration) {
	b.clk.Advance(d)
	b.step(time.Second)
}

func (b *bench) wantQueues(what string, n int) {
	b.t.Helper()
	if f := b.s.Figures(); f.Queues != n {
		b.t.Fatalf("%s: states of %d queues, want %d", what, f.Queues, n)
	}
}

// TestSweep: what is kept of groups that pop no more is bounded, and a group that comes back goes on where it stood, after a kill, too.
func TestSweep(t *testing.T) {
	b := newBench(t)
	b.sends(3)
	const groups = 3 * sweptAtOnce
	pop := func(g int, want string) {
		t.Helper()
		list, _, _ := b.take(Take{Topic: "T", Group: fmt.Sprint("G", g)})
		b.wantBodies(fmt.Sprint("group ", g), list, want)
		b.mustAck(list...)
	}
	for g := range groups {
		pop(g, "0 1 2 ")
	}
	b.wantQueues("at first", groups)
	b.jump(5 * time.Minute)
	b.wantQueues("five minutes later", groups)
	b.jump(sweepTime)
	b.wantQueues("after the sweep", 0)
	pop(1, "")
	b.store.send("T", 0, "a", "3")
	pop(1, "3 ")
	b.kill() // nothing saved the offsets but the sweep
	b.wantQueues("after a kill", 1)
	pop(1, "")
	pop(2, "3 ")
	if at, _ := b.offsets.Query(queueKey{"T", "G3", 0}.offset()); at != 3 {
		t.Fatalf("a group that did not come back stands at %d", at)
	}
	b.stop()
	b.open()
	pop(3, "3 ")
	pop(2, "")
}

// TestSweepKeeps: what somebody may still need stays.
func TestSweepKeeps(t *testing.T) {
	b := newBench(t)
	b.sends(4)
	open, _, _ := b.take(Take{Topic: "T", Group: "open", Invisible: 24 * 3600_000})
	done, _, _ := b.take(Take{Topic: "T", Group: "long", Invisible: 24 * 3600_000})
	order, _, _ := b.take(Take{Topic: "T", Group: "order", Ordered: true, Max: 1})
	gone, _, _ := b.take(Take{Topic: "T", Group: "gone"})
	b.mustAck(done...)
	b.mustAck(order...)
	b.mustAck(gone...)
	b.mustAck(open[:2]...)
	b.jump(2 * sweepTime)
	b.wantQueues("an hour later", 3)
	if err := errors.Join(b.ack(done[0].r), b.ack(gone[0].r), b.ack(order[0].r)); err != nil {
		t.Fatalf("an ack that comes twice: %v", err)
	}
	b.mustAck(open[2:]...)
	b.jump(25 * time.Hour)
	b.jump(sweepTime)
	b.wantQueues("two days later", 0)
	if err := errors.Join(b.ack(open[0].r), b.ack(done[0].r)); err != nil {
		t.Fatalf("an ack that comes much too late: %v", err)
	}
	if list, _, _ := b.take(Take{Topic: "T", Group: "order", Ordered: true}); bodies(list) != "1 2 3 " {
		t.Fatalf("the ordered group goes on with %q", bodies(list))
	}
	b.jump(time.Minute)
	b.wantBodies("nothing is back", b.pop(time.Minute, 1), "0 1 2 3 ") // of another group: its own
}

// TestSweepNeedsSafeOffsets: the journal is not made to forget what no file says.
func TestSweepNeedsSafeOffsets(t *testing.T) {
	b := newBench(t)
	b.sends(3)
	b.mustAck(b.pop(time.Minute, 1)...)
	broken := errors.New("disk")
	b.disk.SetHook(func(op fs.Op) fs.Fault {
		if slices.Contains([]string{"/s/config/consumerOffset.json", "/s/config/consumerOffset.json.tmp"}, op.Name) {
			return fs.Fault{Err: broken}
		}
		return fs.Fault{}
	})
	b.jump(2 * sweepTime)
	if f := b.s.Figures(); f.Queues == 0 {
		t.Fatal("swept")
	}
	b.kill()
	b.wantBodies("after a kill", b.pop(time.Minute, 1), "")
	b.disk.SetHook(nil)
	b.store.late = time.Hour
	b.jump(2 * sweepTime)
	if f := b.s.Figures(); f.Queues == 0 {
		t.Fatal("swept while the timer may bring old records")
	}
	b.store.late = 0
	b.jump(2 * sweepTime)
	b.wantQueues("all is well", 0)
}

// TestSweepNumbers: a number in the journal is not used again while files may say something of its old queue.
func TestSweepNumbers(t *testing.T) {
	b := newBench(t)
	b.sends(1)
	b.mustAck(b.pop(time.Minute, 1)...)
	b.jump(2 * sweepTime)
	b.wantQueues("swept", 0)
	before := b.s.nums.Load()
	b.kill()
	b.take(Take{Topic: "T", Group: "H"})
	if q := b.s.table.get(queueKey{"T", "H", 0}); before == 0 || q.num <= before {
		t.Fatalf("number %d, the last was %d", q.num, before)
	}
}

// TestSweepWhileSomebodyWaits: who waits for the lock of a state that goes gets a new one.
func TestSweepWhileSomebodyWaits(t *testing.T) {
	b := newBench(t)
	for range 20 {
		q := b.s.lockFor("T", "G", 0)
		begun, got := make(chan bool), make(chan *queue)
		go func() {
			begun <- true
			q := b.s.lockFor("T", "G", 0)
			q.mu.Unlock()
			got <- q
		}()
		<-begun
		for range 100 {
			runtime.Gosched() // most times it waits by now
		}
		q.dead = true
		b.s.table.remove(q)
		q.mu.Unlock()
		if <-got == q {
			t.Fatal("it got the old one")
		}
	}
}

// TestSweepBesidePops: states go at any moment, and each message is still shown to one consumer.
func TestSweepBesidePops(t *testing.T) {
	b := newBench(t)
	const n = 2000
	b.sends(n)
	b.s.sweeping = sweeping{idleMs: -1 << 40, every: 0}
	stop, swept := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(swept)
		for {
			select {
			case <-stop:
				return
			default:
				b.s.Scan()
			}
		}
	}()
	var mu sync.Mutex
	seen := map[int64]int{}
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for {
				turn := b.s.Begin()
				r := Take{Topic: "T", Group: "G", Max: 2, MaxBytes: 1 << 20, Invisible: 60_000, PopTime: clock.Millis(b.clk)}
				_, got := turn.Take(&r, nil, &Lists{})
				turn.End(func(error) {})
				for i := range got.Count {
					at := got.Start + int64(i)
					mu.Lock()
					seen[at]++
					mu.Unlock()
					ack := b.s.Begin()
					err := ack.Ack(&Receipt{Topic: "T", Group: "G", Offset: at, Handle: Handle{StartOffset: got.Start, PopTime: r.PopTime,
						Invisible: r.Invisible, Broker: testBroker, Offset: at}})
					if ack.End(func(error) {}); err != nil {
						t.Errorf("ack of %d: %v", at, err)
					}
				}
				mu.Lock()
				all := len(seen) == n
				mu.Unlock()
				if all || t.Failed() {
					return
				}
			}
		})
	}
	wg.Wait()
	close(stop)
	<-swept
	for at, times := range seen {
		if times != 1 {
			t.Fatalf("message %d came %d times", at, times)
		}
	}
	if at := b.committed("T", 0); at != n {
		t.Fatalf("committed %d", at)
	}
}
