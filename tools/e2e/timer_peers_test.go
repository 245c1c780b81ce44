//go:build peers

package e2e

import (
	"fmt"
	"maps"
	"testing"
	"time"

	"github.com/apache/rocketmq-client-go/v2/primitive"

	"github.com/seedmq/seedmq/tools/harness"
)

// The official Java client of 5.5.0 sends timed messages and recalls them.
func TestJavaTimer(t *testing.T) {
	s := harness.MQServer(t, harness.FastRetryConf)
	harness.CreateTopic(t, s, "J5timer", 2)
	harness.Scenario(t, harness.Java5, s, "timer", "J5timer")
}

// Timed messages go from our broker to Apache's and back, after clean stops and after kills: whoever has the store when one is due
// delivers it, and what was recalled is delivered by nobody.
func TestTimersExchange(t *testing.T) {
	const conf, topic = "recallMessageEnable=true\n", "TimerExchange"
	dir, ns := t.TempDir(), harness.Namesrv(t)
	due := map[string]time.Time{}
	send := func(s *harness.Server, body string, ahead time.Duration) (id string) {
		t.Helper()
		p := newProducer(t, s, fmt.Sprint("TimerExchange", len(due)))
		defer p.Shutdown()
		due[body] = time.Now().Add(ahead)
		return mustSend(t, p, primitive.NewMessage(topic, []byte(body)).WithDelayTimestamp(due[body])).OffsetMsgID
	}
	recall := func(s *harness.Server, id string) {
		t.Helper()
		harness.MustAdmin(t, s, "success", "recallMessage", "-i", id)
	}
	stored := func(s *harness.Server, bodies ...string) {
		t.Helper()
		want := map[string]int{}
		for _, b := range bodies {
			want[b] = 1
		}
		harness.Eventually(t, 100*time.Second, func() string {
			got := map[string]int{}
			for _, m := range mustDial(t, s.Broker).readAll(t, topic, 0, 0) {
				body := string(m.Body)
				got[body]++
				if early := due[body].UnixMilli() - m.StoreTimestamp; early > 0 {
					t.Errorf("%s came %d ms early", body, early)
				}
			}
			if !maps.Equal(got, want) {
				return fmt.Sprintf("stored %v, want %v", got, want)
			}
			return ""
		})
	}

	s := harness.Broker(t, dir, ns.Namesrv, conf)
	harness.CreateTopic(t, s, topic, 1)
	send(s, "ours to ours", 2*time.Second)
	send(s, "ours to java", 30*time.Second)
	recall(s, send(s, "ours, recalled", 32*time.Second))
	send(s, "ours to ours again", 100*time.Second)
	stored(s, "ours to ours")
	stop(t, s)

	t.Log("Java goes on with what we have closed")
	s = harness.JavaBrokerOf(t, harness.Java5, dir, ns.Namesrv, conf)
	send(s, "java to java", 3*time.Second)
	send(s, "java to ours", 90*time.Second)
	recall(s, send(s, "java, recalled", 91*time.Second))
	stored(s, "ours to ours", "java to java", "ours to java")
	time.Sleep(4 * time.Second) // until the time of what was recalled is over and Java has flushed
	stored(s, "ours to ours", "java to java", "ours to java")
	s.Proc.Kill()

	t.Log("we go on with what Java left when it was killed")
	s = harness.Broker(t, dir, ns.Namesrv, conf)
	send(s, "late", 60*time.Second)
	stored(s, "ours to ours", "java to java", "ours to java", "java to ours", "ours to ours again", "late")
	send(s, "last", 20*time.Second)
	time.Sleep(3 * time.Second) // until our check point is written: Java repeats what it does not know
	s.Proc.Kill()

	t.Log("Java goes on with what we left when we were killed")
	s = harness.JavaBrokerOf(t, harness.Java5, dir, ns.Namesrv, conf)
	stored(s, "ours to ours", "java to java", "ours to java", "java to ours", "ours to ours again", "late", "last")
	stop(t, s)
}
