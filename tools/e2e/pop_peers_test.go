//go:build peers

package e2e

import (
	"context"
	"fmt"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/seedmq/seedmq/remoting/protocol"
	"github.com/seedmq/seedmq/tools/harness"
)

// TestPopExchange: popped messages go from our broker to Apache's and back, after clean stops and a kill. Whoever has the store when the time
// of one is over brings it back; what was acknowledged by either, with a handle of either, is brought back by nobody.
func TestPopExchange(t *testing.T) {
	const topic, group, invisible = "PopExchange", "PopExchangeGroup", 25 * time.Second
	dir, ns := t.TempDir(), harness.Namesrv(t)
	s := harness.Broker(t, dir, ns.Namesrv, "")
	harness.CreateTopic(t, s, topic, 2)
	p := newPopper(t, s, topic, group)
	p.send(names(0, 12)...)
	ours := p.collect(invisible, 20*time.Second, names(0, 12)...)
	p.ack(byBody(ours, names(0, 4)...)...)
	stop(t, s)

	t.Log("Java goes on with what we have closed")
	s = harness.JavaBroker(t, dir, ns.Namesrv, "")
	p = newPopper(t, s, topic, group)
	p.ack(byBody(ours, names(4, 8)...)...)
	p.send(names(12, 20)...)
	theirs := p.collect(40*time.Second, time.Minute, names(8, 20)...)
	for _, it := range byBody(theirs, names(8, 12)...) {
		if it.ReconsumeTimes != 1 {
			t.Errorf("%s came back as %d", it.Body, it.ReconsumeTimes)
		}
	}
	p.ack(byBody(theirs, names(8, 14)...)...)
	stop(t, s)

	t.Log("we go on with what Java has closed")
	s = harness.Broker(t, dir, ns.Namesrv, "flushConsumerOffsetInterval=500\n")
	p = newPopper(t, s, topic, group)
	p.ack(byBody(theirs, names(14, 17)...)...)
	last := p.collect(20*time.Second, 80*time.Second, names(17, 20)...)
	p.ack(byBody(last, names(17, 18)...)...)
	time.Sleep(12 * time.Second) // until check points, acks and offsets are stored: Java cannot read our journal
	s.Proc.Kill()

	t.Log("Java goes on with what we left when we were killed")
	s = harness.JavaBroker(t, dir, ns.Namesrv, "")
	p = newPopper(t, s, topic, group)
	p.ack(p.collect(40*time.Second, time.Minute, names(18, 20)...)...)
	stop(t, s)
}

// TestJavaPopKilled: we go on with what Java left when it was killed.
func TestJavaPopKilled(t *testing.T) {
	const topic, group = "PopJavaKill", "PopJavaKillGroup"
	dir, ns := t.TempDir(), harness.Namesrv(t)
	s := harness.JavaBroker(t, dir, ns.Namesrv, "flushConsumerOffsetInterval=1000\n")
	harness.CreateTopic(t, s, topic, 2)
	p := newPopper(t, s, topic, group)
	p.send(names(0, 10)...)
	list := p.collect(30*time.Second, 30*time.Second, names(0, 10)...)
	p.ack(byBody(list, names(0, 5)...)...)
	time.Sleep(13 * time.Second) // until Java, which begins with that after 10 s, has written its consumer offsets: it pops again what they do not tell
	s.Proc.Kill()
	s = harness.Broker(t, dir, ns.Namesrv, "")
	p = newPopper(t, s, topic, group)
	p.ack(p.collect(40*time.Second, time.Minute, names(5, 10)...)...)
}

// TestPopJavaMakesTheTopicAnew: after a kill of ours Java deletes a topic and makes it again. What our journal says of the old one skips nothing of
// the new one.
func TestPopJavaMakesTheTopicAnew(t *testing.T) {
	const topic, group = "PopAnew", "PopAnewGroup"
	dir, ns := t.TempDir(), harness.Namesrv(t)
	s := harness.Broker(t, dir, ns.Namesrv, "")
	harness.CreateTopic(t, s, topic, 2)
	p := newPopper(t, s, topic, group)
	p.send(names(0, 20)...)
	p.ack(p.collect(time.Minute, 20*time.Second, names(0, 20)...)...)
	s.Proc.Kill()
	if left, err := filepath.Glob(filepath.Join(dir, "store", "popjournal", "*")); err != nil || len(left) == 0 {
		t.Fatalf("no journal after the kill: %v %v", left, err)
	}

	s = harness.JavaBroker(t, dir, ns.Namesrv, "")
	p = newPopper(t, s, topic, group)
	if _, err := p.w.success(protocol.ReqDeleteTopicInBroker, &protocol.DeleteTopicInBrokerRequestHeader{Topic: topic}, nil); err != nil {
		t.Fatal(err)
	}
	harness.CreateTopic(t, s, topic, 2)
	p.send(names(20, 35)...)
	stop(t, s)

	s = harness.Broker(t, dir, ns.Namesrv, "")
	p = newPopper(t, s, topic, group)
	p.ack(p.collect(time.Minute, 20*time.Second, names(20, 35)...)...)
}

// javaPop runs a scenario of Pop.java, which needs the client of 5.5.0.
func javaPop(t *testing.T, s *harness.Server, name, topic string) {
	t.Helper()
	cp, dir := harness.JavaLib(t, harness.Java5), t.TempDir()
	ctx, cancel := context.WithTimeout(context.Background(), 4*time.Minute)
	defer cancel()
	src := filepath.Join(harness.Root(t), "tools", "e2e", "java", "Pop.java")
	if out, err := exec.CommandContext(ctx, "javac", "-nowarn", "-cp", cp, "-d", dir, src).CombinedOutput(); err != nil {
		t.Fatalf("javac: %v\n%s", err, out)
	}
	out, err := exec.CommandContext(ctx, "java", "-Xmx256m", "-XX:TieredStopAtLevel=1", "-Duser.home="+dir, "-Drocketmq.client.logRoot="+dir,
		"-cp", dir+":"+cp, "Pop", name, s.Namesrv, s.Broker, topic).CombinedOutput()
	if err != nil || !strings.Contains(string(out), "OK "+name) {
		lines := slices.DeleteFunc(strings.Split(string(out), "\n"), func(l string) bool { return strings.Contains(l, "|-") }) // logback's own
		t.Fatalf("scenario %s: %v\n%s", name, err, strings.Join(lines, "\n"))
	}
}

// The official push consumer of 5.5.0 in pop mode: more consumers than queues share them, and what fails comes back.
func TestJavaPopPush(t *testing.T) {
	s := harness.MQServer(t, harness.FastRetryConf)
	harness.CreateTopic(t, s, "J5pop", 2)
	javaPop(t, s, "push", "J5pop")
}

// Requests of the official client's API: pop, acks one by one and in a batch, changed times, order, altered handles, notifications.
func TestJavaPopRaw(t *testing.T) {
	s := harness.MQServer(t, harness.FastRetryConf)
	harness.CreateTopic(t, s, "J5popRaw", 1)
	javaPop(t, s, "raw", "J5popRaw")
}

// TestPopHeadersAreJavas: the same pops of the same store get the same headers from both.
func TestPopHeadersAreJavas(t *testing.T) {
	const topic = "PopSame"
	dir, ns := t.TempDir(), harness.Namesrv(t)
	s := harness.Broker(t, dir, ns.Namesrv, "")
	harness.CreateTopic(t, s, topic, 1)
	p := newPopper(t, s, topic, "Same0")
	for _, body := range []string{"a", "b", "c"} {
		if _, err := p.w.send(topic, 0, body, nil); err != nil {
			t.Fatal(err)
		}
	}
	ask := func(s *harness.Server, group string) (heads []string) {
		p := newPopper(t, s, topic, group)
		for _, x := range []struct {
			max   int32
			order bool
		}{{2, false}, {2, false}, {2, false}, {1, true}, {1, true}} {
			g := group
			if x.order {
				g += "Order"
			}
			reply, err := p.w.ask(protocol.ReqPopMessage, &protocol.PopMessageRequestHeader{ConsumerGroup: g, Topic: topic, QueueID: 0, MaxMsgNums: x.max,
				InvisibleTime: 60_000, BornTime: time.Now().UnixMilli(), PollTime: 0, ExpType: "TAG", Exp: "*", Order: protocol.Some(x.order)}, nil)
			if err != nil {
				t.Fatal(err)
			}
			var h protocol.PopMessageResponseHeader
			if err := h.DecodeExt(reply.Ext); err != nil {
				t.Fatal(err)
			}
			heads = append(heads, fmt.Sprint(reply.Code, reply.Remark, h.InvisibleTime, h.RestNum, h.StartOffsetInfo, h.MsgOffsetInfo, h.OrderCountInfo, h.ReviveQid == 999))
		}
		return heads
	}
	ours := ask(s, "Same1")
	stop(t, s)
	s = harness.JavaBroker(t, dir, ns.Namesrv, "")
	theirs := ask(s, "Same2")
	if !slices.Equal(ours, theirs) {
		t.Fatalf("ours\n%s\nJava's\n%s", strings.Join(ours, "\n"), strings.Join(theirs, "\n"))
	}
	stop(t, s)
}
