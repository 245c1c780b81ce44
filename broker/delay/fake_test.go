package delay

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/seedmq/seedmq/conf/clock"
	"github.com/seedmq/seedmq/remoting/protocol"
	"github.com/seedmq/seedmq/store"
	"github.com/seedmq/seedmq/store/fs"
)

// fakeStore keeps the schedule topic and what was delivered in memory. It outlives services, as a store outlives a kill.
type fakeStore struct {
	mu        sync.Mutex
	clk       *clock.Fake
	log       [][]byte
	queues    map[int32][]store.QueueUnit
	lowest    map[int32]int64
	delivered []delivery
	batch     []store.Message
	appends   int
	fail      error // of Append
	refuse    string
	safe      error // of AwaitSafe
	holdSafe  bool
	waiting   []func(error)
	readErr   error
	notify    func([]store.Arrival)
}

// delivery is a message that came back, and when.
type delivery struct {
	m  store.Message
	at time.Time
}

func newFakeStore() *fakeStore {
	return &fakeStore{clk: clock.NewFake(time.UnixMilli(1_700_000_000_000)), queues: map[int32][]store.QueueUnit{}, lowest: map[int32]int64{}}
}

// put stores a message for level as the send path does, and announces it.
func (f *fakeStore) put(levels *Levels, level int32, m store.Message) {
	levels.Divert(&m, level, nil)
	f.putRaw(m)
}

func (f *fakeStore) putRaw(m store.Message) {
	f.mu.Lock()
	now := f.clk.Now().UnixMilli()
	rec := protocol.AppendRecord(nil, &protocol.RecordFields{
		QueueID: m.QueueID, Flag: m.Flag, SysFlag: m.SysFlag, BornTimestamp: m.BornTimestamp, BornHost: m.BornHost,
		StoreHost: m.StoreHost, StoreTimestamp: now, ReconsumeTimes: m.ReconsumeTimes, Body: m.Body, Topic: m.Topic,
		Properties: string(m.Properties), PhysicalOffset: int64(len(f.log)),
	})
	f.log = append(f.log, rec)
	u := store.QueueUnit{PhysicalOffset: int64(len(f.log) - 1), Size: int32(len(rec)), TagsCode: now + m.DelayMs}
	f.queues[m.QueueID] = append(f.queues[m.QueueID], u)
	a := store.Arrival{Topic: m.Topic, QueueID: m.QueueID, QueueOffset: int64(len(f.queues[m.QueueID]) - 1)}
	notify := f.notify
	f.mu.Unlock()
	if notify != nil {
		notify([]store.Arrival{{Topic: "Other", QueueID: 0}, a})
	}
}

func (f *fakeStore) QueueRange(topic string, q int32) (int64, int64, bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	us, ok := f.queues[q]
	return f.lowest[q], int64(len(us)), ok && topic == protocol.TopicSchedule
}

func (f *fakeStore) Queues(string) []int32 {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Collect(maps.Keys(f.queues))
}

func (f *fakeStore) QueueUnits(_ string, q int32, offset int64, n int) ([]store.QueueUnit, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	us := f.queues[q]
	if offset < f.lowest[q] || offset >= int64(len(us)) {
		return nil, store.ErrNotFound
	}
	return slices.Clone(us[offset:min(int(offset)+n, len(us))]), nil
}

func (f *fakeStore) Record(phys int64, dst []byte) ([]byte, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.readErr != nil {
		return nil, f.readErr
	}
	if f.log[phys] == nil {
		return nil, fmt.Errorf("position %d: %w", phys, store.ErrNotFound)
	}
	return append(dst, f.log[phys]...), nil
}

func (f *fakeStore) Reset() { f.batch = f.batch[:0] }

func (f *fakeStore) Add(m *store.Message) error {
	if m.Topic == f.refuse {
		return store.ErrMessageTooLarge
	}
	c := *m
	c.Properties, c.Body = slices.Clone(m.Properties), slices.Clone(m.Body)
	f.batch = append(f.batch, c)
	return nil
}

func (f *fakeStore) Append() (int64, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.fail != nil {
		return 0, f.fail
	}
	f.appends++
	for _, m := range f.batch {
		f.delivered = append(f.delivered, delivery{m, f.clk.Now()})
	}
	return int64(len(f.delivered)), nil
}

func (f *fakeStore) AwaitSafe(_ int64, done func(error)) {
	f.mu.Lock()
	err, hold := f.safe, f.holdSafe
	f.safe = nil
	if hold {
		f.waiting = append(f.waiting, done)
	}
	f.mu.Unlock()
	if !hold {
		done(err)
	}
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

// rig is a service on a fake store.
type rig struct {
	*fakeStore
	t      *testing.T
	disk   *fs.Mem
	levels *Levels
	s      *Service
}

const path = "/store/config/delayOffset.json"

func newRig(t *testing.T, table string) *rig {
	t.Helper()
	levels, err := ParseLevels(table)
	if err != nil {
		t.Fatal(err)
	}
	r := &rig{fakeStore: newFakeStore(), t: t, disk: fs.NewMem(nil), levels: levels}
	t.Cleanup(func() { r.stop() })
	return r
}

// start starts a service; a running one is left as a kill would leave it, but for its goroutines.
func (r *rig) start(edit func(o *Options)) {
	r.t.Helper()
	if r.s != nil {
		r.s.g.Close()
	}
	o := Options{Levels: r.levels, Source: r.fakeStore, Sink: r.fakeStore, FS: r.disk, Path: path, Clock: r.clk}
	if edit != nil {
		edit(&o)
	}
	r.s = New(o)
	r.set(func(f *fakeStore) { f.notify = r.s.Notify })
	if err := r.s.Start(); err != nil {
		r.t.Fatal(err)
	}
}

func (r *rig) stop() {
	if r.s != nil {
		if err := r.s.Close(); err != nil {
			r.t.Error(err)
		}
		r.s = nil
	}
}

func (r *rig) msg(topic string, queue int32, body string) store.Message {
	return store.Message{Topic: topic, QueueID: queue, Body: []byte(body), BornTimestamp: 7, BornHost: host, StoreHost: host}
}

// await waits until n messages came back in all.
func (r *rig) await(n int) []delivery {
	r.t.Helper()
	var got []delivery
	waitFor(r.t, func() (bool, string) {
		got = r.got()
		return len(got) >= n, fmt.Sprintf("%d messages of %d", len(got), n)
	})
	if len(got) != n {
		r.t.Fatalf("%d messages, want %d", len(got), n)
	}
	return got
}

// asleep waits until the service sleeps until a time (the persist loop's timer is the other one), or without one.
func (r *rig) asleep(timers int) {
	r.t.Helper()
	waitFor(r.t, func() (bool, string) {
		return r.clk.Timers() == timers && len(r.s.wake) == 0, fmt.Sprintf("%d timers of %d", r.clk.Timers(), timers)
	})
}

// settle returns after a pass that began after the call.
func (r *rig) settle() {
	for range 2 { // the second is taken after the pass that the first woke
		r.s.wake <- struct{}{}
	}
	waitFor(r.t, func() (bool, string) { return len(r.s.wake) == 0, "the service does not wake" })
}

const (
	pending = 2 // timers while something is waited for
	idle    = 1 // and while not
)

func waitFor(t *testing.T, ok func() (bool, string)) {
	t.Helper()
	deadline := time.Now().Add(10 * time.Second)
	for {
		done, why := ok()
		if done {
			return
		}
		if time.Now().After(deadline) {
			t.Fatal("timeout: ", why)
		}
		time.Sleep(100 * time.Microsecond)
	}
}

var errDisk = errors.New("no space left on device")
