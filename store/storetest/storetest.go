// Package storetest runs a store on a file system in memory, kills it where a test says so, and checks what is left.
// Only tests import it.
package storetest

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"net/netip"
	"runtime"
	"strings"
	"time"

	"github.com/seedmq/seedmq/conf/clock"
	"github.com/seedmq/seedmq/conf/xlog"
	"github.com/seedmq/seedmq/remoting/protocol"
	"github.com/seedmq/seedmq/store"
	"github.com/seedmq/seedmq/store/fs"
)

// Root is where the store lies in the memory file system.
const Root = "/data/store"

// Start is the first moment of the fake clock.
var Start = time.Date(2024, 5, 6, 7, 8, 9, 0, time.UTC)

// Sent is a message that was given to the store.
type Sent struct {
	N      int // in order of sending
	Topic  string
	Queue  int32
	Key    string
	Body   string
	Inner  int64    // how many messages it is, in a batch queue; else 0
	Light  []string // light queues that it enters
	Result store.AppendResult
}

// Bench is a store under test and what was done with it.
type Bench struct {
	FS    *fs.Mem
	Clock *clock.Fake
	Opt   store.Options
	Store *store.Store

	Tried []Sent // given to Append
	Acked []Sent // safe, as the store said
	// Hurt are bodies of messages whose records a test damaged: the format's checksum does not cover all of a record.
	Hurt map[string]bool
	// Refused, Gone and Unsure are numbers of messages that Append refused, whose topic was deleted, and whose topic may have
	// been.
	Refused, Gone, Unsure map[int]bool
	// Expired is the log position below which files may be gone.
	Expired int64

	hides  map[hideKey]hiding
	topics bool // topics.json is written
	rng    *rand.Rand
	batch  *store.Batch
}

// New returns a bench with small files on an empty disk. Change Opt before Open.
func New(seed uint64) *Bench {
	b := &Bench{Clock: clock.NewFake(Start), rng: rand.New(rand.NewPCG(seed, 1)),
		Refused: map[int]bool{}, Gone: map[int]bool{}, Unsure: map[int]bool{}, hides: map[hideKey]hiding{}}
	b.FS = fs.NewMem(b.Clock.Now)
	b.Opt = store.Options{
		Root: Root, CommitLogFileSize: 8 << 10, QueueFileUnits: 16, MaxMessageSize: 4 << 10,
		BatchFileUnits: 2, Light: true, BatchTopic: func(topic string) bool { return topic == BatchTopic },
		IndexEnabled: true, IndexSlots: 20, IndexEntries: 64, CheckCRCOnRecover: true,
		StoreHost: netip.MustParseAddrPort("127.0.0.1:10911"), Clock: b.Clock, NoPrepare: true,
	}
	return b
}

// Log sends the store's log to w.
func (b *Bench) Log(w interface{ Write([]byte) (int, error) }) {
	l, err := xlog.New(w, "info")
	if err != nil {
		panic(err)
	}
	b.Opt.Log = l
}

// Open opens the store on the present disk.
func (b *Bench) Open() error {
	b.Opt.FS = b.FS
	if !b.topics {
		if err := b.writeTopics(); err != nil {
			return err
		}
		b.topics = true
	}
	s, err := store.Open(b.Opt)
	if err != nil {
		return err
	}
	b.Store, b.batch = s, s.NewBatch()
	b.settle()
	return nil
}

// settle waits until the store's goroutines sleep: flusher (not always under sync flush), janitor and cleaner.
func (b *Bench) settle() {
	asleep := 3
	if b.Opt.SyncFlush {
		asleep = 2
	}
	for range 10_000 {
		if b.Clock.Timers() >= asleep {
			return
		}
		runtime.Gosched()
	}
}

// Advance lets time pass and waits until what is due was done.
func (b *Bench) Advance(d time.Duration) {
	b.Clock.Advance(d)
	b.settle()
}

// Crash replaces the disk by what a power failure left of it; with keepAll by what a killed process left.
func (b *Bench) Crash(seed uint64, keepAll bool) {
	b.FS.Kill()
	if b.Store != nil {
		_ = b.Store.Close() // its goroutines must end; it cannot write any more
		b.Store = nil
	}
	if keepAll {
		b.FS = b.FS.Reboot()
	} else {
		b.FS = b.FS.Crash(seed)
	}
}

// message makes the next message.
func (b *Bench) message(grouped bool) (store.Message, Sent) {
	n := len(b.Tried)
	s := Sent{N: n, Topic: fmt.Sprintf("T%d", b.rng.IntN(3)), Queue: int32(b.rng.IntN(2)), Key: fmt.Sprintf("k%d", n)}
	s.Body = fmt.Sprintf("m%d|%s", n, strings.Repeat(string(rune('a'+n%26)), b.rng.IntN(700)))
	m := store.Message{Topic: s.Topic, QueueID: s.Queue, BornTimestamp: 1, Body: []byte(s.Body), Keys: s.Key, Tags: "tag",
		BornHost: netip.MustParseAddrPort("10.0.0.1:1000")}
	if n%7 == 3 {
		m.BornHost = netip.MustParseAddrPort("[2001:db8::1]:1000")
	}
	m.Properties = protocol.AppendProperty(m.Properties, protocol.PropertyKeys, s.Key)
	m.Properties = protocol.AppendProperty(m.Properties, protocol.PropertyTags, "tag")
	if !grouped {
		b.vary(&m, &s)
	}
	return m, s
}

// Send appends one batch of up to 5 messages, a quarter of them as groups, and waits until it is safe.
func (b *Bench) Send() error {
	b.batch.Reset()
	first := len(b.Tried)
	count := 1 + b.rng.IntN(5)
	group := b.rng.IntN(4) == 0
	var ms []store.Message
	for range count {
		m, s := b.message(group)
		if group && len(ms) > 0 {
			s.Topic, s.Queue, m.Topic, m.QueueID = b.Tried[first].Topic, b.Tried[first].Queue, ms[0].Topic, ms[0].QueueID
		}
		ms = append(ms, m)
		b.Tried = append(b.Tried, s)
	}
	if group {
		if err := b.batch.AddGroup(ms); err != nil {
			return err
		}
	} else {
		for i := range ms {
			if err := b.batch.Add(&ms[i]); err != nil {
				return err
			}
		}
	}
	if err := b.Store.Append(b.batch); err != nil {
		for i := range count {
			b.Refused[first+i] = true
		}
		return err
	}
	for i := range count {
		b.Tried[first+i].Result = b.batch.Result(i)
	}
	safe := make(chan error, 1)
	b.Store.AwaitSafe(b.batch.End(), func(err error) { safe <- err })
	if err := <-safe; err != nil {
		return err
	}
	b.Acked = append(b.Acked, b.Tried[first:]...)
	return nil
}

// Play sends batches, and in between lets time pass and hides messages, until steps are done or an error ends it.
func (b *Bench) Play(steps int) error {
	for i := range steps {
		if err := b.Send(); err != nil {
			return err
		}
		if i%5 == 4 {
			b.Advance(1100 * time.Millisecond)
		}
		if i%13 == 12 {
			b.Advance(10 * time.Second) // queues and index are synced, the checkpoint moves
		}
		if i%7 == 4 {
			if err := b.Hide(); err != nil {
				return err
			}
		}
	}
	return nil
}

// Live is Play with topics that are deleted and files that expire.
func (b *Bench) Live(steps int) error {
	for i := range steps {
		if err := b.Play(1); err != nil {
			return err
		}
		if i%4 == 3 {
			b.Advance(1100 * time.Millisecond)
		}
		if i%5 == 2 {
			if err := b.Hide(); err != nil {
				return err
			}
		}
		var err error
		switch i {
		case steps / 4:
			err = b.DeleteTopic(BatchTopic)
		case steps / 3:
			err = b.DeleteTopic("T1")
		case steps / 2:
			err = b.Expire()
		case steps * 2 / 3:
			b.Advance(10 * time.Second)
		case steps * 3 / 4:
			err = b.DeleteTopic("T0")
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// DeleteTopic deletes a topic. On an error it may be gone or not.
func (b *Bench) DeleteTopic(topic string) error {
	for _, s := range b.Tried {
		if s.Topic == topic {
			b.Unsure[s.N] = true
		}
	}
	if err := b.Store.DeleteTopic(topic); err != nil {
		return err
	}
	for _, s := range b.Tried {
		if s.Topic == topic {
			delete(b.Unsure, s.N)
			b.Gone[s.N] = true
		}
	}
	return nil
}

// Expire lets all files become too old and has them deleted.
func (b *Bench) Expire() error {
	b.Expired = b.Store.Status().MaxPhys
	b.Advance(b.Opt.FileReservedTime + time.Minute)
	if err := b.Store.DeleteExpired(); err != nil {
		return err
	}
	for range 20 {
		b.Advance(100 * time.Millisecond) // the cleaner pauses between two files
	}
	return nil
}

// Check compares the store with what was sent: every acknowledged message is at its place, nothing else is served than
// what was sent, nothing twice, every queue is in the order of sending, queues and index say what the log says.
func (b *Bench) Check() error {
	for {
		start := b.Store.Status().MinPhys
		err := b.check()
		if err == nil || b.Store.Status().MinPhys == start {
			return err
		}
		// the cleaner removed a file meanwhile
	}
}

func (b *Bench) check() error {
	want := map[string]Sent{} // by body, which is unique
	for _, s := range b.Tried {
		want[s.Body] = s
	}
	seen := map[string]bool{}
	for _, topic := range b.Store.Topics() {
		for _, id := range b.Store.Queues(topic) {
			var err error
			if protocol.IsLMQ(topic) {
				err = b.checkLight(topic, want)
			} else {
				err = b.checkQueue(topic, id, want, seen)
			}
			if err != nil {
				return fmt.Errorf("queue %s/%d: %w", topic, id, err)
			}
		}
	}
	st := b.Store.Status()
	if st.MinPhys > b.Expired {
		return fmt.Errorf("the log begins at %d; nothing behind %d has expired", st.MinPhys, b.Expired)
	}
	for _, s := range b.Acked {
		if s.Result.PhysicalOffset < st.MinPhys || b.Gone[s.N] || b.Unsure[s.N] {
			continue
		}
		if !seen[s.Body] && b.hides[hideKey{s.Topic, s.Queue, s.N}] == shown {
			return fmt.Errorf("acknowledged message %d (%s/%d offset %d, log %d) is lost", s.N, s.Topic, s.Queue, s.Result.QueueOffset, s.Result.PhysicalOffset)
		}
		if b.Opt.IndexEnabled {
			if err := b.checkKey(s); err != nil {
				return err
			}
		}
	}
	return b.checkLog(seen)
}

func (b *Bench) checkQueue(topic string, id int32, want map[string]Sent, seen map[string]bool) error {
	from, to, _ := b.Store.QueueRange(topic, id)
	last, lastPhys := -1, int64(-1)
	for at := from; at < to; {
		buf, res := b.Store.Get(&store.GetRequest{Topic: topic, QueueID: id, Offset: at, MaxCount: 32, MaxBytes: 1 << 20}, nil)
		if res.Status != store.GetFound && res.Status != store.GetWasRemoving {
			return fmt.Errorf("get at %d: status %d, next %d", at, res.Status, res.NextBeginOffset)
		}
		if res.NextBeginOffset <= at {
			return fmt.Errorf("get at %d does not move on", at)
		}
		at = res.NextBeginOffset
		for len(buf) > 0 {
			var v protocol.MessageView
			n, err := protocol.DecodeMessage(buf, &v)
			if err != nil {
				return err
			}
			buf = buf[n:]
			s, ok := want[string(v.Body)]
			switch {
			case !ok:
				return fmt.Errorf("offset %d: a message that nobody sent: %.40q", v.QueueOffset, v.Body)
			case b.Gone[s.N]:
				return fmt.Errorf("offset %d: message %d, whose topic was deleted", v.QueueOffset, s.N)
			case b.hides[hideKey{topic, id, s.N}] == hidden:
				return fmt.Errorf("offset %d: message %d, which was hidden", v.QueueOffset, s.N)
			case seen[s.Body]:
				return fmt.Errorf("offset %d: message %d twice", v.QueueOffset, s.N)
			case s.N <= last || v.PhysicalOffset <= lastPhys:
				return fmt.Errorf("offset %d: message %d after %d, log %d after %d", v.QueueOffset, s.N, last, v.PhysicalOffset, lastPhys)
			case v.Topic != topic || v.QueueID != id || s.Topic != topic || s.Queue != id:
				return fmt.Errorf("offset %d: message of %s/%d", v.QueueOffset, v.Topic, v.QueueID)
			}
			units, err := b.Store.QueueUnits(topic, id, v.QueueOffset, 1)
			if err != nil || units[0].PhysicalOffset != v.PhysicalOffset || units[0].TagsCode != protocol.TagsCode("tag") && !b.Hurt[s.Body] {
				return fmt.Errorf("offset %d: unit %v, %v", v.QueueOffset, units, err)
			}
			if s.Inner > 0 {
				if err := checkInner(&v, s, at); err != nil {
					return err
				}
			}
			seen[s.Body], last, lastPhys = true, s.N, v.PhysicalOffset
		}
	}
	return nil
}

func (b *Bench) checkKey(s Sent) error {
	res, err := b.Store.QueryKey(s.Topic, s.Key, store.KeyUser, 10, 0, 1<<62)
	if err != nil {
		return fmt.Errorf("query %s: %w", s.Key, err)
	}
	for _, rec := range res.Records {
		var v protocol.MessageView
		if _, err := protocol.DecodeMessage(rec, &v); err == nil && string(v.Body) == s.Body {
			return nil
		}
	}
	return fmt.Errorf("query of key %s of message %d finds %d others", s.Key, s.N, len(res.Records))
}

// checkLog reads the log's files and compares them with what the queues served.
func (b *Bench) checkLog(seen map[string]bool) error {
	sent := map[string]Sent{}
	for _, s := range b.Tried {
		sent[s.Body] = s
	}
	st := b.Store.Status()
	n := 0
	for pos := st.MinPhys; pos < st.ConfirmedPhys; {
		start := pos - pos%b.Opt.CommitLogFileSize
		file, err := fs.ReadFile(b.FS, fmt.Sprintf("%s/commitlog/%020d", Root, start))
		if err != nil {
			return err
		}
		var v protocol.MessageView
		size, err := protocol.DecodeMessage(file[pos-start:], &v)
		if errors.Is(err, protocol.ErrBlankRecord) {
			pos = start + b.Opt.CommitLogFileSize
			continue
		}
		if err != nil {
			return fmt.Errorf("log at %d: %w", pos, err)
		}
		if v.PhysicalOffset != pos {
			return fmt.Errorf("log at %d: record of %d", pos, v.PhysicalOffset)
		}
		s := sent[string(v.Body)]
		absent := b.Gone[s.N] || b.Unsure[s.N] || b.hides[hideKey{s.Topic, s.Queue, s.N}] != shown
		if v.SysFlag&protocol.SysFlagTransactionMask == 0 && (!absent || seen[string(v.Body)]) {
			if n++; !seen[string(v.Body)] {
				return fmt.Errorf("log at %d: message %.20q is in no queue", pos, v.Body)
			}
		}
		pos += int64(size)
	}
	if n != len(seen) {
		return fmt.Errorf("the log has %d messages, the queues %d", n, len(seen))
	}
	return nil
}
