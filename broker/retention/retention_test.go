package retention

import (
	"context"
	"errors"
	"math/rand/v2"
	"runtime"
	"slices"
	"testing"
	"time"

	"github.com/seedmq/seedmq/broker/topic"
	"github.com/seedmq/seedmq/conf/clock"
	"github.com/seedmq/seedmq/remoting/protocol"
	"github.com/seedmq/seedmq/store"
)

var start = time.UnixMilli(1796050400000)

// bench is a Keeper on a fake store and a fake clock.
type bench struct {
	t       *testing.T
	s       *fakeStore
	clock   *clock.Fake
	entries map[string]*topic.Entry
	k       *Keeper
}

func newBench(t *testing.T) *bench {
	b := &bench{t: t, s: newFakeStore(), clock: clock.NewFake(start), entries: map[string]*topic.Entry{}}
	b.k = New(Options{Store: b.s, Clock: b.clock, Topics: func() (out []*topic.Entry) {
		for _, e := range b.entries {
			out = append(out, e)
		}
		return out
	}})
	return b
}

func (b *bench) limit(name string, l topic.Limits) {
	c := protocol.NewTopicConfig(name)
	b.entries[name] = &topic.Entry{Config: c, Limits: l}
}

// send stores n messages of 10 bytes now.
func (b *bench) send(name string, queue int32, n int) {
	for range n {
		b.s.send(name, queue, 10, clock.Millis(b.clock))
	}
}

func (b *bench) pass(want string) {
	b.t.Helper()
	if err := b.k.Pass(context.Background()); err != nil {
		b.t.Fatal(err)
	}
	if got := b.s.state(); got != want {
		b.t.Fatalf("queues are %q, want %q", got, want)
	}
}

func TestSlack(t *testing.T) {
	for age, want := range map[time.Duration]time.Duration{time.Millisecond: 10 * time.Microsecond, time.Minute: 600 * time.Millisecond, 30 * 24 * time.Hour: 5 * time.Minute} {
		if got := slack(age); got != want {
			t.Errorf("%v: %v, want %v", age, got, want)
		}
	}
}

func TestAge(t *testing.T) {
	b := newBench(t)
	b.limit("T", topic.Limits{Age: time.Minute})
	b.send("T", 0, 3)
	b.send("Other", 0, 1)
	b.clock.Advance(40 * time.Second)
	b.send("T", 0, 2)
	b.send("T", 1, 1)
	b.clock.Advance(20*time.Second + slack(time.Minute))
	b.pass("Other/0:0-1 T/0:0-5 T/1:0-1 ") // a minute and 1 % is not too old
	b.clock.Advance(time.Millisecond)
	b.pass("Other/0:0-1 T/0:3-5 T/1:0-1 ")
	b.clock.Advance(time.Hour)
	b.pass("Other/0:0-1 T/0:5-5 T/1:1-1 ")
	if b.k.Hidden() != 6 {
		t.Errorf("%d hidden", b.k.Hidden())
	}
}

// TestQuietTopicsCostNothing: a pass over topics in which nothing is due reads nothing and writes nothing.
func TestQuietTopicsCostNothing(t *testing.T) {
	b := newBench(t)
	b.limit("T", topic.Limits{Age: time.Hour, Bytes: 1000, Messages: 100})
	b.send("T", 0, 20)
	b.send("T", 1, 20)
	b.pass("T/0:0-20 T/1:0-20 ")
	b.s.reads = 0
	b.clock.Advance(time.Minute)
	b.pass("T/0:0-20 T/1:0-20 ")
	if b.s.reads != 0 || b.s.raises != 0 {
		t.Errorf("%d reads, %d writes", b.s.reads, b.s.raises)
	}
	b.send("T", 0, 5)
	b.pass("T/0:0-25 T/1:0-20 ")
	if b.s.reads != 5 {
		t.Errorf("%d units read for 5 new messages", b.s.reads)
	}
}

// TestMessagesAndBytes: the limits are the topic's, and what is oldest goes first, whatever queue it is in.
func TestMessagesAndBytes(t *testing.T) {
	b := newBench(t)
	b.limit("T", topic.Limits{Messages: 3})
	b.send("T", 0, 2)
	b.send("T", 1, 1)
	b.send("T", 0, 1)
	b.send("T", 1, 1)
	b.pass("T/0:2-3 T/1:0-2 ")
	b.send("T", 0, 1)
	b.pass("T/0:2-4 T/1:1-2 ")
	b.limit("T", topic.Limits{Bytes: 20})
	b.pass("T/0:3-4 T/1:1-2 ")
	b.limit("T", topic.Limits{Bytes: 1})
	b.pass("T/0:4-4 T/1:2-2 ")
}

// TestBatches: the messages of a record go together; each counts, and the record's bytes count once.
func TestBatches(t *testing.T) {
	b := newBench(t)
	batch := func(queue int32, n int) { b.s.sendBatch("T", queue, 100, clock.Millis(b.clock), n) }
	b.limit("T", topic.Limits{Bytes: 400})
	batch(0, 3)
	batch(1, 3000) // more than two chunks, and more than one look
	batch(0, 2)
	b.send("T", 0, 4)
	b.pass("T/0:0-9 T/1:0-3000 ")
	b.limit("T", topic.Limits{Bytes: 240})
	b.pass("T/0:3-9 T/1:0-3000 ")
	b.send("T", 1, 1)
	b.pass("T/0:3-9 T/1:3000-3001 ")
	b.limit("T", topic.Limits{Messages: 6})
	b.pass("T/0:5-9 T/1:3000-3001 ")
	if b.k.Hidden() != 3005 {
		t.Errorf("%d hidden", b.k.Hidden())
	}
	b.clock.Advance(time.Minute)
	batch(0, 5)
	b.limit("T", topic.Limits{Age: time.Second})
	b.pass("T/0:9-14 T/1:3001-3001 ")
	b.limit("T", topic.Limits{Messages: 4}) // not even one record
	b.pass("T/0:14-14 T/1:3001-3001 ")
}

// TestFailures: what could not be hidden is hidden next time, and a topic that fails does not keep others from it.
func TestFailures(t *testing.T) {
	b := newBench(t)
	b.limit("T", topic.Limits{Messages: 1})
	b.send("T", 0, 3)
	b.s.fail = errDisk
	if err := b.k.Pass(context.Background()); !errors.Is(err, errDisk) {
		t.Fatal(err)
	}
	b.pass("T/0:2-3 ")
	b.s.fail = store.ErrNotFound
	b.send("T", 0, 1)
	b.pass("T/0:2-4 ") // a topic was deleted meanwhile: next time
	b.pass("T/0:3-4 ")
	delete(b.s.queues, "T/0")
	b.pass("")
	b.send("T", 0, 2)
	b.pass("T/0:1-2 ")
}

// TestRun: passes come by the clock, the first at once.
func TestRun(t *testing.T) {
	b := newBench(t)
	b.limit("T", topic.Limits{Age: time.Second})
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	passes := make(chan struct{})
	inner := b.k.o.Topics
	b.k.o.Topics = func() []*topic.Entry { passes <- struct{}{}; return inner() }
	go func() { b.k.Run(ctx); close(done) }()
	<-passes
	for range 3 {
		for b.clock.Timers() == 0 {
			runtime.Gosched()
		}
		b.clock.Advance(Every)
		<-passes
	}
	cancel()
	<-done
}

// twin computes what a pass must leave of a topic, from all messages.
func (b *bench) twin(name string, l topic.Limits) map[int32]int64 {
	type live struct {
		id   int32
		n    int64
		unit store.QueueUnit
		ms   int64
	}
	var all []live
	first := map[int32]int64{}
	for _, id := range b.s.Queues(name) {
		q := b.s.queues[key(name, id)]
		first[id] = q.first
		for n := q.first; n < int64(len(q.all)); n++ {
			all = append(all, live{id, n, q.all[n].unit, q.all[n].ms})
		}
	}
	slices.SortStableFunc(all, func(x, y live) int { return int(x.unit.PhysicalOffset - y.unit.PhysicalOffset) })
	bytes, count := int64(0), int64(len(all))
	for i, m := range all {
		if i == 0 || m.unit.PhysicalOffset != all[i-1].unit.PhysicalOffset {
			bytes += int64(m.unit.Size)
		}
	}
	due := map[int32]bool{} // queues whose oldest message is beyond the slack
	oldest := clock.Millis(b.clock) - l.Age.Milliseconds()
	for id, n := range first {
		q := b.s.queues[key(name, id)]
		due[id] = l.Age > 0 && n < int64(len(q.all)) && q.all[n].ms < oldest-slack(l.Age).Milliseconds()
	}
	drop := func(m live, last *int64) {
		if count--; m.unit.PhysicalOffset != *last {
			bytes -= int64(m.unit.Size)
		}
		*last, first[m.id] = m.unit.PhysicalOffset, m.n+1
	}
	aged, trimmed := int64(-1), int64(-1) // records that went last
	left := all[:0]
	for _, m := range all {
		if due[m.id] && m.ms < oldest {
			drop(m, &aged)
			continue
		}
		left = append(left, m)
	}
	for _, m := range left {
		if m.unit.PhysicalOffset != trimmed && (l.Bytes == 0 || bytes <= l.Bytes) && (l.Messages == 0 || count <= l.Messages) {
			break
		}
		drop(m, &trimmed)
	}
	return first
}

// TestAgainstTwin: random sends, also of batches, purges, lost log files and changes of limits; after each pass the queues begin where counting everything
// anew says.
func TestAgainstTwin(t *testing.T) {
	for seed := range uint64(25) {
		rng := rand.New(rand.NewPCG(seed, 1))
		b := newBench(t)
		pick := func(n int64) int64 {
			if rng.IntN(3) == 0 {
				return 0
			}
			return 1 + rng.Int64N(n)
		}
		l := topic.Limits{Bytes: 1}
		for step := range 120 {
			if step%30 == 0 {
				l = topic.Limits{Age: time.Duration(pick(90_000)) * time.Millisecond, Bytes: pick(60_000), Messages: pick(4000)}
				b.limit("T", l)
			}
			b.s.atMost = 1 + rng.IntN(2000)
			switch rng.IntN(6) {
			case 0:
				for _, q := range b.s.queues {
					q.first = max(q.first, q.base(rng.Int64N(int64(len(q.all))+1)))
				}
			default:
				for range rng.IntN(900) {
					n := 1
					if rng.IntN(1500) < int(seed%3) {
						n += rng.IntN(1 + rng.IntN(2500))
					}
					b.s.sendBatch("T", int32(rng.IntN(3)), 1+rng.Int32N(40), clock.Millis(b.clock), n)
				}
			}
			b.clock.Advance(time.Duration(rng.IntN(20_000)) * time.Millisecond)
			want := b.twin("T", l)
			if err := b.k.Pass(context.Background()); err != nil {
				t.Fatalf("seed %d, step %d: %v", seed, step, err)
			}
			for id, first := range want {
				if got := b.s.queues[key("T", id)].first; got != first {
					t.Fatalf("seed %d, step %d, limits %+v: queue %d begins at %d, want %d: %s", seed, step, l, id, got, first, b.s.state())
				}
			}
		}
	}
}
