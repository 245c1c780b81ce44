package e2e

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/apache/rocketmq-client-go/v2/consumer"
	"github.com/apache/rocketmq-client-go/v2/primitive"

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

// TestGoConsumerAfterPurge: a live consumer of the stock client that lags does not get what was purged, but for what it has in its hands, and
// goes on with what comes next.
func TestGoConsumerAfterPurge(t *testing.T) {
	const messages = 5000 // more than a client keeps in its hands
	s := harness.MQServer(t, "")
	harness.CreateTopic(t, s, "GoPurge", 1)
	sendMany(t, s, "GoPurge", "old ", messages)
	var g got
	first, gate := make(chan struct{}, 1), make(chan struct{})
	c := newPush(t, s, "GoPurgeGroup", "c", "GoPurge", "*", func(ctx context.Context, ms ...*primitive.MessageExt) (consumer.ConsumeResult, error) {
		select {
		case first <- struct{}{}:
		default:
		}
		<-gate
		return g.handler("")(ctx, ms...)
	})
	defer c.Shutdown()
	select {
	case <-first:
	case <-time.After(30 * time.Second):
		t.Fatal("the consumer gets nothing")
	}
	harness.MustAdmin(t, s, "purge of 5000 messages of topic GoPurge success", "purgeTopic", "-b", s.Broker, "-t", "GoPurge", "-y")
	close(gate)
	sendMany(t, s, "GoPurge", "new ", 10)
	harness.Eventually(t, 30*time.Second, func() string {
		if n := g.distinct("new "); n < 10 {
			return fmt.Sprintf("%d of 10 new messages, %d old ones", n, g.distinct("old "))
		}
		return ""
	})
	if n := g.distinct("old "); n == messages {
		t.Error("all purged messages were delivered")
	}
	harness.Eventually(t, 30*time.Second, func() string { // the last commit
		out, _ := harness.Admin(t, s, "consumerProgress", "-g", "GoPurgeGroup")
		if !strings.Contains(out, "Diff Total: 0") {
			return out
		}
		return ""
	})
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
