package pop

// What is kept of a queue of a group goes when nobody takes from it for a while: groups come and go, and so do retry topics.
//
// A state may go when it says nothing that the rest of the broker does not: nothing is open, the committed offset has come to where the group takes
// next, and that offset is in consumerOffset.json, for the journal forgets it, too. What was over lately is remembered as long as an ack of it may come
// twice. An ordered group's state stays as long as its entry in consumerOrderInfo.json.

const (
	// sweepEvery is how often all queues are looked at.
	sweepEvery = 60_000 // ms
	// idleMs is how long a queue must have had nothing to remember.
	idleMs = 600_000
	// sweptAtOnce bounds what one scan does.
	sweptAtOnce = 2000
)

// sweeping is how far the sweep is. Only the goroutine that calls Scan uses it.
type sweeping struct {
	idleMs, every int64 // 0: as above
	next          int64 // ms
	idle          []*queue
}

// sweep drops states that are not needed.
func (s *Service) sweep(now int64) {
	w := &s.sweeping
	if w.idleMs == 0 {
		w.idleMs, w.every = idleMs, sweepEvery
	}
	if len(w.idle) == 0 {
		if now < w.next {
			return
		}
		w.next = now + w.every
		s.findIdle(now)
	}
	n := min(len(w.idle), sweptAtOnce)
	for _, q := range w.idle[:n] {
		s.drop(q, now)
	}
	clear(w.idle[:n])
	if w.idle = w.idle[n:]; len(w.idle) == 0 {
		w.idle = nil
	}
}

// findIdle lists what may go, and makes sure that its offsets are on disk.
func (s *Service) findIdle(now int64) {
	w := &s.sweeping
	if s.o.TimerBehind().Milliseconds() > w.idleMs/2 {
		return // it may bring records of what is over
	}
	for _, q := range s.table.all(nil) {
		q.mu.Lock()
		if s.idleLocked(q, now) {
			w.idle = append(w.idle, q)
		}
		q.mu.Unlock()
	}
	if len(w.idle) == 0 {
		return
	}
	if err := s.o.Offsets.Save(); err != nil {
		s.o.Log.Limited(s.o.Clock, "sweep", logEvery).Errorf("what is known of groups that pop no more stays in memory: %v", err)
		w.idle = nil
	}
}

func (s *Service) idleLocked(q *queue, now int64) bool {
	switch {
	case q.dead || q.reading || q.active || len(q.points) > 0 || len(q.list) > 0 || now-max(q.used, q.until) < s.sweeping.idleMs:
		return false
	case q.order != nil && now-q.order.LastConsume <= orderLife:
		return false
	}
	committed, ok := s.o.Offsets.Query(q.offsetKey())
	return (!ok || !q.known || committed >= q.next) && !s.o.Offsets.HasReset(q.offsetKey())
}

// drop forgets q, unless somebody took from it meanwhile.
func (s *Service) drop(q *queue, now int64) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if !s.idleLocked(q, now) {
		return
	}
	var e entries
	e.swept(q)
	if err := s.journal.write(e.b); err != nil {
		s.o.Log.Limited(s.o.Clock, "journal", logEvery).Errorf("what is known of groups that pop no more stays in memory: %v", err)
		return
	}
	if q.order != nil {
		s.orders.Mark()
	}
	q.dead = true
	s.table.remove(q)
}
