package pop

// How much a group has in flight of one queue: popInflightMessageThreshold.
//
// A message counts from the pop until its ack, or until it is back; one whose time was changed counts on. Java's count begins at zero with each
// start, and so does this one after a clean stop; after a kill the journal brings it back.
//
// Ordered groups are not counted: order itself lets them have one pop of a queue. In Java what an ordered consumer let expire counts
// for ever, and more of it than the threshold stops the queue for good.

// fullLocked says whether too much is open of q, and if so, that somebody wants to know when it is less.
func (s *Service) fullLocked(q *queue) bool {
	limit := s.o.Tuning().InFlight
	if limit < 0 || q.open <= limit {
		return false
	}
	q.full = true
	return true
}

// freeLocked remembers to tell those that were refused once there is room. What is told is told after the turn, with nothing locked.
func (t *Turn) freeLocked(q *queue) {
	if !q.full {
		return
	}
	if limit := t.s.o.Tuning().InFlight; limit >= 0 && q.open > limit {
		return
	}
	q.full = false
	t.freed = append(t.freed, q)
}
