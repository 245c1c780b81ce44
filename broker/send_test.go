package broker_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/seedmq/seedmq/broker"
	"github.com/seedmq/seedmq/broker/brokertest"
	"github.com/seedmq/seedmq/remoting/protocol"
)

// pullHeader asks for everything of a queue from an offset on.
func pullHeader(topic string, queue int32, off int64) *protocol.PullMessageRequestHeader {
	return &protocol.PullMessageRequestHeader{ConsumerGroup: "g", Topic: topic, QueueID: queue, QueueOffset: off, MaxMsgNums: 32,
		SysFlag: protocol.PullFlagSubscription, Subscription: "*"}
}

// stored returns the messages of a queue, waiting until there are n.
func stored(t *testing.T, c *brokertest.Client, topic string, queue int32, n int) []protocol.MessageView {
	t.Helper()
	var all []protocol.MessageView
	for off := int64(0); len(all) < n; {
		h := pullHeader(topic, queue, off)
		h.SysFlag |= protocol.PullFlagSuspend
		h.SuspendTimeoutMillis = 5000
		r := c.Call(protocol.ReqPullMessage, h, nil)
		if r.Code != protocol.RespSuccess {
			t.Fatalf("%s@%d at %d: code %d %s", topic, queue, off, r.Code, r.Remark)
		}
		all = append(all, brokertest.Messages(t, r.Body)...)
		off = all[len(all)-1].QueueOffset + 1
	}
	return all
}

func TestSentIsStoredAsSent(t *testing.T) {
	b := brokertest.Start(t)
	c := brokertest.Dial(t, b.Addr())
	long := strings.Repeat("x", 100_000)
	h := brokertest.SendHeader("T", 1, "TAGS\x01a\x02UNIQ_KEY\x01AC1D00010000000000001234567890AB\x02")
	h.Flag, h.SysFlag, h.ReconsumeTimes = 7, protocol.SysFlagCompressed|protocol.SysFlagCompressionZlib, protocol.Some[int32](2)
	var reply protocol.SendMessageResponseHeader
	c.Must(protocol.ReqSendMessageV2, h, []byte(long), &reply)
	if reply.TransactionID != "AC1D00010000000000001234567890AB" || reply.QueueID != 1 || reply.QueueOffset != 0 || reply.MsgRegion != "DefaultRegion" || reply.TraceOn != "true" {
		t.Fatalf("%+v", reply)
	}
	m := stored(t, c, "T", 1, 1)[0]
	if m.Topic != "T" || string(m.Body) != long || m.Flag != 7 || m.SysFlag != h.SysFlag || m.ReconsumeTimes != 2 || m.BornTimestamp != h.BornTimestamp ||
		m.StoreHost != b.Self() || m.BornHost != c.Conn.LocalAddr() || m.QueueID != 1 {
		t.Fatalf("%+v", m)
	}
	if got := m.OffsetMsgID(); got != reply.MsgID {
		t.Fatalf("reply says %s, the record is %s", reply.MsgID, got)
	}
}

func TestProperties(t *testing.T) {
	b := brokertest.Start(t)
	c := brokertest.Dial(t, b.Addr())
	const added = "MSG_REGION\x01DefaultRegion\x02TRACE_ON\x01true\x02CLUSTER\x01TestCluster\x02"
	const id = "UNIQ_KEY\x01U1\x02"
	for i, x := range []struct{ sent, want string }{
		{id + "a\x01b\x02", id + "a\x01b\x02" + added},
		{id + "a\x01b", id + "a\x01b\x02" + added},                               // Java 4.9.1 … 5.1 leave out the last separator
		{id + "a\x01\x02\x01v\x02junk\x02c\x01d\x02", id + "c\x01d\x02" + added}, // what Java's parser would drop
		{id + "POP_CK\x01x\x02c\x01d\x02", id + "c\x01d\x02" + added},            // only the broker says these
		{id + "CLUSTER\x01other\x02TRACE_ON\x01false\x02", id + added},           // as after a message was taken from another cluster
		{id + "a\x01b\x01c\x02", id + "a\x01b\x01c\x02" + added},                 // further 0x01 belong to the value
		{id + "name\x01\u84dd\x02", id + "name\x01\u84dd\x02" + added},           // not only ASCII
		{id + "__CRC32#\x011234567890\x02WAIT\x01true\x02", id + "WAIT\x01true\x02" + added},
	} {
		c.Send("T", 0, x.sent, "m")
		if got := string(stored(t, c, "T", 0, i+1)[i].Properties); got != x.want {
			t.Errorf("sent %q\nstored %q\nwant   %q", x.sent, got, x.want)
		}
	}
}

func TestUniqKeyIsMadeWhenMissing(t *testing.T) {
	b := brokertest.Start(t)
	c := brokertest.Dial(t, b.Addr())
	seen := map[string]bool{}
	for i := range 50 {
		id := c.Send("T", 0, "KEYS\x01k\x02", "m").TransactionID
		v, _ := protocol.Property(stored(t, c, "T", 0, i+1)[i].Properties, protocol.PropertyUniqKey)
		if len(id) != 32 || strings.ToUpper(id) != id || v != id || seen[id] {
			t.Fatalf("reply says %q, the record %q", id, v)
		}
		seen[id] = true
	}
}

func TestQueueIsChosenForNegativeID(t *testing.T) {
	b := brokertest.Start(t)
	c := brokertest.Dial(t, b.Addr())
	seen := map[int32]bool{}
	for range 8 {
		seen[c.Send("T", -1, "", "m").QueueID] = true
	}
	if len(seen) != 4 {
		t.Fatalf("queues %v of 4", seen)
	}
}

// refusals are sends that must fail: the code, and words that the remark has to hold.
func TestSendRefusals(t *testing.T) {
	b := brokertest.Start(t, func(o *broker.Options) { o.Store.MaxMessageSize = 4096 })
	c := brokertest.Dial(t, b.Addr())
	c.Send("T", 0, "", "m")
	type fields = map[string]string
	for _, x := range []struct {
		name  string
		set   fields // "" removes the field
		body  int
		code  int32
		words string
	}{
		{"topic missing", fields{"b": "-"}, 1, 1, "b: missing"},
		{"group missing", fields{"a": "-"}, 1, 1, "a: missing"},
		{"queue id missing", fields{"e": "-"}, 1, 1, "e: missing"},
		{"queue id not a number", fields{"e": "one"}, 1, 1, `e: not a 32-bit integer: "one"`},
		{"queue id beyond the int", fields{"e": "4294967296"}, 1, 1, "e: not a 32-bit integer"},
		{"time not a number", fields{"g": "now"}, 1, 1, "g: not a 64-bit integer"},
		{"topic blank", fields{"b": " "}, 1, 29, "is blank"},
		{"topic with a slash", fields{"b": "../../x"}, 1, 29, "illegal characters"},
		{"topic too long", fields{"b": strings.Repeat("t", 128)}, 1, 29, "longer than topic max length"},
		{"topic of the system", fields{"b": "SCHEDULE_TOPIC_XXXX"}, 1, 16, "Sending message to topic[SCHEDULE_TOPIC_XXXX] is forbidden."},
		{"topic of transactions", fields{"b": "RMQ_SYS_TRANS_HALF_TOPIC"}, 1, 16, "is forbidden"},
		{"no such topic, no template", fields{"b": "new", "c": "nothing"}, 1, 17, "topic[new] not exist, apply first please!"},
		{"queue beyond the topic's", fields{"e": "4"}, 1, 29, "request queueId[4] is illegal"},
		{"body too big", nil, 4097, 13, "body is 4097 bytes, the limit is 4096 (maxMessageSize)"},
		{"properties too big", fields{"i": "k\x01" + strings.Repeat("v", 32767)}, 1, 13, "properties are"},
		{"properties too big with the broker's", fields{"i": "k\x01" + strings.Repeat("v", 32700) + "\x02"}, 1, 13, "the limit is 32767"},
		{"group too long", fields{"a": strings.Repeat("g", 256)}, 1, 29, "producerGroup is 256 bytes long, the limit is 255"},
		{"group with blanks", fields{"a": "a b"}, 1, 29, "illegal characters"},
		{"delay not a number", fields{"i": "DELAY\x01soon\x02"}, 1, 13, `property DELAY is "soon"`},
		{"transaction with a delay", fields{"i": "TRAN_MSG\x01true\x02DELAY\x013\x02", "f": "4"}, 1, 13, "TRAN_MSG"},
		{"transaction flag without the property", fields{"f": "4"}, 1, 13, "TRAN_MSG is missing"},
		{"timer without a number", fields{"i": "TIMER_DELAY_SEC\x01soon\x02"}, 1, 13, `property TIMER_DELAY_SEC is "soon"`},
		{"timer beyond the limit", fields{"i": "TIMER_DELAY_SEC\x01259201\x02"}, 1, 13, "bigger than the max delay 259200000ms"},
		{"timer beyond all time", fields{"i": "TIMER_DELIVER_MS\x019223372036854775807\x02"}, 1, 13, "year 3000"},
		{"deletion that is late", fields{"i": "TIMER_DELIVER_MS\x011\x02TIMER_DEL_UNIQKEY\x01k\x02"}, 1, 13, "if set del msg"},
		{"topic of timers", fields{"b": "rmq_sys_wheel_timer"}, 1, 16, "is forbidden"},
		{"retry topic of an unknown group", fields{"b": "%RETRY%nobody"}, 1, 26, "subscription group not exist"},
		{"batch of a retry topic", fields{"b": "%RETRY%TOOLS_CONSUMER", "m": "true"}, 1, 13, "retry group"},
		{"batch that is none", fields{"m": "true"}, 5, 13, "batch body"},
		{"batch without messages", fields{"m": "true"}, 0, 13, "no messages"},
		{"delayed batch", fields{"m": "true", "i": "DELAY\x013\x02"}, 22, 13, "neither delayed"},
	} {
		t.Run(x.name, func(t *testing.T) {
			ext := fields{"a": "P", "b": "T", "c": "TBW102", "d": "4", "e": "0", "f": "0", "g": "1700000000000", "h": "0", "i": ""}
			for k, v := range x.set {
				if ext[k] = v; v == "-" {
					delete(ext, k)
				}
			}
			r := c.Do(request(protocol.ReqSendMessageV2, ext, make([]byte, x.body)))
			if r.Code != x.code || !strings.Contains(r.Remark, x.words) {
				t.Fatalf("got code %d, %q\nwant %d, ...%s...", r.Code, r.Remark, x.code, x.words)
			}
			if region, _ := r.Ext.Get("MSG_REGION"); region != "DefaultRegion" {
				t.Error("a send reply without MSG_REGION")
			}
		})
	}
	if c.Send("T", 0, "", "m").QueueOffset != 1 {
		t.Error("something that was refused is stored")
	}
}

// request makes a request from plain fields.
func request(code int32, ext map[string]string, body []byte) *protocol.Command {
	r := protocol.NewRequest(code, nil, body)
	for k, v := range ext {
		r.Ext = append(r.Ext, protocol.ExtField{Key: k, Value: v})
	}
	return r
}

func TestBrokerAndTopicPermission(t *testing.T) {
	b := brokertest.Start(t, func(o *broker.Options) { o.Broker.BrokerPermission = 4 })
	c := brokertest.Dial(t, b.Addr())
	if r := c.Call(protocol.ReqSendMessageV2, brokertest.SendHeader("T", 0, ""), nil); r.Code != protocol.RespNoPermission || !strings.Contains(r.Remark, "brokerPermission is 4") {
		t.Fatal(r.Code, r.Remark)
	}
	b = brokertest.Start(t)
	c = brokertest.Dial(t, b.Addr())
	if r := c.Call(protocol.ReqSendMessageV2, brokertest.SendHeader("rmq_sys_SYNC_BROKER_MEMBER_test-broker", 0, ""), nil); r.Code != protocol.RespNoPermission {
		t.Fatal(r.Code, r.Remark)
	}
}

func TestAutoCreateOff(t *testing.T) {
	b := brokertest.Start(t, func(o *broker.Options) { o.Broker.AutoCreateTopicEnable = false })
	c := brokertest.Dial(t, b.Addr())
	r := c.Call(protocol.ReqSendMessageV2, brokertest.SendHeader("new", 0, ""), nil)
	if r.Code != protocol.RespTopicNotExist {
		t.Fatal(r.Code, r.Remark)
	}
}

func TestBadMessageOfABurstFailsAlone(t *testing.T) {
	b := brokertest.Start(t)
	c := brokertest.Dial(t, b.Addr())
	var reqs []*protocol.Command
	for i := range 100 {
		h := brokertest.SendHeader("T", int32(i%4), "UNIQ_KEY\x01"+strconv.Itoa(i)+"\x02")
		if i%10 == 3 {
			h.QueueID = 99
		}
		reqs = append(reqs, protocol.NewRequest(protocol.ReqSendMessageV2, h, []byte(strconv.Itoa(i))))
	}
	offsets := map[int32][]int64{}
	for i, r := range c.Burst(reqs...) {
		if bad := i%10 == 3; bad != (r.Code == protocol.RespInvalidParameter) || !bad && r.Code != protocol.RespSuccess {
			t.Fatalf("message %d: code %d %s", i, r.Code, r.Remark)
		}
		if r.Code != protocol.RespSuccess {
			continue
		}
		var h protocol.SendMessageResponseHeader
		if err := h.DecodeExt(r.Ext); err != nil || h.TransactionID != strconv.Itoa(i) || h.QueueID != int32(i%4) {
			t.Fatalf("message %d: %+v %v", i, h, err)
		}
		offsets[h.QueueID] = append(offsets[h.QueueID], h.QueueOffset)
	}
	for q, list := range offsets {
		slices.Sort(list) // the burst's order is not that of reqs
		if len(slices.Compact(slices.Clone(list))) != len(list) || list[0] != 0 || list[len(list)-1] != int64(len(list)-1) {
			t.Errorf("queue %d: offsets %v", q, list)
		}
	}
}

func batchBody(n int) []byte {
	var b []byte
	for i := range n {
		b = protocol.AppendBatchEntry(b, &protocol.BatchEntry{Flag: int32(i), Body: fmt.Append(nil, "m", i),
			Properties: fmt.Sprintf("UNIQ_KEY\x01%d\x02TAGS\x01t%d\x02", i, i)})
	}
	return b
}

func TestBatch(t *testing.T) {
	b := brokertest.Start(t)
	c := brokertest.Dial(t, b.Addr())
	c.Send("T", 2, "", "before")
	h := brokertest.SendHeader("T", 2, "UNIQ_KEY\x01B\x02WAIT\x01true\x02")
	h.Batch = protocol.Some(true)
	var reply protocol.SendMessageResponseHeader
	c.Must(protocol.ReqSendBatchMessage, h, batchBody(5), &reply)
	ids := strings.Split(reply.MsgID, ",")
	if reply.QueueOffset != 1 || reply.QueueID != 2 || reply.TransactionID != "B" || len(ids) != 5 {
		t.Fatalf("%+v", reply)
	}
	for i, m := range stored(t, c, "T", 2, 6)[1:] {
		want := fmt.Sprintf("UNIQ_KEY\x01%d\x02TAGS\x01t%d\x02", i, i)
		if string(m.Body) != fmt.Sprint("m", i) || string(m.Properties) != want || m.Flag != int32(i) || m.QueueOffset != int64(i+1) || m.OffsetMsgID() != ids[i] {
			t.Errorf("message %d: %+v, want properties %q, id %s", i, m, want, ids[i])
		}
	}
	p := pullHeader("T", 2, 0)
	p.Subscription = "t3"
	if ms := brokertest.Messages(t, c.Call(protocol.ReqPullMessage, p, nil).Body); len(ms) != 1 || string(ms[0].Body) != "m3" {
		t.Fatal("tags of a batch are not filtered")
	}
}

func TestOneWay(t *testing.T) {
	b := brokertest.Start(t)
	c := brokertest.Dial(t, b.Addr())
	c.Send("T", 0, "", "first")
	for range 10 {
		if err := c.Conn.Oneway(protocol.NewRequest(protocol.ReqSendMessageV2, brokertest.SendHeader("T", 0, ""), []byte("one-way"))); err != nil {
			t.Fatal(err)
		}
	}
	if c.Send("T", 0, "", "last").QueueOffset != 11 {
		t.Fatal("one-way messages are not stored in order")
	}
}

func TestOldHeaderNames(t *testing.T) {
	b := brokertest.Start(t)
	c := brokertest.Dial(t, b.Addr())
	h := &protocol.SendMessageRequestHeader{ProducerGroup: "P", Topic: "T", DefaultTopic: "TBW102", DefaultTopicQueueNums: 4, QueueID: 3,
		BornTimestamp: 5, Flag: 9, Properties: "a\x01b\x02"}
	var reply protocol.SendMessageResponseHeader
	c.Must(protocol.ReqSendMessage, h, []byte("m"), &reply)
	if m := stored(t, c, "T", 3, 1)[0]; m.Flag != 9 || m.BornTimestamp != 5 || !strings.HasPrefix(string(m.Properties), "a\x01b\x02") {
		t.Fatalf("%+v", m)
	}
	h.Batch = protocol.Some(true)
	c.Must(protocol.ReqSendMessage, h, batchBody(2), &reply)
	if stored(t, c, "T", 3, 3); reply.QueueOffset != 1 {
		t.Fatalf("%+v", reply)
	}
}

func TestDelayLevelIsDiverted(t *testing.T) {
	b := brokertest.Start(t)
	c := brokertest.Dial(t, b.Addr())
	reply := c.Send("T", 1, "DELAY\x0118\x02UNIQ_KEY\x01U\x02", "later")
	if reply.QueueID != 1 {
		t.Fatalf("%+v", reply)
	}
	m := stored(t, c, "SCHEDULE_TOPIC_XXXX", 17, 1)[0]
	p := protocol.ParseProperties(m.Properties)
	if string(m.Body) != "later" || p["REAL_TOPIC"] != "T" || p["REAL_QID"] != "1" || p["DELAY"] != "18" || m.OffsetMsgID() != reply.MsgID {
		t.Fatalf("%+v %v", m, p)
	}
}

func TestShortDelayComesBack(t *testing.T) {
	b := brokertest.Start(t, func(o *broker.Options) { o.Store.MessageDelayLevel = "0s 1h" })
	c := brokertest.Dial(t, b.Addr())
	c.Send("T", 1, "DELAY\x011\x02TAGS\x01a\x02", "later")
	m := stored(t, c, "T", 1, 1)[0]
	if p := protocol.ParseProperties(m.Properties); string(m.Body) != "later" || p["TAGS"] != "a" || p["REAL_TOPIC"] != "T" {
		t.Fatalf("%+v %v", m, p)
	}
}

func TestRetryTopicAndDeadLetters(t *testing.T) {
	b := brokertest.Start(t)
	c := brokertest.Dial(t, b.Addr())
	c.Call(protocol.ReqPullMessage, pullHeader("T", 0, 0), nil) // makes the group
	send := func(times, limit int32) protocol.SendMessageResponseHeader {
		h := brokertest.SendHeader("%RETRY%g", 0, "RETRY_TOPIC\x01T\x02")
		h.ReconsumeTimes, h.MaxReconsumeTimes = protocol.Some(times), protocol.Some(limit)
		var reply protocol.SendMessageResponseHeader
		c.Must(protocol.ReqSendMessageV2, h, []byte("m"), &reply)
		return reply
	}
	send(3, 3)
	if m := stored(t, c, "%RETRY%g", 0, 1)[0]; m.ReconsumeTimes != 3 {
		t.Fatalf("%+v", m)
	}
	send(4, 3)
	m := stored(t, c, "%DLQ%g", 0, 1)[0]
	if p := protocol.ParseProperties(m.Properties); p["DELAY"] != "-1" || p["RETRY_TOPIC"] != "T" {
		t.Fatalf("%v", p)
	}
	// A group that consumes in order has its failures sent to the dead letters at once.
	c.Must(protocol.ReqLockBatchMQ, nil, []byte(`{"clientId":"c","consumerGroup":"g","mqSet":[{"brokerName":"b","queueId":0,"topic":"T"}]}`), nil)
	send(0, 3)
	stored(t, c, "%DLQ%g", 0, 2)
}

func TestSyncFlushAnswersAfterTheFlush(t *testing.T) {
	b := brokertest.Start(t, func(o *broker.Options) { o.Store.FlushDiskType = "SYNC_FLUSH" })
	c := brokertest.Dial(t, b.Addr())
	var reqs []*protocol.Command
	for i := range 300 {
		props := "UNIQ_KEY\x01" + strconv.Itoa(i) + "\x02"
		if i%7 == 0 {
			props += "WAIT\x01false\x02"
		}
		h := brokertest.SendHeader("T", int32(i%4), props)
		if i%50 == 49 {
			h.QueueID = 99
		}
		reqs = append(reqs, protocol.NewRequest(protocol.ReqSendMessageV2, h, []byte("m")))
	}
	for i, r := range c.Burst(reqs...) {
		if i%50 == 49 {
			if r.Code != protocol.RespInvalidParameter {
				t.Fatalf("message %d: code %d", i, r.Code)
			}
			continue
		}
		var h protocol.SendMessageResponseHeader
		if err := h.DecodeExt(r.Ext); r.Code != protocol.RespSuccess || err != nil || h.TransactionID != strconv.Itoa(i) {
			t.Fatalf("message %d: code %d, %+v, %v", i, r.Code, h, err)
		}
	}
}

// FuzzSendFields: whatever the fields hold, the broker answers, and only what is legal is stored.
func FuzzSendFields(f *testing.F) {
	b := brokertest.Start(f)
	conn := brokertest.Dial(f, b.Addr())
	f.Add("T", "P", "TBW102", int32(4), int32(0), int32(0), "a\x01b\x02", int32(0), true, []byte("body"))
	f.Add("%RETRY%g", "", "x", int32(-4), int32(-1), int32(12), "DELAY\x01-9\x02TRAN_MSG\x01true", int32(99), false, batchBody(2))
	f.Fuzz(func(t *testing.T, topic, group, template string, n, queue, flag int32, props string, times int32, batch bool, body []byte) {
		if len(topic)+len(group)+len(template)+len(props)+len(body) > 100_000 {
			return
		}
		c := conn.With(t)
		h := &protocol.SendMessageV2RequestHeader{ProducerGroup: group, Topic: topic, DefaultTopic: template, DefaultTopicQueueNums: n, QueueID: queue,
			SysFlag: flag, Properties: props, ReconsumeTimes: protocol.Some(times), MaxReconsumeTimes: protocol.Some(n), Batch: protocol.Some(batch)}
		for _, code := range []int32{protocol.ReqSendMessageV2, protocol.ReqSendBatchMessage} {
			r := c.Call(code, h, body)
			if r.Code == protocol.RespSuccess && (protocol.CheckTopic(topic) != nil || protocol.IsForbiddenTopic(topic)) {
				t.Fatalf("topic %q is taken", topic)
			}
			if strings.Contains(r.Remark, "panicked") {
				t.Fatal(r.Remark)
			}
		}
		random := protocol.NewRequest(protocol.ReqSendMessage+int32(rand.IntN(2))*300, nil, body)
		random.Ext = protocol.ExtFields{{Key: "b", Value: topic}, {Key: "topic", Value: group}, {Key: "e", Value: props}, {Key: "queueId", Value: template}}
		if r := c.Do(random); r.Code == protocol.RespSuccess || strings.Contains(r.Remark, "panicked") {
			t.Fatalf("code %d %s", r.Code, r.Remark)
		}
	})
}
