package store

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/seedmq/seedmq/remoting/protocol"
	"github.com/seedmq/seedmq/store/consumequeue"
	"github.com/seedmq/seedmq/store/index"
)

const (
	// maxPending bounds the entries handed over in memory; beyond it the dispatcher reads the log.
	maxPending = 1 << 16
	// roundSize bounds how many entries are worked on at once.
	roundSize = 2048
	// appenderRounds is how many rounds an appender runs for others before the dispatcher's goroutine takes over.
	appenderRounds = 2
)

// States of the dispatcher.
//
//	idle --kick--> running --kick--> again --(end of round)--> running
//	                  \--(end of round)--> idle
const (
	dispatchIdle int32 = iota
	dispatchRunning
	dispatchAgain
)

// dispatcher follows the log up to the confirmed position and feeds, in log order, the consume queues, the index and
// whoever listens. There is one at work at any time: the appender (or syncer) that finds it idle, which then runs a few
// rounds, or its goroutine when there is more. Appends hand their entries over in memory, under the log's lock; what
// does not fit is read from the log again.
type dispatcher struct {
	s     *Store
	state atomic.Int32
	wake  chan struct{}

	pos  atomic.Int64 // all below is dispatched
	time atomic.Int64 // store time of the last dispatched record, ms

	job   atomic.Pointer[job] // to be done between two rounds
	jobMu sync.Mutex          // held by do

	mu struct { // taken under the log's lock by push
		sync.Mutex
		entries []dispatchEntry
		hashes  []int32
		dropped bool // entries are missing: see findGap
		failed  bool // a queue or the index could not be written; retried by the janitor
	}

	// The rest belongs to whoever runs.
	work       []dispatchEntry
	workHashes []int32
	head       int   // of work
	headHash   int   // of workHashes
	gapEnd     int64 // what lies between pos and this was not handed over and is read from the log
	round      round
	scan       scanner
}

// dispatchEntry is what the dispatcher needs to know of a record.
type dispatchEntry struct {
	q           *queue // nil: has no place in a queue
	phys        int64
	queueOffset int64
	tagsCode    int64
	storeTime   int64
	size        int32
	hashes      int32
	next        int32 // chains entries of one queue within a round
	num         int32 // of queue offsets; 0 in the entries of light queues, which follow that of their record
}

// round is the scratch of one round.
type round struct {
	touched  []*queue
	units    []consumequeue.Unit
	keys     []index.Entry
	arrivals []Arrival
}

// push hands over a batch. The log's lock is held.
func (d *dispatcher) push(b *Batch) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.mu.dropped || len(d.mu.entries)+len(b.entries) > maxPending {
		d.mu.dropped = true
		d.mu.entries, d.mu.hashes = d.mu.entries[:0], d.mu.hashes[:0]
		return
	}
	for i := range b.entries {
		e := &b.entries[i]
		de := dispatchEntry{phys: e.phys, queueOffset: e.queueOffset, tagsCode: e.tagsCode,
			storeTime: e.storedAt, size: e.size, hashes: e.hashes, num: int32(e.num)}
		if e.num > 0 {
			de.q = e.q
		}
		if e.delayed {
			de.tagsCode += e.storedAt
		}
		d.mu.entries = append(d.mu.entries, de)
		if len(b.late.fields) > 0 {
			d.mu.entries = b.late.appendLights(d.mu.entries, int32(i), &de)
		}
	}
	d.mu.hashes = append(d.mu.hashes, b.hashes...)
}

// kick says that there may be work. It may do some of it.
func (d *dispatcher) kick() {
	for {
		switch d.state.Load() {
		case dispatchIdle:
			if d.state.CompareAndSwap(dispatchIdle, dispatchRunning) {
				d.loop(appenderRounds)
				return
			}
		case dispatchRunning:
			if d.state.CompareAndSwap(dispatchRunning, dispatchAgain) {
				return
			}
		default:
			return
		}
	}
}

// loop runs rounds until there is nothing to do; after limit of them (0: no limit) the goroutine goes on.
func (d *dispatcher) loop(limit int) {
	for n := 1; ; n++ {
		d.state.Store(dispatchRunning)
		more := d.runRound(limit == 0)
		if !more && d.state.CompareAndSwap(dispatchRunning, dispatchIdle) {
			return
		}
		if limit > 0 && n >= limit {
			d.wake <- struct{}{} // has room: only the running one sends
			return
		}
		if limit == 0 && d.stopped() {
			return // what is left, the next start does
		}
	}
}

func (d *dispatcher) stopped() bool {
	select {
	case <-d.s.group.Done():
		return true
	default:
		return false
	}
}

// run is the dispatcher's goroutine.
func (d *dispatcher) run(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-d.wake:
			d.loop(0)
		}
	}
}

// runRound dispatches up to roundSize confirmed entries. more says that there are others. Only the goroutine, which may
// wait for the disk, reads the log.
func (d *dispatcher) runRound(mayRead bool) (more bool) {
	if d.job.Load() != nil {
		if !mayRead {
			return true
		}
		d.runJob()
	}
	if d.isFailed() {
		return false
	}
	if d.head == len(d.work) {
		if d.pos.Load() < d.gapEnd {
			return d.catchUp(mayRead)
		}
		if !d.take() {
			return d.findGap()
		}
	}
	limit := d.s.confirm.get()
	n, hashes := 0, 0
	for _, e := range d.work[d.head:] {
		if n >= roundSize && !e.light() || e.phys+int64(e.size) > limit {
			break
		}
		n, hashes = n+1, hashes+int(e.hashes)
	}
	if n == 0 {
		return false
	}
	if err := d.apply(d.work[d.head:d.head+n], d.workHashes[d.headHash:d.headHash+hashes]); err != nil {
		d.fail(err)
		return false
	}
	d.head, d.headHash = d.head+n, d.headHash+hashes
	if d.head < len(d.work) {
		e := &d.work[d.head]
		return e.phys+int64(e.size) <= d.s.confirm.get()
	}
	return true
}

// take swaps in what was handed over; false if there is nothing.
func (d *dispatcher) take() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.mu.dropped || len(d.mu.entries) == 0 {
		return false
	}
	d.work, d.mu.entries = d.mu.entries, d.work[:0]
	d.workHashes, d.mu.hashes = d.mu.hashes, d.workHashes[:0]
	d.head, d.headHash = 0, 0
	return true
}

// findGap sees whether entries were dropped; if so, what lies between pos and the place where they begin again must be
// read from the log.
func (d *dispatcher) findGap() bool {
	l := &d.s.log
	l.mu.Lock()
	defer l.mu.Unlock()
	d.mu.Lock()
	defer d.mu.Unlock()
	if !d.mu.dropped {
		return len(d.mu.entries) > 0
	}
	d.gapEnd = l.end.Load()
	d.mu.dropped = false
	return d.pos.Load() < min(d.gapEnd, d.s.confirm.get())
}

// catchUp reads the log from pos to gapEnd, as far as it is confirmed.
func (d *dispatcher) catchUp(mayRead bool) (more bool) {
	limit := min(d.gapEnd, d.s.confirm.get())
	if d.pos.Load() >= limit || !mayRead {
		return d.pos.Load() < limit
	}
	if err := d.readTo(limit); err != nil {
		d.fail(err)
		return false
	}
	return true
}

func (d *dispatcher) isFailed() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.mu.failed
}

// fail stops dispatching until retry; the entries will be read from the log.
func (d *dispatcher) fail(err error) {
	d.s.o.Log.Limited(d.s.o.Clock, "dispatch", logEvery).Errorf("dispatch at %d: %v", d.pos.Load(), err)
	d.mu.Lock()
	defer d.mu.Unlock()
	d.mu.failed, d.mu.dropped = true, true
	d.mu.entries, d.mu.hashes = d.mu.entries[:0], d.mu.hashes[:0]
	d.work, d.workHashes, d.head, d.headHash = d.work[:0], d.workHashes[:0], 0, 0
}

// retry lets dispatching go on after a failure, and says whether it had failed.
func (d *dispatcher) retry() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	was := d.mu.failed
	d.mu.failed = false
	return was
}

// caughtUp says that everything confirmed is dispatched.
func (d *dispatcher) caughtUp() bool { return d.pos.Load() >= d.s.confirm.get() }

// apply feeds entries, which follow each other in the log, to the queues, the index and the listener.
func (d *dispatcher) apply(entries []dispatchEntry, hashes []int32) error {
	if len(entries) == 0 {
		return nil
	}
	if err := d.applyQueues(entries); err != nil {
		return err
	}
	if err := d.applyIndex(entries, hashes); err != nil {
		return err
	}
	last := &entries[len(entries)-1]
	d.time.Store(last.storeTime)
	d.pos.Store(last.phys + int64(last.size))
	if d.s.o.OnArrival != nil {
		d.tell(entries)
	}
	return nil
}

// applyQueues appends the entries' units, with one append per queue.
func (d *dispatcher) applyQueues(entries []dispatchEntry) error {
	r := &d.round
	r.touched = r.touched[:0]
	for i := range entries {
		e := &entries[i]
		e.next = -1
		if e.q == nil {
			continue
		}
		if e.q.first < 0 {
			e.q.first = int32(i)
			r.touched = append(r.touched, e.q)
		} else {
			entries[e.q.last].next = int32(i)
		}
		e.q.last = int32(i)
	}
	var failed error
	for _, q := range r.touched {
		first := q.first
		q.first, q.last = -1, -1
		if failed == nil {
			failed = d.applyQueue(q, entries, first)
		}
	}
	clear(r.touched)
	return failed
}

func (d *dispatcher) applyQueue(q *queue, entries []dispatchEntry, first int32) error {
	if q.batch {
		return d.s.appendBatchUnits(q, entries, first)
	}
	d.round.units = d.round.units[:0]
	for i := first; i >= 0; i = entries[i].next {
		e := &entries[i]
		d.round.units = append(d.round.units, consumequeue.Unit{PhysicalOffset: e.phys, Size: e.size, TagsCode: e.tagsCode})
	}
	if err := d.s.appendUnits(q, entries[first].queueOffset, d.round.units); err != nil {
		return fmt.Errorf("queue %s/%d: %w", q.topic, q.id, err)
	}
	if q.topic == protocol.TopicSchedule {
		d.writeDue(q)
	}
	return nil
}

// writeDue writes the units of delayed messages at once: Java 4.9, when it makes them again from the log after a kill of
// ours, has not read its delay levels yet and takes one second for all of them.
func (d *dispatcher) writeDue(q *queue) {
	if cq := q.cq.Load(); cq != nil {
		_ = cq.Write() // a unit that cannot be written now is kept for the next flush, which tells
	}
}

func (d *dispatcher) applyIndex(entries []dispatchEntry, hashes []int32) error {
	if d.s.index == nil || len(hashes) == 0 {
		return nil
	}
	keys := d.round.keys[:0]
	for i := range entries {
		e := &entries[i]
		for _, h := range hashes[:e.hashes] {
			keys = append(keys, index.Entry{Hash: h, PhysicalOffset: e.phys, StoreTimestamp: e.storeTime})
		}
		hashes = hashes[e.hashes:]
	}
	d.round.keys = keys
	if err := d.s.index.Put(keys); err != nil {
		return fmt.Errorf("index: %w", err)
	}
	return nil
}

// tell calls the listener.
func (d *dispatcher) tell(entries []dispatchEntry) {
	a := d.round.arrivals[:0]
	for i := range entries {
		if e := &entries[i]; e.q != nil {
			a = append(a, Arrival{Topic: e.q.topic, QueueID: e.q.id, QueueOffset: e.queueOffset,
				PhysicalOffset: e.phys, Size: e.size, TagsCode: e.tagsCode, StoreTimestamp: e.storeTime, Batch: e.q.batch})
		}
	}
	d.round.arrivals = a
	if len(a) > 0 {
		d.s.o.OnArrival(a)
	}
}
