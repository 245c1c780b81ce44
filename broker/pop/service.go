package pop

import (
	"context"
	"errors"
	"net/netip"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"github.com/seedmq/seedmq/broker/offset"
	"github.com/seedmq/seedmq/conf/clock"
	"github.com/seedmq/seedmq/conf/run"
	"github.com/seedmq/seedmq/conf/xlog"
	"github.com/seedmq/seedmq/store"
	"github.com/seedmq/seedmq/store/configfile"
	"github.com/seedmq/seedmq/store/fs"
)

// Java's defaults of the keys of the same names.
const (
	ahead      = 3_000   // popCkStayBufferTimeOut: a check point is stored so long before its time is over
	bufferSize = 200_000 // popCkMaxBufferSize: or at once when there are more
)

const (
	scanEvery = 100 * time.Millisecond
	// recordsAtOnce bounds one append of the scan and of the reviver.
	recordsAtOnce = 1000
	logEvery      = 10 * time.Second
	// startSlackMs: handles whose pop time is so short after a start may be of the time before.
	startSlackMs = 1000
	// ackIntervalMs is by how much a check point's record comes before its acks: Java's ackTimeInterval.
	ackIntervalMs = 1000
)

// Errors of requests.
var (
	// ErrUnknown: a receipt handle of a check point that was never there.
	ErrUnknown = errors.New("pop: no such check point")
	// ErrOffset: an ordered consumer acknowledges what it did not pop.
	ErrOffset = errors.New("pop: offset is illegal")
)

// Source is what the service reads of a store.
type Source interface {
	Get(r *store.GetRequest, dst []byte) ([]byte, store.GetResult)
	QueueRange(topic string, queueID int32) (lo, end int64, ok bool)
}

// Sink takes records: a batch of a store. It belongs to one goroutine at a time.
type Sink interface {
	Reset()
	Add(m *store.Message) error
	// Append writes what was added, all or nothing, and returns the position that must be safe.
	Append() (end int64, err error)
}

// Options are what a service is made of.
type Options struct {
	Source  Source
	NewSink func() Sink
	// AwaitSafe calls done once everything before end is as safe as the flush mode asks.
	AwaitSafe func(end int64, done func(error))
	Offsets   *offset.Table
	FS        fs.FS
	// Dir is the journal's folder, OrderPath that of consumerOrderInfo.json.
	Dir, OrderPath string
	Clock          clock.Clock
	Log            *xlog.Logger
	// Broker is the broker's name, as in handles; ReviveTopic and ReviveQueues are where records go.
	Broker       string
	ReviveTopic  string
	ReviveQueues int32
	// TickMs is the timer's precision.
	TickMs int64
	// Self is the address in records.
	Self func() netip.AddrPort
	// HasTopic and HasGroup say what is still there.
	HasTopic, HasGroup func(name string) bool
	// Retry says where a message of c goes that was delivered times often: its retry topic, or the dead letters. The topic is made.
	Retry func(c *Checkpoint, times int32) (topic string, err error)
	// TimerBehind is by how much the timer is late.
	TimerBehind func() time.Duration
	// Tuning is what an operator may change at any time.
	Tuning func() Tuning
	// Revived is told of messages that came back.
	Revived func(topic string, size int)
	// Released is told of queues that somebody may take from again, who could not before. Nothing is locked.
	Released func(topic, group string, queueID int32)
}

// Tuning is what an operator may change at any time.
type Tuning struct {
	// StayMs is popCkStayBufferTime: how old a check point is when it is stored. What was popped before a change keeps its time unless it
	// is looked at anyway.
	StayMs int64
	// InFlight is popInflightMessageThreshold: with more open messages a group takes no more of a queue. Below 0: no limit.
	InFlight int64
}

// Service keeps the check points of a broker.
type Service struct {
	o     Options
	table table
	nums  atomic.Uint64 // of queues in the journal
	held  atomic.Int64  // check points that are not stored
	turns sync.Pool

	journal  journal
	fromHere int64 // ms: check points that were made since are known, all of them
	orders   *configfile.Writer
	group    *run.Group
	kick     chan struct{}
	revivers []*reviver
	sweeping sweeping

	mu     sync.Mutex
	active []*queue // with check points
}

// New returns a service that stands still. Load and Start make it work.
func New(o Options) *Service {
	s := &Service{o: o, group: run.NewGroup(), kick: make(chan struct{}, 1)}
	s.journal = journal{fs: o.FS, dir: o.Dir}
	s.turns.New = func() any { return &Turn{s: s, sink: o.NewSink()} }
	s.orders = configfile.NewWriter(o.FS, o.OrderPath, s.orderTable)
	for i := range max(1, o.ReviveQueues) {
		s.revivers = append(s.revivers, newReviver(s, i))
	}
	return s
}

// Load reads consumerOrderInfo.json and the journal, and begins a new journal.
func (s *Service) Load() error {
	r, last, err := s.journal.replay(s.o.Broker)
	if errors.Is(err, errJournal) {
		s.o.Log.Errorf("what was popped is taken from the log: %v", err)
	} else if err != nil {
		return err
	}
	s.nums.Store(r.last)
	if err := s.loadOrders(); err != nil {
		return err
	}
	s.fromHere = clock.Millis(s.o.Clock) + startSlackMs
	if r.found {
		s.fromHere = r.since
		s.adopt(r)
	}
	for _, v := range s.revivers {
		v.load(r.revived)
	}
	if !r.found && len(s.table.all(nil)) == 0 {
		s.journal.wait(last+1, s.fromHere)
		return nil
	}
	return s.rotate(last + 1)
}

// adopt takes over what the journal says, as far as the log has it.
func (s *Service) adopt(r *replayed) {
	points := 0
	for _, q := range r.queues {
		if old := s.table.get(q.key); old != nil && q.order == nil {
			q.order = old.order
		}
		_, end, _ := s.o.Source.QueueRange(q.key.topic, q.key.id)
		s.clamp(q, end)
		points += len(q.points)
		sh := s.table.shard(q.key)
		sh.mu.Lock()
		if sh.m == nil {
			sh.m = map[queueKey]*queue{}
		}
		sh.m[q.key] = q
		sh.mu.Unlock()
		reached, moved := q.advanceLocked()
		if len(q.list) > 0 {
			q.due = 1 // the next scan sees which are due
			reached, moved = q.list[0].StartOffset, true
		} else if q.known {
			reached, moved = q.next, true
		}
		if off, ok := r.offsets[q]; ok {
			reached, moved = off, true
		}
		if moved {
			s.o.Offsets.Commit(q.offsetKey(), min(reached, end), offset.Origin{})
		}
		s.activate(q)
	}
	if points > 0 {
		s.o.Log.Infof("after an unclean stop: %d check points of popped messages go on where they stood", points)
	}
}

// clamp forgets what the log does not have any more: after a power failure it may be behind the journal.
func (s *Service) clamp(q *queue, end int64) {
	q.next = min(q.next, end)
	for _, p := range q.points {
		p.next = min(p.next, end)
		for i := range int(p.Count) {
			if p.offset(i) >= end {
				q.setLocked(p, 1<<i)
			}
		}
		if p.finished() && p.state == held && !p.tried {
			q.dropLocked(p)
			continue
		}
		if p.state != stored {
			s.held.Add(1)
		} else if p.Bits != p.written {
			p.dirty = true
			q.acked = append(q.acked, p)
		}
	}
}

// Start begins to store, revive and clean up.
func (s *Service) Start() error {
	return errors.Join(
		s.group.Go("pop-scan", func(ctx context.Context) { s.every(ctx, scanEvery, s.kick, func() { s.Scan() }) }),
		s.group.Go("pop-revive", func(ctx context.Context) { s.every(ctx, reviveEvery, nil, s.Revive) }))
}

func (s *Service) every(ctx context.Context, period time.Duration, kick <-chan struct{}, fn func()) {
	t := s.o.Clock.NewTimer(period)
	defer t.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-kick:
		case <-t.C():
		}
		fn()
		t.Reset(period)
	}
}

// Close stores everything that is in memory, so that any broker finds it, and deletes the journal. Nobody may call the service at the
// same time or later.
func (s *Service) Close() error {
	s.group.Close()
	err := s.storeAll()
	if err == nil {
		err = s.o.Offsets.Save() // before the journal goes: a kill now must not bring older ones back
	}
	return errors.Join(err, s.Save(), s.journal.close(err == nil))
}

// Save writes consumerOrderInfo.json when it changed.
func (s *Service) Save() error { return s.orders.Flush() }

func newQueue(k queueKey, num uint64) *queue {
	return &queue{key: k, mark: MarkOf(k.topic), num: num, points: map[pointID]*point{}}
}

// lock returns the queue's state with its lock held, nil when there is none.
func (s *Service) lock(k queueKey) *queue {
	for {
		q := s.table.get(k)
		if q == nil {
			return nil
		}
		if q.mu.Lock(); !q.dead {
			return q
		}
		q.mu.Unlock()
	}
}

// lockFor returns the queue's state with its lock held, made when there is none.
func (s *Service) lockFor(topic, group string, id int32) *queue {
	k := queueKey{topic, group, id}
	for {
		if q := s.lock(k); q != nil {
			return q
		}
		s.newQueue(k)
	}
}

func (s *Service) newQueue(k queueKey) {
	topic, group := k.topic, k.group
	k.topic, k.group = string([]byte(topic)), string([]byte(group))
	q := s.table.put(newQueue(k, s.nums.Add(1)))
	var e entries
	e.queue(q)
	s.note(&e)
}

// note writes to the journal. A journal that cannot be written costs no request: what it would have kept is popped again after a kill.
func (s *Service) note(e *entries) {
	if err := s.journal.write(e.b); err != nil {
		s.o.Log.Limited(s.o.Clock, "journal", logEvery).Errorf("after a kill, what is acknowledged now may be delivered again: %v", err)
	}
	e.b = e.b[:0]
}

// activate puts q on the list of queues that the scan looks at.
func (s *Service) activate(q *queue) {
	q.mu.Lock()
	again := q.active || len(q.points) == 0
	q.active = q.active || !again
	q.mu.Unlock()
	if again {
		return
	}
	s.mu.Lock()
	s.active = append(s.active, q)
	s.mu.Unlock()
}

// rotate begins journal file no with the state of everything, and removes the older ones.
func (s *Service) rotate(no int) error {
	if err := s.journal.open(no, s.fromHere); err != nil {
		return err
	}
	var e entries
	for _, q := range s.table.all(nil) {
		q.mu.Lock()
		e.queue(q)
		s.snapshotLocked(&e, q)
		q.mu.Unlock()
		if err := s.journal.write(e.b); err != nil {
			return err
		}
		e.b = e.b[:0]
	}
	for _, r := range s.revivers {
		e.revived(r.id, r.done.Load())
	}
	err := s.journal.write(e.b)
	s.journal.settle()
	return errors.Join(err, s.journal.remove(no))
}

func (s *Service) snapshotLocked(e *entries, q *queue) {
	for _, p := range q.list {
		if !p.gone {
			e.point(q, p)
		}
	}
	for _, p := range q.points {
		if !p.listed {
			e.point(q, p)
		}
	}
	if q.known {
		e.next(q, q.next)
	}
	if q.order != nil {
		at, _ := s.o.Offsets.Query(q.offsetKey())
		e.order(q, at, encodeOrder(q.order))
	}
}

// Forget drops all state of the queues of a topic, or of a group, that is gone.
func (s *Service) Forget(topic, group string) {
	var e entries
	for _, q := range s.table.all(func(k queueKey) bool {
		return topic != "" && k.topic == topic || group != "" && k.group == group
	}) {
		q.mu.Lock()
		s.countDropped(q)
		q.forgetLocked(false)
		e.forget(q)
		q.mu.Unlock()
	}
	s.note(&e)
}

func (s *Service) countDropped(q *queue) {
	for _, p := range q.points {
		if p.state != stored {
			s.held.Add(-1)
		}
	}
}

// JournalDir is where the journal lives under a store's root.
func JournalDir(root string) string { return filepath.Join(root, "popjournal") }
