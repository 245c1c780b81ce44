package broker_test

import (
	"fmt"
	"testing"

	"github.com/seedmq/seedmq/broker/brokertest"
	"github.com/seedmq/seedmq/remoting/protocol"
)

func purge(t *testing.T, c *brokertest.Client, h *protocol.PurgeTopicRequestHeader) string {
	t.Helper()
	got := fetch[protocol.PurgeTopicResponseBody](t, c, protocol.ReqPurgeTopic, h, "")
	return fmt.Sprint(got.Queues)
}

// fillTopic makes a topic of two queues with n messages in each.
func fillTopic(t *testing.T, c *brokertest.Client, name string, n int) {
	t.Helper()
	c.Must(protocol.ReqUpdateAndCreateTopic, newTopic(name, 2), nil, nil)
	for i := range n {
		c.Send(name, 0, fmt.Sprintf("KEYS\x01key%d\x02", i), fmt.Sprint("a", i))
		c.Send(name, 1, "", fmt.Sprint("b", i))
	}
	stored(t, c, name, 0, n)
	stored(t, c, name, 1, n)
}

// TestPurge: a preview changes nothing; a purge of a queue, and of a topic, takes what is there and nothing else, and stays.
func TestPurge(t *testing.T) {
	dir := t.TempDir()
	b := brokertest.StartIn(t, dir)
	c := brokertest.Dial(t, b.Addr())
	fillTopic(t, c, "T", 3)
	fillTopic(t, c, "Other", 2)
	ids := stored(t, c, "T", 0, 3)
	for _, group := range []string{"behind", "ahead"} {
		h := pullHeader("T", 0, 0)
		h.ConsumerGroup = group // made by its first pull
		pull(t, c, h)
	}
	commit(c, "behind", "T", 0, 1)
	commit(c, "ahead", "T", 0, 3)
	commit(c, "behind", "T", 1, 1)

	one := &protocol.PurgeTopicRequestHeader{Topic: "T", QueueID: protocol.Some(int32(0)), Preview: true}
	if got := purge(t, c, one); got != "[{0 0 3 3}]" {
		t.Errorf("preview of a queue: %s", got)
	}
	if got := purge(t, c, &protocol.PurgeTopicRequestHeader{Topic: "T", Preview: true}); got != "[{0 0 3 3} {1 0 3 3}]" {
		t.Errorf("preview of the topic: %s", got)
	}
	one.Preview = false
	if got := purge(t, c, one); got != "[{0 3 3 3}]" {
		t.Errorf("purge of a queue: %s", got)
	}
	if got := pull(t, c, pullHeader("T", 0, 1)); got.code != protocol.RespPullOffsetMoved || got.remark != "OFFSET_TOO_SMALL" || got.next != 3 {
		t.Errorf("pull of what is purged: %+v", got)
	}
	if got := pull(t, c, pullHeader("T", 1, 0)); fmt.Sprint(got.bodies) != "[b0 b1 b2]" {
		t.Errorf("the other queue: %+v", got)
	}
	if behind, ahead, other := offsetOf(t, query(c, "behind", "T", 0)), offsetOf(t, query(c, "ahead", "T", 0)), offsetOf(t, query(c, "behind", "T", 1)); behind != 3 || ahead != 3 || other != 1 {
		t.Errorf("groups stand at %d, %d, %d", behind, ahead, other)
	}
	if r := c.Call(protocol.ReqViewMessageByID, &protocol.ViewMessageByIDRequestHeader{Offset: ids[0].PhysicalOffset}, nil); r.Code != protocol.RespSuccess {
		t.Errorf("by its id: %d %s", r.Code, r.Remark)
	}
	c.Send("T", 0, "", "a3")
	brokertest.Until(t, "the next message", func() error {
		if got := pull(t, c, pullHeader("T", 0, 3)); fmt.Sprint(got.bodies) != "[a3]" || got.smallest != 3 {
			return fmt.Errorf("%+v", got)
		}
		return nil
	})

	b.Stop(t)
	b = brokertest.StartIn(t, dir)
	c = brokertest.Dial(t, b.Addr())
	if got := purge(t, c, &protocol.PurgeTopicRequestHeader{Topic: "T"}); got != "[{0 4 4 1} {1 3 3 3}]" {
		t.Errorf("purge of the topic after a restart: %s", got)
	}
	if got := purge(t, c, &protocol.PurgeTopicRequestHeader{Topic: "T"}); got != "[{0 4 4 0} {1 3 3 0}]" {
		t.Errorf("purge of an empty topic: %s", got)
	}
	if got := pull(t, c, pullHeader("Other", 1, 0)); fmt.Sprint(got.bodies) != "[b0 b1]" {
		t.Errorf("another topic: %+v", got)
	}
}

// TestPurgeWithMembers: members are sent behind what is purged, as by a reset; one that has consumed all and says so with its pull is not
// disturbed, though it had not committed before.
func TestPurgeWithMembers(t *testing.T) {
	b := brokertest.Start(t)
	fillTopic(t, brokertest.Dial(t, b.Addr()), "T", 3)
	member := func(group string, pulls int32) (*brokertest.Client, *protocol.PullMessageRequestHeader) {
		c := brokertest.Dial(t, b.Addr())
		c.Heartbeat(group, protocol.SubscriptionData{Topic: "T", SubString: "*", ExpressionType: "TAG"})
		h := pullHeader("T", 0, 0)
		h.ConsumerGroup, h.MaxMsgNums = group, pulls
		if got := pull(t, c, h); got.next != int64(pulls) {
			t.Fatalf("%+v", got)
		}
		if group != "new" {
			commit(c, group, "T", 0, 1)
		}
		h.QueueOffset = int64(pulls)
		return c, h
	}
	slow, slowPull := member("slow", 1)
	young, youngPull := member("new", 1)
	quick, quickPull := member("quick", 3)
	purge(t, slow, &protocol.PurgeTopicRequestHeader{Topic: "T"})
	for _, group := range []string{"slow", "new", "quick"} {
		if at := offsetOf(t, query(slow, group, "T", 0)); at != 3 {
			t.Errorf("group %s stands at %d", group, at)
		}
	}
	for _, m := range []struct {
		c *brokertest.Client
		h *protocol.PullMessageRequestHeader
	}{{slow, slowPull}, {young, youngPull}} {
		brokertest.Until(t, m.h.ConsumerGroup+" to be sent on", func() error {
			if got := m.c.Call(protocol.ReqPullMessage, m.h, nil); got.Code != protocol.RespPullOffsetMoved || got.Remark != "OFFSET_RESET" {
				return fmt.Errorf("%d %s", got.Code, got.Remark)
			}
			return nil
		})
	}
	quickPull.SysFlag |= protocol.PullFlagCommitOffset
	quickPull.CommitOffset = 3
	if got := pull(t, quick, quickPull); got.code != protocol.RespPullNotFound || got.next != 3 {
		t.Errorf("the quick member: %+v", got)
	}
	commit(quick, "quick", "T", 0, 3)
	if at := offsetOf(t, query(quick, "quick", "T", 0)); at != 3 {
		t.Errorf("the quick group stands at %d", at)
	}
}

// TestPurgeBefore leaves what was stored at or after a time.
func TestPurgeBefore(t *testing.T) {
	c := startAdmin(t)
	fillTopic(t, c, "T", 2)
	last := stored(t, c, "T", 0, 2)[1].StoreTimestamp
	brokertest.Until(t, "another millisecond", func() error {
		c.Send("T", 0, "", "late")
		if at := lastOf(t, c, "T", 0); at.StoreTimestamp == last {
			return fmt.Errorf("still %d", last)
		}
		return nil
	})
	at := lastOf(t, c, "T", 0)
	h := &protocol.PurgeTopicRequestHeader{Topic: "T", QueueID: protocol.Some(int32(0)), Before: protocol.Some(at.StoreTimestamp)}
	purge(t, c, h)
	if got := pull(t, c, pullHeader("T", 0, at.QueueOffset)); got.smallest != at.QueueOffset || fmt.Sprint(got.bodies) != "[late]" {
		t.Errorf("%+v, want the one at %d", got, at.QueueOffset)
	}
}

func TestPurgeRefusals(t *testing.T) {
	c := startAdmin(t)
	fillTopic(t, c, "T", 1)
	for _, x := range []struct {
		h    protocol.PurgeTopicRequestHeader
		code protocol.ResponseCode
		says string
	}{
		{protocol.PurgeTopicRequestHeader{Topic: "Nope"}, protocol.RespTopicNotExist, "topic[Nope] not exist"},
		{protocol.PurgeTopicRequestHeader{Topic: ""}, protocol.RespTopicNotExist, "not exist"},
		{protocol.PurgeTopicRequestHeader{Topic: "T", QueueID: protocol.Some(int32(2))}, protocol.RespInvalidParameter, "queueId[2] is illegal, topic:[T] has queues 0 to 1"},
		{protocol.PurgeTopicRequestHeader{Topic: "T", QueueID: protocol.Some(int32(-1))}, protocol.RespInvalidParameter, "queueId[-1]"},
		{protocol.PurgeTopicRequestHeader{Topic: "T", Before: protocol.Some(int64(-5))}, protocol.RespInvalidParameter, "before: -5"},
		{protocol.PurgeTopicRequestHeader{Topic: protocol.TopicSchedule}, protocol.RespInvalidParameter, "conflict with system topic"},
		{protocol.PurgeTopicRequestHeader{Topic: protocol.TopicHalf}, protocol.RespInvalidParameter, "conflict with system topic"},
		{protocol.PurgeTopicRequestHeader{Topic: "test-broker"}, protocol.RespInvalidParameter, "conflict with system topic"},
	} {
		refused(t, c.Call(protocol.ReqPurgeTopic, &x.h, nil), x.code, x.says)
	}
	refused(t, c.Call(protocol.ReqPurgeTopic, nil, nil), protocol.RespSystemError, "topic")
	if got := purge(t, c, &protocol.PurgeTopicRequestHeader{Topic: "T", Preview: true}); got != "[{0 0 1 1} {1 0 1 1}]" {
		t.Errorf("a refused purge took something: %s", got)
	}
}

// TestPurgeOfBatches: a topic with batch queues loses what it has, through a restart, and goes on with the next offset.
func TestPurgeOfBatches(t *testing.T) {
	dir := t.TempDir()
	b := brokertest.StartIn(t, dir)
	c := brokertest.Dial(t, b.Addr())
	createBatchTopic(t, c, "B")
	send := func() (h protocol.SendMessageResponseHeader) {
		t.Helper()
		c.Must(protocol.ReqSendBatchMessage, brokertest.SendHeader("B", 0, "UNIQ_KEY\x01U1\x02WAIT\x01true\x02"), innerBody("a 0", "b 1", "a 2"), &h)
		return h
	}
	send()
	send()
	h := &protocol.PurgeTopicRequestHeader{Topic: "B", QueueID: protocol.Some(int32(0))}
	if got := purge(t, c, h); got != "[{0 6 6 6}]" {
		t.Errorf("purge: %s", got)
	}
	if got := send(); got.QueueOffset != 6 {
		t.Errorf("the next offset is %d", got.QueueOffset)
	}
	b.Stop(t)
	c = brokertest.Dial(t, brokertest.StartIn(t, dir).Addr())
	h.Preview = true
	if got := purge(t, c, h); got != "[{0 6 9 3}]" {
		t.Errorf("after a restart: %s", got)
	}
}
