package broker_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/seedmq/seedmq/broker"
	"github.com/seedmq/seedmq/broker/brokertest"
	"github.com/seedmq/seedmq/remoting/protocol"
)

func sqlSub(topic, expr string, version int64) protocol.SubscriptionData {
	return protocol.SubscriptionData{Topic: topic, SubString: expr, ExpressionType: protocol.ExpressionSQL92, SubVersion: version}
}

// ownPull is a pull without a subscription, as push consumers send it.
func ownPull(topic, group string, off, version int64) *protocol.PullMessageRequestHeader {
	h := pullHeader(topic, 0, off)
	h.ConsumerGroup, h.SysFlag, h.SubVersion, h.ExpressionType, h.Subscription = group, 0, version, protocol.ExpressionSQL92, ""
	return h
}

func inlinePull(topic, expr string, off int64) *protocol.PullMessageRequestHeader {
	h := pullHeader(topic, 0, off)
	h.Subscription, h.ExpressionType = expr, protocol.ExpressionSQL92
	return h
}

func TestSQLFilter(t *testing.T) {
	b := brokertest.Start(t)
	c := brokertest.Dial(t, b.Addr())
	for i := range 10 {
		c.Send("T", 0, fmt.Sprintf("TAGS\x01t%d\x02a\x01%d.5\x02", i%2, i), fmt.Sprint(i))
	}
	stored(t, c, "T", 0, 10)
	c.Heartbeat("g", sqlSub("T", "a > 5 AND TAGS = 't1'", 7))
	if got := pull(t, c, ownPull("T", "g", 0, 7)); got.code != 0 || got.next != 10 || !slices.Equal(got.bodies, []string{"5", "7", "9"}) {
		t.Errorf("push: %v", got)
	}
	for _, code := range []int32{protocol.ReqPullMessage, protocol.ReqLitePullMessage} {
		r := c.Call(code, inlinePull("T", "a BETWEEN 2 AND 4", 0), nil)
		if ms := brokertest.Messages(t, r.Body); len(ms) != 2 || string(ms[0].Body) != "2" || string(ms[1].Body) != "3" {
			t.Errorf("request %d: %d messages", code, len(ms))
		}
	}
	r := c.Must(protocol.ReqQueryConsumeQueue, &protocol.QueryConsumeQueueRequestHeader{Topic: "T", ConsumerGroup: "g"}, nil, nil)
	if text := string(r.Body); !strings.Contains(text, `a > 5 AND TAGS = 't1'`) || !strings.Contains(text, "bloomFilterData") {
		t.Errorf("queryCq: %s", text)
	}
	if got := pull(t, c, inlinePull("T", "b IS NOT NULL", 0)); got.code != protocol.RespPullRetryImmediately || got.next != 10 {
		t.Errorf("nothing matches: %v", got)
	}
}

// TestSQLRefusals has the codes of what cannot be served, and says where an expression is wrong.
func TestSQLRefusals(t *testing.T) {
	b := brokertest.Start(t)
	c := brokertest.Dial(t, b.Addr())
	c.Send("T", 0, "", "m")
	c.Heartbeat("bad", sqlSub("T", "a >> 5", 5))
	c.Heartbeat("good", sqlSub("T", "a > 5", 5))
	deep := strings.Repeat("(", 10_000) + "a = 1" + strings.Repeat(")", 10_000)
	check := func(kind, expr string) *protocol.Command {
		body, err := protocol.MarshalFast(map[string]any{"clientId": "c", "group": "g", "subscriptionData": map[string]any{"topic": "T", "subString": expr, "expressionType": kind}})
		if err != nil {
			t.Fatal(err)
		}
		return c.Call(protocol.ReqCheckClientConfig, nil, body)
	}
	ask := func(h *protocol.PullMessageRequestHeader) *protocol.Command {
		return c.Call(protocol.ReqPullMessage, h, nil)
	}
	for _, x := range []struct {
		name  string
		reply *protocol.Command
		code  int32
		words string
	}{
		{"heartbeat's expression does not parse", ask(ownPull("T", "bad", 0, 5)), 27, `filter data is not exist!Your expression may be wrong! Encountered ">" at line 1, column 4.`},
		{"a newer one is not known yet", ask(ownPull("T", "good", 0, 6)), 25, "not latest"},
		{"no subscription", ask(ownPull("T", "nobody", 0, 5)), 24, "group info not exist"},
		{"pull's expression does not parse", ask(inlinePull("T", "a = ", 0)), 23, `parse the consumer's subscription failed: Encountered "<EOF>" at line 1, column 5.`},
		{"pull's expression nests too deep", ask(inlinePull("T", deep, 0)), 23, "Nested too deep at line 1, column 501."},
		{"check: parses", check("SQL92", "a > 5"), 0, ""},
		{"check: tags", check("TAG", "a > 5"), 0, ""},
		{"check: does not parse", check("SQL92", "a >>> 3 and"), 23, `Encountered ">" at line 1, column 4.`},
		{"check: nests too deep", check("SQL92", deep), 23, "Nested too deep"},
		{"check: too long", check("SQL92", "a = '"+strings.Repeat("x", 1<<17)+"'"), 23, "an expression may have 65536 bytes"},
		{"check: another language", check("SQL93", "a > 5"), 23, "there are TAG and SQL92"},
	} {
		if x.reply.Code != x.code || !strings.Contains(x.reply.Remark, x.words) {
			t.Errorf("%s: code %d, %s", x.name, x.reply.Code, x.reply.Remark)
		}
	}
	if !strings.Contains(b.Log(), "group bad, client "+c.ID()+": the filter of topic T cannot be used") {
		t.Errorf("not in the log:\n%s", b.Log())
	}
}

func TestSQLSwitchedOff(t *testing.T) {
	b := brokertest.Start(t, func(o *broker.Options) { o.Broker.EnablePropertyFilter = false })
	c := brokertest.Dial(t, b.Addr())
	c.Send("T", 0, "", "m")
	c.Heartbeat("g", sqlSub("T", "a > 5", 5))
	for name, r := range map[string]*protocol.Command{
		"push":  c.Call(protocol.ReqPullMessage, ownPull("T", "g", 0, 5), nil),
		"pull":  c.Call(protocol.ReqPullMessage, inlinePull("T", "a > 5", 0), nil),
		"check": c.Call(protocol.ReqCheckClientConfig, nil, []byte(`{"subscriptionData":{"topic":"T","subString":"a > 5","expressionType":"SQL92"}}`)),
	} {
		if r.Code != protocol.RespSystemError || !strings.Contains(r.Remark, "The broker does not support consumer to filter message by SQL92") {
			t.Errorf("%s: code %d, %s", name, r.Code, r.Remark)
		}
	}
	if r := c.Call(protocol.ReqPullMessage, inlinePull("T", "a >", 0), nil); r.Code != protocol.RespSubscriptionParseFailed {
		t.Errorf("the parser comes before the switch: code %d, %s", r.Code, r.Remark)
	}
}

// TestSQLHeldPull: messages that a held pull does not want move its offset, and do not wake the client.
func TestSQLHeldPull(t *testing.T) {
	b := brokertest.Start(t)
	c, producer := brokertest.Dial(t, b.Addr()), brokertest.Dial(t, b.Addr())
	producer.Send("T", 0, "", "first")
	held := func(off, ms int64) chan pulled {
		h := inlinePull("T", "a > 5", off)
		h.SysFlag |= protocol.PullFlagSuspend
		h.SuspendTimeoutMillis = ms
		done := make(chan pulled, 1)
		go func() { done <- pull(t, c, h) }()
		brokertest.Until(t, "the pull is held", func() error {
			if b.Held() != 1 {
				return fmt.Errorf("%d are held", b.Held())
			}
			return nil
		})
		return done
	}
	done := held(1, 14_000)
	for i := range 20 {
		producer.Send("T", 0, "a\x015\x02", fmt.Sprint(i))
	}
	stored(t, producer, "T", 0, 21)
	producer.Send("T", 0, "a\x015.5\x02", "wanted")
	if got := <-done; got.code != 0 || got.next != 22 || !slices.Equal(got.bodies, []string{"wanted"}) {
		t.Fatalf("answered before, or wrongly: %v", got)
	}
	done = held(22, 2000)
	producer.Send("T", 0, "a\x015\x02", "not wanted")
	if got := <-done; got.next != 23 || got.code != protocol.RespPullNotFound && got.code != protocol.RespPullRetryImmediately {
		t.Fatalf("after its time: %v", got)
	}
}

// TestSQLManyThatDoNotMatch: a pull that finds nothing in what one look takes goes on behind it.
func TestSQLManyThatDoNotMatch(t *testing.T) {
	b := brokertest.Start(t)
	c := brokertest.Dial(t, b.Addr())
	const n = 2000
	for i := 0; i < n; i += 100 {
		reqs := make([]*protocol.Command, 100)
		for j := range reqs {
			reqs[j] = protocol.NewRequest(protocol.ReqSendMessageV2, brokertest.SendHeader("T", 0, fmt.Sprintf("a\x01%d\x02", i+j)), []byte(fmt.Sprint(i+j)))
		}
		c.Burst(reqs...)
	}
	stored(t, c, "T", 0, n)
	off, looks, found := int64(0), 0, 0
	for off < n {
		got := pull(t, c, inlinePull("T", "a IN ('1500')", off))
		if got.next <= off || got.code != 0 && got.code != protocol.RespPullRetryImmediately {
			t.Fatalf("at %d: %v", off, got)
		}
		off = got.next
		looks++
		found += len(got.bodies)
	}
	if found != 1 || looks > 5 {
		t.Errorf("%d found in %d looks", found, looks)
	}
}

func TestRetryTopicIsFilteredWhenAsked(t *testing.T) {
	for _, on := range []bool{false, true} {
		b := brokertest.Start(t, func(o *broker.Options) { o.Broker.FilterSupportRetry = on })
		c := brokertest.Dial(t, b.Addr())
		c.Heartbeat("g", sqlSub("T", "a > 5", 1), protocol.SubscriptionData{Topic: "%RETRY%g", SubString: "*", SubVersion: 1})
		c.Send("%RETRY%g", 0, "RETRY_TOPIC\x01T\x02a\x015\x02", "low")
		c.Send("%RETRY%g", 0, "RETRY_TOPIC\x01T\x02a\x016\x02", "high")
		c.Send("%RETRY%g", 0, "RETRY_TOPIC\x01U\x02a\x015\x02", "other")
		brokertest.Until(t, "three messages are there", func() error {
			var max protocol.GetMaxOffsetResponseHeader
			if c.Must(protocol.ReqGetMaxOffset, &protocol.GetMaxOffsetRequestHeader{Topic: "%RETRY%g"}, nil, &max); max.Offset != 3 {
				return fmt.Errorf("the end is %d", max.Offset)
			}
			return nil
		})
		h := ownPull("%RETRY%g", "g", 0, 1)
		h.ExpressionType = protocol.ExpressionTag
		want := []string{"low", "high", "other"}
		if on {
			want = want[1:]
		}
		if got := pull(t, c, h); !slices.Equal(got.bodies, want) {
			t.Errorf("filterSupportRetry %v: %v", on, got)
		}
	}
}

// TestFilterDataIsKept: heartbeats reach consumerFilter.json, and the next broker reads it.
func TestFilterDataIsKept(t *testing.T) {
	dir := t.TempDir()
	b := brokertest.StartIn(t, dir)
	c := brokertest.Dial(t, b.Addr())
	c.Heartbeat("g", sqlSub("T", "a > 5", 7))
	c.Heartbeat("bad", sqlSub("T", "a >", 7))
	b.Stop(t)
	file := filepath.Join(dir, "config", "consumerFilter.json")
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{`"bitNum": 112`, `"clientVersion": 7`, `"consumerGroup": "g"`, `"deadTime": 0`, `"expression": "a > 5"`, `"expressionType": "SQL92"`, `"topic": "T"`} {
		if !strings.Contains(string(text), want) {
			t.Errorf("no %s in\n%s", want, text)
		}
	}
	if strings.Contains(string(text), "bad") {
		t.Errorf("a filter that cannot be used is kept:\n%s", text)
	}
	again := brokertest.StartIn(t, dir)
	c = brokertest.Dial(t, again.Addr())
	c.Heartbeat("g2", sqlSub("U", "b > 5", 1))
	again.Stop(t)
	if text, _ = os.ReadFile(file); !strings.Contains(string(text), `"expression": "a > 5"`) || !strings.Contains(string(text), `"expression": "b > 5"`) {
		t.Errorf("not kept over a restart:\n%s", text)
	}
}

func TestSQLConflictIsCounted(t *testing.T) {
	b := brokertest.Start(t)
	c1, c2 := brokertest.Dial(t, b.Addr()), brokertest.Dial(t, b.Addr())
	c1.Heartbeat("g", sqlSub("T", "a > 5", 1))
	c2.Heartbeat("g", sqlSub("T", "a > 6", 2))
	if !strings.Contains(b.Log(), `SQL92: a > 5`) || !strings.Contains(b.Log(), `SQL92: a > 6`) {
		t.Errorf("not in the log:\n%s", b.Log())
	}
	c1.Must(protocol.ReqViewBrokerStatsData, &protocol.ViewBrokerStatsDataRequestHeader{StatsName: "GROUP_SUB_CONFLICTS", StatsKey: "T@g"}, nil, nil)
	if r := c1.Call(protocol.ReqViewBrokerStatsData, &protocol.ViewBrokerStatsDataRequestHeader{StatsName: "GROUP_SUB_CONFLICTS", StatsKey: "T@other"}, nil); r.Code == 0 {
		t.Error("a conflict of nobody")
	}
}
