package mqadmin

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/seedmq/seedmq/conf/clock"
	"github.com/seedmq/seedmq/remoting/protocol"
)

// fakeCluster is two broker groups, a with a slave, of cluster C, in memory: for what one recorded broker cannot show.
type fakeCluster struct {
	t    *testing.T
	now  *clock.Fake
	mu   sync.Mutex
	on   map[protocol.RequestCode]func(addr string, req *protocol.Command) *protocol.Command
	down map[string]bool
	sent []string // "addr code" of each request
}

func (f *fakeCluster) Close() error { return nil }

func (f *fakeCluster) Invoke(_ context.Context, addr string, cmd *protocol.Command) (*protocol.Command, error) {
	req := new(protocol.Command)
	if err := protocol.DecodeFrame(protocol.AppendFrame(nil, cmd)[4:], req); err != nil {
		return nil, err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.sent = append(f.sent, fmt.Sprintf("%s %d", addr, req.Code))
	if f.down[addr] {
		return nil, errors.New("connection refused")
	}
	if h := f.on[req.Code]; h != nil {
		return h(addr, req), nil
	}
	return &protocol.Command{}, nil
}

func (f *fakeCluster) body(v any) *protocol.Command {
	b, err := protocol.MarshalFast(v)
	if err != nil {
		f.t.Error(err)
	}
	return &protocol.Command{Body: b}
}

func (f *fakeCluster) reply(code protocol.RequestCode, v any) {
	f.on[code] = func(string, *protocol.Command) *protocol.Command { return f.body(v) }
}

func (f *fakeCluster) refuse(code protocol.RequestCode, resp protocol.ResponseCode, remark string) {
	f.on[code] = func(string, *protocol.Command) *protocol.Command {
		return &protocol.Command{Code: resp, Remark: remark}
	}
}

func newFake(t *testing.T) *fakeCluster {
	f := &fakeCluster{t: t, now: clock.NewFake(time.UnixMilli(1796050400000)), on: map[protocol.RequestCode]func(string, *protocol.Command) *protocol.Command{}, down: map[string]bool{}}
	a := protocol.BrokerData{BrokerName: "a", Cluster: "C", BrokerAddrs: map[int64]string{0: "a:1", 1: "a:2"}}
	b := protocol.BrokerData{BrokerName: "b", Cluster: "C", BrokerAddrs: map[int64]string{0: "b:1"}}
	f.reply(protocol.ReqGetBrokerClusterInfo, &protocol.ClusterInfo{BrokerAddrTable: map[string]protocol.BrokerData{"a": a, "b": b},
		ClusterAddrTable: map[string][]string{"C": {"b", "a"}}})
	f.reply(protocol.ReqGetRouteInfoByTopic, &protocol.TopicRouteData{BrokerDatas: []protocol.BrokerData{b, a}, QueueDatas: []protocol.QueueData{
		{BrokerName: "b", Perm: 6, ReadQueueNums: 1, WriteQueueNums: 1}, {BrokerName: "a", Perm: 6, ReadQueueNums: 2, WriteQueueNums: 2}}})
	return f
}

// run runs a command line; an argument with blanks stands between quotes.
func (f *fakeCluster) run(line string) (code int, out string) {
	f.t.Helper()
	var args []string
	for i, part := range strings.Split(line, "'") {
		if i%2 == 1 {
			args = append(args, part)
		} else {
			args = append(args, strings.Fields(part)...)
		}
	}
	var b bytes.Buffer
	dir := f.t.TempDir()
	code = Main(context.Background(), Env{Args: args, Stdout: &b, Stderr: &b, NameServers: "ns1:9;ns2:9", Clock: f.now, Location: time.UTC,
		TempDir: dir, WorkDir: dir, Dial: func() (Transport, error) { return f, nil }})
	return code, b.String()
}

func (f *fakeCluster) expect(line, pattern string) {
	f.t.Helper()
	if _, out := f.run(line); !regexp.MustCompile(pattern).MatchString(out) {
		f.t.Errorf("%s\n%s\ndoes not match %s", line, out, pattern)
	}
}

// to lists who got a request code.
func (f *fakeCluster) to(code protocol.RequestCode) string {
	var out []string
	for _, s := range f.sent {
		if addr, c, _ := strings.Cut(s, " "); c == fmt.Sprint(code) {
			out = append(out, addr)
		}
	}
	f.sent = nil
	return strings.Join(out, " ")
}

func (f *fakeCluster) expectTo(code protocol.RequestCode, want string) {
	f.t.Helper()
	if got := f.to(code); got != want {
		f.t.Errorf("request %d went to %q, want %q", code, got, want)
	}
}

func TestWholeClusters(t *testing.T) {
	f := newFake(t)
	f.expect("updateTopic -c C -t T", `^create topic to a:1 success\.\ncreate topic to b:1 success\.\nTopicConfig .*\n$`)
	f.expectTo(protocol.ReqUpdateAndCreateTopic, "a:1 b:1")
	f.expect("updateTopic -c C -t T -w 2 -o true", `success\.\nset cluster orderConf\. isOrder=true, orderConf=\[a:2;b:2\]\nTopicConfig`)
	f.expectTo(protocol.ReqPutKVConfig, "ns1:9 ns2:9")
	f.expect("deleteTopic -c C -t T", `from NameServer success\.\n$`)
	f.expectTo(protocol.ReqDeleteTopicInBroker, "a:1 b:1")
	f.expect("updateSubGroup -c C -g g --attributes +a=b,-c", `^create subscription group to a:1 success\.\ncreate .* b:1 success\.\nSubscriptionGroupConfig.*attributes=\{\+a=b, -c=\}\}$`)
	f.expect("updateSubGroup -g g", `^usage: mqadmin updateSubGroup `)
	f.expect("deleteSubGroup -g g", `^usage: mqadmin deleteSubGroup `)
	f.expect("deleteSubGroup -c C -g g", `(?m)^delete subscription group \[g\] from broker \[b:1\] in cluster \[C\] success\.$`)
	f.expectTo(protocol.ReqDeleteTopicInNamesrv, "ns1:9 ns2:9 ns1:9 ns2:9")
	f.expect("updateBrokerConfig -c C -k k -v v", `^update broker config success, a:1\nupdate broker config success, b:1\n$`)
	f.expectTo(protocol.ReqUpdateBrokerConfig, "a:1 b:1")
	f.expect("updateBrokerConfig -c C -a x -k k -v v", `a:2`)
	f.expectTo(protocol.ReqUpdateBrokerConfig, "a:1 a:2 b:1")
	f.expect("updateBrokerConfig -k k -v v", `^usage: `)
	f.expect("cleanExpiredCQ", `^success$`)
	f.expectTo(protocol.ReqCleanExpiredConsumeQueue, "a:1 b:1")
	f.expect("wipeWritePerm -b a", `Failed\n.*\n(.*\n)*`) // the fake's reply has no count
	f.expectTo(protocol.ReqWipeWritePermOfBroker, "ns1:9 ns2:9")
	f.expect("updateTopicPerm -c C -t T -p 4", `^update topic perm from 6 to 4 in a:1 success\.\nupdate topic perm from 6 to 4 in b:1 success\.\n$`)
	f.expect("updateTopicPerm -b a:1 -t T -p 6", `^new perm equals to the old one!\n$`)
	f.expect("updateTopicPerm -b a:2 -t T -p 4", `^updateTopicPerm error broker not exit or broker is not master!\.\n$`)
	f.expect("updateTopicPerm -t T -p 4", `^usage: `)
}

func TestUnknownClusters(t *testing.T) {
	f := newFake(t)
	const text = `\[error\] Make sure the specified clusterName exists or the name server connected to is correct\.`
	f.expect("deleteTopic -c X -t T", `^`+text+`delete topic \[T\] from cluster \[X\] success\.\ndelete`)
	f.expect("brokerStatus -c X", `^`+text+`$`)
	f.expect("cleanUnusedTopic -c X", `^`+text+`success$`)
	f.expect("clusterList -c X", `^#Cluster Name .*\n$`)
	f.expect("getBrokerConfig", `^$`)
	if code, _ := f.run("deleteTopic -c X -t T --strict"); code != 1 {
		t.Errorf("strict: exit %d", code)
	}
}

func TestOneBrokerDown(t *testing.T) {
	f := newFake(t)
	f.down["a:1"] = true
	f.reply(protocol.ReqGetBrokerRuntimeInfo, &protocol.KVTable{Table: map[string]string{"brokerVersionDesc": "V5", "putTps": "2.5 1", "brokerActive": "true"}})
	f.expect("updateTopic -c C -t T", `^org.*: UpdateTopicSubCommand command failed\nCaused by: .*connect to a:1 failed\nHint`)
	f.expect("updateBrokerConfig -c C -k k -v v", `^org.*connect to a:1 failed\nupdate broker config success, b:1\n$`)
	f.expect("deleteExpiredCommitLog -c C", `connect to a:1 failed\nfalse$`)
	f.expect("clusterList", `connect to a:1 failed\n#Cluster.*\nC +a +0 +a:1 .*\nC +a +1 +a:2 +V5 +2\.50\(.*\nC +b +0 +b:1 +V5 `)
	f.expect("clusterList -m", `(?m)^C +b +0 +0 +0 +0$`)
	f.expect("brokerStatus -c C", `connect to a:1 failed`)
	f.expect("updateSubGroup -b a:1 -g g", `connect to a:1 failed`)
	f.down = map[string]bool{"ns1:9": true}
	f.expect("updateTopic -c C -t T", `^create topic to a:1 success`) // the other NameServer answers
	f.expect("updateKvConfig -s a -k b -v c", `connect to ns1:9 failed`)
	f.expect("getNamesrvConfig", `connect to ns1:9 failed`)
}

func TestConfigurationOfAClusterWithSlaves(t *testing.T) {
	f := newFake(t)
	f.on[protocol.ReqGetBrokerConfig] = func(addr string, _ *protocol.Command) *protocol.Command {
		return &protocol.Command{Body: []byte("me=" + addr)}
	}
	f.expect("getBrokerConfig -c C", `^=+Master: a:1=+\nme +=  a:1\n\n=+My Master: a:1=====Slave: a:2=+\nme +=  a:2\n\n=+Master: b:1=+\nme +=  b:1\n\n$`)
	f.reply(protocol.ReqGetBrokerClusterInfo, &protocol.ClusterInfo{ClusterAddrTable: map[string][]string{"C": {"s"}},
		BrokerAddrTable: map[string]protocol.BrokerData{"s": {BrokerName: "s", BrokerAddrs: map[int64]string{1: "s:2"}}}})
	f.expect("getBrokerConfig -c C", `^=+Master: NO_MASTER=+\n=+My Master: NO_MASTER=====Slave: s:2=+\nme +=  s:2\n`)
}

func TestListsFromFiles(t *testing.T) {
	f := newFake(t)
	file := filepath.Join(t.TempDir(), "list.json")
	write := func(s string) {
		if err := os.WriteFile(file, []byte(s), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	write(`[{"topicName":"A","readQueueNums":1,"writeQueueNums":1,"perm":6}]`)
	f.expect("updateTopicList -c C -f "+file, `^submit batch of topic config to a:1 success, .*\nsubmit .*b:1.*\nusage: mqadmin updateTopicList `)
	write(`[{"groupName":"g"}]`)
	f.expect("updateSubGroupList -c C -f "+file, `^submit batch of subscription group config to a:1 success, .*\nsubmit .*b:1.*\nusage: `)
	write(`[]`)
	f.expect("updateTopicList -b a:1 -f "+file, `^$`)
	write(`{`)
	f.expect("updateSubGroupList -b a:1 -f "+file, `command failed\nCaused by: .*list.json`)
	f.expect("updateTopicList -b a:1 -f /no/such", `^the file path /no/such does not exists\n$`)
}

func TestBadNumbersAndAttributes(t *testing.T) {
	f := newFake(t)
	for _, line := range []string{"updateTopic -b a:1 -t T -r x", "updateSubGroup -b a:1 -g g -r 1e3", "queryMsgByKey -t T -k k -b x", "queryMsgByOffset -t T -b a -i x -o 0",
		"queryCq -t T -q 99999999999 -i 0", "printMsgByQueue -t T -a a -i x", "consumeMessage -t T -c x", "resetOffsetByTime -g g -t T -s 1 -b a:1 -q x", "clusterList -i x",
		"checkMsgSendRT -t T -a x", "sendMsgStatus -b a -c x", "clusterRT -a x", "brokerConsumeStats -b a:1 -l x", "updateTopicPerm -t T -p x", "sendMessage -t T -p x -b a -i y"} {
		f.expect(line, `NumberFormatException: For input string: "`)
	}
	f.expect("updateTopic -b a:1 -t T -a k=v", `RuntimeException: attribute "k=v" is neither`)
	f.expect("updateSubGroup -b a:1 -g g -p {", `retry policy`)
	f.expect(`updateSubGroup -b a:1 -g g -p '{"type":"EXPONENTIAL","exponentialRetryPolicy":{"initial":1,"max":2,"multiplier":3}}'`,
		`GroupRetryPolicy\{type=EXPONENTIAL, exponentialRetryPolicy=ExponentialRetryPolicy\{initial=1, max=2, multiplier=3\}, customizedRetryPolicy=null\}`)
	f.expect(`updateSubGroup -b a:1 -g g -p '{"customizedRetryPolicy":{"next":[1,2]}}'`, `customizedRetryPolicy=CustomizedRetryPolicy\{next=\[1, 2\]\}`)
	f.expect("updateOrderConf -t T -m put", `please set orderConf`)
	f.expect("updateOrderConf -t T -m x", `^usage: `)
	f.expect("resetOffsetByTime -g g -t T -s yesterday", `is neither a time in milliseconds`)
}

func TestResetOnBrokersThatNeedClients(t *testing.T) {
	f := newFake(t)
	f.refuse(protocol.ReqInvokeBrokerToResetOffset, protocol.RespConsumerNotOnline, "offline")
	f.on[protocol.ReqGetConsumeStats] = func(addr string, _ *protocol.Command) *protocol.Command {
		q := protocol.MessageQueue{Topic: "T", BrokerName: addr[:1]}
		return f.body(&protocol.ConsumeStats{OffsetTable: protocol.MessageQueueMap[protocol.OffsetWrapper]{q: {BrokerOffset: 9, ConsumerOffset: 5}}})
	}
	offset := func(string, *protocol.Command) *protocol.Command {
		return &protocol.Command{Ext: protocol.ExtFields{{Key: "offset", Value: "7"}}}
	}
	f.on[protocol.ReqSearchOffsetByTimestamp], f.on[protocol.ReqGetMaxOffset] = offset, offset
	f.expect("resetOffsetByTime -g g -t T -s 1000", `^reset consumer offset by specified consumerGroup\[g\], topic\[T\], force\[true\], timestamp\(string\)\[1000\], timestamp\(long\)\[1000\]\n`+
		`#brokerName +#queueId +#brokerOffset +#consumerOffset +#timestampOffset +#resetOffset +\na +0 +9 +5 +7 +7 +\nb +0 +9 +5 +7 +7 +\n$`)
	f.expectTo(protocol.ReqUpdateConsumerOffset, "a:1 b:1")
	f.expect("skipAccumulatedMessage -g g -t T -f false", `^#brokerName .*#rollbackOffset +\na +0 +9 +5 +7 +5 +\n`)
	f.expectTo(protocol.ReqUpdateConsumerOffset, "")
	f.on[protocol.ReqInvokeBrokerToResetOffset] = nil
	f.expect("resetOffsetByTime -g g -t T -s 1000 -b a:1 -q 0", `reset consumer offset to 7\n$`)
	f.expectTo(protocol.ReqUpdateConsumerOffset, "a:1")
	f.expect("resetOffsetByTime -g g -t T -s 1000 -b a:1 -q 0 -o 0", `reset consumer offset to 0\n$`)
	f.expectTo(protocol.ReqUpdateConsumerOffset, "")
}

// consumers makes the group g have these clients.
func (f *fakeCluster) consumers(infos map[string]*protocol.ConsumerRunningInfo) {
	conn := &protocol.ConsumerConnection{}
	for _, id := range sortedKeys(infos) {
		conn.ConnectionSet = append(conn.ConnectionSet, protocol.Connection{ClientID: id, Version: 513})
	}
	f.reply(protocol.ReqGetConsumerConnectionList, conn)
	f.on[protocol.ReqGetConsumerRunningInfo] = func(_ string, req *protocol.Command) *protocol.Command {
		id, _ := req.Ext.Get("clientId")
		if infos[id] == nil {
			return &protocol.Command{Code: protocol.RespSystemError, Remark: "no such client"}
		}
		return f.body(infos[id])
	}
}

func pushInfo(sub string, orderly bool, p protocol.ProcessQueueInfo) *protocol.ConsumerRunningInfo {
	return &protocol.ConsumerRunningInfo{JStack: "stack of it\n",
		Properties:       map[string]any{protocol.RunningConsumeType: protocol.ConsumePassively, protocol.RunningConsumeOrderly: fmt.Sprint(orderly), protocol.RunningConsumerStartTime: 1000},
		SubscriptionSet:  []protocol.SubscriptionData{{Topic: "T", SubString: sub}},
		MQTable:          protocol.MessageQueueMap[protocol.ProcessQueueInfo]{{Topic: "T", BrokerName: "a"}: p},
		MQPopTable:       protocol.MessageQueueMap[protocol.PopProcessInfo]{{Topic: "P", BrokerName: "a"}: {WaitAckCount: 4}},
		StatusTable:      map[string]protocol.ConsumeStatus{"T": {PullRT: 1.005, ConsumeFailedMsgs: 3}},
		UserConsumerInfo: map[string]string{"mine": "yes"}}
}

func TestConsumerStatusVerdicts(t *testing.T) {
	f := newFake(t)
	minuteAgo := f.now.Now().UnixMilli() - 90000
	well := protocol.ProcessQueueInfo{Locked: true, LastConsumeTimestamp: f.now.Now().UnixMilli()}
	f.consumers(map[string]*protocol.ConsumerRunningInfo{"c1": pushInfo("*", false, well), "c2": pushInfo("a", false, well)})
	f.expect("consumerStatus -g g", `\n\nWARN: Different subscription in the same group of consumer!!!$`)
	young := pushInfo("a", false, well) // of a moment ago
	young.Properties[protocol.RunningConsumerStartTime] = f.now.Now().UnixMilli()
	f.consumers(map[string]*protocol.ConsumerRunningInfo{"c1": pushInfo("*", false, well), "c2": young})
	f.expect("consumerStatus -g g", `\n\nWARN: Different subscription in the same group of consumer!!!$`)
	f.consumers(map[string]*protocol.ConsumerRunningInfo{"c1": pushInfo("*", false, protocol.ProcessQueueInfo{CachedMsgCount: 2, LastConsumeTimestamp: minuteAgo}),
		"c2": pushInfo("*", true, protocol.ProcessQueueInfo{LastLockTimestamp: minuteAgo}), "c3": pushInfo("*", true, protocol.ProcessQueueInfo{Locked: true, Dropped: true, TryUnlockTimes: 5})})
	f.expect("consumerStatus -g g", `Rebalance OK\nc1 MessageQueue \[topic=T, brokerName=a, queueId=0\] can't consume for a while, maybe blocked, 90000ms\n`+
		`c2 MessageQueue .* can't lock for a while, 90000ms\nc3 MessageQueue .* unlock 5 times, still failed\n$`)
	f.consumers(map[string]*protocol.ConsumerRunningInfo{"c1": nil})
	f.expect("consumerStatus -g g", `DESC: no such client BROKER: a:1`)
	f.consumers(map[string]*protocol.ConsumerRunningInfo{"c1": pushInfo("*", false, well)})
	f.expect("consumerStatus -g g -i c1 -s", `(?s)^#Consumer Properties#\n.*PROP_CONSUMER_START_TIMESTAMP +: 1000\n.*001 Topic: T +ClassFilter: false    SubExpression: \*\n.*`+
		`locked=true, tryUnlockTimes=0, lastLockTimestamp=19700101000000000,.*P +a +0 +PopProcessQueueInfo \[waitAckCount:4,.*T +1\.01 +0\.00 .* 3\n.*mine +: yes\n.*#Consumer jstack#\nstack of it\n`)
}

func TestConsumeComplaints(t *testing.T) {
	f := newFake(t)
	for line, want := range map[string]string{"-c 0": "Please input a positive messageNumber!", "-i 1": "Please set the brokerName before queueId!",
		"-b a -o 1": "Please set queueId before offset!", "-s 9999999999999": "Please set the beginTimestamp before now!",
		"-e 9999999999999": "Please set the endTimestamp before now!", "-s 2 -e 1": "Please make sure that the beginTimestamp is less than or equal to the endTimestamp"} {
		if _, out := f.run("consumeMessage -t T " + line); out != want {
			t.Errorf("%s: %q, want %q", line, out, want)
		}
	}
	f.expect("sendMessage -t T -p x -i 1", `^Broker name must be set if the queue is chosen!$`)
	f.expect("sendMessage -t T -p x -b nope", `^java\.lang\.RuntimeException: SendMessageCommand command failed\nCaused by: `)
}

// withMessages gives every queue ten messages, at offsets 0 to 9, that were stored at 1000, 1001, ...
func (f *fakeCluster) withMessages() {
	number := func(req *protocol.Command, name string) int64 { v, _ := req.Ext.Get(name); return toInt(v) }
	offset := func(n int64) *protocol.Command {
		return &protocol.Command{Ext: protocol.ExtFields{{Key: "offset", Value: fmt.Sprint(n)}}}
	}
	f.on[protocol.ReqGetMinOffset] = func(string, *protocol.Command) *protocol.Command { return offset(0) }
	f.on[protocol.ReqGetMaxOffset] = func(string, *protocol.Command) *protocol.Command { return offset(10) }
	f.on[protocol.ReqSearchOffsetByTimestamp] = func(_ string, req *protocol.Command) *protocol.Command {
		return offset(number(req, "timestamp") - 1000)
	}
	f.on[protocol.ReqPullMessage] = func(_ string, req *protocol.Command) *protocol.Command {
		from, n := number(req, "queueOffset"), min(number(req, "maxMsgNums"), 3)
		r := &protocol.Command{}
		host := netip.MustParseAddrPort("192.0.2.1:1")
		for o := from; o < min(from+n, 10); o++ {
			r.Body = protocol.AppendRecord(r.Body, &protocol.RecordFields{Topic: "T", QueueID: int32(number(req, "queueId")), QueueOffset: o, StoreTimestamp: 1000 + o,
				Body: fmt.Appendf(nil, "m%d", o), Properties: fmt.Sprintf("TAGS\x01t%d\x02", o%2), BornHost: host, StoreHost: host})
		}
		r.Ext = protocol.ExtFields{{Key: "nextBeginOffset", Value: fmt.Sprint(min(from+n, 10))}, {Key: "suggestWhichBrokerId", Value: "0"},
			{Key: "minOffset", Value: "0"}, {Key: "maxOffset", Value: "10"}}
		return r
	}
}

// bodies are the bodies that a command printed.
func (f *fakeCluster) bodies(line string) string {
	f.t.Helper()
	_, out := f.run(line)
	var list []string
	for _, m := range regexp.MustCompile(`BODY: (.*)`).FindAllStringSubmatch(out, -1) {
		list = append(list, m[1])
	}
	return strings.Join(list, " ")
}

func TestRangesOfMessages(t *testing.T) {
	f := newFake(t)
	f.withMessages()
	for line, want := range map[string]string{
		"printMsgByQueue -t T -a a -i 0 -p true -d true -b 1002 -e 1005": "m2 m3 m4", // the end is not part of it
		"printMsgByQueue -t T -a a -i 0 -p true -b 1008":                 "NOT PRINT BODY NOT PRINT BODY",
		"printMsgByQueue -t T -a a -i 0 -p true -d true -s t1":           "m1 m3 m5 m7 m9",
		"consumeMessage -t T -b a -i 0 -o 7":                             "m7 m8 m9",
		"consumeMessage -t T -b a -i 0 -o 2 -c 4":                        "m2 m3 m4 m5",
		"consumeMessage -t T -b b -s 1008":                               "m8 m9",
		"consumeMessage -t T -c 12":                                      "m0 m1 m2 m3 m4 m5 m6 m7 m8 m9 m0 m1",
		"printMsg -t T -b 1009":                                          "m9 m9 m9",
		"printMsg -t T -b 1009 -d false":                                 "NOT PRINT BODY NOT PRINT BODY NOT PRINT BODY",
	} {
		if got := f.bodies(line); got != want {
			t.Errorf("%s: %s, want %s", line, got, want)
		}
	}
	f.expect("printMsgByQueue -t T -a a -i 0 -f true", `^Tag: t0 +Count: 5\nTag: t1 +Count: 5\n$`)
	f.expect("printMsgByQueue -t T -a a -i 0", `^$`)
	f.expect("consumeMessage -t T -b a -i 0 -o 99", `no matched msg, offset=99\n$`)
	f.expect("consumeMessage -t T -c 12", `The older 2 message of the 1 queue will be provided\n`)
	f.expect("printMsgByQueue -t T -a x -i 0", `broker x is not in the route`)
	f.expect("printMsg -t T -c EBCDIC", `UnsupportedCharsetException`)
	f.refuse(protocol.ReqPullMessage, protocol.RespSystemError, "damaged")
	f.expect("printMsg -t T", `DESC: damaged BROKER: a:1\n(.*\n)*-{56}\n`) // and on to the next queue
}

func TestClusterRTAsLogLines(t *testing.T) {
	f := newFake(t)
	f.on[protocol.ReqSendMessageV2] = func(string, *protocol.Command) *protocol.Command {
		f.now.Advance(2 * time.Millisecond)
		return &protocol.Command{Ext: protocol.ExtFields{{Key: "msgId", Value: "x"}, {Key: "queueId", Value: "0"}, {Key: "queueOffset", Value: "0"}}}
	}
	var out bytes.Buffer
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	c := &stopClock{Fake: f.now, rounds: 1, stop: cancel}
	code := Main(ctx, Env{Args: strings.Fields("clusterRT -a 3 -p true -m room1"), Stdout: &out, Stderr: &out, NameServers: "ns:9", Clock: c, Location: time.UTC,
		Dial: func() (Transport, error) { return f, nil }})
	if want := "2026-11-30 22:53:20|room1|C|a|2\n2026-11-30 22:53:20|room1|C|b|2\n"; code != 0 || out.String() != want {
		t.Errorf("exit %d\n%s\nwant\n%s", code, out.String(), want)
	}
	f.expect("checkMsgSendRT -t T -a 1", `Avg RT: NaN\n$`)
}

func TestResend(t *testing.T) {
	f := newFake(t)
	host := netip.MustParseAddrPort("192.0.2.10:10911")
	f.on[protocol.ReqViewMessageByID] = func(string, *protocol.Command) *protocol.Command {
		return &protocol.Command{Body: protocol.AppendRecord(nil, &protocol.RecordFields{Topic: "T", Body: []byte("again"), Properties: "KEYS\x01k\x02", BornHost: host, StoreHost: host})}
	}
	f.on[protocol.ReqSendMessageV2] = func(_ string, req *protocol.Command) *protocol.Command {
		if p, _ := req.Ext.Get("i"); string(req.Body) != "again" || !strings.Contains(p, "KEYS\x01k") {
			t.Errorf("resent %q with %q", req.Body, p)
		}
		return &protocol.Command{Ext: protocol.ExtFields{{Key: "msgId", Value: "x"}, {Key: "queueId", Value: "0"}, {Key: "queueOffset", Value: "4"}}}
	}
	const id = "C000020A00002A9F0000000000000000"
	f.expect("queryMsgById -t T -i "+id+" -s true", `^prepare resend msg\. originalMsgId=`+id+`SendResult \[sendStatus=SEND_OK, .*queueOffset=4, recallHandle=null\]$`)
	f.expect("queryMsgById -t T -i "+id+" -s false", `^$`)
	f.refuse(protocol.ReqViewMessageByID, protocol.RespSystemError, "gone")
	f.refuse(protocol.ReqQueryMessage, protocol.RespQueryNotFound, "nothing")
	f.expect("queryMsgById -t T -i "+id+" -s true", `^no message\. msgId=`+id+`$`)
	f.reply(protocol.ReqGetConsumerRunningInfo, &protocol.ConsumerRunningInfo{Properties: map[string]any{protocol.RunningConsumeType: protocol.ConsumeActively}})
	f.expect("queryMsgById -t T -i "+id+" -g g -d c1", `^this c1 client is not push consumer ,not support direct push \n$`)
	f.expect("queryMsgByUniqueKey -t T -i "+id+" -g g -d c1", `^get consumer info failed or this c1 client is not push consumer, not support direct push \n$`)
}

// TestIDsCannotLeaveTheFolder: the name of a body's file is a message's id, which is the sender's text.
func TestIDsCannotLeaveTheFolder(t *testing.T) {
	f := newFake(t)
	host := netip.MustParseAddrPort("192.0.2.10:10911")
	for _, id := range []string{"../../../evil", "/etc/evil", "..", "a/../../b"} {
		f.on[protocol.ReqQueryMessage] = func(string, *protocol.Command) *protocol.Command {
			return &protocol.Command{Body: protocol.AppendRecord(nil, &protocol.RecordFields{Topic: "T", Body: []byte("x"), Properties: "UNIQ_KEY\x01" + id + "\x02", BornHost: host, StoreHost: host})}
		}
		_, out := f.run("queryMsgByUniqueKey -t T -i " + id)
		path := regexp.MustCompile(`Message Body Path: +(\S+)`).FindStringSubmatch(out)
		if path != nil && filepath.Base(filepath.Dir(path[1])) != "msgbodys" {
			t.Errorf("%s was written to %s", id, path[1])
		}
	}
}
