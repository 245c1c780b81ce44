package e2e

import (
	"flag"
	"fmt"
	"slices"
	"strings"
	"sync"
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
	out, err := p.ask(invisible, poll)
	if err != nil {
		p.t.Fatal(err)
	}
	return out
}

func (p *popper) ask(invisible, poll time.Duration) ([]popItem, error) {
	reply, err := p.w.ask(protocol.ReqPopMessage, &protocol.PopMessageRequestHeader{ConsumerGroup: p.group, Topic: p.topic, QueueID: -1, MaxMsgNums: 32,
		InvisibleTime: invisible.Milliseconds(), PollTime: poll.Milliseconds(), BornTime: time.Now().UnixMilli(), ExpType: "TAG", Exp: "*", Order: protocol.Some(false)}, nil)
	if err != nil {
		return nil, err
	}
	switch code := protocol.ResponseCode(reply.Code); code {
	case protocol.RespSuccess:
	case protocol.RespPollingTimeout, protocol.RespPullNotFound:
		return nil, nil
	default:
		return nil, fmt.Errorf("pop: code %d %s", code, reply.Remark)
	}
	var h protocol.PopMessageResponseHeader
	if err := h.DecodeExt(reply.Ext); err != nil {
		return nil, err
	}
	start := map[string]string{}
	for _, e := range strings.Split(h.StartOffsetInfo, ";") {
		if f := strings.Fields(e); len(f) == 3 {
			start[f[0]+" "+f[1]] = f[2]
		}
	}
	list, err := records(reply.Body)
	if err != nil {
		return nil, err
	}
	var out []popItem
	for _, v := range list {
		it := popItem{MessageView: v, topic: p.topic}
		if ck, ok := v.Property(protocol.PropertyPopCK); ok {
			it.handle, it.topic = ck, protocol.PopRetryTopicV1(p.group, p.topic)
		} else {
			at, ok := start[fmt.Sprint("0 ", v.QueueID)]
			if !ok {
				return nil, fmt.Errorf("queue %d is not in %q", v.QueueID, h.StartOffsetInfo)
			}
			it.handle = fmt.Sprintf("%s %d %d %d 0 %s %d %d", at, h.PopTime, h.InvisibleTime, h.ReviveQid, popBroker, v.QueueID, v.QueueOffset)
		}
		out = append(out, it)
	}
	return out, nil
}

func (p *popper) ack(list ...popItem) {
	p.t.Helper()
	for i := range list {
		if err := p.ackOne(&list[i]); err != nil {
			p.t.Fatalf("ack of %s with %s: %v", list[i].Body, list[i].handle, err)
		}
	}
}

func (p *popper) ackOne(it *popItem) error {
	_, err := p.w.success(protocol.ReqAckMessage, &protocol.AckMessageRequestHeader{ConsumerGroup: p.group, Topic: it.topic, QueueID: it.QueueID,
		ExtraInfo: it.handle, Offset: it.QueueOffset}, nil)
	return err
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

// popRounds is how often TestPopKill kills.
var popRounds = flag.Int("pop.rounds", 6, "kills of TestPopKill")

// killBook is what consumers know: what was sent, and what was acknowledged.
type killBook struct {
	mu    sync.Mutex
	sent  int
	acked map[string]bool
	maybe map[string]bool // the ack was not answered
}

// consume pops and acknowledges until the broker is gone. A third is left open.
func (k *killBook) consume(t *testing.T, s *harness.Server, topic, group string) {
	w, err := dialWire(s.Broker)
	if err != nil {
		return
	}
	defer w.conn.Close()
	p := &popper{t, w, topic, group}
	for {
		list, err := p.ask(3*time.Second, 500*time.Millisecond)
		if err != nil {
			return
		}
		for i := range list {
			body := string(list[i].Body)
			k.mu.Lock()
			if k.acked[body] {
				t.Errorf("%s comes back after it was acknowledged: queue %d of %s, offset %d", body, list[i].QueueID, list[i].topic, list[i].QueueOffset)
			}
			k.maybe[body] = k.maybe[body] || i%3 != 0
			k.mu.Unlock()
			if i%3 == 0 {
				continue
			}
			popped := time.Now()
			if p.ackOne(&list[i]) != nil {
				return
			}
			if time.Since(popped) < time.Second {
				k.mu.Lock()
				k.acked[body] = true
				k.mu.Unlock()
			}
		}
	}
}

// TestPopKill: the broker is killed again and again while consumers pop and acknowledge; nothing is lost, and what was acknowledged does
// not come back.
func TestPopKill(t *testing.T) {
	const topic, group, each = "PopKill", "PopKillGroup", 60
	dir, ns := t.TempDir(), harness.Namesrv(t)
	s := harness.Broker(t, dir, ns.Namesrv, "")
	harness.CreateTopic(t, s, topic, 2)
	k := &killBook{acked: map[string]bool{}, maybe: map[string]bool{}}
	for round := range *popRounds {
		p := newPopper(t, s, topic, group)
		var g sync.WaitGroup
		for range 3 {
			g.Go(func() { k.consume(t, s, topic, group) })
		}
		p.send(names(k.sent, k.sent+each)...)
		k.sent += each
		time.Sleep(time.Duration(round*37%200) * time.Millisecond)
		s.Proc.Kill()
		g.Wait()
		s = harness.Broker(t, dir, ns.Namesrv, "")
	}
	p := newPopper(t, s, topic, group)
	harness.Eventually(t, 60*time.Second, func() string {
		for _, it := range p.pop(30*time.Second, time.Second) {
			if k.acked[string(it.Body)] {
				t.Fatalf("%s comes back after it was acknowledged", it.Body)
			}
			p.ack(it)
			k.acked[string(it.Body)] = true
		}
		for _, name := range names(0, k.sent) {
			if !k.acked[name] && !k.maybe[name] {
				return "lost: " + name
			}
		}
		return ""
	})
	t.Logf("%d messages, %d acknowledged and answered", k.sent, len(k.acked))
}
