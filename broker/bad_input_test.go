package broker_test

import (
	"encoding/base64"
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/seedmq/seedmq/broker"
	"github.com/seedmq/seedmq/broker/brokertest"
	"github.com/seedmq/seedmq/conf"
	"github.com/seedmq/seedmq/conf/clock"
	"github.com/seedmq/seedmq/remoting/protocol"
)

// badWorld is a broker on which something of each service is open: whoever sends rubbish must not change any of it.
type badWorld struct {
	t     *testing.T
	clock *clock.Fake
	bad   *popClient         // sends what is wrong
	good  *brokertest.Client // goes on meanwhile
	sent  int64              // messages of good

	popped popped // of group G, topic "Popped"
	points int64  // start offset of its check point
	halfAt int64  // of producer group P
	half   protocol.SendMessageResponseHeader
	recall string // handle of a timed message of topic T
	plain  int64  // log position of an ordinary message
}

func newBadWorld(t *testing.T) *badWorld {
	w := &badWorld{t: t, clock: clock.NewFake(time.Now())}
	b := brokertest.Start(t, func(o *broker.Options) { o.Clock = w.clock })
	w.clock.Advance(20 * time.Second) // what is popped now is this broker's, and not one's that had the store before
	w.bad, w.good = newPopClient(t, b, "Popped", "G"), brokertest.Dial(t, b.Addr())
	c := w.good
	for _, name := range []string{"T", "Popped", "Others"} {
		c.Must(protocol.ReqUpdateAndCreateTopic, newTopic(name, 2), nil, nil)
	}
	createBatchTopic(t, c, "B")
	c.Must(protocol.ReqSendBatchMessage, brokertest.SendHeader("B", 0, "UNIQ_KEY\x01U\x02"), innerBody("a", "b"), nil)
	_, w.plain, _ = protocol.ParseOffsetMsgID(c.Send("T", 0, "", "plain").MsgID)
	w.half, w.halfAt = half(t, c, "T", "half")
	w.recall = sendTimed(c, "T", "timed", "TIMER_DELAY_SEC", "600", "UNIQ_KEY", "K").RecallHandle
	for range 3 {
		c.Send("Popped", 0, "", "popped")
	}
	list, _, r := w.bad.pop(w.popHeader("*", "TAG"))
	if len(list) != 3 {
		t.Fatalf("%d messages, %d %s", len(list), r.Code, r.Remark)
	}
	w.popped = list[1]
	w.points = list[0].QueueOffset
	pull(t, c, pullHeader("T", 0, 0)) // makes the group g
	commit(c, "g", "T", 0, 1)
	stored(t, c, "T", 0, 1)
	return w
}

func (w *badWorld) popHeader(exp, kind string) *protocol.PopMessageRequestHeader {
	h := w.bad.header(0, time.Minute)
	h.BornTime, h.PollTime, h.Exp, h.ExpType = 0, 1, exp, kind
	return h
}

// state is all that a bad request could change: where the log ends, what queues and groups have.
func (w *badWorld) state() string {
	w.t.Helper()
	out := "log " + fetch[protocol.KVTable](w.t, w.good, protocol.ReqGetBrokerRuntimeInfo, nil, "").Table["commitLogMaxOffset"]
	for _, topic := range []string{"T", "B", "Popped", protocol.TopicHalf, protocol.TopicOpHalf, protocol.TopicTimer, protocol.TopicSchedule} {
		var lo protocol.GetMinOffsetResponseHeader
		w.good.Must(protocol.ReqGetMinOffset, &protocol.GetMinOffsetRequestHeader{Topic: topic}, nil, &lo)
		_, end := queueEnd(w.good, topic, 0)
		out += fmt.Sprintf(", %s %d-%d", topic, lo.Offset, end)
	}
	return out + fmt.Sprintf(", g at %d", offsetOf(w.t, query(w.good, "g", "T", 0)))
}

// goesOn: another client sends and gets its message.
func (w *badWorld) goesOn() {
	w.t.Helper()
	body := strconv.FormatInt(w.sent, 10)
	w.good.Send("Others", 0, "", body)
	brokertest.Until(w.t, "another client's message", func() error {
		if got := pull(w.t, w.good, pullHeader("Others", 0, w.sent)); fmt.Sprint(got.bodies) != "["+body+"]" {
			return fmt.Errorf("%+v", got)
		}
		return nil
	})
	w.sent++
}

// badCase is a request that must be refused.
type badCase struct {
	name string
	req  *protocol.Command
	code protocol.ResponseCode
	says string
}

func bad(name string, request protocol.RequestCode, h protocol.HeaderEncoder, body []byte, code protocol.ResponseCode, says string) badCase {
	return badCase{name, protocol.NewRequest(request, h, body), code, says}
}

// TestBadInput: what is wrong is refused with the code that says so, nothing is stored, nobody else notices, and what is open stays
// open for those whose it is.
func TestBadInput(t *testing.T) {
	w := newBadWorld(t)
	var cases []badCase
	for _, more := range [][]badCase{w.expressions(), w.receipts(), w.recalls(), w.ends(), w.timers(), w.resets(), w.purges(), w.batches()} {
		cases = append(cases, more...)
	}
	before := w.state()
	for _, x := range cases {
		r := w.bad.Do(x.req)
		if r.Code != x.code || !strings.Contains(r.Remark, x.says) {
			t.Errorf("%s: code %d %.300q, want %d with %q", x.name, r.Code, r.Remark, x.code, x.says)
		}
		if after := w.state(); after != before {
			t.Errorf("%s: before\n%s\nafter\n%s", x.name, before, after)
		}
		w.goesOn()
		before = w.state()
	}
	if r := w.bad.ack(&w.popped); r.Code != protocol.RespSuccess {
		t.Errorf("the true ack: %d %s", r.Code, r.Remark)
	}
	w.good.Must(protocol.ReqEndTransaction, endHeader(w.half.QueueOffset, w.halfAt, toCommit, false), nil, nil)
	if r := recallOf(w.good, "T", w.recall); r.Code != protocol.RespSuccess {
		t.Errorf("the true recall: %d %s", r.Code, r.Remark)
	}
	if got := stored(t, w.good, "T", 1, 1); string(got[0].Body) != "half" {
		t.Errorf("%q", got[0].Body)
	}
}

// expressions that do not parse, or that nest without end.
func (w *badWorld) expressions() (out []badCase) {
	deep := strings.Repeat("(", 10_000) + "a = 1" + strings.Repeat(")", 10_000)
	for what, expr := range map[string]string{"open end": "a = ", "no operator": "a >> 5", "10,000 deep": deep, "10,000 times NOT": strings.Repeat("NOT ", 10_000) + "a"} {
		check := fmt.Appendf(nil, `{"clientId":"c","group":"g","subscriptionData":{"topic":"T","subString":%q,"expressionType":"SQL92"}}`, expr)
		for _, x := range []badCase{
			bad("pull", protocol.ReqPullMessage, inlinePull("T", expr, 0), nil, protocol.RespSubscriptionParseFailed, "at line 1, column "),
			bad("pull of batches", protocol.ReqPullMessage, inlinePull("B", expr, 0), nil, protocol.RespSubscriptionParseFailed, "at line 1, column "),
			bad("pop", protocol.ReqPopMessage, w.popHeader(expr, protocol.ExpressionSQL92), nil, protocol.RespSubscriptionParseFailed, "at line 1, column "),
			bad("check", protocol.ReqCheckClientConfig, nil, check, protocol.RespSubscriptionParseFailed, "at line 1, column "),
		} {
			x.name += ", expression: " + what
			out = append(out, x)
		}
	}
	return out
}

// receipts are handles of popped messages that were altered, or that are another group's.
func (w *badWorld) receipts() (out []badCase) {
	m := &w.popped
	f := strings.Fields(m.handle)
	with := func(i int, text string) string {
		g := append([]string(nil), f...)
		g[i] = text
		return strings.Join(g, " ")
	}
	for what, handle := range map[string]string{"empty": "", "garbage": "x y z", "start": with(0, "1"), "pop time": with(1, strconv.FormatInt(clock.Millis(w.clock)-1, 10)), "invisible time": with(2, "60001"),
		"revive queue": with(3, "7777"), "mark": with(4, "1"), "broker": with(5, "other"), "queue": with(6, "1"), "offset": with(7, "2"), "one more": m.handle + " 1"} {
		out = append(out,
			bad("ack, handle: "+what, protocol.ReqAckMessage, &protocol.AckMessageRequestHeader{ConsumerGroup: "G", Topic: "Popped", QueueID: m.QueueID, ExtraInfo: handle, Offset: m.QueueOffset},
				nil, protocol.RespMessageIllegal, ""),
			bad("change, handle: "+what, protocol.ReqChangeMessageInvisibleTime, &protocol.ChangeMessageInvisibleTimeRequestHeader{ConsumerGroup: "G", Topic: "Popped", QueueID: m.QueueID,
				ExtraInfo: handle, Offset: m.QueueOffset, InvisibleTime: 1000}, nil, protocol.RespMessageIllegal, ""))
	}
	batch := func(a protocol.BatchAck) badCase {
		body, err := protocol.MarshalFast(&protocol.BatchAckMessageRequestBody{Acks: []protocol.BatchAck{a}, BrokerName: "test-broker"})
		if err != nil {
			w.t.Fatal(err)
		}
		return bad(fmt.Sprintf("batch ack %+v", a), protocol.ReqBatchAckMessage, nil, body, protocol.RespMessageIllegal, "")
	}
	return append(out,
		bad("ack of another group", protocol.ReqAckMessage, &protocol.AckMessageRequestHeader{ConsumerGroup: "Thief", Topic: "Popped", QueueID: m.QueueID, ExtraInfo: m.handle, Offset: m.QueueOffset},
			nil, protocol.RespMessageIllegal, ""),
		bad("ack of another topic", protocol.ReqAckMessage, &protocol.AckMessageRequestHeader{ConsumerGroup: "G", Topic: "Others", ExtraInfo: m.handle}, nil, protocol.RespMessageIllegal, ""),
		batch(protocol.BatchAck{Bits: []byte{255}, ConsumerGroup: "G", InvisibleTime: 60_000, PopTime: clock.Millis(w.clock), Retry: "0", StartOffset: w.points + 1, Topic: "Popped"}),
		batch(protocol.BatchAck{Bits: []byte{255}, ConsumerGroup: "Thief", InvisibleTime: 60_000, PopTime: clock.Millis(w.clock), Retry: "0", StartOffset: w.points, Topic: "Popped"}))
}

// recalls are handles of timed messages that were altered.
func (w *badWorld) recalls() (out []badCase) {
	raw, err := base64.URLEncoding.DecodeString(w.recall)
	if err != nil {
		w.t.Fatal(err)
	}
	for i, word := range []string{"v9", "Others", "other-broker", "1700000000000", "L"} {
		f := strings.Split(string(raw), " ")
		f[i] = word
		handle := base64.URLEncoding.EncodeToString([]byte(strings.Join(f, " ")))
		out = append(out, bad("recall with "+word, protocol.ReqRecallMessage, &protocol.RecallMessageRequestHeader{ProducerGroup: "P", Topic: "T", RecallHandle: handle}, nil,
			protocol.RespIllegalOperation, ""))
	}
	return out
}

// ends of transactions that are another's, or none.
func (w *badWorld) ends() (out []badCase) {
	for _, outcome := range []int32{toCommit, toRollback} {
		end := func(name, group string, offset, at int64, says string) {
			h := endHeader(offset, at, outcome, false)
			h.ProducerGroup = group
			out = append(out, bad(fmt.Sprintf("end %d: %s", outcome, name), protocol.ReqEndTransaction, h, nil, protocol.RespSystemError, says))
		}
		end("another group", "Thief", w.half.QueueOffset, w.halfAt, "The producer group wrong")
		end("another's message", "P", w.half.QueueOffset, w.plain, "not a half message")
		end("another offset", "P", w.half.QueueOffset+1, w.halfAt, "The transaction state table offset wrong")
		end("the middle of a message", "P", w.half.QueueOffset, w.halfAt+1, "Find prepared transaction message failed")
		end("behind the log", "P", w.half.QueueOffset, 1<<50, "Find prepared transaction message failed")
	}
	return out
}

// timers beyond the limit, and times that are none.
func (w *badWorld) timers() (out []badCase) {
	beyond := clock.Millis(w.clock) + clock.Span(conf.DefaultStore(conf.Env{}).TimerMaxDelaySec, time.Second).Milliseconds() + 60_000
	for _, props := range []string{"TIMER_DELIVER_MS\x01" + strconv.FormatInt(beyond, 10) + "\x02", "TIMER_DELAY_SEC\x0199999999999\x02", "TIMER_DELAY_MS\x019223372036854775807\x02",
		"TIMER_DELAY_SEC\x01soon\x02"} {
		out = append(out, bad("send with "+props, protocol.ReqSendMessageV2, brokertest.SendHeader("T", 0, props), []byte("x"), protocol.RespMessageIllegal, "timer message illegal"))
	}
	h := w.bad.header(0, time.Duration(1<<62))
	h.BornTime, h.PollTime = 0, 1
	return append(out, bad("an invisible time", protocol.ReqPopMessage, h, nil, protocol.RespInvalidParameter, "timerMaxDelaySec"))
}

// resets of groups and topics that nobody made, and to offsets that are not there.
func (w *badWorld) resets() []badCase {
	at := reset("g")
	at.Topic, at.QueueID, at.Offset = "T", protocol.Some[int32](0), protocol.Some[int64](99)
	topic := reset("g")
	topic.Topic = "Nowhere"
	group := reset("Nobody")
	group.Topic = "T"
	return []badCase{
		bad("reset of an unknown group", protocol.ReqInvokeBrokerToResetOffset, group, nil, protocol.RespSubscriptionGroupNotExist, "Nobody"),
		bad("reset of an unknown topic", protocol.ReqInvokeBrokerToResetOffset, topic, nil, protocol.RespTopicNotExist, "Nowhere"),
		bad("reset to an offset behind the end", protocol.ReqInvokeBrokerToResetOffset, at, nil, protocol.RespSystemError, "not in consume queue range"),
	}
}

// purges of what is not there, or not to be purged.
func (w *badWorld) purges() []badCase {
	return []badCase{
		bad("purge of an unknown topic", protocol.ReqPurgeTopic, &protocol.PurgeTopicRequestHeader{Topic: "Nowhere"}, nil, protocol.RespTopicNotExist, "Nowhere"),
		bad("purge of an unknown queue", protocol.ReqPurgeTopic, &protocol.PurgeTopicRequestHeader{Topic: "T", QueueID: protocol.Some[int32](9)}, nil, protocol.RespInvalidParameter, "queueId[9]"),
		bad("purge of half messages", protocol.ReqPurgeTopic, &protocol.PurgeTopicRequestHeader{Topic: protocol.TopicHalf}, nil, protocol.RespInvalidParameter, "system topic"),
		bad("purge before a negative time", protocol.ReqPurgeTopic, &protocol.PurgeTopicRequestHeader{Topic: "T", Before: protocol.Some[int64](-1)}, nil, protocol.RespInvalidParameter, "before"),
	}
}

// batches whose inner numbers say something else than their bodies.
func (w *badWorld) batches() (out []badCase) {
	for what, x := range map[string]struct {
		topic, num string
		flag       int32
		body       []byte
	}{
		"one too many":       {"B", "3", protocol.SysFlagInnerBatch, innerBody("a", "b")},
		"one too few":        {"B", "1", protocol.SysFlagInnerBatch, innerBody("a", "b")},
		"none":               {"B", "0", protocol.SysFlagInnerBatch, nil},
		"negative":           {"B", "-2", protocol.SysFlagInnerBatch, innerBody("a", "b")},
		"no number":          {"B", "two", protocol.SysFlagInnerBatch, innerBody("a", "b")},
		"more than 16 bits":  {"B", "65538", protocol.SysFlagInnerBatch, innerBody("a", "b")},
		"no batch":           {"B", "2", protocol.SysFlagInnerBatch, []byte("what is this")},
		"cut":                {"B", "2", protocol.SysFlagInnerBatch, innerBody("a", "b")[:30]},
		"a single message":   {"B", "2", 0, []byte("single")},
		"a topic of singles": {"T", "2", protocol.SysFlagInnerBatch, innerBody("a", "b")},
	} {
		h := brokertest.SendHeader(x.topic, 0, "UNIQ_KEY\x01V\x02INNER_NUM\x01"+x.num+"\x02")
		h.SysFlag = x.flag
		out = append(out, bad("inner number: "+what, protocol.ReqSendMessageV2, h, x.body, protocol.RespMessageIllegal, ""))
	}
	return out
}
