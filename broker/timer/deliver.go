package timer

import (
	"errors"
	"time"

	"github.com/seedmq/seedmq/store"
)

const (
	// A pass takes at most so many messages and bytes.
	passMessages = 2048
	passBytes    = 8 << 20
	// maxFlights is how many appended passes may wait for the disk, so that a slow sync does not hold up what comes due.
	maxFlights = 64
	// landingTime is how long Close waits for them.
	landingTime = 2 * time.Second
)

// passState is what a pass gathers.
type passState struct {
	taken []entry // all that left the heap
	done  []handed
	added int // to the sink
	rec   []byte
	props []byte
	box   parcel
	bytes int
}

// handed is a message of the pass, as the figures need it.
type handed struct {
	topic          string
	size           int
	counted, rolls bool
}

// position is what a check point may say.
type position struct {
	read, queue int64
	end         int64 // of the log, that must be on disk before
}

// flights are appended passes that are not yet as safe as the flush mode asks. They land in the order they took off.
type flights struct {
	list        []*flight
	landings    chan landing
	outstanding int
	end         int64 // of the log after the last one
	loose       int   // entries that only the queue knows of and that did not take off yet
	queue       int64 // the last queueMark
	slot        int64 // the latest tick of which something took off
	crash       error
	closing     bool
}

type flight struct {
	at      position
	entries []entry
	safe    bool
}

// landing is what AwaitSafe said of a flight.
type landing struct {
	f   *flight
	err error
}

func (f *flights) full() bool { return len(f.list) >= maxFlights }

// deliver appends what is due, a pass.
func (s *Service) deliver(now time.Time) error {
	if len(s.due) == 0 || s.flight.full() {
		return nil
	}
	ms, p := now.UnixMilli(), &s.pass
	p.taken, p.done, p.added, p.bytes = p.taken[:0], p.done[:0], 0, 0
	s.o.Sink.Reset()
	for len(s.due) > 0 && s.due[0].exact <= ms && len(p.taken) < passMessages && p.bytes < passBytes {
		if s.stopping && s.due[0].slot > s.flight.slot {
			break
		}
		e := s.due.pop()
		p.taken = append(p.taken, e)
		if err := s.take(&e, ms); err != nil {
			s.giveBack(p.taken)
			return err
		}
	}
	if len(p.taken) == 0 {
		return nil
	}
	return s.takeOff()
}

func (s *Service) giveBack(taken []entry) {
	for _, e := range taken {
		s.due.push(e)
	}
}

// take adds the message of an entry to the pass. What can never be delivered is logged and passed over; an error means that it
// should be tried again.
func (s *Service) take(e *entry, now int64) error {
	p := &s.pass
	var err error
	if p.rec, err = s.o.Source.Record(e.phys, p.rec[:0]); err != nil {
		if errors.Is(err, store.ErrNotFound) || errors.Is(err, store.ErrCorrupt) {
			s.skip(e.phys, err)
			return nil
		}
		return err
	}
	if err := p.box.open(p.rec); err != nil {
		s.skip(e.phys, err)
		return nil
	}
	p.bytes += len(p.rec)
	if !e.rolls && s.marks.match(e.slot, &p.box) {
		s.stats.recalled.Add(1) // counted down when the deletion was put in
		return nil
	}
	if came, err := s.came(e); came || err != nil {
		return err
	}
	if err := s.forward(e, now); err != nil {
		s.skip(e.phys, err)
	}
	return nil
}

func (s *Service) forward(e *entry, now int64) error {
	p := &s.pass
	var m store.Message
	var err error
	m, p.props, err = p.box.forward(e.rolls, p.box.exact(s.tick), stamps{e.enqueued, now}, p.props[:0])
	if err != nil {
		return err
	}
	if !e.rolls && s.o.Route != nil {
		m.QueueID = s.o.Route(m.Topic, m.QueueID)
	}
	err = s.o.Sink.Add(&m)
	if errors.Is(err, store.ErrMessageTooLarge) && !e.rolls { // our properties are too much: they are the least important part
		m.Properties = []byte(p.box.view.Properties)
		err = s.o.Sink.Add(&m)
	}
	if err != nil {
		return err
	}
	p.added++
	p.done = append(p.done, handed{topic: s.stats.name(p.box.props.RealTopic), size: len(m.Body) + len(m.Properties), counted: !e.loose, rolls: e.rolls})
	return nil
}

// takeOff appends the pass and leaves it waiting for the disk.
func (s *Service) takeOff() error {
	p, fl := &s.pass, &s.flight
	if p.added > 0 {
		end, err := s.o.Sink.Append()
		if err != nil {
			s.giveBack(p.taken)
			return err
		}
		fl.end = end
	}
	f := &flight{entries: append([]entry(nil), p.taken...)}
	fl.list = append(fl.list, f)
	for i := range p.taken {
		if e := &p.taken[i]; e.loose {
			fl.loose--
		} else {
			s.release(e.slot)
			fl.slot = max(fl.slot, e.slot)
		}
	}
	s.advance(s.o.Clock.Now().UnixMilli())
	f.at = position{read: s.loader.read, queue: s.queueMark(), end: max(fl.end, s.put.end)}
	s.count()
	fl.outstanding++
	s.await(f)
	s.land()
	return nil
}

// count tells of the pass what it did.
func (s *Service) count() {
	for i := range s.pass.done {
		h := &s.pass.done[i]
		if h.counted {
			s.stats.count(h.topic, -1)
		}
		if !h.rolls && h.size > 0 && s.o.Delivered != nil {
			s.o.Delivered(h.topic, h.size)
		}
	}
	s.stats.dequeued.Add(int64(s.pass.added))
}

// queueMark is the queue offset that may be noted once all flights landed: not beyond an entry that only the queue knows of.
func (s *Service) queueMark() int64 {
	if s.flight.loose == 0 {
		s.flight.queue = s.put.next
	}
	return s.flight.queue
}

// await asks to be told when f is safe. The channel has room for all that are asked for.
func (s *Service) await(f *flight) {
	s.o.Sink.AwaitSafe(s.flight.end, func(err error) { s.flight.landings <- landing{f, err} })
}

// land takes all landings that are there.
func (s *Service) land() {
	for {
		select {
		case l := <-s.flight.landings:
			s.landed(l)
		default:
			return
		}
	}
}

// landed moves the safe position after a flight and those before it are safe. A timeout is waited out: the records are in the log.
func (s *Service) landed(l landing) {
	fl := &s.flight
	if errors.Is(l.err, store.ErrFlushTimeout) && fl.crash == nil && !fl.closing {
		s.o.Log.Limited(s.o.Clock, "timer-flush", 10*time.Second).Warnf("delivered messages are not on disk yet: %v", l.err)
		s.await(l.f)
		return
	}
	fl.outstanding--
	if l.err != nil {
		fl.crash = l.err
	} else {
		l.f.safe = true
	}
	for fl.crash == nil && len(fl.list) > 0 && fl.list[0].safe {
		s.saves.safe = fl.list[0].at
		fl.list = fl.list[1:]
	}
	s.moved()
}

// moved makes the present position the safe one when nothing flies.
func (s *Service) moved() {
	if len(s.flight.list) == 0 {
		s.saves.safe = position{read: s.loader.read, queue: s.queueMark(), end: max(s.flight.end, s.put.end)}
	}
}

// rewindFlights takes up again what flew when a sync failed: it is delivered once more.
func (s *Service) rewindFlights() error {
	fl := &s.flight
	for _, f := range fl.list {
		for _, e := range f.entries {
			if s.due.push(e); e.loose {
				fl.loose++
			} else {
				s.loader.waiting[e.slot]++
			}
		}
	}
	s.loader.read = min(s.loader.read, s.saves.safe.read)
	fl.queue = s.saves.safe.queue
	err := fl.crash
	fl.crash, fl.list = nil, nil
	return err
}

// landAll waits a while for flights when the service closes, so that a restart does not deliver them again.
func (s *Service) landAll() {
	s.flight.closing = true
	t := s.o.Clock.NewTimer(landingTime)
	defer t.Stop()
	for s.flight.outstanding > 0 {
		select {
		case l := <-s.flight.landings:
			s.landed(l)
		case <-t.C():
			return
		}
	}
}
