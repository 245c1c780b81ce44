package e2e

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/seedmq/seedmq/tools/harness"
)

// sendMany sends n messages to a topic through one connection.
func sendMany(t *testing.T, s *harness.Server, topic, body string, n int) {
	t.Helper()
	w := mustDial(t, s.Broker)
	for i := range n {
		if _, err := w.send(topic, 0, fmt.Sprint(body, i), nil); err != nil {
			t.Fatal(err)
		}
	}
}

func TestGoPurgeIsFollowed(t *testing.T) {
	t.Run("concurrent", func(t *testing.T) { purgeIsFollowed(t, "go", "push") })
	t.Run("orderly", func(t *testing.T) { purgeIsFollowed(t, "go", "orderly") })
}

// purgeIsFollowed purges a topic of which a live member has far more than it can do: what comes next it gets soon, and of what was purged little
// more than it had in its hands.
func purgeIsFollowed(t *testing.T, client, mode string) {
	const topic, group, messages = "Purge", "PurgeGroup", 3000 // more than a client keeps in its hands
	ns := harness.Namesrv(t)
	s := harness.Broker(t, t.TempDir(), ns.Namesrv, "")
	harness.CreateTopic(t, s, topic, 1)
	p := startPeer(t, client, "a", "ns="+s.Namesrv, "group="+group, "topic="+topic, "mode="+mode, "work=20")
	p.ready(t)
	sendMany(t, s, topic, "old ", messages)
	harness.Eventually(t, 30*time.Second, func() string {
		if len(p.taken()) == 0 {
			return "the member gets nothing"
		}
		return ""
	})
	begin := time.Now()
	harness.MustAdmin(t, s, fmt.Sprintf("purge of %d messages of topic %s success", messages, topic), "purgeTopic", "-b", s.Broker, "-t", topic, "-y")
	sendMany(t, s, topic, "new ", 1)
	d := seenAgain(t, p, begin, messages, 0)
	t.Logf("%s, %s: the next message after %d ms", client, mode, d.Milliseconds())
	if d > followLimit {
		t.Errorf("the next message came after %v", d)
	}
	if n := len(since(p, begin)); n > messages/2 {
		t.Errorf("%d of %d messages were consumed after they had been purged", n, messages)
	}
	progressIs(t, s, group, 0)
	p.Stop(t, 30*time.Second)
}

// TestGoConsumerAndTTL: a consumer that comes late gets nothing that is too old, and what is sent then; its lag is 0.
func TestGoConsumerAndTTL(t *testing.T) {
	const ttl = 3 * time.Second
	s := harness.MQServer(t, "")
	harness.CreateTopic(t, s, "GoTTL", 1)
	harness.MustAdmin(t, s, "success", "updateTopic", "-b", s.Broker, "-t", "GoTTL", "-r", "1", "-w", "1", "-a", fmt.Sprintf("+message.ttl.ms=%d", ttl.Milliseconds()))
	sendMany(t, s, "GoTTL", "old ", 3000)
	old := time.Now()
	harness.Eventually(t, 2*ttl, func() string {
		if time.Since(old) <= ttl {
			return "not too old yet"
		}
		return ""
	})
	var g got
	c := newPush(t, s, "GoTTLGroup", "c", "GoTTL", "*", g.handler(""))
	defer c.Shutdown()
	noLag := func() string {
		out, _ := harness.Admin(t, s, "consumerProgress", "-g", "GoTTLGroup")
		if !strings.Contains(out, "Diff Total: 0") {
			return out
		}
		return ""
	}
	harness.Eventually(t, 30*time.Second, noLag)
	sendMany(t, s, "GoTTL", "new ", 5)
	harness.Eventually(t, 30*time.Second, func() string {
		if n := g.distinct("new "); n < 5 {
			return fmt.Sprintf("%d of 5 new messages", n)
		}
		return ""
	})
	if n := g.distinct("old "); n > 0 {
		t.Errorf("%d messages were delivered that are too old", n)
	}
	harness.Eventually(t, 30*time.Second, noLag)
	harness.MustAdmin(t, s, "ttlPassedOverMessages           : 3000", "brokerStatus", "-b", s.Broker)
}
