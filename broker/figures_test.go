package broker_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/seedmq/seedmq/broker"
	"github.com/seedmq/seedmq/broker/brokertest"
	"github.com/seedmq/seedmq/remoting/protocol"
)

// What runtime info says of the times of sends is counted, every message once.
func TestFiguresOfPutTimes(t *testing.T) {
	b := brokertest.Start(t)
	c := brokertest.Dial(t, b.Addr())
	figures := func() map[string]string {
		return fetch[protocol.KVTable](t, c, protocol.ReqGetBrokerRuntimeInfo, nil, "").Table
	}
	if kv := figures(); kv["putLatency99"] != "0.00" || kv["putMessageEntireTimeMax"] != "0" {
		t.Errorf("before the first message: %v", kv)
	}
	for range 30 {
		c.Send("T", 0, "", "x")
	}
	kv := figures()
	total := 0
	for _, class := range strings.Fields(kv["putMessageDistributeTime"]) {
		var n int
		if _, err := fmt.Sscanf(class[strings.LastIndexByte(class, ':')+1:], "%d", &n); err != nil {
			t.Fatalf("%q: %v", class, err)
		}
		total += n
	}
	if total != 30 || kv["putLatency99"] == "0.00" || kv["putLatency999"] < kv["putLatency99"] {
		t.Errorf("%d messages in %q, latencies %s and %s", total, kv["putMessageDistributeTime"], kv["putLatency99"], kv["putLatency999"])
	}
}

// brokerStatus has figures of pop once somebody pops.
func TestFiguresOfPop(t *testing.T) {
	b := brokertest.Start(t)
	c := newPopClient(t, b, "P", "G")
	c.topicOf("P")
	c.topUp("P", "x", 3)
	figures := func() string {
		kv := fetch[protocol.KVTable](t, c.Client, protocol.ReqGetBrokerRuntimeInfo, nil, "").Table
		out := ""
		for _, key := range []string{"CheckpointBufferSize", "OffsetBufferSize", "ReviveLag", "ReviveLatency", "InFlightMessageNum", "PollingNum"} {
			out += kv["pop"+key] + " "
		}
		return out
	}
	if got := figures(); got != "      " {
		t.Errorf("before: %q", got)
	}
	list := c.popAll(3, time.Minute)
	if got := figures(); got != "1 1 0 0 3 0 " {
		t.Errorf("popped: %q", got)
	}
	c.mustAck(list...)
	if got := figures(); got != "0 0 0 0 0 0 " {
		t.Errorf("acknowledged: %q", got)
	}
}

// A send that the store refuses is counted as one that failed.
func TestFiguresOfFailures(t *testing.T) {
	b := brokertest.Start(t, func(o *broker.Options) { o.FS = halfFull{} })
	c := brokertest.Dial(t, b.Addr())
	c.Send("T", 0, "", "x")
	c.Must(protocol.ReqUpdateBrokerConfig, nil, []byte("diskSpaceWarningLevelRatio=40\n"), nil)
	if r := c.Call(protocol.ReqSendMessageV2, brokertest.SendHeader("T", 0, ""), nil); r.Code == protocol.RespSuccess {
		t.Fatal("a message on a full disk")
	}
	kv := fetch[protocol.KVTable](t, c, protocol.ReqGetBrokerRuntimeInfo, nil, "").Table
	if kv["putMessageFailedTimes"] != "1" || kv["putMessageTimesTotal"] != "1" {
		t.Errorf("%v", kv)
	}
}
