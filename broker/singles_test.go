package broker_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/seedmq/seedmq/broker"
	"github.com/seedmq/seedmq/broker/brokertest"
	"github.com/seedmq/seedmq/remoting/protocol"
)

// Pops give out single messages of batches, which are acknowledged and come again one by one.
func TestPopOfBatches(t *testing.T) {
	b := brokertest.Start(t)
	c := newPopClient(t, b, "B", "G")
	createBatchTopic(t, c.Client, "B")
	c.Must(protocol.ReqSendBatchMessage, brokertest.SendHeader("B", 0, "UNIQ_KEY\x01U\x02"), innerBody("a 0", "b 1", "a 2"), nil)
	c.Send("B", 0, "TAGS\x01b\x02", "b 3")
	c.Must(protocol.ReqSendBatchMessage, brokertest.SendHeader("B", 0, "UNIQ_KEY\x01V\x02"), innerBody("a 4", "b 5"), nil)
	take := func(n int32) (got []popped) {
		t.Helper()
		brokertest.Until(t, "messages", func() error {
			h := c.header(0, 2*time.Second)
			h.MaxMsgNums = n
			more, _, r := c.pop(h)
			if got = append(got, more...); len(got) == 0 {
				return fmt.Errorf("code %d %s", r.Code, r.Remark)
			}
			return nil
		})
		return got
	}
	want := func(got []popped, text string) {
		t.Helper()
		var have []string
		for i := range got {
			have = append(have, fmt.Sprint(got[i].QueueOffset, " ", string(got[i].Body)))
		}
		if fmt.Sprint(have) != text {
			t.Fatalf("%v, want %s", have, text)
		}
	}
	first := take(2)
	want(first, "[0 a 0 1 b 1]")
	want(take(1), "[2 a 2]")
	rest := take(32)
	want(rest, "[3 b 3 4 a 4 5 b 5]")
	for _, m := range append(first[:1:1], rest...) {
		if r := c.ack(&m); r.Code != protocol.RespSuccess {
			t.Fatalf("ack of %d: %d %s", m.QueueOffset, r.Code, r.Remark)
		}
	}
	again := map[string]int{}
	brokertest.Until(t, "what was not acknowledged comes again", func() error {
		more, _, _ := c.pop(c.header(-1, time.Minute))
		for i := range more {
			again[string(more[i].Body)]++
		}
		if len(again) < 2 {
			return fmt.Errorf("%v", again)
		}
		return nil
	})
	if fmt.Sprint(again) != "map[a 2:1 b 1:1]" {
		t.Fatalf("%v", again)
	}
}

// Pops of a light queue count by its own offsets.
func TestPopOfLightQueues(t *testing.T) {
	b := brokertest.Start(t, func(o *broker.Options) { o.Store.EnableLmq, o.Store.EnableMultiDispatch = true, true })
	c := newPopClient(t, b, "%LMQ%a", "G")
	for i := range 6 {
		props := ""
		if i%2 == 1 {
			props = "INNER_MULTI_DISPATCH\x01%LMQ%a\x02"
		}
		c.Send("T", 1, props, fmt.Sprint(i))
	}
	var got []popped
	brokertest.Until(t, "three messages", func() error {
		more, _, r := c.pop(c.header(-1, time.Minute))
		if got = append(got, more...); len(got) < 3 {
			return fmt.Errorf("%d messages, code %d %s", len(got), r.Code, r.Remark)
		}
		return nil
	})
	for i := range got {
		if got[i].QueueOffset != int64(i) || got[i].QueueID != 0 || string(got[i].Body) != fmt.Sprint(2*i+1) {
			t.Fatalf("%+v", got[i])
		}
		if r := c.ack(&got[i]); r.Code != protocol.RespSuccess {
			t.Fatalf("ack: %d %s", r.Code, r.Remark)
		}
	}
	if _, _, r := c.pop(c.header(-1, time.Minute)); r.Code != protocol.RespPollingTimeout {
		t.Fatalf("nothing left: %d %s", r.Code, r.Remark)
	}
}
