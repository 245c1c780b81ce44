package e2e

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/apache/rocketmq-client-go/v2"
	"github.com/apache/rocketmq-client-go/v2/consumer"
	"github.com/apache/rocketmq-client-go/v2/primitive"
	"github.com/apache/rocketmq-client-go/v2/producer"

	"github.com/seedmq/seedmq/tools/harness"
)

func newBarePush(s *harness.Server, group, instance string, o ...consumer.Option) (rocketmq.PushConsumer, error) {
	return rocketmq.NewPushConsumer(append([]consumer.Option{consumer.WithNsResolver(primitive.NewPassthroughResolver([]string{s.Namesrv})),
		consumer.WithGroupName(group), consumer.WithInstance(instance + group), consumer.WithConsumeFromWhere(consumer.ConsumeFromFirstOffset)}, o...)...)
}

// newSQLPush starts a push consumer with an SQL92 expression.
func newSQLPush(s *harness.Server, group, topic, expr string, f handler) (rocketmq.PushConsumer, error) {
	c, err := newBarePush(s, group, topic)
	if err != nil {
		return nil, err
	}
	if err := c.Subscribe(topic, consumer.MessageSelector{Type: consumer.SQL92, Expression: expr}, f); err != nil {
		return nil, err
	}
	return c, c.Start()
}

// brokerName is that of harness.MQServer.
const brokerName = "broker-a"

// inQueues collects what each queue brought, in order.
type inQueues struct {
	mu sync.Mutex
	by map[int][]string
}

func (l *inQueues) handler(fail func(m *primitive.MessageExt) bool) handler {
	return func(_ context.Context, ms ...*primitive.MessageExt) (consumer.ConsumeResult, error) {
		l.mu.Lock()
		defer l.mu.Unlock()
		for _, m := range ms {
			if fail != nil && fail(m) {
				return consumer.SuspendCurrentQueueAMoment, nil
			}
			l.by[m.Queue.QueueId] = append(l.by[m.Queue.QueueId], string(m.Body))
		}
		return consumer.ConsumeSuccess, nil
	}
}

// want waits until each of queues brought exactly want, in this order.
func (l *inQueues) want(t *testing.T, queues int, want []string) {
	t.Helper()
	harness.Eventually(t, caseWait, func() string {
		l.mu.Lock()
		defer l.mu.Unlock()
		for q := range queues {
			if len(l.by[q]) < len(want) {
				return fmt.Sprintf("queue %d brought %d of %d", q, len(l.by[q]), len(want))
			}
		}
		return ""
	})
	l.mu.Lock()
	defer l.mu.Unlock()
	for q := range queues {
		if !slices.Equal(l.by[q], want) {
			t.Errorf("queue %d brought %v", q, l.by[q])
		}
	}
}

// sendOrdered sends n messages to each queue, one after the other.
func sendOrdered(t *testing.T, s *harness.Server, topic string, queues, n int, tags ...string) (bodies []string) {
	t.Helper()
	p := newProducer(t, s, topic, producer.WithQueueSelector(producer.NewManualQueueSelector()))
	for i := range n {
		bodies = append(bodies, fmt.Sprint("m", i))
		for q := range queues {
			m := primitive.NewMessage(topic, []byte(bodies[i]))
			m.Queue = &primitive.MessageQueue{Topic: topic, BrokerName: brokerName, QueueId: q}
			if len(tags) > 0 {
				m.WithTag(tags[i%len(tags)])
			}
			mustSend(t, p, m)
		}
	}
	return bodies
}

// Eight queues, and then one, are consumed in the order of sending.
func caseOrder(t *testing.T, s *harness.Server) {
	for _, queues := range []int{8, 1} {
		topic := topicOf(t, s, fmt.Sprint("Order", queues), queues)
		l := &inQueues{by: map[int][]string{}}
		c := newPush(t, s, fmt.Sprint("CaseOrder", queues), topic, topic, "*", l.handler(nil), consumer.WithConsumerOrder(true))
		l.want(t, queues, sendOrdered(t, s, topic, queues, 30))
		c.Shutdown()
	}
}

// A message that fails is tried again in its place: nothing behind it comes before.
func caseOrderAgain(t *testing.T, s *harness.Server) {
	topic := topicOf(t, s, "OrderAgain", 2)
	l := &inQueues{by: map[int][]string{}}
	failed := map[string]int{} // under the lock of l
	c := newPush(t, s, "CaseOrderAgain", "c", topic, "*", l.handler(func(m *primitive.MessageExt) bool {
		k := fmt.Sprint(m.Queue.QueueId, string(m.Body))
		failed[k]++
		return string(m.Body) == "m3" && failed[k] <= 2
	}), consumer.WithConsumerOrder(true), consumer.WithSuspendCurrentQueueTimeMillis(100*time.Millisecond))
	defer c.Shutdown()
	l.want(t, 2, sendOrdered(t, s, topic, 2, 10))
}

func caseOrderTags(t *testing.T, s *harness.Server) {
	topic := topicOf(t, s, "OrderTags", 2)
	l := &inQueues{by: map[int][]string{}}
	c := newPush(t, s, "CaseOrderTags", "c", topic, "odd", l.handler(nil), consumer.WithConsumerOrder(true))
	defer c.Shutdown()
	var odd []string
	for i, b := range sendOrdered(t, s, topic, 2, 20, "even", "odd") {
		if i%2 == 1 {
			odd = append(odd, b)
		}
	}
	l.want(t, 2, odd)
}

// Every member of a broadcasting group gets what fits its tags, also when it comes later or another one fails or ends.
func caseBroadcast(t *testing.T, s *harness.Server) {
	topic := topicOf(t, s, "Broadcast", 2)
	group := fmt.Sprint("CaseBroadcast", time.Now().UnixNano()) // its offsets are in a file of the client's
	start := func(who, tags string, g *got, fails bool) rocketmq.PushConsumer {
		f := g.handler("")
		if fails {
			f = func(ctx context.Context, ms ...*primitive.MessageExt) (consumer.ConsumeResult, error) {
				_, _ = g.handler("")(ctx, ms...)
				return consumer.ConsumeRetryLater, nil
			}
		}
		return newPush(t, s, group, who, topic, tags, f, consumer.WithConsumerModel(consumer.BroadCasting))
	}
	p := newProducer(t, s, "CaseBroadcast")
	send := func(prefix string) (bodies []string) {
		for i := range 10 {
			bodies = append(bodies, fmt.Sprint(prefix, i))
			mustSend(t, p, primitive.NewMessage(topic, []byte(bodies[i])).WithTag("T"))
		}
		return bodies
	}
	var a, b, c got
	ca, cb := start("a", "T", &a, false), start("b", "T", &b, true)
	defer ca.Shutdown()
	first := send("first")
	whole(t, &a, first...)
	whole(t, &b, first...)
	cb.Shutdown()
	defer start("c", "T", &c, false).Shutdown()
	second := send("second")
	whole(t, &a, append(first, second...)...)
	harness.Eventually(t, caseWait, func() string {
		for _, k := range second {
			if c.count(k) == 0 {
				return "the one that came later misses " + k
			}
		}
		return ""
	})
	if b.distinct("second") > 0 {
		t.Error("the one that ended goes on")
	}
}
