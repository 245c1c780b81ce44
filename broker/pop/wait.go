package pop

import (
	"context"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/seedmq/seedmq/conf/clock"
	"github.com/seedmq/seedmq/conf/run"
	"github.com/seedmq/seedmq/remoting/protocol"
	"github.com/seedmq/seedmq/store"
)

// WaitLimits are how many may wait. A change counts for those that come later.
type WaitLimits struct {
	PerQueue int64 // popPollingSize: for one queue, or for all queues, of a topic and group
	All      int64 // maxPopPollingSize
}

// anyQueue stands for all queues of a topic.
const anyQueue = -1

// Wait is a pop, or a notification, that waits. Its exported fields do not change while it does.
type Wait struct {
	Topic, Group string // copied by Hold; Topic is the one asked for, its retry topics wake too
	QueueID      int32  // -1: any
	Deadline     int64  // ms
	// RetryAt is when it should look again although nothing came, 0: never. An ordered queue becomes free by time.
	RetryAt int64
	Filter  store.Filter // nil: all messages
	// Resume looks again, or answers when Deadline is over. It may do I/O that does not wait.
	Resume func(w *Wait)

	prev, next *Wait
	list       *waits
	at         int64 // when it wakes by itself
	heapAt     int
}

// waits are those that wait for one queue, first come first.
type waits struct {
	first, last *Wait
	n           int
}

// waitKey is a topic and a group.
type waitKey struct{ topic, group string }

// WaitRoom holds pops that found nothing until a message arrives or their time is up. One message wakes one of each group. Each Wait that
// Hold took is resumed exactly once, on a worker, or by Close on its caller's goroutine. Safe for concurrent use.
type WaitRoom struct {
	clk    clock.Clock
	limits func() WaitLimits
	group  *run.Group
	kick   chan struct{}
	ready  chan struct{}
	n      atomic.Int64

	mu      sync.Mutex
	keys    map[waitKey]map[int32]*waits
	topics  map[string]map[waitKey]bool // by the topics whose messages wake, retry topics included
	byTime  []*Wait
	due     []*Wait
	closed  bool
	workers int
}

// NewWaitRoom returns an empty room; Start makes it work.
func NewWaitRoom(clk clock.Clock, limits func() WaitLimits) *WaitRoom {
	const workers = 2
	return &WaitRoom{clk: clk, limits: limits, group: run.NewGroup(), kick: make(chan struct{}, 1), ready: make(chan struct{}, workers), workers: workers,
		keys: map[waitKey]map[int32]*waits{}, topics: map[string]map[waitKey]bool{}}
}

// Start starts the workers and the watch of the time.
func (r *WaitRoom) Start() {
	for range r.workers {
		_ = r.group.Go("pop-wait", r.work) // fails after Close only
	}
	_ = r.group.Go("pop-wait-time", r.watch)
}

// Close resumes all. Later Holds are refused.
func (r *WaitRoom) Close() {
	r.mu.Lock()
	r.closed = true
	for len(r.byTime) > 0 {
		r.endLocked(r.byTime[0])
	}
	r.mu.Unlock()
	r.group.Close()
	for _, w := range r.take(nil) {
		w.Resume(w)
	}
}

// Len is how many wait.
func (r *WaitRoom) Len() int { return int(r.n.Load()) }

// Waiting is how many wait for one queue.
func (r *WaitRoom) Waiting(topic, group string, queueID int32) int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.keys[waitKey{topic, group}][queueID].len()
}

// Hold keeps w. It is false when there is no room. missed says whether something came that the caller has not seen; it is asked once, after w
// is in the room, so that no message is missed in between.
func (r *WaitRoom) Hold(w *Wait, missed func() bool) bool {
	limits := r.limits()
	r.mu.Lock()
	k := waitKey{w.Topic, w.Group}
	l := r.keys[k][w.QueueID]
	if r.closed || int64(len(r.byTime)) >= limits.All || int64(l.len()) >= limits.PerQueue {
		r.mu.Unlock()
		return false
	}
	if l == nil {
		w.Topic, w.Group = strings.Clone(w.Topic), strings.Clone(w.Group)
		l = r.addKeyLocked(waitKey{w.Topic, w.Group}, w.QueueID)
	}
	l.push(w)
	w.at = w.Deadline
	if w.RetryAt > 0 {
		w.at = min(w.at, w.RetryAt)
	}
	r.pushLocked(w)
	r.n.Add(1)
	earliest := r.byTime[0] == w
	r.mu.Unlock()
	if earliest {
		poke(r.kick)
	}
	if missed() {
		r.mu.Lock()
		if w.heapAt >= 0 {
			r.endLocked(w)
		}
		r.mu.Unlock()
	}
	return true
}

func (r *WaitRoom) addKeyLocked(k waitKey, id int32) *waits {
	m := r.keys[k]
	if m == nil {
		m = map[int32]*waits{}
		r.keys[k] = m
		for _, name := range [...]string{k.topic, protocol.PopRetryTopicV1(k.group, k.topic), protocol.PopRetryTopicV2(k.group, k.topic)} {
			if r.topics[name] == nil {
				r.topics[name] = map[waitKey]bool{}
			}
			r.topics[name][k] = true
		}
	}
	m[id] = &waits{}
	return m[id]
}

// Wake resumes one that waits for the queue, or for any queue of the topic. It says whether there was one.
func (r *WaitRoom) Wake(topic, group string, queueID int32) bool {
	if r.n.Load() == 0 {
		return false
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	m := r.keys[waitKey{topic, group}]
	return r.firstLocked(m[anyQueue], nil) || queueID != anyQueue && r.firstLocked(m[queueID], nil)
}

// WakeAll resumes all that wait for a topic.
func (r *WaitRoom) WakeAll(topic string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for k := range r.topics[topic] {
		for _, l := range r.keys[k] {
			for l.first != nil {
				r.endLocked(l.first)
			}
		}
	}
}

// Arrive wakes those that these messages are for. The store's dispatcher calls it in log order.
func (r *WaitRoom) Arrive(batch []store.Arrival) {
	if r.n.Load() == 0 {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	for i := range batch {
		a := &batch[i]
		for k := range r.topics[a.Topic] {
			m := r.keys[k]
			r.firstLocked(m[anyQueue], a)
			if k.topic == a.Topic {
				r.firstLocked(m[a.QueueID], a)
				continue
			}
			for id, l := range m { // a retried message is for everybody
				if id != anyQueue {
					r.firstLocked(l, a)
				}
			}
		}
	}
}

// firstLocked resumes the first of l that wants a; nil is wanted by all.
func (r *WaitRoom) firstLocked(l *waits, a *store.Arrival) bool {
	if l == nil {
		return false
	}
	for w := l.first; w != nil; w = w.next {
		if a == nil || w.Filter == nil || a.Batch || w.Filter.MatchTagsCode(a.TagsCode) {
			r.endLocked(w)
			return true
		}
	}
	return false
}

// endLocked takes w out and gives it to the workers.
func (r *WaitRoom) endLocked(w *Wait) {
	w.list.remove(w)
	if w.list.n == 0 {
		r.dropKeyLocked(waitKey{w.Topic, w.Group}, w.QueueID)
	}
	r.removeLocked(w)
	r.n.Add(-1)
	r.due = append(r.due, w)
	poke(r.ready)
}

func (r *WaitRoom) dropKeyLocked(k waitKey, id int32) {
	m := r.keys[k]
	delete(m, id)
	if len(m) > 0 {
		return
	}
	delete(r.keys, k)
	for _, name := range [...]string{k.topic, protocol.PopRetryTopicV1(k.group, k.topic), protocol.PopRetryTopicV2(k.group, k.topic)} {
		delete(r.topics[name], k)
		if len(r.topics[name]) == 0 {
			delete(r.topics, name)
		}
	}
}

func (r *WaitRoom) take(buf []*Wait) []*Wait {
	r.mu.Lock()
	defer r.mu.Unlock()
	buf = append(buf[:0], r.due...)
	clear(r.due)
	r.due = r.due[:0]
	return buf
}

func (r *WaitRoom) work(ctx context.Context) {
	var buf []*Wait
	for {
		select {
		case <-ctx.Done():
			return
		case <-r.ready:
		}
		buf = r.take(buf)
		for i, w := range buf {
			w.Resume(w)
			buf[i] = nil
		}
	}
}

func (r *WaitRoom) watch(ctx context.Context) {
	t := r.clk.NewTimer(time.Hour)
	defer t.Stop()
	for {
		t.Reset(r.expire())
		select {
		case <-ctx.Done():
			return
		case <-r.kick:
		case <-t.C():
		}
	}
}

// expire resumes what is due and returns the time until the next.
func (r *WaitRoom) expire() time.Duration {
	now := clock.Millis(r.clk)
	r.mu.Lock()
	defer r.mu.Unlock()
	for len(r.byTime) > 0 && r.byTime[0].at <= now {
		r.endLocked(r.byTime[0])
	}
	if len(r.byTime) == 0 {
		return time.Hour
	}
	return time.Duration(r.byTime[0].at-now) * time.Millisecond
}

func (l *waits) len() int {
	if l == nil {
		return 0
	}
	return l.n
}

func (l *waits) push(w *Wait) {
	w.list, w.prev, w.next = l, l.last, nil
	if l.last != nil {
		l.last.next = w
	} else {
		l.first = w
	}
	l.last = w
	l.n++
}

func (l *waits) remove(w *Wait) {
	if w.prev != nil {
		w.prev.next = w.next
	} else {
		l.first = w.next
	}
	if w.next != nil {
		w.next.prev = w.prev
	} else {
		l.last = w.prev
	}
	w.prev, w.next = nil, nil
	l.n--
}
