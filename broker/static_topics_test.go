package broker_test

import (
	"os"
	"strings"
	"testing"

	"github.com/seedmq/seedmq/broker/brokertest"
	"github.com/seedmq/seedmq/remoting/protocol"
)

// TestStaticTopics: nobody can make one, which is said, and those of a store that Java had are named at the start.
func TestStaticTopics(t *testing.T) {
	dir := t.TempDir()
	if err := os.MkdirAll(dir+"/config", 0o755); err != nil {
		t.Fatal(err)
	}
	file := dir + "/config/topicQueueMapping.json"
	if err := os.WriteFile(file, []byte(`{"dataVersion":{"counter":2},"topicQueueMappingInfoMap":{"Spread":{"bname":"broker-a","epoch":1,"hostedQueues":{0:[{"gen":0}]},"topic":"Spread","totalQueues":8},"Also":{}}}`), 0o644); err != nil {
		t.Fatal(err)
	}
	b := brokertest.StartIn(t, dir)
	if !strings.Contains(b.Log(), "these are static topics") || !strings.Contains(b.Log(), "Also, Spread") {
		t.Errorf("not in the log:\n%s", b.Log())
	}
	c := brokertest.Dial(t, b.Addr())
	h := &protocol.UpdateAndCreateStaticTopicRequestHeader{Topic: "New", DefaultTopic: "TBW102", ReadQueueNums: 8, WriteQueueNums: 8, Perm: 6, TopicFilterType: "SINGLE_TAG"}
	refused(t, c.Call(protocol.ReqUpdateAndCreateStaticTopic, h, []byte(`{"topic":"New","bname":"test-broker","totalQueues":8}`)), protocol.RespSystemError, "static topics are not available")
	refused(t, c.Call(protocol.ReqGetTopicConfig, &protocol.GetTopicConfigRequestHeader{Topic: "New"}, nil), protocol.RespTopicNotExist)
	b.Stop(t)
	if err := os.WriteFile(file, []byte(`{"topicQueueMappingInfoMap":[`), 0o644); err != nil {
		t.Fatal(err)
	}
	if b = brokertest.StartIn(t, dir); !strings.Contains(b.Log(), "topicQueueMapping.json") {
		t.Errorf("not in the log:\n%s", b.Log())
	}
}
