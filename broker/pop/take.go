package pop

import (
	"encoding/binary"
	"fmt"
	"strconv"

	"github.com/seedmq/seedmq/broker/offset"
	"github.com/seedmq/seedmq/conf/clock"
	"github.com/seedmq/seedmq/store"
)

// InitMode says where a group begins that has no offset of a queue.
type InitMode int32

// Init modes, as the protocol numbers them.
const (
	InitMin InitMode = 0
	InitMax InitMode = 1
)

// Take is what a pop wants of one queue.
type Take struct {
	Topic, Group string // the real topic
	QueueID      int32
	Max          int // messages, at most MaxTake
	MaxBytes     int
	Invisible    int64 // ms
	PopTime      int64 // ms
	ReviveQueue  int32
	Filter       store.Filter
	HotOnly      bool
	Init         InitMode
	Ordered      bool
	AttemptID    string
}

// Status is what a Take came to.
type Status uint8

// Outcomes of Take.
const (
	Empty   Status = iota // nothing there
	Found                 // records were appended
	Busy                  // somebody else takes from the queue
	Blocked               // an ordered group has open messages, until Taken.FreeAt
	TooMany               // more messages are open than Tuning.InFlight
	Cold                  // HotOnly was asked, and the disk is needed
)

// Taken is the outcome of a Take.
type Taken struct {
	Status Status
	Start  int64
	Count  int
	Bytes  int
	Rest   int64 // messages behind what was taken
	FreeAt int64 // ms
}

// Lists are the three lists of a pop's reply. Take appends to them.
type Lists struct{ Start, Offsets, Counts []byte }

// Take takes messages out of a queue: records are appended to dst.
func (t *Turn) Take(r *Take, dst []byte, out *Lists) ([]byte, Taken) {
	s := t.s
	q := s.lockFor(r.Topic, r.Group, r.QueueID)
	start, epoch, got := t.begin(q, r)
	if got.Status != Found {
		return dst, got
	}
	get := store.GetRequest{Topic: r.Topic, QueueID: r.QueueID, Offset: start, MaxCount: min(r.Max, MaxTake), MaxBytes: r.MaxBytes, Filter: r.Filter, HotOnly: r.HotOnly}
	at := len(dst)
	dst, res := s.o.Source.Get(&get, dst)
	corrected := false
	switch res.Status {
	case store.GetOffsetTooSmall, store.GetOffsetOverflowBadly, store.GetOffsetFoundNull:
		corrected = true
		start, get.Offset = res.NextBeginOffset, res.NextBeginOffset
		dst, res = s.o.Source.Get(&get, dst)
	}
	q.mu.Lock()
	defer s.endReading(q)
	if q.epoch != epoch { // an operator reset the offset meanwhile
		return dst[:at], Taken{Status: Busy}
	}
	if corrected {
		t.jumpLocked(q, start)
	}
	got = Taken{Status: Empty, Start: start, Rest: max(res.MaxOffset-res.NextBeginOffset, 0)}
	switch {
	case res.Status == store.GetCold:
		return dst[:at], Taken{Status: Cold}
	case res.Count > 0:
		got.Status, got.Count, got.Bytes = Found, res.Count, res.Bytes
		t.tookLocked(q, r, start, res.NextBeginOffset, dst[at:], out)
	case res.NextBeginOffset > start && skips(res.Status):
		t.skippedLocked(q, r, res.NextBeginOffset)
	}
	return dst, got
}

// skips says that all messages up to the next offset are none for the group.
func skips(s store.GetStatus) bool {
	return s == store.GetNoMatched || s == store.GetOffsetFoundNull || s == store.GetWasRemoving
}

// begin claims the queue, whose lock the caller holds, for reading, and gives up the lock. Its status is Found when the caller may read.
func (t *Turn) begin(q *queue, r *Take) (start int64, epoch uint64, out Taken) {
	s := t.s
	defer q.mu.Unlock()
	q.used = r.PopTime
	if q.reading {
		q.contended = true
		return 0, 0, Taken{Status: Busy}
	}
	if off, ok := s.o.Offsets.TakeReset(q.offsetKey()); ok {
		t.resetLocked(q, off)
	}
	start = s.startLocked(t, q, r)
	if r.Ordered {
		if until := q.order.blockedUntil(r.AttemptID, clock.Millis(s.o.Clock)); until > 0 {
			return 0, 0, Taken{Status: Blocked, FreeAt: until}
		}
	} else if s.fullLocked(q) {
		_, end, _ := s.o.Source.QueueRange(q.key.topic, q.key.id)
		return 0, 0, Taken{Status: TooMany, Rest: max(end-start, 0)}
	}
	q.reading = true
	return start, q.epoch, Taken{Status: Found}
}

// endReading releases the queue, whose lock the caller holds, and gives up the lock.
func (s *Service) endReading(q *queue) {
	q.reading = false
	wanted := q.contended
	q.contended = false
	q.mu.Unlock()
	s.activate(q)
	if wanted {
		s.o.Released(q.key.topic, q.key.group, q.key.id)
	}
}

// startLocked is the offset to take from.
func (s *Service) startLocked(t *Turn, q *queue, r *Take) int64 {
	committed, ok := s.o.Offsets.Query(q.offsetKey())
	if !ok && q.seen { // the topic or the group was deleted meanwhile
		s.countDropped(q)
		q.forgetLocked(false)
		t.j.forget(q)
		s.orders.Mark()
	}
	if r.Ordered && ok {
		q.seen = true
		return committed
	}
	if !ok {
		committed = s.initial(q, r)
		s.o.Offsets.Commit(q.offsetKey(), committed, offset.Origin{})
	}
	q.seen = true
	if !q.known || committed > q.next {
		q.next, q.known = committed, true
		t.j.next(q, committed)
	}
	return q.next
}

// initial is where a new group begins.
func (s *Service) initial(q *queue, r *Take) int64 {
	lo, end, _ := s.o.Source.QueueRange(q.key.topic, q.key.id)
	if r.Init != InitMax || q.mark != Normal {
		return lo
	}
	if lo <= 0 && end > 0 {
		get := store.GetRequest{Topic: q.key.topic, QueueID: q.key.id, MaxCount: 1, MaxBytes: 1, HotOnly: true}
		if _, res := s.o.Source.Get(&get, nil); res.Status == store.GetFound {
			return 0 // a young queue: nothing of it is missed
		}
	}
	return max(end-1, 0)
}

// resetLocked goes to where an operator has set the group.
func (t *Turn) resetLocked(q *queue, off int64) {
	t.s.dropHeldLocked(q)
	q.forgetLocked(true)
	q.next, q.known = off, true
	t.j.forget(q)
	t.s.snapshotLocked(&t.j, q)
	t.s.orders.Mark()
}

// dropHeldLocked forgets what a reset makes void: messages that were not stored would be popped again anyway.
func (s *Service) dropHeldLocked(q *queue) {
	for _, p := range q.list {
		if !p.gone && p.state == held {
			s.held.Add(-1)
			q.dropLocked(p)
		}
	}
}

// jumpLocked goes to an offset that the queue has.
func (t *Turn) jumpLocked(q *queue, off int64) {
	t.s.o.Log.Infof("pop: group %s topic %s queue %d goes on at offset %d, for what it stood at is not there", q.key.group, q.key.topic, q.key.id, off)
	q.epoch++
	q.next, q.known = off, true
	t.s.snapshotLocked(&t.j, q)
	committed, _ := t.s.o.Offsets.Query(q.offsetKey())
	switch {
	case len(q.list) == 0:
		t.s.o.Offsets.Commit(q.offsetKey(), off, offset.Origin{Explicit: true, Addr: "pop"})
	case committed > off: // what is open lies before
		t.s.o.Offsets.Commit(q.offsetKey(), min(off, q.list[0].StartOffset), offset.Origin{Explicit: true, Addr: "pop"})
	}
}

// tookLocked keeps what was taken.
func (t *Turn) tookLocked(q *queue, r *Take, start, next int64, recs []byte, out *Lists) {
	t.offs = recordOffsets(t.offs[:0], recs)
	if r.Ordered {
		now := clock.Millis(t.s.o.Clock)
		q.order = newOrder(q.order, string([]byte(r.AttemptID)), r.PopTime, r.Invisible, now, t.offs)
		t.orderLocked(q, start)
		out.Counts = q.order.appendCounts(out.Counts, q.mark, q.key.id)
	} else {
		p := &point{reviveQueue: r.ReviveQueue, next: next}
		p.Topic, p.Group, p.QueueID, p.Broker = q.key.topic, q.key.group, q.key.id, t.s.o.Broker
		p.StartOffset, p.PopTime, p.Invisible, p.Count = start, r.PopTime, r.Invisible, int32(len(t.offs))
		p.Diffs = diffs(start, t.offs)
		q.next = next
		t.hold(q, p)
	}
	out.Start = strconv.AppendInt(appendEntry(out.Start, q.mark, q.key.id), start, 10)
	out.Offsets = appendEntry(out.Offsets, q.mark, q.key.id)
	for i, o := range t.offs {
		if i > 0 {
			out.Offsets = append(out.Offsets, ',')
		}
		out.Offsets = strconv.AppendInt(out.Offsets, o, 10)
	}
}

// hold keeps p in memory until it is acknowledged or must be stored.
func (t *Turn) hold(q *queue, p *point) {
	q.addLocked(p, true)
	t.j.point(q, p)
	due := t.s.dueOf(p)
	if t.s.held.Add(1) > bufferSize {
		due = p.PopTime
	}
	if q.due == 0 || due < q.due {
		q.due = due
	}
	if due <= p.PopTime {
		poke(t.s.kick)
	}
}

// dueOf is when a check point must be stored.
func (s *Service) dueOf(p *point) int64 {
	return min(p.PopTime+s.o.Tuning().StayMs, p.ReviveTime()-ahead)
}

// diffs are the offsets from start, nil when they follow each other.
func diffs(start int64, offs []int64) []int32 {
	for i, o := range offs {
		if o == start+int64(i) {
			continue
		}
		out := make([]int32, len(offs))
		for j, o := range offs {
			out[j] = int32(o - start)
		}
		return out
	}
	return nil
}

// skippedLocked moves the queue over messages that are none for the group.
func (t *Turn) skippedLocked(q *queue, r *Take, next int64) {
	if r.Ordered {
		t.s.o.Offsets.Commit(q.offsetKey(), next, offset.Origin{})
		return
	}
	q.next = next
	t.j.next(q, next)
	if len(q.list) == 0 {
		t.s.o.Offsets.Commit(q.offsetKey(), next, offset.Origin{})
		return
	}
	q.list[len(q.list)-1].next = next // what is before must be over first
}

// advanceLocked commits what the queue has reached.
func (s *Service) advanceLocked(q *queue) {
	next, moved := q.advanceLocked()
	if moved && !s.o.Offsets.HasReset(q.offsetKey()) {
		s.o.Offsets.Commit(q.offsetKey(), next, offset.Origin{})
	}
}

func handleError(format string, a ...any) error {
	return fmt.Errorf("%w: %s", ErrHandle, fmt.Sprintf(format, a...))
}

func poke(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

func be32(b []byte) int                    { return int(int32(binary.BigEndian.Uint32(b))) }
func be64(b []byte) uint64                 { return binary.BigEndian.Uint64(b) }
func appendInt(dst []byte, n int64) []byte { return strconv.AppendInt(dst, n, 10) }
