package delay

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"github.com/seedmq/seedmq/conf/clock"
	"github.com/seedmq/seedmq/conf/run"
	"github.com/seedmq/seedmq/conf/xlog"
	"github.com/seedmq/seedmq/remoting/protocol"
	"github.com/seedmq/seedmq/store"
	"github.com/seedmq/seedmq/store/configfile"
	"github.com/seedmq/seedmq/store/fs"
)

// Source reads the schedule topic. *store.Store is one.
type Source interface {
	QueueRange(topic string, queueID int32) (min, max int64, ok bool)
	QueueUnits(topic string, queueID int32, offset int64, max int) ([]store.QueueUnit, error)
	// Record appends the record at phys to dst.
	Record(phys int64, dst []byte) ([]byte, error)
	Queues(topic string) []int32
}

// Sink takes delivered messages. It is used by the service's goroutine alone. See StoreSink.
type Sink interface {
	// Reset forgets what was added.
	Reset()
	// Add takes one more message and keeps nothing of m. An error means that this message can never be stored.
	Add(m *store.Message) error
	// Append writes all that was added, or nothing when it returns an error. end is the log position after it.
	Append() (end int64, err error)
	// AwaitSafe is store.AwaitSafe.
	AwaitSafe(end int64, done func(error))
}

// Options are what a Service is made of. Fields without a comment "may be nil" must be set.
type Options struct {
	Levels *Levels
	Source Source
	Sink   Sink
	// FS and Path are where delayOffset.json is.
	FS    fs.FS
	Path  string
	Clock clock.Clock
	Log   *xlog.Logger
	// PersistEvery is the period of writing the file; default 10 s (flushDelayOffsetInterval).
	PersistEvery time.Duration
	// Flushed is the log position up to which the disk has everything; offsets of later deliveries are not yet written
	// to the file. May be nil: everything delivered counts.
	Flushed func() int64
	// Route is the queue that a message to topic and queue goes to now: another one when the topic has shrunk. May be nil.
	Route func(topic string, queueID int32) int32
	// Delivered is told of each message once it is stored. It must not block. May be nil.
	Delivered func(m *store.Message)
}

// Service delivers what is due. Create with New, then Start, then Close.
type Service struct {
	o    Options
	g    *run.Group
	wake chan struct{}

	levels []*level // index = queue id; set by Start, then owned by the loop, except the atomics

	pass        passState
	flights     []*flight // oldest first
	landings    chan landing
	outstanding int       // flights whose landing is still to come
	crash       error     // why a sync failed; what flies then is delivered again
	resume      time.Time // end of the pause after an error
	closing     bool

	last  time.Time // of the last observation of the clock
	first int       // level that the next pass begins with
	pause time.Duration

	mu struct {
		sync.Mutex
		offsets map[int32]int64 // level → next offset, of levels that delivered or were loaded
		written map[int32]int64 // as the file has them, where a kill takes them back to; never changed in place
		end     int64           // log position after the last delivered record
		version protocol.DataVersion
		moved   int64 // deliveries since the data version moved
		started bool
	}
	saves   saves
	recalls recalls

	skipped atomic.Int64
}

// level is the state of one level, owned by the loop but for the atomics.
type level struct {
	queueID int32
	delay   time.Duration // 0: not in the table any more
	safe    int64         // queue offset up to which deliveries are safe, as the file says
	next    int64         // queue offset to deliver next
	reached int64         // like next, during a pass
	head    *head         // the unit at next, when it is known not to be due yet
	shifts  []correction
	marks   []mark
	oldTail int64 // tail at the last observation of the clock
	newTail int64 // tail just before the one that is being made

	tail   atomic.Int64 // queue offset after the last unit that was announced
	hungry atomic.Bool  // the loop has nothing of this level to wait for
}

// head is a unit that is not due yet.
type head struct{ at time.Time }

const (
	// dataVersionStep is Java's delayOffsetUpdateVersionStep.
	dataVersionStep = 200
	// glance bounds the sleep while messages are pending, so that a moved wall clock is noticed.
	glance = time.Second
	// minStep is the smallest step back of the clock that counts: the two clocks are not read at one instant.
	minStep = 50 * time.Millisecond
)

// New returns a service that stands still.
func New(o Options) *Service {
	if o.PersistEvery <= 0 {
		o.PersistEvery = 10 * time.Second
	}
	s := &Service{o: o, g: run.NewGroup(), wake: make(chan struct{}, 1), landings: make(chan landing, maxFlights)}
	s.mu.offsets = map[int32]int64{}
	s.saves.file = configfile.NewWriter(o.FS, o.Path, func() any { return s.saves.next })
	s.initRecalls()
	return s
}

// Start reads the file and begins to deliver. Notify must be wired before, or arrivals in between may be missed.
func (s *Service) Start() error {
	if err := errors.Join(s.load(), s.loadRecalls()); err != nil {
		return err
	}
	s.mu.Lock()
	s.levels = s.makeLevels()
	s.mu.started = true
	s.mu.Unlock()
	for _, l := range s.levels {
		s.enter(l)
	}
	s.last = s.o.Clock.Now()
	if err := s.g.Go("delay", s.loop); err != nil {
		return err
	}
	return s.g.Go("delay-persist", s.persistLoop)
}

// makeLevels makes the levels of the table and of all queues on disk: what was stored under a longer table is due, too.
func (s *Service) makeLevels() []*level {
	n := s.o.Levels.Max()
	for _, q := range s.o.Source.Queues(protocol.TopicSchedule) {
		n = max(n, min(q+1, maxLevels))
	}
	levels := make([]*level, n)
	for q := range levels {
		l := &level{queueID: int32(q)}
		if int32(q) < s.o.Levels.Max() {
			l.delay = s.o.Levels.Delay(int32(q) + 1)
		}
		levels[q] = l
	}
	return levels
}

// enter puts a level at its loaded offset, clamped into the queue.
func (s *Service) enter(l *level) {
	lo, hi, ok := s.o.Source.QueueRange(protocol.TopicSchedule, l.queueID)
	if !ok {
		return
	}
	s.mu.Lock()
	l.next = min(max(s.mu.offsets[l.queueID+1], lo), hi)
	l.safe = l.next
	s.mu.Unlock()
	l.raiseTail(hi)
	l.oldTail = l.tail.Load()
}

func (l *level) raiseTail(to int64) {
	for old := l.tail.Load(); to > old; old = l.tail.Load() {
		if l.tail.CompareAndSwap(old, to) {
			return
		}
	}
}

// Notify tells of new units, as store.Options.OnArrival hands them out; those of other topics are passed over. It does
// not block.
func (s *Service) Notify(batch []store.Arrival) {
	s.mu.Lock()
	levels := s.levels
	s.mu.Unlock()
	hungry := false
	for i := range batch {
		a := &batch[i]
		if a.Topic != protocol.TopicSchedule || int(a.QueueID) >= len(levels) {
			continue
		}
		l := levels[a.QueueID]
		l.raiseTail(a.QueueOffset + 1)
		if l.hungry.Load() {
			l.hungry.Store(false)
			hungry = true
		}
	}
	if hungry {
		s.kick()
	}
}

func (s *Service) kick() {
	select {
	case s.wake <- struct{}{}:
	default:
	}
}

// Close stops delivering and writes the file. It may be called on a service that was not started.
func (s *Service) Close() error {
	s.g.Close()
	s.mu.Lock()
	started := s.mu.started
	s.mu.started = false
	s.mu.Unlock()
	if !started {
		return nil
	}
	return s.persist(true)
}

// Skipped is the number of messages that could not be delivered, ever: unreadable records, or without a real topic.
func (s *Service) Skipped() int64 { return s.skipped.Load() }

// loop runs passes until the context ends.
func (s *Service) loop(ctx context.Context) {
	alarm := clock.NewAlarm(s.o.Clock)
	defer alarm.Clear()
	defer s.landAll()
	for ctx.Err() == nil {
		alarm.Clear()
		s.land()
		next, pending := s.step()
		var fire <-chan time.Time
		if pending {
			fire = alarm.Set(next)
		}
		select {
		case <-ctx.Done():
		case <-s.wake:
		case <-fire:
		case l := <-s.landings:
			s.landed(l)
		}
	}
}

// step does what can be done now: a pass, unless too much waits for the disk or a sync failed.
func (s *Service) step() (next time.Time, pending bool) {
	switch now := s.o.Clock.Now(); {
	case now.Before(s.resume) && s.resume.Sub(now) <= maxPause:
		return s.resume, true
	case s.crash != nil && s.outstanding == 0:
		s.resume = s.rewind()
		return s.resume, true
	case s.crash != nil || len(s.flights) >= maxFlights:
		return time.Time{}, false
	}
	return s.runPass()
}
