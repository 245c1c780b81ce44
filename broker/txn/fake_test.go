package txn

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/seedmq/seedmq/conf/clock"
	"github.com/seedmq/seedmq/remoting/protocol"
	"github.com/seedmq/seedmq/store"
)

var (
	host    = netip.MustParseAddrPort("127.0.0.1:1234")
	errDisk = errors.New("no space left on device")
)

// fakeStore is a log in memory. It outlives services, as a store outlives a kill.
type fakeStore struct {
	mu     sync.Mutex
	clk    *clock.Fake
	log    [][]byte
	at     []int64 // position of each record
	end    int64
	queues map[fakeQueue][]store.QueueUnit
	holes  []store.LogRange
	lowest map[fakeQueue]int64
	fail   error  // of Append
	before func() // called before an append of a put back record
	notify func([]store.Arrival)
}

type fakeQueue struct {
	topic string
	id    int32
}

func newFakeStore() *fakeStore {
	return &fakeStore{clk: clock.NewFake(time.UnixMilli(1_700_000_000_000)), queues: map[fakeQueue][]store.QueueUnit{}, lowest: map[fakeQueue]int64{}}
}

func (f *fakeStore) QueueRange(topic string, id int32) (int64, int64, bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	us, ok := f.queues[fakeQueue{topic, id}]
	return f.lowest[fakeQueue{topic, id}], int64(len(us)), ok
}

func (f *fakeStore) Queues(topic string) []int32 {
	f.mu.Lock()
	defer f.mu.Unlock()
	var ids []int32
	for q := range f.queues {
		if q.topic == topic {
			ids = append(ids, q.id)
		}
	}
	return ids
}

func (f *fakeStore) QueueUnits(topic string, id int32, offset int64, n int) ([]store.QueueUnit, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	us := f.queues[fakeQueue{topic, id}]
	if offset < f.lowest[fakeQueue{topic, id}] || offset >= int64(len(us)) {
		return nil, store.ErrNotFound
	}
	return slices.Clone(us[offset:min(int(offset)+n, len(us))]), nil
}

func (f *fakeStore) Record(phys int64, dst []byte) ([]byte, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	i, ok := slices.BinarySearch(f.at, phys)
	if !ok || f.log[i] == nil {
		return dst, fmt.Errorf("position %d: %w", phys, store.ErrNotFound)
	}
	return append(dst, f.log[i]...), nil
}

// cut takes the last n records back, as a power cut does.
func (f *fakeStore) cut(n int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	keep := max(len(f.log)-n, 0)
	if keep == len(f.log) {
		return
	}
	f.end = f.at[keep]
	f.log, f.at = f.log[:keep], f.at[:keep]
	for q, us := range f.queues {
		f.queues[q] = slices.DeleteFunc(us, func(u store.QueueUnit) bool { return u.PhysicalOffset >= f.end })
	}
}

// put stores messages and announces them.
func (f *fakeStore) put(ms ...store.Message) ([]store.AppendResult, error) {
	f.mu.Lock()
	if f.fail != nil {
		defer f.mu.Unlock()
		return nil, f.fail
	}
	now := f.clk.Now().UnixMilli()
	var rs []store.AppendResult
	var as []store.Arrival
	for _, m := range ms {
		q := fakeQueue{m.Topic, m.QueueID}
		r := store.AppendResult{QueueOffset: int64(len(f.queues[q])), PhysicalOffset: f.end, StoreTimestamp: now}
		rec := protocol.AppendRecord(nil, &protocol.RecordFields{
			QueueID: m.QueueID, Flag: m.Flag, SysFlag: m.SysFlag, BornTimestamp: m.BornTimestamp, BornHost: m.BornHost, StoreHost: m.StoreHost,
			StoreTimestamp: now, ReconsumeTimes: m.ReconsumeTimes, Body: m.Body, Topic: m.Topic, Properties: string(m.Properties),
			QueueOffset: r.QueueOffset, PhysicalOffset: r.PhysicalOffset, PreparedTransactionOffset: m.PreparedTransactionOffset})
		r.Size = int32(len(rec))
		f.log, f.at = append(f.log, rec), append(f.at, f.end)
		f.queues[q] = append(f.queues[q], store.QueueUnit{PhysicalOffset: f.end, Size: r.Size})
		f.end += int64(len(rec))
		rs = append(rs, r)
		as = append(as, store.Arrival{Topic: m.Topic, QueueID: m.QueueID, QueueOffset: r.QueueOffset})
	}
	notify := f.notify
	f.mu.Unlock()
	if notify != nil {
		notify(as)
	}
	return rs, nil
}

// records lists what a topic's queue 0 holds.
func (f *fakeStore) records(topic string) []protocol.MessageView { return f.records2(topic, 0) }

func (f *fakeStore) records2(topic string, id int32) []protocol.MessageView {
	f.mu.Lock()
	defer f.mu.Unlock()
	var out []protocol.MessageView
	for _, u := range f.queues[fakeQueue{topic, id}] {
		i, _ := slices.BinarySearch(f.at, u.PhysicalOffset)
		var v protocol.MessageView
		if _, err := protocol.DecodeMessage(f.log[i], &v); err != nil {
			panic(err)
		}
		out = append(out, v)
	}
	return out
}

// fakeBatch is a Batch on a fakeStore.
type fakeBatch struct {
	f  *fakeStore
	ms []store.Message
	rs []store.AppendResult
}

func (b *fakeBatch) Reset()   { b.ms, b.rs = b.ms[:0], nil }
func (b *fakeBatch) Len() int { return len(b.ms) }
func (b *fakeBatch) Add(m *store.Message) error {
	if len(m.Properties) > protocol.MaxPropertiesLength {
		return store.ErrMessageTooLarge
	}
	c := *m
	c.Properties, c.Body = slices.Clone(m.Properties), slices.Clone(m.Body)
	c.Topic, c.Tags, c.Keys, c.UniqKey = strings.Clone(m.Topic), strings.Clone(m.Tags), strings.Clone(m.Keys), strings.Clone(m.UniqKey)
	b.ms = append(b.ms, c)
	return nil
}

func (b *fakeBatch) Append() (err error) {
	b.f.mu.Lock()
	before := b.f.before
	b.f.mu.Unlock()
	if before != nil && b.ms[0].Topic == protocol.TopicHalf {
		before()
	}
	b.rs, err = b.f.put(b.ms...)
	return err
}
func (b *fakeBatch) Result(i int) store.AppendResult { return b.rs[i] }
func (b *fakeBatch) End() int64 {
	last := b.rs[len(b.rs)-1]
	return last.PhysicalOffset + int64(last.Size)
}

// fakeProgress is what consumerOffset.json says, as it is in memory.
type fakeProgress struct {
	mu sync.Mutex
	m  map[fakeQueue]int64
}

func (p *fakeProgress) Query(topic string, id int32) (int64, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	n, ok := p.m[fakeQueue{topic, id}]
	return n, ok
}

func (p *fakeProgress) Commit(topic string, id int32, offset int64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.m[fakeQueue{topic, id}] = offset
}

// asked is a check that was sent.
type asked struct {
	name   string // the message's body
	checks string // TRANSACTION_CHECK_TIMES in what the producer sees
	at     store.AppendResult
}

// rig is a service on a fake store.
type rig struct {
	*fakeStore
	t        testing.TB
	s        *Service
	set      Settings
	progress *fakeProgress
	saved    map[fakeQueue]int64   // what is on disk of progress
	flushed  atomic.Pointer[int64] // nil: everything

	askMu sync.Mutex
	asks  []asked
}

func newRig(t testing.TB) *rig {
	r := &rig{fakeStore: newFakeStore(), t: t, set: Settings{Timeout: 6 * time.Second, Interval: 30 * time.Second, MaxChecks: 3, Reserved: 72 * time.Hour, OpSize: 4096}}
	t.Cleanup(func() {
		if r.s != nil {
			r.s.Close()
		}
	})
	return r
}

// start starts a service from what is on disk; a running one is left as a kill would leave it, but for its goroutine.
func (r *rig) start() {
	r.t.Helper()
	if r.s != nil {
		r.s.g.Close()
	}
	r.progress = &fakeProgress{m: maps.Clone(r.saved)}
	if r.progress.m == nil {
		r.progress.m = map[fakeQueue]int64{}
	}
	r.s = New(Options{Source: r.fakeStore, NewBatch: func() Batch { return &fakeBatch{f: r.fakeStore} }, Progress: r.progress,
		Settings: func() Settings { return r.set }, Clock: r.clk, Flushed: r.onDisk, Mended: func() []store.LogRange { return r.holes },
		Ask: func(h *Half, at store.AppendResult) {
			r.askMu.Lock()
			defer r.askMu.Unlock()
			r.asks = append(r.asks, asked{string(h.Body), protocol.ParseProperties(h.Again)[protocol.PropertyTransactionCheckTimes], at})
		},
		Host: func() netip.AddrPort { return host }})
	r.mu.Lock()
	r.notify = r.s.Notify
	r.mu.Unlock()
	if err := r.s.Start(); err != nil {
		r.t.Fatal(err)
	}
	r.settle()
}

func (r *rig) onDisk() int64 {
	if at := r.flushed.Load(); at != nil {
		return *at
	}
	return math.MaxInt64
}

// save is the periodic save of the progress.
func (r *rig) save() {
	r.s.Publish()
	r.progress.mu.Lock()
	defer r.progress.mu.Unlock()
	r.saved = maps.Clone(r.progress.m)
}

// stop ends the service in order.
func (r *rig) stop() {
	r.s.Close()
	r.saved = maps.Clone(r.progress.m)
	r.s = nil
}

// settle returns after a step of the loop that began after the call.
func (r *rig) settle() {
	r.t.Helper()
	for range 2 { // the second is taken after the step that the first woke
		r.s.wake <- struct{}{}
	}
	r.waitFor("the service wakes", func() bool { return len(r.s.wake) == 0 })
}

func (r *rig) waitFor(what string, ok func() bool) {
	r.t.Helper()
	deadline := time.Now().Add(10 * time.Second)
	for !ok() {
		if time.Now().After(deadline) {
			r.t.Fatal("not within 10 s: ", what)
		}
		time.Sleep(20 * time.Microsecond)
	}
}

func (r *rig) advance(d time.Duration) {
	r.t.Helper()
	r.settle()
	r.clk.Advance(d)
	r.settle()
}

// half sends a half message of group G to topic T.
func (r *rig) half(name string, props ...string) store.AppendResult {
	r.t.Helper()
	m := store.Message{Topic: "T", QueueID: 2, Flag: 7, SysFlag: protocol.SysFlagTransactionPrepared, BornTimestamp: 7,
		BornHost: host, StoreHost: host, Body: []byte(name), UniqKey: "U" + name, Tags: "TagA"}
	m.Properties = protocol.AppendProperty(nil, "TRAN_MSG", "true")
	m.Properties = protocol.AppendProperty(m.Properties, "UNIQ_KEY", m.UniqKey)
	m.Properties = protocol.AppendProperty(m.Properties, "TAGS", m.Tags)
	for i := 0; i < len(props); i += 2 {
		m.Properties = protocol.AppendProperty(m.Properties, props[i], props[i+1])
	}
	Prepare(&m, "G", nil)
	rs, err := r.put(m)
	if err != nil {
		r.t.Fatal(err)
	}
	return rs[0]
}

func (r *rig) end(at store.AppendResult, o Outcome, check bool) error {
	es := []End{{Group: "G", QueueOffset: at.QueueOffset, LogOffset: at.PhysicalOffset, Outcome: o, FromCheck: check}}
	r.s.End(es)
	return es[0].Err
}

func (r *rig) asksNow() []asked {
	r.askMu.Lock()
	defer r.askMu.Unlock()
	return slices.Clone(r.asks)
}
