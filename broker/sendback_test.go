package broker_test

import (
	"fmt"
	"maps"
	"strings"
	"testing"
	"time"

	"github.com/seedmq/seedmq/broker"
	"github.com/seedmq/seedmq/broker/brokertest"
	"github.com/seedmq/seedmq/remoting/protocol"
)

// failed is a request to send the message at off back.
func failed(group string, off int64, level int32) *protocol.ConsumerSendMsgBackRequestHeader {
	return &protocol.ConsumerSendMsgBackRequestHeader{Offset: off, Group: group, DelayLevel: level, OriginMsgID: "x", OriginTopic: "T",
		MaxReconsumeTimes: protocol.Some[int32](16)}
}

// quick makes all delays short, so that retries come back while a test waits.
func quick(o *broker.Options) { o.Store.MessageDelayLevel = "0s 0s 0s 0s 1s 1h" }

func property(m *protocol.MessageView, name string) string {
	v, _ := m.Property(name)
	return v
}

func TestSendBackComesBackDelayed(t *testing.T) {
	b := brokertest.Start(t, quick)
	c := brokertest.Dial(t, b.Addr())
	c.Send("T", 2, "TAGS\x01a\x02KEYS\x01k\x02UNIQ_KEY\x01U\x02", "body")
	first := stored(t, c, "T", 2, 1)[0]
	c.Must(protocol.ReqConsumerSendMsgBack, failed("G", first.PhysicalOffset, 0), nil, nil)
	back := stored(t, c, "%RETRY%G", 0, 1)[0]
	want := map[string]string{"TAGS": "a", "KEYS": "k", "UNIQ_KEY": "U", "RETRY_TOPIC": "T", "ORIGIN_MESSAGE_ID": first.OffsetMsgID(), "WAIT": "false",
		"DELAY": "3", "REAL_TOPIC": "%RETRY%G", "REAL_QID": "0", "MSG_REGION": "DefaultRegion", "TRACE_ON": "true", "CLUSTER": "TestCluster"}
	if got := protocol.ParseProperties(back.Properties); !maps.Equal(map[string]string(got), want) { // those of the recordings, and no more
		t.Errorf("properties %v\nwant       %v", got, want)
	}
	if back.ReconsumeTimes != 1 || string(back.Body) != "body" || back.BornTimestamp != first.BornTimestamp || back.BornHost != first.BornHost || back.StoreHost != b.Self() {
		t.Fatalf("%+v", back)
	}
	// Once more: the chain keeps its first topic and id, and the level grows.
	c.Must(protocol.ReqConsumerSendMsgBack, failed("G", back.PhysicalOffset, 0), nil, nil)
	again := stored(t, c, "%RETRY%G", 0, 2)[1]
	if again.ReconsumeTimes != 2 || property(&again, "RETRY_TOPIC") != "T" || property(&again, "ORIGIN_MESSAGE_ID") != first.OffsetMsgID() || property(&again, "DELAY") != "4" {
		t.Fatalf("%+v %s", again, again.Properties)
	}
}

func TestSendBackToTheDeadLetters(t *testing.T) {
	b := brokertest.Start(t, quick)
	c := brokertest.Dial(t, b.Addr())
	c.Send("T", 0, "TAGS\x01a\x02", "body")
	first := stored(t, c, "T", 0, 1)[0]
	atOnce := failed("G", first.PhysicalOffset, -1)
	c.Must(protocol.ReqConsumerSendMsgBack, atOnce, nil, nil)
	spent := failed("G", first.PhysicalOffset, 0)
	spent.MaxReconsumeTimes = protocol.Some[int32](0)
	c.Must(protocol.ReqConsumerSendMsgBack, spent, nil, nil)
	dead := stored(t, c, "%DLQ%G", 0, 2)
	for i, reason := range []string{"the consumer sent it to the dead letters", "0 of at most 0 retries failed"} {
		m := &dead[i]
		if property(m, "DLQ_REASON") != reason || property(m, "DELAY") != "0" || property(m, "RETRY_TOPIC") != "T" || property(m, "TAGS") != "a" ||
			property(m, "DLQ_ORIGIN_TOPIC") != "T" || property(m, "DLQ_ORIGIN_MESSAGE_ID") != first.OffsetMsgID() || m.ReconsumeTimes != 1 {
			t.Errorf("%s", m.Properties)
		}
	}
	// The group's own limit counts for clients that are too old to send one.
	old := protocol.NewRequest(protocol.ReqConsumerSendMsgBack, failed("G", first.PhysicalOffset, 0), nil)
	old.Version = 100
	c.Must(protocol.ReqUpdateAndCreateSubscriptionGroup, nil, []byte(`{"groupName":"G","retryMaxTimes":0}`), nil)
	if r := c.Do(old); r.Code != protocol.RespSuccess {
		t.Fatal(r.Code, r.Remark)
	}
	if m := stored(t, c, "%DLQ%G", 0, 3)[2]; property(&m, "DLQ_REASON") != "0 of at most 0 retries failed" {
		t.Errorf("%s", m.Properties)
	}
}

func TestSendBackFollowsTheGroupsPolicy(t *testing.T) {
	b := brokertest.Start(t, func(o *broker.Options) { o.Store.MessageDelayLevel = "1h 2h 3h 4h" })
	c := brokertest.Dial(t, b.Addr())
	c.Send("T", 0, "", "body")
	off := stored(t, c, "T", 0, 1)[0].PhysicalOffset
	hour := time.Hour.Milliseconds()
	for i, x := range []struct {
		policy string
		level  int32
	}{
		{`{"type":"CUSTOMIZED"}`, 3},
		{fmt.Sprintf(`{"type":"CUSTOMIZED","customizedRetryPolicy":{"next":[%d,1]}}`, hour+1), 2},
		{fmt.Sprintf(`{"type":"CUSTOMIZED","customizedRetryPolicy":{"next":[%d]}}`, 99*hour), 4},
		{fmt.Sprintf(`{"type":"EXPONENTIAL","exponentialRetryPolicy":{"initial":%d,"max":%d,"multiplier":2}}`, 4*hour, hour), 1},
	} {
		g := fmt.Sprint("G", i)
		c.Must(protocol.ReqUpdateAndCreateSubscriptionGroup, nil, []byte(`{"groupName":"`+g+`","groupRetryPolicy":`+x.policy+`}`), nil)
		c.Must(protocol.ReqConsumerSendMsgBack, failed(g, off, 0), nil, nil)
		m := lastOf(t, c, protocol.TopicSchedule, x.level-1)
		if property(&m, "REAL_TOPIC") != "%RETRY%"+g {
			t.Errorf("%s: not on level %d but %s", x.policy, x.level, m.Properties)
		}
	}
}

// lastOf is the newest message of a queue.
func lastOf(t *testing.T, c *brokertest.Client, topic string, queue int32) protocol.MessageView {
	t.Helper()
	var end protocol.GetMaxOffsetResponseHeader
	brokertest.Until(t, "messages of "+topic, func() error {
		c.Must(protocol.ReqGetMaxOffset, &protocol.GetMaxOffsetRequestHeader{Topic: topic, QueueID: queue}, nil, &end)
		if end.Offset == 0 {
			return fmt.Errorf("queue %d has none", queue)
		}
		return nil
	})
	return stored(t, c, topic, queue, int(end.Offset))[end.Offset-1]
}

func TestSendBackRefusals(t *testing.T) {
	b := brokertest.Start(t, func(o *broker.Options) { o.Broker.AutoCreateSubscriptionGroup = false })
	c := brokertest.Dial(t, b.Addr())
	for _, g := range []string{"G", "g"} {
		c.Must(protocol.ReqUpdateAndCreateSubscriptionGroup, nil, []byte(`{"groupName":"`+g+`"}`), nil)
	}
	c.Must(protocol.ReqUpdateAndCreateSubscriptionGroup, nil, []byte(`{"groupName":"NoRetry","retryQueueNums":0}`), nil)
	c.Send("T", 0, "", "body")
	off := stored(t, c, "T", 0, 1)[0].PhysicalOffset
	for _, x := range []struct {
		h      *protocol.ConsumerSendMsgBackRequestHeader
		code   protocol.ResponseCode
		remark string
	}{
		{failed("Nobody", off, 0), protocol.RespSubscriptionGroupNotExist, "Nobody"},
		{failed("G", off+1, 0), protocol.RespSystemError, "look message by offset failed"},
		{failed("G", -5, 0), protocol.RespSystemError, "look message by offset failed"},
		{failed("G", 1<<50, 0), protocol.RespSystemError, "look message by offset failed"},
		{failed("NoRetry", off, 0), protocol.RespSuccess, ""},
	} {
		if r := c.Call(protocol.ReqConsumerSendMsgBack, x.h, nil); r.Code != x.code || !strings.Contains(r.Remark, x.remark) {
			t.Errorf("%+v: %d %s", x.h, r.Code, r.Remark)
		}
	}
	c.Must(protocol.ReqUpdateBrokerConfig, nil, []byte("brokerPermission=4\n"), nil)
	if r := c.Call(protocol.ReqConsumerSendMsgBack, failed("G", off, 0), nil); r.Code != protocol.RespNoPermission {
		t.Errorf("%d %s", r.Code, r.Remark)
	}
}

// A delayed message is never early and hardly late, also when the broker was stopped meanwhile.
func TestDelayThroughARestart(t *testing.T) {
	dir := t.TempDir()
	b := brokertest.StartIn(t, dir)
	c := brokertest.Dial(t, b.Addr())
	c.Send("T", 1, "DELAY\x011\x02TAGS\x01a\x02", "one")
	m := stored(t, c, "T", 1, 1)[0]
	scheduled := lastOf(t, c, protocol.TopicSchedule, 0)
	if wait := m.StoreTimestamp - scheduled.StoreTimestamp; wait < 1000 || wait > 1100 {
		t.Errorf("delayed by %d ms instead of 1000", wait)
	}
	c.Send("T", 1, "DELAY\x011\x02", "two")
	b.Stop(t)
	b = brokertest.StartIn(t, dir)
	c = brokertest.Dial(t, b.Addr())
	all := stored(t, c, "T", 1, 2)
	scheduled = lastOf(t, c, protocol.TopicSchedule, 0)
	if wait := all[1].StoreTimestamp - scheduled.StoreTimestamp; string(all[1].Body) != "two" || wait < 1000 || wait > 1500 {
		t.Errorf("%s delayed by %d ms instead of 1000", all[1].Body, wait)
	}
	if r := c.Must(protocol.ReqGetAllDelayOffset, nil, nil, nil); !strings.Contains(string(r.Body), "offsetTable") {
		t.Errorf("%s", r.Body)
	}
}
