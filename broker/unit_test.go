package broker_test

import (
	"testing"

	"github.com/seedmq/seedmq/broker/brokertest"
	"github.com/seedmq/seedmq/remoting/protocol"
)

func sysFlag(t *testing.T, c *brokertest.Client, topic string) int32 {
	t.Helper()
	return fetch[protocol.TopicConfig](t, c, protocol.ReqGetTopicConfig, &protocol.GetTopicConfigRequestHeader{Topic: topic}, "").TopicSysFlag
}

// TestUnitFlags: topics that clients in unit mode make bear the marks by which NameServers list them.
func TestUnitFlags(t *testing.T) {
	b := brokertest.Start(t)
	c := brokertest.Dial(t, b.Addr())
	h := brokertest.SendHeader("UnitTopic", 0, "")
	h.UnitMode = protocol.Some(true)
	c.Must(protocol.ReqSendMessageV2, h, []byte("m"), nil)
	c.Must(protocol.ReqHeartBeat, nil, []byte(`{"clientID":"192.0.2.1@1@unit1","consumerDataSet":[{"consumeFromWhere":"CONSUME_FROM_FIRST_OFFSET",
		"consumeType":"CONSUME_PASSIVELY","groupName":"UnitGroup","messageModel":"CLUSTERING","subscriptionDataSet":[`+subscription("UnitTopic", 1)+`],"unitMode":true}],
		"producerDataSet":[]}`), nil)
	c.Must(protocol.ReqUpdateAndCreateSubscriptionGroup, nil, []byte(`{"groupName":"Sender"}`), nil)
	h = brokertest.SendHeader("%RETRY%Sender", 0, "")
	h.UnitMode = protocol.Some(true)
	c.Must(protocol.ReqSendMessageV2, h, []byte("m"), nil)
	c.Heartbeat("PlainGroup", protocol.SubscriptionData{Topic: "UnitTopic", SubString: "*", SubVersion: 1})
	for topic, want := range map[string]int32{"UnitTopic": protocol.TopicSysFlagUnit, "%RETRY%UnitGroup": protocol.TopicSysFlagUnitSub,
		"%RETRY%Sender": protocol.TopicSysFlagUnitSub, "%RETRY%PlainGroup": 0} {
		if got := sysFlag(t, c, topic); got != want {
			t.Errorf("topic %s has flags %d, want %d", topic, got, want)
		}
	}
}
