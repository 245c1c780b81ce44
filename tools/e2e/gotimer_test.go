package e2e

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/apache/rocketmq-client-go/v2/consumer"
	"github.com/apache/rocketmq-client-go/v2/primitive"

	"github.com/seedmq/seedmq/tools/harness"
)

// The stock Go client sends messages for a time: they come then, to the millisecond, or at once when the time is over; one is
// recalled by an operator.
func TestGoTimer(t *testing.T) {
	s := harness.MQServer(t, harness.FastRetryConf)
	harness.CreateTopic(t, s, "GoTimer", 1)
	p := newProducer(t, s, "GoTimerProducer")
	var g got
	var came sync.Map
	c := newPush(t, s, "GoTimerGroup", "c", "GoTimer", "*", func(_ context.Context, ms ...*primitive.MessageExt) (consumer.ConsumeResult, error) {
		for _, m := range ms {
			came.Store(string(m.Body), m.StoreTimestamp)
			g.add(string(m.Body))
		}
		return consumer.ConsumeSuccess, nil
	})
	defer c.Shutdown()
	due := map[string]time.Time{}
	for i, ahead := range []time.Duration{-time.Hour, 800 * time.Millisecond, 1503 * time.Millisecond, 2 * time.Second} {
		body := fmt.Sprint("timed ", i)
		due[body] = time.Now().Add(ahead)
		mustSend(t, p, primitive.NewMessage("GoTimer", []byte(body)).WithDelayTimestamp(due[body]))
	}
	recalled := mustSend(t, p, primitive.NewMessage("GoTimer", []byte("recalled")).WithDelayTimestamp(time.Now().Add(3*time.Second)))
	harness.MustAdmin(t, s, "success", "recallMessage", "-i", recalled.OffsetMsgID)
	mustSend(t, p, primitive.NewMessage("GoTimer", []byte("last")).WithDelayTimestamp(time.Now().Add(4*time.Second)))
	tooFar := primitive.NewMessage("GoTimer", []byte("too far")).WithDelayTimestamp(time.Now().Add(4 * 24 * time.Hour))
	if _, err := p.SendSync(context.Background(), tooFar); err == nil || !strings.Contains(err.Error(), "max delay") {
		t.Errorf("a time beyond the limit: %v", err)
	}
	harness.Eventually(t, 40*time.Second, func() string {
		if g.count("last") == 0 {
			return "the last message has not come"
		}
		return ""
	})
	for body, at := range due {
		v, ok := came.Load(body)
		if !ok || g.count(body) != 1 {
			t.Errorf("%s came %d times", body, g.count(body))
			continue
		}
		if late := v.(int64) - at.UnixMilli(); late < 0 {
			t.Errorf("%s came %d ms early", body, -late)
		}
	}
	if g.count("recalled") > 0 {
		t.Error("the recalled message came")
	}
}
