package broker_test

import (
	"encoding/base64"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/seedmq/seedmq/broker"
	"github.com/seedmq/seedmq/broker/brokertest"
	"github.com/seedmq/seedmq/conf/clock"
	"github.com/seedmq/seedmq/remoting/protocol"
)

// sendTimed sends a message with properties and returns the reply.
func sendTimed(c *brokertest.Client, topic string, body string, props ...string) protocol.SendMessageResponseHeader {
	var p []byte
	for i := 0; i < len(props); i += 2 {
		p = protocol.AppendProperty(p, props[i], props[i+1])
	}
	return c.Send(topic, 0, string(p), body)
}

func TestTimedMessages(t *testing.T) {
	b := brokertest.Start(t)
	c := brokertest.Dial(t, b.Addr())
	now := clock.Millis(clock.Real{})
	due := map[string]int64{"late": now, "deliver": now + 700, "delay": now + 300}
	sendTimed(c, "T", "deliver", "UNIQ_KEY", "D", "TIMER_DELIVER_MS", strconv.FormatInt(due["deliver"], 10), "TAGS", "tag")
	r := sendTimed(c, "T", "delay", "UNIQ_KEY", "M", "TIMER_DELAY_MS", "300", "TIMER_DELIVER_MS", "5")
	if past := sendTimed(c, "T", "late", "TIMER_DELIVER_MS", "1700000000000"); past.RecallHandle != "" {
		t.Error("a handle for a message that is delivered")
	}
	h, err := protocol.ParseRecallHandle(r.RecallHandle)
	if err != nil || h.Topic != "T" || h.Broker != "test-broker" || h.UniqKey != "M" || h.DeliverMs%1000 != 1 {
		t.Errorf("%+v %v", h, err)
	}
	for _, m := range stored(t, c, "T", 0, 3) {
		body := string(m.Body)
		if late := m.StoreTimestamp - due[body]; late < 0 || late > 5000 {
			t.Errorf("%s came %d ms late", body, late)
		}
		if p := protocol.ParseProperties(m.Properties); body == "deliver" && (p["REAL_TOPIC"] != "T" || p["TAGS"] != "tag" || p["TIMER_DEQUEUE_MS"] == "") {
			t.Error(p)
		}
	}
}

func recallOf(c *brokertest.Client, topic, handle string) *protocol.Command {
	return c.Call(protocol.ReqRecallMessage, &protocol.RecallMessageRequestHeader{ProducerGroup: "P", Topic: topic, RecallHandle: handle}, nil)
}

func TestRecall(t *testing.T) {
	b := brokertest.Start(t)
	c := brokertest.Dial(t, b.Addr())
	a := sendTimed(c, "T", "a", "TIMER_DELAY_MS", "1500")
	sendTimed(c, "T", "b", "TIMER_DELAY_MS", "1500")
	r := recallOf(c, "T", a.RecallHandle)
	var h protocol.RecallMessageResponseHeader
	if err := h.DecodeExt(r.Ext); err != nil || r.Code != protocol.RespSuccess || h.MsgID != a.TransactionID || h.MsgRegion != "DefaultRegion" {
		t.Fatalf("%d %s %+v %v", r.Code, r.Remark, h, err)
	}
	b.Stop(t) // and it is still recalled by the next broker
	b = brokertest.StartIn(t, b.Options.Store.StorePathRootDir)
	c = brokertest.Dial(t, b.Addr())
	if got := stored(t, c, "T", 0, 1); string(got[0].Body) != "b" {
		t.Fatalf("%q", got[0].Body)
	}
}

// A handle that is not exactly one that was given is refused, and nothing is stored.
func TestRecallRefusals(t *testing.T) {
	b := brokertest.Start(t)
	c := brokertest.Dial(t, b.Addr())
	handle := sendTimed(c, "T", "a", "TIMER_DELAY_SEC", "600", "UNIQ_KEY", "K").RecallHandle
	c.Send("U", 0, "", "makes the topic")
	raw, err := base64.URLEncoding.DecodeString(handle)
	if err != nil {
		t.Fatal(err)
	}
	words := strings.Split(string(raw), " ")
	later, err := strconv.ParseInt(words[3], 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	later += 1000
	altered := func(i int, word string) string {
		w := append([]string(nil), words...)
		w[i] = word
		return base64.URLEncoding.EncodeToString([]byte(strings.Join(w, " ")))
	}
	end := func() int64 {
		var h protocol.GetMaxOffsetResponseHeader
		c.Must(protocol.ReqGetMaxOffset, &protocol.GetMaxOffsetRequestHeader{Topic: protocol.TopicTimer}, nil, &h)
		return h.Offset
	}
	before := end()
	for _, x := range []struct {
		name, topic, handle string
		code                int32
	}{
		{"empty", "T", "", 604}, {"no base64", "T", "*", 604}, {"cut", "T", handle[:len(handle)-14], 604}, {"of another topic", "U", handle, 604},
		{"version", "T", altered(0, "v2"), 604}, {"altered topic", "T", altered(1, "U"), 604}, {"of another broker", "T", altered(2, "x"), 604},
		{"over", "T", altered(3, "1700000000000"), 604}, {"beyond the limit", "T", altered(3, "17960489000000"), 604}, {"no time", "T", altered(3, "soon"), 604},
		{"no key", "T", altered(4, ""), 604}, {"another key", "T", altered(4, "L"), 604}, {"another second", "T", altered(3, strconv.FormatInt(later, 10)), 604}, {"one word more", "T", altered(4, "K x"), 604}, {"unknown topic", "nowhere", handle, 17},
	} {
		if r := recallOf(c, x.topic, x.handle); r.Code != x.code {
			t.Errorf("%s: code %d %q, want %d", x.name, r.Code, r.Remark, x.code)
		}
	}
	if after := end(); after != before {
		t.Errorf("%d records were stored", after-before)
	}
	if r := recallOf(c, "T", handle); r.Code != protocol.RespSuccess {
		t.Error(r.Code, r.Remark)
	}
}

func TestTimersOff(t *testing.T) {
	b := brokertest.Start(t, func(o *broker.Options) { o.Store.TimerWheelEnable = false })
	c := brokertest.Dial(t, b.Addr())
	cmd := protocol.NewRequest(protocol.ReqSendMessageV2, brokertest.SendHeader("T", 0, "TIMER_DELAY_SEC\x015\x02"), nil)
	if r := c.Do(cmd); r.Code != protocol.RespSystemError || !strings.Contains(r.Remark, "timerWheelEnable") {
		t.Error(r.Code, r.Remark)
	}
	for _, code := range []protocol.RequestCode{protocol.ReqGetTimerCheckPoint, protocol.ReqGetTimerMetrics} {
		if r := c.Call(code, nil, nil); r.Code != protocol.RespSystemError {
			t.Error(code, r.Code, r.Remark)
		}
	}
	b2 := brokertest.Start(t, func(o *broker.Options) { o.Broker.RecallMessageEnable = false })
	if r := recallOf(brokertest.Dial(t, b2.Addr()), "T", "x"); r.Code != protocol.RespNoPermission {
		t.Error(r.Code, r.Remark)
	}
}

func TestTimerFigures(t *testing.T) {
	b := brokertest.Start(t, func(o *broker.Options) { o.Store.TimerFlushIntervalMs, o.Store.TimerMaxDelaySec = 10, 40*24*3600 })
	c := brokertest.Dial(t, b.Addr())
	sendTimed(c, "T", "a", "TIMER_DELAY_SEC", "600")
	sendTimed(c, "T", "b", "TIMER_DELAY_SEC", strconv.Itoa(40*24*3600))
	brokertest.Until(t, "the messages are in the wheel", func() error {
		var info protocol.KVTable
		r := c.Must(protocol.ReqGetBrokerRuntimeInfo, nil, nil, nil)
		if err := protocol.UnmarshalFast(r.Body, &info); err != nil {
			return err
		}
		if got := info.Table["timerCongestNum"] + info.Table["timerOffsetBehind"] + info.Table["timerReadBehind"]; got != "200" {
			return fmt.Errorf("figures %s", got)
		}
		var check protocol.TimerCheckpoint
		if err := check.Decode(c.Must(protocol.ReqGetTimerCheckPoint, nil, nil, nil).Body); err != nil || check.LastTimerQueueOffset != 2 {
			return fmt.Errorf("%+v %v", check, err)
		}
		var m protocol.TimerMetrics
		if err := protocol.UnmarshalFast(c.Must(protocol.ReqGetTimerMetrics, nil, nil, nil).Body, &m); err != nil || m.TimingCount["T"].Count != 2 {
			return fmt.Errorf("%+v %v", m, err)
		}
		return nil
	})
}

// A message with a delay level is recalled by a handle of ours.
func TestRecallOfALevel(t *testing.T) {
	b := brokertest.Start(t, func(o *broker.Options) { o.Store.MessageDelayLevel = "1s 1h" })
	c := brokertest.Dial(t, b.Addr())
	handle := func(id, key string) string {
		_, phys, err := protocol.ParseOffsetMsgID(id)
		if err != nil {
			t.Fatal(err)
		}
		h := protocol.RecallHandle{Topic: "T", Broker: "test-broker", DeliverMs: phys, UniqKey: key, Level: true}
		return string(h.Append(nil))
	}
	r := sendTimed(c, "T", "a", "DELAY", "1", "UNIQ_KEY", "A")
	sendTimed(c, "T", "b", "DELAY", "1", "UNIQ_KEY", "B")
	if r := recallOf(c, "T", handle(r.MsgID, "X")); r.Code != protocol.RespIllegalOperation {
		t.Error(r.Code, r.Remark)
	}
	if r := recallOf(c, "T", handle(r.MsgID, "A")); r.Code != protocol.RespSuccess {
		t.Error(r.Code, r.Remark)
	}
	if got := stored(t, c, "T", 0, 1); string(got[0].Body) != "b" {
		t.Fatalf("%q", got[0].Body)
	}
	if r := recallOf(c, "T", handle(r.MsgID, "A")); r.Code != protocol.RespIllegalOperation {
		t.Error(r.Code, r.Remark)
	}
}

// A stop in the middle of a tick finishes it: the check point then says that the tick is over, as Java's broker reads it.
func TestStopFinishesTheTick(t *testing.T) {
	b := brokertest.Start(t)
	c := brokertest.Dial(t, b.Addr())
	sendTimed(c, "T", "first", "TIMER_DELAY_MS", "50")
	m := stored(t, c, "T", 0, 1)[0]
	b.Stop(t)
	raw, err := os.ReadFile(filepath.Join(b.Options.Store.StorePathRootDir, "config", "timercheck"))
	if err != nil {
		t.Fatal(err)
	}
	var check protocol.TimerCheckpoint
	out, _ := m.Property(protocol.PropertyTimerOutMs)
	tick, _ := strconv.ParseInt(out, 10, 64)
	if err := check.Decode(raw[:56]); err != nil || check.LastReadTimeMs <= tick {
		t.Fatalf("the check point is at %d, the message was of tick %d: %v", check.LastReadTimeMs, tick, err)
	}
}
