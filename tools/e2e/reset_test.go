package e2e

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/apache/rocketmq-client-go/v2/primitive"
	"github.com/apache/rocketmq-client-go/v2/producer"

	"github.com/seedmq/seedmq/tools/harness"
)

// followLimit is below the 10 s that clients wait by themselves. What we promise is 2 s, on a machine that is not busy; ordered consumers of
// the Go client need up to 7, for they wait for each other behind a lock of their own.
const followLimit = 9 * time.Second

func TestGoResetIsFollowed(t *testing.T) {
	t.Run("concurrent", func(t *testing.T) { resetIsFollowed(t, "go", "push") })
	t.Run("orderly", func(t *testing.T) { resetIsFollowed(t, "go", "orderly") })
}

// sendTo sends n messages to each of the queues of a topic.
func sendTo(t *testing.T, s *harness.Server, topic string, queues, n int, body string) {
	t.Helper()
	p := newProducer(t, s, "Sender"+body, producer.WithQueueSelector(producer.NewManualQueueSelector()))
	for i := range n {
		for q := range queues {
			m := primitive.NewMessage(topic, []byte(fmt.Sprintf("%s %d", body, i)))
			m.Queue = &primitive.MessageQueue{Topic: topic, BrokerName: brokerName, QueueId: q}
			mustSend(t, p, m)
		}
	}
	p.Shutdown()
}

// since is what a peer took after a moment and did not refuse.
func since(p *peer, begin time.Time) (out []took) {
	for _, m := range p.taken() {
		if m.at >= begin.UnixMicro() && !m.refused {
			out = append(out, m)
		}
	}
	return out
}

// seenAgain waits until the peer has taken the message at offset off of each queue after begin, and says how long that took.
func seenAgain(t *testing.T, p *peer, begin time.Time, off int64, queues ...int) time.Duration {
	t.Helper()
	last := int64(0)
	harness.Eventually(t, 30*time.Second, func() string {
		at := map[int]int64{}
		for _, m := range since(p, begin) {
			if m.offset == off && at[m.queue] == 0 {
				at[m.queue] = m.at
			}
		}
		for _, q := range queues {
			if at[q] == 0 {
				return fmt.Sprintf("queue %d is not consumed from %d", q, off)
			}
			last = max(last, at[q])
		}
		return ""
	})
	return time.UnixMicro(last).Sub(begin)
}

func progressIs(t *testing.T, s *harness.Server, group string, lag int) {
	t.Helper()
	harness.Eventually(t, 30*time.Second, func() string {
		out, _ := harness.Admin(t, s, "consumerProgress", "-g", group)
		if strings.Contains(out, fmt.Sprintf("Consume Diff Total: %d\n", lag)) {
			return ""
		}
		return out
	})
}

// resetIsFollowed moves a group of one live member back, forward, and to an offset of one queue, and then a group that is stopped.
func resetIsFollowed(t *testing.T, client, mode string) {
	ns := harness.Namesrv(t)
	s := harness.Broker(t, t.TempDir(), ns.Namesrv, "")
	harness.CreateTopic(t, s, "Replay", 3)
	sendTo(t, s, "Replay", 3, 50, "old")
	const group = "ReplayGroup"
	args := []string{"ns=" + s.Namesrv, "group=" + group, "topic=Replay", "mode=" + mode}
	p := startPeer(t, client, "a", args...)
	p.ready(t)
	progressIs(t, s, group, 0)

	follow := func(what string, d time.Duration) {
		t.Helper()
		t.Logf("%s, %s: %s: followed after %d ms", client, mode, what, d.Milliseconds())
		if d > followLimit {
			t.Errorf("%s: followed after %v", what, d)
		}
	}
	begin := time.Now()
	harness.MustAdmin(t, s, "start reset", "resetOffsetByTime", "-g", group, "-t", "Replay", "-s", "0")
	follow("back to the beginning", seenAgain(t, p, begin, 0, 0, 1, 2))
	follow("all of it", seenAgain(t, p, begin, 49, 0, 1, 2))
	progressIs(t, s, group, 0)

	begin = time.Now()
	harness.MustAdmin(t, s, "reset consumer offset to 20", "resetOffsetByTime", "-g", group, "-t", "Replay", "-s", "0", "-b", s.Broker, "-q", "1", "-o", "20")
	follow("one queue to an offset", seenAgain(t, p, begin, 20, 1))
	seenAgain(t, p, begin, 49, 1)
	for _, m := range since(p, begin) {
		if m.queue != 1 || m.offset < 20 {
			t.Fatalf("queue %d, offset %d was consumed again", m.queue, m.offset)
		}
	}
	p.Stop(t, 30*time.Second)

	// A slow member and more than it can do: all of that is skipped.
	p = startPeer(t, client, "b", append(args, "work=100")...)
	p.ready(t)
	sendTo(t, s, "Replay", 3, 400, "skipped")
	begin = time.Now()
	harness.MustAdmin(t, s, "#brokerName", "skipAccumulatedMessage", "-g", group, "-t", "Replay")
	sendTo(t, s, "Replay", 3, 1, "after")
	follow("to the end", seenAgain(t, p, begin, 450, 0, 1, 2))
	if n := len(since(p, begin)); n > 300 {
		t.Errorf("%d of 1200 messages were consumed after they had been skipped", n)
	}
	progressIs(t, s, group, 0)
	p.Stop(t, 30*time.Second)

	// Nobody there.
	harness.MustAdmin(t, s, "start reset", "resetOffsetByTime", "-g", group, "-t", "Replay", "-s", "0")
	progressIs(t, s, group, 3*451)
	begin = time.Now()
	p = startPeer(t, client, "c", args...)
	p.ready(t)
	seenAgain(t, p, begin, 0, 0, 1, 2)
	seenAgain(t, p, begin, 450, 0, 1, 2)
}

func TestGoResetOfTwoBrokers(t *testing.T) { resetOfTwoBrokers(t, "go") }

// resetOfTwoBrokers moves a group back whose topic is on two brokers: a client asks either of them who is in its group.
func resetOfTwoBrokers(t *testing.T, client string) {
	ns := harness.Namesrv(t)
	a := harness.Broker(t, t.TempDir(), ns.Namesrv, "")
	b := harness.Broker(t, t.TempDir(), ns.Namesrv, "brokerName=broker-b\n")
	for _, s := range []*harness.Server{a, b} {
		harness.MustAdmin(t, s, "success", "updateTopic", "-b", s.Broker, "-t", "Two", "-r", "2", "-w", "2")
	}
	harness.Eventually(t, 10*time.Second, func() string {
		if out, _ := harness.Admin(t, a, "topicRoute", "-t", "Two"); strings.Count(out, `"readQueueNums"`) != 2 {
			return out
		}
		return ""
	})
	p := newProducer(t, a, "SenderTwo")
	for i := range 40 {
		mustSend(t, p, primitive.NewMessage("Two", []byte(fmt.Sprint("m", i))))
	}
	c := startPeer(t, client, "two", "ns="+ns.Namesrv, "group=TwoGroup", "topic=Two")
	c.ready(t)
	all := func(begin time.Time) time.Duration {
		t.Helper()
		last := int64(0)
		harness.Eventually(t, 30*time.Second, func() string {
			bodies := map[string]bool{}
			for _, m := range since(c, begin) {
				bodies[m.body], last = true, m.at
			}
			if len(bodies) < 40 {
				return fmt.Sprintf("%d of 40 messages were consumed", len(bodies))
			}
			return ""
		})
		return time.UnixMicro(last).Sub(begin)
	}
	all(time.UnixMilli(0))
	progressIs(t, a, "TwoGroup", 0)
	begin := time.Now()
	harness.MustAdmin(t, a, "start reset", "resetOffsetByTime", "-g", "TwoGroup", "-t", "Two", "-s", "0")
	d := all(begin)
	t.Logf("%s: two brokers: followed after %d ms", client, d.Milliseconds())
	if d > followLimit {
		t.Errorf("followed after %v", d)
	}
	progressIs(t, a, "TwoGroup", 0)
}
