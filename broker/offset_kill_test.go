package broker_test

import (
	"testing"

	"github.com/seedmq/seedmq/broker"
	"github.com/seedmq/seedmq/broker/brokertest"
	"github.com/seedmq/seedmq/remoting/protocol"
	"github.com/seedmq/seedmq/store/fs"
)

// TestOperatorsOffsetsOutliveAKill: what an operator was told is done is still done after the power failed at once. Commits may be up to 5 s
// old, these may not.
func TestOperatorsOffsetsOutliveAKill(t *testing.T) {
	disk := fs.NewMem(nil)
	start := func() (*brokertest.Broker, *brokertest.Client) {
		b := brokertest.StartIn(t, "/store", func(o *broker.Options) { o.FS, o.Store.FlushDiskType = disk, "SYNC_FLUSH" })
		b.Broken = true
		return b, brokertest.Dial(t, b.Addr())
	}
	b, c := start()
	for _, topic := range []string{"T", "U", "V"} {
		for range 5 {
			c.Send(topic, 0, "WAIT\x01true\x02", "x")
		}
	}
	for _, group := range []string{"g", "h", "gone"} {
		c.Heartbeat(group, protocol.SubscriptionData{Topic: "T", SubString: "*"})
		for _, topic := range []string{"T", "U", "V"} {
			c.Must(protocol.ReqUpdateConsumerOffset, &protocol.UpdateConsumerOffsetRequestHeader{ConsumerGroup: group, Topic: topic, CommitOffset: 5}, nil, nil)
		}
	}
	again := func() {
		was := b
		disk = disk.Crash(7)
		was.Stop(t)
		b, c = start()
	}
	b.Stop(t) // saves them
	disk = disk.Reboot()
	b, c = start()
	c.Must(protocol.ReqInvokeBrokerToResetOffset, &protocol.InvokeBrokerToResetOffsetRequestHeader{Group: "g", Topic: "T", QueueID: protocol.Some(int32(0)),
		Offset: protocol.Some(int64(2)), Timestamp: -1}, nil, nil)
	again()
	wantOffset(t, c, "g", "T", 2)
	c.Must(protocol.ReqCloneGroupOffset, &protocol.CloneGroupOffsetRequestHeader{SrcGroup: "g", DestGroup: "h", Topic: "T", Offline: protocol.Some(true)}, nil, nil)
	again()
	wantOffset(t, c, "h", "T", 2)
	c.Must(protocol.ReqDeleteTopicInBroker, &protocol.DeleteTopicInBrokerRequestHeader{Topic: "U"}, nil, nil)
	again()
	wantOffset(t, c, "h", "U", -1)
	c.Must(protocol.ReqDeleteSubscriptionGroup, &protocol.DeleteSubscriptionGroupRequestHeader{GroupName: "gone", CleanOffset: protocol.Some(true)}, nil, nil)
	again()
	wantOffset(t, c, "gone", "V", -1)
}

// wantOffset fails unless the committed offset is want; -1 is none.
func wantOffset(t *testing.T, c *brokertest.Client, group, topic string, want int64) {
	t.Helper()
	got := int64(-1)
	r := c.Call(protocol.ReqQueryConsumerOffset, &protocol.QueryConsumerOffsetRequestHeader{ConsumerGroup: group, Topic: topic, SetZeroIfNotFound: protocol.Some(false)}, nil)
	if r.Code == protocol.RespSuccess {
		var h protocol.QueryConsumerOffsetResponseHeader
		if err := h.DecodeExt(r.Ext); err != nil {
			t.Fatal(err)
		}
		got = h.Offset
	}
	if got != want {
		t.Errorf("offset of group %s in %s: %d, want %d (code %d %s)", group, topic, got, want, r.Code, r.Remark)
	}
}
