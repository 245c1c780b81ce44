package timer

import (
	"fmt"
	"math/rand/v2"
	"strconv"
	"testing"
	"time"

	"github.com/seedmq/seedmq/remoting/protocol"
	"github.com/seedmq/seedmq/store"
)

// Every message comes at the millisecond that it asked for, whatever the property and wherever in a tick.
func TestExactToTheMillisecond(t *testing.T) {
	for _, tick := range []time.Duration{100 * time.Millisecond, time.Second} {
		r := newRig(t)
		r.o.Tick = tick
		r.open()
		due := map[string]int64{}
		rng := rand.New(rand.NewPCG(1, 2))
		for i := range 500 {
			id := strconv.Itoa(i)
			switch i % 3 {
			case 0:
				due[id] = r.send(id, "TIMER_DELAY_SEC", strconv.Itoa(1+i%7))
			case 1:
				due[id] = r.send(id, "TIMER_DELAY_MS", strconv.Itoa(1+rng.IntN(5000)))
			case 2:
				due[id] = r.send(id, "TIMER_DELIVER_MS", strconv.FormatInt(r.clk.Now().UnixMilli()+1+rng.Int64N(5000), 10))
			}
			r.pass(time.Duration(rng.IntN(20)) * time.Millisecond)
		}
		due["edge"] = r.send("edge", "TIMER_DELIVER_MS", strconv.FormatInt((r.clk.Now().UnixMilli()/1000+3)*1000, 10))
		r.pass(20 * time.Second)
		got := r.got()
		if len(got) != len(due) {
			t.Fatalf("%d messages, want %d", len(got), len(due))
		}
		last := int64(0)
		for _, d := range got {
			if want := due[string(d.m.Body)]; d.at != want {
				t.Fatalf("tick %v: %s came at %d, asked for %d", tick, d.m.Body, d.at, want)
			}
			if d.at < last {
				t.Fatal("out of order")
			}
			last = d.at
		}
		r.close()
	}
}

func TestDeliversAsJavaDoes(t *testing.T) {
	r := newRig(t)
	r.open()
	r.send("a", "TIMER_DELAY_SEC", "3", "TAGS", "TagA", "KEYS", "k1 k2", "own", "x")
	r.pass(10 * time.Second)
	r.want("a")
	d := r.got()[0]
	if d.m.Topic != "T" || d.m.QueueID != 3 || d.m.BornTimestamp != 7 || d.m.BornHost != host || d.m.Tags != "TagA" || d.m.Keys != "k1 k2" || d.m.UniqKey != "a" {
		t.Fatalf("%+v", d.m)
	}
	p := protocol.ParseProperties(string(d.m.Properties))
	want := protocol.Properties{"UNIQ_KEY": "a", "TAGS": "TagA", "KEYS": "k1 k2", "own": "x", "TIMER_DELAY_SEC": "3", "REAL_TOPIC": "T", "REAL_QID": "3",
		"TIMER_OUT_MS": "1700000003000", "TIMER_ENQUEUE_MS": "1700000000000", "TIMER_DEQUEUE_MS": "1700000003400"}
	if fmt.Sprint(p) != fmt.Sprint(want) {
		t.Fatalf("properties %v, want %v", p, want)
	}
	r.close()
}

func TestThousandsInOneSlot(t *testing.T) {
	r := newRig(t)
	r.open()
	at := r.clk.Now().UnixMilli()/1000*1000 + 60_000
	const n = 10_000
	for i := range n {
		r.send(strconv.Itoa(i), "TIMER_DELIVER_MS", strconv.FormatInt(at+1+int64(i*7%1000), 10))
	}
	r.pass(2 * time.Minute)
	got := r.got()
	if len(got) != n {
		t.Fatal(len(got))
	}
	for _, d := range got {
		i, _ := strconv.Atoi(string(d.m.Body))
		if want := at + 1 + int64(i*7%1000); d.at != want {
			t.Fatalf("%d came at %d, want %d", i, d.at, want)
		}
	}
	r.close()
}

// A delay beyond the window goes through the queue several times, and still comes at its millisecond.
func TestRolls(t *testing.T) {
	r := newRig(t)
	r.o.RollSlots = 600
	r.open()
	relative := r.send("r", "TIMER_DELAY_MS", strconv.Itoa(12*3600*1000+123))
	absolute := r.send("a", "TIMER_DELIVER_MS", strconv.FormatInt(r.clk.Now().UnixMilli()+1_000_777, 10))
	seconds := r.send("s", "TIMER_DELAY_SEC", "3000")
	for range 10 { // restarts on the way
		r.pass(370 * time.Second)
		r.close()
		r.open()
	}
	r.want("a", "s")
	r.pass(12 * time.Hour)
	r.want("a", "s", "r")
	for i, want := range []int64{absolute, seconds, relative} {
		if d := r.got()[i]; d.at != want {
			t.Errorf("%s came at %d, want %d", d.m.Body, d.at, want)
		}
	}
	p := protocol.ParseProperties(string(r.got()[1].m.Properties))
	if n, _ := strconv.Atoi(p["TIMER_ROLL_TIMES"]); n < 4 {
		t.Error(p)
	}
	r.close()
}

func TestWindowFitsTheRetention(t *testing.T) {
	for _, c := range []struct {
		slots     int
		retention time.Duration
		want      time.Duration
	}{{0, 1000 * time.Hour, 48 * time.Hour}, {0, 72 * time.Hour, 48 * time.Hour}, {0, 24 * time.Hour, 18 * time.Hour}, {1, 1000 * time.Hour, (7*24*3600 - 60) * time.Second}, {100, time.Hour, 100 * time.Second}} {
		s := New(Options{RollSlots: c.slots, Retention: func() time.Duration { return c.retention }})
		if got := time.Duration(s.window) * time.Millisecond; got != c.want {
			t.Errorf("%+v: window %v", c, got)
		}
	}
}

func TestRecall(t *testing.T) {
	for _, withTopic := range []bool{false, true} {
		r := newRig(t)
		r.open()
		due := r.after("a", 5*time.Second)
		r.after("b", 5*time.Second)
		r.sendTo("Other", "a", "TIMER_DELAY_MS", "5000") // the same key in another topic stays
		r.pass(time.Second)
		r.recall("a", due, withTopic)
		r.pass(10 * time.Second)
		r.want("b", "a")
		if d := r.got()[1]; d.m.Topic != "Other" {
			t.Fatal(d)
		}
		if s := r.s.Figures(); s.Recalled != 1 || s.Waiting != 0 {
			t.Errorf("%+v", s)
		}
		r.close()
	}
}

// A recall counts up to the last millisecond, also when its slot is loaded and when the queue is behind.
func TestRecallInTheLastMoment(t *testing.T) {
	r := newRig(t)
	r.open()
	due := r.after("a", 3*time.Second)
	other := r.after("b", 3*time.Second)
	r.pass(3*time.Second - time.Millisecond)
	r.recall("a", due, false)
	r.s.Recalled(other, "T", DeleteKey("T", "b", true)) // its record is not put in yet
	r.pass(time.Minute)
	r.want()
	r.close()
}

// A recall that was stored before a kill counts after it, however much later the broker comes back.
func TestRecallBeforeAKill(t *testing.T) {
	r := newRig(t)
	r.open()
	due := r.after("a", 3*time.Second)
	r.pass(500 * time.Millisecond)
	r.recall("a", due, false)
	late := r.after("b", time.Second) // stored, never put in
	r.recall("b", late, true)
	r.kill()
	r.clk.Advance(time.Hour)
	r.open()
	r.pass(time.Second)
	r.want()
	r.close()
}

func TestRecallOfARolledMessage(t *testing.T) {
	r := newRig(t)
	r.o.RollSlots = 600
	r.open()
	due := r.after("a", time.Hour)
	r.after("b", time.Hour)
	r.pass(20 * time.Minute)
	r.recall("a", due, false)
	r.pass(2 * time.Hour)
	r.want("b")
	r.close()
}

func TestRestartContinues(t *testing.T) {
	r := newRig(t)
	r.open()
	due := map[string]int64{"a": r.after("a", 2*time.Second), "b": r.after("b", 20*time.Second), "c": r.after("c", 3*time.Hour)}
	r.pass(5 * time.Second)
	r.want("a")
	r.close()
	r.open()
	r.want("a")
	if n := r.s.Figures(); n.Waiting != 0 {
		t.Log(n)
	}
	r.pass(10 * time.Second)
	r.close()
	r.clk.Advance(time.Minute) // b is due while nobody is there
	r.open()
	r.run()
	r.want("a", "b")
	r.pass(4 * time.Hour)
	r.want("a", "b", "c")
	if d := r.got()[2]; d.at != due["c"] {
		t.Fatal(d.at, due["c"])
	}
	r.close()
	r.open()
	r.pass(time.Hour)
	r.want("a", "b", "c")
	r.close()
}

func TestLongDowntime(t *testing.T) {
	r := newRig(t)
	r.open()
	for i := range 20 {
		r.after(strconv.Itoa(i), time.Duration(i+1)*2*time.Hour)
	}
	r.pass(time.Second)
	r.close()
	r.clk.Advance(20 * 24 * time.Hour)
	for i := range 5 {
		r.after("new"+strconv.Itoa(i), time.Duration(i)*time.Hour+time.Millisecond)
	}
	r.open()
	r.pass(24 * time.Hour)
	if got := r.bodies(); len(got) != 25 || got[0] != "0" || got[24] != "new4" {
		t.Fatal(got)
	}
	r.close()
}

// Without wheel and log, everything that waits is found in the queue, and what was delivered or rolled is not sent again.
func TestRebuiltFromTheQueue(t *testing.T) {
	for _, lost := range []string{"timerwheel", "timerlog", "both"} {
		r := newRig(t)
		r.o.RollSlots = 600
		r.open()
		r.after("a", 2*time.Second)
		r.after("b", 40*time.Minute) // rolls
		r.after("c", 3*time.Second)
		gone := r.after("d", 30*time.Minute)
		r.recall("d", gone, false)
		r.pass(15 * time.Minute)
		r.want("a", "c")
		r.close()
		if lost != "timerlog" {
			if err := r.disk.Remove(root + "/timerwheel"); err != nil {
				t.Fatal(err)
			}
		}
		if lost != "timerwheel" {
			if err := r.disk.RemoveAll(root + "/timerlog"); err != nil {
				t.Fatal(err)
			}
		}
		r.open()
		r.pass(time.Hour)
		if got := fmt.Sprint(r.bodies()); got != "[a c b]" {
			t.Errorf("%s lost: %s", lost, got)
		}
		r.close()
	}
}

func TestErrorsPauseAndGoOn(t *testing.T) {
	r := newRig(t)
	r.open()
	r.set(func(f *fakeStore) { f.fail = fmt.Errorf("%w: %w", store.ErrDiskFull, errDisk) })
	due := r.after("a", time.Second)
	r.after("b", time.Second)
	r.pass(time.Minute)
	r.want()
	r.kill()
	r.set(func(f *fakeStore) { f.fail = nil })
	r.open()
	r.pass(time.Second)
	r.want("a", "b")
	if r.got()[0].at < due {
		t.Error("early")
	}
	r.close()
}

// A sync that fails leaves the safe position where it was, and the messages are delivered again.
func TestFailedSync(t *testing.T) {
	r := newRig(t)
	r.open()
	r.after("a", time.Second)
	r.set(func(f *fakeStore) { f.safe = errDisk })
	r.pass(10 * time.Second)
	r.want("a", "a")
	r.after("b", time.Second)
	r.set(func(f *fakeStore) { f.safe = store.ErrFlushTimeout })
	r.pass(10 * time.Second)
	r.want("a", "a", "b")
	r.close()
}

// What waits for the disk is not claimed by the check point.
func TestCheckPointWaitsForTheDisk(t *testing.T) {
	r := newRig(t)
	flushed := int64(0)
	r.o.Flushed = func() int64 { return flushed }
	r.o.Came = nil // what was delivered is not found: it went with the power
	r.open()
	r.after("a", time.Second)
	r.pass(10 * time.Second)
	r.want("a")
	r.kill()
	r.open()
	r.pass(10 * time.Second)
	r.want("a", "a")
	flushed = 1 << 40
	r.pass(10 * time.Second)
	r.kill()
	r.open()
	r.pass(10 * time.Second)
	r.want("a", "a")
	r.close()
}

func TestSkipsWhatCannotBeDelivered(t *testing.T) {
	r := newRig(t)
	r.open()
	r.after("a", time.Second)
	r.sendTo("rmq_sys_wheel_timer", "loop", "TIMER_DELAY_MS", "1000")
	r.sendTo("bad name!", "bad", "TIMER_DELAY_MS", "1000")
	r.putRaw(store.Message{Topic: protocol.TopicTimer, Body: []byte("no time"), BornHost: host, StoreHost: host})
	r.after("gone", time.Second)
	r.set(func(f *fakeStore) { f.log[len(f.log)-1] = nil })
	r.send("long", "TIMER_DELAY_MS", "1000", "x", string(make([]byte, protocol.MaxPropertiesLength-150)))
	r.after("b", time.Second)
	r.pass(10 * time.Second)
	r.want("a", "long", "b")
	if n := r.s.Figures().Lost; n != 4 {
		t.Error(n)
	}
	r.close()
}

func TestMetrics(t *testing.T) {
	r := newRig(t)
	r.open()
	r.after("a", time.Minute)
	r.after("b", 2*time.Second)
	due := r.sendTo("U", "c", "TIMER_DELAY_SEC", "60")
	_ = due
	r.pass(time.Second)
	count := func() string {
		m := r.s.Metrics().TimingCount
		return fmt.Sprint(m["T"].Count, m["U"].Count)
	}
	if got := count(); got != "2 1" {
		t.Error(got)
	}
	r.pass(10 * time.Second)
	r.close()
	r.open()
	if got := count(); got != "1 1" {
		t.Error(got)
	}
	if f := r.s.Figures(); f.Behind != 0 {
		t.Errorf("%+v", f)
	}
	r.run()
	if f := r.s.Figures(); f.Waiting != 2 || f.OffsetBehind != 0 {
		t.Errorf("%+v", f)
	}
	r.close()
}

// What came just before the process ended does not come again, in the same tick or not, whether it was closed or killed; the rest
// of the tick does.
func TestNothingTwiceAfterTheEnd(t *testing.T) {
	for _, kill := range []bool{false, true} {
		r := newRig(t)
		r.o.RollSlots = 30
		r.open()
		at := r.clk.Now().UnixMilli()/1000*1000 + 20_000
		var want []string
		for i := range 40 {
			id := strconv.Itoa(i)
			want = append(want, id)
			r.send(id, "TIMER_DELIVER_MS", strconv.FormatInt(at+int64(i)*100+1, 10))
		}
		rolls := r.send("rolls", "TIMER_DELIVER_MS", strconv.FormatInt(at+30_000, 10)) // is stored anew at about the same time
		r.until(time.UnixMilli(at + 2050))
		if kill {
			r.kill()
		} else {
			r.close()
		}
		r.clk.Advance(700 * time.Millisecond)
		r.open()
		r.until(time.UnixMilli(rolls))
		r.want(append(want, "rolls")...)
		r.close()
	}
}

// A broker that is killed before its first check point is written repeats nothing either, however often that happens.
func TestNothingTwiceWithoutACheckPoint(t *testing.T) {
	r := newRig(t)
	r.o.Flushed = func() int64 { return 0 } // the log is not on disk yet: nothing may be saved
	r.open()
	r.after("a", 100*time.Millisecond)
	due := r.after("recalled", 3*time.Second)
	r.recall("recalled", due, false)
	r.after("late", 5*time.Second)
	r.pass(200 * time.Millisecond)
	r.want("a")
	for range 3 {
		r.kill()
		r.clk.Advance(3 * time.Second)
		r.open()
		r.pass(300 * time.Millisecond)
	}
	r.want("a", "late")
	r.close()
}

func TestNoFilesUntilTheyAreNeeded(t *testing.T) {
	r := newRig(t)
	r.open()
	r.pass(10 * time.Second)
	r.close()
	for _, name := range []string{"/timerwheel", "/timerlog", "/config/timercheck"} {
		if _, err := r.disk.Stat(root + name); err == nil {
			t.Errorf("%s is there", name)
		}
	}
	r.open()
	r.after("a", time.Second)
	r.pass(10 * time.Second)
	r.want("a")
	r.close()
	if info, err := r.disk.Stat(root + "/timerwheel"); err != nil || info.Size != 38_707_200 {
		t.Error(info, err)
	}
}
