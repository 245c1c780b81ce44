package txn

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/seedmq/seedmq/remoting/protocol"
	"github.com/seedmq/seedmq/store"
)

const (
	// A put-back append takes at most so many records and bytes.
	batchRecords = 256
	batchBytes   = 1 << 20
	// pauseAfterError is how long checks rest after a failed append or read.
	pauseAfterError = time.Second
)

// fate is what a round does with a half message.
type fate uint8

const (
	wait    fate = iota // too young, and so are those behind it
	keep                // put back without a check: its immunity time runs
	check               // put back, and its producer is asked
	discard             // given up
)

// step does what can be done now and returns when to look again; pending is false when nothing is open.
func (s *Service) step(ctx context.Context) (next time.Time, pending bool) {
	now := s.o.Clock.Now()
	if now.Before(s.resume) && s.resume.Sub(now) <= pauseAfterError {
		return s.resume, true
	}
	s.checkAsked()
	next, pending = s.nextRound()
	if !pending || now.Before(next) {
		return next, pending
	}
	s.lastRound, s.rounds = now, true
	for _, q := range s.queues() {
		if err := s.round(ctx, q, now); err != nil {
			s.o.Log.Limited(s.o.Clock, "transaction-check", 10*time.Second).Errorf("checks of transactions wait: %v", err)
			s.resume = s.o.Clock.Now().Add(pauseAfterError)
			s.rounds = false
			return s.resume, true
		}
	}
	return s.nextRound()
}

func (s *Service) queues() []*queue {
	s.mu.Lock()
	defer s.mu.Unlock()
	qs := make([]*queue, 0, len(s.mu.queues))
	for _, q := range s.mu.queues {
		qs = append(qs, q)
	}
	slices.SortFunc(qs, func(a, b *queue) int { return int(a.id - b.id) })
	return qs
}

// nextRound is when the oldest open half message of any queue is due, but not sooner than an interval after the last round. Without an
// open one the loop is idle: an arrival either sees that, or is seen here.
func (s *Service) nextRound() (next time.Time, pending bool) {
	set, now := s.o.Settings(), s.o.Clock.Now()
	s.setIdle(true)
	for _, q := range s.queues() {
		s.mu.Lock()
		at, open := q.nextOpen(q.head, q.tail)
		s.mu.Unlock()
		if !open {
			continue
		}
		due := now
		if h, err := s.read(q.id, at); err == nil {
			immunity, _ := h.immunity(set.Timeout)
			own := min(immunity, set.Timeout)
			if h.putBack() {
				own = set.Interval
			}
			if due = time.UnixMilli(h.StoreTimestamp).Add(own); due.After(now.Add(own)) {
				due = now // the clock was set back
			}
		}
		if !pending || due.Before(next) {
			next = due
		}
		pending = true
	}
	if !pending {
		return next, false
	}
	s.setIdle(false)
	if rest := s.lastRound.Add(set.Interval); s.rounds && rest.After(next) && rest.Sub(now) <= set.Interval {
		next = rest
	}
	return next, true
}

func (s *Service) setIdle(on bool) {
	s.mu.Lock()
	s.mu.idle = on
	s.mu.Unlock()
}

// errNoHalf is a record in a half queue that is no half message.
var errNoHalf = errors.New("no half message")

// read reads the half message at an offset of a queue.
func (s *Service) read(queueID int32, offset int64) (*Half, error) {
	units, err := s.o.Source.QueueUnits(protocol.TopicHalf, queueID, offset, 1)
	if err != nil {
		return nil, err
	}
	rec, err := s.o.Source.Record(units[0].PhysicalOffset, nil)
	if err != nil {
		return nil, err
	}
	h, err := decodeHalf(rec)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errNoHalf, err)
	}
	return h, nil
}

// began is when the transaction began, by our clock: when its first record was stored. If that is gone, or if another broker put the
// message back, the client's time has to do.
func (s *Service) began(h *Half) time.Time {
	if !h.putBack() {
		return time.UnixMilli(h.StoreTimestamp)
	}
	if h.Root != h.QueueOffset {
		if first, err := s.read(h.QueueID, h.Root); err == nil {
			return time.UnixMilli(first.StoreTimestamp)
		}
	}
	return time.UnixMilli(min(h.BornTimestamp, h.StoreTimestamp))
}

// round goes through the open half messages of a queue, oldest first, up to the first that is too young. Like Java's it puts those back
// that stay open, so that the queue's head moves on and the number of checks is kept.
func (s *Service) round(ctx context.Context, q *queue, start time.Time) error {
	s.mu.Lock()
	at, end := q.head, q.tail
	s.mu.Unlock()
	for ctx.Err() == nil {
		var moves []move
		var err error
		moves, at, err = s.gather(q, at, end, start)
		if err != nil {
			return err
		}
		if len(moves) == 0 {
			return nil
		}
		if err := s.move(q, moves); err != nil {
			return err
		}
	}
	return nil
}

// move is a half message that is put back or given up.
type move struct {
	h    *Half
	fate fate
	past []int64
	at   int // in the batch
}

// gather reads what is to be moved from offset at on, up to the limits of an append; next is where to go on, end when that is all.
func (s *Service) gather(q *queue, at, end int64, start time.Time) (moves []move, next int64, err error) {
	bytes := 0
	for len(moves) < batchRecords && bytes < batchBytes {
		s.mu.Lock()
		offset, open := q.nextOpen(at, end)
		s.mu.Unlock()
		if !open {
			return moves, end, nil
		}
		h, err := s.read(q.id, offset)
		if err != nil {
			if len(moves) > 0 { // they must not be passed
				return moves, offset, nil
			}
			if at, err = s.pass(q, offset, err); err != nil {
				return nil, at, err
			}
			continue
		}
		at = offset + 1
		f := s.fate(h, start)
		if f == wait {
			return moves, end, nil
		}
		moves = append(moves, move{h: h, fate: f})
		bytes += len(h.rec)
	}
	return moves, at, nil
}

// pass passes half messages that the store has deleted or that are damaged, and returns where to go on. An error of another kind is
// returned: the message is still there.
func (s *Service) pass(q *queue, offset int64, why error) (next int64, err error) {
	lo, hi, _ := s.o.Source.QueueRange(protocol.TopicHalf, q.id)
	gone := errors.Is(why, store.ErrNotFound)
	switch {
	case !gone && !errors.Is(why, store.ErrCorrupt) && !errors.Is(why, errNoHalf), gone && offset >= hi:
		return offset, why
	case !gone || lo <= offset:
		lo = offset + 1
	}
	s.o.Log.Errorf("transactions: half messages %d to %d of queue %d are passed over: %v", offset, lo-1, q.id, why)
	s.mu.Lock()
	for n := offset; n < lo; n++ {
		if !q.claimed(n) {
			q.close(n)
		}
	}
	s.mu.Unlock()
	return lo, nil
}

// fate decides about an open half message, in Java's order.
func (s *Service) fate(h *Half, start time.Time) fate {
	set := s.o.Settings()
	age := start.Sub(s.began(h))
	patience, immune := h.immunity(set.Timeout)
	switch {
	case h.Checks >= set.MaxChecks, set.Reserved > 0 && age > set.Reserved:
		return discard
	case age < 0: // a clock was set back
		return check
	case immune && age < patience && (h.putBack() || age >= set.Timeout):
		return keep
	case !h.putBack() && age < patience:
		return wait
	case h.putBack() && start.Sub(time.UnixMilli(h.StoreTimestamp)) < set.Interval/2: // an operator asked for a check
		return wait
	}
	return check
}

// move puts half messages back, or gives them up, with one append, and asks the producers.
func (s *Service) move(q *queue, moves []move) error {
	moves = s.claimMoves(q, moves)
	b := s.batches.Get().(Batch)
	defer s.batches.Put(b)
	b.Reset()
	var ms marks
	limit := s.o.Settings().OpSize
	for i := range moves {
		s.addMove(b, &ms, limit, &moves[i])
	}
	err := s.appendMarked(b, &ms)
	s.mu.Lock()
	for i := range moves {
		v := &moves[i]
		delete(q.claims, v.h.QueueOffset)
		switch {
		case err != nil:
		case v.fate == discard:
			q.finish(v.h.Root, v.h.QueueOffset)
			s.mu.recent.add(ended{q.id, v.h.Root}, GivenUp)
		default:
			q.replace(v.h.Root, v.h.QueueOffset, b.Result(v.at).QueueOffset)
		}
	}
	s.notedLocked(b, &ms, err)
	s.mu.Unlock()
	if err != nil {
		return err
	}
	for i := range moves {
		switch v := &moves[i]; v.fate {
		case check:
			s.o.Ask(v.h, b.Result(v.at))
		case discard:
			s.o.Log.Warnf("transaction %s of group %s for topic %s is given up after %d checks, see topic TRANS_CHECK_MAX_TIME_TOPIC",
				v.h.Props.UniqKey, v.h.Props.ProducerGroup, v.h.Props.RealTopic, v.h.Checks)
		}
	}
	return nil
}

// claimMoves claims what is still open and free.
func (s *Service) claimMoves(q *queue, moves []move) []move {
	s.mu.Lock()
	defer s.mu.Unlock()
	moves = slices.DeleteFunc(moves, func(v move) bool {
		at := v.h.QueueOffset
		if at < q.head || q.done.has(at) || q.claimed(at) {
			return true
		}
		q.claims[at] = struct{}{}
		return false
	})
	for i := range moves {
		moves[i].past = q.copies[moves[i].h.Root].past
	}
	return moves
}

// addMove adds the new record of a half message. One that does not fit with what is added to it is given up.
func (s *Service) addMove(b Batch, ms *marks, limit int, v *move) {
	if v.at = b.Len(); v.fate != discard {
		m := v.h.again(v.fate == check)
		if b.Add(&m) == nil {
			v.h.Again = string(m.Properties)
			return
		}
		v.fate = discard
	}
	m := v.h.givenUp()
	if err := b.Add(&m); err != nil {
		s.o.Log.Errorf("transaction %s cannot be stored where it is given up: %v", v.h.Props.UniqKey, err)
	}
	ms.add(v.h.QueueID, limit, v.h.Root, v.past, v.h.QueueOffset)
}

// checkAsked does the checks that operators asked for.
func (s *Service) checkAsked() {
	s.mu.Lock()
	asked := s.mu.asked
	s.mu.asked = nil
	s.mu.Unlock()
	for _, w := range asked {
		s.mu.Lock()
		q := s.mu.queues[w.queueID]
		cur, open := q.current(w.offset, w.root)
		s.mu.Unlock()
		if !open {
			continue
		}
		h, err := s.read(q.id, cur)
		if err == nil {
			err = s.move(q, []move{{h: h, fate: check}})
		}
		if err != nil {
			s.o.Log.Warnf("check of transaction at half queue offset %d: %v", cur, err)
		}
	}
}
