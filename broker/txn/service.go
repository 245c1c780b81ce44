package txn

import (
	"context"
	"net/netip"
	"sync"
	"time"

	"github.com/seedmq/seedmq/conf/clock"
	"github.com/seedmq/seedmq/conf/run"
	"github.com/seedmq/seedmq/conf/xlog"
	"github.com/seedmq/seedmq/remoting/protocol"
	"github.com/seedmq/seedmq/store"
)

// Source reads the two topics. *store.Store is one.
type Source interface {
	QueueRange(topic string, queueID int32) (min, max int64, ok bool)
	QueueUnits(topic string, queueID int32, offset int64, max int) ([]store.QueueUnit, error)
	// Record appends the record at phys to dst.
	Record(phys int64, dst []byte) ([]byte, error)
	Queues(topic string) []int32
}

// Batch collects messages and appends them together. It belongs to one goroutine. See StoreBatch.
type Batch interface {
	Reset()
	Len() int
	// Add takes one more message and keeps nothing of m. An error means that this message can never be stored.
	Add(m *store.Message) error
	// Append writes all that was added, in order, or nothing when it returns an error.
	Append() error
	Result(i int) store.AppendResult
	End() int64
}

// Progress keeps the queue offsets of CID_RMQ_SYS_TRANS.
type Progress interface {
	Query(topic string, queueID int32) (int64, bool)
	Commit(topic string, queueID int32, offset int64)
}

// Settings are what may change while running.
type Settings struct {
	// Timeout is the age of a half message before its producer is asked (transactionTimeOut).
	Timeout time.Duration
	// Interval is the least time between two rounds of checks (transactionCheckInterval).
	Interval time.Duration
	// MaxChecks is how often a producer is asked before the message is given up (transactionCheckMax).
	MaxChecks int
	// Reserved is the age at which a half message is given up at its next check (fileReservedTime).
	Reserved time.Duration
	// OpSize bounds the body of an op message, but for its last mark (transactionOpMsgMaxSize).
	OpSize int
}

// Options are what a Service is made of. All fields but Flushed, Route and Ended must be set.
type Options struct {
	Source   Source
	NewBatch func() Batch
	Progress Progress
	Settings func() Settings
	Clock    clock.Clock
	Log      *xlog.Logger
	// Ask sends a check to a producer of the group; it must not block and keep nothing of h but its strings and body. at is where the
	// record now is.
	Ask func(h *Half, at store.AppendResult)
	// Host is this broker's address.
	Host func() netip.AddrPort
	// Flushed is the log position up to which the disk has everything: progress that rests on later records is not published. Nil:
	// everything counts.
	Flushed func() int64
	// Mended are the parts of the log that were lost. Nil: none.
	Mended func() []store.LogRange
	// Route is the queue that a message to topic and queue goes to now: another one when the topic has shrunk. May be nil.
	Route func(topic string, queueID int32) int32
	// Stored is told of each message that was committed. It must not block. May be nil.
	Stored func(m *store.Message, r store.AppendResult)
}

// Service keeps track of transactions. Create with New, then Start, then Close. Notify may be called before Start.
type Service struct {
	o    Options
	g    *run.Group
	wake chan struct{}

	batches sync.Pool // Batch
	works   sync.Pool // *endWork

	mu struct {
		sync.Mutex
		freed   sync.Cond // a claim was given up
		queues  map[int32]*queue
		recent  recent
		end     int64 // log position after our last append
		held    *snapshot
		started bool
		idle    bool   // the loop sleeps until a half message comes
		asked   []want // checks asked for by an operator
	}

	lastRound time.Time // of checks; the loop's
	rounds    bool      // there was one
	resume    time.Time // end of the pause after an error; the loop's
}

// want is a half message that is to be checked now.
type want struct {
	queueID      int32
	offset, root int64
}

// New returns a service that stands still.
func New(o Options) *Service {
	s := &Service{o: o, g: run.NewGroup(), wake: make(chan struct{}, 1)}
	s.mu.freed.L = &s.mu.Mutex
	s.mu.queues = map[int32]*queue{}
	s.batches.New = func() any { return o.NewBatch() }
	s.works.New = func() any { return &endWork{batch: o.NewBatch()} }
	return s
}

// Start reads what is open and begins to check. Notify must be wired before, or arrivals in between may be missed.
func (s *Service) Start() error {
	if err := s.load(); err != nil {
		return err
	}
	s.mu.Lock()
	s.mu.started = true
	for _, q := range s.mu.queues {
		if q.head < q.tail { // the producers need a moment to come back
			s.lastRound, s.rounds = s.o.Clock.Now(), true
		}
	}
	s.mu.Unlock()
	return s.g.Go("transactions", s.loop)
}

// Close stops checking and publishes the progress; the store is to be flushed before the progress is saved. It may be called on a
// service that was not started.
func (s *Service) Close() {
	s.g.Close()
	s.mu.Lock()
	started := s.mu.started
	s.mu.started = false
	s.mu.Unlock()
	if started {
		s.publish(true)
	}
}

// Notify tells of new units, as store.Options.OnArrival hands them out; those of other topics are passed over. It does not block.
func (s *Service) Notify(batch []store.Arrival) {
	wake := false
	for i := range batch {
		a := &batch[i]
		if a.Topic != protocol.TopicHalf {
			continue
		}
		s.mu.Lock()
		if s.mu.started {
			q := s.queueLocked(a.QueueID)
			q.tail = max(q.tail, a.QueueOffset+1)
			if s.mu.idle {
				s.mu.idle, wake = false, true
			}
		}
		s.mu.Unlock()
	}
	if wake {
		s.kick()
	}
}

// queueLocked is the state of a half queue, made when it is new.
func (s *Service) queueLocked(id int32) *queue {
	q := s.mu.queues[id]
	if q == nil {
		head, _, _ := s.o.Source.QueueRange(protocol.TopicHalf, id)
		op, _, _ := s.o.Source.QueueRange(protocol.TopicOpHalf, id)
		q = newQueue(id, head, head, op)
		s.mu.queues[id] = q
	}
	return q
}

func (s *Service) kick() {
	select {
	case s.wake <- struct{}{}:
	default:
	}
}

// SettingsChanged has the loop look at the settings again.
func (s *Service) SettingsChanged() { s.kick() }

// Open is the number of half messages that are neither committed nor rolled back.
func (s *Service) Open() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := 0
	for _, q := range s.mu.queues {
		for at, ok := q.nextOpen(q.head, q.tail); ok; at, ok = q.nextOpen(at+1, q.tail) {
			n++
		}
	}
	return n
}

// CheckNow asks the producer of an open transaction now, whatever its age; h is any of its records. It says whether the
// transaction is open.
func (s *Service) CheckNow(rec []byte) (bool, error) {
	h, err := decodeHalf(rec)
	if err != nil {
		return false, err
	}
	s.mu.Lock()
	q := s.mu.queues[h.QueueID]
	open := false
	if q != nil {
		_, open = q.current(h.QueueOffset, h.Root)
	}
	if open {
		s.mu.asked = append(s.mu.asked, want{h.QueueID, h.QueueOffset, h.Root})
	}
	s.mu.Unlock()
	if open {
		s.kick()
	}
	return open, nil
}

// loop checks until the context ends.
func (s *Service) loop(ctx context.Context) {
	alarm := clock.NewAlarm(s.o.Clock)
	defer alarm.Clear()
	for ctx.Err() == nil {
		alarm.Clear()
		next, pending := s.step(ctx)
		var fire <-chan time.Time
		if pending {
			fire = alarm.Set(next)
		}
		select {
		case <-ctx.Done():
		case <-s.wake:
		case <-fire:
		}
	}
}
