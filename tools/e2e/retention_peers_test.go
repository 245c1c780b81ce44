//go:build peers

package e2e

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/seedmq/seedmq/remoting/protocol"
	"github.com/seedmq/seedmq/tools/harness"
)

// limitedStore is a store whose topic has limits and was purged in part, in turn with us and with Apache's broker.
type limitedStore struct {
	t *testing.T
	s *harness.Server
}

const limitedTopic = "Limited"

// expect checks where queue 0 begins and how many messages it has from there on.
func (l *limitedStore) expect(when string, first int64, messages int) {
	l.t.Helper()
	w := mustDial(l.t, l.s.Broker)
	harness.Eventually(l.t, 20*time.Second, func() string {
		min, max := queueEnd(l.t, w, limitedTopic, 0)
		if min != first || max != first+int64(messages) {
			return fmt.Sprintf("%s: queue 0 is %d to %d, want %d messages from %d", when, min, max, messages, first)
		}
		return ""
	})
	if all := w.readAll(l.t, limitedTopic, 0, first); len(all) != messages {
		l.t.Fatalf("%s: %d messages can be read, want %d", when, len(all), messages)
	}
}

// attributes are those of the topic as the broker tells them.
func (l *limitedStore) attributes(queues int32) map[string]string {
	l.t.Helper()
	var topics struct {
		TopicConfigTable map[string]protocol.TopicConfig
	}
	mustDial(l.t, l.s.Broker).table(l.t, protocol.ReqGetAllTopicConfig, &topics)
	c := topics.TopicConfigTable[limitedTopic]
	if c.ReadQueueNums != queues {
		l.t.Fatalf("the topic has %d queues, want %d", c.ReadQueueNums, queues)
	}
	return c.Attributes
}

func (l *limitedStore) send(n int) {
	l.t.Helper()
	w := mustDial(l.t, l.s.Broker)
	for i := range n {
		if _, err := w.send(limitedTopic, 0, fmt.Sprint("m", i), nil); err != nil {
			l.t.Fatal(err)
		}
	}
}

// TestLimitsExchange: Apache's brokers open a store of ours with limited and purged topics. 5.5 keeps the attributes, also when it changes
// the topic; 4.9 knows none. Purged messages can be read there, and not any more when the store is ours again.
func TestLimitsExchange(t *testing.T) {
	for _, release := range []string{harness.Java5, harness.Java4Broker} {
		t.Run(release, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			ns := harness.Namesrv(t)
			l := &limitedStore{t: t, s: harness.Broker(t, dir, ns.Namesrv, exchangeConf)}
			harness.MustAdmin(t, l.s, "success", "updateTopic", "-b", l.s.Broker, "-t", limitedTopic, "-r", "2", "-w", "2",
				"-a", "+message.type=NORMAL,+retention.ms=86400000,+retention.bytes=1000000000,+retention.messages=1000000,+message.ttl.ms=86400000")
			l.send(5)
			l.expect("before the purge", 0, 5)
			harness.MustAdmin(t, l.s, "purge of 5 messages", "purgeTopic", "-b", l.s.Broker, "-t", limitedTopic, "-q", "0", "-y")
			l.send(1)
			l.expect("after the purge", 5, 1)
			stop(t, l.s)

			l.s = harness.JavaBrokerOf(t, release, dir, ns.Namesrv, exchangeConf)
			l.expect("at Apache's", 0, 6)
			harness.MustAdmin(t, l.s, "success", "updateTopic", "-b", l.s.Broker, "-t", limitedTopic, "-r", "3", "-w", "3")
			got := l.attributes(3)
			if release == harness.Java5 && (got["retention.ms"] != "86400000" || got["message.ttl.ms"] != "86400000" || got["message.type"] != "NORMAL") {
				t.Errorf("attributes at Apache's: %v", got)
			}
			l.send(1)
			l.expect("sent at Apache's", 0, 7)
			stop(t, l.s)

			l.s = harness.Broker(t, dir, ns.Namesrv, exchangeConf)
			l.expect("ours again", 5, 2)
			if got := l.attributes(3); release == harness.Java5 && len(got) != 5 {
				t.Errorf("attributes when ours again: %v", got)
			}
		})
	}
}

// TestJavaAdminSetsLimits: Apache's mqadmin can set and remove them, and is told what is wrong with a value.
func TestJavaAdminSetsLimits(t *testing.T) {
	l := &limitedStore{t: t, s: harness.MQServer(t, "")}
	harness.CreateTopic(t, l.s, limitedTopic, 2)
	java := harness.StartJavaAdmin(t, l.s)
	update := func(attributes string) string {
		return java.Run(t, "updateTopic", "-b", l.s.Broker, "-t", limitedTopic, "-r", "2", "-w", "2", "-a", attributes)
	}
	if out := update("+retention.ms=86400000,+message.ttl.ms=3600000"); !strings.Contains(out, "success") {
		t.Fatal(out)
	}
	if out := update("-message.ttl.ms"); !strings.Contains(out, "success") {
		t.Fatal(out)
	}
	if got := l.attributes(2); len(got) != 1 || got["retention.ms"] != "86400000" {
		t.Errorf("attributes: %v", got)
	}
	if out := update("+retention.bytes=-5"); !strings.Contains(out, "value of retention.bytes is not in range(1, 9223372036854775807)") {
		t.Error(out)
	}
}

func TestJavaPurgeIsFollowed(t *testing.T) {
	for _, release := range []string{harness.Java5, harness.Java4} {
		t.Run(release+"/concurrent", func(t *testing.T) { purgeIsFollowed(t, release, "push") })
		t.Run(release+"/orderly", func(t *testing.T) { purgeIsFollowed(t, release, "orderly") })
	}
}
