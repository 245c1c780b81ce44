package timer

import (
	"errors"
	"time"

	"github.com/seedmq/seedmq/remoting/protocol"
	"github.com/seedmq/seedmq/store"
	"github.com/seedmq/seedmq/store/timer"
)

const (
	// putBatch is how many records are put in before the loop looks whether something is due.
	putBatch = 4096
	// unitsPerRead is how many queue units are read at a time.
	unitsPerRead = 256
	// halfWheel is how many ticks the reader may be behind.
	halfWheel = timer.Slots / 2
)

// putState says how far the queue was put in.
type putState struct {
	next     int64 // queue offset
	end      int64 // log position after what was put in last
	goal     int64 // where the queue ended at the start
	caughtUp bool  // goal is reached, deliveries may begin
	seq      int64 // of entries without a unit
	rec      []byte
	parcel   parcel
	held     bool // the wheel must be read on before more goes in
}

func (p *putState) limit() int64 {
	if p.held {
		return p.next
	}
	return 1<<63 - 1
}

// rebuild is what to leave out when the wheel is made again from the queue.
type rebuild struct {
	queue int64 // records before it were put in once
	read  int64 // and what was due before that was delivered
}

// enter sets the positions from what the files say.
func (s *Service) enter(st timer.State) error {
	lo, hi, ok := s.o.Source.QueueRange(protocol.TopicTimer, 0)
	if !ok {
		lo, hi = 0, 0
	}
	next := st.Check.LastTimerQueueOffset
	switch {
	case st.Lost && st.Known:
		s.rebuild = &rebuild{queue: next, read: st.Check.LastReadTimeMs}
		next = lo
	case st.Lost:
		next = lo
	default:
		if last, ok := s.offsetOf(&st.Last, lo, hi); ok && (st.TailLost || last+1 > next) {
			next = last + 1
		}
	}
	s.put.next = min(max(next, lo), hi)
	s.put.goal = hi
	s.put.seq = 1 << 62
	s.raiseTail(hi)
	now := s.last.UnixMilli()
	read := s.files.Tick(now)
	if st.Known && st.Check.LastReadTimeMs < read {
		read = s.files.Tick(st.Check.LastReadTimeMs)
	} else if st.Check.LastReadTimeMs > now+minStep.Milliseconds() {
		s.o.Log.Warnf("the clock stands before the time at which timed messages were delivered last")
	}
	s.files.Rewind(read)
	s.loader.next, s.loader.read = read, read
	s.doubt = doubt{from: read, to: read + doubtful.Milliseconds(), before: now, all: !st.Known}
	s.flight.queue = s.put.next
	s.saves.begin(st.Check, st.Known, position{read: read, queue: s.put.next})
	s.tell()
	s.stats.publish(st.Check)
	return s.stats.load(s.o.Log)
}

// offsetOf is the queue offset of a unit's message. The record's own offset is where the search begins.
func (s *Service) offsetOf(u *timer.Unit, lo, hi int64) (int64, bool) {
	if u.Size == 0 {
		return 0, false
	}
	rec, err := s.o.Source.Record(u.Phys, nil)
	if err != nil {
		return 0, false
	}
	var p parcel
	if p.open(rec) != nil || int32(len(rec)) != u.Size {
		return 0, false
	}
	const searched = 20_000
	for at := min(p.view.QueueOffset, hi-1); at >= lo && at > p.view.QueueOffset-searched; at-- {
		units, err := s.o.Source.QueueUnits(protocol.TopicTimer, 0, at, 1)
		if err != nil || len(units) == 0 || units[0].PhysicalOffset < u.Phys {
			return 0, false
		}
		if units[0].PhysicalOffset == u.Phys {
			return at, true
		}
	}
	return 0, false
}

// putIn puts new records in the wheel. Units are written before it returns.
func (s *Service) putIn(now time.Time) error {
	ms := now.UnixMilli()
	s.window = s.rollWindow()
	s.put.held = s.loader.read < ms-halfWheel*s.tick // the other half of the wheel may still be full
	goal := min(s.tail.Load(), s.put.limit())
	n := 0
	var failed error
	for s.put.next < goal && n < putBatch && failed == nil {
		units, err := s.o.Source.QueueUnits(protocol.TopicTimer, 0, s.put.next, int(min(unitsPerRead, goal-s.put.next)))
		if err != nil || len(units) == 0 {
			if again, err := s.reenter(err); err != nil || !again {
				failed = err
				break
			}
			continue
		}
		for i := range units {
			if failed = s.putOne(&units[i], ms); failed != nil {
				break
			}
			s.put.next++
			s.put.end = units[i].PhysicalOffset + int64(units[i].Size)
			n++
		}
	}
	s.stats.enqueued.Add(int64(n))
	if err := s.files.Write(); err != nil {
		return err
	}
	s.put.caughtUp = s.put.caughtUp || s.put.next >= s.put.goal || s.put.held
	s.moved()
	return failed
}

// reenter handles a read that brought nothing: the queue's head was deleted, or the queue is shorter than announced.
func (s *Service) reenter(err error) (again bool, failed error) {
	if err != nil && !errors.Is(err, store.ErrNotFound) {
		return false, err
	}
	lo, hi, ok := s.o.Source.QueueRange(protocol.TopicTimer, 0)
	if ok && s.put.next < lo {
		s.o.Log.Warnf("timed messages: offsets %d to %d are gone from the store", s.put.next, lo-1)
		s.put.next = lo
		return true, nil
	}
	s.tail.Store(min(hi, s.put.next))
	s.put.goal = min(s.put.goal, s.put.next)
	return false, nil
}

// putOne puts one record in. What can never be delivered is logged and passed over; an error means that it should be tried again.
func (s *Service) putOne(u *store.QueueUnit, now int64) error {
	var err error
	if s.put.rec, err = s.o.Source.Record(u.PhysicalOffset, s.put.rec[:0]); err != nil {
		if errors.Is(err, store.ErrNotFound) || errors.Is(err, store.ErrCorrupt) {
			s.skip(u.PhysicalOffset, err)
			return nil
		}
		return err
	}
	p := &s.put.parcel
	if err := p.open(s.put.rec); err != nil {
		s.skip(u.PhysicalOffset, err)
		return nil
	}
	if s.rebuild != nil && s.put.next < s.rebuild.queue && s.wasHandled(p) {
		return nil
	}
	return s.place(p, u, now)
}

// wasHandled says, while the wheel is made again, that a record was delivered or rolled before.
func (s *Service) wasHandled(p *parcel) bool {
	if p.out < s.rebuild.read {
		return true
	}
	// When it rolled, its copy comes later in the queue. A minute is left for the time between being stored and being put in.
	const slack = 60_000
	at, rolls := s.stage(p.out, s.files.Tick(p.view.StoreTimestamp))
	return rolls && at+slack < s.rebuild.read
}

// stage is the tick in whose slot a message due at out goes when it is put in at write. rolls: it is not the last one. As in Java.
func (s *Service) stage(out, write int64) (at int64, rolls bool) {
	switch ahead := out - write; {
	case ahead < s.window:
		return out, false
	case ahead-s.window < s.window/3:
		return write + s.files.Tick(s.window/2), true
	default:
		return write + s.window, true
	}
}

// place gives a message its slot. One that is due in a slot which was read already goes to the heap alone, where it is due.
func (s *Service) place(p *parcel, q *store.QueueUnit, now int64) error {
	slot := s.files.Tick(p.out)
	if slot < s.loader.read {
		s.placeLoose(p, q, slot)
		return nil
	}
	write := min(s.files.Tick(now), slot)
	at, rolls := s.stage(slot, write)
	u := timer.Unit{Magic: timer.MagicDefault, WriteTime: write, Delay: int32(at - write), Phys: q.PhysicalOffset, Size: q.Size,
		TopicHash: protocol.JavaHash(p.props.RealTopic)}
	if rolls {
		u.Magic |= timer.MagicRoll
	}
	if p.deleteKey != "" {
		u.Magic |= timer.MagicDelete
	}
	if err := s.files.Add(&u); err != nil {
		if !errors.Is(err, timer.ErrTaken) {
			return err
		}
		s.skip(q.PhysicalOffset, err)
		return nil
	}
	if p.deleteKey == "" {
		s.stats.count(p.props.RealTopic, 1)
	} else {
		s.stats.count(p.props.RealTopic, -1)
	}
	if at >= s.loader.next {
		return nil
	}
	pos := s.files.LogEnd() - timer.UnitSize // the slot is loaded already
	if u.Deletes() && !rolls {
		s.marks.add(at, p.props.RealTopic, p.deleteKey)
		return nil
	}
	s.expect(entry{exact: s.exactOf(p, at, rolls), phys: u.Phys, pos: pos, slot: at, enqueued: write, size: u.Size, rolls: rolls})
	return nil
}

func (s *Service) placeLoose(p *parcel, q *store.QueueUnit, slot int64) {
	if p.deleteKey != "" {
		s.marks.add(slot, p.props.RealTopic, p.deleteKey)
		return
	}
	s.put.seq++
	s.due.push(entry{exact: p.exact(s.tick), phys: q.PhysicalOffset, pos: s.put.seq, slot: slot, enqueued: never, size: q.Size, loose: true})
	s.flight.loose++
}

func (s *Service) exactOf(p *parcel, slot int64, rolls bool) int64 {
	if rolls {
		return slot + s.tick
	}
	return p.exact(s.tick)
}

// expect adds an entry of a loaded slot.
func (s *Service) expect(e entry) {
	s.due.push(e)
	s.loader.waiting[e.slot]++
}

func (s *Service) skip(phys int64, why error) {
	s.stats.lost.Add(1)
	s.o.Log.Limited(s.o.Clock, "timer-skip", time.Second).
		Errorf("timed message at log position %d cannot be delivered and is passed over: %v", phys, why)
}
