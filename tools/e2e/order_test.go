package e2e

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/apache/rocketmq-client-go/v2/primitive"
	"github.com/apache/rocketmq-client-go/v2/producer"

	"github.com/seedmq/seedmq/tools/harness"
)

const orderQueues = 4

// Ordered consumers of the Go client, see orderThroughMembers and the others; order_peers_test.go has Java's.
func TestGoOrder(t *testing.T) {
	t.Run("members", func(t *testing.T) { t.Parallel(); orderThroughMembers(t, "go") })
	t.Run("restart", func(t *testing.T) { t.Parallel(); orderThroughRestart(t, "go", false) })
	t.Run("kill", func(t *testing.T) { t.Parallel(); orderThroughRestart(t, "go", true) })
}

// order is a topic that is sent to, queue by queue, and the peers of one group that consume it.
type order struct {
	t      *testing.T
	s      *harness.Server
	client string
	args   []string
	peers  []*peer

	stop chan struct{}
	done chan struct{}
	sent [orderQueues]atomic.Int64
}

func newOrder(t *testing.T, client, conf string, more ...string) *order {
	ns := harness.Namesrv(t)
	o := &order{t: t, client: client, s: harness.Broker(t, t.TempDir(), ns.Namesrv, conf), stop: make(chan struct{}), done: make(chan struct{})}
	harness.CreateTopic(t, o.s, "Ordered", orderQueues)
	o.args = append([]string{"ns=" + ns.Namesrv, "group=OrderGroup", "topic=Ordered", "mode=orderly", "suspend=97"}, more...)
	p := newProducer(t, o.s, "OrderSender", producer.WithQueueSelector(producer.NewManualQueueSelector()), producer.WithSendMsgTimeout(2*time.Second))
	go func() {
		defer close(o.done)
		for n := 0; ; n++ {
			for q := range orderQueues {
				m := primitive.NewMessage("Ordered", []byte(fmt.Sprint(n)))
				m.Queue = &primitive.MessageQueue{Topic: "Ordered", BrokerName: brokerName, QueueId: q}
				for { // until it is stored; it may be stored twice when the broker dies
					select {
					case <-o.stop:
						return
					case <-time.After(5 * time.Millisecond):
					}
					if r, err := p.SendSync(context.Background(), m); err == nil && r.Status == primitive.SendOK {
						o.sent[q].Store(r.QueueOffset + 1)
						break
					}
				}
			}
		}
	}()
	t.Cleanup(o.end)
	return o
}

// end stops sending.
func (o *order) end() {
	select {
	case <-o.stop:
	default:
		close(o.stop)
	}
	<-o.done
}

func (o *order) join(name string) *peer {
	o.t.Helper()
	p := startPeer(o.t, o.client, name, o.args...)
	o.peers = append(o.peers, p)
	return p
}

// consumed waits until all queues have been consumed by the peers named in by after begin, each peer at least one, and says how
// long that took.
func (o *order) consumed(limit time.Duration, begin time.Time, by ...*peer) time.Duration {
	o.t.Helper()
	last := int64(0)
	harness.Eventually(o.t, limit, func() string {
		first, busy := map[int]int64{}, map[string]int64{}
		for _, m := range allTaken(by) {
			if m.at < begin.UnixMicro() || m.refused {
				continue
			}
			if busy[m.by] == 0 {
				busy[m.by] = m.at
			}
			if first[m.queue] == 0 {
				first[m.queue] = m.at
			}
		}
		if len(first) < orderQueues || len(busy) < len(by) {
			return fmt.Sprintf("%d of %d queues are consumed, by %d of %d members", len(first), orderQueues, len(busy), len(by))
		}
		last = slices.Max(append(slices.Collect(maps.Values(first)), slices.Collect(maps.Values(busy))...))
		return ""
	})
	return time.UnixMicro(last).Sub(begin)
}

// check waits until everything is consumed, and looks at the order.
func (o *order) check() {
	o.t.Helper()
	o.end()
	harness.Eventually(o.t, 45*time.Second, func() string {
		next := map[int]int64{}
		for _, m := range allTaken(o.peers) {
			if !m.refused {
				next[m.queue] = max(next[m.queue], m.offset+1)
			}
		}
		for q := range orderQueues {
			if sent := o.sent[q].Load(); next[q] < sent {
				return fmt.Sprintf("queue %d is consumed up to %d of %d", q, next[q], sent)
			}
		}
		return ""
	})
	all := allTaken(o.peers)
	next, again := checkOrder(o.t, all)
	total := int64(0)
	for q := range orderQueues {
		if next[q] < o.sent[q].Load() {
			o.t.Errorf("queue %d: %d of %d messages were consumed", q, next[q], o.sent[q].Load())
		}
		total += next[q]
	}
	refused := slices.IndexFunc(all, func(m took) bool { return m.refused && m.retries > 0 }) >= 0
	if total > 4*300 && !refused {
		o.t.Error("no message was refused twice")
	}
	o.t.Logf("%s: %d messages in order, %d of them came again", o.client, total, again)
}

// orderThroughMembers: members join, leave and are killed.
func orderThroughMembers(t *testing.T, client string) {
	o := newOrder(t, client, "")
	a, b := o.join("a"), o.join("b")
	a.ready(t)
	b.ready(t)
	o.consumed(50*time.Second, time.Now(), a, b)
	begin := time.Now()
	c := o.join("c")
	t.Logf("%s: a third member takes part after %d ms", client, o.consumed(50*time.Second, begin, a, b, c).Milliseconds())

	begin = time.Now()
	b.Stop(t, 30*time.Second)
	t.Logf("%s: the queues of one that left are consumed after %d ms", client, o.consumed(30*time.Second, begin, a, c).Milliseconds())

	begin = time.Now()
	a.Kill()
	after := o.consumed(30*time.Second, begin, c)
	t.Logf("%s: the queues of one that was killed are consumed after %d ms", client, after.Milliseconds())
	if after > 15*time.Second {
		t.Errorf("the queues of a dead member stood still for %v", after)
	}
	o.check()
}

// orderThroughRestart: the broker is stopped, or killed, and comes back.
func orderThroughRestart(t *testing.T, client string, kill bool) {
	o := newOrder(t, client, "", "heartbeat=3000")
	a, b := o.join("a"), o.join("b")
	a.ready(t)
	b.ready(t)
	o.consumed(50*time.Second, time.Now(), a, b)
	if kill {
		o.s.Proc.Kill()
	} else if err := o.s.Proc.Stop(t, 30*time.Second); err != nil {
		t.Errorf("stop of the broker: %v", err)
	}
	o.s.RestartBroker(t)
	begin := time.Now()
	t.Logf("%s: all queues are consumed %d ms after the restart", client, o.consumed(50*time.Second, begin, a, b).Milliseconds())
	o.check()
}
