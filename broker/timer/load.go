package timer

import (
	"errors"
	"slices"
	"time"

	"github.com/seedmq/seedmq/store"
	"github.com/seedmq/seedmq/store/timer"
)

const (
	// loadBatch is how many messages of loaded slots are read before the loop looks whether something is due.
	loadBatch = 1024
	// maxDue stops loading while so many entries wait to be delivered.
	maxDue = 1 << 18
	// minLead is how long before its tick a slot is loaded, at least.
	minLead = time.Second
)

// loader reads slots ahead of time. Slots from read to next are loaded.
type loader struct {
	read    int64         // tick: everything before it is delivered
	next    int64         // tick of the slot to be loaded next
	waiting map[int64]int // tick → entries not delivered, and refs
	refs    []ref         // units whose messages were not read yet, the last one first
	skips   []skipped
	rec     []byte
	parcel  parcel
}

// ref is a unit of a loaded slot.
type ref struct {
	slot, pos, phys, write int64
	size                   int32
	rolls                  bool
}

// skipped says that units before a position in slots of a range were loaded before the clock went back.
type skipped struct{ from, to, before int64 }

func (l *loader) room(due int) bool { return len(l.refs) == 0 && due < maxDue }

// from is the first position to be loaded of a slot.
func (l *loader) from(slot int64) (pos int64) {
	for _, k := range l.skips {
		if slot >= k.from && slot < k.to {
			pos = max(pos, k.before)
		}
	}
	return pos
}

// lead is how long before its tick a slot is loaded.
func (s *Service) lead() int64 { return max(s.tick, minLead.Milliseconds()) }

// load loads the slots that begin soon, as far as there is room.
func (s *Service) load(now time.Time) error {
	until := now.UnixMilli() + s.lead()
	for {
		if err := s.resolve(); err != nil || len(s.loader.refs) > 0 {
			return err
		}
		if s.loader.next > until || !s.loader.room(len(s.due)) {
			break
		}
		if err := s.loadSlot(s.loader.next); err != nil {
			return err
		}
		s.loader.next += s.tick
	}
	s.advance(now.UnixMilli())
	return nil
}

// loadSlot notes the units of a slot. Those that delete come first.
func (s *Service) loadSlot(slot int64) error {
	var marks []ref
	n := len(s.loader.refs)
	err := s.files.Walk(slot, s.loader.from(slot), func(pos int64, u *timer.Unit) {
		r := ref{slot: slot, pos: pos, phys: u.Phys, write: u.WriteTime, size: u.Size, rolls: u.Rolls()}
		if u.Deletes() && !u.Rolls() {
			marks = append(marks, r)
			return
		}
		s.loader.refs = append(s.loader.refs, r)
	})
	if err != nil {
		s.loader.refs = s.loader.refs[:n]
		return err
	}
	if added := s.loader.refs[n:]; len(added) > 0 {
		slices.SortFunc(added, func(a, b ref) int { return int(b.pos - a.pos) })
		s.loader.waiting[slot] += len(added)
	}
	for _, r := range marks {
		p, err := s.read(&r)
		if err != nil {
			s.loader.refs = s.loader.refs[:n]
			delete(s.loader.waiting, slot)
			return err
		}
		if p != nil && p.deleteKey != "" {
			s.marks.add(slot, p.props.RealTopic, p.deleteKey)
		}
	}
	return nil
}

// resolve reads messages of loaded slots, oldest first, to learn their times.
func (s *Service) resolve() error {
	l := &s.loader
	for range min(loadBatch, len(l.refs)) {
		r := &l.refs[len(l.refs)-1]
		p, err := s.read(r)
		if err != nil {
			return err
		}
		if p == nil {
			s.release(r.slot)
		} else {
			s.due.push(entry{exact: s.exactOf(p, r.slot, r.rolls), phys: r.phys, pos: r.pos, slot: r.slot, enqueued: r.write, size: r.size, rolls: r.rolls})
		}
		l.refs = l.refs[:len(l.refs)-1]
	}
	if len(l.refs) == 0 && cap(l.refs) > keepHeap {
		l.refs = nil
	}
	return nil
}

// errForeign: a unit's place in the log holds something else.
var errForeign = errors.New("another record stands there")

// read reads the message of a unit; nil when it can never be read. A unit may be older than a log that lost its end, so that it is
// checked to be of this slot.
func (s *Service) read(r *ref) (*parcel, error) {
	l := &s.loader
	rec, err := s.o.Source.Record(r.phys, l.rec[:0])
	if errors.Is(err, store.ErrNotFound) || errors.Is(err, store.ErrCorrupt) {
		s.skip(r.phys, err)
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	l.rec = rec
	err = l.parcel.open(rec)
	if err == nil && (int32(len(rec)) != r.size || !r.rolls && s.files.Tick(l.parcel.out) != r.slot || r.rolls && l.parcel.out < r.slot) {
		err = errForeign
	}
	if err != nil {
		s.skip(r.phys, err)
		return nil, nil
	}
	return &l.parcel, nil
}

// release says that one entry of a slot is done with.
func (s *Service) release(slot int64) {
	if n := s.loader.waiting[slot] - 1; n > 0 {
		s.loader.waiting[slot] = n
	} else {
		delete(s.loader.waiting, slot)
	}
}

// advance moves the reader over the slots of which nothing is left, up to the present tick.
func (s *Service) advance(now int64) {
	l := &s.loader
	until := min(l.next, s.files.Tick(now))
	if l.read >= until {
		return
	}
	if len(l.waiting) == 0 {
		l.read = until
	}
	for l.read < until && l.waiting[l.read] == 0 {
		l.read += s.tick
	}
	if s.flight.loose == 0 {
		s.marks.drop(l.read)
	}
	l.skips = slices.DeleteFunc(l.skips, func(k skipped) bool { return k.to <= l.read })
	s.moved()
}

// goBack makes the reader follow a clock that was set back. What is loaded stays loaded; what is put in from now on is loaded
// when its time comes.
func (s *Service) goBack(now int64) {
	l := &s.loader
	tick := s.files.Tick(now)
	if tick >= l.read {
		return
	}
	l.skips = append(l.skips, skipped{tick, l.next, s.files.LogEnd()})
	l.read, l.next = tick, tick
	s.files.Rewind(tick)
	s.moved()
}
