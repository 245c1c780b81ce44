package e2e

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/apache/rocketmq-client-go/v2/consumer"
	"github.com/apache/rocketmq-client-go/v2/primitive"
	"github.com/apache/rocketmq-client-go/v2/producer"

	"github.com/seedmq/seedmq/tools/harness"
)

// caseWait is how long a case waits for its messages: a client may find a new topic only after its next look at the route.
const caseWait = 45 * time.Second

// TestCases are cases of Apache's end-to-end suites that no other test here has; docs/compat.md has the whole list.
func TestCases(t *testing.T) {
	s := harness.MQServer(t, harness.FastRetryConf)
	for name, run := range map[string]func(*testing.T, *harness.Server){
		"content": caseContent, "sizes": caseSizes, "tags": caseTags, "sql": caseSQL, "first and last": caseFirstAndLast,
		"groups": caseGroups, "cluster": caseCluster, "broadcast": caseBroadcast, "order": caseOrder, "order again": caseOrderAgain,
		"order with tags": caseOrderTags, "batch": caseBatch, "two topics": caseTwoTopics, "no such queue": caseNoQueue, "queries": caseQueries,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			run(t, s)
		})
	}
}

// topicOf makes the topic of a case.
func topicOf(t *testing.T, s *harness.Server, name string, queues int) string {
	name = "Case" + name
	harness.CreateTopic(t, s, name, queues)
	return name
}

// whole waits until g has exactly want, and nothing of it twice.
func whole(t *testing.T, g *got, want ...string) {
	t.Helper()
	harness.Eventually(t, caseWait, func() string {
		for _, k := range want {
			if g.count(k) == 0 {
				return fmt.Sprintf("nothing received of %.60q", k)
			}
		}
		return ""
	})
	g.mu.Lock()
	defer g.mu.Unlock()
	for k, n := range g.n {
		if n != 1 || !slices.Contains(want, k) {
			t.Errorf("%.60q received %d times", k, n)
		}
	}
}

func caseContent(t *testing.T, s *harness.Server) {
	topic := topicOf(t, s, "Content", 2)
	p := newProducer(t, s, "CaseContent")
	var g got
	var seen sync.Map
	c := newPush(t, s, "CaseContentGroup", "c", topic, "*", func(_ context.Context, ms ...*primitive.MessageExt) (consumer.ConsumeResult, error) {
		for _, m := range ms {
			seen.Store(string(m.Body), m)
			g.add(string(m.Body))
		}
		return consumer.ConsumeSuccess, nil
	})
	defer c.Shutdown()
	visible := make([]byte, 0, 95)
	for b := byte(' '); b < 127; b++ {
		visible = append(visible, b)
	}
	for _, body := range []string{" ", "中文", "😱", "keyed", "tagged", "visible"} {
		m := primitive.NewMessage(topic, []byte(body))
		switch body {
		case "keyed":
			m.WithKeys([]string{"订单", "k2", "k3"})
		case "tagged":
			m.WithTag("标签")
		case "visible":
			m.WithProperty("所有", string(visible))
		}
		mustSend(t, p, m)
	}
	whole(t, &g, " ", "中文", "😱", "keyed", "tagged", "visible")
	get := func(body string) *primitive.MessageExt { m, _ := seen.Load(body); return m.(*primitive.MessageExt) }
	if k, tag, v := get("keyed").GetKeys(), get("tagged").GetTags(), get("visible").GetProperty("所有"); k != "订单 k2 k3" || tag != "标签" || v != string(visible) {
		t.Errorf("keys %q, tag %q, property %q", k, tag, v)
	}
}

// Bodies up to 4 MiB and properties up to 32 KiB are taken, of all kinds of messages.
func caseSizes(t *testing.T, s *harness.Server) {
	const limit = 4 << 20
	topic := topicOf(t, s, "Sizes", 2)
	p := newProducer(t, s, "CaseSizes", producer.WithCompressMsgBodyOverHowmuch(limit+2), producer.WithSendMsgTimeout(20*time.Second))
	body := make([]byte, limit+1)
	rng := rand.New(rand.NewPCG(1, 1))
	for i := range body {
		body[i] = byte(rng.Uint32())
	}
	for _, kind := range []string{"normal", "delayed", "ordered", "with properties"} {
		for _, size := range []int{limit, limit + 1} {
			m := primitive.NewMessage(topic, body[:size])
			switch kind {
			case "delayed":
				m.WithDelayTimeLevel(1)
			case "ordered":
				m.WithShardingKey("one")
			case "with properties":
				m.WithProperty("p", strings.Repeat("x", 16<<10))
			}
			if _, err := p.SendSync(context.Background(), m); (err == nil) != (size <= limit) {
				t.Errorf("%s message of %d bytes: %v", kind, size, err)
			}
		}
	}
	for n, ok := range map[int]bool{10_000: true, 20_000: false} {
		m := primitive.NewMessage(topic, []byte("x"))
		m.WithProperty("p", strings.Repeat("汉", n))
		if _, err := p.SendSync(context.Background(), m); (err == nil) != ok {
			t.Errorf("a property of %d characters: %v", n, err)
		}
	}
	if _, err := p.SendSync(context.Background(), primitive.NewMessage(topic, []byte{})); err != nil {
		t.Logf("an empty body: %v", err) // clients differ
	}
}

func caseTags(t *testing.T, s *harness.Server) {
	long := strings.Repeat("t", 1000)
	p := newProducer(t, s, "CaseTags")
	for i, x := range []struct {
		tags []string
		sub  string
		want []string
	}{
		{[]string{"A", "B"}, "A || B", []string{"A", "B"}},
		{[]string{"A", "B"}, "A||B", []string{"A", "B"}},
		{[]string{"A", "B"}, "*", []string{"A", "B"}},
		{[]string{"A", "end"}, "end", []string{"end"}},
		{[]string{"A", "B", "C"}, "A || C || none", []string{"A", "C"}},
		{[]string{"Aa", "BB"}, "BB", []string{"BB"}}, // one hash
		{[]string{"bb", "BB"}, "BB", []string{"BB"}},
		{[]string{long}, long, []string{long}},
		{[]string{"标签", "A"}, "标签", []string{"标签"}},
		{[]string{"", "A"}, "*", []string{"", "A"}},
		{[]string{"", "A"}, "A", []string{"A"}},
	} {
		topic := topicOf(t, s, fmt.Sprint("Tags", i), 1)
		var want []string
		for j, tag := range x.tags {
			m := primitive.NewMessage(topic, []byte(fmt.Sprint("m", j)))
			if tag != "" {
				m.WithTag(tag)
			}
			mustSend(t, p, m)
			if slices.Contains(x.want, tag) {
				want = append(want, fmt.Sprint("m", j))
			}
		}
		var g got
		c := newPush(t, s, fmt.Sprint("CaseTagsGroup", i), fmt.Sprint("c", i), topic, x.sub, g.handler(""))
		whole(t, &g, want...)
		c.Shutdown()
	}
}

func caseSQL(t *testing.T, s *harness.Server) {
	p := newProducer(t, s, "CaseSql")
	topic := topicOf(t, s, "Sql", 1)
	send := func(body, tag string, props ...string) {
		m := primitive.NewMessage(topic, []byte(body)).WithTag(tag)
		for i := 0; i < len(props); i += 2 {
			m.WithProperty(props[i], props[i+1])
		}
		mustSend(t, p, m)
	}
	send("cheap", "TagA", "price", "10")
	send("dear", "TagB", "price", "30")
	send("plain", "TagA")
	for i, x := range []struct {
		expr string
		want []string
	}{
		{"price > 20", []string{"dear"}},
		{"price between 10 and 20", []string{"cheap"}},
		{"(TAGS is not null and TAGS in ('TagA','TagB')) and price is null", []string{"plain"}},
		{"TAGS = 'TagA'", []string{"cheap", "plain"}},
		{"unknown > 1 or price = 30", []string{"dear"}},
		{"TRUE", []string{"cheap", "dear", "plain"}},
	} {
		var g got
		c, err := newSQLPush(s, fmt.Sprint("CaseSqlGroup", i), topic, x.expr, g.handler(""))
		if err != nil {
			t.Fatalf("%s: %v", x.expr, err)
		}
		whole(t, &g, x.want...)
		c.Shutdown()
	}
}

// A group that comes later reads from the beginning; one that asks for the end of a young topic does so too, in its first start.
func caseFirstAndLast(t *testing.T, s *harness.Server) {
	topic := topicOf(t, s, "Offsets", 2)
	p := newProducer(t, s, "CaseOffsets")
	var want []string
	for i := range 20 {
		want = append(want, fmt.Sprint("m", i))
		mustSend(t, p, primitive.NewMessage(topic, []byte(want[i])))
	}
	for _, from := range []consumer.ConsumeFromWhere{consumer.ConsumeFromFirstOffset, consumer.ConsumeFromLastOffset} {
		var g got
		c := newPush(t, s, fmt.Sprint("CaseOffsetsGroup", from), fmt.Sprint(from), topic, "*", g.handler(""), consumer.WithConsumeFromWhere(from))
		whole(t, &g, want...)
		c.Shutdown()
	}
}

// Groups do not take messages from each other.
func caseGroups(t *testing.T, s *harness.Server) {
	topic := topicOf(t, s, "Groups", 2)
	var gs [3]got
	for i := range gs {
		defer newPush(t, s, fmt.Sprint("CaseGroup", i), fmt.Sprint(i), topic, "*", gs[i].handler("")).Shutdown()
	}
	p := newProducer(t, s, "CaseGroups")
	var want []string
	for i := range 30 {
		want = append(want, fmt.Sprint("m", i))
		mustSend(t, p, primitive.NewMessage(topic, []byte(want[i])))
	}
	for i := range gs {
		whole(t, &gs[i], want...)
	}
}

// Three members of a group share the messages.
func caseCluster(t *testing.T, s *harness.Server) {
	topic := topicOf(t, s, "Cluster", 6)
	var g got
	for i := range 3 {
		defer newPush(t, s, "CaseClusterGroup", fmt.Sprint(i), topic, "*", g.handler("")).Shutdown()
	}
	harness.Eventually(t, caseWait, func() string { // until all have queues
		out, _ := harness.Admin(t, s, "consumerStatus", "-g", "CaseClusterGroup")
		if strings.Contains(out, "Rebalance OK") {
			return ""
		}
		return out
	})
	p := newProducer(t, s, "CaseCluster")
	var want []string
	for i := range 100 {
		want = append(want, fmt.Sprint("m", i))
		mustSend(t, p, primitive.NewMessage(topic, []byte(want[i])))
	}
	harness.Eventually(t, caseWait, func() string {
		if n := g.distinct(""); n < len(want) {
			return fmt.Sprintf("%d of %d", n, len(want))
		}
		return ""
	})
}

func caseBatch(t *testing.T, s *harness.Server) {
	topic := topicOf(t, s, "Batch", 4)
	p := newProducer(t, s, "CaseBatch", producer.WithQueueSelector(producer.NewManualQueueSelector()))
	var ms []*primitive.Message
	var want []string
	for i := range 10 {
		want = append(want, fmt.Sprint("b", i))
		m := primitive.NewMessage(topic, []byte(want[i])).WithTag(fmt.Sprint("T", i))
		m.Queue = &primitive.MessageQueue{Topic: topic, BrokerName: brokerName, QueueId: 3}
		ms = append(ms, m)
	}
	if r := mustSend(t, p, ms...); r.MessageQueue.QueueId != 3 {
		t.Errorf("the batch went to queue %d", r.MessageQueue.QueueId)
	}
	var g got
	c := newPush(t, s, "CaseBatchGroup", "c", topic, "*", g.handler(""))
	defer c.Shutdown()
	whole(t, &g, want...)
}

func caseTwoTopics(t *testing.T, s *harness.Server) {
	a, b := topicOf(t, s, "TopicA", 2), topicOf(t, s, "TopicB", 2)
	p := newProducer(t, s, "CaseTopics")
	for _, tag := range []string{"x", "y"} {
		mustSend(t, p, primitive.NewMessage(a, []byte("a"+tag)).WithTag(tag))
		mustSend(t, p, primitive.NewMessage(b, []byte("b"+tag)).WithTag(tag))
	}
	var g got
	c, err := newBarePush(s, "CaseTopicsGroup", t.Name())
	if err != nil {
		t.Fatal(err)
	}
	for topic, expr := range map[string]string{a: "*", b: "y"} {
		if err := c.Subscribe(topic, consumer.MessageSelector{Type: consumer.TAG, Expression: expr}, g.handler("")); err != nil {
			t.Fatal(err)
		}
	}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	defer c.Shutdown()
	whole(t, &g, "ax", "ay", "by")
}

func caseNoQueue(t *testing.T, s *harness.Server) {
	topic := topicOf(t, s, "NoQueue", 2)
	p := newProducer(t, s, "CaseNoQueue", producer.WithQueueSelector(producer.NewManualQueueSelector()))
	m := primitive.NewMessage(topic, []byte("x"))
	m.Queue = &primitive.MessageQueue{Topic: topic, BrokerName: brokerName, QueueId: 100}
	if r, err := p.SendSync(context.Background(), m); err == nil && r.Status == primitive.SendOK {
		t.Error("a queue that the topic has not was taken")
	}
}

func caseQueries(t *testing.T, s *harness.Server) {
	topic := topicOf(t, s, "Queries", 2)
	p := newProducer(t, s, "CaseQueries")
	var id string
	for i := range 8 {
		id = mustSend(t, p, primitive.NewMessage(topic, []byte(fmt.Sprint("m", i))).WithKeys([]string{[]string{"Aa", "BB"}[i%2]})).OffsetMsgID
	}
	harness.MustAdmin(t, s, "CaseQueries", "queryMsgById", "-t", topic, "-i", id)
	if out, err := harness.Admin(t, s, "queryMsgById", "-t", topic, "-i", id[:31]); err == nil && strings.Contains(out, "Message Body") {
		t.Errorf("a message was found by half an id:\n%s", out)
	}
	harness.Eventually(t, caseWait, func() string { // the index comes a moment later
		out, _ := harness.Admin(t, s, "queryMsgByKey", "-t", topic, "-k", "Aa") // "BB" has the same hash
		if n := len(strings.Split(strings.TrimSpace(out), "\n")) - 1; n != 4 {
			return fmt.Sprintf("%d messages have the key:\n%s", n, out)
		}
		return ""
	})
}
