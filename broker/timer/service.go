package timer

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/seedmq/seedmq/conf/clock"
	"github.com/seedmq/seedmq/conf/run"
	"github.com/seedmq/seedmq/conf/xlog"
	"github.com/seedmq/seedmq/remoting/protocol"
	"github.com/seedmq/seedmq/store"
	"github.com/seedmq/seedmq/store/fs"
	"github.com/seedmq/seedmq/store/timer"
)

// Source reads the timer topic. *store.Store is one.
type Source interface {
	QueueRange(topic string, queueID int32) (min, max int64, ok bool)
	QueueUnits(topic string, queueID int32, offset int64, max int) ([]store.QueueUnit, error)
	// Record appends the record at phys to dst.
	Record(phys int64, dst []byte) ([]byte, error)
}

// Sink takes delivered messages. It is used by the service's goroutine alone; delay.StoreSink is one.
type Sink interface {
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
	Source Source
	Sink   Sink
	FS     fs.FS
	Root   string // storePathRootDir
	Clock  clock.Clock
	Log    *xlog.Logger
	// Tick is the length of a slot; default 1 s. See Tick for what may be set.
	Tick time.Duration
	// RollSlots is after how many ticks at most a message is stored anew (timerRollWindowSlot); default 172,800.
	RollSlots int
	// Retention is how long the log keeps a record at least. Messages roll before three quarters of it are over. May be nil: for ever.
	Retention func() time.Duration
	// FlushEvery is the period of writing the files; default 1 s (timerFlushIntervalMs).
	FlushEvery time.Duration
	// LogFileSize is mappedFileSizeTimerLog; default 100 MiB.
	LogFileSize int64
	// Flushed is the log position up to which the disk has everything; the check point does not go beyond it. May be nil.
	Flushed func() int64
	// MinPhys is where the log begins: timer log files that only speak of earlier messages are deleted. May be nil.
	MinPhys func() int64
	// Came says whether a message with a UNIQ_KEY was forwarded to topic before, as the key index has it: match is shown the properties of those
	// with the key. It is asked at the start only, so that what was delivered just before the end is not repeated. May be nil.
	Came func(topic, uniqKey string, match func(props string) bool) (bool, error)
	// Route is the queue that a message to topic and queue goes to now. May be nil.
	Route func(topic string, queueID int32) int32
	// Delivered is told of each message once it is stored in its topic. It must not block. May be nil.
	Delivered func(topic string, size int)
}

// Tick is the precision for a configured one: the longest of 100, 200, 500 and 1000 ms that is not above it.
func Tick(ms int) time.Duration {
	for _, t := range []int{1000, 500, 200} {
		if ms >= t {
			return time.Duration(t) * time.Millisecond
		}
	}
	return 100 * time.Millisecond
}

// Service puts messages in the wheel and takes them out. Create with New, then Start, then Close. Notify, Recalled and the figures may be
// called from anywhere; everything else belongs to one goroutine.
type Service struct {
	o       Options
	tick    int64 // ms
	window  int64 // ms: who is due later than that rolls
	g       *run.Group
	wake    chan struct{}
	files   *timer.Files
	pass    passState
	put     putState
	due     heap
	loader  loader
	flight  flights
	saves   saves
	rebuild *rebuild
	doubt   doubt

	last    time.Time // of the last observation of the clock
	resume  time.Time // end of the pause after an error
	pause   time.Duration
	expired time.Time // when log files were deleted last
	started bool
	// stop is closed when the loop should end with its tick, ended when it has.
	stop, ended chan struct{}
	stopping    bool

	tail   atomic.Int64 // queue offset after the last record that was announced
	hungry atomic.Bool
	stats  figures
	marks  marks
}

const (
	// glance bounds the sleep while messages are pending, so that a moved wall clock is noticed.
	glance = time.Second
	// minStep is the smallest step back of the clock that counts.
	minStep     = 50 * time.Millisecond
	minPause    = 100 * time.Millisecond
	maxPause    = 5 * time.Second
	expireEvery = 30 * time.Second
	// blankSlots are kept free between the longest roll window and one half of the wheel, as in Java.
	blankSlots = 60
)

// New returns a service that stands still.
func New(o Options) *Service {
	if o.Tick <= 0 {
		o.Tick = time.Second
	}
	if o.FlushEvery <= 0 {
		o.FlushEvery = time.Second
	}
	s := &Service{o: o, tick: o.Tick.Milliseconds(), g: run.NewGroup(), wake: make(chan struct{}, 1), stop: make(chan struct{})}
	s.flight.landings = make(chan landing, maxFlights)
	s.saves.todo, s.saves.done = make(chan *timer.Snapshot, 1), make(chan *timer.Snapshot, 1)
	s.window = s.rollWindow()
	s.loader.waiting = map[int64]int{}
	s.marks.init()
	s.stats.init(o.FS, o.Root, o.Clock)
	return s
}

// rollWindow is Java's, but shorter when the log would lose the record before.
func (s *Service) rollWindow() int64 {
	const most = timer.Slots/2 - blankSlots
	slots := int64(s.o.RollSlots)
	if slots == 0 {
		slots = 172_800
	}
	if slots < 2 || slots > most {
		slots = most
	}
	w := slots * s.tick
	if s.o.Retention != nil {
		w = max(min(w, s.o.Retention().Milliseconds()/4*3/s.tick*s.tick), 2*s.tick)
	}
	return w
}

// Start opens the files and begins to put in and to deliver. Notify must be wired before.
func (s *Service) Start() error {
	if err := s.begin(); err != nil {
		return err
	}
	s.started = true
	s.ended = make(chan struct{})
	if err := s.g.Go("timer", s.loop); err != nil {
		return err
	}
	return s.g.Go("timer-flush", s.flushLoop)
}

// begin opens the files and finds where to go on.
func (s *Service) begin() error {
	files, st, err := timer.Open(timer.Options{FS: s.o.FS, Root: s.o.Root, LogFileSize: s.o.LogFileSize, Tick: s.o.Tick, Log: s.o.Log})
	if err != nil {
		return err
	}
	s.files = files
	s.last = s.o.Clock.Now()
	s.expired = s.last
	return s.enter(st)
}

// Notify tells of new records, as store.Options.OnArrival hands them out; those of other topics are passed over. It does not block.
func (s *Service) Notify(batch []store.Arrival) {
	found := false
	for i := range batch {
		if a := &batch[i]; a.Topic == protocol.TopicTimer && a.QueueID == 0 {
			s.raiseTail(a.QueueOffset + 1)
			found = true
		}
	}
	if found && s.hungry.Load() {
		s.hungry.Store(false)
		s.kick()
	}
}

func (s *Service) raiseTail(to int64) {
	for old := s.tail.Load(); to > old; old = s.tail.Load() {
		if s.tail.CompareAndSwap(old, to) {
			return
		}
	}
}

func (s *Service) kick() {
	select {
	case s.wake <- struct{}{}:
	default:
	}
}

// Close stops and writes the files. A tick that was begun is finished, since the files know whole ticks only: Java would deliver all of
// it again. It may be called on a service that was not started.
func (s *Service) Close() error {
	s.finishTick()
	s.g.Close()
	if s.files == nil {
		return nil
	}
	err := s.saveAtEnd()
	s.files = nil
	return err
}

// finishTick lets the loop come to the end of its tick, if it can.
func (s *Service) finishTick() {
	if s.ended == nil || s.files == nil {
		return
	}
	close(s.stop)
	t := s.o.Clock.NewTimer(3 * s.o.Tick)
	defer t.Stop()
	select {
	case <-s.ended:
	case <-t.C():
	}
}

// loop works until the context ends, or stop is closed and the tick is finished.
func (s *Service) loop(ctx context.Context) {
	alarm := clock.NewAlarm(s.o.Clock)
	defer close(s.ended)
	defer alarm.Clear()
	defer s.landAll()
	stop := s.stop
	for ctx.Err() == nil && !(s.stopping && s.loader.read > s.flight.slot) {
		alarm.Clear()
		s.land()
		next, pending := s.step()
		var fire <-chan time.Time
		if pending {
			fire = alarm.Set(next)
		}
		select {
		case <-ctx.Done():
		case <-stop:
			s.stopping, stop = true, nil
		case <-s.wake:
		case <-fire:
		case l := <-s.flight.landings:
			s.landed(l)
		case snap := <-s.saves.done:
			s.saved(snap)
		}
	}
}

// step does what can be done now and returns when there is more to do.
func (s *Service) step() (next time.Time, pending bool) {
	now := s.observe()
	if now.Before(s.resume) && s.resume.Sub(now) <= maxPause {
		return s.resume, true
	}
	if err := s.work(now); err != nil {
		s.resume = s.backOff(err)
		return s.resume, true
	}
	s.pause = 0
	s.save(now)
	s.tell()
	return s.nextTime()
}

// tell updates the figures.
func (s *Service) tell() {
	s.stats.waiting.Store(s.files.Num())
	s.stats.read.Store(s.loader.read)
	s.stats.next.Store(s.put.next)
}

func (s *Service) work(now time.Time) error {
	if s.flight.crash != nil {
		if s.flight.outstanding > 0 {
			return nil
		}
		return s.rewindFlights()
	}
	if err := s.putIn(now); err != nil {
		return err
	}
	if s.put.caughtUp { // before that, nobody knows what was recalled
		if err := s.load(now); err != nil {
			return err
		}
		if err := s.deliver(now); err != nil {
			return err
		}
	}
	return s.expire(now)
}

func (s *Service) backOff(err error) time.Time {
	s.pause = min(max(2*s.pause, minPause), maxPause)
	s.o.Log.Limited(s.o.Clock, "timer-pause", 10*time.Second).
		Warnf("timed messages wait, next try in %v: %v", s.pause, err)
	return s.o.Clock.Now().Add(s.pause)
}

// observe reads the clock. When it went back the reader of the wheel goes back, too.
func (s *Service) observe() time.Time {
	now := s.o.Clock.Now()
	if step := now.Round(0).Sub(s.last.Round(0)); step < -minStep {
		s.o.Log.Warnf("the clock was set back by %v; timed messages are delivered by the new time", -step)
		s.goBack(now.UnixMilli())
	}
	s.last = now
	return now
}

// nextTime is when there is something to do again, at most a glance away. When nothing waits, the service is hungry: an arrival
// either sees that, or is seen here.
func (s *Service) nextTime() (next time.Time, pending bool) {
	now := s.o.Clock.Now()
	if s.unfinished() {
		return now, true
	}
	s.hungry.Store(true)
	if s.put.next < s.tail.Load() {
		s.hungry.Store(false)
		return now, true
	}
	pending = s.files.Used() != 0 || len(s.due) > 0 || s.saves.dirty()
	next = now.Add(glance)
	sooner := func(ms int64) {
		if t := time.UnixMilli(ms); t.Before(next) {
			next = t
		}
	}
	if len(s.due) > 0 && !s.flight.full() {
		sooner(s.due[0].exact)
	}
	if s.files.Used() != 0 && s.loader.room(len(s.due)) {
		sooner(s.loader.next - s.lead())
	}
	if s.saves.dirty() && s.saves.at.Before(next) {
		next = s.saves.at
	}
	return next, pending
}

// unfinished says that a limit, not a lack of work, ended the last step.
func (s *Service) unfinished() bool {
	if s.flight.full() || s.flight.crash != nil {
		return false // a landing wakes the loop
	}
	now := s.o.Clock.Now().UnixMilli()
	return s.put.next < min(s.tail.Load(), s.put.limit()) || len(s.loader.refs) > 0 ||
		len(s.due) > 0 && s.due[0].exact <= now || s.loader.next <= now+s.lead() && s.loader.room(len(s.due))
}

// expire lets go of log files that are no longer needed.
func (s *Service) expire(now time.Time) error {
	if s.o.MinPhys == nil || now.Sub(s.expired) < expireEvery && !now.Before(s.expired) {
		return nil
	}
	s.expired = now
	lost, err := s.files.Expire(s.o.MinPhys())
	if lost > 0 {
		s.stats.lost.Add(int64(lost))
		s.o.Log.Errorf("%d timed messages were deleted with the files of the log before they were due: fileReservedTime is too short or the disk too full", lost)
	}
	return err
}
