package pop

import (
	"github.com/seedmq/seedmq/broker/offset"
	"github.com/seedmq/seedmq/conf/clock"
)

// ackOrdered acknowledges a message of an ordered group. An ack of an earlier pop is ignored: its messages were popped again.
func (t *Turn) ackOrdered(r *Receipt) error {
	s := t.s
	q := s.lock(queueKey{r.Topic, r.Group, r.QueueID})
	if q == nil {
		return ErrOffset
	}
	free, err := t.ackOrderedLocked(q, r)
	q.mu.Unlock()
	if free {
		s.o.Released(q.key.topic, q.key.group, q.key.id)
	}
	return err
}

func (t *Turn) ackOrderedLocked(q *queue, r *Receipt) (free bool, err error) {
	s := t.s
	if committed, ok := s.o.Offsets.Query(q.offsetKey()); ok && r.Offset < committed {
		return false, nil
	}
	if q.order == nil { // Java believes the request here, and skips messages
		return false, ErrOffset
	}
	next := q.order.ack(r.Offset, r.Handle.PopTime)
	switch next {
	case orderIgnore:
		return false, nil
	case orderIllegal:
		return false, ErrOffset
	}
	if !s.o.Offsets.HasReset(q.offsetKey()) {
		s.o.Offsets.Commit(q.offsetKey(), next, offset.Origin{})
	}
	t.orderLocked(q, next)
	return q.order.blockedUntil("", clock.Millis(s.o.Clock)) == 0, nil
}

// changeOrdered sets when a message of an ordered group may be seen again. The pop time stays, so the handle's invisible time is from it.
func (t *Turn) changeOrdered(r *Receipt, invisible, now int64) (Changed, error) {
	s := t.s
	q := s.lock(queueKey{r.Topic, r.Group, r.QueueID})
	if q == nil {
		return Changed{}, ErrOffset
	}
	committed, ok := s.o.Offsets.Query(q.offsetKey())
	if ok && r.Offset < committed {
		q.mu.Unlock()
		return Changed{}, nil
	}
	if q.order == nil {
		q.mu.Unlock()
		return Changed{}, ErrOffset
	}
	visible := now + invisible
	if o := q.order; o.PopTime == r.Handle.PopTime && o.has(r.Offset) {
		if o.NextVisible == nil {
			o.NextVisible = map[int64]int64{}
		}
		o.NextVisible[r.Offset] = visible
		t.orderLocked(q, committed)
	}
	q.mu.Unlock()
	s.o.Released(q.key.topic, q.key.group, q.key.id) // who waits may have to wait less
	return Changed{r.Handle.PopTime, visible - r.Handle.PopTime, OrderQueue}, nil
}

// orderLocked writes the order info to the journal, while nobody else can change it.
func (t *Turn) orderLocked(q *queue, committed int64) {
	t.j.order(q, committed, encodeOrder(q.order))
	t.s.note(&t.j)
	t.s.orders.Mark()
}

func (o *orderInfo) has(offset int64) bool {
	for i := range o.Offsets {
		if o.offset(i) == offset {
			return true
		}
	}
	return false
}
