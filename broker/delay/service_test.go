package delay

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/netip"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/seedmq/seedmq/remoting/protocol"
	"github.com/seedmq/seedmq/store"
	"github.com/seedmq/seedmq/store/configfile"
	"github.com/seedmq/seedmq/store/fs"
)

var host = netip.MustParseAddrPort("127.0.0.1:1234")

func TestParseLevels(t *testing.T) {
	l, err := ParseLevels(DefaultLevels)
	if err != nil || l.Max() != 18 || l.Delay(3) != 10*time.Second || l.Delay(18) != 2*time.Hour || l.Delay(99) != 2*time.Hour || l.Delay(0) != 0 {
		t.Fatal(l, err)
	}
	l, err = ParseLevels(strings.Repeat(" 1d\t2m ", 20))
	if err != nil || l.Max() != 40 || l.Delay(39) != 24*time.Hour || l.Delay(40) != 2*time.Minute {
		t.Fatal(l, err)
	}
	for _, bad := range []string{"", " ", "1", "1x", "s", "1s 2", "-1s", "1.5s", "99999999999s", strings.Repeat("1s ", maxLevels+1)} {
		if _, err := ParseLevels(bad); err == nil {
			t.Errorf("%.40q is taken", bad)
		}
	}
}

func FuzzParseLevels(f *testing.F) {
	for _, s := range []string{DefaultLevels, "", "1s", "9999999999d", "1s 1", "\x00s", "107000d", "2147483647h"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		l, err := ParseLevels(s)
		if err == nil && (l.Max() < 1 || l.Delay(1) < 0) {
			t.Fatal(l)
		}
	})
}

// A delay that does not fit into a time is refused, and does not turn negative.
func TestLongDelays(t *testing.T) {
	if l, err := ParseLevels("36500d 876000h"); err != nil || l.Delay(1) != maxDelay || l.Delay(2) != maxDelay {
		t.Error(l, err)
	}
	for _, text := range []string{"107000d", "2147483647h", "36501d"} {
		if l, err := ParseLevels("1s " + text); err == nil || !strings.Contains(err.Error(), `level 2: "`+text+`" is too long, the most is 36500d`) {
			t.Error(l, err)
		}
	}
}

func TestDivert(t *testing.T) {
	l, _ := ParseLevels("1s 5s")
	props := protocol.AppendProperty(nil, "DELAY", "9")
	props = protocol.AppendProperty(props, "KEYS", "k")
	props = protocol.AppendProperty(props, "REAL_TOPIC", "Forged")
	props = protocol.AppendProperty(props, "TIMER_DELAY_SEC", "5")
	m := store.Message{Topic: "T", QueueID: 3, Properties: props}
	l.Divert(&m, 9, []byte("before"))
	p := protocol.ParseProperties(string(m.Properties))
	want := protocol.Properties{"KEYS": "k", "DELAY": "2", "REAL_TOPIC": "T", "REAL_QID": "3"}
	if m.Topic != protocol.TopicSchedule || m.QueueID != 1 || m.DelayLevel != 2 || m.DelayMs != 5000 || fmt.Sprint(p) != fmt.Sprint(want) {
		t.Fatalf("%+v %v", m, p)
	}
}

func TestDeliversAsJavaDoes(t *testing.T) {
	r := newRig(t, "1s 5s")
	r.start(nil)
	m := r.msg("T", 3, "body")
	m.Flag, m.SysFlag, m.ReconsumeTimes = 11, protocol.SysFlagCompressed, 2
	for _, p := range [][2]string{{"TAGS", "TagA"}, {"KEYS", "k1 k2"}, {"UNIQ_KEY", "U"}, {"own", "x"}} {
		m.Properties = protocol.AppendProperty(m.Properties, p[0], p[1])
	}
	r.put(r.levels, 2, m)
	r.asleep(pending)
	r.clk.Advance(5*time.Second - time.Millisecond)
	r.asleep(pending)
	if n := len(r.got()); n != 0 {
		t.Fatalf("%d messages came early", n)
	}
	r.clk.Advance(time.Millisecond)
	d := r.await(1)[0].m
	if d.Topic != "T" || d.QueueID != 3 || string(d.Body) != "body" || d.Flag != 11 || d.SysFlag != protocol.SysFlagCompressed ||
		d.ReconsumeTimes != 2 || d.BornTimestamp != 7 || d.BornHost != host || d.StoreHost != host || d.DelayLevel != 0 || d.DelayMs != 0 {
		t.Fatalf("%+v", d)
	}
	if d.Tags != "TagA" || d.Keys != "k1 k2" || d.UniqKey != "U" {
		t.Fatalf("%+v", d)
	}
	p := protocol.ParseProperties(string(d.Properties))
	want := protocol.Properties{"TAGS": "TagA", "KEYS": "k1 k2", "UNIQ_KEY": "U", "own": "x", "DELAY": "2", "REAL_TOPIC": "T", "REAL_QID": "3"}
	if fmt.Sprint(p) != fmt.Sprint(want) {
		t.Fatalf("properties %v, want %v", p, want)
	}
	r.asleep(idle) // nothing polls when nothing waits
	if o := r.s.Offsets(); o[1] != (Offset{2, 1, 1}) || o[0] != (Offset{1, 0, 0}) {
		t.Fatalf("%+v", o)
	}
}

func TestThousandsDueAtOnce(t *testing.T) {
	r := newRig(t, "1s 2s 3s")
	r.start(nil)
	const each = 3000
	for i := range each {
		for level := int32(1); level <= 3; level++ {
			r.put(r.levels, level, r.msg("T", level, strconv.Itoa(i)))
		}
	}
	r.asleep(pending)
	r.clk.Advance(10 * time.Second)
	got := r.await(3 * each)
	next := map[int32]int{}
	for _, d := range got {
		if string(d.m.Body) != strconv.Itoa(next[d.m.QueueID]) {
			t.Fatalf("level %d: %s instead of %d", d.m.QueueID, d.m.Body, next[d.m.QueueID])
		}
		next[d.m.QueueID]++
	}
	if r.appends > 3*each/passMessages+2 {
		t.Errorf("%d appends for %d messages", r.appends, 3*each)
	}
}

func TestRestart(t *testing.T) {
	r := newRig(t, "10s 60s")
	r.start(nil)
	for i := range 5 {
		r.put(r.levels, 1, r.msg("T", 0, strconv.Itoa(i)))
	}
	r.put(r.levels, 2, r.msg("T", 0, "late"))
	r.asleep(pending)
	r.clk.Advance(10 * time.Second)
	r.await(5)
	r.stop()
	r.clk.Advance(20 * time.Second)
	r.put(r.levels, 1, r.msg("T", 0, "5")) // e.g. by recovery, before the service runs
	r.start(nil)
	r.asleep(pending)
	r.clk.Advance(10 * time.Second)
	r.await(6)
	r.asleep(pending)
	r.clk.Advance(20*time.Second - time.Millisecond)
	r.asleep(pending)
	r.await(6)
	r.clk.Advance(time.Millisecond)
	if got := r.await(7); string(got[6].m.Body) != "late" || string(got[5].m.Body) != "5" {
		t.Fatal(got)
	}
}

func TestKillDeliversAgainButLosesNothing(t *testing.T) {
	r := newRig(t, "10s")
	r.start(func(o *Options) { o.PersistEvery = time.Hour })
	r.put(r.levels, 1, r.msg("T", 0, "a"))
	r.asleep(pending)
	r.clk.Advance(10 * time.Second)
	r.await(1)
	r.start(nil) // the old service wrote no file
	if got := r.await(2); string(got[1].m.Body) != "a" {
		t.Fatal(got)
	}
}

func TestDiskFullPausesAndGoesOn(t *testing.T) {
	r := newRig(t, "1s")
	r.start(nil)
	r.set(func(f *fakeStore) { f.fail = fmt.Errorf("%w: %w", store.ErrDiskFull, errDisk) })
	r.put(r.levels, 1, r.msg("T", 0, "a"))
	r.asleep(pending)
	r.clk.Advance(time.Second)
	for range 8 { // the pauses grow, and each ends with a try
		r.asleep(pending)
		r.clk.Advance(maxPause)
	}
	r.asleep(pending)
	if o := r.s.Offsets()[0]; o.Next != 0 || len(r.got()) != 0 {
		t.Fatal(o, r.got())
	}
	r.set(func(f *fakeStore) { f.fail = nil })
	r.clk.Advance(maxPause)
	r.await(1)
	r.asleep(idle)
}

func TestFlushTimeoutDoesNotDouble(t *testing.T) {
	r := newRig(t, "1s")
	r.start(nil)
	r.set(func(f *fakeStore) { f.safe = store.ErrFlushTimeout })
	r.put(r.levels, 1, r.msg("T", 0, "a"))
	r.asleep(pending)
	r.clk.Advance(time.Second)
	r.await(1)
	r.asleep(idle)
	if o := r.s.Offsets()[0]; o.Next != 1 || r.appends != 1 {
		t.Fatal(o, r.appends)
	}
}

func TestOffsetWaitsUntilSafe(t *testing.T) {
	r := newRig(t, "1s")
	r.start(nil)
	r.set(func(f *fakeStore) { f.holdSafe = true })
	r.put(r.levels, 1, r.msg("T", 0, "a"))
	r.asleep(pending)
	r.clk.Advance(time.Second)
	r.await(1)
	var done func(error)
	waitFor(t, func() (bool, string) {
		r.mu.Lock()
		defer r.mu.Unlock()
		if len(r.waiting) > 0 {
			done = r.waiting[0]
		}
		return done != nil, "not waiting"
	})
	if o := r.s.Offsets()[0]; o.Next != 0 {
		t.Fatal("moved before the flush: ", o)
	}
	r.set(func(f *fakeStore) { f.holdSafe = false })
	done(store.ErrReadOnly) // the sync failed: it is delivered again, once that is possible
	r.asleep(pending)
	r.clk.Advance(maxPause)
	r.await(2)
	r.asleep(idle)
	if o := r.s.Offsets()[0]; o.Next != 1 {
		t.Fatal(o)
	}
}

func TestSlowSyncHoldsUpNothing(t *testing.T) {
	r := newRig(t, "1s")
	r.start(nil)
	r.set(func(f *fakeStore) { f.holdSafe = true })
	for i := range 3 {
		r.put(r.levels, 1, r.msg("T", 0, strconv.Itoa(i)))
		r.asleep(pending)
		r.clk.Advance(time.Second)
		r.await(i + 1) // although nothing is safe yet
		r.asleep(idle)
	}
	var waiting []func(error)
	r.set(func(f *fakeStore) { waiting = f.waiting })
	next := func() int64 { return r.s.Offsets()[0].Next }
	waiting[2](nil) // out of turn
	waiting[1](nil)
	r.settle()
	if n := next(); n != 0 {
		t.Fatalf("offset %d although the first flight is not safe", n)
	}
	waiting[0](nil)
	waitFor(t, func() (bool, string) { return next() == 3, fmt.Sprint(next()) })
}

func TestCloseWaitsForTheSync(t *testing.T) {
	r := newRig(t, "1s")
	r.start(nil)
	r.set(func(f *fakeStore) { f.holdSafe = true })
	r.put(r.levels, 1, r.msg("T", 0, "a"))
	r.asleep(pending)
	r.clk.Advance(time.Second)
	r.await(1)
	closed := make(chan error)
	go func() { closed <- r.s.Close() }()
	r.asleep(1) // the time that Close gives it
	r.set(func(f *fakeStore) { f.waiting[0](nil) })
	if err := <-closed; err != nil {
		t.Fatal(err)
	}
	var f offsetFile
	if _, err := configfile.Load(r.disk, path, &f); err != nil || f.OffsetTable[1] != 1 {
		t.Fatal(f, err)
	}
}

func TestLevelTableChanges(t *testing.T) {
	r := newRig(t, "10s 60s 20s")
	for level := int32(1); level <= 3; level++ {
		r.put(r.levels, level, r.msg("T", level, fmt.Sprint("old", level)))
	}
	r.levels, _ = ParseLevels("30s 5s") // level 1 is longer, level 2 shorter, level 3 is gone
	r.start(nil)
	r.put(r.levels, 1, r.msg("T", 1, "new1"))
	r.put(r.levels, 2, r.msg("T", 2, "new2"))
	var came []string
	for i, step := range []time.Duration{10, 10, 10, 30} {
		r.asleep(pending)
		r.clk.Advance(step*time.Second - time.Millisecond)
		r.asleep(pending)
		r.await([]int{0, 1, 2, 3}[i])
		r.clk.Advance(time.Millisecond)
		waitFor(t, func() (bool, string) { return len(r.got()) > len(came), "nothing came" })
		r.await([]int{1, 2, 3, 5}[i])
		for _, d := range r.got()[len(came):] {
			came = append(came, string(d.m.Body))
		}
	}
	// new2 waits behind old2, which keeps the 60 s it was sent with.
	if got := strings.Join(came, " "); got != "old1 old3 new1 old2 new2" {
		t.Fatal(got)
	}
}

func TestRealTopicThatIsGoneOrShrunk(t *testing.T) {
	r := newRig(t, "1s")
	r.start(func(o *Options) {
		o.Route = func(topic string, q int32) int32 {
			if topic == "Shrunk" {
				return q % 4
			}
			return q
		}
	})
	r.put(r.levels, 1, r.msg("Deleted", 7, "a"))
	r.put(r.levels, 1, r.msg("Shrunk", 7, "b"))
	r.asleep(pending)
	r.clk.Advance(time.Second)
	got := r.await(2)
	if got[0].m.Topic != "Deleted" || got[0].m.QueueID != 7 || got[1].m.QueueID != 3 {
		t.Fatalf("%+v", got)
	}
}

func TestWhatCannotBeDeliveredHoldsUpNobody(t *testing.T) {
	r := newRig(t, "1s")
	r.set(func(f *fakeStore) { f.refuse = "Huge" })
	r.start(nil)
	raw := func(topic string, props ...string) {
		m := r.msg(protocol.TopicSchedule, 0, topic)
		m.DelayMs = 1000
		for i := 0; i < len(props); i += 2 {
			m.Properties = protocol.AppendProperty(m.Properties, props[i], props[i+1])
		}
		r.putRaw(m)
	}
	raw("no real topic")
	raw("no queue", "REAL_TOPIC", "T")
	raw("bad queue", "REAL_TOPIC", "T", "REAL_QID", "-1")
	raw("bad topic", "REAL_TOPIC", "../T", "REAL_QID", "0")
	raw("loop", "REAL_TOPIC", protocol.TopicSchedule, "REAL_QID", "0")
	raw("half", "REAL_TOPIC", protocol.TopicHalf, "REAL_QID", "0")
	raw("lost", "REAL_TOPIC", "T", "REAL_QID", "0")
	r.set(func(f *fakeStore) { f.log[len(f.log)-1] = nil })
	r.put(r.levels, 1, r.msg("Huge", 0, "too large"))
	r.put(r.levels, 1, r.msg("T", 0, "good"))
	r.asleep(pending)
	r.clk.Advance(time.Second)
	if got := r.await(1); string(got[0].m.Body) != "good" {
		t.Fatal(got)
	}
	r.asleep(idle)
	if n, o := r.s.Skipped(), r.s.Offsets()[0]; n != 7 || o.Next != 9 {
		t.Fatal(n, o)
	}
}

func TestReadErrorIsTriedAgain(t *testing.T) {
	r := newRig(t, "1s")
	r.start(nil)
	r.put(r.levels, 1, r.msg("T", 0, "a"))
	r.asleep(pending)
	r.set(func(f *fakeStore) { f.readErr = errDisk })
	r.clk.Advance(time.Second)
	r.asleep(pending)
	r.await(0)
	r.set(func(f *fakeStore) { f.readErr = nil })
	r.clk.Advance(maxPause)
	r.await(1)
}

func TestClampedIntoTheQueue(t *testing.T) {
	for _, c := range []struct {
		file   string
		lowest int64
		want   int
	}{{`{"offsetTable":{1:99}}`, 0, 0}, {`{"offsetTable":{1:1}}`, 3, 1}, {`{"offsetTable":{"1":2}}`, 0, 2}, {``, 0, 4}, {`{{{`, 0, 4}, {`{"offsetTable":{1:-5,0:7}}`, 0, 4}} {
		r := newRig(t, "1s")
		if c.file != "" {
			if err := configfile.Save(r.disk, path, []byte(c.file)); err != nil {
				t.Fatal(err)
			}
		}
		for i := range 4 {
			r.put(r.levels, 1, r.msg("T", 0, strconv.Itoa(i)))
		}
		r.lowest[0] = c.lowest
		r.clk.Advance(time.Minute)
		r.start(nil)
		r.await(c.want)
		r.asleep(idle)
		r.await(c.want)
		r.stop()
	}
}

func TestHeadOfQueueDeletedWhileWaiting(t *testing.T) {
	r := newRig(t, "10s")
	r.start(nil)
	for i := range 3 {
		r.put(r.levels, 1, r.msg("T", 0, strconv.Itoa(i)))
	}
	r.asleep(pending)
	r.set(func(f *fakeStore) { f.lowest[0] = 2 })
	r.clk.Advance(10 * time.Second)
	if got := r.await(1); string(got[0].m.Body) != "2" {
		t.Fatal(got)
	}
	r.asleep(idle)
}

func TestFileFollowsTheFlush(t *testing.T) {
	r := newRig(t, "1s")
	flushed := int64(0)
	r.start(func(o *Options) {
		o.Flushed = func() int64 {
			r.mu.Lock()
			defer r.mu.Unlock()
			return flushed
		}
	})
	offset := func() int64 {
		var f offsetFile
		if _, err := configfile.Load(r.disk, path, &f); err != nil {
			t.Fatal(err)
		}
		return f.OffsetTable[1]
	}
	deliver := func(n int) {
		t.Helper()
		r.put(r.levels, 1, r.msg("T", 0, "x"))
		r.asleep(pending)
		r.clk.Advance(time.Second)
		r.await(n)
		r.asleep(idle)
	}
	persist := func() {
		t.Helper()
		r.clk.Advance(10 * time.Second)
		r.asleep(idle)
	}
	deliver(1)
	persist()
	if got := offset(); got != 0 {
		t.Fatalf("the file says %d although nothing is on disk", got)
	}
	deliver(2)
	r.set(func(*fakeStore) { flushed = 1 })
	persist()
	waitFor(t, func() (bool, string) { return offset() == 1, fmt.Sprint(offset()) })
	r.set(func(*fakeStore) { flushed = 2 })
	persist()
	waitFor(t, func() (bool, string) { return offset() == 2, fmt.Sprint(offset()) })
	deliver(3)
	r.stop() // in order: what follows flushes the store
	if got := offset(); got != 3 {
		t.Fatal(got)
	}
}

func TestEncode(t *testing.T) {
	r := newRig(t, "1s 2s")
	r.start(nil)
	r.put(r.levels, 2, r.msg("T", 0, "x"))
	r.asleep(pending)
	r.clk.Advance(2 * time.Second)
	r.await(1)
	r.asleep(idle)
	var body map[string]json.RawMessage
	text := r.s.Encode()
	if err := json.Unmarshal(text, &body); err != nil {
		t.Fatal(err)
	}
	var table map[string]int64
	if err := json.Unmarshal(body["offsetTable"], &table); err != nil || len(table) != 1 || table["2"] != 1 || body["dataVersion"] == nil {
		t.Fatalf("%s", text)
	}
}

func TestCloseWithoutStart(t *testing.T) {
	s := New(Options{FS: fs.NewMem(nil), Path: path})
	if err := errors.Join(s.Close(), s.Close()); err != nil {
		t.Fatal(err)
	}
}
