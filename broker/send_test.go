package broker_test

import (
	"testing"

	"github.com/seedmq/seedmq/broker/brokertest"
	"github.com/seedmq/seedmq/remoting/protocol"
)

func TestSendAndPull(t *testing.T) {
	b := brokertest.Start(t)
	c := brokertest.Dial(t, b.Addr())
	h := c.Send("T", 1, "TAGS\x01a\x02KEYS\x01k1 k2\x02", "hello")
	if h.QueueID != 1 || h.QueueOffset != 0 || len(h.MsgID) != 32 || len(h.TransactionID) != 32 || h.MsgRegion != "DefaultRegion" || h.TraceOn != "true" {
		t.Fatalf("%+v", h)
	}
	var ph protocol.PullMessageResponseHeader
	r := c.Call(protocol.ReqPullMessage, &protocol.PullMessageRequestHeader{ConsumerGroup: "g", Topic: "T", QueueID: 1, MaxMsgNums: 32,
		SysFlag: protocol.PullFlagSubscription | protocol.PullFlagSuspend, SuspendTimeoutMillis: 5000, Subscription: "*"}, nil)
	if err := ph.DecodeExt(r.Ext); err != nil || r.Code != 0 {
		t.Fatal(r.Code, r.Remark, err)
	}
	ms := brokertest.Messages(t, r.Body)
	if len(ms) != 1 || string(ms[0].Body) != "hello" || ph.NextBeginOffset != 1 {
		t.Fatalf("%+v %+v", ms, ph)
	}
	t.Logf("%q", ms[0].Properties)
}
