package timer

import (
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/seedmq/seedmq/conf/clock"
	"github.com/seedmq/seedmq/remoting/protocol"
	"github.com/seedmq/seedmq/store"
	"github.com/seedmq/seedmq/store/fs"
)

var host = netip.MustParseAddrPort("127.0.0.1:1234")

// fakeStore keeps the timer topic and what was delivered in memory. It outlives services, as a store outlives a kill.
type fakeStore struct {
	mu        sync.Mutex
	clk       *clock.Fake
	log       [][]byte
	queue     []store.QueueUnit
	lowest    int64
	delivered []delivery
	batch     []store.Message
	fail      error // of Append
	safe      error // of AwaitSafe
	notify    func([]store.Arrival)
}

// delivery is a message that came back, and when.
type delivery struct {
	m  store.Message
	at int64
}

func (f *fakeStore) putRaw(m store.Message) {
	f.mu.Lock()
	f.putLocked(m)
	a := store.Arrival{Topic: m.Topic, QueueID: m.QueueID, QueueOffset: int64(len(f.queue) - 1)}
	notify := f.notify
	f.mu.Unlock()
	if notify != nil {
		notify([]store.Arrival{{Topic: "Other", QueueID: 0}, a})
	}
}

func (f *fakeStore) putLocked(m store.Message) {
	rec := protocol.AppendRecord(nil, &protocol.RecordFields{
		QueueID: m.QueueID, Flag: m.Flag, SysFlag: m.SysFlag, BornTimestamp: m.BornTimestamp, BornHost: m.BornHost,
		StoreHost: m.StoreHost, StoreTimestamp: f.clk.Now().UnixMilli(), ReconsumeTimes: m.ReconsumeTimes, Body: m.Body, Topic: m.Topic,
		Properties: string(m.Properties), PhysicalOffset: int64(len(f.log)), QueueOffset: int64(len(f.queue)),
	})
	f.log = append(f.log, rec)
	f.queue = append(f.queue, store.QueueUnit{PhysicalOffset: int64(len(f.log) - 1), Size: int32(len(rec))})
}

func (f *fakeStore) QueueRange(topic string, q int32) (int64, int64, bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.lowest, int64(len(f.queue)), topic == protocol.TopicTimer && q == 0
}

func (f *fakeStore) QueueUnits(_ string, _ int32, offset int64, n int) ([]store.QueueUnit, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if offset < f.lowest || offset >= int64(len(f.queue)) {
		return nil, store.ErrNotFound
	}
	return slices.Clone(f.queue[offset:min(int(offset)+n, len(f.queue))]), nil
}

func (f *fakeStore) Record(phys int64, dst []byte) ([]byte, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if phys >= int64(len(f.log)) || f.log[phys] == nil {
		return nil, fmt.Errorf("position %d: %w", phys, store.ErrNotFound)
	}
	return append(dst, f.log[phys]...), nil
}

func (f *fakeStore) Reset() { f.batch = f.batch[:0] }

func (f *fakeStore) Add(m *store.Message) error {
	if len(m.Properties) > protocol.MaxPropertiesLength {
		return store.ErrMessageTooLarge
	}
	c := *m
	c.Properties, c.Body = slices.Clone(m.Properties), slices.Clone(m.Body)
	c.Topic, c.Tags, c.Keys, c.UniqKey = strings.Clone(m.Topic), strings.Clone(m.Tags), strings.Clone(m.Keys), strings.Clone(m.UniqKey)
	f.batch = append(f.batch, c)
	return nil
}

func (f *fakeStore) Append() (int64, error) {
	f.mu.Lock()
	if f.fail != nil {
		f.mu.Unlock()
		return 0, f.fail
	}
	var rolled []store.Arrival
	for _, m := range f.batch {
		if m.Topic == protocol.TopicTimer {
			f.putLocked(m)
			rolled = append(rolled, store.Arrival{Topic: m.Topic, QueueOffset: int64(len(f.queue) - 1)})
			continue
		}
		f.delivered = append(f.delivered, delivery{m, f.clk.Now().UnixMilli()})
	}
	notify, end := f.notify, int64(len(f.log)+len(f.delivered))
	f.mu.Unlock()
	if len(rolled) > 0 && notify != nil {
		notify(rolled)
	}
	return end, nil
}

func (f *fakeStore) AwaitSafe(_ int64, done func(error)) {
	f.mu.Lock()
	err := f.safe
	f.safe = nil
	f.mu.Unlock()
	done(err)
}

// came looks through everything, as the key index would.
func (f *fakeStore) came(topic, key string, match func(string) bool) (bool, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, d := range f.delivered {
		if d.m.Topic == topic && d.m.UniqKey == key && match(string(d.m.Properties)) {
			return true, nil
		}
	}
	for _, rec := range f.log {
		var v protocol.MessageView
		if _, err := protocol.DecodeMessage(rec, &v); err != nil {
			continue
		}
		if k, _ := v.Property(protocol.PropertyUniqKey); v.Topic == topic && k == key && match(v.Properties) {
			return true, nil
		}
	}
	return false, nil
}

func (f *fakeStore) set(edit func(f *fakeStore)) {
	f.mu.Lock()
	defer f.mu.Unlock()
	edit(f)
}

func (f *fakeStore) got() []delivery {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.delivered)
}

// rig is a service on a fake store and a disk in memory, driven step by step: no goroutine of the service runs, so that a test sees
// exactly what happens when.
type rig struct {
	*fakeStore
	t    *testing.T
	disk *fs.Mem
	s    *Service
	o    Options
}

const root = "/store"

var begin = time.UnixMilli(1_700_000_000_400)

func newRig(t *testing.T) *rig {
	t.Helper()
	r := &rig{fakeStore: &fakeStore{clk: clock.NewFake(begin)}, t: t, disk: fs.NewMem(nil)}
	r.o = Options{Source: r.fakeStore, Sink: r.fakeStore, Root: root, Clock: r.clk, LogFileSize: 52 * 100, Came: r.came}
	return r
}

// open makes a service as a new process would, without its goroutines.
func (r *rig) open() {
	r.t.Helper()
	if err := r.tryOpen(); err != nil {
		r.t.Fatal(err)
	}
}

func (r *rig) tryOpen() error {
	o := r.o
	o.FS = r.disk
	r.s = New(o)
	r.set(func(f *fakeStore) { f.notify = r.s.Notify })
	return r.s.begin()
}

// run does everything that can be done now, and saves when it is time.
func (r *rig) run() time.Time {
	for {
		r.s.land()
		next, pending := r.s.step()
		if r.s.saves.busy {
			snap := <-r.s.saves.todo
			r.s.flushOne(snap)
			r.s.saved(snap)
			continue
		}
		if !pending {
			return time.Time{}
		}
		if next.After(r.clk.Now()) {
			return next
		}
	}
}

// until runs the service up to a time as its timer would, never beyond what it asked for.
func (r *rig) until(at time.Time) {
	r.t.Helper()
	for range 10_000_000 {
		next := r.run()
		if next.IsZero() || next.After(at) {
			r.clk.Set(at)
			r.run()
			return
		}
		r.clk.Set(next)
	}
	r.t.Fatal("the service does not sleep")
}

func (r *rig) pass(d time.Duration) { r.t.Helper(); r.until(r.clk.Now().Add(d)) }

// close ends the service as a clean stop does.
func (r *rig) close() {
	r.t.Helper()
	r.s.started = true
	if err := r.s.Close(); err != nil {
		r.t.Fatal(err)
	}
}

// kill leaves everything as a kill does: what was written stays.
func (r *rig) kill() { r.disk = r.disk.Reboot() }

// send stores a message with timer properties the way the send path does; due is what it asked for.
func (r *rig) send(id string, props ...string) (due int64) {
	r.t.Helper()
	return r.sendTo("T", id, props...)
}

func (r *rig) sendTo(topic, id string, props ...string) (due int64) {
	r.t.Helper()
	m := store.Message{Topic: topic, QueueID: 3, Body: []byte(id), BornTimestamp: 7, BornHost: host, StoreHost: host}
	m.Properties = protocol.AppendProperty(nil, "UNIQ_KEY", id)
	for i := 0; i < len(props); i += 2 {
		m.Properties = protocol.AppendProperty(m.Properties, props[i], props[i+1])
	}
	var v protocol.PropertyView
	v.Parse(string(m.Properties))
	due, asked, err := Due(&v, r.clk.Now().UnixMilli())
	if err != nil || !asked {
		r.t.Fatal(asked, err)
	}
	Divert(&m, due, r.s.tick, nil)
	r.putRaw(m)
	return due
}

func (r *rig) after(id string, d time.Duration) int64 {
	return r.send(id, "TIMER_DELAY_MS", strconv.FormatInt(d.Milliseconds(), 10))
}

// recall stores what deletes a message that is due at.
func (r *rig) recall(id string, due int64, withTopic bool) {
	r.t.Helper()
	r.send(id, "TIMER_DELIVER_MS", strconv.FormatInt(Out(due, r.s.tick)+1, 10), "TIMER_DEL_UNIQKEY", DeleteKey("T", id, withTopic), "TAGS", "_RECALL_TAG_")
}

// bodies are the delivered messages in order.
func (r *rig) bodies() (ids []string) {
	for _, d := range r.got() {
		ids = append(ids, string(d.m.Body))
	}
	return ids
}

func (r *rig) want(ids ...string) {
	r.t.Helper()
	if got := r.bodies(); !slices.Equal(got, ids) {
		r.t.Fatalf("delivered %v, want %v", got, ids)
	}
}

var errDisk = errors.New("input/output error")
