package mqadmin

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/seedmq/seedmq/broker"
	"github.com/seedmq/seedmq/broker/brokertest"
	"github.com/seedmq/seedmq/conf"
	"github.com/seedmq/seedmq/conf/clock"
	"github.com/seedmq/seedmq/namesrv"
	"github.com/seedmq/seedmq/remoting"
	"github.com/seedmq/seedmq/remoting/protocol"
)

// cluster is a NameServer and a broker of ours, and a consumer that is online.
type cluster struct {
	t            *testing.T
	ns, broker   string
	work, tmp    string
	offsetID, id string // of the message sent first
}

func startCluster(t *testing.T) *cluster {
	t.Helper()
	c := &cluster{t: t, work: t.TempDir(), tmp: t.TempDir()}
	p := conf.DefaultNamesrvProcess(conf.Env{Home: t.TempDir()})
	ns, err := namesrv.New(namesrv.Options{Conf: p.Namesrv, Server: p.Server, ListenAddr: "127.0.0.1:0"})
	if err != nil {
		t.Fatal(err)
	}
	if err := ns.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := ns.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	c.ns = ns.Addr().String()
	b := brokertest.Start(t, func(o *broker.Options) {
		o.Broker.NamesrvAddr, o.Broker.BrokerIP1 = c.ns, "127.0.0.1"
	})
	c.broker = b.Addr().String()
	c.eventually(`test-broker`, "clusterList")
	return c
}

// run runs a command and returns what it printed on both streams.
func (c *cluster) run(args ...string) string {
	c.t.Helper()
	var out bytes.Buffer
	code := Main(context.Background(), Env{Args: args, Stdout: &out, Stderr: &out, NameServers: c.ns, WorkDir: c.work, TempDir: c.tmp,
		Clock: clock.Real{}, Location: time.UTC, Version: "test",
		Dial: func() (Transport, error) { return remoting.NewClient(remoting.ClientOptions{}), nil }})
	if code != 0 {
		c.t.Errorf("%v: exit %d", args, code)
	}
	return out.String()
}

// expect runs a command whose output must match.
func (c *cluster) expect(pattern string, args ...string) string {
	c.t.Helper()
	out := c.run(args...)
	if !regexp.MustCompile(pattern).MatchString(out) {
		c.t.Errorf("%v\n%s\ndoes not match %s", args, out, pattern)
	}
	return out
}

// eventually is expect for what takes a moment: routes, index entries, client lists.
func (c *cluster) eventually(pattern string, args ...string) string {
	c.t.Helper()
	re, deadline := regexp.MustCompile(pattern), time.Now().Add(brokertest.Wait)
	for {
		out := c.run(args...)
		if re.MatchString(out) {
			return out
		}
		if time.Now().After(deadline) {
			c.t.Fatalf("%v\n%s\ndoes not match %s", args, out, pattern)
		}
	}
}

// consumer answers what brokers ask of consumers.
type consumer struct{}

func (consumer) Opened(remoting.Conn)                       {}
func (consumer) Closed(remoting.Conn, remoting.CloseReason) {}
func (consumer) ServeBurst(c remoting.Conn, reqs []*protocol.Command) {
	for _, r := range reqs {
		var v any
		switch r.Code {
		case protocol.ReqGetConsumerRunningInfo:
			v = &protocol.ConsumerRunningInfo{Properties: map[string]any{protocol.RunningConsumeType: protocol.ConsumePassively},
				MQTable: protocol.MessageQueueMap[protocol.ProcessQueueInfo]{{Topic: "Orders", BrokerName: "test-broker", QueueID: 1}: {CommitOffset: 1}}}
		case protocol.ReqConsumeMessageDirectly:
			v = &protocol.ConsumeMessageDirectlyResult{ConsumeResult: protocol.ConsumeSuccess, AutoCommit: true}
		default:
			continue
		}
		body, err := protocol.MarshalFast(v)
		if err != nil {
			panic(err)
		}
		c.Reply(r, &remoting.Reply{Body: body})
	}
}

// startConsumer brings a push consumer of group cg1 online.
func (c *cluster) startConsumer() {
	c.t.Helper()
	cl := remoting.NewClient(remoting.ClientOptions{Handler: consumer{}})
	c.t.Cleanup(func() { cl.Close() })
	body, err := protocol.MarshalFast(&protocol.HeartbeatData{ClientID: "192.0.2.7@1", ProducerDataSet: []protocol.ProducerData{{GroupName: "pg1"}},
		ConsumerDataSet: []protocol.ConsumerData{{GroupName: "cg1", ConsumeType: protocol.ConsumePassively, MessageModel: protocol.ModelClustering,
			ConsumeFromWhere:    protocol.ConsumeFromFirstOffset,
			SubscriptionDataSet: []protocol.SubscriptionData{{Topic: "Orders", SubString: "*", ExpressionType: "TAG"}}}}})
	if err != nil {
		c.t.Fatal(err)
	}
	if _, err := cl.Invoke(context.Background(), c.broker, protocol.NewRequest(protocol.ReqHeartBeat, nil, body)); err != nil {
		c.t.Fatal(err)
	}
}

// TestCommandsOnOurServers runs the commands, in the order of a working day, on a NameServer and a broker of ours.
func TestCommandsOnOurServers(t *testing.T) {
	c := startCluster(t)
	c.topics()
	c.messages()
	c.groups()
	c.configuration()
	c.cleanUp()
}

func (c *cluster) topics() {
	c.expect(`^create topic to 127\.0\.0\.1:\d+ success\.\nTopicConfig \[topicName=Orders, readQueueNums=4, writeQueueNums=4, perm=RW-`,
		"updateTopic", "-c", "TestCluster", "-t", "Orders", "-r", "4", "-w", "4")
	c.eventually(`"brokerAddrs":\{\n\t+0:"127\.0\.0\.1:\d+"`, "topicRoute", "-t", "Orders")
	c.expect(`TestCluster +test-broker +\{0=127\.0\.0\.1:\d+\} +4 +4 +6`, "topicRoute", "-t", "Orders", "-l")
	c.expect(`(?m)^Orders$`, "topicList")
	c.expect(`(?m)^TestCluster +Orders +$`, "topicList", "-c")
	c.expect(`^TestCluster\n$`, "topicClusterList", "-t", "Orders")
	c.expect(`"queueId":3`, "allocateMQ", "-t", "Orders", "-i", "a,b")
	c.expect(`CODE: 17  DESC: No topic route info in name server for the topic: Nope`, "topicStatus", "-t", "Nope")
	c.expect(`MQClientException: CODE: 29  DESC: The specified topic: bad/name, contains illegal characters`, "updateTopic", "-b", c.broker, "-t", "bad/name")
	c.expect(`^\[error\] Make sure the specified clusterName exists .* is correct\.TopicConfig`, "updateTopic", "-c", "nope", "-t", "Orders")
	c.expect(`set broker orderConf\. isOrder=true, orderConf=\[test-broker:2\]\ncreate topic`, "updateTopic", "-b", c.broker, "-t", "Ordered", "-w", "2", "-o", "true")
	c.expect(`^get orderConf success\. topic=\[Ordered\], orderConf=\[test-broker:2\] $`, "updateOrderConf", "-m", "get", "-t", "Ordered")
	c.expect(`^delete orderConf success\. topic=\[Ordered\]$`, "updateOrderConf", "-m", "delete", "-t", "Ordered")
}

func (c *cluster) messages() {
	out := c.expect(`(?m)^test-broker +1 +SEND_OK +([0-9A-F]{32})$`, "sendMessage", "-t", "Orders", "-p", "hello world", "-k", "k1", "-c", "tagA", "-b", "test-broker", "-i", "1")
	if f := strings.Fields(out); len(f) > 0 {
		c.id = f[len(f)-1]
	}
	c.expect(`(?m)^test-broker +\d +SEND_OK`, "sendMessage", "-t", "MadeByUse", "-p", "x")
	c.eventually(`(?m)^`+c.id+` +1 +0 \d+@Orders@K@k1@`, "queryMsgByKey", "-t", "Orders", "-k", "k1")
	out = c.expect(`Topic: +Orders\nTags: +\[tagA\]\nKeys: +\[k1\]\nQueue ID: +1\nQueue Offset: +0\n`, "queryMsgById", "-t", "Orders", "-i", c.id, "-f", "UTF-8")
	c.offsetID = strings.Fields(strings.TrimPrefix(out, "OffsetID:"))[0]
	c.expect(`Message Body: +hello world`, "queryMsgById", "-t", "Orders", "-i", c.offsetID, "-f", "UTF-8")
	c.expect(`^Topic: +Orders\n`, "queryMsgByUniqueKey", "-t", "Orders", "-i", c.id)
	if b, err := os.ReadFile(filepath.Join(c.tmp, "rocketmq", "msgbodys", c.id)); err != nil || string(b) != "hello world" {
		c.t.Errorf("body file: %q, %v", b, err)
	}
	c.expect(`CODE: 208  DESC: query message by key finished, but no message\.`, "queryMsgByKey", "-t", "Orders", "-k", "nope")
	c.expect(`MIN_OFFSET=0`, "queryMsgByOffset", "-t", "Orders", "-b", "test-broker", "-i", "1", "-o", "0")
	c.expect(`minOffset=0, maxOffset=1, MessageQueue \[topic=Orders, brokerName=test-broker, queueId=1\]\nMSGID: `+c.id+` .* BODY: hello world\n-{56}\n`, "printMsg", "-t", "Orders")
	c.expect(`^Tag: tagA +Count: 1\n$`, "printMsgByQueue", "-t", "Orders", "-a", "test-broker", "-i", "1", "-f", "true")
	c.expect(`^Consume ok\nMSGID: `, "consumeMessage", "-t", "Orders")
	c.expect(fmt.Sprintf(`max: 1, min: 0\n=+\nidx: 0\nConsumeQueueData\{physicOffset=\d+, physicSize=\d+, tagsCode=%d,`, protocol.TagsCode("tagA")), "queryCq", "-t", "Orders", "-q", "1", "-i", "0")
	c.expect(`(?s)0 +true +\d+\n.*Avg RT: `, "checkMsgSendRT", "-t", "MadeByUse", "-a", "3")
	c.expect(`(?m)^test-broker +1 +0 +1 +\d{4}-`, "topicStatus", "-t", "Orders")
}

func (c *cluster) groups() {
	c.expect(`^create subscription group to .* success\.\nSubscriptionGroupConfig\{groupName=cg1, .*retryMaxTimes=3,`, "updateSubGroup", "-c", "TestCluster", "-g", "cg1", "-r", "3")
	c.expect(`={29}TestCluster:test-broker={29}\ngroupName +=  cg1\n(.*\n)+retryMaxTimes +=  3\n`, "getConsumerConfig", "-g", "cg1")
	c.startConsumer()
	c.eventually(`192\.0\.2\.7@1 +127\.0\.0\.1:\d+ +GO +V5_5_0\n\nBelow is subscription:\n#Topic +#SubExpression\n(.*\n)*Orders +\*\n`, "consumerConnection", "-g", "cg1")
	c.expect(`^0001  192\.0\.2\.7@1 +127`, "producerConnection", "-g", "pg1", "-t", "Orders")
	c.expect(`producer group \(pg1\) instance : clientId=192\.0\.2\.7@1,remoteIP=/?127`, "producer", "-b", c.broker)
	c.expect(`the producer group\[nope\] not exist`, "producerConnection", "-g", "nope", "-t", "Orders")
	c.expect(`Rebalance OK\n$`, "consumerStatus", "-g", "cg1")
	c.expect(`#Consumer Offset#\n.*\nOrders +test-broker +1 +1 `, "consumerStatus", "-g", "cg1", "-i", "192.0.2.7@1")
	c.expect(`^ConsumeMessageDirectlyResult \[order=false, autoCommit=true, consumeResult=CR_SUCCESS,`, "queryMsgById", "-t", "Orders", "-i", c.offsetID, "-g", "cg1", "-d", "192.0.2.7@1")
	c.expect(`(?m)^test-broker +1 +1 +$`, "resetOffsetByTime", "-g", "cg1", "-t", "Orders", "-s", "now")
	c.expect(`(?m)^test-broker +1 +0 +$`, "resetOffsetByTime", "-g", "cg1", "-t", "Orders", "-s", "0")
	c.expect(`(?m)^test-broker +1 +1 +$`, "skipAccumulatedMessage", "-g", "cg1", "-t", "Orders")
	c.expect(`(?m)^Orders +test-broker +1 +1 +1 +0 +0 +\d{4}-[^\n]*\n(.*\n)*\nConsume TPS: \d`, "consumerProgress", "-g", "cg1")
	c.expect(`(?m)^cg1 +1 +V5_5_0 +PUSH +CLUSTERING +0 +0$`, "consumerProgress")
	c.expect(`(?m)^Orders +cg1 +0 +`, "statsAll", "-t", "Orders")
	c.expect(`(?m)^Orders +cg1 +test-broker +1 +1 +1 +0 +\d{4}-`, "brokerConsumeStats", "-b", c.broker)
	c.expect(`trackType=CONSUMED, exceptionDesc=null\]`, "queryMsgById", "-t", "Orders", "-i", c.offsetID)
	c.expect(`(?m)^Orders +test-broker +1 +0 +1 +1 +0 +1 +0\n(.*\n)*Total: 1 messages would be consumed again, 0 skipped\. Nothing is changed\.\n$`, "resetOffsetByTime", "-g", "cg1", "-t", "Orders", "-s", "0", "--preview")
	c.expect(`Total: 0 messages would be consumed again, 0 skipped`, "skipAccumulatedMessage", "-g", "cg1", "-t", "Orders", "--preview")
	c.expect(`^#Topic .*\nOrders +test-broker +1 +0 +1 +1 +0 +1 +0\nTotal: 1 `, "resetOffsetByTime", "-g", "cg1", "-t", "Orders", "-s", "now", "-b", c.broker, "-q", "1", "-o", "0", "--preview")
	c.expect(`^\[\{"topic":"Orders","broker":"test-broker","queueId":1,"oldest":0,"end":1,"committed":1,"target":0,"again":1,"skipped":0\}\]\n$`,
		"resetOffsetByTime", "-g", "cg1", "-t", "Orders", "-s", "0", "-b", c.broker, "-q", "1", "--preview", "--output", "json")
	c.expect(`CODE: 26  DESC: `, "resetOffsetByTime", "-g", "typo", "-t", "Orders", "-s", "0", "--preview")
	c.expect(`CODE: 26  DESC: Group typo does not exist`, "resetOffsetByTime", "-g", "typo", "-t", "Orders", "-s", "0")
	c.expect(`CODE: 26  DESC: `, "cloneGroupOffset", "-s", "cg1", "-d", "cg2", "-t", "Orders", "--preview")
	c.expect(`^set consume mode to .* success\.\ntopic\[Orders\] group\[cg1\] consume mode\[POP\] popShareQueueNum\[2\]$`, "setConsumeMode", "-c", "TestCluster", "-t", "Orders", "-g", "cg1", "-m", "POP", "-q", "2")
	c.expect(`^set consume mode to .* success\.\ntopic\[Orders\] group\[cg1\] consume mode\[PULL\] popShareQueueNum\[0\]$`, "setConsumeMode", "-b", c.broker, "-t", "Orders", "-g", "cg1", "-m", "PULL")
	c.expect(`CODE: 26  DESC: subscription group does not exist`, "setConsumeMode", "-b", c.broker, "-t", "Orders", "-g", "typo", "-m", "PULL")
	c.expect(`CODE: 26  DESC: `, "cloneGroupOffset", "-s", "cg1", "-d", "cg2", "-t", "Orders")
	c.expect(`^create subscription group to `, "updateSubGroup", "-b", c.broker, "-g", "cg2")
	c.expect(`(?m)^Orders +test-broker +1 +0 +1 +- +1 +0 +1\n(.*\n)*Total: 0 messages would be consumed again, 1 skipped`, "cloneGroupOffset", "-s", "cg1", "-d", "cg2", "-t", "Orders", "--preview")
	c.expect(`^clone group offset success\. srcGroup\[cg1\], destGroup=\[cg2\], topic\[Orders\]$`, "cloneGroupOffset", "-s", "cg1", "-d", "cg2", "-t", "Orders")
}

func (c *cluster) configuration() {
	c.expect(`TestCluster +test-broker +0 +127\.0\.0\.1:\d+ +V5_5_0 `, "clusterList")
	c.expect(`#InTotalYest`, "clusterList", "-m")
	c.expect(`(?m)^brokerVersionDesc +: V5_5_0$`, "brokerStatus", "-b", c.broker)
	c.expect(`(?m)^brokerName +=  test-broker$`, "getBrokerConfig", "-b", c.broker)
	c.expect(`^update broker config success, `, "updateBrokerConfig", "-b", c.broker, "-k", "fileReservedTime", "-v", "48")
	c.expect(`(?m)^fileReservedTime +=  48$`, "getBrokerConfig", "-c", "TestCluster")
	c.expect(`MQBrokerException: CODE: 16  DESC: `, "updateBrokerConfig", "-b", c.broker, "-k", "storePathRootDir", "-v", "/x")
	c.expect(`(?m)^enableTopicList +=  true$`, "getNamesrvConfig")
	c.expect(`^update name server config success!\[`, "updateNamesrvConfig", "-n", c.ns, "-k", "orderMessageEnable", "-v", "true")
	c.expect(`^create or update kv config`, "updateKvConfig", "-s", "NS", "-k", "k", "-v", "v")
	c.expect(`^delete kv config`, "deleteKvConfig", "-s", "NS", "-k", "k")
	c.expect(`OK, \d+\n$`, "wipeWritePerm", "-b", "test-broker")
	c.eventually(`"perm":4`, "topicRoute", "-t", "Orders")
	c.expect(`OK, \d+\n$`, "addWritePerm", "-b", "test-broker")
	c.expect(`^update topic perm from 6 to 4 in .* success\.\nTopicConfig \[.*perm=R--.*\]\.\n$`, "updateTopicPerm", "-b", c.broker, "-t", "Orders", "-p", "4")
}

func (c *cluster) cleanUp() {
	for _, name := range []string{"cleanExpiredCQ", "cleanUnusedTopic", "deleteExpiredCommitLog"} {
		c.expect(`^success$`, name)
	}
	c.expect(`^delete subscription group \[cg1\] from broker \[.*\] in cluster \[TestCluster\] success\.\n$`, "deleteSubGroup", "-c", "TestCluster", "-g", "cg1", "-r", "true")
	c.expect(`^$`, "getConsumerConfig", "-g", "cg1")
	c.expect(`^delete topic \[Orders\] from cluster \[TestCluster\] success\.\ndelete topic \[Orders\] from NameServer success\.\n$`, "deleteTopic", "-c", "TestCluster", "-t", "Orders")
	c.eventually(`CODE: 17 `, "topicRoute", "-t", "Orders")
}
