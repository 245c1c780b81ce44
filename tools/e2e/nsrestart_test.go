package e2e

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/apache/rocketmq-client-go/v2/primitive"

	"github.com/seedmq/seedmq/tools/harness"
)

// TestGoNamesrvRestart: NameServers are killed and started again under a running producer and a running consumer, and neither
// sees an error. Then new clients find everything at the one that was restarted.
func TestGoNamesrvRestart(t *testing.T) {
	ns := harness.Namesrv(t)
	s := harness.Broker(t, t.TempDir(), ns.Namesrv, "")
	harness.CreateTopic(t, s, "Steady", 4)
	seen := &got{}
	c := newPush(t, s, "steady-group", "", "Steady", "*", seen.handler(""))
	defer c.Shutdown()
	p := newProducer(t, s, "steady-producer")

	var sent, failed atomic.Int64
	stop := make(chan struct{})
	var work sync.WaitGroup
	work.Go(func() {
		for i := 0; ; i++ {
			select {
			case <-stop:
				return
			case <-time.After(2 * time.Millisecond):
			}
			if _, err := p.SendSync(context.Background(), primitive.NewMessage("Steady", fmt.Append(nil, i))); err != nil {
				failed.Add(1)
				t.Errorf("send %d: %v", i, err)
			} else {
				sent.Add(1)
			}
		}
	})
	more := func() {
		t.Helper()
		from := sent.Load()
		harness.Eventually(t, 20*time.Second, func() string {
			if sent.Load() < from+100 {
				return fmt.Sprintf("%d sent, %d failed", sent.Load(), failed.Load())
			}
			return ""
		})
	}
	for range 2 {
		more()
		ns.Proc.Kill()
		more()
		ns.RestartNamesrv(t)
		harness.Eventually(t, 60*time.Second, func() string {
			out, _ := harness.Admin(t, s, "topicRoute", "-t", "Steady")
			if strings.Contains(out, s.Broker) {
				return ""
			}
			return "the broker has not come back:\n" + out
		})
	}
	more()
	close(stop)
	work.Wait()
	harness.Eventually(t, 30*time.Second, func() string {
		if n := int64(seen.distinct("")); n != sent.Load() {
			return fmt.Sprintf("%d of %d consumed", n, sent.Load())
		}
		return ""
	})
	mustSend(t, newProducer(t, s, "late-producer"), primitive.NewMessage("Steady", []byte("late")))
}
