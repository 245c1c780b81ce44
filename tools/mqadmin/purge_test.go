package mqadmin

import (
	"net/netip"
	"testing"

	"github.com/seedmq/seedmq/broker/brokertest"
	"github.com/seedmq/seedmq/remoting/protocol"
)

// TestPurgeTopic: nothing happens without -y; then it does, on the broker, the cluster or the route that the line names.
func TestPurgeTopic(t *testing.T) {
	c := startCluster(t)
	client := brokertest.Dial(t, netip.MustParseAddrPort(c.broker))
	c.expect(`success`, "updateTopic", "-b", c.broker, "-t", "Orders", "-r", "2", "-w", "2")
	c.eventually(`test-broker`, "topicRoute", "-t", "Orders")
	for range 3 {
		client.Send("Orders", 0, "", "m")
	}
	client.Send("Orders", 1, "", "m")
	c.eventually(`test-broker\s+0\s+0\s+3 (.|\n)*test-broker\s+1\s+0\s+1 `, "topicStatus", "-t", "Orders")
	c.expect(`(?m)^#Broker .*#To purge\n.*\s0\s+0\s+3\s+3\n.*\s1\s+0\s+1\s+1\n\n4 messages would be purged\. Nothing was changed; give -y to purge them\.\n$`, "purgeTopic", "-t", "Orders")
	c.expect(`\s0\s+0\s+3\s+0\n\n0 messages would`, "purgeTopic", "-t", "Orders", "-q", "0", "-s", "1000")
	c.expect(`(?m)^#Broker .*#Purged\n.*\s0\s+3\s+3\s+3\n\npurge of 3 messages of topic Orders success\.\n$`, "purgeTopic", "-b", c.broker, "-t", "Orders", "-q", "0", "-y")
	c.expect(`^\[\{"broker":"[^"]+","queueId":0,"minOffset":3,"maxOffset":3,"messages":0\},\{"broker":"[^"]+","queueId":1,"minOffset":1,"maxOffset":1,"messages":1\}\]\n$`,
		"purgeTopic", "-c", "TestCluster", "-t", "Orders", "-y", "-o", "json")
	c.expect(`test-broker\s+0\s+3\s+3 (.|\n)*test-broker\s+1\s+1\s+1 `, "topicStatus", "-t", "Orders")
	c.expect(`CODE: 29  DESC: queueId\[7\] is illegal`, "purgeTopic", "-b", c.broker, "-t", "Orders", "-q", "7", "-y")
	c.expect(`CODE: 17  DESC: topic\[Nope\] not exist`, "purgeTopic", "-c", "TestCluster", "-t", "Nope", "-y")
	c.expect(`CODE: 29  DESC: .*conflict with system topic`, "purgeTopic", "-b", c.broker, "-t", "SCHEDULE_TOPIC_XXXX", "-y")
}

// TestPurgeTopicWhereItIs: a broker of the cluster that lacks the topic is passed over; one of another make refuses.
func TestPurgeTopicWhereItIs(t *testing.T) {
	f := newFake(t)
	f.on[protocol.ReqPurgeTopic] = func(addr string, req *protocol.Command) *protocol.Command {
		if addr == "a:1" {
			return &protocol.Command{Code: protocol.RespTopicNotExist, Remark: "topic[T] not exist"}
		}
		return f.body(&protocol.PurgeTopicResponseBody{Queues: []protocol.PurgedQueue{{QueueID: 0, MinOffset: 5, MaxOffset: 9, Messages: 2}}})
	}
	f.expect("purgeTopic -c C -t T -y", `b:1 +0 +5 +9 +2\n\npurge of 2 messages of topic T success`)
	f.expectTo(protocol.ReqPurgeTopic, "a:1 b:1")
	f.refuse(protocol.ReqPurgeTopic, protocol.RespRequestCodeNotSupported, "request type 700001 not supported")
	f.expect("purgeTopic -b a:1 -t T -y", `CODE: 3  DESC: request type 700001 not supported`)
	f.expect("purgeTopic -t T -q x -y", `NumberFormatException: For input string: "x"`)
}
