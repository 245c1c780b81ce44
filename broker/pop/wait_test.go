package pop

import (
	"runtime"
	"testing"
	"time"

	"github.com/seedmq/seedmq/broker/filter"
	"github.com/seedmq/seedmq/conf/clock"
	"github.com/seedmq/seedmq/remoting/protocol"
	"github.com/seedmq/seedmq/store"
)

type room struct {
	*WaitRoom
	t    *testing.T
	clk  *clock.Fake
	woke chan string

	limits WaitLimits
}

func newRoom(t *testing.T) *room {
	clk := clock.NewFake(time.UnixMilli(1_800_000_000_000))
	r := &room{t: t, clk: clk, woke: make(chan string, 100), limits: WaitLimits{PerQueue: 3, All: 5}}
	r.WaitRoom = NewWaitRoom(clk, func() WaitLimits { return r.limits })
	r.Start()
	t.Cleanup(r.Close)
	return r
}

func (r *room) hold(name, group string, queue int32, d time.Duration, f store.Filter) *Wait {
	r.t.Helper()
	w := &Wait{Topic: "T", Group: group, QueueID: queue, Deadline: clock.Millis(r.clk) + d.Milliseconds(), Filter: f, Resume: func(*Wait) { r.woke <- name }}
	if !r.Hold(w, func() bool { return false }) {
		r.t.Fatal("not held")
	}
	return w
}

func (r *room) want(names ...string) {
	r.t.Helper()
	left := map[string]bool{}
	for _, n := range names {
		left[n] = true
	}
	for range names {
		select {
		case n := <-r.woke:
			if !left[n] {
				r.t.Fatalf("%s woke, want %v", n, names)
			}
			delete(left, n)
		case <-time.After(10 * time.Second):
			r.t.Fatalf("nobody woke, want %v", left)
		}
	}
	select {
	case n := <-r.woke:
		r.t.Fatalf("%s woke, too", n)
	default:
	}
}

func TestOneMessageWakesOneOfEachGroup(t *testing.T) {
	r := newRoom(t)
	r.hold("g1", "G", -1, time.Minute, nil)
	r.hold("g2", "G", -1, time.Minute, nil)
	r.hold("h1", "H", 3, time.Minute, nil)
	r.hold("h2", "H", 4, time.Minute, nil)
	r.Arrive([]store.Arrival{{Topic: "other", QueueID: 3}, {Topic: "T", QueueID: 3}})
	r.want("g1", "h1")
	r.Arrive([]store.Arrival{{Topic: protocol.PopRetryTopicV2("H", "T")}})
	r.want("h2")
	if n := r.Waiting("T", "G", -1); n != 1 || r.Len() != 1 {
		t.Fatalf("%d, %d wait", n, r.Len())
	}
	if r.Wake("T", "H", 3) || !r.Wake("T", "G", 3) {
		t.Fatal("wake")
	}
	r.want("g2")
	if len(r.keys) != 0 || len(r.topics) != 0 {
		t.Fatalf("left: %v %v", r.keys, r.topics)
	}
}

func TestWaitFilter(t *testing.T) {
	r := newRoom(t)
	f, err := filter.Compile("b", "TAG")
	if err != nil {
		t.Fatal(err)
	}
	r.hold("b", "G", -1, time.Minute, f)
	r.hold("all", "G", -1, time.Minute, nil)
	r.Arrive([]store.Arrival{{Topic: "T", TagsCode: protocol.TagsCode("a")}})
	r.want("all")
	r.Arrive([]store.Arrival{{Topic: "T", TagsCode: protocol.TagsCode("b")}})
	r.want("b")
}

func TestWaitTime(t *testing.T) {
	r := newRoom(t)
	r.hold("late", "G", -1, 20*time.Second, nil)
	r.hold("early", "H", -1, 10*time.Second, nil)
	w := &Wait{Topic: "T", Group: "O", QueueID: 1, Deadline: clock.Millis(r.clk) + 60_000, RetryAt: clock.Millis(r.clk) + 5000, Resume: func(*Wait) { r.woke <- "free" }}
	if !r.Hold(w, func() bool { return false }) {
		t.Fatal("not held")
	}
	for _, name := range []string{"free", "early"} {
		for r.clk.Timers() == 0 {
			runtime.Gosched() // the watch is about to set its timer
		}
		r.clk.Advance(5 * time.Second)
		r.want(name)
	}
	r.WakeAll("T")
	r.want("late")
}

func TestMissedMessage(t *testing.T) {
	r := newRoom(t)
	w := &Wait{Topic: "T", Group: "G", QueueID: -1, Deadline: clock.Millis(r.clk) + 60_000, Resume: func(*Wait) { r.woke <- "missed" }}
	if !r.Hold(w, func() bool { return true }) {
		t.Fatal("not held")
	}
	r.want("missed")
}

func TestWaitLimits(t *testing.T) {
	r := newRoom(t)
	for range r.limits.PerQueue {
		r.hold("x", "G", -1, time.Minute, nil)
	}
	w := &Wait{Topic: "T", Group: "G", QueueID: -1, Deadline: clock.Millis(r.clk) + 60_000, Resume: func(*Wait) { t.Error("resumed") }}
	refused := func(what string) {
		t.Helper()
		if r.Hold(w, func() bool { return true }) {
			t.Fatalf("held beyond the limit of %s", what)
		}
	}
	refused("a queue")
	r.hold("x", "G", 0, time.Minute, nil)
	r.hold("x", "H", 0, time.Minute, nil)
	w.Group = "J"
	refused("all")
	r.limits = WaitLimits{PerQueue: 4, All: 7} // while it runs
	r.hold("x", "G", -1, time.Minute, nil)
	w.Group = "G"
	refused("a queue, which was raised")
	r.hold("x", "J", 0, time.Minute, nil)
	w.Group = "J"
	refused("all, which was raised")
	go func() {
		for range r.woke {
		}
	}()
	r.Close()
	if r.Len() != 0 || r.Hold(w, func() bool { return true }) {
		t.Fatal("held after the end")
	}
}
