package pop

import (
	"github.com/seedmq/seedmq/conf/clock"
	"github.com/seedmq/seedmq/store"
)

// Next is the offset that a group takes next from a queue; known is false when the group has none yet.
func (s *Service) Next(topic, group string, id int32) (next int64, known bool) {
	if q := s.lock(queueKey{topic, group, id}); q != nil {
		next, known = q.next, q.known
		q.mu.Unlock()
	}
	k := queueKey{topic, group, id}.offset()
	if off, ok := s.o.Offsets.Query(k); ok && (!known || off > next) {
		return off, true
	}
	return next, known
}

// Available says whether a Take may find something. A queue that somebody takes from does not count: the end of that is told by Released.
func (s *Service) Available(topic, group string, id int32, ordered bool, attempt string) bool {
	if q := s.lock(queueKey{topic, group, id}); q != nil {
		busy := q.reading || ordered && q.order.blockedUntil(attempt, clock.Millis(s.o.Clock)) > 0 ||
			!ordered && s.fullLocked(q) && !s.o.Offsets.HasReset(q.offsetKey())
		q.contended = q.contended || q.reading
		q.mu.Unlock()
		if busy {
			return false
		}
	}
	lo, end, ok := s.o.Source.QueueRange(topic, id)
	if !ok {
		return false
	}
	next, known := lo, false
	if ordered {
		next, known = s.o.Offsets.Query(queueKey{topic, group, id}.offset())
	} else {
		next, known = s.Next(topic, group, id)
	}
	if !known {
		next = lo
	}
	return next < end
}

// Peek reads what a Take would, and takes nothing.
func (s *Service) Peek(r *Take, dst []byte) ([]byte, store.GetResult) {
	next, known := s.Next(r.Topic, r.Group, r.QueueID)
	if !known {
		next, _, _ = s.o.Source.QueueRange(r.Topic, r.QueueID)
	}
	get := store.GetRequest{Topic: r.Topic, QueueID: r.QueueID, Offset: next, MaxCount: r.Max, MaxBytes: r.MaxBytes, Filter: r.Filter}
	dst, res := s.o.Source.Get(&get, dst)
	if res.Status == store.GetOffsetTooSmall || res.Status == store.GetOffsetOverflowBadly {
		get.Offset = res.NextBeginOffset
		dst, res = s.o.Source.Get(&get, dst)
	}
	return dst, res
}

// FreeAt is when an ordered group may take from a queue again, 0 when it may now.
func (s *Service) FreeAt(topic, group string, id int32, attempt string) int64 {
	q := s.lock(queueKey{topic, group, id})
	if q == nil {
		return 0
	}
	defer q.mu.Unlock()
	return q.order.blockedUntil(attempt, clock.Millis(s.o.Clock))
}
