package stats

import (
	"sync"
	"sync/atomic"
	"time"

	"github.com/seedmq/seedmq/remoting/protocol"
)

// window is a kind of sampling. Its numbers are Java's.
type window struct {
	every time.Duration
	keep  int
}

var (
	minute = window{10 * time.Second, 7}
	hour   = window{10 * time.Minute, 7}
	day    = window{time.Hour, 25}
)

// point is one sample of a meter.
type point struct {
	at, value, times int64 // at in ms
}

// Meter counts one figure of one topic or group: a value, and how often something was added to it.
type Meter struct {
	value, times atomic.Int64

	mu                sync.Mutex
	minute, hour, day []point
}

// Add adds v in times steps.
func (m *Meter) Add(v, times int64) {
	m.value.Add(v)
	m.times.Add(times)
}

// Value is the sum of all that was added.
func (m *Meter) Value() int64 { return m.value.Load() }

// sample takes the samples that are due; a meter that never counted takes none and needs no memory.
func (m *Meter) sample(atMs int64, withHour, withDay bool) {
	p := point{atMs, m.value.Load(), m.times.Load()}
	if p.times == 0 {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.minute = minute.push(m.minute, p)
	if withHour {
		m.hour = hour.push(m.hour, p)
	}
	if withDay {
		m.day = day.push(m.day, p)
	}
}

// push appends a sample; the first one is preceded by a zero of one step before, so that what came until then counts.
func (w window) push(ps []point, p point) []point {
	if len(ps) == 0 {
		ps = append(ps, point{at: p.at - w.every.Milliseconds()})
	}
	if len(ps) >= w.keep {
		copy(ps, ps[1:])
		ps = ps[:len(ps)-1]
	}
	return append(ps, p)
}

// Data are the figures over the three windows, as VIEW_BROKER_STATS_DATA reports them.
func (m *Meter) Data() protocol.BrokerStatsData {
	m.mu.Lock()
	defer m.mu.Unlock()
	return protocol.BrokerStatsData{StatsMinute: figures(m.minute), StatsHour: figures(m.hour), StatsDay: figures(m.day)}
}

func figures(ps []point) (f protocol.BrokerStatsItem) {
	if len(ps) == 0 {
		return f
	}
	first, last := ps[0], ps[len(ps)-1]
	f.Sum = last.value - first.value
	if ms := last.at - first.at; ms > 0 {
		f.TPS = float64(f.Sum) * 1000 / float64(ms)
	}
	if n := last.times - first.times; n > 0 {
		f.AvgPerTime = float64(f.Sum) / float64(n)
	}
	return f
}
