package broker_test

import (
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/seedmq/seedmq/broker"
	"github.com/seedmq/seedmq/broker/brokertest"
	"github.com/seedmq/seedmq/remoting/protocol"
)

// popAll pops until n messages have come.
func (c *popClient) popAll(n int, invisible time.Duration) []popped {
	c.t.Helper()
	var all []popped
	brokertest.Until(c.t, fmt.Sprintf("%d messages", n), func() error {
		more, _, _ := c.pop(c.header(-1, invisible))
		if all = append(all, more...); len(all) != n {
			return fmt.Errorf("%d", len(all))
		}
		return nil
	})
	return all
}

func (c *popClient) mustAck(list ...popped) {
	c.t.Helper()
	for i := range list {
		if r := c.ack(&list[i]); r.Code != protocol.RespSuccess {
			c.t.Fatalf("ack %s: %d %s", list[i].handle, r.Code, r.Remark)
		}
	}
}

// TestPopWaits: a pop waits for a message, and several for one queue share what comes.
func TestPopWaits(t *testing.T) {
	b := brokertest.Start(t)
	c := newPopClient(t, b, "P", "G")
	c.Send("P", 0, "", "first")
	c.mustAck(c.popAll(1, time.Minute)...)
	const pollers = 6
	got := make(chan string, 100)
	var wg sync.WaitGroup
	for range pollers {
		wg.Go(func() {
			d := newPopClient(t, b, "P", "G")
			h := d.header(0, time.Minute)
			h.MaxMsgNums, h.PollTime = 1, 14_000
			list, _, r := d.pop(h)
			if len(list) != 1 {
				t.Errorf("%d messages, code %d %s", len(list), r.Code, r.Remark)
				return
			}
			got <- string(list[0].Body)
		})
	}
	var info protocol.PollingInfoResponseHeader
	brokertest.Until(t, "all wait", func() error {
		c.Must(protocol.ReqPollingInfo, &protocol.PollingInfoRequestHeader{ConsumerGroup: "G", Topic: "P", QueueID: 0}, nil, &info)
		if info.PollingNum != pollers {
			return fmt.Errorf("%d", info.PollingNum)
		}
		return nil
	})
	for i := range pollers {
		c.Send("P", 0, "", fmt.Sprint(i))
	}
	wg.Wait()
	close(got)
	var all []string
	for s := range got {
		all = append(all, s)
	}
	slices.Sort(all)
	if fmt.Sprint(all) != "[0 1 2 3 4 5]" {
		t.Fatalf("got %v", all)
	}
}

func TestPopNotification(t *testing.T) {
	b := brokertest.Start(t)
	c := newPopClient(t, b, "P", "G")
	c.Send("P", 0, "", "one")
	ask := func(poll int64) bool {
		var h protocol.NotificationResponseHeader
		c.Must(protocol.ReqNotification, &protocol.NotificationRequestHeader{ConsumerGroup: "G", Topic: "P", QueueID: -1, PollTime: poll, BornTime: time.Now().UnixMilli()}, nil, &h)
		return h.HasMsg
	}
	brokertest.Until(t, "a message", func() error {
		if !ask(0) {
			return fmt.Errorf("none")
		}
		return nil
	})
	peek := c.Call(protocol.ReqPeekMessage, &protocol.PeekMessageRequestHeader{Topic: "P", QueueID: -1, MaxMsgNums: 10, ConsumerGroup: "G"}, nil)
	if list := brokertest.Messages(t, peek.Body); peek.Code != protocol.RespSuccess || len(list) != 1 {
		t.Fatalf("peek: %d %s, %d messages", peek.Code, peek.Remark, len(list))
	}
	c.mustAck(c.popAll(1, time.Minute)...)
	if ask(0) || ask(50) {
		t.Fatal("told of nothing")
	}
	if peek = c.Call(protocol.ReqPeekMessage, &protocol.PeekMessageRequestHeader{Topic: "P", QueueID: -1, MaxMsgNums: 10, ConsumerGroup: "G"}, nil); peek.Code != protocol.RespPullNotFound {
		t.Fatalf("peek: %d %s", peek.Code, peek.Remark)
	}
	told := make(chan bool)
	go func() { told <- ask(14_000) }()
	c.Send("P", 0, "", "two")
	if !<-told {
		t.Fatal("not told")
	}
}

func TestBatchAckAndChange(t *testing.T) {
	for _, flush := range []string{"ASYNC_FLUSH", "SYNC_FLUSH"} {
		t.Run(flush, func(t *testing.T) {
			t.Parallel()
			batchAckAndChange(t, flush)
		})
	}
}

func batchAckAndChange(t *testing.T, flush string) {
	b := brokertest.Start(t, func(o *broker.Options) { o.Store.FlushDiskType = flush })
	c := newPopClient(t, b, "P", "G")
	for i := range 6 {
		c.Send("P", 0, "", fmt.Sprint(i))
	}
	list := c.popAll(6, 4*time.Second)
	var ack protocol.BatchAck
	for i := range list {
		m := &list[i]
		h := list[i].MessageView
		var start, popTime, invisible int64
		var revive int32
		if _, err := fmt.Sscan(m.handle, &start, &popTime, &invisible, &revive); err != nil {
			t.Fatal(err)
		}
		if ack.ConsumerGroup == "" {
			ack = protocol.BatchAck{Bits: []byte{0}, ConsumerGroup: "G", InvisibleTime: invisible, PopTime: popTime, Retry: "0", ReviveQueueID: revive, StartOffset: start, Topic: "P"}
		}
		if popTime == ack.PopTime && h.QueueOffset < start+8 && i != 0 {
			ack.Bits[0] |= 1 << (h.QueueOffset - start)
		}
	}
	send := func(a protocol.BatchAck) *protocol.Command {
		body, err := protocol.MarshalFast(&protocol.BatchAckMessageRequestBody{Acks: []protocol.BatchAck{a}, BrokerName: "test-broker"})
		if err != nil {
			t.Fatal(err)
		}
		return c.Call(protocol.ReqBatchAckMessage, nil, body)
	}
	bad := ack
	bad.PopTime--
	if r := send(bad); r.Code != protocol.RespMessageIllegal && r.Code != protocol.RespSuccess {
		t.Fatalf("altered: %d %s", r.Code, r.Remark)
	}
	if r := c.Call(protocol.ReqBatchAckMessage, nil, []byte(`{"acks":[],"brokerName":"b"}`)); r.Code != protocol.RespNoMessage {
		t.Fatalf("empty: %d %s", r.Code, r.Remark)
	}
	if r := send(ack); r.Code != protocol.RespSuccess {
		t.Fatalf("batch ack: %d %s", r.Code, r.Remark)
	}
	change := &protocol.ChangeMessageInvisibleTimeRequestHeader{ConsumerGroup: "G", Topic: "P", QueueID: 0, ExtraInfo: list[0].handle, Offset: list[0].QueueOffset, InvisibleTime: -1}
	if r := c.Call(protocol.ReqChangeMessageInvisibleTime, change, nil); r.Code != protocol.RespInvalidParameter {
		t.Fatalf("negative: %d %s", r.Code, r.Remark)
	}
	change.InvisibleTime = 1 << 50
	if r := c.Call(protocol.ReqChangeMessageInvisibleTime, change, nil); r.Code != protocol.RespInvalidParameter {
		t.Fatalf("too long: %d %s", r.Code, r.Remark)
	}
	change.InvisibleTime = 0
	var changed protocol.ChangeMessageInvisibleTimeResponseHeader
	c.Must(protocol.ReqChangeMessageInvisibleTime, change, nil, &changed)
	if changed.PopTime == 0 {
		t.Fatalf("%+v", changed)
	}
	acked := int64(0)
	for _, o := range list[1:] {
		if ack.Bits[0]&(1<<(o.QueueOffset-ack.StartOffset)) != 0 {
			acked++
		}
	}
	h := c.header(-1, time.Minute)
	h.PollTime = 14_000
	again, _, _ := c.pop(h)
	if len(again) != 1 || string(again[0].Body) != string(list[0].Body) || acked == 0 {
		t.Fatalf("given back: %d messages, %d acknowledged", len(again), acked)
	}
}

func TestPopOrdered(t *testing.T) {
	b := brokertest.Start(t)
	c := newPopClient(t, b, "P", "G")
	for i := range 4 {
		c.Send("P", 0, "", fmt.Sprint(i))
	}
	h := c.header(0, time.Minute)
	h.Order, h.MaxMsgNums = protocol.Some(true), 2
	var list []popped
	var head protocol.PopMessageResponseHeader
	brokertest.Until(t, "two messages", func() error {
		var r *protocol.Command
		if list, head, r = c.pop(h); len(list) != 2 {
			return fmt.Errorf("%d messages, %d %s", len(list), r.Code, r.Remark)
		}
		return nil
	})
	if head.ReviveQid != 999 || head.OrderCountInfo != "0 0 0" {
		t.Fatalf("%+v", head)
	}
	if blocked, _, r := c.pop(h); len(blocked) != 0 {
		t.Fatalf("not blocked: %d %s", r.Code, r.Remark)
	}
	waits := make(chan []popped)
	go func() {
		d := newPopClient(t, b, "P", "G")
		w := *h
		w.PollTime, w.BornTime = 14_000, time.Now().UnixMilli()
		more, _, _ := d.pop(&w)
		waits <- more
	}()
	c.mustAck(list[0])
	c.mustAck(list[1])
	if more := <-waits; len(more) != 2 || string(more[0].Body) != "2" {
		t.Fatalf("after the acks: %v", more)
	}
}

func TestPopFilters(t *testing.T) {
	b := brokertest.Start(t)
	c := newPopClient(t, b, "P", "G")
	for i := range 6 {
		c.Send("P", 0, fmt.Sprintf("TAGS\x01t%d\x02n\x01%d\x02", i%2, i), fmt.Sprint(i))
	}
	h := c.header(0, time.Minute)
	h.Exp = "t1"
	brokertest.Until(t, "by tag", func() error {
		if list, _, _ := c.pop(h); len(list) != 3 || string(list[0].Body) != "1" {
			return fmt.Errorf("%d messages", len(list))
		}
		return nil
	})
	sql := newPopClient(t, b, "P", "S")
	h = sql.header(0, time.Minute)
	h.ExpType, h.Exp = "SQL92", "n > 3"
	if list, _, r := sql.pop(h); len(list) != 2 || string(list[0].Body) != "4" {
		t.Fatalf("by SQL92: %d messages, %d %s", len(list), r.Code, r.Remark)
	}
	h.Exp = "n >"
	if _, _, r := sql.pop(h); r.Code != protocol.RespSubscriptionParseFailed {
		t.Fatalf("bad expression: %d %s", r.Code, r.Remark)
	}
}

func TestPopRefusals(t *testing.T) {
	b := brokertest.Start(t)
	c := newPopClient(t, b, "P", "G")
	c.Send("P", 0, "", "one")
	for name, x := range map[string]struct {
		edit func(*protocol.PopMessageRequestHeader)
		want protocol.ResponseCode
	}{
		"late":       {func(h *protocol.PopMessageRequestHeader) { h.BornTime -= 60_000 }, protocol.RespPollingTimeout},
		"33":         {func(h *protocol.PopMessageRequestHeader) { h.MaxMsgNums = 33 }, protocol.RespInvalidParameter},
		"none":       {func(h *protocol.PopMessageRequestHeader) { h.MaxMsgNums = 0 }, protocol.RespInvalidParameter},
		"queue":      {func(h *protocol.PopMessageRequestHeader) { h.QueueID = 100 }, protocol.RespInvalidParameter},
		"topic":      {func(h *protocol.PopMessageRequestHeader) { h.Topic = "Q" }, protocol.RespTopicNotExist},
		"group":      {func(h *protocol.PopMessageRequestHeader) { h.ConsumerGroup = "a b" }, protocol.RespSubscriptionGroupNotExist},
		"negative":   {func(h *protocol.PopMessageRequestHeader) { h.InvisibleTime = -5 }, protocol.RespInvalidParameter},
		"very long":  {func(h *protocol.PopMessageRequestHeader) { h.InvisibleTime = 1 << 60 }, protocol.RespInvalidParameter},
		"in time":    {func(h *protocol.PopMessageRequestHeader) { h.BornTime = 0; h.QueueID = 3 }, protocol.RespPollingTimeout},
		"other expr": {func(h *protocol.PopMessageRequestHeader) { h.ExpType = "other" }, protocol.RespSubscriptionParseFailed},
	} {
		h := c.header(-1, time.Minute)
		x.edit(h)
		if _, _, r := c.pop(h); r.Code != x.want {
			t.Errorf("%s: %d %s, want %d", name, r.Code, r.Remark, x.want)
		}
	}
	if n := len(c.popAll(1, time.Minute)); n != 1 {
		t.Fatalf("%d messages", n)
	}
	off := brokertest.Start(t, func(o *broker.Options) { o.Store.TimerWheelEnable = false })
	d := newPopClient(t, off, "P", "G")
	d.Send("P", 0, "", "one")
	if _, _, r := d.pop(d.header(-1, time.Minute)); r.Code != protocol.RespSystemError {
		t.Fatalf("without a timer: %d %s", r.Code, r.Remark)
	}
	if r := d.Call(protocol.ReqAckMessage, &protocol.AckMessageRequestHeader{ConsumerGroup: "G", Topic: "P", ExtraInfo: "x"}, nil); r.Code != protocol.RespSystemError {
		t.Fatalf("ack without a timer: %d %s", r.Code, r.Remark)
	}
}

// TestPopRestart: what is open is where it was after a clean stop, and what is acknowledged does not come back.
func TestPopRestart(t *testing.T) {
	dir := t.TempDir()
	b := brokertest.StartIn(t, dir)
	c := newPopClient(t, b, "P", "G")
	for i := range 8 {
		c.Send("P", int32(i%4), "", fmt.Sprint(i))
	}
	list := c.popAll(8, 3*time.Second)
	c.mustAck(list[:4]...)
	b.Stop(t)
	b = brokertest.StartIn(t, dir)
	c = newPopClient(t, b, "P", "G")
	c.mustAck(list[4:6]...)
	want := []string{string(list[6].Body), string(list[7].Body)}
	var got []string
	brokertest.Until(t, "two messages", func() error {
		more, _, _ := c.pop(c.header(-1, time.Minute))
		for i := range more {
			got = append(got, string(more[i].Body))
		}
		if len(got) != 2 {
			return fmt.Errorf("%v", got)
		}
		return nil
	})
	slices.Sort(got)
	slices.Sort(want)
	if !slices.Equal(got, want) {
		t.Fatalf("got %v, want %v", got, want)
	}
}

// TestPopFollowsAReset: a pop that waits goes on where an operator has set its group.
func TestPopFollowsAReset(t *testing.T) {
	b := brokertest.Start(t)
	c := newPopClient(t, b, "P", "G")
	for i := range 3 {
		c.Send("P", 0, "", fmt.Sprint(i))
	}
	c.mustAck(c.popAll(3, time.Minute)...)
	got := make(chan []popped)
	go func() {
		d := newPopClient(t, b, "P", "G")
		h := d.header(0, time.Minute)
		h.PollTime = 14_000
		list, _, _ := d.pop(h)
		got <- list
	}()
	brokertest.Until(t, "it waits", func() error {
		var info protocol.PollingInfoResponseHeader
		if c.Must(protocol.ReqPollingInfo, &protocol.PollingInfoRequestHeader{ConsumerGroup: "G", Topic: "P", QueueID: 0}, nil, &info); info.PollingNum != 1 {
			return fmt.Errorf("%d", info.PollingNum)
		}
		return nil
	})
	c.Must(protocol.ReqInvokeBrokerToResetOffset, &protocol.InvokeBrokerToResetOffsetRequestHeader{Topic: "P", Group: "G", QueueID: protocol.Some(int32(0)), Offset: protocol.Some(int64(1)), Timestamp: -1, IsForce: true}, nil, nil)
	if list := <-got; len(list) != 2 || string(list[0].Body) != "1" {
		t.Fatalf("after the reset: %d messages", len(list))
	}
}

// TestPopOfANewTopic: what was popped of a deleted topic has nothing to do with a new one of its name.
func TestPopOfANewTopic(t *testing.T) {
	b := brokertest.Start(t)
	c := newPopClient(t, b, "P", "G")
	for i := range 3 {
		c.Send("P", 0, "", fmt.Sprint(i))
	}
	c.popAll(3, time.Second)
	const retry = "%RETRY%G_P"
	brokertest.Until(t, "a retry topic", func() error {
		if r := c.Call(protocol.ReqGetTopicConfig, &protocol.GetTopicConfigRequestHeader{Topic: retry}, nil); r.Code != protocol.RespSuccess {
			return fmt.Errorf("%d %s", r.Code, r.Remark)
		}
		return nil
	})
	c.Must(protocol.ReqDeleteTopicInBroker, &protocol.DeleteTopicInBrokerRequestHeader{Topic: "P"}, nil, nil)
	if r := c.Call(protocol.ReqGetTopicConfig, &protocol.GetTopicConfigRequestHeader{Topic: retry}, nil); r.Code != protocol.RespTopicNotExist {
		t.Fatalf("the retry topic is still there: %d %s", r.Code, r.Remark)
	}
	c.Send("P", 0, "", "new")
	if list := c.popAll(1, time.Minute); string(list[0].Body) != "new" {
		t.Fatalf("got %s", list[0].Body)
	}
}
