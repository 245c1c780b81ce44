package stats

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// Start begins to sample.
func (s *Stats) Start() error { return s.g.Go("stats", s.loop) }

// Close ends sampling. The figures stay readable.
func (s *Stats) Close() { s.g.Close() }

func (s *Stats) loop(ctx context.Context) {
	timer := s.o.Clock.NewTimer(minute.every)
	defer timer.Stop()
	for tick := 1; ; tick++ {
		select {
		case <-ctx.Done():
			return
		case <-timer.C():
		}
		s.sample(s.o.Clock.Now(), tick)
		timer.Reset(minute.every)
	}
}

// sample is the work of one tick of 10 s.
func (s *Stats) sample(now time.Time, tick int) {
	ms := now.UnixMilli()
	withHour := tick%int(hour.every/minute.every) == 0
	withDay := tick%int(day.every/minute.every) == 0
	for _, m := range s.meters() {
		m.sample(ms, withHour, withDay)
	}
	if tick%latencyTicks == 0 {
		s.puts.latency.roll()
	}
	s.rates.note(s.counters(ms))
	s.days.roll(now, s.put.Value(), s.get.Value())
}

func (s *Stats) meters() []*Meter {
	s.mu.RLock()
	defer s.mu.RUnlock()
	list := make([]*Meter, 0, 4+2*len(s.mu.topics)+4*len(s.mu.groups))
	list = append(list, &s.put, &s.get, &s.putUser, &s.getUser)
	for _, t := range s.mu.topics {
		list = append(list, &t.Nums, &t.Size)
	}
	for _, g := range s.mu.groups {
		list = append(list, &g.Nums, &g.Size, &g.SendBack, &g.DLQ)
	}
	return list
}

// counters are the broker's totals at one time.
type counters struct {
	at                           int64 // ms
	put, found, miss, transfered int64
}

func (s *Stats) counters(ms int64) counters {
	return counters{at: ms, put: s.put.Value(), found: s.found.Load(), miss: s.miss.Load(), transfered: s.get.Value()}
}

// rates keeps the totals of the last 10 minutes.
type rates struct {
	mu   sync.Mutex
	ring []counters
}

const ratesKept = 61 // 600 s in steps of 10 s

func (r *rates) note(c counters) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.ring) == ratesKept {
		copy(r.ring, r.ring[1:])
		r.ring = r.ring[:ratesKept-1]
	}
	r.ring = append(r.ring, c)
}

// Rates are messages or calls per second over the last 10 s, 60 s and 600 s, or as much of that as there is.
type Rates struct{ Put, Found, Miss, Total, Transferred [3]float64 }

// Text is a rate as GET_BROKER_RUNTIME_INFO has it.
func Text(r [3]float64) string {
	return fmt.Sprintf("%s %s %s", javaDouble(r[0]), javaDouble(r[1]), javaDouble(r[2]))
}

// javaDouble prints a number as Java's Double.toString does for what can come up here.
func javaDouble(v float64) string {
	t := strconv.FormatFloat(v, 'f', -1, 64)
	if !strings.Contains(t, ".") {
		t += ".0"
	}
	return t
}

// Rates as of the last sample.
func (s *Stats) Rates() Rates {
	r := &s.rates
	r.mu.Lock()
	defer r.mu.Unlock()
	var out Rates
	last := r.ring[len(r.ring)-1]
	for i, steps := range []int{1, 6, 60} {
		from := r.ring[max(0, len(r.ring)-1-steps)]
		per := func(a, b int64) float64 {
			if last.at <= from.at {
				return 0
			}
			return float64(b-a) * 1000 / float64(last.at-from.at)
		}
		out.Put[i] = per(from.put, last.put)
		out.Found[i] = per(from.found, last.found)
		out.Miss[i] = per(from.miss, last.miss)
		out.Total[i] = out.Found[i] + out.Miss[i]
		out.Transferred[i] = per(from.transfered, last.transfered)
	}
	return out
}

// Totals are counted since start, at the last two midnights (local time) and now.
type Totals struct {
	PutYesterdayMorning, PutTodayMorning, PutNow int64
	GetYesterdayMorning, GetTodayMorning, GetNow int64
	PutFailed                                    int64
}

// Totals as of now.
func (s *Stats) Totals() Totals {
	s.days.mu.Lock()
	defer s.days.mu.Unlock()
	t := s.days.t
	t.PutNow, t.GetNow, t.PutFailed = s.put.Value(), s.get.Value(), s.failed.Load()
	return t
}

// days notes the totals at midnight.
type days struct {
	mu   sync.Mutex
	date int // yyyymmdd of the running day
	t    Totals
}

func (d *days) roll(now time.Time, put, get int64) {
	y, m, day := now.Date()
	date := (y*100+int(m))*100 + day
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.date != 0 && date != d.date {
		d.t.PutYesterdayMorning, d.t.GetYesterdayMorning = d.t.PutTodayMorning, d.t.GetTodayMorning
		d.t.PutTodayMorning, d.t.GetTodayMorning = put, get
	}
	d.date = date
}

// putTimes counts how long stores took, in Java's classes.
type putTimes struct {
	classes [len(putClasses) + 1]atomic.Int64
	longest atomic.Int64 // ns
	latency latencies
}

// putClasses are upper bounds; the names are those of Java's putMessageDistributeTime.
var putClasses = [...]struct {
	below time.Duration
	name  string
}{
	{time.Millisecond, "<=0ms"}, {10 * time.Millisecond, "0~10ms"}, {50 * time.Millisecond, "10~50ms"},
	{100 * time.Millisecond, "50~100ms"}, {200 * time.Millisecond, "100~200ms"}, {500 * time.Millisecond, "200~500ms"},
	{time.Second, "500ms~1s"}, {2 * time.Second, "1~2s"}, {3 * time.Second, "2~3s"}, {4 * time.Second, "3~4s"},
	{5 * time.Second, "4~5s"}, {10 * time.Second, "5~10s"},
}

// AddPutTime counts that n messages took d to be stored.
func (s *Stats) AddPutTime(d time.Duration, n int64) {
	i := 0
	for i < len(putClasses) && d >= putClasses[i].below {
		i++
	}
	s.puts.classes[i].Add(n)
	s.puts.latency.add(d, n)
	for old := s.puts.longest.Load(); int64(d) > old; old = s.puts.longest.Load() {
		if s.puts.longest.CompareAndSwap(old, int64(d)) {
			return
		}
	}
}

// PutTimes is the text of putMessageDistributeTime, and the longest time.
func (s *Stats) PutTimes() (string, time.Duration) {
	var b strings.Builder
	for i := range s.puts.classes {
		name := "10s~"
		if i < len(putClasses) {
			name = putClasses[i].name
		}
		fmt.Fprintf(&b, "[%s]:%d ", name, s.puts.classes[i].Load())
	}
	return b.String(), time.Duration(s.puts.longest.Load())
}
