package timer

import (
	"errors"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/seedmq/seedmq/conf/clock"
	"github.com/seedmq/seedmq/conf/xlog"
	"github.com/seedmq/seedmq/remoting/protocol"
	"github.com/seedmq/seedmq/store/configfile"
	"github.com/seedmq/seedmq/store/fs"
)

// figures are what the service tells of itself. Safe for concurrent use.
type figures struct {
	enqueued, dequeued, recalled, lost atomic.Int64
	waiting, read, next                atomic.Int64

	clk  clock.Clock
	file *configfile.Writer
	mu   struct {
		sync.Mutex
		version protocol.DataVersion
		topics  map[string]*metric
		check   protocol.TimerCheckpoint
		rates   [2]rate // enqueued, dequeued
	}
}

// rate is a count of the recent past.
type rate struct {
	at   time.Time
	n    int64
	last float64
}

// rateSpan is over how long rates are taken, at least.
const rateSpan = time.Second

func (f *figures) init(disk fs.FS, root string, clk clock.Clock) {
	f.clk = clk
	f.mu.topics = map[string]*metric{}
	f.file = configfile.NewWriter(disk, filepath.Join(root, "config", "timermetrics"), func() any { return f.metrics() })
}

// load reads timermetrics. Damage only costs the figures.
func (f *figures) load(log *xlog.Logger) error {
	var m protocol.TimerMetrics
	if _, err := f.file.Load(&m); errors.Is(err, configfile.ErrCorrupt) {
		log.Errorf("figures of timed messages: %v", err)
		return nil
	} else if err != nil {
		return err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.mu.version = m.DataVersion
	for topic, c := range m.TimingCount {
		f.entry(topic).TimerMetric = c
	}
	return nil
}

func (f *figures) save() error { return f.file.Save() }

// count changes how many messages of a topic wait.
func (f *figures) count(topic string, by int64) {
	f.mu.Lock()
	defer f.mu.Unlock()
	m := f.entry(topic)
	m.Count = max(m.Count+by, 0) // after a kill the file may be behind
	m.Timestamp = f.clk.Now().UnixMilli()
	f.mu.version.Counter++
	f.mu.version.Timestamp = m.Timestamp
}

func (f *figures) metrics() protocol.TimerMetrics {
	f.mu.Lock()
	defer f.mu.Unlock()
	m := protocol.TimerMetrics{DataVersion: f.mu.version, TimingCount: make(map[string]protocol.TimerMetric, len(f.mu.topics))}
	for topic, c := range f.mu.topics {
		m.TimingCount[topic] = c.TimerMetric
	}
	return m
}

func (f *figures) publish(c protocol.TimerCheckpoint) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.mu.check = c
}

// Metrics is how many messages of each topic wait: the body of GET_TIMER_METRICS, and timermetrics.
func (s *Service) Metrics() protocol.TimerMetrics { return s.stats.metrics() }

// Checkpoint is the check point that was written last: the body of GET_TIMER_CHECK_POINT.
func (s *Service) Checkpoint() protocol.TimerCheckpoint {
	s.stats.mu.Lock()
	defer s.stats.mu.Unlock()
	return s.stats.mu.check
}

// Figures are the service's state for the runtime information.
type Figures struct {
	// Behind is by how much the oldest message that should be delivered is late, or the reader of the wheel when nothing waits.
	Behind time.Duration
	// OffsetBehind is how many records of the timer topic were not put in yet.
	OffsetBehind int64
	// Waiting is how many messages are in the wheel.
	Waiting int64
	// Enqueued, Dequeued, Recalled and Lost count messages since the start; the rates are per second.
	Enqueued, Dequeued, Recalled, Lost int64
	EnqueueRate, DequeueRate           float64
}

// Figures takes a snapshot.
func (s *Service) Figures() Figures {
	f := &s.stats
	now := s.o.Clock.Now()
	out := Figures{OffsetBehind: max(s.tail.Load()-f.next.Load(), 0), Waiting: max(f.waiting.Load(), 0),
		Enqueued: f.enqueued.Load(), Dequeued: f.dequeued.Load(), Recalled: f.recalled.Load(), Lost: f.lost.Load()}
	if late := now.UnixMilli() - f.read.Load() - s.tick; f.waiting.Load() > 0 || out.OffsetBehind > 0 {
		out.Behind = time.Duration(max(late, 0)) * time.Millisecond
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	out.EnqueueRate = f.mu.rates[0].per(now, out.Enqueued)
	out.DequeueRate = f.mu.rates[1].per(now, out.Dequeued)
	return out
}

// per is the rate since it was taken last.
func (r *rate) per(now time.Time, n int64) float64 {
	if d := now.Sub(r.at); d >= rateSpan || d < 0 {
		if !r.at.IsZero() && d > 0 {
			r.last = float64(n-r.n) / d.Seconds()
		}
		r.at, r.n = now, n
	}
	return r.last
}

// name is topic as a string that may be kept.
func (f *figures) name(topic string) string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.entry(topic).name
}

// entry returns the entry of a topic, made if it is new. The caller holds the lock.
func (f *figures) entry(topic string) *metric {
	m := f.mu.topics[topic]
	if m == nil {
		m = &metric{name: strings.Clone(topic)}
		f.mu.topics[m.name] = m
	}
	return m
}

// metric is the entry of a topic.
type metric struct {
	name string
	protocol.TimerMetric
}
