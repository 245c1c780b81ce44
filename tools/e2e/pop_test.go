package e2e

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/seedmq/seedmq/remoting/protocol"
	"github.com/seedmq/seedmq/tools/harness"
)

// popBroker is that of all brokers of the harness.
const popBroker = "broker-a"

// popItem is a popped message and what a client shows to acknowledge it.
type popItem struct {
	protocol.MessageView
	topic  string // as acks name it
	handle string
}

// popper pops for one group as a client does.
type popper struct {
	t            testing.TB
	w            *wire
	topic, group string
}

func newPopper(t testing.TB, s *harness.Server, topic, group string) *popper {
	return &popper{t, mustDial(t, s.Broker), topic, group}
}

// pop asks once; poll is how long the broker may wait for a message.
func (p *popper) pop(invisible, poll time.Duration) []popItem {
	p.t.Helper()
	reply, err := p.w.ask(protocol.ReqPopMessage, &protocol.PopMessageRequestHeader{ConsumerGroup: p.group, Topic: p.topic, QueueID: -1, MaxMsgNums: 32,
		InvisibleTime: invisible.Milliseconds(), PollTime: poll.Milliseconds(), BornTime: time.Now().UnixMilli(), ExpType: "TAG", Exp: "*", Order: protocol.Some(false)}, nil)
	if err != nil {
		p.t.Fatal(err)
	}
	switch code := protocol.ResponseCode(reply.Code); code {
	case protocol.RespSuccess:
	case protocol.RespPollingTimeout, protocol.RespPullNotFound:
		return nil
	default:
		p.t.Fatalf("pop: code %d %s", code, reply.Remark)
	}
	var h protocol.PopMessageResponseHeader
	if err := h.DecodeExt(reply.Ext); err != nil {
		p.t.Fatal(err)
	}
	start := map[string]string{}
	for _, e := range strings.Split(h.StartOffsetInfo, ";") {
		if f := strings.Fields(e); len(f) == 3 {
			start[f[0]+" "+f[1]] = f[2]
		}
	}
	list, err := records(reply.Body)
	if err != nil {
		p.t.Fatal(err)
	}
	var out []popItem
	for _, v := range list {
		it := popItem{MessageView: v, topic: p.topic}
		if ck, ok := v.Property(protocol.PropertyPopCK); ok {
			it.handle, it.topic = ck, protocol.PopRetryTopicV1(p.group, p.topic)
		} else {
			at, ok := start[fmt.Sprint("0 ", v.QueueID)]
			if !ok {
				p.t.Fatalf("queue %d is not in %q", v.QueueID, h.StartOffsetInfo)
			}
			it.handle = fmt.Sprintf("%s %d %d %d 0 %s %d %d", at, h.PopTime, h.InvisibleTime, h.ReviveQid, popBroker, v.QueueID, v.QueueOffset)
		}
		out = append(out, it)
	}
	return out
}

func (p *popper) ack(list ...popItem) {
	p.t.Helper()
	for i := range list {
		it := &list[i]
		if _, err := p.w.success(protocol.ReqAckMessage, &protocol.AckMessageRequestHeader{ConsumerGroup: p.group, Topic: it.topic, QueueID: it.QueueID, ExtraInfo: it.handle, Offset: it.QueueOffset}, nil); err != nil {
			p.t.Fatalf("ack of %s with %s: %v", it.Body, it.handle, err)
		}
	}
}

// collect pops until all the bodies have come; any other body fails the test.
func (p *popper) collect(invisible, within time.Duration, bodies ...string) []popItem {
	p.t.Helper()
	var out []popItem
	left := slices.Clone(bodies)
	harness.Eventually(p.t, within, func() string {
		for _, it := range p.pop(invisible, time.Second) {
			i := slices.Index(left, string(it.Body))
			if i < 0 {
				p.t.Fatalf("%s came, queue %d of %s, consumed %d times before; left %v", it.Body, it.QueueID, it.topic, it.ReconsumeTimes, left)
			}
			left = slices.Delete(left, i, i+1)
			out = append(out, it)
		}
		if len(left) > 0 {
			return fmt.Sprint("left: ", left)
		}
		return ""
	})
	return out
}

// byBody picks out messages.
func byBody(list []popItem, bodies ...string) (out []popItem) {
	for i := range list {
		if slices.Contains(bodies, string(list[i].Body)) {
			out = append(out, list[i])
		}
	}
	return out
}

func names(from, to int) (out []string) {
	for i := from; i < to; i++ {
		out = append(out, fmt.Sprintf("m%02d", i))
	}
	return out
}

func (p *popper) send(bodies ...string) {
	p.t.Helper()
	for i, b := range bodies {
		if _, err := p.w.send(p.topic, int32(i%2), b, protocol.Properties{protocol.PropertyTags: "a"}); err != nil {
			p.t.Fatal(err)
		}
	}
}

// TestPopKill: the broker is killed again and again while messages are popped; nothing is lost, and what was acknowledged does not come back.
func TestPopKill(t *testing.T) {
	const topic = "PopKill"
	dir, ns := t.TempDir(), harness.Namesrv(t)
	s := harness.Broker(t, dir, ns.Namesrv, "")
	harness.CreateTopic(t, s, topic, 2)
	p := newPopper(t, s, topic, "PopKillGroup")
	acked := map[string]bool{}
	check := func(list []popItem) []popItem {
		for i := range list {
			if acked[string(list[i].Body)] {
				t.Fatalf("%s comes back after it was acknowledged", list[i].Body)
			}
		}
		return list
	}
	const rounds, each = 6, 10
	for round := range rounds {
		p.send(names(round*each, (round+1)*each)...)
		list := check(p.pop(3*time.Second, 2*time.Second))
		for i := range list {
			if i%3 != 0 {
				p.ack(list[i])
				acked[string(list[i].Body)] = true
			}
		}
		s.Proc.Kill()
		s = harness.Broker(t, dir, ns.Namesrv, "")
		p = newPopper(t, s, topic, "PopKillGroup")
	}
	harness.Eventually(t, 60*time.Second, func() string {
		for _, it := range check(p.pop(30*time.Second, time.Second)) {
			p.ack(it)
			acked[string(it.Body)] = true
		}
		if len(acked) != rounds*each {
			return fmt.Sprintf("%d of %d acknowledged", len(acked), rounds*each)
		}
		return ""
	})
}
