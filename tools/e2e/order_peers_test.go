//go:build peers

package e2e

import (
	"syscall"
	"testing"
	"time"

	"github.com/seedmq/seedmq/tools/harness"
)

// Ordered consumers of Java's clients. Those of 4.9.8 keep a lock for 20 s when they are asked to give up a queue that they have messages of.
func TestJavaOrder(t *testing.T) {
	for _, release := range []string{harness.Java5, harness.Java4} {
		t.Run(release, func(t *testing.T) {
			t.Run("members", func(t *testing.T) { t.Parallel(); orderThroughMembers(t, release) })
			t.Run("restart", func(t *testing.T) { t.Parallel(); orderThroughRestart(t, release, false) })
			t.Run("kill", func(t *testing.T) { t.Parallel(); orderThroughRestart(t, release, true) })
			t.Run("frozen", func(t *testing.T) { t.Parallel(); orderThroughFreeze(t, release) })
		})
	}
}

// orderThroughFreeze: a member stands still with its connection open until the broker gives it up, and then goes on with what it has in its
// hands while another has its queues.
func orderThroughFreeze(t *testing.T, client string) {
	o := newOrder(t, client, "channelExpiredTimeout=8000\n", "heartbeat=2000")
	a, b := o.join("a"), o.join("b")
	a.ready(t)
	b.ready(t)
	o.consumed(50*time.Second, time.Now(), a, b)
	begin := time.Now()
	if err := syscall.Kill(a.Pid(), syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	t.Logf("%s: the queues of one that stands still are consumed after %d ms", client, o.consumed(45*time.Second, begin, b).Milliseconds())
	if err := syscall.Kill(a.Pid(), syscall.SIGCONT); err != nil {
		t.Fatal(err)
	}
	begin = time.Now()
	t.Logf("%s: it takes part again after %d ms", client, o.consumed(50*time.Second, begin, a, b).Milliseconds())
	o.check()
}
