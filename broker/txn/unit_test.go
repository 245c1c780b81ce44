package txn

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/seedmq/seedmq/remoting/protocol"
	"github.com/seedmq/seedmq/store"
)

func TestPrepare(t *testing.T) {
	m := store.Message{Topic: "T", QueueID: 3, UniqKey: "U", SysFlag: protocol.SysFlagTransactionPrepared | protocol.SysFlagCompressed}
	for _, p := range [][2]string{{"TRAN_MSG", "true"}, {"UNIQ_KEY", "U"}, {"REAL_TOPIC", "Forged"}, {"TRANSACTION_CHECK_TIMES", "9"},
		{"TRAN_PREPARED_QUEUE_OFFSET", "0"}, {"__transactionId__", "forged"}, {"own", "x"}} {
		m.Properties = protocol.AppendProperty(m.Properties, p[0], p[1])
	}
	Prepare(&m, "G", []byte("before"))
	want := protocol.Properties{"TRAN_MSG": "true", "UNIQ_KEY": "U", "PGROUP": "G", "__transactionId__": "U", "REAL_TOPIC": "T", "REAL_QID": "3", "own": "x"}
	if got := protocol.ParseProperties(string(m.Properties)); fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("properties %v, want %v", got, want)
	}
	if m.Topic != protocol.TopicHalf || m.QueueID != 0 || m.SysFlag != protocol.SysFlagCompressed {
		t.Errorf("%+v", m)
	}
}

// TestCommittedAsJava: what a commit stores differs from the half message in topic, queue, flag, prepared offset and the properties that named these.
func TestCommittedAsJava(t *testing.T) {
	r := newRig(t)
	r.start()
	at := r.half("a", "KEYS", "k", "own", "x")
	if err := r.end(at, Commit, false); err != nil {
		t.Fatal(err)
	}
	half, got := r.records(protocol.TopicHalf)[0], r.records2("T", 2)[0]
	if got.PreparedTransactionOffset != at.PhysicalOffset || got.SysFlag != protocol.SysFlagTransactionCommit || got.Flag != 7 ||
		got.BornTimestamp != half.BornTimestamp || got.BornHost != half.BornHost || got.StoreHost != half.StoreHost || string(got.Body) != "a" {
		t.Errorf("%+v", got)
	}
	if want := strings.Replace(half.Properties, "REAL_TOPIC\x01T\x02REAL_QID\x012\x02", "", 1); got.Properties != want || want == half.Properties {
		t.Errorf("properties %q, want %q", got.Properties, want)
	}
	op := r.records(protocol.TopicOpHalf)[0]
	if string(op.Body) != "0," || op.SysFlag != 0 || op.Properties != "WAIT\x01true\x02TAGS\x01d\x02" || op.BornHost != host || op.StoreHost != host {
		t.Errorf("%+v %s", op, op.Body)
	}
}

// TestMarksShareMessages: the marks of one call are one op message, unless that gets too long.
func TestMarksShareMessages(t *testing.T) {
	r := newRig(t)
	r.set.OpSize = 64
	r.start()
	var es []End
	var want []string
	for i := range 50 {
		at := r.half(fmt.Sprint(i))
		es = append(es, End{Group: "G", QueueOffset: at.QueueOffset, LogOffset: at.PhysicalOffset, Outcome: Rollback})
		want = append(want, fmt.Sprint(i))
	}
	es = append(es, es[3], es[4]) // twice in one call
	r.s.End(es)
	var got []string
	ops := r.records(protocol.TopicOpHalf)
	for _, op := range ops {
		eachMark(string(op.Body), func(n int64) { got = append(got, fmt.Sprint(n)) })
		if len(op.Body) > 64+20 {
			t.Errorf("op message of %d bytes", len(op.Body))
		}
	}
	if !slices.Equal(got, want) || len(ops) != 3 || r.s.Open() != 0 {
		t.Errorf("%d op messages: %v; %d open", len(ops), got, r.s.Open())
	}
	for i := range es {
		if es[i].Err != nil {
			t.Error(i, es[i].Err)
		}
	}
	r.save()
	if n, _ := r.progress.Query(protocol.TopicHalf, 0); n != 50 {
		t.Error("progress", n)
	}
}

// TestMarksNameAllRecords: the mark of a transaction that was checked names every record that the saved progress does not cover.
func TestMarksNameAllRecords(t *testing.T) {
	r := newRig(t)
	r.set.MaxChecks = 100
	r.start()
	at := r.half("a")
	b := r.half("b")
	for range 3 {
		r.advance(36 * time.Second)
	}
	if err := r.end(at, Commit, true); err != nil {
		t.Fatal(err)
	}
	for range 2 { // the first may not have reached the file yet
		r.save()
	}
	r.advance(36 * time.Second)
	if err := r.end(b, Commit, true); err != nil {
		t.Fatal(err)
	}
	ops := r.records(protocol.TopicOpHalf)
	if len(ops) != 2 || string(ops[0].Body) != "0,2,4,6," || string(ops[1].Body) != "1,7,8," {
		t.Errorf("marks %q and %q", ops[0].Body, ops[1].Body)
	}
}

// TestMarksNameJavasRecords: the same for records that a Java broker put back, which name no first one.
func TestMarksNameJavasRecords(t *testing.T) {
	r := newRig(t)
	r.set.Reserved = 0 // the client's clock is far behind
	p := &script{rig: r, sent: map[string][]store.AppendResult{}}
	p.sent["a"] = append(p.sent["a"], r.half("a"))
	for range 2 {
		if err := p.other("java", "a", nil); err != nil {
			t.Fatal(err)
		}
	}
	r.start()
	r.advance(36 * time.Second)
	if a := r.asksNow(); len(a) != 1 || r.end(a[0].at, Commit, true) != nil {
		t.Fatal(a)
	}
	ops := r.records(protocol.TopicOpHalf)
	if len(ops) != 1 || string(ops[0].Body) != "2,0,1,3," || r.s.Open() != 0 {
		t.Errorf("marks %q, %d open", ops[0].Body, r.s.Open())
	}
}

// TestOneOutcome: of many that end a transaction at once, while it is put back, one wins.
func TestOneOutcome(t *testing.T) {
	r := newRig(t)
	r.set.MaxChecks = 1000
	r.start()
	for round := range 50 {
		at := r.half(fmt.Sprint(round))
		r.settle()
		var wg sync.WaitGroup
		errs := make([]error, 8)
		for i := range errs {
			wg.Go(func() {
				es := []End{{Group: "G", QueueOffset: at.QueueOffset, LogOffset: at.PhysicalOffset, Outcome: Commit + Outcome(i%2)}}
				r.s.End(es)
				errs[i] = es[0].Err
			})
		}
		wg.Go(func() { r.clk.Advance(31 * time.Second) })
		wg.Wait()
		n := 0
		for _, m := range r.records2("T", 2) {
			if string(m.Body) == fmt.Sprint(round) {
				n++
			}
		}
		for i, err := range errs {
			if (err == nil) != ((i%2 == 0) == (n == 1)) {
				t.Errorf("round %d: %d delivered, request %d: %v", round, n, i, err)
			}
		}
		if n > 1 {
			t.Fatalf("delivered %d times", n)
		}
	}
	if n := r.s.Open(); n != 0 {
		t.Errorf("%d open", n)
	}
}

// TestEndWhilePutBack: an outcome that comes while the half message is put back waits, and then ends the new record.
func TestEndWhilePutBack(t *testing.T) {
	r := newRig(t)
	r.start()
	at := r.half("a")
	r.settle()
	done := make(chan error, 1)
	started := make(chan struct{})
	r.mu.Lock()
	r.before = func() {
		go func() {
			close(started)
			done <- r.end(at, Commit, false)
		}()
		<-started
	}
	r.mu.Unlock()
	r.clk.Advance(6 * time.Second)
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	r.settle()
	ops := r.records(protocol.TopicOpHalf)
	if r.s.Open() != 0 || len(ops) != 1 || len(r.records2("T", 2)) != 1 {
		t.Fatalf("%d open, %d op messages", r.s.Open(), len(ops))
	}
	if body := string(ops[0].Body); body != "0,1," && body != "0," { // before the put back, or after it
		t.Errorf("marks %q", body)
	}
}

// TestTooLongToPutBack: a message that has no room for one more property is given up, not lost.
func TestTooLongToPutBack(t *testing.T) {
	r := newRig(t)
	r.start()
	at := r.half("a", "big", strings.Repeat("x", protocol.MaxPropertiesLength-135))
	r.half("b")
	h, _ := r.s.read(0, at.QueueOffset)
	if room := protocol.MaxPropertiesLength - len(h.Properties); room < 0 || room > 50 {
		t.Fatal("room for", room)
	}
	r.advance(6 * time.Second)
	for range 5 {
		r.advance(30 * time.Second)
	}
	var names []string
	for _, v := range r.records(protocol.TopicTransCheckMaxTime) {
		names = append(names, string(v.Body))
	}
	if fmt.Sprint(names) != "[a b]" || r.s.Open() != 0 {
		t.Errorf("given up %v, %d open", names, r.s.Open())
	}
}

// TestIdle: nothing wakes when nothing is open.
func TestIdle(t *testing.T) {
	r := newRig(t)
	r.start()
	r.waitTimers(0)
	at := r.half("a")
	r.waitTimers(1)
	if err := r.end(at, Rollback, false); err != nil {
		t.Fatal(err)
	}
	r.clk.Advance(6 * time.Second)
	r.waitTimers(0)
}

func (r *rig) waitTimers(n int) {
	r.t.Helper()
	r.waitFor(fmt.Sprintf("%d timers", n), func() bool { return r.clk.Timers() == n })
}

func TestBitmap(t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, 2))
	b, low, model := bitmap{base: 128}, int64(128), map[int64]bool{}
	for range 20000 {
		n := low + rnd.Int64N(700)
		switch rnd.IntN(3) {
		case 0:
			b.set(n)
			model[n] = true
		case 1:
			if b.has(n) != model[n] {
				t.Fatalf("has(%d) is %v", n, b.has(n))
			}
			want := n
			for model[want] {
				want++
			}
			if got := b.nextClear(n); got != want {
				t.Fatalf("nextClear(%d) = %d, want %d", n, got, want)
			}
		default:
			if rnd.IntN(20) == 0 {
				low = n
				b.forget(low)
			}
		}
	}
	if b.forget(low + 1<<40); len(b.words) != 0 || b.base > low+1<<40 || b.base < low+1<<40-64 {
		t.Errorf("base %d with %d words after all was forgotten up to %d", b.base, len(b.words), low+1<<40)
	}
}

func TestRecentForgets(t *testing.T) {
	var r recent
	for i := range int64(recentLimit + 10) {
		r.add(ended{0, i}, Commit)
	}
	if len(r.outcomes) != recentLimit || r.outcomes[ended{0, 9}] != 0 || r.outcomes[ended{0, 10}] != Commit || r.outcomes[ended{0, recentLimit + 9}] != Commit {
		t.Error(len(r.outcomes))
	}
}

// FuzzMarks: any body is read without a panic, what is read is not negative, and what we write is read again.
func FuzzMarks(f *testing.F) {
	for _, s := range []string{"", "12", "12,15,", ",,", "-1,x,9223372036854775808,7", "\x00,1"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		var ns, again []int64
		eachMark(s, func(n int64) { ns = append(ns, n) })
		var body []byte
		for _, n := range ns {
			if n < 0 {
				t.Fatal(n)
			}
			body = appendMark(body, n)
		}
		eachMark(string(body), func(n int64) { again = append(again, n) })
		if !slices.Equal(ns, again) {
			t.Fatal(ns, again)
		}
	})
}

// FuzzHalf: no record makes the decisions panic.
func FuzzHalf(f *testing.F) {
	r := newRig(f)
	r.start()
	r.half("a", protocol.PropertyCheckImmunityTime, "9")
	r.end(r.half("b"), Commit, false)
	for _, rec := range r.log {
		f.Add(rec)
		negative := bytes.Clone(rec)
		negative[20] |= 0x80 // the queue offset
		f.Add(negative)
	}
	f.Fuzz(func(t *testing.T, rec []byte) {
		Resumed(rec)
		h, err := decodeHalf(rec)
		if err != nil {
			return
		}
		if h.Root < 0 || h.Root > h.QueueOffset || h.QueueOffset < 0 {
			t.Fatal(h.Root, h.QueueOffset)
		}
		_, _, _ = h.committed(nil)
		h.again(true)
		r.s.fate(h, r.clk.Now())
	})
}
