package txn

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/seedmq/seedmq/store"
)

// Outcome is what became of a transaction.
type Outcome uint8

// Outcomes. A producer says one of the first two.
const (
	Commit Outcome = iota + 1
	Rollback
	GivenUp // after too many checks, or too long
)

func (o Outcome) String() string {
	switch o {
	case Commit:
		return "committed"
	case Rollback:
		return "rolled back"
	case GivenUp:
		return "given up"
	}
	return "ended"
}

// Errors of End, besides those of the store.
var (
	// ErrMismatch: there is no such half message, or the group or an offset does not fit it. The text says which, in Java's words.
	ErrMismatch = errors.New("no such transaction")
	// ErrTooLate: the producer must wait for a check, because the immunity time of the message is over.
	ErrTooLate = errors.New("too late")
	// ErrEnded: the transaction had another outcome before.
	ErrEnded = errors.New("the transaction has ended")
)

// End is a producer's word on a transaction.
type End struct {
	Group       string
	QueueOffset int64 // of the half message (tranStateTableOffset)
	LogOffset   int64 // of the half message
	Outcome     Outcome
	FromCheck   bool // the answer to a check
	// Err is the result; nil also when the transaction had this outcome before.
	Err error

	half *Half
	m    store.Message
	cur  int64
	past []int64
	at   int // in the batch, -1 for none
}

// endWork is the memory of one call of End.
type endWork struct {
	batch  Batch
	halves []Half
	recs   []byte // the half messages
	props  []byte // of what is committed
}

// keepBytes is how much of an endWork's memory is used again.
const keepBytes = 4 << 20

// begin makes room for n ends.
func (w *endWork) begin(n int) {
	if cap(w.recs)+cap(w.props) > keepBytes {
		w.recs, w.props = nil, nil
	}
	w.recs, w.props = w.recs[:0], w.props[:0]
	w.halves = slices.Grow(w.halves[:0], n)[:n]
}

// End ends transactions: with one append, commits store their messages, and all get their marks. Each request has its own result.
// End reads the half messages, and waits for appends of others that are about the same transactions.
func (s *Service) End(es []End) {
	w := s.works.Get().(*endWork)
	w.begin(len(es))
	for i := range es {
		es[i].Err = s.verify(w, &es[i], &w.halves[i])
	}
	for len(es) > 0 {
		n := s.claimSome(es)
		s.finish(w.batch, es[:n])
		for i := range es[:n] { // nobody may look at what the next call overwrites
			es[i].half, es[i].m = nil, store.Message{}
		}
		es = es[n:]
	}
	s.works.Put(w)
}

// verify reads the half message into h and compares it with what the request says.
func (s *Service) verify(w *endWork, e *End, h *Half) (err error) {
	at := len(w.recs)
	w.recs, err = s.o.Source.Record(e.LogOffset, w.recs)
	if errors.Is(err, store.ErrNotFound) {
		return fmt.Errorf("%w: Find prepared transaction message failed: none at commit log offset %d", ErrMismatch, e.LogOffset)
	}
	if err != nil {
		return err
	}
	switch err = h.decode(w.recs[at:len(w.recs):len(w.recs)]); {
	case err != nil:
		return fmt.Errorf("%w: Find prepared transaction message failed: %w", ErrMismatch, err)
	case h.Props.ProducerGroup != e.Group:
		return fmt.Errorf("%w: The producer group wrong", ErrMismatch)
	case h.QueueOffset != e.QueueOffset:
		return fmt.Errorf("%w: The transaction state table offset wrong: it is %d, not %d", ErrMismatch, h.QueueOffset, e.QueueOffset)
	case h.PhysicalOffset != e.LogOffset:
		return fmt.Errorf("%w: The commit log offset wrong", ErrMismatch)
	}
	if d, ok := h.immunity(s.o.Settings().Timeout); ok && !e.FromCheck {
		if age := s.o.Clock.Now().Sub(s.began(h)); age > d {
			return fmt.Errorf("%w: the transaction began %v ago, its immunity time (CHECK_IMMUNITY_TIME_IN_SECONDS) is %v; wait check",
				ErrTooLate, age.Truncate(time.Millisecond), d)
		}
	}
	e.half = h
	if e.Outcome == Commit {
		if e.m, w.props, err = h.committed(w.props); err != nil {
			return fmt.Errorf("%w: %w", ErrMismatch, err)
		}
		if s.o.Route != nil {
			e.m.QueueID = s.o.Route(e.m.Topic, e.m.QueueID)
		}
	}
	return nil
}

// claimSome claims the transactions of the first requests, and returns how many: up to one that somebody else has, for whom it waits
// only while it has no claim itself.
func (s *Service) claimSome(es []End) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	have := false
	for i := range es {
		e := &es[i]
		for e.Err == nil {
			h := e.half
			q := s.queueLocked(h.QueueID)
			cur, open := q.current(h.QueueOffset, h.Root)
			if !q.claimed(cur) {
				if e.cur = cur; !open {
					e.Err = s.endedLocked(e)
					e.half = nil
				} else {
					q.claims[cur] = struct{}{}
					e.past = q.copies[h.Root].past
					have = true
				}
				break
			}
			if have {
				return i
			}
			s.mu.freed.Wait()
		}
	}
	return len(es)
}

// endedLocked is the result for a transaction that is not open any more.
func (s *Service) endedLocked(e *End) error {
	o := s.mu.recent.outcomes[ended{e.half.QueueID, e.half.Root}]
	if o == e.Outcome {
		return nil
	}
	return fmt.Errorf("%w: it was %v before, nothing is stored", ErrEnded, o)
}

// finish stores the outcomes of claimed transactions and gives up the claims.
func (s *Service) finish(b Batch, es []End) {
	b.Reset()
	var ms marks
	limit := s.o.Settings().OpSize
	for i := range es {
		e := &es[i]
		if e.at = -1; e.Err != nil || e.half == nil {
			continue
		}
		if e.Outcome == Commit {
			e.at = b.Len()
			if e.Err = b.Add(&e.m); e.Err != nil {
				continue
			}
		}
		ms.add(e.half.QueueID, limit, e.half.Root, e.past, e.cur)
	}
	err := s.appendMarked(b, &ms)
	s.mu.Lock()
	for i := range es {
		e := &es[i]
		if e.half == nil {
			continue
		}
		q := s.mu.queues[e.half.QueueID]
		delete(q.claims, e.cur)
		if e.Err == nil {
			e.Err = err
		}
		if e.Err == nil {
			q.finish(e.half.Root, e.cur)
			s.mu.recent.add(ended{q.id, e.half.Root}, e.Outcome)
		}
	}
	s.notedLocked(b, &ms, err)
	s.mu.Unlock()
	if err != nil {
		s.kick() // they are open again
	}
	for i := range es {
		if e := &es[i]; e.half != nil && e.Err == nil && e.at >= 0 && s.o.Stored != nil {
			s.o.Stored(&e.m, b.Result(e.at))
		}
	}
}

// appendMarked adds the op messages of ms to b, behind what they mark, and appends it all.
func (s *Service) appendMarked(b Batch, ms *marks) error {
	for i := range ms.bodies {
		c := &ms.bodies[i]
		c.at = b.Len()
		m := s.opMessage(c.queueID, c.body)
		if err := b.Add(&m); err != nil {
			return err
		}
	}
	if b.Len() == 0 {
		return nil
	}
	return b.Append()
}

// notedLocked takes note of an append, after the state was changed for it, and lets those go on that wait for a claim.
func (s *Service) notedLocked(b Batch, ms *marks, err error) {
	if err == nil && b.Len() > 0 {
		s.mu.end = max(s.mu.end, b.End())
		for i := range ms.bodies {
			c := &ms.bodies[i]
			s.mu.queues[c.queueID].noteOp(opEntry{b.Result(c.at).QueueOffset, c.max})
		}
	}
	for _, q := range s.mu.queues {
		q.advanceOps()
	}
	s.mu.freed.Broadcast()
}
