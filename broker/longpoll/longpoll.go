// Package longpoll holds pulls that found nothing until a message arrives or their time is up.
//
// A held pull is a table entry, not a goroutine: two workers resume what is due, and one goroutine watches the earliest
// time-out. Arrive is called by the store's dispatcher, costs next to nothing while nothing is held, and never blocks.
// Exactly one of these ends a held pull: a message, its time-out, Wake, or Close; then Resume is called once, on a worker (or by
// Close on its caller's goroutine), with no lock held.
//
// A message that arrives between a pull's look at the queue and its Hold would be missed. Therefore Hold looks at the
// queue's end again after the entry is in the table: either the dispatcher sees the entry, or Hold sees the message.
package longpoll

import (
	"context"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/seedmq/seedmq/conf/clock"
	"github.com/seedmq/seedmq/conf/run"
	"github.com/seedmq/seedmq/store"
)

// Reason says why a held pull ended.
type Reason uint8

// Reasons.
const (
	Arrived Reason = iota // a message, also one that came before Hold was done
	TimedOut
	Woken    // Wake or WakeAll
	Shutdown // Close
)

// Held is a pull that waits. Its exported fields do not change while it is held.
type Held struct {
	Topic   string // copied by Hold
	QueueID int32
	Offset  int64 // wakes when the queue grows beyond it
	Timeout time.Duration
	Filter  store.Filter // nil: all messages
	// Resume answers the pull. It may do I/O that does not wait.
	Resume func(h *Held, why Reason)

	deadline int64 // ms
	heapAt   int   // index in Table.byTime, -1 when ended
	listAt   int   // index in its queue's list
	why      Reason
}

// Options are what a table is made of.
type Options struct {
	Max     int // held pulls; 0 is 100,000
	Workers int // 0 is 2
	Clock   clock.Clock
}

// Table holds pulls. Safe for concurrent use.
type Table struct {
	o     Options
	held  atomic.Int64
	group *run.Group
	kick  chan struct{} // the earliest deadline changed
	ready chan struct{} // due is not empty

	mu     sync.Mutex
	queues map[string]map[int32]*waiters
	byTime timeHeap
	due    []*Held
	closed bool
}

// waiters are the pulls held on one queue.
type waiters struct{ list []*Held }

// New returns a table; Start makes it work.
func New(o Options) *Table {
	if o.Max <= 0 {
		o.Max = 100_000
	}
	if o.Workers <= 0 {
		o.Workers = 2
	}
	return &Table{o: o, group: run.NewGroup(), kick: make(chan struct{}, 1), ready: make(chan struct{}, o.Workers),
		queues: map[string]map[int32]*waiters{}}
}

// Start starts the workers and the time-out watch.
func (t *Table) Start() {
	for range t.o.Workers {
		t.group.Go("longpoll-worker", t.work)
	}
	t.group.Go("longpoll-timeout", t.watch)
}

// Close ends all held pulls with Shutdown and waits for the workers. Later Holds are refused.
func (t *Table) Close() {
	t.mu.Lock()
	t.closed = true
	for len(t.byTime) > 0 {
		t.endLocked(t.byTime[0], Shutdown)
	}
	t.mu.Unlock()
	t.group.Close()
	for _, h := range t.take(nil) {
		h.Resume(h, h.why)
	}
}

// Len is the number of held pulls.
func (t *Table) Len() int { return int(t.held.Load()) }

// Hold keeps h until something ends it. It is false when the table is full or closed, and then h was not kept. end says where the
// queue ends now; it is asked once, after h is in the table.
func (t *Table) Hold(h *Held, end func() int64) bool {
	h.deadline = clock.Millis(t.o.Clock) + h.Timeout.Milliseconds()
	t.mu.Lock()
	if t.closed || len(t.byTime) >= t.o.Max {
		t.mu.Unlock()
		return false
	}
	t.addLocked(h)
	earliest := t.byTime[0] == h
	t.mu.Unlock()
	if earliest {
		poke(t.kick)
	}
	if end() > h.Offset {
		t.end(h, Arrived)
	}
	return true
}

// Wake ends one held pull; it does nothing when h has ended.
func (t *Table) Wake(h *Held) { t.end(h, Woken) }

func (t *Table) end(h *Held, why Reason) {
	t.mu.Lock()
	if h.heapAt >= 0 {
		t.endLocked(h, why)
	}
	t.mu.Unlock()
}

// WakeAll ends all held pulls of a topic ("" is all topics), as when it was deleted or offsets were reset.
func (t *Table) WakeAll(topic string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, h := range slices.Clone(t.byTime) { // ending one moves others
		if topic == "" || h.Topic == topic {
			t.endLocked(h, Woken)
		}
	}
}

// Arrive wakes the pulls that wait for these messages. The store's dispatcher calls it in log order.
func (t *Table) Arrive(batch []store.Arrival) {
	if t.held.Load() == 0 {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	for i := range batch {
		a := &batch[i]
		w := t.queues[a.Topic][a.QueueID]
		if w == nil {
			continue
		}
		for j := len(w.list) - 1; j >= 0; j-- {
			h := w.list[j]
			if a.QueueOffset >= h.Offset && (h.Filter == nil || a.Batch || h.Filter.MatchTagsCode(a.TagsCode)) {
				t.endLocked(h, Arrived)
			}
		}
	}
}

func (t *Table) addLocked(h *Held) {
	byID := t.queues[h.Topic]
	if byID == nil {
		h.Topic = strings.Clone(h.Topic)
		byID = map[int32]*waiters{}
		t.queues[h.Topic] = byID
	}
	w := byID[h.QueueID]
	if w == nil {
		w = &waiters{}
		byID[h.QueueID] = w
	}
	h.listAt = len(w.list)
	w.list = append(w.list, h)
	t.byTime.push(h)
	t.held.Add(1)
}

// endLocked takes h out of the table and gives it to the workers.
func (t *Table) endLocked(h *Held, why Reason) {
	byID := t.queues[h.Topic]
	w := byID[h.QueueID]
	last := len(w.list) - 1
	w.list[h.listAt] = w.list[last]
	w.list[h.listAt].listAt = h.listAt
	w.list[last] = nil
	w.list = w.list[:last]
	t.byTime.remove(h)
	t.held.Add(-1)
	h.why = why
	t.due = append(t.due, h)
	poke(t.ready)
}

// take returns what is due, in buf, and leaves nothing.
func (t *Table) take(buf []*Held) []*Held {
	t.mu.Lock()
	defer t.mu.Unlock()
	buf = append(buf[:0], t.due...)
	clear(t.due)
	t.due = t.due[:0]
	return buf
}

func (t *Table) work(ctx context.Context) {
	var buf []*Held
	for {
		select {
		case <-ctx.Done():
			return
		case <-t.ready:
		}
		buf = t.take(buf)
		for i, h := range buf {
			h.Resume(h, h.why)
			buf[i] = nil
		}
	}
}

// watch ends what is out of time; one timer for all.
func (t *Table) watch(ctx context.Context) {
	timer := t.o.Clock.NewTimer(time.Hour)
	defer timer.Stop()
	for {
		timer.Reset(t.expire())
		select {
		case <-ctx.Done():
			return
		case <-t.kick:
		case <-timer.C():
		}
	}
}

// expire ends what is due now and returns the time until the next deadline.
func (t *Table) expire() time.Duration {
	now := clock.Millis(t.o.Clock)
	t.mu.Lock()
	defer t.mu.Unlock()
	for len(t.byTime) > 0 && t.byTime[0].deadline <= now {
		t.endLocked(t.byTime[0], TimedOut)
	}
	if len(t.byTime) == 0 {
		return time.Hour
	}
	return time.Duration(t.byTime[0].deadline-now) * time.Millisecond
}

func poke(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}
