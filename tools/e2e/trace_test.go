package e2e

import (
	"strings"
	"testing"
	"time"

	"github.com/apache/rocketmq-client-go/v2/consumer"
	"github.com/apache/rocketmq-client-go/v2/primitive"
	"github.com/apache/rocketmq-client-go/v2/producer"

	"github.com/seedmq/seedmq/tools/harness"
)

// Go clients with a trace write what they do to the trace topic, each with the message's id as its key.
func TestGoTrace(t *testing.T) {
	s := harness.MQServer(t, "traceTopicEnable = true\n")
	harness.CreateTopic(t, s, "GoTraced", 2)
	trace := &primitive.TraceConfig{Access: primitive.Local, Resolver: primitive.NewPassthroughResolver([]string{s.Namesrv})}
	p := newProducer(t, s, "GoTracer", producer.WithTrace(trace))
	var messages, traces got
	c := newPush(t, s, "GoTracedGroup", "c", "GoTraced", "*", messages.handler(""), consumer.WithTrace(trace))
	defer c.Shutdown()
	reader := newPush(t, s, "GoTraceReader", "r", "RMQ_SYS_TRACE_TOPIC", "*", traces.handler(""))
	defer reader.Shutdown()
	id := mustSend(t, p, primitive.NewMessage("GoTraced", []byte("traced")).WithKeys([]string{"key"})).MsgID
	harness.Eventually(t, 45*time.Second, func() string {
		for _, kind := range []string{"Pub", "SubBefore", "SubAfter"} {
			if !traces.has(kind+"\x01", id) {
				return "no " + kind + " of " + id
			}
		}
		return ""
	})
	harness.MustAdmin(t, s, id, "queryMsgByKey", "-t", "RMQ_SYS_TRACE_TOPIC", "-k", id)
}

// has says whether something was received that has both texts.
func (g *got) has(a, b string) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	for k := range g.n {
		if strings.Contains(k, a) && strings.Contains(k, b) {
			return true
		}
	}
	return false
}
