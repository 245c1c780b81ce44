// Package e2e runs stock clients against the product's programs: black-box tests of what a user of RocketMQ sees.
package e2e

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	rocketmq "github.com/apache/rocketmq-client-go/v2"
	"github.com/apache/rocketmq-client-go/v2/consumer"
	"github.com/apache/rocketmq-client-go/v2/primitive"
	"github.com/apache/rocketmq-client-go/v2/producer"
	"github.com/apache/rocketmq-client-go/v2/rlog"

	"github.com/seedmq/seedmq/tools/harness"
)

func TestMain(m *testing.M) {
	rlog.SetLogLevel("fatal")
	code := m.Run()
	harness.Cleanup()
	os.Exit(code)
}

type handler = func(context.Context, ...*primitive.MessageExt) (consumer.ConsumeResult, error)

func newProducer(t *testing.T, s *harness.Server, group string, o ...producer.Option) rocketmq.Producer {
	t.Helper()
	p, err := rocketmq.NewProducer(append([]producer.Option{
		producer.WithNsResolver(primitive.NewPassthroughResolver([]string{s.Namesrv})),
		producer.WithGroupName(group), producer.WithInstanceName(t.Name() + group), producer.WithRetry(0)}, o...)...)
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { p.Shutdown() })
	return p
}

func newPush(t *testing.T, s *harness.Server, group, instance, topic, tags string, f handler, o ...consumer.Option) rocketmq.PushConsumer {
	t.Helper()
	c, err := rocketmq.NewPushConsumer(append([]consumer.Option{
		consumer.WithNsResolver(primitive.NewPassthroughResolver([]string{s.Namesrv})),
		consumer.WithGroupName(group), consumer.WithInstance(t.Name() + instance),
		consumer.WithConsumeFromWhere(consumer.ConsumeFromFirstOffset)}, o...)...)
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Subscribe(topic, consumer.MessageSelector{Type: consumer.TAG, Expression: tags}, f); err != nil {
		t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	return c
}

// got collects what consumers received.
type got struct {
	mu sync.Mutex
	n  map[string]int
}

func (g *got) add(key string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.n == nil {
		g.n = map[string]int{}
	}
	g.n[key]++
}

func (g *got) count(key string) int {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.n[key]
}

func (g *got) distinct(prefix string) int {
	g.mu.Lock()
	defer g.mu.Unlock()
	n := 0
	for k := range g.n {
		if strings.HasPrefix(k, prefix) {
			n++
		}
	}
	return n
}

func (g *got) handler(who string) handler {
	return func(_ context.Context, ms ...*primitive.MessageExt) (consumer.ConsumeResult, error) {
		for _, m := range ms {
			g.add(who + string(m.Body))
		}
		return consumer.ConsumeSuccess, nil
	}
}

func mustSend(t *testing.T, p rocketmq.Producer, ms ...*primitive.Message) *primitive.SendResult {
	t.Helper()
	r, err := p.SendSync(context.Background(), ms...)
	if err != nil {
		t.Fatalf("send to %s: %v", ms[0].Topic, err)
	}
	if r.Status != primitive.SendOK {
		t.Fatalf("send to %s: status %v", ms[0].Topic, r.Status)
	}
	return r
}

func TestGoProducer(t *testing.T) {
	s := harness.MQServer(t, harness.FastRetryConf)
	harness.CreateTopic(t, s, "GoTopic", 4)
	p := newProducer(t, s, "GoProducer")
	var g got
	var props sync.Map
	c := newPush(t, s, "GoProducerCheck", "c", "GoTopic", "*", func(_ context.Context, ms ...*primitive.MessageExt) (consumer.ConsumeResult, error) {
		for _, m := range ms {
			key := string(m.Body)
			if len(key) > 40 {
				key = fmt.Sprintf("%d bytes", len(key))
			}
			g.add(key)
			props.Store(key, m)
		}
		return consumer.ConsumeSuccess, nil
	})
	defer c.Shutdown()

	r := mustSend(t, p, primitive.NewMessage("GoTopic", []byte("sync")).WithTag("TagA").WithKeys([]string{"k1", "k2"}))
	if len(r.OffsetMsgID) != 32 || r.MsgID == "" {
		t.Errorf("ids of the send: msgId %q, offsetMsgId %q", r.MsgID, r.OffsetMsgID)
	}
	m := primitive.NewMessage("GoTopic", []byte("你好"))
	m.WithProperty("color", "蓝")
	mustSend(t, p, m)
	done := make(chan error, 1)
	err := p.SendAsync(context.Background(), func(_ context.Context, r *primitive.SendResult, err error) { done <- err }, primitive.NewMessage("GoTopic", []byte("async")))
	if err == nil {
		err = <-done
	}
	if err != nil {
		t.Fatalf("async send: %v", err)
	}
	if err := p.SendOneWay(context.Background(), primitive.NewMessage("GoTopic", []byte("oneway"))); err != nil {
		t.Fatal(err)
	}
	mustSend(t, p, primitive.NewMessage("GoTopic", []byte("b1")).WithTag("x"), primitive.NewMessage("GoTopic", []byte("b2")).WithKeys([]string{"kb"}), primitive.NewMessage("GoTopic", []byte("b3")))
	mustSend(t, p, primitive.NewMessage("GoTopic", []byte(strings.Repeat("compress me ", 500))))
	begin := time.Now()
	mustSend(t, p, primitive.NewMessage("GoTopic", []byte("delayed")).WithDelayTimeLevel(2))
	for _, key := range []string{"sync", "你好", "async", "oneway", "b1", "b2", "b3", "6000 bytes", "delayed"} {
		harness.Eventually(t, 30*time.Second, func() string {
			if g.count(key) == 0 {
				return "nothing received of " + key
			}
			return ""
		})
		if n := g.count(key); n != 1 {
			t.Errorf("%s received %d times", key, n)
		}
	}
	d, _ := props.Load("delayed")
	if at := d.(*primitive.MessageExt).StoreTimestamp; time.UnixMilli(at).Before(begin.Add(time.Second).Truncate(time.Millisecond)) {
		t.Errorf("the delayed message came %v early", begin.Add(time.Second).Sub(time.UnixMilli(at)))
	}
	u, _ := props.Load("你好")
	if v := u.(*primitive.MessageExt).GetProperty("color"); v != "蓝" {
		t.Errorf("property color = %q", v)
	}
	k, _ := props.Load("sync")
	if km := k.(*primitive.MessageExt); km.GetTags() != "TagA" || km.GetKeys() != "k1 k2" {
		t.Errorf("tag %q keys %q", km.GetTags(), km.GetKeys())
	}

	// A topic that nobody made is made by the first send; ill-named and system topics are refused.
	mustSend(t, p, primitive.NewMessage("GoNewTopic", []byte("auto created")))
	for _, topic := range []string{"SCHEDULE_TOPIC_XXXX", "Go/../Bad"} {
		if _, err := p.SendSync(context.Background(), primitive.NewMessage(topic, []byte("x"))); err == nil {
			t.Errorf("send to %s was accepted", topic)
		}
	}
}

func TestGoPushTags(t *testing.T) {
	s := harness.MQServer(t, "")
	harness.CreateTopic(t, s, "GoTags", 4)
	p := newProducer(t, s, "GoProducer")
	for i := range 16 {
		mustSend(t, p, primitive.NewMessage("GoTags", []byte(fmt.Sprint("tagged ", i))).WithTag([]string{"TagA", "TagB", "TagC", "TagD"}[i%4]))
	}
	var g got
	c := newPush(t, s, "GoTagGroup", "c", "GoTags", "TagA || TagC", g.handler(""))
	defer c.Shutdown()
	want := func(n int) {
		harness.Eventually(t, 30*time.Second, func() string {
			if d := g.distinct("tagged"); d < n {
				return fmt.Sprintf("%d of %d received", d, n)
			}
			return ""
		})
	}
	want(8)
	mustSend(t, p, primitive.NewMessage("GoTags", []byte("tagged: wakes a held pull")).WithTag("TagA"))
	want(9)
	harness.MustAdmin(t, s, "Rebalance OK", "consumerStatus", "-g", "GoTagGroup")
	for i := range 16 {
		if n := g.count(fmt.Sprint("tagged ", i)); n != (i+1)%2 {
			t.Errorf("message %d received %d times", i, n)
		}
	}
}

func TestGoGroupOfThree(t *testing.T) {
	s := harness.MQServer(t, "")
	harness.CreateTopic(t, s, "GoThree", 12)
	p := newProducer(t, s, "GoProducer")
	var g got
	members := []rocketmq.PushConsumer{}
	for _, who := range []string{"a", "b", "c"} {
		members = append(members, newPush(t, s, "GoThreeGroup", who, "GoThree", "*", g.handler(who+":")))
	}
	defer members[0].Shutdown()
	defer members[1].Shutdown()
	sendAll := func(round int) {
		for i := range 120 {
			mustSend(t, p, primitive.NewMessage("GoThree", []byte(fmt.Sprintf("r%d-%d", round, i))))
		}
	}
	received := func(round int) map[string]int {
		by := map[string]int{}
		for _, who := range []string{"a", "b", "c"} {
			by[who] = g.distinct(fmt.Sprintf("%s:r%d-", who, round))
		}
		return by
	}
	all := func(round, least int) string {
		missing := 0
		for i := range 120 {
			n := 0
			for _, who := range []string{"a", "b", "c"} {
				n += g.count(fmt.Sprintf("%s:r%d-%d", who, round, i))
			}
			if n == 0 {
				missing++
			}
		}
		busy := 0
		for _, n := range received(round) {
			if n > 0 {
				busy++
			}
		}
		if missing > 0 || busy < least {
			return fmt.Sprintf("round %d: %d missing, %d members busy: %v", round, missing, busy, received(round))
		}
		return ""
	}
	// All three must own queues before the load is judged: send until each has received something.
	round := 0
	harness.Eventually(t, 90*time.Second, func() string {
		round++
		sendAll(round)
		deadline := time.Now().Add(5 * time.Second)
		why := all(round, 3)
		for why != "" && time.Now().Before(deadline) {
			time.Sleep(100 * time.Millisecond)
			why = all(round, 3)
		}
		return why
	})
	// One leaves: the two others get everything, soon.
	members[2].Shutdown()
	round++
	sendAll(round)
	harness.Eventually(t, 60*time.Second, func() string {
		why := all(round, 2)
		if why == "" && received(round)["c"] > 0 {
			return "the member that left still receives"
		}
		return why
	})
}

func TestGoBroadcast(t *testing.T) {
	s := harness.MQServer(t, "")
	harness.CreateTopic(t, s, "GoBroadcast", 4)
	t.Setenv("rocketmq.client.localOffsetStoreDir", t.TempDir())
	var g got
	for _, who := range []string{"a", "b"} {
		c := newPush(t, s, "GoBroadcastGroup", who, "GoBroadcast", "*", g.handler(who+":"), consumer.WithConsumerModel(consumer.BroadCasting))
		defer c.Shutdown()
	}
	p := newProducer(t, s, "GoProducer")
	for i := range 20 {
		mustSend(t, p, primitive.NewMessage("GoBroadcast", []byte(fmt.Sprint("to all ", i))))
	}
	harness.Eventually(t, 45*time.Second, func() string {
		if a, b := g.distinct("a:"), g.distinct("b:"); a < 20 || b < 20 {
			return fmt.Sprintf("a received %d, b %d of 20", a, b)
		}
		return ""
	})
}

func TestGoRetryAndDLQ(t *testing.T) {
	s := harness.MQServer(t, harness.FastRetryConf)
	harness.CreateTopic(t, s, "GoRetry", 2)
	harness.CreateTopic(t, s, "%RETRY%GoRetryGroup", 1) // clients look for a new retry topic only every 30 s
	p := newProducer(t, s, "GoProducer")
	mustSend(t, p, primitive.NewMessage("GoRetry", []byte("good")))
	mustSend(t, p, primitive.NewMessage("GoRetry", []byte("once")))
	mustSend(t, p, primitive.NewMessage("GoRetry", []byte("poison")))
	var g got
	c := newPush(t, s, "GoRetryGroup", "c", "GoRetry", "*", func(_ context.Context, ms ...*primitive.MessageExt) (consumer.ConsumeResult, error) {
		m := ms[0]
		g.add(fmt.Sprintf("%s r%d", m.Body, m.ReconsumeTimes))
		if string(m.Body) == "poison" || string(m.Body) == "once" && m.ReconsumeTimes == 0 {
			return consumer.ConsumeRetryLater, nil
		}
		return consumer.ConsumeSuccess, nil
	}, consumer.WithMaxReconsumeTimes(2))
	for _, key := range []string{"good r0", "once r0", "once r1", "poison r0", "poison r1", "poison r2"} {
		harness.Eventually(t, 60*time.Second, func() string {
			if g.count(key) == 0 {
				return "not received: " + key
			}
			return ""
		})
	}
	harness.Eventually(t, 30*time.Second, func() string {
		out, _ := harness.Admin(t, s, "topicStatus", "-t", "%DLQ%GoRetryGroup")
		for _, line := range strings.Split(out, "\n") {
			if f := strings.Fields(line); len(f) > 4 && f[0] != "#Broker" && f[3] == "1" {
				return ""
			}
		}
		return "no dead letter:\n" + out
	})
	c.Shutdown()
	if g.count("poison r3") != 0 || g.count("good r1") != 0 {
		t.Errorf("delivered too often: %v", g.n)
	}
	dead := newPush(t, s, "GoDeadGroup", "dead", "%DLQ%GoRetryGroup", "*", g.handler("dead:"))
	defer dead.Shutdown()
	harness.Eventually(t, 45*time.Second, func() string {
		if g.count("dead:poison") != 1 {
			return fmt.Sprintf("dead letters: %v", g.n)
		}
		return ""
	})
}

func TestGoPull(t *testing.T) {
	s := harness.MQServer(t, "")
	harness.CreateTopic(t, s, "GoPull", 2)
	p := newProducer(t, s, "GoProducer")
	for i := range 20 {
		mustSend(t, p, primitive.NewMessage("GoPull", []byte(fmt.Sprint("pull ", i))))
	}
	c, err := rocketmq.NewPullConsumer(consumer.WithNsResolver(primitive.NewPassthroughResolver([]string{s.Namesrv})),
		consumer.WithGroupName("GoPullGroup"), consumer.WithInstance(t.Name()), consumer.WithConsumeFromWhere(consumer.ConsumeFromFirstOffset), consumer.WithPullBatchSize(8))
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Subscribe("GoPull", consumer.MessageSelector{Type: consumer.TAG, Expression: "*"}); err != nil {
		t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	defer c.Shutdown()
	ctx := context.Background()
	mqs, err := c.GetTopicRouteInfo("GoPull")
	if err != nil || len(mqs) != 2 {
		t.Fatalf("route: %v %v", mqs, err)
	}
	total := int64(0)
	for _, mq := range mqs {
		off, err := c.OffsetForTimestamp(mq, time.Now().Add(-time.Hour).UnixMilli())
		if err != nil || off != 0 {
			t.Errorf("offset for an hour ago: %d %v", off, err)
		}
		r, err := c.PullFrom(ctx, mq, 0, 4)
		if err != nil || r.Status != primitive.PullFound || len(r.GetMessageExts()) != 4 || r.NextBeginOffset != 4 || r.MinOffset != 0 {
			t.Fatalf("pull from 0: %+v %v", r, err)
		}
		total += r.MaxOffset
		r, err = c.PullFrom(ctx, mq, 100000, 4)
		if err == nil && (r.Status != primitive.PullOffsetIllegal || r.NextBeginOffset <= 0) {
			t.Errorf("pull beyond the end: %+v %v", r, err)
		}
	}
	if total != 20 {
		t.Errorf("the queues' ends add up to %d, want 20", total)
	}
	n := 0
	harness.Eventually(t, 60*time.Second, func() string {
		cr, err := c.Poll(ctx, 2*time.Second)
		if err != nil {
			if !errors.Is(err, consumer.ErrNoNewMsg) {
				return err.Error()
			}
		} else {
			n += len(cr.GetMsgList())
			c.ACK(ctx, cr, consumer.ConsumeSuccess)
		}
		if n < 20 {
			return fmt.Sprintf("polled %d of 20 (%v)", n, err)
		}
		return ""
	})
	if err := c.PersistOffset(ctx, "GoPull"); err != nil {
		t.Fatal(err)
	}
	harness.Eventually(t, 20*time.Second, func() string {
		out, _ := harness.Admin(t, s, "consumerProgress", "-g", "GoPullGroup")
		if strings.Contains(out, "Consume Diff Total: 0") {
			return ""
		}
		return out
	})
}

// A push consumer of the Go client with an SQL92 filter gets what the filter selects, from before and from after its start.
func TestGoSQLFilter(t *testing.T) {
	s := harness.MQServer(t, harness.FastRetryConf)
	harness.CreateTopic(t, s, "GoSql", 2)
	p := newProducer(t, s, "GoSqlProducer")
	send := func(body, price, region string) {
		m := primitive.NewMessage("GoSql", []byte(body))
		m.WithProperty("price", price)
		m.WithProperty("region", region)
		mustSend(t, p, m)
	}
	for i := range 20 {
		send(fmt.Sprint("m", i), fmt.Sprint(i, ".5"), []string{"south", "north"}[i%2])
	}
	var g got
	c, err := rocketmq.NewPushConsumer(consumer.WithNsResolver(primitive.NewPassthroughResolver([]string{s.Namesrv})), consumer.WithGroupName("GoSqlGroup"),
		consumer.WithConsumeFromWhere(consumer.ConsumeFromFirstOffset))
	if err != nil {
		t.Fatal(err)
	}
	filter := consumer.MessageSelector{Type: consumer.SQL92, Expression: "price > 5 AND price < 9 AND region = 'south'"}
	if err := c.Subscribe("GoSql", filter, g.handler("")); err != nil {
		t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	defer c.Shutdown()
	harness.Eventually(t, 45*time.Second, func() string {
		if g.count("m6")+g.count("m8") != 2 {
			return fmt.Sprintf("received %d messages", g.distinct(""))
		}
		return ""
	})
	send("not wanted", "7", "north")
	send("wanted", "7", "south")
	harness.Eventually(t, 10*time.Second, func() string {
		if g.count("wanted") == 0 {
			return "the message that should wake the pull has not come"
		}
		return ""
	})
	if g.distinct("") != 3 {
		t.Errorf("received %v", g.n)
	}
}
