package stats

import (
	"fmt"
	"math"
	"sync"
	"testing"
	"time"

	"github.com/seedmq/seedmq/conf/clock"
)

// rig samples by hand.
type rig struct {
	*Stats
	clk   *clock.Fake
	ticks *int
}

func start(t *testing.T) rig {
	t.Helper()
	clk := clock.NewFake(time.Date(2026, 1, 5, 22, 0, 0, 0, time.Local))
	return rig{New(Options{Cluster: "C", Clock: clk}), clk, new(int)}
}

// tick lets n sampling steps of 10 s go by.
func (r rig) tick(n int) {
	for range n {
		r.clk.Advance(10 * time.Second)
		*r.ticks++
		r.sample(r.clk.Now(), *r.ticks)
	}
}

func TestSamplesOnTheClock(t *testing.T) {
	r := start(t)
	if err := r.Start(); err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	r.AddPut(r.Topic("T"), 1, 1)
	deadline := time.Now().Add(10 * time.Second)
	for {
		if d, ok := r.View(TopicPutNums, "T"); ok && d.StatsMinute.Sum == 1 {
			return
		}
		if time.Now().After(deadline) {
			t.Fatal("nothing is sampled")
		}
		r.clk.Advance(time.Second)
		time.Sleep(50 * time.Microsecond)
	}
}

func near(a, b float64) bool { return math.Abs(a-b) < 1e-9 }

func TestWindows(t *testing.T) {
	r := start(t)
	item := r.Topic("T")
	if _, ok := r.View(TopicPutNums, "T"); ok {
		t.Fatal("a topic that nothing was put to has figures")
	}
	r.AddPut(item, 30, 3000)
	r.tick(1)
	d, ok := r.View(TopicPutNums, "T")
	if !ok || d.StatsMinute.Sum != 30 || !near(d.StatsMinute.TPS, 3) || !near(d.StatsMinute.AvgPerTime, 1) || d.StatsHour.Sum != 0 {
		t.Fatalf("after 10 s: %+v", d)
	}
	r.AddPut(item, 30, 3000)
	r.tick(6) // the first sample and the zero before it fall out of the minute
	d, _ = r.View(TopicPutNums, "T")
	if d.StatsMinute.Sum != 30 || !near(d.StatsMinute.TPS, 0.5) {
		t.Fatalf("after 70 s: %+v", d.StatsMinute)
	}
	r.tick(1)
	d, _ = r.View(TopicPutNums, "T")
	if d.StatsMinute.Sum != 0 || d.StatsMinute.TPS != 0 || d.StatsMinute.AvgPerTime != 0 {
		t.Fatalf("after 80 s: %+v", d.StatsMinute)
	}
	r.tick(60 - 8)
	d, _ = r.View(TopicPutNums, "T")
	if d.StatsHour.Sum != 60 || !near(d.StatsHour.TPS, 0.1) || d.StatsDay.Sum != 0 {
		t.Fatalf("after 10 min: %+v", d)
	}
	r.tick(300)
	d, _ = r.View(TopicPutSize, "T")
	if d.StatsDay.Sum != 6000 || !near(d.StatsDay.TPS, 6000./3600) {
		t.Fatalf("after 1 h: %+v", d.StatsDay)
	}
	r.tick(360 * 25)
	d, _ = r.View(TopicPutSize, "T")
	if d.StatsDay.Sum != 0 || d.StatsHour.Sum != 0 {
		t.Fatalf("after 26 h: %+v", d)
	}
}

func TestNamesAndDeletion(t *testing.T) {
	r := start(t)
	topic, sys := r.Topic("T"), r.Topic("TBW102")
	g := r.Group("T", "G")
	r.AddPut(topic, 3, 30)
	r.AddPut(sys, 2, 20)
	r.AddGet(g, 4, 40)
	r.AddGet(r.Group("TBW102", "G"), 1, 10)
	r.AddSendBack(g, 5, 2)
	r.tick(1)
	for _, c := range []struct {
		name, key string
		sum       int64
		avg       float64
	}{
		{TopicPutNums, "T", 3, 1}, {TopicPutSize, "T", 30, 10}, {TopicPutNums, "TBW102", 2, 1},
		{GroupGetNums, "T@G", 4, 4}, {GroupGetSize, "T@G", 40, 40}, {SendBackPutNums, "T@G", 5, 1}, {DLQPutNums, "T@G", 2, 1},
		{BrokerPutNums, "C", 5, 1}, {BrokerGetNums, "C", 5, 2.5},
		{BrokerPutNumsWithoutTopic, "C", 3, 1}, {BrokerGetNumsWithoutTopic, "C", 4, 4},
	} {
		d, ok := r.View(c.name, c.key)
		if !ok || d.StatsMinute.Sum != c.sum || !near(d.StatsMinute.AvgPerTime, c.avg) {
			t.Errorf("%s %s: %v %+v, want %d, %v each", c.name, c.key, ok, d.StatsMinute, c.sum, c.avg)
		}
	}
	for _, c := range [][2]string{{TopicPutNums, "X"}, {GroupGetNums, "T"}, {GroupGetNums, "X@G"}, {BrokerPutNums, "X"}, {"X", "C"}} {
		if _, ok := r.View(c[0], c[1]); ok {
			t.Errorf("%v is there", c)
		}
	}
	r.DeleteGroup("G")
	if _, ok := r.View(GroupGetNums, "T@G"); ok {
		t.Error("a deleted group has figures")
	}
	r.AddGet(r.Group("T", "G2"), 1, 1)
	r.DeleteTopic("T")
	for _, c := range [][2]string{{TopicPutNums, "T"}, {GroupGetNums, "T@G2"}} {
		if _, ok := r.View(c[0], c[1]); ok {
			t.Errorf("%v of a deleted topic is there", c)
		}
	}
	if r.Topic("T") == topic {
		t.Error("a topic made anew goes on with old figures")
	}
}

func TestRatesAndTotals(t *testing.T) {
	r := start(t)
	topic, g := r.Topic("T"), r.Group("T", "G")
	if got := Text(r.Rates().Put); got != "0.0 0.0 0.0" {
		t.Fatalf("at start %q", got)
	}
	for range 60 {
		r.AddPut(topic, 50, 1)
		r.AddGet(g, 100, 1)
		r.AddMiss(3)
		r.tick(1)
	}
	r.AddPut(topic, 100, 1)
	r.tick(1)
	x := r.Rates()
	if got := Text(x.Put); got != "10.0 5.833333333333333 5.083333333333333" {
		t.Errorf("put %q", got)
	}
	if !near(x.Transferred[1], 5000./600) || !near(x.Found[1], 50./600) || !near(x.Miss[1], 0.25) || !near(x.Total[2], x.Found[2]+x.Miss[2]) {
		t.Errorf("%+v", x)
	}
	r.tick(720) // past midnight
	r.AddPut(topic, 7, 1)
	r.AddPutFailed(2)
	want := Totals{PutTodayMorning: 3100, PutNow: 3107, GetTodayMorning: 6000, GetNow: 6000, PutFailed: 2}
	if got := r.Totals(); got != want {
		t.Errorf("totals %+v, want %+v", got, want)
	}
	r.clk.Advance(24*time.Hour - 10*time.Second)
	r.tick(1)
	if got := r.Totals(); got.PutYesterdayMorning != 3100 || got.PutTodayMorning != 3107 {
		t.Errorf("totals %+v", got)
	}
}

func TestPutTimes(t *testing.T) {
	r := start(t)
	r.AddPutTime(100*time.Microsecond, 5)
	r.AddPutTime(20*time.Millisecond, 2)
	r.AddPutTime(time.Minute, 1)
	text, longest := r.PutTimes()
	want := "[<=0ms]:5 [0~10ms]:0 [10~50ms]:2 [50~100ms]:0 [100~200ms]:0 [200~500ms]:0 [500ms~1s]:0 [1~2s]:0 [2~3s]:0 [3~4s]:0 [4~5s]:0 [5~10s]:0 [10s~]:1 "
	if text != want || longest != time.Minute {
		t.Fatalf("%q %v", text, longest)
	}
}

func TestConcurrentUse(t *testing.T) {
	r := start(t)
	var wg sync.WaitGroup
	for i := range 4 {
		wg.Go(func() {
			for j := range 500 {
				name := fmt.Sprint("T", j%3)
				r.AddPut(r.Topic(name), 1, 10)
				r.AddGet(r.Group(name, "G"), 1, 10)
				if j%100 == 0 && i == 0 {
					r.DeleteTopic("T2")
				}
				r.View(TopicPutNums, name)
			}
		})
	}
	r.tick(2)
	wg.Wait()
	r.tick(1)
	if d, _ := r.View(BrokerPutNums, "C"); d.StatsMinute.Sum != 2000 {
		t.Fatalf("%+v", d.StatsMinute)
	}
}

func BenchmarkAddPut(b *testing.B) {
	s := New(Options{Cluster: "C", Clock: clock.Real{}})
	item := s.Topic("T")
	b.ReportAllocs()
	for b.Loop() {
		s.AddPut(item, 16, 1600)
	}
}
