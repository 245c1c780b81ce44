//go:build peers

package e2e

import (
	"fmt"
	"testing"
	"time"

	"github.com/seedmq/seedmq/tools/harness"
)

// Members that ask the broker for their queues (clientRebalance=false) share them, and take over those of one that dies.
func TestJavaBrokerAssignment(t *testing.T) {
	s := harness.MQServer(t, "")
	harness.CreateTopic(t, s, "Assigned", 4)
	args := []string{"ns=" + s.Namesrv, "group=AssignedGroup", "topic=Assigned", "broker=true"}
	a, b := startPeer(t, harness.Java5, "a", args...), startPeer(t, harness.Java5, "b", args...)
	a.ready(t)
	b.ready(t)
	busy := func(begin time.Time, p *peer) int {
		queues := map[int]bool{}
		for _, m := range since(p, begin) {
			queues[m.queue] = true
		}
		return len(queues)
	}
	round := 0
	harness.Eventually(t, 50*time.Second, func() string {
		begin := time.Now()
		round++
		sendTo(t, s, "Assigned", 4, 3, fmt.Sprintf("round-%d", round))
		deadline := begin.Add(2 * time.Second)
		for time.Now().Before(deadline) && (busy(begin, a) != 2 || busy(begin, b) != 2) {
			time.Sleep(50 * time.Millisecond)
		}
		if na, nb := busy(begin, a), busy(begin, b); na != 2 || nb != 2 {
			return fmt.Sprintf("of 4 queues a has %d, b has %d", na, nb)
		}
		return ""
	})
	b.Kill()
	begin := time.Now()
	sendTo(t, s, "Assigned", 4, 1, "after")
	harness.Eventually(t, 45*time.Second, func() string {
		if n := busy(begin, a); n != 4 {
			return fmt.Sprintf("a has %d queues", n)
		}
		return ""
	})
	t.Logf("the queues of the dead member were taken over after %d ms", time.Since(begin).Milliseconds())
}
