package broker_test

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/seedmq/seedmq/broker"
	"github.com/seedmq/seedmq/broker/brokertest"
	"github.com/seedmq/seedmq/remoting/protocol"
)

func createBatchTopic(t *testing.T, c *brokertest.Client, topic string) {
	t.Helper()
	c.Must(protocol.ReqUpdateAndCreateTopic, &protocol.UpdateAndCreateTopicRequestHeader{Topic: topic, DefaultTopic: "TBW102", ReadQueueNums: 2, WriteQueueNums: 2,
		Perm: 6, TopicFilterType: "SINGLE_TAG", Attributes: "+queue.type=BatchCQ"}, nil, nil)
}

// innerBody is a batch; each message has a body and a tag, its number is its property n.
func innerBody(bodies ...string) []byte {
	var b []byte
	for i, body := range bodies {
		tag, _, _ := strings.Cut(body, " ")
		b = protocol.AppendBatchEntry(b, &protocol.BatchEntry{Flag: int32(i), Body: []byte(body), Properties: fmt.Sprintf("TAGS\x01%s\x02n\x01%d\x02", tag, i)})
	}
	return b
}

// pullVersion pulls as a client of a language and version.
func pullVersion(t *testing.T, c *brokertest.Client, lang protocol.Language, version int32, h *protocol.PullMessageRequestHeader) ([]protocol.MessageView, *protocol.PullMessageResponseHeader) {
	t.Helper()
	req := protocol.NewRequest(int32(protocol.ReqPullMessage), h, nil)
	req.Language, req.Version = lang, version
	r := c.Do(req)
	if r.Code != int32(protocol.RespSuccess) {
		t.Fatalf("pull at %d: code %d %s", h.QueueOffset, r.Code, r.Remark)
	}
	var out protocol.PullMessageResponseHeader
	if err := out.DecodeExt(r.Ext); err != nil {
		t.Fatal(err)
	}
	return brokertest.Messages(t, r.Body), &out
}

func texts(views []protocol.MessageView) (out []string) {
	for _, v := range views {
		if v.SysFlag&protocol.SysFlagInnerBatch == 0 {
			out = append(out, fmt.Sprint(v.QueueOffset, " ", string(v.Body)))
			continue
		}
		r := protocol.NewBatchReader(v.Body)
		for e := (protocol.BatchEntry{}); r.Next(&e); {
			out = append(out, fmt.Sprint(v.QueueOffset, "+ ", string(e.Body)))
		}
	}
	return out
}

func TestBatchTopic(t *testing.T) {
	b := brokertest.Start(t)
	c := brokertest.Dial(t, b.Addr())
	createBatchTopic(t, c, "B")
	send := func(code protocol.RequestCode, props string, body []byte) (h protocol.SendMessageResponseHeader) {
		t.Helper()
		c.Must(code, brokertest.SendHeader("B", 0, props), body, &h)
		return h
	}
	h := send(protocol.ReqSendBatchMessage, "UNIQ_KEY\x01U1\x02WAIT\x01true\x02", innerBody("a 0", "b 1", "a 2"))
	if h.QueueOffset != 0 || h.BatchUniqID != "U1" || h.TransactionID != "U1" || len(h.MsgID) != 32 {
		t.Fatalf("%+v", h)
	}
	if h := send(protocol.ReqSendMessageV2, "UNIQ_KEY\x01S\x02TAGS\x01b\x02", []byte("b single")); h.QueueOffset != 3 || h.BatchUniqID != "" {
		t.Fatalf("%+v", h)
	}
	if h := send(protocol.ReqSendBatchMessage, "WAIT\x01true\x02", innerBody("c 4", "c 5")); h.QueueOffset != 4 || h.BatchUniqID != "" || len(h.MsgID) != 65 { // a client of 4.9: one record each
		t.Fatalf("%+v", h)
	}
	java5 := func(h *protocol.PullMessageRequestHeader) ([]protocol.MessageView, *protocol.PullMessageResponseHeader) {
		return pullVersion(t, c, protocol.LanguageJava, protocol.VersionV5_0_0, h)
	}
	want := "[0+ a 0 0+ b 1 0+ a 2 3 b single 4 c 4 5 c 5]"
	views, res := java5(pullHeader("B", 0, 0))
	if got := fmt.Sprint(texts(views)); got != want || res.NextBeginOffset != 6 || res.MaxOffset != 6 {
		t.Fatalf("%s, %+v", got, res)
	}
	for _, old := range []struct {
		lang    protocol.Language
		version int32
	}{{protocol.LanguageJava, protocol.VersionV4_9_4}, {protocol.LanguageCPP, math.MaxInt32}} {
		views, res := pullVersion(t, c, old.lang, old.version, pullHeader("B", 0, 0))
		if got := fmt.Sprint(texts(views)); got != "[0 a 0 1 b 1 2 a 2 3 b single 4 c 4 5 c 5]" || res.NextBeginOffset != 6 {
			t.Fatalf("%+v: %s, %+v", old, got, res)
		}
		if n, _ := views[1].Property("n"); n != "1" || views[1].Flag != 1 || views[1].SysFlag != 0 || views[1].PhysicalOffset != views[0].PhysicalOffset {
			t.Fatalf("%+v", views[1])
		}
	}
	if views, _ := java5(pullHeader("B", 0, 2)); fmt.Sprint(texts(views)) != "[2 a 2 3 b single 4 c 4 5 c 5]" {
		t.Fatalf("from the middle: %v", texts(views))
	}
	tagged := pullHeader("B", 0, 0)
	tagged.Subscription = "a"
	if views, res := java5(tagged); fmt.Sprint(texts(views)) != "[0+ a 0 0+ b 1 0+ a 2]" || res.NextBeginOffset != 6 {
		t.Fatalf("by tag: %v, %+v", texts(views), res)
	}
	if views, _ := pullVersion(t, c, protocol.LanguageGo, 0, tagged); fmt.Sprint(texts(views)) != "[0 a 0 2 a 2]" {
		t.Fatalf("by tag, taken apart: %v", texts(views))
	}
	sql := pullHeader("B", 0, 0)
	sql.Subscription, sql.ExpressionType = "n >= 1 OR TAGS = 'b'", "SQL92"
	if views, _ := java5(sql); fmt.Sprint(texts(views)) != "[1 b 1 2 a 2 3 b single 5 c 5]" {
		t.Fatalf("by SQL: %v", texts(views))
	}
	var min protocol.GetMinOffsetResponseHeader
	c.Must(protocol.ReqGetMinOffset, &protocol.GetMinOffsetRequestHeader{Topic: "B", QueueID: 0}, nil, &min)
	var max protocol.GetMaxOffsetResponseHeader
	c.Must(protocol.ReqGetMaxOffset, &protocol.GetMaxOffsetRequestHeader{Topic: "B", QueueID: 0}, nil, &max)
	if min.Offset != 0 || max.Offset != 6 {
		t.Fatalf("%d to %d", min.Offset, max.Offset)
	}
}

// A pull that waits for one tag hears of a batch that has it.
func TestBatchWakesPulls(t *testing.T) {
	b := brokertest.Start(t)
	c, p := brokertest.Dial(t, b.Addr()), brokertest.Dial(t, b.Addr())
	createBatchTopic(t, c, "B")
	h := pullHeader("B", 0, 0)
	h.Subscription, h.SysFlag, h.SuspendTimeoutMillis = "y", h.SysFlag|protocol.PullFlagSuspend, 20_000
	got := make(chan *protocol.Command, 1)
	go func() { got <- c.With(t).Call(protocol.ReqPullMessage, h, nil) }()
	brokertest.Until(t, "the pull is held", func() error {
		if b.Held() == 0 {
			return fmt.Errorf("nobody waits")
		}
		return nil
	})
	p.Must(protocol.ReqSendBatchMessage, brokertest.SendHeader("B", 0, "UNIQ_KEY\x01U\x02"), innerBody("x 0", "y 1"), nil)
	r := <-got
	if views := brokertest.Messages(t, r.Body); r.Code != int32(protocol.RespSuccess) || len(texts(views)) == 0 {
		t.Fatalf("code %d %s: %v", r.Code, r.Remark, texts(views))
	}
}

func TestBatchAndLightBadInput(t *testing.T) {
	b := brokertest.Start(t, func(o *broker.Options) {
		o.Store.EnableLmq, o.Store.EnableMultiDispatch, o.Store.EnableLmqQuota, o.Store.MaxLmqConsumeQueueNum = true, true, true, 3
	})
	c := brokertest.Dial(t, b.Addr())
	createBatchTopic(t, c, "B")
	c.Send("T", 0, "INNER_MULTI_DISPATCH\x01%LMQ%1,%LMQ%2\x02", "first")
	c.Send("B", 0, "", "first")
	ends := func() (out [3]int64) {
		t.Helper()
		for i, topic := range []string{"T", "B", "%LMQ%1"} {
			var h protocol.GetMaxOffsetResponseHeader
			c.Must(protocol.ReqGetMaxOffset, &protocol.GetMaxOffsetRequestHeader{Topic: topic}, nil, &h)
			out[i] = h.Offset
		}
		return out
	}
	innerFlag := protocol.SysFlagInnerBatch | protocol.SysFlagNeedUnwrap
	lights := func(list string) string { return "INNER_MULTI_DISPATCH\x01" + list + "\x02" }
	for _, x := range []struct {
		topic, props string
		flag         int32
		batch        bool
		body         []byte
		code         protocol.ResponseCode
		remark       string
	}{
		{"T", "INNER_NUM\x011\x02", 0, false, []byte("x"), protocol.RespMessageIllegal, "INNER_NUM"},
		{"B", "INNER_NUM\x011\x02", 0, false, []byte("x"), protocol.RespMessageIllegal, "INNER_NUM"},
		{"T", "INNER_NUM\x011\x02", innerFlag, false, innerBody("x"), protocol.RespMessageIllegal, "BatchCQ"},
		{"B", "INNER_NUM\x012\x02", innerFlag, false, innerBody("x"), protocol.RespMessageIllegal, "has 1 messages"},
		{"B", "", innerFlag, false, innerBody("x"), protocol.RespMessageIllegal, "INNER_NUM"},
		{"B", "INNER_NUM\x011\x02", innerFlag, false, []byte("no batch"), protocol.RespMessageIllegal, "batch body"},
		{"B", "UNIQ_KEY\x01u\x02", 0, true, []byte("no batch, but longer than one"), protocol.RespMessageIllegal, "batch body"},
		{"B", "UNIQ_KEY\x01u\x02", 0, true, []byte{}, protocol.RespMessageIllegal, "batch body"},
		{"B", "", 0, true, []byte("no batch, but longer than one"), protocol.RespMessageIllegal, "batch body"},
		{"B", lights("%LMQ%1"), 0, true, innerBody("x"), protocol.RespMessageIllegal, "cannot enter light queues"},
		{"B", lights("%LMQ%1"), 0, false, []byte("x"), protocol.RespMessageIllegal, "cannot enter light queues"},
		{"T", lights("%LMQ%1"), 0, true, innerBody("x"), protocol.RespMessageIllegal, "cannot enter light queues"},
		{"T", "", 0, true, protocol.AppendBatchEntry(nil, &protocol.BatchEntry{Properties: lights("%LMQ%1")}), protocol.RespMessageIllegal, "cannot enter light queues"},
		{"T", "", 0, true, protocol.AppendBatchEntry(nil, &protocol.BatchEntry{Properties: "INNER_MULTI_QUEUE_OFFSET\x011\x02"}), protocol.RespMessageIllegal, "INNER_MULTI_QUEUE_OFFSET"},
		{"T", lights("plain"), 0, false, []byte("x"), protocol.RespMessageIllegal, "no name of a light queue"},
		{"T", lights("%LMQ%1,"), 0, false, []byte("x"), protocol.RespMessageIllegal, "no name of a light queue"},
		{"T", lights("%LMQ%1,%LMQ%1"), 0, false, []byte("x"), protocol.RespMessageIllegal, "twice"},
		{"T", lights("%LMQ%a/../b"), 0, false, []byte("x"), protocol.RespMessageIllegal, "folder"},
		{"T", lights("%LMQ%1") + "DELAY\x011\x02", 0, false, []byte("x"), protocol.RespSuccess, ""},
		{"T", lights("no") + "DELAY\x011\x02", 0, false, []byte("x"), protocol.RespMessageIllegal, "no name"},
		{"T", lights("%LMQ%3,%LMQ%4"), 0, false, []byte("x"), protocol.RespLmqQuotaExceeded, "maxLmqConsumeQueueNum"},
		{"T", "x\x01" + strings.Repeat("y", 32_640) + "\x02" + lights("%LMQ%1"), 0, false, []byte("x"), protocol.RespMessageIllegal, "32767"},
	} {
		h, code := brokertest.SendHeader(x.topic, 0, x.props), protocol.ReqSendMessageV2
		h.SysFlag = x.flag
		if x.batch {
			code = protocol.ReqSendBatchMessage
		}
		r := c.Call(code, h, x.body)
		if r.Code != int32(x.code) || !strings.Contains(r.Remark, x.remark) {
			t.Errorf("%s %.60q: code %d %s, want %d %s", x.topic, x.props, r.Code, r.Remark, x.code, x.remark)
		}
	}
	if got := ends(); got != [3]int64{1, 1, 1} && got != [3]int64{2, 1, 2} { // what was delayed may have come
		t.Errorf("the queues end at %v: something was stored", got)
	}
	c.Send("T", 0, lights("%LMQ%3,%LMQ%2"), "within the quota")
	for _, attributes := range []string{"+queue.type=LightCQ", "+queue.type="} {
		if r := c.Call(protocol.ReqUpdateAndCreateTopic, &protocol.UpdateAndCreateTopicRequestHeader{Topic: "New", DefaultTopic: "TBW102", ReadQueueNums: 1, WriteQueueNums: 1,
			Perm: 6, TopicFilterType: "SINGLE_TAG", Attributes: attributes}, nil); r.Code == int32(protocol.RespSuccess) {
			t.Errorf("a topic with %s was made", attributes)
		}
	}
}

func TestLightQueues(t *testing.T) {
	dir := t.TempDir()
	on := func(o *broker.Options) { o.Store.EnableLmq, o.Store.EnableMultiDispatch = true, true }
	b := brokertest.StartIn(t, dir, on)
	c := brokertest.Dial(t, b.Addr())
	c.Send("T", 0, "INNER_MULTI_DISPATCH\x01%LMQ%a\x02INNER_MULTI_QUEUE_OFFSET\x0177\x02", "0")
	c.Send("T", 0, "", "1")
	c.Send("T", 0, "INNER_MULTI_DISPATCH\x01%LMQ%b,%LMQ%a\x02TAGS\x01t\x02", "2")
	c.Send("%LMQ%a", 0, "", "3")
	c.Send("T", 1, "INNER_MULTI_DISPATCH\x01%LMQ%a\x02DELAY\x011\x02", "4") // enters when it is delivered
	if views := stored(t, c, "%LMQ%a", 0, 4); fmt.Sprint(texts(views)) != "[0 0 1 2 2 3 3 4]" {
		t.Fatalf("%v", texts(views))
	}
	if views := stored(t, c, "T", 0, 3); fmt.Sprint(texts(views)) != "[0 0 1 1 2 2]" {
		t.Fatalf("%v", texts(views))
	}
	h := pullHeader("%LMQ%a", 0, 0)
	h.ConsumerGroup, h.Subscription = "%LMQ%group", "t"
	h.SysFlag |= protocol.PullFlagCommitOffset
	h.CommitOffset = 1
	if views, _ := pullVersion(t, c, protocol.LanguageJava, protocol.VersionV5_0_0, h); fmt.Sprint(texts(views)) != "[1 2]" {
		t.Fatalf("%v", texts(views))
	}
	if r := c.Call(protocol.ReqPullMessage, pullHeader("%LMQ%a", 1, 0), nil); r.Code != int32(protocol.RespInvalidParameter) {
		t.Fatalf("a second queue: code %d %s", r.Code, r.Remark)
	}
	c.Must(protocol.ReqUpdateConsumerOffset, &protocol.UpdateConsumerOffsetRequestHeader{ConsumerGroup: "%LMQ%group", Topic: "%LMQ%a", CommitOffset: 2}, nil, nil)
	c.Must(protocol.ReqUpdateConsumerOffset, &protocol.UpdateConsumerOffsetRequestHeader{ConsumerGroup: "g", Topic: "T", CommitOffset: 1}, nil, nil)
	noTopics := func() {
		t.Helper()
		if r := c.Call(protocol.ReqGetAllTopicConfig, nil, nil); !strings.Contains(string(r.Body), "SELF_TEST_TOPIC") || strings.Contains(string(r.Body), "%LMQ%") {
			t.Fatalf("the table of topics: %s", r.Body)
		}
	}
	noTopics()
	b.Stop(t)

	b = brokertest.StartIn(t, dir, on)
	c = brokertest.Dial(t, b.Addr())
	committed := func(group, topic string) int64 {
		t.Helper()
		var h protocol.QueryConsumerOffsetResponseHeader
		c.Must(protocol.ReqQueryConsumerOffset, &protocol.QueryConsumerOffsetRequestHeader{ConsumerGroup: group, Topic: topic}, nil, &h)
		return h.Offset
	}
	if a, g := committed("%LMQ%group", "%LMQ%a"), committed("g", "T"); a != 2 || g != 1 {
		t.Fatalf("offsets %d and %d", a, g)
	}
	if views := stored(t, c, "%LMQ%a", 0, 4); len(views) != 4 {
		t.Fatalf("%v", texts(views))
	}
	b.Stop(t)

	b = brokertest.StartIn(t, dir) // turned off: no topic is made for what is on disk, and offsets of groups stay
	c = brokertest.Dial(t, b.Addr())
	noTopics()
	if g := committed("g", "T"); g != 1 {
		t.Fatalf("offset %d", g)
	}
	if r := c.Call(protocol.ReqPullMessage, pullHeader("%LMQ%a", 0, 0), nil); r.Code != int32(protocol.RespTopicNotExist) {
		t.Fatalf("code %d %s", r.Code, r.Remark)
	}
	c.Must(protocol.ReqCleanUnusedTopic, nil, nil, nil)
	b.Stop(t)

	b = brokertest.StartIn(t, dir, on) // and on again: nothing was lost
	c = brokertest.Dial(t, b.Addr())
	if views := stored(t, c, "%LMQ%a", 0, 4); len(views) != 4 || committed("%LMQ%group", "%LMQ%a") != 2 {
		t.Fatalf("%v", texts(views))
	}
	c.Must(protocol.ReqDeleteTopicInBroker, &protocol.DeleteTopicInBrokerRequestHeader{Topic: "%LMQ%a"}, nil, nil)
	c.Send("T", 0, "INNER_MULTI_DISPATCH\x01%LMQ%a\x02", "anew")
	if views := stored(t, c, "%LMQ%a", 0, 1); fmt.Sprint(texts(views)) != "[0 anew]" {
		t.Fatalf("deleted, it has %v", texts(views))
	}
}

// Of a batch the message goes back that the consumer names, alone; a single message does as everywhere.
func TestBatchSendBack(t *testing.T) {
	b := brokertest.Start(t, quick)
	c := brokertest.Dial(t, b.Addr())
	createBatchTopic(t, c, "B")
	var body []byte
	for _, uniq := range []string{"U1", "U2"} {
		body = protocol.AppendBatchEntry(body, &protocol.BatchEntry{Flag: 7, Body: []byte("body of " + uniq), Properties: "UNIQ_KEY\x01" + uniq + "\x02TAGS\x01t\x02"})
	}
	c.Must(protocol.ReqSendBatchMessage, brokertest.SendHeader("B", 0, "UNIQ_KEY\x01U\x02"), body, nil)
	c.Send("B", 0, "UNIQ_KEY\x01S\x02", "single")
	views, _ := pullVersion(t, c, protocol.LanguageJava, protocol.VersionV5_0_0, pullHeader("B", 0, 0))
	back := failed("G", views[0].PhysicalOffset, 0)
	for _, id := range []string{"", "U", "x"} {
		back.OriginMsgID = id
		if r := c.Call(protocol.ReqConsumerSendMsgBack, back, nil); r.Code != int32(protocol.RespMessageIllegal) {
			t.Fatalf("%q: code %d %s", id, r.Code, r.Remark)
		}
	}
	back.OriginMsgID = "U2"
	c.Must(protocol.ReqConsumerSendMsgBack, back, nil, nil)
	c.Must(protocol.ReqConsumerSendMsgBack, failed("G", views[1].PhysicalOffset, 0), nil, nil)
	got := stored(t, c, "%RETRY%G", 0, 2)
	if string(got[0].Body) != "body of U2" || got[0].SysFlag != 0 || got[0].Flag != 7 || property(&got[0], "RETRY_TOPIC") != "B" || property(&got[0], "UNIQ_KEY") != "U2" ||
		property(&got[0], "TAGS") != "t" || got[0].ReconsumeTimes != 1 {
		t.Fatalf("%+v", got[0])
	}
	if string(got[1].Body) != "single" || property(&got[1], "INNER_NUM") != "" {
		t.Fatalf("%+v", got[1])
	}
}
