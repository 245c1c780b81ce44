package broker_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/seedmq/seedmq/broker/brokertest"
	"github.com/seedmq/seedmq/remoting/protocol"
)

// set changes keys while the broker runs.
func (c *popClient) set(lines ...string) {
	c.t.Helper()
	c.Must(protocol.ReqUpdateBrokerConfig, nil, []byte(strings.Join(lines, "\n")+"\n"), nil)
}

func (c *popClient) topicOf(name string) {
	c.t.Helper()
	c.Must(protocol.ReqUpdateAndCreateTopic, &protocol.UpdateAndCreateTopicRequestHeader{Topic: name, ReadQueueNums: 1, WriteQueueNums: 1, Perm: 6,
		TopicFilterType: "SINGLE_TAG", DefaultTopic: "TBW102"}, nil, nil)
}

// topUp sends n messages with a body. Retry topics are taken for those of groups.
func (c *popClient) topUp(topic, body string, n int) {
	c.t.Helper()
	if group, ok := strings.CutPrefix(topic, "%RETRY%"); ok {
		c.Heartbeat(group, protocol.SubscriptionData{Topic: "P", SubString: "*"})
	}
	for range n {
		c.Send(topic, 0, "", body)
	}
}

// TestPopFromRetryProbability: how many of a hundred pops give a retried message first.
func TestPopFromRetryProbability(t *testing.T) {
	b := brokertest.Start(t)
	c := newPopClient(t, b, "P", "G")
	c.topicOf("P")
	c.topicOf("%RETRY%G_P")
	c.topUp("P", "new", 260)
	c.topUp("%RETRY%G_P", "again", 260)
	for _, percent := range []int{20, 0, 100, 50} {
		c.set(fmt.Sprint("popFromRetryProbability=", percent))
		again := 0
		for range 100 {
			h := c.header(-1, time.Minute)
			h.MaxMsgNums = 1
			list, _, r := c.pop(h)
			if len(list) != 1 {
				t.Fatalf("%d messages, code %d %s", len(list), r.Code, r.Remark)
			}
			if string(list[0].Body) == "again" {
				again++
			}
		}
		if again != percent {
			t.Fatalf("%d of 100 were retried ones, want %d", again, percent)
		}
	}
	c.set("popFromRetryProbability=0")
	c.popAll(520-400, time.Minute) // what room is left is for retried ones
}

// TestPopPollingSizes: how many may wait, and what the others are told.
func TestPopPollingSizes(t *testing.T) {
	b := brokertest.Start(t)
	c := newPopClient(t, b, "P", "G")
	c.topicOf("P")
	c.set("popPollingSize=1", "maxPopPollingSize=2")
	wait := func(group string, n int32) chan protocol.ResponseCode {
		t.Helper()
		d := newPopClient(t, b, "P", group)
		h := d.header(0, time.Minute)
		h.PollTime, h.MaxMsgNums = 14_000, 1
		code := make(chan protocol.ResponseCode, 1)
		go func() { code <- protocol.ResponseCode(d.Call(protocol.ReqPopMessage, h, nil).Code) }()
		var info protocol.PollingInfoResponseHeader
		brokertest.Until(t, "it waits", func() error {
			c.Must(protocol.ReqPollingInfo, &protocol.PollingInfoRequestHeader{ConsumerGroup: group, Topic: "P", QueueID: 0}, nil, &info)
			if info.PollingNum != n {
				return fmt.Errorf("%d", info.PollingNum)
			}
			return nil
		})
		return code
	}
	full := func(group string) {
		t.Helper()
		d := newPopClient(t, b, "P", group)
		h := d.header(0, time.Minute)
		h.PollTime = 14_000
		if _, _, r := d.pop(h); protocol.ResponseCode(r.Code) != protocol.RespPollingFull {
			t.Fatalf("code %d %s", r.Code, r.Remark)
		}
	}
	waits := []chan protocol.ResponseCode{wait("G", 1)}
	full("G")
	waits = append(waits, wait("H", 1))
	full("J")
	c.set("popPollingSize=2", "maxPopPollingSize=3")
	waits = append(waits, wait("G", 2))
	c.topUp("P", "x", 2)
	for _, w := range waits {
		if code := <-w; code != protocol.RespSuccess {
			t.Fatalf("code %d", code)
		}
	}
}

// TestPopMessageThreshold: who has too much in flight is told what one is told who finds nothing, and waits until there is less.
func TestPopMessageThreshold(t *testing.T) {
	b := brokertest.Start(t)
	c := newPopClient(t, b, "P", "G")
	c.topicOf("P")
	c.topUp("P", "x", 5)
	c.set("popInflightMessageThreshold=1")
	h := c.header(0, time.Minute)
	h.MaxMsgNums = 2
	list, _, _ := c.pop(h)
	more, _, _ := c.pop(h)
	if len(list)+len(more) != 4 {
		t.Fatalf("%d and %d messages: the threshold is off", len(list), len(more))
	}
	c.set("enablePopMessageThreshold=true")
	got, head, r := c.pop(h)
	if len(got) != 0 || protocol.ResponseCode(r.Code) != protocol.RespPollingTimeout || r.Remark != "NO_MESSAGE_IN_QUEUE" || head.RestNum != 1 {
		t.Fatalf("%d messages, code %d %s, rest %d", len(got), r.Code, r.Remark, head.RestNum)
	}
	done := make(chan int)
	go func() {
		d := newPopClient(t, b, "P", "G")
		h := d.header(-1, time.Minute)
		h.PollTime = 14_000
		list, _, _ := d.pop(h)
		done <- len(list)
	}()
	var info protocol.PollingInfoResponseHeader
	brokertest.Until(t, "it waits", func() error {
		c.Must(protocol.ReqPollingInfo, &protocol.PollingInfoRequestHeader{ConsumerGroup: "G", Topic: "P", QueueID: -1}, nil, &info)
		if info.PollingNum != 1 {
			return fmt.Errorf("%d", info.PollingNum)
		}
		return nil
	})
	c.mustAck(list...)
	c.mustAck(more[0])
	if n := <-done; n != 1 {
		t.Fatalf("the one that waited got %d messages", n)
	}
}

// TestRetryTopicV2: where messages go that were not acknowledged, and from where they are read.
func TestRetryTopicV2(t *testing.T) {
	b := brokertest.Start(t)
	c := newPopClient(t, b, "P", "G")
	c.topicOf("P")
	c.topicOf("%RETRY%G_P")
	c.set("enableRetryTopicV2=true")
	expire := func(n int64) {
		t.Helper()
		c.topUp("P", "new", 1)
		if list, _, r := c.pop(c.header(0, 100*time.Millisecond)); len(list) != 1 {
			t.Fatalf("%d messages, code %d %s", len(list), r.Code, r.Remark)
		}
		brokertest.Until(t, "it is back", func() error {
			var max protocol.GetMaxOffsetResponseHeader
			r := c.Call(protocol.ReqGetMaxOffset, &protocol.GetMaxOffsetRequestHeader{Topic: "%RETRY%G+P"}, nil)
			if err := max.DecodeExt(r.Ext); err != nil || max.Offset != n {
				return fmt.Errorf("%d messages, %d %s", max.Offset, r.Code, r.Remark)
			}
			return nil
		})
	}
	pops := func(want ...string) {
		t.Helper()
		var got []string
		for _, m := range c.popAll(len(want), time.Minute) {
			got = append(got, m.real)
			c.mustAck(m)
		}
		if slices.Sort(got); !slices.Equal(got, want) {
			t.Fatalf("got %v, want %v", got, want)
		}
		if list, _, _ := c.pop(c.header(-1, time.Minute)); len(list) != 0 {
			t.Fatalf("%d more", len(list))
		}
	}
	expire(1)
	c.topUp("%RETRY%G_P", "old", 1)
	pops("%RETRY%G+P", "%RETRY%G_P")
	c.set("retrieveMessageFromPopRetryTopicV1=false")
	c.topUp("%RETRY%G_P", "old", 1)
	expire(2)
	pops("%RETRY%G+P")
	expire(3)
	c.set("enableRetryTopicV2=false")
	pops("%RETRY%G+P", "%RETRY%G_P") // nothing is left behind
}
