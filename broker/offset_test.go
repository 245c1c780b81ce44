package broker_test

import (
	"strings"
	"testing"

	"github.com/seedmq/seedmq/broker/brokertest"
	"github.com/seedmq/seedmq/remoting"
	"github.com/seedmq/seedmq/remoting/protocol"
)

func query(c *brokertest.Client, group, topic string, queue int32) *protocol.Command {
	return c.Call(protocol.ReqQueryConsumerOffset, &protocol.QueryConsumerOffsetRequestHeader{ConsumerGroup: group, Topic: topic, QueueID: queue}, nil)
}

func commit(c *brokertest.Client, group, topic string, queue int32, off int64) *protocol.Command {
	return c.Call(protocol.ReqUpdateConsumerOffset, &protocol.UpdateConsumerOffsetRequestHeader{ConsumerGroup: group, Topic: topic, QueueID: queue, CommitOffset: off}, nil)
}

func offsetOf(t *testing.T, r *protocol.Command) int64 {
	t.Helper()
	var h protocol.QueryConsumerOffsetResponseHeader
	if err := h.DecodeExt(r.Ext); err != nil || r.Code != protocol.RespSuccess {
		t.Fatal(r.Code, r.Remark, err)
	}
	return h.Offset
}

// TestFirstOffset is the rule that makes new groups of young topics begin at the beginning.
func TestFirstOffset(t *testing.T) {
	b := brokertest.Start(t)
	c := brokertest.Dial(t, b.Addr())
	c.Send("T", 0, "", "m")
	stored(t, c, "T", 0, 1)
	if off := offsetOf(t, query(c, "new", "T", 0)); off != 0 {
		t.Fatal(off)
	}
	if r := query(c, "new", "T", 3); r.Code != protocol.RespQueryNotFound || !strings.Contains(r.Remark, "Not found") {
		t.Fatal(r.Code, r.Remark)
	}
	h := &protocol.QueryConsumerOffsetRequestHeader{ConsumerGroup: "new", Topic: "T", SetZeroIfNotFound: protocol.Some(false)}
	if r := c.Call(protocol.ReqQueryConsumerOffset, h, nil); r.Code != protocol.RespQueryNotFound {
		t.Fatal(r.Code, r.Remark)
	}
}

func TestCommitAndRestart(t *testing.T) {
	dir := t.TempDir()
	b := brokertest.StartIn(t, dir)
	c := brokertest.Dial(t, b.Addr())
	for range 5 {
		c.Send("T", 0, "", "m")
	}
	stored(t, c, "T", 0, 5) // also makes the group
	for _, x := range []struct {
		name  string
		group string
		topic string
		queue int32
		off   int64
		code  int32
	}{
		{"good", "g", "T", 0, 3, protocol.RespSuccess},
		{"no group", "none", "T", 0, 3, protocol.RespSubscriptionGroupNotExist},
		{"no topic", "g", "none", 0, 3, protocol.RespTopicNotExist},
		{"negative queue", "g", "T", -1, 3, protocol.RespInvalidParameter},
		{"queue without messages", "g", "T", 3, 0, protocol.RespSuccess},
		{"queue beyond the topic's", "g", "T", 4, 3, protocol.RespInvalidParameter},
		{"negative offset: the Go client has read nothing", "g", "T", 0, -1, protocol.RespSuccess},
	} {
		if r := commit(c, x.group, x.topic, x.queue, x.off); r.Code != x.code {
			t.Errorf("%s: code %d %s", x.name, r.Code, r.Remark)
		}
	}
	b.Stop(t)
	b = brokertest.StartIn(t, dir)
	c = brokertest.Dial(t, b.Addr())
	if off := offsetOf(t, query(c, "g", "T", 0)); off != 3 {
		t.Fatal(off)
	}
	if got := pull(t, c, pullHeader("T", 0, 3)); len(got.bodies) != 2 {
		t.Fatalf("%v", got)
	}
}

// TestLateCommit: an old owner of a queue that commits late does not turn the group back; an operator may.
func TestLateCommit(t *testing.T) {
	b := brokertest.Start(t)
	old, now, operator := brokertest.Dial(t, b.Addr()), brokertest.Dial(t, b.Addr()), brokertest.Dial(t, b.Addr())
	for range 10 {
		now.Send("T", 0, "", "m")
	}
	stored(t, now, "T", 0, 10)
	sub := protocol.SubscriptionData{Topic: "T", SubString: "*", SubVersion: 1}
	old.Heartbeat("g", sub)
	now.Heartbeat("g", sub)
	for _, x := range []struct {
		name string
		c    *brokertest.Client
		off  int64
		want int64
	}{
		{"the old owner", old, 4, 4},
		{"the new owner", now, 8, 8},
		{"the old owner, late", old, 5, 8},
		{"the new owner goes back: a seek", now, 2, 2},
		{"an operator", operator, 1, 1},
	} {
		if r := commit(x.c, "g", "T", 0, x.off); r.Code != protocol.RespSuccess {
			t.Fatal(r.Code, r.Remark)
		}
		if off := offsetOf(t, query(now, "g", "T", 0)); off != x.want {
			t.Fatalf("%s: offset %d, want %d", x.name, off, x.want)
		}
	}
	if log := b.Log(); strings.Count(log, "consumer offset lowered") != 2 || !strings.Contains(log, "late commit ignored") {
		t.Errorf("log:\n%s", log)
	}
}

func TestQueueEnds(t *testing.T) {
	b := brokertest.Start(t)
	c := brokertest.Dial(t, b.Addr())
	for range 3 {
		c.Send("T", 0, "", "m")
	}
	stored(t, c, "T", 0, 3)
	ask := func(code int32, queue string, more ...string) *protocol.Command {
		ext := map[string]string{"topic": "T", "queueId": queue}
		for i := 0; i < len(more); i += 2 {
			ext[more[i]] = more[i+1]
		}
		return c.Do(request(code, ext, nil))
	}
	for _, x := range []struct {
		name string
		r    *protocol.Command
		want int64
	}{
		{"max", ask(protocol.ReqGetMaxOffset, "0"), 3},
		{"max of an empty queue", ask(protocol.ReqGetMaxOffset, "2"), 0},
		{"min", ask(protocol.ReqGetMinOffset, "0"), 0},
		{"min of an empty queue", ask(protocol.ReqGetMinOffset, "2"), 0},
		{"offset by an old time", ask(protocol.ReqSearchOffsetByTimestamp, "0", "timestamp", "1"), 0},
		{"offset by a time to come", ask(protocol.ReqSearchOffsetByTimestamp, "0", "timestamp", "9999999999999"), 3},
		{"offset by time of an empty queue", ask(protocol.ReqSearchOffsetByTimestamp, "2", "timestamp", "1"), 0},
	} {
		if off := offsetOf(t, x.r); off != x.want {
			t.Errorf("%s: %d, want %d", x.name, off, x.want)
		}
	}
	var h protocol.GetEarliestMsgStoreTimeResponseHeader
	if err := h.DecodeExt(ask(protocol.ReqGetEarliestMsgStoreTime, "0").Ext); err != nil || h.Timestamp < 1_600_000_000_000 {
		t.Error(h, err)
	}
	if err := h.DecodeExt(ask(protocol.ReqGetEarliestMsgStoreTime, "2").Ext); err != nil || h.Timestamp != -1 {
		t.Error(h, err)
	}
	if r := ask(protocol.ReqGetMaxOffset, "x"); r.Code != protocol.RespSystemError || !strings.Contains(r.Remark, "queueId") {
		t.Error(r.Code, r.Remark)
	}
}

func TestAllOffsets(t *testing.T) {
	b := brokertest.Start(t)
	c := brokertest.Dial(t, b.Addr())
	c.Send("T", 0, "", "m")
	stored(t, c, "T", 0, 1)
	commit(c, "g", "T", 0, 1)
	var body protocol.ConsumerOffsetWrapper
	if err := protocol.UnmarshalFast(c.Must(protocol.ReqGetAllConsumerOffset, nil, nil, nil).Body, &body); err != nil || body.OffsetTable["T@g"][0] != 1 {
		t.Fatal(body, err)
	}
}

func TestLocks(t *testing.T) {
	b := brokertest.Start(t)
	c := brokertest.Dial(t, b.Addr())
	body := func(client string, queues ...string) []byte {
		return []byte(`{"clientId":"` + client + `","consumerGroup":"g","mqSet":[` + strings.Join(queues, ",") + `],"onlyThisBroker":false}`)
	}
	q := func(id string) string { return `{"brokerName":"b","queueId":` + id + `,"topic":"T"}` }
	lock := func(client string, queues ...string) int {
		t.Helper()
		var reply protocol.LockBatchResponseBody
		if err := protocol.UnmarshalFast(c.Must(protocol.ReqLockBatchMQ, nil, body(client, queues...), nil).Body, &reply); err != nil {
			t.Fatal(err)
		}
		return len(reply.LockOKMQSet)
	}
	if n := lock("a", q("0"), q("1")); n != 2 {
		t.Fatal(n)
	}
	if n := lock("b", q("1"), q("2")); n != 1 {
		t.Fatal(n)
	}
	if n := lock("a", q("0"), q("1"), q("2")); n != 2 {
		t.Fatal(n)
	}
	c.Must(protocol.ReqUnlockBatchMQ, nil, body("b", q("0"), q("1")), nil) // not its own
	if n := lock("b", q("0"), q("1")); n != 0 {
		t.Fatal(n)
	}
	c.Must(protocol.ReqUnlockBatchMQ, nil, body("a", q("0"), q("1")), nil)
	if n := lock("b", q("0"), q("1")); n != 2 {
		t.Fatal(n)
	}
}

// TestLockIsPassedOn: a member that was refused a queue hears at once that it is free, however it became so.
func TestLockIsPassedOn(t *testing.T) {
	b := brokertest.Start(t)
	owner, next := brokertest.Dial(t, b.Addr()), brokertest.Dial(t, b.Addr())
	lock := func(c *brokertest.Client) bool {
		t.Helper()
		var reply protocol.LockBatchResponseBody
		body := []byte(`{"clientId":"` + c.ID() + `","consumerGroup":"g","mqSet":[{"brokerName":"b","queueId":0,"topic":"T"}]}`)
		if err := protocol.UnmarshalFast(c.Must(protocol.ReqLockBatchMQ, nil, body, nil).Body, &reply); err != nil {
			t.Fatal(err)
		}
		return len(reply.LockOKMQSet) == 1
	}
	next.Heartbeat("g", protocol.SubscriptionData{Topic: "T", SubString: "*"})
	nextPush(next, protocol.ReqNotifyConsumerIDsChanged)
	if !lock(owner) || lock(next) {
		t.Fatal("who has the lock?")
	}
	owner.Must(protocol.ReqUnlockBatchMQ, nil, []byte(`{"clientId":"`+owner.ID()+`","consumerGroup":"g","mqSet":[{"brokerName":"b","queueId":0,"topic":"T"}]}`), nil)
	nextPush(next, protocol.ReqNotifyConsumerIDsChanged)
	if !lock(owner) || lock(next) {
		t.Fatal("who has the lock now?")
	}
	owner.Conn.Close(remoting.ClosedByHandler) // its process died
	nextPush(next, protocol.ReqNotifyConsumerIDsChanged)
	if !lock(next) {
		t.Fatal("the lock of the dead is not free")
	}
}
