package broker_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/seedmq/seedmq/broker"
	"github.com/seedmq/seedmq/broker/brokertest"
	"github.com/seedmq/seedmq/conf/clock"
	"github.com/seedmq/seedmq/remoting/protocol"
)

// limitedTopic makes or changes a topic of one queue.
func limitedTopic(c *brokertest.Client, name, attributes string) *protocol.Command {
	h := newTopic(name, 1)
	h.Attributes = attributes
	return c.Call(protocol.ReqUpdateAndCreateTopic, h, nil)
}

// startFake runs a broker whose clock stands still until the test moves it.
func startFake(t *testing.T) (*brokertest.Client, *clock.Fake) {
	now := clock.NewFake(time.Now())
	b := brokertest.Start(t, func(o *broker.Options) { o.Clock = now })
	return brokertest.Dial(t, b.Addr()), now
}

func TestLimitAttributes(t *testing.T) {
	c := startAdmin(t)
	refused(t, limitedTopic(c, "T", "+retention.ms=60000,+retention.bytes=1,+retention.messages=9223372036854775807,+message.ttl.ms=5"), protocol.RespSuccess)
	got := fetch[protocol.TopicConfig](t, c, protocol.ReqGetTopicConfig, &protocol.GetTopicConfigRequestHeader{Topic: "T"}, "")
	if got.Attributes["retention.ms"] != "60000" || got.Attributes["message.ttl.ms"] != "5" {
		t.Errorf("%v", got.Attributes)
	}
	refused(t, limitedTopic(c, "T", "-retention.bytes,+retention.ms=7"), protocol.RespSuccess)
	refused(t, limitedTopic(c, "%DLQ%g", "+retention.messages=7"), protocol.RespSuccess)
	for _, x := range []struct{ name, attributes, says string }{
		{"T", "+retention.ms=soon", "value of retention.ms is not in range(1, "},
		{"T", "+retention.bytes=-1", "value of retention.bytes is not in range(1, "},
		{"T", "+retention.messages=0", "value of retention.messages is not in range(1, "},
		{"T", "+message.ttl.ms=9223372036854775808", "value of message.ttl.ms is not in range(1, "},
		{"T", "+message.ttl.ms=", "value of message.ttl.ms is not in range(1, "},
		{"T", "+retention.weeks=1", "unsupported key: retention.weeks"},
		{"T", "-retention.bytes", "attempt to delete a nonexistent key: retention.bytes"},
		{"New", "-retention.bytes", "only add attribute is supported while creating topic"},
	} {
		refused(t, limitedTopic(c, x.name, x.attributes), protocol.RespSystemError, x.says)
	}
	refused(t, limitedTopic(c, "Batches", "+queue.type=BatchCQ,+retention.ms=1"), protocol.RespSuccess)
	b := brokertest.Start(t, func(o *broker.Options) { o.Broker.ValidateSystemTopicWhenUpdateTopic = false })
	c = brokertest.Dial(t, b.Addr())
	refused(t, limitedTopic(c, protocol.TopicHalf, "+message.ttl.ms=1"), protocol.RespInvalidParameter, "conflict with system topic", "message.ttl.ms")
}

// TestRetention: what is older than the topic allows cannot be pulled any more; other topics are not touched, nor is the topic once the
// limit is taken away.
func TestRetention(t *testing.T) {
	c, now := startFake(t)
	refused(t, limitedTopic(c, "T", "+retention.ms=60000"), protocol.RespSuccess)
	refused(t, limitedTopic(c, "Kept", ""), protocol.RespSuccess)
	for range 3 {
		c.Send("T", 0, "", "old")
		c.Send("Kept", 0, "", "old")
	}
	stored(t, c, "T", 0, 3)
	now.Advance(50 * time.Second)
	c.Send("T", 0, "", "young")
	stored(t, c, "T", 0, 4)
	brokertest.Until(t, "the old ones to go", func() error {
		now.Advance(time.Second)
		if got := pull(t, c, pullHeader("T", 0, 0)); got.code != protocol.RespPullOffsetMoved || got.next != 3 {
			return fmt.Errorf("%+v", got)
		}
		return nil
	})
	if got := pull(t, c, pullHeader("T", 0, 3)); fmt.Sprint(got.bodies) != "[young]" {
		t.Errorf("%+v", got)
	}
	if got := pull(t, c, pullHeader("Kept", 0, 0)); len(got.bodies) != 3 {
		t.Errorf("%+v", got)
	}
	info := fetch[protocol.KVTable](t, c, protocol.ReqGetBrokerRuntimeInfo, nil, "")
	if info.Table["retentionHiddenMessages"] != "3" {
		t.Errorf("%s hidden", info.Table["retentionHiddenMessages"])
	}
	refused(t, limitedTopic(c, "T", "-retention.ms,+retention.messages=2"), protocol.RespSuccess)
	for i := range 3 {
		c.Send("T", 0, "", fmt.Sprint(i))
	}
	brokertest.Until(t, "two to be left", func() error {
		now.Advance(time.Second)
		if got := pull(t, c, pullHeader("T", 0, 5)); fmt.Sprint(got.smallest, got.bodies) != "5 [1 2]" {
			return fmt.Errorf("%+v", got)
		}
		return nil
	})
}

// TestTTL: a pull passes over messages that are too old, moves its group's offset, and counts them.
func TestTTL(t *testing.T) {
	c, now := startFake(t)
	refused(t, limitedTopic(c, "T", "+message.ttl.ms=20000"), protocol.RespSuccess)
	refused(t, limitedTopic(c, "Kept", ""), protocol.RespSuccess)
	for i := range 3 {
		c.Send("T", 0, "TAGS\x01A\x02", fmt.Sprint("old", i))
		c.Send("Kept", 0, "", "old")
	}
	stored(t, c, "Kept", 0, 3)
	now.Advance(20 * time.Second)
	if got := pull(t, c, pullHeader("T", 0, 1)); fmt.Sprint(got.bodies) != "[old1 old2]" {
		t.Errorf("just not too old: %+v", got)
	}
	c.Send("T", 0, "TAGS\x01B\x02", "young")
	now.Advance(time.Millisecond)
	brokertest.Until(t, "the young one", func() error {
		if got := pull(t, c, pullHeader("T", 0, 1)); fmt.Sprint(got.bodies) != "[young]" || got.next != 4 || got.smallest != 0 {
			return fmt.Errorf("%+v", got)
		}
		return nil
	})
	now.Advance(20 * time.Second)
	h := pullHeader("T", 0, 3)
	h.SysFlag |= protocol.PullFlagSuspend
	h.SuspendTimeoutMillis = 10_000
	if got := pull(t, c, h); got.code != protocol.RespPullRetryImmediately || got.next != 4 {
		t.Errorf("only old ones: %+v", got)
	}
	if got := pull(t, c, pullHeader("T", 0, 4)); got.code != protocol.RespPullNotFound || got.next != 4 {
		t.Errorf("at the end: %+v", got)
	}
	if got := pull(t, c, pullHeader("Kept", 0, 0)); len(got.bodies) != 3 {
		t.Errorf("%+v", got)
	}
	info := fetch[protocol.KVTable](t, c, protocol.ReqGetBrokerRuntimeInfo, nil, "")
	if n := info.Table["ttlPassedOverMessages"]; n != "3" {
		t.Errorf("%s passed over", n)
	}
	refused(t, limitedTopic(c, "T", "-message.ttl.ms"), protocol.RespSuccess)
	if got := pull(t, c, pullHeader("T", 0, 0)); len(got.bodies) != 4 {
		t.Errorf("without a limit: %+v", got)
	}
}

// TestTTLWhileHeld: a pull that waits gets the next message, and a message that grew too old while it waited in the queue is passed over.
func TestTTLWhileHeld(t *testing.T) {
	c, now := startFake(t)
	refused(t, limitedTopic(c, "T", "+message.ttl.ms=1000"), protocol.RespSuccess)
	c.Send("T", 0, "", "old")
	stored(t, c, "T", 0, 1)
	now.Advance(20 * time.Second)
	got := make(chan pulled, 1)
	go func() {
		h := pullHeader("T", 0, 1)
		h.SysFlag |= protocol.PullFlagSuspend
		h.SuspendTimeoutMillis = 60_000
		got <- pull(t, c, h)
	}()
	brokertest.Until(t, "the held pull to be answered", func() error {
		c.Send("T", 0, "", "new")
		select {
		case p := <-got:
			if p.code != protocol.RespSuccess || p.bodies[0] != "new" {
				t.Errorf("%+v", p)
			}
			return nil
		default:
			return fmt.Errorf("still held")
		}
	})
}

// TestTTLOfPops: a pop gets what is young, through more old messages than one look at the queue passes over, and its filter still counts.
func TestTTLOfPops(t *testing.T) {
	now := clock.NewFake(time.Now())
	b := brokertest.Start(t, func(o *broker.Options) { o.Clock = now })
	c := newPopClient(t, b, "T", "G")
	refused(t, limitedTopic(c.Client, "T", "+message.ttl.ms=20000"), protocol.RespSuccess)
	var old []*protocol.Command
	for range 1700 {
		old = append(old, protocol.NewRequest(protocol.ReqSendMessageV2, brokertest.SendHeader("T", 0, "TAGS\x01A\x02"), []byte("old")))
	}
	c.Burst(old...)
	now.Advance(20*time.Second + time.Millisecond)
	c.Send("T", 0, "TAGS\x01B\x02", "other tag")
	c.Send("T", 0, "TAGS\x01A\x02", "young")
	h := c.header(0, time.Minute)
	h.BornTime, h.PollTime, h.Exp, h.MaxMsgNums = 0, 10_000, "A", 1
	list, _, r := c.pop(h)
	if len(list) != 1 || string(list[0].Body) != "young" {
		t.Fatalf("%d messages, %d %s", len(list), r.Code, r.Remark)
	}
	info := fetch[protocol.KVTable](t, c.Client, protocol.ReqGetBrokerRuntimeInfo, nil, "")
	if n := info.Table["ttlPassedOverMessages"]; n != "1700" {
		t.Errorf("%s passed over", n)
	}
}

// TestLimitsOfBatches: in a topic with batch queues messages count, not records, records go whole, and a TTL holds for pulls and pops.
func TestLimitsOfBatches(t *testing.T) {
	now := clock.NewFake(time.Now())
	b := brokertest.Start(t, func(o *broker.Options) { o.Clock = now })
	c := newPopClient(t, b, "B", "G")
	refused(t, limitedTopic(c.Client, "B", "+queue.type=BatchCQ,+retention.messages=7"), protocol.RespSuccess)
	send := func(bodies ...string) {
		t.Helper()
		c.Must(protocol.ReqSendBatchMessage, brokertest.SendHeader("B", 0, "UNIQ_KEY\x01U1\x02WAIT\x01true\x02"), innerBody(bodies...), nil)
	}
	begins := func(first int64) {
		t.Helper()
		brokertest.Until(t, fmt.Sprint("the queue to begin at ", first), func() error {
			now.Advance(time.Second)
			var h protocol.GetMinOffsetResponseHeader
			if c.Must(protocol.ReqGetMinOffset, &protocol.GetMinOffsetRequestHeader{Topic: "B"}, nil, &h); h.Offset != first {
				return fmt.Errorf("%d", h.Offset)
			}
			return nil
		})
	}
	from := func(offset int64) string {
		t.Helper()
		views, _ := pullVersion(t, c.Client, protocol.LanguageGo, 0, pullHeader("B", 0, offset))
		return fmt.Sprint(texts(views))
	}
	send("a 0", "a 1", "a 2")
	send("a 3", "a 4", "a 5")
	c.Send("B", 0, "", "a 6")
	send("a 7") // eight: the first record goes, with three
	begins(3)
	if got := from(3); got != "[3 a 3 4 a 4 5 a 5 6 a 6 7 a 7]" {
		t.Errorf("%s", got)
	}
	refused(t, limitedTopic(c.Client, "B", "-retention.messages,+retention.ms=60000"), protocol.RespSuccess)
	now.Advance(50 * time.Second)
	send("a 8", "a 9")
	begins(8)
	refused(t, limitedTopic(c.Client, "B", "-retention.ms,+message.ttl.ms=20000"), protocol.RespSuccess)
	h := c.header(0, time.Hour)
	h.BornTime, h.PollTime, h.MaxMsgNums = 0, 10_000, 1
	if list, _, r := c.pop(h); len(list) != 1 || string(list[0].Body) != "a 8" {
		t.Fatalf("%d messages, %d %s", len(list), r.Code, r.Remark)
	}
	now.Advance(20*time.Second + time.Millisecond)
	if got := pull(t, c.Client, pullHeader("B", 0, 8)); got.code != protocol.RespPullRetryImmediately || got.next != 10 {
		t.Errorf("only old ones: %+v", got)
	}
	send("a 10", "a 11")
	brokertest.Until(t, "the young ones", func() error {
		if got := from(8); got != "[10 a 10 11 a 11]" {
			return fmt.Errorf("%s", got)
		}
		return nil
	})
	figure := func(key string) (n int) {
		t.Helper()
		_, err := fmt.Sscan(fetch[protocol.KVTable](t, c.Client, protocol.ReqGetBrokerRuntimeInfo, nil, "").Table[key], &n)
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	passed := figure("ttlPassedOverMessages")
	h.MaxMsgNums = 3
	list, _, r := c.pop(h)
	if len(list) != 2 || string(list[0].Body) != "a 10" || list[1].QueueOffset != 11 {
		t.Fatalf("%d messages, %d %s", len(list), r.Code, r.Remark)
	}
	if n := figure("ttlPassedOverMessages") - passed; n != 1 { // of two, one was popped before
		t.Errorf("the pop passed over %d", n)
	}
	if n := figure("retentionHiddenMessages"); n != 8 {
		t.Errorf("%d hidden", n)
	}
}

// TestPopAfterPurge: a group that pops goes on behind what was purged.
func TestPopAfterPurge(t *testing.T) {
	b := brokertest.Start(t)
	c := newPopClient(t, b, "T", "G")
	refused(t, limitedTopic(c.Client, "T", ""), protocol.RespSuccess)
	for i := range 5 {
		c.Send("T", 0, "", fmt.Sprint(i))
	}
	h := c.header(0, time.Minute)
	h.MaxMsgNums = 2
	taken, _, r := c.pop(h)
	if len(taken) == 0 {
		t.Fatalf("%d %s", r.Code, r.Remark)
	}
	purge(t, c.Client, &protocol.PurgeTopicRequestHeader{Topic: "T"})
	c.Send("T", 0, "", "new")
	brokertest.Until(t, "the new message", func() error {
		list, _, r := c.pop(c.header(0, time.Minute))
		if len(list) != 1 || string(list[0].Body) != "new" {
			return fmt.Errorf("%d messages, %d %s", len(list), r.Code, r.Remark)
		}
		return nil
	})
	refused(t, c.ack(&taken[0]), protocol.RespNoMessage, "offset is illegal") // as Java says of what its log has lost
}
