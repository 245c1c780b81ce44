package bench

import (
	"sync"
	"sync/atomic"
	"time"

	"github.com/seedmq/seedmq/remoting/protocol"
)

// lane is what one worker counts: only that worker writes it, so counting costs no shared cache line.
type lane struct {
	messages atomic.Int64 // done: acknowledged, or received
	bytes    atomic.Int64 // of their bodies (send) or records (consume)
	hist     histogram
}

// meter adds up lanes, and counts errors by code.
type meter struct {
	lanes []*lane

	errors struct {
		sync.Mutex
		byCode map[errorKey]*errorCount
		total  int64
	}
}

// errorKey tells kinds of errors apart: a broker's refusals by code, and what happened here by text.
type errorKey struct {
	code protocol.ResponseCode
	text string
}

// errorCount is how often a kind of error happened, and what the first one said.
type errorCount struct {
	n     int64
	first string
}

func newMeter(lanes int) *meter {
	m := &meter{lanes: make([]*lane, lanes)}
	for i := range m.lanes {
		m.lanes[i] = new(lane)
	}
	m.errors.byCode = map[errorKey]*errorCount{}
	return m
}

// refused counts a broker's refusal.
func (m *meter) refused(r *reply) {
	m.count(errorKey{code: r.code}, 1, r.remark)
}

// broken counts n things that went wrong on this side: connections, missing answers.
func (m *meter) broken(kind string, n int64, detail string) {
	m.count(errorKey{code: -1, text: kind}, n, func() string { return detail })
}

func (m *meter) count(key errorKey, n int64, first func() string) {
	m.errors.Lock()
	defer m.errors.Unlock()
	e := m.errors.byCode[key]
	if e == nil {
		e = &errorCount{first: first()}
		m.errors.byCode[key] = e
	}
	e.n += n
	m.errors.total += n
}

func (m *meter) errorTotal() int64 {
	m.errors.Lock()
	defer m.errors.Unlock()
	return m.errors.total
}

// snapshot is all counters at a moment.
type snapshot struct {
	at              time.Time
	messages, bytes int64
	errors          int64
	latency         counts
}

func (m *meter) snapshot(now time.Time) *snapshot {
	s := &snapshot{at: now, errors: m.errorTotal()}
	for _, l := range m.lanes {
		s.messages += l.messages.Load()
		s.bytes += l.bytes.Load()
		s.latency.add(&l.hist)
	}
	return s
}

// since is what happened from before to s.
func (s *snapshot) since(before *snapshot) (d *snapshot, seconds float64) {
	d = &snapshot{at: s.at, messages: s.messages - before.messages, bytes: s.bytes - before.bytes, errors: s.errors - before.errors}
	d.latency = *s.latency.since(&before.latency)
	return d, max(s.at.Sub(before.at).Seconds(), 1e-9)
}
