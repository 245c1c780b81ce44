//go:build peers

package e2e

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/seedmq/seedmq/remoting/protocol"
	"github.com/seedmq/seedmq/tools/harness"
)

// exchangeConf makes small files, so that all kinds of them are rolled, and tables that are soon on disk.
const exchangeConf = `mappedFileSizeCommitLog=1048576
mappedFileSizeConsumeQueue=6000
maxHashSlotNum=1000
maxIndexNum=4000
messageDelayLevel=1s 5s 25s 1m
flushDelayOffsetInterval=500
flushConsumerOffsetInterval=500
`

const (
	exchangeTopic  = "Exchange"
	exchangeDelay  = "ExchangeDelay"
	exchangeGroup  = "ExchangeGroup"
	exchangeQueues = 4
	delayLevel     = "3"
	delayTime      = 25 * time.Second
)

// book is what a store must hold, whoever wrote it.
type book struct {
	mu      sync.Mutex
	queues  [exchangeQueues][]string // bodies by offset; "" is one that nobody acknowledged and that was not looked at
	sending map[string]bool          // perhaps stored
	keys    []string                 // unique keys of what was acknowledged, oldest first
	n       atomic.Int64
	commits map[int32]int64
	delayed map[string]time.Time // by body, not before when they may come
	topics  []string
}

func newBook() *book {
	return &book{sending: map[string]bool{}, commits: map[int32]int64{}, delayed: map[string]time.Time{}}
}

func keyOf(body string) string {
	n, _, _ := strings.Cut(body, " ")
	return n
}

// next makes a message for a queue: unique, of changing size, with a tag, a key and a unique key.
func (b *book) next(queue int32) (string, int32, string, protocol.Properties) {
	n := b.n.Add(1)
	body := fmt.Sprintf("m%d %s", n, strings.Repeat("x", int(n*37%900)))
	b.mu.Lock()
	b.sending[body] = true
	b.mu.Unlock()
	return exchangeTopic, queue, body, protocol.Properties{protocol.PropertyUniqKey: "U" + keyOf(body),
		protocol.PropertyKeys: keyOf(body) + " all", protocol.PropertyTags: fmt.Sprint("tag", n%5), "colour": "蓝"}
}

func (b *book) acked(queue int32, offset int64, body string) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	delete(b.sending, body)
	q := b.queues[queue]
	for int64(len(q)) <= offset {
		q = append(q, "")
	}
	if q[offset] != "" {
		return fmt.Errorf("queue %d offset %d is given twice", queue, offset)
	}
	q[offset] = body
	b.queues[queue] = q
	b.keys = append(b.keys, keyOf(body))
	return nil
}

// load sends with one connection for each queue until stop says so or the broker is gone.
func (b *book) load(t *testing.T, ctx context.Context, addr string, mayEnd bool) (wait func()) {
	var g sync.WaitGroup
	for q := range int32(exchangeQueues) {
		g.Go(func() {
			var body string
			err := sendLoop(ctx, addr, func() (string, int32, string, protocol.Properties) {
				topic, queue, text, props := b.next(q)
				body = text
				return topic, queue, text, props
			}, func(h *protocol.SendMessageResponseHeader) {
				if err := b.acked(q, h.QueueOffset, body); err != nil {
					t.Error(err)
				}
			})
			if err != nil && !mayEnd {
				t.Errorf("queue %d: %v", q, err)
			}
		})
	}
	return g.Wait
}

// loadSome sends about n messages.
func (b *book) loadSome(t *testing.T, s *harness.Server, n int64) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	until := b.n.Load() + n
	wait := b.load(t, ctx, s.Broker, false)
	harness.Eventually(t, 30*time.Second, func() string {
		if b.n.Load() < until {
			return "the broker is slow"
		}
		return ""
	})
	cancel()
	wait()
}

// killUnderLoad kills the broker while it is sent to.
func (b *book) killUnderLoad(t *testing.T, s *harness.Server, n int64) {
	t.Helper()
	until := b.n.Load() + n
	wait := b.load(t, context.Background(), s.Broker, true)
	harness.Eventually(t, 30*time.Second, func() string {
		if b.n.Load() < until {
			return "the broker is slow"
		}
		return ""
	})
	s.Proc.Kill()
	wait()
}

// check reads every message: all that were acknowledged are in their places, no others but some that were being sent, and none twice.
func (b *book) check(t *testing.T, w *wire) {
	t.Helper()
	seen := map[string]bool{}
	total := 0
	for q := range int32(exchangeQueues) {
		all := w.readAll(t, exchangeTopic, q, 0)
		for i := range all {
			v := &all[i]
			body := string(v.Body)
			if seen[body] {
				t.Fatalf("queue %d offset %d: %s is there twice", q, i, keyOf(body))
			}
			seen[body] = true
			if v.Topic != exchangeTopic || v.QueueID != q {
				t.Fatalf("queue %d offset %d: of %s/%d", q, i, v.Topic, v.QueueID)
			}
			if key, _ := v.Property(protocol.PropertyUniqKey); key != "U"+keyOf(body) {
				t.Fatalf("queue %d offset %d: unique key %s of %s", q, i, key, keyOf(body))
			}
			if colour, _ := v.Property("colour"); colour != "蓝" {
				t.Fatalf("queue %d offset %d: properties %q", q, i, v.Properties)
			}
			if i < len(b.queues[q]) && b.queues[q][i] != "" {
				if b.queues[q][i] != body {
					t.Fatalf("queue %d offset %d: %s, was acknowledged for %s", q, i, keyOf(body), keyOf(b.queues[q][i]))
				}
				continue
			}
			if !b.sending[body] {
				t.Fatalf("queue %d offset %d: %s, which nobody sent there", q, i, keyOf(body))
			}
			if err := b.acked(q, int64(i), body); err != nil {
				t.Fatal(err)
			}
		}
		if len(all) < len(b.queues[q]) {
			t.Fatalf("queue %d: %d messages, %d were acknowledged", q, len(all), len(b.queues[q]))
		}
		total += len(all)
	}
	clear(b.sending) // what is not there now must never come
	t.Logf("%d messages", total)
}

// checkKeys asks the index for n of the keys from the from-th on.
func (b *book) checkKeys(t *testing.T, w *wire, from, n int) {
	t.Helper()
	from = max(from, 0)
	step := max((len(b.keys)-from)/n, 1)
	for i := from; i < len(b.keys); i += step {
		key := b.keys[i]
		for _, unique := range []bool{true, false} {
			ask := key
			if unique {
				ask = "U" + key
			}
			harness.Eventually(t, 10*time.Second, func() string { // the index is behind the log a little
				found, err := w.query(exchangeTopic, ask, unique)
				if err != nil || len(found) != 1 || keyOf(string(found[0].Body)) != key {
					return fmt.Sprintf("key %s (%d of %d): %d found, %v", ask, i, len(b.keys), len(found), err)
				}
				return ""
			})
		}
	}
}

// commit moves the group's offsets.
func (b *book) commit(t *testing.T, w *wire) {
	t.Helper()
	for q := range int32(exchangeQueues) {
		b.commits[q] += 7 + int64(q)
		if err := w.commit(exchangeTopic, exchangeGroup, q, b.commits[q]); err != nil {
			t.Fatal(err)
		}
	}
}

func (b *book) checkTables(t *testing.T, w *wire) {
	t.Helper()
	for q, want := range b.commits {
		if got, err := w.committed(exchangeTopic, exchangeGroup, q); err != nil || got != want {
			t.Errorf("queue %d: offset %d, %v, want %d", q, got, err, want)
		}
	}
	var topics struct {
		TopicConfigTable map[string]protocol.TopicConfig
	}
	w.table(t, protocol.ReqGetAllTopicConfig, &topics)
	for i, name := range b.topics {
		if c, ok := topics.TopicConfigTable[name]; !ok || c.ReadQueueNums != int32(i%5+1) || c.WriteQueueNums != c.ReadQueueNums || c.Perm != 6 {
			t.Errorf("topic %s: %v %+v", name, ok, c)
		}
	}
	var groups struct {
		SubscriptionGroupTable map[string]protocol.SubscriptionGroupConfig
	}
	w.table(t, protocol.ReqGetAllSubscriptionGroupConfig, &groups)
	if g, ok := groups.SubscriptionGroupTable[exchangeGroup]; !ok || g.RetryMaxTimes != 5 || g.RetryQueueNums != 2 || !g.ConsumeEnable {
		t.Errorf("group: %v %+v", ok, g)
	}
}

func (b *book) makeTopic(t *testing.T, s *harness.Server) {
	t.Helper()
	name := fmt.Sprintf("ExchangeTopic%d", len(b.topics))
	harness.CreateTopic(t, s, name, len(b.topics)%5+1)
	b.topics = append(b.topics, name)
}

// delay sends delayed messages that are not due before the other side has the store.
func (b *book) delay(t *testing.T, w *wire) {
	t.Helper()
	for range 3 {
		body := fmt.Sprintf("d%d", b.n.Add(1))
		b.delayed[body] = time.Now().Add(delayTime)
		if _, err := w.send(exchangeDelay, 0, body, protocol.Properties{protocol.PropertyDelay: delayLevel, protocol.PropertyUniqKey: "U" + body}); err != nil {
			t.Fatal(err)
		}
	}
}

// checkDelayed waits for all delayed messages and sees that none came early or twice.
func (b *book) checkDelayed(t *testing.T, w *wire) {
	t.Helper()
	var all []protocol.MessageView
	harness.Eventually(t, delayTime+20*time.Second, func() string {
		all = w.readAll(t, exchangeDelay, 0, 0)
		if len(all) < len(b.delayed) {
			return fmt.Sprintf("%d of %d delayed messages are there", len(all), len(b.delayed))
		}
		return ""
	})
	seen := map[string]bool{}
	for i := range all {
		body := string(all[i].Body)
		if early := b.delayed[body].Sub(time.UnixMilli(all[i].StoreTimestamp)); early > 5*time.Millisecond || seen[body] || b.delayed[body].IsZero() {
			t.Errorf("delayed message %s: %v early, seen before: %v", body, early, seen[body])
		}
		seen[body] = true
	}
}

// settle waits until offsets and delay offsets are on disk, which a kill would otherwise take back a little.
func (b *book) settle(t *testing.T, dir string) {
	t.Helper()
	harness.Eventually(t, 30*time.Second, func() string {
		var o struct{ OffsetTable map[string]map[int32]int64 }
		var d struct{ OffsetTable map[int32]int64 }
		for name, v := range map[string]any{"consumerOffset.json": &o, "delayOffset.json": &d} {
			text, err := os.ReadFile(filepath.Join(dir, "store", "config", name))
			if errors.Is(err, os.ErrNotExist) && len(b.delayed) == 0 && v == &d {
				continue
			}
			if err == nil {
				err = protocol.UnmarshalFast(text, v)
			}
			if err != nil {
				return fmt.Sprint(name, ": ", err)
			}
		}
		for q, want := range b.commits {
			if got := o.OffsetTable[exchangeTopic+"@"+exchangeGroup][q]; got != want {
				return fmt.Sprintf("consumerOffset.json has %d for queue %d, want %d", got, q, want)
			}
		}
		if got := d.OffsetTable[3]; got != int64(len(b.delayed)) {
			return fmt.Sprintf("delayOffset.json has %d, want %d", got, len(b.delayed))
		}
		return ""
	})
}

// checkFiles sees that all files have the sizes that Java insists on.
func checkFiles(t *testing.T, dir string) {
	t.Helper()
	for name, size := range map[string]int64{"commitlog": 1 << 20, "consumequeue": 6000, "index": 40 + 4*1000 + 20*4000} {
		err := filepath.Walk(filepath.Join(dir, "store", name), func(path string, i os.FileInfo, err error) error {
			if err == nil && !i.IsDir() && i.Size() != size {
				t.Errorf("%s has %d bytes, want %d", path, i.Size(), size)
			}
			return err
		})
		if err != nil {
			t.Error(err)
		}
	}
}

// leaveBehind makes what our recovery may leave in a store and Java does not know.
func leaveBehind(t *testing.T, dir string) {
	t.Helper()
	for _, name := range []string{"bad/index/20260101000000000", "bad/consumequeue/x", "torn/00000000000000000000.torn"} {
		path := filepath.Join(dir, "store", name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte("put aside"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

func stop(t *testing.T, s *harness.Server) {
	t.Helper()
	if err := s.Proc.Stop(t, 60*time.Second); err != nil && !strings.Contains(err.Error(), "143") { // Java's status after SIGTERM
		t.Fatal(err)
	}
}

// The same store goes from our broker to Apache's and back, after clean stops and after kills.
func TestExchangeJava(t *testing.T) {
	for _, release := range []string{harness.Java5, harness.Java4Broker} {
		t.Run(release, func(t *testing.T) {
			t.Parallel() // most of it is waiting for delays
			exchange(t, release)
		})
	}
}

func exchange(t *testing.T, release string) {
	dir := t.TempDir()
	ns := harness.Namesrv(t)
	ours := func() *harness.Server { return harness.Broker(t, dir, ns.Namesrv, exchangeConf) }
	java := func() *harness.Server { return harness.JavaBrokerOf(t, release, dir, ns.Namesrv, exchangeConf) }
	b := newBook()

	s := ours()
	harness.CreateTopic(t, s, exchangeTopic, exchangeQueues)
	harness.CreateTopic(t, s, exchangeDelay, 1)
	harness.MustAdmin(t, s, "success", "updateSubGroup", "-b", s.Broker, "-g", exchangeGroup, "-r", "5", "-q", "2")
	b.turn(t, s, 6000)
	stop(t, s)
	checkFiles(t, dir)
	leaveBehind(t, dir)

	t.Log("Java opens what we have closed")
	s = java()
	b.look(t, s, 0)
	b.turn(t, s, 3000)
	stop(t, s)

	t.Log("we open what Java has closed")
	s = ours()
	b.look(t, s, 0)
	b.turn(t, s, 2000)
	b.killUnderLoad(t, s, 3000)
	checkFiles(t, dir)

	t.Log("Java opens what we left when we were killed")
	s = java()
	b.look(t, s, len(b.keys)-500) // it drops index files younger than the checkpoint, and reads the log's end again
	b.turn(t, s, 2000)
	b.killUnderLoad(t, s, 2000)

	t.Log("we open what Java left when it was killed")
	s = ours()
	b.look(t, s, 0)
	b.turn(t, s, 500)
	stop(t, s)
	checkFiles(t, dir)
	s = ours()
	b.look(t, s, 0)
}

// turn is one broker's time with the store.
func (b *book) turn(t *testing.T, s *harness.Server, n int64) {
	t.Helper()
	w := mustDial(t, s.Broker)
	b.loadSome(t, s, n)
	b.makeTopic(t, s)
	b.commit(t, w)
	b.settle(t, s.Data)
	b.delay(t, w)
}

// look sees that a broker has all that the one before it had.
func (b *book) look(t *testing.T, s *harness.Server, keysFrom int) {
	t.Helper()
	w := mustDial(t, s.Broker)
	b.check(t, w)
	b.checkTables(t, w)
	b.checkKeys(t, w, keysFrom, 100)
	b.checkDelayed(t, w)
}

// One store has one broker: the second is refused, whichever it is, and the first goes on undisturbed.
func TestExchangeLock(t *testing.T) {
	for _, release := range []string{harness.Java5, harness.Java4Broker} {
		t.Run(release, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			ns := harness.Namesrv(t)
			b := newBook()
			s := harness.JavaBrokerOf(t, release, dir, ns.Namesrv, exchangeConf)
			harness.CreateTopic(t, s, exchangeTopic, exchangeQueues)
			b.loadSome(t, s, 1000)
			before := storeFiles(t, dir)
			if out := harness.BrokerRefused(t, dir, ns.Namesrv, exchangeConf); !strings.Contains(out, "lock") {
				t.Errorf("our broker does not say why it was refused:\n%s", out)
			}
			if after := storeFiles(t, dir); after != before {
				t.Errorf("our broker changed files:\n%s\nbefore\n%s", after, before)
			}
			b.loadSome(t, s, 1000)
			b.check(t, mustDial(t, s.Broker))
			stop(t, s)

			s = harness.Broker(t, dir, ns.Namesrv, exchangeConf)
			b.loadSome(t, s, 1000)
			harness.JavaBrokerRefused(t, release, dir, ns.Namesrv, exchangeConf)
			b.loadSome(t, s, 3000)
			b.check(t, mustDial(t, s.Broker))
			b.checkKeys(t, mustDial(t, s.Broker), 0, 100)
			stop(t, s)
			s = harness.Broker(t, dir, ns.Namesrv, exchangeConf)
			b.check(t, mustDial(t, s.Broker))
			b.checkKeys(t, mustDial(t, s.Broker), 0, 100)
		})
	}
}

// storeFiles lists the files that a second broker must not touch, with their sizes.
func storeFiles(t *testing.T, dir string) string {
	t.Helper()
	var list []string
	for _, sub := range []string{"commitlog", "consumequeue", "index"} {
		err := filepath.Walk(filepath.Join(dir, "store", sub), func(path string, i os.FileInfo, err error) error {
			if err == nil {
				list = append(list, fmt.Sprint(strings.TrimPrefix(path, dir), " ", i.Size()))
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return strings.Join(list, "\n")
}
