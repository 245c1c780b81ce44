package broker_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/seedmq/seedmq/broker/brokertest"
	"github.com/seedmq/seedmq/broker/pop"
	"github.com/seedmq/seedmq/remoting/protocol"
)

// popClient pops for one group.
type popClient struct {
	*brokertest.Client
	t     *testing.T
	group string
	topic string
}

// popped is a message with its receipt handle.
type popped struct {
	protocol.MessageView
	real   string // the topic that acks name
	handle string
}

func (c *popClient) header(queue int32, invisible time.Duration) *protocol.PopMessageRequestHeader {
	return &protocol.PopMessageRequestHeader{ConsumerGroup: c.group, Topic: c.topic, QueueID: queue, MaxMsgNums: 32, InvisibleTime: invisible.Milliseconds(),
		PollTime: 0, BornTime: time.Now().UnixMilli(), ExpType: "TAG", Exp: "*"}
}

// pop returns what one pop gives, and the reply's header.
func (c *popClient) pop(h *protocol.PopMessageRequestHeader) ([]popped, protocol.PopMessageResponseHeader, *protocol.Command) {
	c.t.Helper()
	r := c.Call(protocol.ReqPopMessage, h, nil)
	var head protocol.PopMessageResponseHeader
	if err := head.DecodeExt(r.Ext); err != nil {
		c.t.Fatal(err)
	}
	var out []popped
	starts := map[string]string{}
	for _, e := range strings.Split(head.StartOffsetInfo, ";") {
		if f := strings.Fields(e); len(f) == 3 {
			starts[f[0]+" "+f[1]] = f[2]
		}
	}
	for _, v := range brokertest.Messages(c.t, r.Body) {
		m := popped{MessageView: v, real: c.topic}
		if ck, ok := v.Property(protocol.PropertyPopCK); ok {
			m.handle = ck
			h, err := pop.ParseHandle(ck)
			if err != nil {
				c.t.Fatal(err)
			}
			m.real = pop.RealTopic(c.topic, c.group, h.Mark)
		} else {
			m.handle = fmt.Sprintf("%s %d %d %d 0 test-broker %d %d", starts[fmt.Sprintf("0 %d", v.QueueID)], head.PopTime, head.InvisibleTime, head.ReviveQid, v.QueueID, v.QueueOffset)
		}
		out = append(out, m)
	}
	return out, head, r
}

func (c *popClient) ack(m *popped) *protocol.Command {
	c.t.Helper()
	return c.Call(protocol.ReqAckMessage, &protocol.AckMessageRequestHeader{ConsumerGroup: c.group, Topic: m.real, QueueID: m.QueueID, ExtraInfo: m.handle, Offset: m.QueueOffset}, nil)
}

func newPopClient(t *testing.T, b *brokertest.Broker, topic, group string) *popClient {
	return &popClient{Client: brokertest.Dial(t, b.Addr()), t: t, group: group, topic: topic}
}

func TestPopAndAck(t *testing.T) {
	b := brokertest.Start(t)
	c := newPopClient(t, b, "P", "G")
	for i := range 10 {
		c.Send("P", int32(i%4), "", fmt.Sprint(i))
	}
	var got []popped
	brokertest.Until(t, "ten messages", func() error {
		more, head, r := c.pop(c.header(-1, time.Minute))
		if got = append(got, more...); len(got) != 10 {
			return fmt.Errorf("%d messages, code %d %s, %+v", len(got), r.Code, r.Remark, head)
		}
		return nil
	})
	for _, h := range []string{
		strings.Replace(got[1].handle, " test-broker ", " other ", 1), strings.Replace(got[1].handle, " 60000 ", " 60001 ", 1), got[1].handle + "9",
		"7 " + got[1].handle, strings.Replace(got[1].handle, " 0 test", " 1 test", 1), "", "x",
	} {
		m := got[1]
		m.handle = h
		if r := c.ack(&m); r.Code != protocol.RespMessageIllegal {
			t.Errorf("ack with handle %q: %d %s", h, r.Code, r.Remark)
		}
	}
	for i := range got {
		if r := c.ack(&got[i]); r.Code != protocol.RespSuccess {
			t.Fatalf("ack %s: %d %s", got[i].handle, r.Code, r.Remark)
		}
	}
	if r := c.ack(&got[0]); r.Code != protocol.RespSuccess {
		t.Fatalf("second ack: %d %s", r.Code, r.Remark)
	}
	if _, _, r := c.pop(c.header(-1, time.Minute)); r.Code != protocol.RespPollingTimeout {
		t.Fatalf("nothing left: %d %s", r.Code, r.Remark)
	}
}

func TestPopComesBack(t *testing.T) {
	b := brokertest.Start(t)
	c := newPopClient(t, b, "P", "G")
	c.Send("P", 0, "TAGS\x01a\x02", "one")
	var got []popped
	brokertest.Until(t, "a message", func() error {
		if got, _, _ = c.pop(c.header(0, time.Second)); len(got) != 1 {
			return fmt.Errorf("%d messages", len(got))
		}
		return nil
	})
	begin := time.Now()
	h := c.header(-1, time.Minute)
	h.PollTime = 14_000
	got, _, r := c.pop(h)
	if len(got) != 1 || string(got[0].Body) != "one" || got[0].ReconsumeTimes != 1 || got[0].Topic != "P" {
		t.Fatalf("%+v %d %s", got, r.Code, r.Remark)
	}
	if d := time.Since(begin); d < 900*time.Millisecond {
		t.Fatalf("visible after %v", d)
	}
	if r := c.ack(&got[0]); r.Code != protocol.RespSuccess || got[0].real != "%RETRY%G_P" {
		t.Fatalf("ack of %s %s: %d %s", got[0].real, got[0].handle, r.Code, r.Remark)
	}
}
