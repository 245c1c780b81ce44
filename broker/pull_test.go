package broker_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/seedmq/seedmq/broker"
	"github.com/seedmq/seedmq/broker/brokertest"
	"github.com/seedmq/seedmq/remoting/protocol"
)

// pulled is a pull's reply in short.
type pulled struct {
	code                 int32
	remark               string
	next, smallest, last int64
	bodies               []string
}

func pull(t *testing.T, c *brokertest.Client, h *protocol.PullMessageRequestHeader) pulled {
	t.Helper()
	r := c.Call(protocol.ReqPullMessage, h, nil)
	var ph protocol.PullMessageResponseHeader
	if err := ph.DecodeExt(r.Ext); err != nil {
		t.Fatalf("code %d %s: %v", r.Code, r.Remark, err)
	}
	p := pulled{code: r.Code, remark: r.Remark, next: ph.NextBeginOffset, smallest: ph.MinOffset, last: ph.MaxOffset}
	for _, m := range brokertest.Messages(t, r.Body) {
		p.bodies = append(p.bodies, string(m.Body))
	}
	return p
}

func TestPullStatuses(t *testing.T) {
	b := brokertest.Start(t)
	c := brokertest.Dial(t, b.Addr())
	for i := range 5 {
		c.Send("T", 0, fmt.Sprintf("TAGS\x01t%d\x02", i), fmt.Sprint(i))
	}
	stored(t, c, "T", 0, 5)
	with := func(off int64, tags string, queue int32) *protocol.PullMessageRequestHeader {
		h := pullHeader("T", queue, off)
		h.Subscription = tags
		return h
	}
	for _, x := range []struct {
		name string
		ask  *protocol.PullMessageRequestHeader
		want pulled
	}{
		{"all", with(0, "*", 0), pulled{0, "FOUND", 5, 0, 5, []string{"0", "1", "2", "3", "4"}}},
		{"from the middle", with(3, "*", 0), pulled{0, "FOUND", 5, 0, 5, []string{"3", "4"}}},
		{"some tags", with(0, "t1 || t3", 0), pulled{0, "FOUND", 5, 0, 5, []string{"1", "3"}}},
		{"no such tag", with(0, "none", 0), pulled{20, "NO_MATCHED_MESSAGE", 5, 0, 5, nil}},
		{"at the end", with(5, "*", 0), pulled{19, "OFFSET_OVERFLOW_ONE", 5, 0, 5, nil}},
		{"beyond the end", with(9, "*", 0), pulled{21, "OFFSET_OVERFLOW_BADLY", 5, 0, 5, nil}},
		{"empty queue from 0", with(0, "*", 1), pulled{19, "NO_MATCHED_LOGIC_QUEUE", 0, 0, 0, nil}},
		{"empty queue from 7", with(7, "*", 1), pulled{21, "NO_MATCHED_LOGIC_QUEUE", 0, 0, 0, nil}},
	} {
		t.Run(x.name, func(t *testing.T) {
			got := pull(t, c, x.ask)
			if got.remark == "NO_MESSAGE_IN_QUEUE" { // Java says either, as the queue's files are there or not
				got.remark = "NO_MATCHED_LOGIC_QUEUE"
			}
			if fmt.Sprint(got) != fmt.Sprint(x.want) {
				t.Fatalf("got  %v\nwant %v", got, x.want)
			}
		})
	}
	h := with(0, "*", 0)
	h.MaxMsgNums = 2
	if got := pull(t, c, h); len(got.bodies) != 2 || got.next != 2 {
		t.Fatalf("maxMsgNums: %v", got)
	}
	h.MaxMsgNums, h.MaxMsgBytes = 32, protocol.Some[int32](1)
	if got := pull(t, c, h); len(got.bodies) != 1 || got.next != 1 {
		t.Fatalf("maxMsgBytes: %v", got)
	}
}

func TestCollidingTagsAreTold(t *testing.T) {
	b := brokertest.Start(t)
	c := brokertest.Dial(t, b.Addr())
	c.Send("T", 0, "TAGS\x01BB\x02", "wrong")
	c.Send("T", 0, "TAGS\x01Aa\x02", "right")
	stored(t, c, "T", 0, 2)
	h := pullHeader("T", 0, 0)
	h.Subscription = "Aa"
	if got := pull(t, c, h); !slices.Equal(got.bodies, []string{"right"}) || got.next != 2 {
		t.Fatalf("%v", got)
	}
}

func TestHeldPullIsWoken(t *testing.T) {
	b := brokertest.Start(t)
	c, producer := brokertest.Dial(t, b.Addr()), brokertest.Dial(t, b.Addr())
	producer.Send("T", 0, "", "first")
	h := pullHeader("T", 0, 1)
	h.SysFlag |= protocol.PullFlagSuspend
	h.SuspendTimeoutMillis = 14_000
	h.Subscription = "a"
	done := make(chan pulled, 1)
	go func() { done <- pull(t, c, h) }()
	brokertest.Until(t, "the pull is held", func() error {
		if b.Held() != 1 {
			return fmt.Errorf("%d are held", b.Held())
		}
		return nil
	})
	producer.Send("T", 0, "TAGS\x01b\x02", "not wanted")
	producer.Send("T", 1, "TAGS\x01a\x02", "another queue")
	select {
	case got := <-done:
		t.Fatalf("woken by something else: %v", got)
	default:
	}
	begin := time.Now()
	producer.Send("T", 0, "TAGS\x01a\x02", "wanted")
	if got := <-done; got.code != 0 || !slices.Equal(got.bodies, []string{"wanted"}) || got.next != 3 {
		t.Fatalf("%v", got)
	}
	if d := time.Since(begin); d > 5*time.Second {
		t.Fatalf("woken by its time-out, after %v", d)
	}
}

func TestHeldPullTimesOut(t *testing.T) {
	b := brokertest.Start(t)
	c := brokertest.Dial(t, b.Addr())
	c.Send("T", 0, "", "m")
	h := pullHeader("T", 0, 1)
	h.SysFlag |= protocol.PullFlagSuspend
	h.SuspendTimeoutMillis = 50
	if got := pull(t, c, h); got.code != protocol.RespPullNotFound || got.next != 1 || got.last != 1 {
		t.Fatalf("%v", got)
	}
}

func TestShortPolling(t *testing.T) {
	b := brokertest.Start(t, func(o *broker.Options) { o.Broker.LongPollingEnable, o.Broker.ShortPollingTimeMills = false, 30 })
	c := brokertest.Dial(t, b.Addr())
	c.Send("T", 0, "", "m")
	h := pullHeader("T", 0, 1)
	h.SysFlag |= protocol.PullFlagSuspend
	h.SuspendTimeoutMillis = 1 << 40
	if got := pull(t, c, h); got.code != protocol.RespPullNotFound {
		t.Fatalf("%v", got)
	}
}

// TestPullRefusals has the checks in Java's order, with their codes.
func TestPullRefusals(t *testing.T) {
	b := brokertest.Start(t)
	c := brokertest.Dial(t, b.Addr())
	c.Send("T", 0, "", "m")
	member := brokertest.Dial(t, b.Addr())
	member.Heartbeat("g1", protocol.SubscriptionData{Topic: "T", SubString: "*", SubVersion: 5})
	type edit = func(h *protocol.PullMessageRequestHeader)
	for _, x := range []struct {
		name  string
		by    *brokertest.Client
		edit  edit
		code  int32
		words string
	}{
		{"illegal group", c, func(h *protocol.PullMessageRequestHeader) { h.ConsumerGroup = "a/b" }, 26, "illegal characters"},
		{"group too long", c, func(h *protocol.PullMessageRequestHeader) { h.ConsumerGroup = strings.Repeat("g", 121) }, 26, "max length 120"},
		{"no such topic", c, func(h *protocol.PullMessageRequestHeader) { h.Topic = "none" }, 17, "topic[none] not exist"},
		{"topic not readable", c, func(h *protocol.PullMessageRequestHeader) { h.Topic = "rmq_sys_SYNC_BROKER_MEMBER_test-broker" }, 16, "its permission is"},
		{"queue id too high", c, func(h *protocol.PullMessageRequestHeader) { h.QueueID = 4 }, 29, "queueId[4] is illegal"},
		{"queue id negative", c, func(h *protocol.PullMessageRequestHeader) { h.QueueID = -1 }, 29, "queueId[-1] is illegal"},
		{"nobody of the group is here", c, func(h *protocol.PullMessageRequestHeader) { h.SysFlag = 0 }, 24, "the consumer's group info not exist"},
		{"no SQL with the pull", c, func(h *protocol.PullMessageRequestHeader) { h.ExpressionType, h.Subscription = "SQL92", "a >> 5" }, 23, `parse the consumer's subscription failed: Encountered ">" at line 1, column 4.`},
		{"another language", c, func(h *protocol.PullMessageRequestHeader) { h.ExpressionType, h.Subscription = "SQL93", "a > 5" }, 23, "there are TAG and SQL92"},
		{"not subscribed", member, func(h *protocol.PullMessageRequestHeader) {
			h.SysFlag, h.ConsumerGroup, h.Topic = 0, "g1", "BenchmarkTest"
		}, 24, "the consumer's subscription not exist"},
		{"subscription not the latest", member, func(h *protocol.PullMessageRequestHeader) { h.SysFlag, h.ConsumerGroup, h.SubVersion = 0, "g1", 6 }, 25, "the consumer's subscription not latest"},
	} {
		t.Run(x.name, func(t *testing.T) {
			h := pullHeader("T", 0, 0)
			x.edit(h)
			r := x.by.Call(protocol.ReqPullMessage, h, nil)
			if r.Code != x.code || !strings.Contains(r.Remark, x.words) {
				t.Fatalf("got code %d, %q\nwant %d, ...%s...", r.Code, r.Remark, x.code, x.words)
			}
		})
	}
	h := pullHeader("T", 0, 0)
	h.SysFlag, h.ConsumerGroup, h.SubVersion = 0, "g1", 5
	if got := pull(t, member, h); got.code != 0 {
		t.Fatalf("%v", got)
	}
	if r := c.Do(request(protocol.ReqPullMessage, map[string]string{"topic": "T"}, nil)); r.Code != 1 || !strings.Contains(r.Remark, "consumerGroup: missing") {
		t.Fatal(r.Code, r.Remark)
	}
}

func TestPullSwitches(t *testing.T) {
	for _, x := range []struct {
		name string
		edit func(*broker.Options)
		code int32
		kind string
	}{
		{"broker not readable", func(o *broker.Options) { o.Broker.BrokerPermission = 2 }, protocol.ReqPullMessage, "1"},
		{"lite pull off", func(o *broker.Options) { o.Broker.LitePullMessageEnable = false }, protocol.ReqLitePullMessage, "1"},
	} {
		b := brokertest.Start(t, x.edit)
		c := brokertest.Dial(t, b.Addr())
		c.Send("T", 0, "", "m")
		r := c.Call(x.code, pullHeader("T", 0, 0), nil)
		if kind, _ := r.Ext.Get("forbiddenType"); r.Code != protocol.RespNoPermission || kind != x.kind {
			t.Errorf("%s: code %d %s, forbiddenType %q", x.name, r.Code, r.Remark, kind)
		}
	}
	b := brokertest.Start(t, func(o *broker.Options) { o.Broker.AutoCreateSubscriptionGroup = false })
	c := brokertest.Dial(t, b.Addr())
	if r := c.Call(protocol.ReqPullMessage, pullHeader("T", 0, 0), nil); r.Code != protocol.RespSubscriptionGroupNotExist {
		t.Error(r.Code, r.Remark)
	}
}

func TestPullCommits(t *testing.T) {
	b := brokertest.Start(t)
	c := brokertest.Dial(t, b.Addr())
	c.Send("T", 0, "", "m")
	h := pullHeader("T", 0, 1)
	h.SysFlag |= protocol.PullFlagCommitOffset
	h.CommitOffset = 1
	if got := pull(t, c, h); got.code != protocol.RespPullNotFound {
		t.Fatalf("%v", got)
	}
	var reply protocol.QueryConsumerOffsetResponseHeader
	c.Must(protocol.ReqQueryConsumerOffset, &protocol.QueryConsumerOffsetRequestHeader{ConsumerGroup: "g", Topic: "T"}, nil, &reply)
	if reply.Offset != 1 {
		t.Fatal(reply.Offset)
	}
}

func TestPullOnTheSecondPortIsRefused(t *testing.T) {
	b := brokertest.Start(t)
	c := brokertest.Dial(t, b.FastAddr())
	c.Send("T", 0, "", "m")
	if r := c.Call(protocol.ReqPullMessage, pullHeader("T", 0, 0), nil); r.Code != protocol.RespRequestCodeNotSupported {
		t.Fatal(r.Code, r.Remark)
	}
}

// FuzzPullFields: whatever the fields hold, the broker answers.
func FuzzPullFields(f *testing.F) {
	b := brokertest.Start(f)
	conn := brokertest.Dial(f, b.Addr())
	conn.Send("T", 0, "TAGS\x01a\x02", "m")
	f.Add("T", "g", int32(0), int64(0), int32(32), int32(4), int64(0), "*", "TAG", int32(100))
	f.Add("T", "g", int32(-1), int64(-5), int32(-32), int32(7), int64(1<<62), "a||b", "SQL92", int32(-1))
	f.Add("T", "g", int32(0), int64(0), int32(32), int32(6), int64(0), "TAGS = 'a' AND b IS NULL", "SQL92", int32(100))
	f.Fuzz(func(t *testing.T, topic, group string, queue int32, off int64, n, flag int32, commit int64, expr, kind string, bytes int32) {
		c := conn.With(t)
		h := &protocol.PullMessageRequestHeader{ConsumerGroup: group, Topic: topic, QueueID: queue, QueueOffset: off, MaxMsgNums: n, SysFlag: flag,
			CommitOffset: commit, SuspendTimeoutMillis: 1, Subscription: expr, ExpressionType: kind, MaxMsgBytes: protocol.Some(bytes)}
		if r := c.Call(protocol.ReqPullMessage, h, nil); strings.Contains(r.Remark, "panicked") {
			t.Fatal(r.Remark)
		}
	})
}
