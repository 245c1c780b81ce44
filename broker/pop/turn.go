package pop

import (
	"slices"

	"github.com/seedmq/seedmq/broker/timer"
	"github.com/seedmq/seedmq/conf/clock"
	"github.com/seedmq/seedmq/remoting/protocol"
	"github.com/seedmq/seedmq/store"
)

// Turn collects what the requests of one read do, so that the journal is written once and records are stored together. It belongs to one
// goroutine. End must be called before anything is answered.
type Turn struct {
	s       *Service
	j       entries
	sink    Sink
	records int
	changes []change
	freed   []*queue // in which less is open now than somebody was refused for

	body, uniq, props, diverted []byte
	offs                        []int64
}

// change is a change of the invisible time that counts once its record is stored.
type change struct {
	old, new *point
	bit      int
}

// Begin returns an empty turn.
func (s *Service) Begin() *Turn { return s.turns.Get().(*Turn) }

// End stores the records and writes the journal. done is called once it may be answered, now or later, with the store's error; then
// the turn must not be used any more.
func (t *Turn) End(done func(error)) {
	s := t.s
	if t.records == 0 {
		s.note(&t.j)
		t.free()
		done(nil)
		return
	}
	end, err := t.sink.Append()
	if err == nil {
		t.applyChanges()
	}
	s.note(&t.j)
	t.free()
	if err != nil {
		done(err)
		return
	}
	s.o.AwaitSafe(end, done)
}

func (t *Turn) free() {
	clear(t.changes)
	t.changes, t.records = t.changes[:0], 0
	t.sink.Reset()
	for i, q := range t.freed {
		t.s.o.Released(q.key.topic, q.key.group, q.key.id)
		t.freed[i] = nil
	}
	t.freed = t.freed[:0]
	t.s.turns.Put(t)
}

// applyChanges makes the new check points known and acknowledges the old ones.
func (t *Turn) applyChanges() {
	for i := range t.changes {
		c := &t.changes[i]
		q := t.s.lockFor(c.new.Topic, c.new.Group, c.new.QueueID)
		q.addLocked(c.new, false)
		t.j.point(q, c.new)
		if c.old != nil && !c.old.gone {
			t.ackLocked(q, c.old, c.bit)
		}
		q.mu.Unlock()
		t.s.activate(q)
	}
}

// ackLocked acknowledges one message of p, and commits what that completes.
func (t *Turn) ackLocked(q *queue, p *point, bit int) {
	if !q.ackLocked(p, bit) {
		return
	}
	t.freeLocked(q)
	if !p.gone {
		t.j.of(entryBits, q, p)
		return
	}
	t.s.held.Add(-1)
	t.j.of(entryGone, q, p)
	t.s.advanceLocked(q)
}

// checkpoint adds the record of c.
func (t *Turn) checkpoint(c *Checkpoint, reviveQueue int32, now int64) error {
	t.body = c.Append(t.body[:0])
	t.uniq = c.uniqKey(t.uniq[:0])
	return t.record(tagCheckpoint, reviveQueue, c.ReviveTime()-ackIntervalMs, now)
}

// ack adds the record of an ack of a check point whose time is over at due.
func (t *Turn) ack(a *Ack, reviveQueue int32, due, now int64) error {
	t.body = a.Append(t.body[:0])
	t.uniq = a.uniqKey(t.uniq[:0])
	tag := tagAck
	if a.batch() {
		tag = tagBatchAck
	}
	return t.record(tag, reviveQueue, due, now)
}

// record adds a message for the revive topic that comes at due.
func (t *Turn) record(tag string, reviveQueue int32, due, now int64) error {
	s := t.s
	self := s.o.Self()
	t.props = append(append(t.props[:0], protocol.PropertyTimerDeliverMs...), 1)
	t.props = append(appendInt(t.props, due), protocol.PropertySeparator)
	t.props = append(append(t.props, protocol.PropertyUniqKey...), 1)
	t.props = append(append(t.props, t.uniq...), protocol.PropertySeparator)
	t.props = protocol.AppendProperty(t.props, protocol.PropertyTags, tag)
	m := store.Message{Topic: s.o.ReviveTopic, QueueID: reviveQueue, BornTimestamp: now, BornHost: self, StoreHost: self,
		Properties: t.props, Body: t.body, Tags: tag, UniqKey: string(t.uniq)}
	if due > now {
		t.diverted = timer.Divert(&m, due, s.o.TickMs, t.diverted[:0])
	}
	if err := t.sink.Add(&m); err != nil {
		return err
	}
	t.records++
	return nil
}

// acks adds the acks of the bits of p.
func (t *Turn) acks(p *point, bits uint32, now int64) error {
	t.offs = t.offs[:0]
	for i := range int(p.Count) {
		if bits&(1<<i) != 0 {
			t.offs = append(t.offs, p.offset(i))
		}
	}
	if len(t.offs) == 0 {
		return nil
	}
	a := Ack{Offsets: t.offs, StartOffset: p.StartOffset, Group: p.Group, Topic: p.Topic, QueueID: p.QueueID, PopTime: p.PopTime, Broker: p.Broker}
	return t.ack(&a, p.reviveQueue, p.ReviveTime(), now)
}

// Receipt is one message that a client acknowledges, as its request names it.
type Receipt struct {
	Topic, Group string // the real topic
	QueueID      int32
	Offset       int64
	Handle       Handle
}

// check compares the request with its handle: an altered one must do no harm.
func (s *Service) check(r *Receipt, now int64) error {
	h := &r.Handle
	switch {
	case h.Broker != s.o.Broker:
		return handleError("it is of broker %q", clip(h.Broker))
	case h.QueueID != r.QueueID:
		return handleError("it is of queue %d, the request of %d", h.QueueID, r.QueueID)
	case h.Offset >= 0 && h.Offset != r.Offset:
		return handleError("it is of offset %d, the request of %d", h.Offset, r.Offset)
	case h.Mark != MarkOf(r.Topic):
		return handleError("its mark %d is not that of topic %s", h.Mark, clip(r.Topic))
	case h.PopTime > now+maxSkewMs || h.Invisible > maxTime-h.PopTime:
		return handleError("its time is %d + %d", h.PopTime, h.Invisible)
	case h.Ordered():
		return nil
	case h.ReviveQueue >= max(1, s.o.ReviveQueues):
		return handleError("its revive queue is %d of %d", h.ReviveQueue, s.o.ReviveQueues)
	case r.Offset < h.StartOffset:
		return handleError("offset %d is before its start %d", r.Offset, h.StartOffset)
	}
	return nil
}

// maxSkewMs is how much later than now a pop time may be: a clock that was set back.
const maxSkewMs = 24 * 3600_000

// Ack acknowledges one message. An ack that comes too late, or twice, is no error and changes nothing.
func (t *Turn) Ack(r *Receipt) error {
	now := clock.Millis(t.s.o.Clock)
	if err := t.s.check(r, now); err != nil {
		return err
	}
	if r.Handle.Ordered() {
		return t.ackOrdered(r)
	}
	q, p, i, err := t.find(r, now)
	if q != nil {
		defer q.mu.Unlock()
	}
	switch {
	case err != nil:
		return err
	case p != nil:
		t.ackLocked(q, p, i)
		return nil
	case t.s.knowsAll(&r.Handle):
		return nil // too late, or twice
	}
	return t.ack(r.ack(t.s.o.Broker), r.Handle.ReviveQueue, r.Handle.PopTime+r.Handle.Invisible, now)
}

func (r *Receipt) ack(broker string) *Ack {
	return &Ack{Offsets: []int64{r.Offset}, StartOffset: r.Handle.StartOffset, Group: r.Group, Topic: r.Topic, QueueID: r.QueueID,
		PopTime: r.Handle.PopTime, Broker: broker}
}

// knowsAll says whether every check point of that pop time was made under this journal.
func (s *Service) knowsAll(h *Handle) bool { return h.PopTime > s.fromHere }

// find looks up the check point of r, and its queue, which it leaves locked unless it is nil. Without an error and without a check point,
// it is over or another broker's.
func (t *Turn) find(r *Receipt, now int64) (*queue, *point, int, error) {
	s, h := t.s, &r.Handle
	id := pointID{h.StartOffset, h.PopTime}
	q := s.lock(queueKey{r.Topic, r.Group, r.QueueID})
	if q != nil {
		if p := q.points[id]; p != nil {
			i := p.index(r.Offset)
			if i < 0 || p.Invisible != h.Invisible || p.reviveQueue != h.ReviveQueue {
				return q, nil, 0, handleError("its check point has no message %d", r.Offset)
			}
			return q, p, i, nil
		}
		if q.wasThereLocked(id) {
			return q, nil, 0, nil
		}
	}
	if s.knowsAll(h) && h.PopTime+h.Invisible > now {
		return q, nil, 0, ErrUnknown
	}
	return q, nil, 0, nil
}

// Changed is what the client gets for a new invisible time.
type Changed struct {
	PopTime, Invisible int64
	ReviveQueue        int32
}

// Change gives one message a new invisible time from now on.
func (t *Turn) Change(r *Receipt, invisible int64) (Changed, error) {
	now := clock.Millis(t.s.o.Clock)
	if err := t.s.check(r, now); err != nil {
		return Changed{}, err
	}
	if r.Handle.Ordered() {
		return t.changeOrdered(r, invisible, now)
	}
	q, old, bit, err := t.find(r, now)
	if q != nil {
		q.mu.Unlock()
	}
	if err != nil {
		return Changed{}, err
	}
	// The pop time must differ from that of the old check point: otherwise the ack of the old one would meet the new one.
	popTime := max(now, r.Handle.PopTime+1)
	p := &point{reviveQueue: r.Handle.ReviveQueue, next: r.Offset, state: stored}
	p.Topic, p.Group, p.QueueID, p.Broker = string([]byte(r.Topic)), string([]byte(r.Group)), r.QueueID, t.s.o.Broker
	p.StartOffset, p.PopTime, p.Invisible, p.Count = r.Offset, popTime, invisible, 1
	if err := t.checkpoint(&p.Checkpoint, p.reviveQueue, now); err != nil {
		return Changed{}, err
	}
	if old == nil {
		if err := t.ack(r.ack(t.s.o.Broker), r.Handle.ReviveQueue, r.Handle.PopTime+r.Handle.Invisible, now); err != nil {
			return Changed{}, err
		}
	}
	t.changes = append(t.changes, change{old, p, bit})
	return Changed{popTime, invisible, p.reviveQueue}, nil
}

// recordOffsets reads the queue offsets of records that lie one behind the other.
func recordOffsets(dst []int64, recs []byte) []int64 {
	dst = slices.Grow(dst, MaxTake)
	for len(recs) >= protocol.PosPhysicalOffset {
		size := be32(recs)
		if size <= 0 || size > len(recs) {
			break
		}
		dst = append(dst, int64(be64(recs[protocol.PosQueueOffset:])))
		recs = recs[size:]
	}
	return dst
}
