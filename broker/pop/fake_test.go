package pop

import (
	"cmp"
	"fmt"
	"net/netip"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/seedmq/seedmq/broker/offset"
	"github.com/seedmq/seedmq/conf/clock"
	"github.com/seedmq/seedmq/remoting/protocol"
	"github.com/seedmq/seedmq/store"
	"github.com/seedmq/seedmq/store/fs"
)

const (
	testBroker = "b-0"
	testRevive = "rmq_sys_REVIVE_LOG_C"
	stayMs     = 10_000
)

var host = netip.MustParseAddrPort("127.0.0.1:1234")

type queueName struct {
	topic string
	id    int32
}

// timed is a record that waits in the fake timer.
type timed struct {
	due int64
	seq int
	m   store.Message
}

// fakeStore keeps queues and a timer in memory. It outlives services, as a store outlives a kill.
type fakeStore struct {
	mu     sync.Mutex
	clk    *clock.Fake
	queues map[queueName][][]byte
	lowest map[queueName]int64
	cold   map[queueName]bool
	timer  []timed
	seq    int
	fail   error
	late   time.Duration
}

func (f *fakeStore) putLocked(m *store.Message) {
	k := queueName{m.Topic, m.QueueID}
	f.queues[k] = append(f.queues[k], protocol.AppendRecord(nil, &protocol.RecordFields{
		QueueID: m.QueueID, Flag: m.Flag, SysFlag: m.SysFlag, BornTimestamp: m.BornTimestamp, BornHost: host, StoreHost: host,
		StoreTimestamp: clock.Millis(f.clk), ReconsumeTimes: m.ReconsumeTimes, Body: m.Body, Topic: m.Topic, Properties: string(m.Properties),
		QueueOffset: int64(len(f.queues[k])),
	}))
}

// send stores a message with a tag.
func (f *fakeStore) send(topic string, id int32, tag, body string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.putLocked(&store.Message{Topic: topic, QueueID: id, Body: []byte(body), Properties: protocol.AppendProperty(nil, protocol.PropertyTags, tag)})
}

// deliver lets the timer bring back what is due.
func (f *fakeStore) deliver() {
	f.mu.Lock()
	defer f.mu.Unlock()
	slices.SortFunc(f.timer, func(a, b timed) int { return cmp.Or(cmp.Compare(a.due, b.due), cmp.Compare(a.seq, b.seq)) })
	for len(f.timer) > 0 && f.timer[0].due <= clock.Millis(f.clk) {
		f.putLocked(&f.timer[0].m)
		f.timer = f.timer[1:]
	}
}

func (f *fakeStore) QueueRange(topic string, id int32) (int64, int64, bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	k := queueName{topic, id}
	_, ok := f.queues[k]
	return f.lowest[k], int64(len(f.queues[k])), ok
}

func (f *fakeStore) Get(r *store.GetRequest, dst []byte) ([]byte, store.GetResult) {
	f.mu.Lock()
	defer f.mu.Unlock()
	k := queueName{r.Topic, r.QueueID}
	recs := f.queues[k]
	res := store.GetResult{MinOffset: f.lowest[k], MaxOffset: int64(len(recs)), NextBeginOffset: r.Offset}
	switch {
	case len(recs) == 0:
		res.Status = store.GetNoMessageInQueue
		return dst, res
	case r.Offset < f.lowest[k]:
		res.Status, res.NextBeginOffset = store.GetOffsetTooSmall, f.lowest[k]
		return dst, res
	case r.Offset == res.MaxOffset:
		res.Status = store.GetOffsetOverflowOne
		return dst, res
	case r.Offset > res.MaxOffset:
		res.Status, res.NextBeginOffset = store.GetOffsetOverflowBadly, res.MaxOffset
		return dst, res
	case r.HotOnly && f.cold[k]:
		res.Status = store.GetCold
		return dst, res
	}
	res.Status = store.GetNoMatched
	for _, rec := range recs[r.Offset:] {
		if res.Count >= r.MaxCount {
			break
		}
		res.NextBeginOffset++
		if r.Filter != nil && !r.Filter.MatchRecord(rec) {
			continue
		}
		dst = append(dst, rec...)
		res.Count++
		res.Bytes += len(rec)
		res.Status = store.GetFound
	}
	return dst, res
}

// fakeSink appends to a fakeStore.
type fakeSink struct {
	f     *fakeStore
	batch []store.Message
}

func (k *fakeSink) Reset() { k.batch = k.batch[:0] }

func (k *fakeSink) Add(m *store.Message) error {
	c := *m
	c.Properties, c.Body = slices.Clone(m.Properties), slices.Clone(m.Body)
	k.batch = append(k.batch, c)
	return nil
}

func (k *fakeSink) Append() (int64, error) {
	f := k.f
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.fail != nil {
		return 0, f.fail
	}
	for i := range k.batch {
		m := &k.batch[i]
		if m.Topic != protocol.TopicTimer {
			f.putLocked(m)
			continue
		}
		p := protocol.ParseProperties(string(m.Properties))
		due, err := strconv.ParseInt(p[protocol.PropertyTimerDeliverMs], 10, 64)
		id, err2 := strconv.ParseInt(p[protocol.PropertyRealQueueID], 10, 32)
		if err != nil || err2 != nil {
			return 0, fmt.Errorf("%v %v in %q", err, err2, m.Properties)
		}
		m.Topic, m.QueueID = p[protocol.PropertyRealTopic], int32(id)
		f.seq++
		f.timer = append(f.timer, timed{due, f.seq, *m})
	}
	return 0, nil
}

// bench is a service on a fake clock, store and disk.
type bench struct {
	t        testing.TB
	clk      *clock.Fake
	disk     *fs.Mem
	store    *fakeStore
	offsets  *offset.Table
	s        *Service
	released atomic.Int64
	maxTimes int32
	tuning   Tuning
	sweeping sweeping // what services begin with
}

func newBench(t testing.TB) *bench {
	clk := clock.NewFake(time.UnixMilli(1_800_000_000_000))
	b := &bench{t: t, clk: clk, disk: fs.NewMem(nil), maxTimes: 16, tuning: Tuning{StayMs: stayMs, InFlight: -1},
		store: &fakeStore{clk: clk, queues: map[queueName][][]byte{}, lowest: map[queueName]int64{}, cold: map[queueName]bool{}}}
	if err := b.disk.MkdirAll("/s/config"); err != nil {
		t.Fatal(err)
	}
	b.open()
	clk.Advance(2 * startSlackMs * time.Millisecond)
	return b
}

// open makes a service, as a start does.
func (b *bench) open() {
	b.t.Helper()
	b.offsets = offset.New(offset.Options{FS: b.disk, Path: "/s/config/consumerOffset.json", Clock: b.clk})
	if err := b.offsets.Load(); err != nil {
		b.t.Fatal(err)
	}
	b.s = New(Options{Source: b.store, NewSink: func() Sink { return &fakeSink{f: b.store} }, AwaitSafe: func(_ int64, done func(error)) { done(nil) },
		Offsets: b.offsets, FS: b.disk, Dir: JournalDir("/s"), OrderPath: "/s/config/consumerOrderInfo.json", Clock: b.clk,
		Broker: testBroker, ReviveTopic: testRevive, ReviveQueues: 2, TickMs: 1000, Self: func() netip.AddrPort { return host },
		HasTopic: func(string) bool { return true }, HasGroup: func(string) bool { return true },
		Retry: func(c *Checkpoint, times int32) (string, error) {
			if times >= b.maxTimes {
				return protocol.DLQTopic(c.Group), nil
			}
			if MarkOf(c.Topic) != Normal {
				return c.Topic, nil
			}
			return protocol.PopRetryTopicV1(c.Group, c.Topic), nil
		},
		Tuning:      func() Tuning { return b.tuning },
		TimerBehind: func() time.Duration { return b.store.late },
		Revived:     func(string, int) {}, Released: func(string, string, int32) { b.released.Add(1) }})
	b.s.sweeping = b.sweeping
	if err := b.s.Load(); err != nil {
		b.t.Fatal(err)
	}
}

// kill is a kill and a start: nothing in memory survives. What the offset table saved last does.
func (b *bench) kill() { b.open() }

// stop is a clean stop.
func (b *bench) stop() {
	b.t.Helper()
	if err := b.s.Close(); err != nil {
		b.t.Fatal(err)
	}
	if err := b.offsets.Save(); err != nil {
		b.t.Fatal(err)
	}
}

// step moves the clock and lets everything happen that would by then.
func (b *bench) step(d time.Duration) {
	for end := b.clk.Now().Add(d); b.clk.Now().Before(end); {
		b.clk.Advance(min(100*time.Millisecond, end.Sub(b.clk.Now())))
		b.store.deliver()
		b.s.Scan()
		b.s.Revive()
	}
}

// got is a popped message.
type got struct {
	protocol.MessageView
	r Receipt
}

func (b *bench) take(r Take) ([]got, Taken, Lists) {
	b.t.Helper()
	if r.Group == "" {
		r.Group = "G"
	}
	if r.Max == 0 {
		r.Max = MaxTake
	}
	if r.Invisible == 0 {
		r.Invisible = 60_000
	}
	r.MaxBytes, r.PopTime = 1<<20, clock.Millis(b.clk)
	if r.Ordered {
		r.ReviveQueue = OrderQueue
	}
	var lists Lists
	turn := b.s.Begin()
	recs, res := turn.Take(&r, nil, &lists)
	turn.End(func(err error) {
		if err != nil {
			b.t.Fatal(err)
		}
	})
	var out []got
	for len(recs) > 0 {
		var v protocol.MessageView
		n, err := protocol.DecodeMessage(recs, &v)
		if err != nil {
			b.t.Fatal(err)
		}
		out = append(out, got{v, Receipt{Topic: r.Topic, Group: r.Group, QueueID: r.QueueID, Offset: v.QueueOffset, Handle: Handle{
			StartOffset: res.Start, PopTime: r.PopTime, Invisible: r.Invisible, ReviveQueue: r.ReviveQueue, Mark: MarkOf(r.Topic), Broker: testBroker,
			QueueID: r.QueueID, Offset: v.QueueOffset}}})
		recs = recs[n:]
	}
	return out, res, lists
}

// pop takes from the retry topic and the queues of topic T.
func (b *bench) pop(invisible time.Duration, queues int32) []got {
	b.t.Helper()
	var out []got
	retry := protocol.PopRetryTopicV1("G", "T")
	for id := range queues {
		more, _, _ := b.take(Take{Topic: "T", QueueID: id, Invisible: invisible.Milliseconds(), ReviveQueue: id % 2})
		out = append(out, more...)
	}
	more, _, _ := b.take(Take{Topic: retry, Invisible: invisible.Milliseconds()})
	return append(out, more...)
}

func (b *bench) ack(r Receipt) error {
	turn := b.s.Begin()
	err := turn.Ack(&r)
	turn.End(func(e error) {
		if err == nil {
			err = e
		}
	})
	return err
}

func (b *bench) mustAck(list ...got) {
	b.t.Helper()
	for i := range list {
		if err := b.ack(list[i].r); err != nil {
			b.t.Fatalf("ack of %s: %v", list[i].Body, err)
		}
	}
}

func (b *bench) change(r Receipt, d time.Duration) (Receipt, error) {
	turn := b.s.Begin()
	c, err := turn.Change(&r, d.Milliseconds())
	turn.End(func(e error) {
		if err == nil {
			err = e
		}
	})
	r.Handle.PopTime, r.Handle.Invisible = c.PopTime, c.Invisible
	if !r.Handle.Ordered() {
		r.Handle.StartOffset = r.Offset
	}
	return r, err
}

func (b *bench) committed(topic string, id int32) int64 {
	off, ok := b.offsets.Query(offset.Key{Group: "G", Topic: topic, QueueID: id})
	if !ok {
		return -1
	}
	return off
}

// records counts what the revive topic and the timer have by tag.
func (b *bench) records() map[string]int {
	b.store.mu.Lock()
	defer b.store.mu.Unlock()
	n := map[string]int{}
	for i := range b.store.timer {
		n[b.store.timer[i].m.Tags]++
	}
	for k, recs := range b.store.queues {
		if k.topic != testRevive {
			continue
		}
		for _, rec := range recs {
			var v protocol.MessageView
			if _, err := protocol.DecodeMessage(rec, &v); err != nil {
				b.t.Fatal(err)
			}
			tag, _ := v.Property(protocol.PropertyTags)
			n[tag]++
		}
	}
	return n
}

func bodies(list []got) string {
	s := ""
	for i := range list {
		s += string(list[i].Body) + " "
	}
	return s
}

// open says that messages are.
func (f Figures) open() bool {
	return f.Held != 0 || f.Points != 0 || f.InFlight != 0 || f.Waiting != 0
}
