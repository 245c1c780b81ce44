package protocol

import (
	"bytes"
	"compress/zlib"
	"encoding/binary"
	"encoding/json"
	"errors"
	"maps"
	"reflect"
	"strings"
	"testing"
)

func marshal(t *testing.T, v any) string {
	t.Helper()
	b, err := MarshalFast(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// What later releases add to a topic or a group is kept from one file to the next.
func TestUnknownMembersSurvive(t *testing.T) {
	const topic = `{"aaa":{"x":[1,2]},"attributes":{"k":"v"},"order":true,"perm":4,"pppp":"é","readQueueNums":3,"topicFilterType":"MULTI_TAG","topicName":"T","topicSysFlag":1,"writeQueueNums":2,"zzz":null}`
	var c TopicConfig
	if err := UnmarshalFast([]byte(topic), &c); err != nil {
		t.Fatal(err)
	}
	if got := marshal(t, c); got != topic {
		t.Errorf("\n%s\n%s", got, topic)
	}
	if b, err := json.Marshal(map[string]TopicConfig{"T": c}); err != nil || string(b) != `{"T":`+topic+`}` {
		t.Errorf("json.Marshal: %s, %v", b, err)
	}
	clone := c.Clone()
	clone.Attributes["k"] = "changed"
	clone.Unknown["zzz"] = json.RawMessage("1")
	if marshal(t, c) != topic {
		t.Error("a clone's change reaches the original")
	}
	const group = `{"attributes":{},"brokerId":0,"consumeBroadcastEnable":false,"consumeEnable":true,"consumeFromMinEnable":true,"consumeMessageOrderly":false,"consumeTimeoutMinute":15,"future":{"a":[{}]},"groupName":"G","groupRetryPolicy":{"exponentialRetryPolicy":{"initial":5000,"max":7200000,"multiplier":2},"type":"EXPONENTIAL"},"groupSysFlag":0,"notifyConsumerIdsChangedEnable":true,"retryMaxTimes":16,"retryQueueNums":1,"subscriptionDataSet":[{"expression":"*","expressionType":"TAG","topic":"T","version":1}],"whichBrokerWhenConsumeSlowly":1}`
	var g SubscriptionGroupConfig
	if err := UnmarshalFast([]byte(group), &g); err != nil {
		t.Fatal(err)
	}
	if got := marshal(t, g.Clone()); got != group {
		t.Errorf("\n%s\n%s", got, group)
	}
	const both = `{"attributes":{},"mappingDetail":{"bname":"b","currIdMap":{"0":0},"dirty":false,"epoch":1,"hostedQueues":{"0":[{"bname":"b","endOffset":-1,"gen":0,"logicOffset":0,"queueId":0,"startOffset":0,"timeOfEnd":-1,"timeOfStart":-1}]},"scope":"__global__","topic":"T","totalQueues":1},"new":1,"order":false,"perm":6,"readQueueNums":1,"topicFilterType":"SINGLE_TAG","topicName":"T","topicSysFlag":0,"writeQueueNums":1}`
	var m TopicConfigAndQueueMapping
	if err := UnmarshalFast([]byte(both), &m); err != nil || m.MappingDetail == nil || m.TopicName != "T" {
		t.Fatalf("%+v, %v", m, err)
	}
	if got := marshal(t, m); got != both {
		t.Errorf("\n%s\n%s", got, both)
	}
	if marshal(t, TopicConfigAndQueueMapping{TopicConfig: NewTopicConfig("T")}) != marshal(t, NewTopicConfig("T")) {
		t.Error("a topic without mapping is written as a topic")
	}
}

func TestDefaultsFillWhatIsAbsent(t *testing.T) {
	var c TopicConfig
	if err := UnmarshalFast([]byte(`{topicName:"T",perm:2}`), &c); err != nil {
		t.Fatal(err)
	}
	want := NewTopicConfig("T")
	want.Perm = 2
	if !reflect.DeepEqual(c, want) {
		t.Errorf("%+v", c)
	}
	var g SubscriptionGroupConfig // as 4.9 writes it
	if err := UnmarshalFast([]byte(`{"brokerId":0,"consumeBroadcastEnable":true,"consumeEnable":true,"consumeFromMinEnable":true,"groupName":"G","notifyConsumerIdsChangedEnable":true,"retryMaxTimes":16,"retryQueueNums":1,"whichBrokerWhenConsumeSlowly":1}`), &g); err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(g, NewSubscriptionGroupConfig("G")) {
		t.Errorf("%+v", g)
	}
}

// Java dereferences lists and maps that it reads: they are written even when nil.
func TestNilCollectionsAreWritten(t *testing.T) {
	for want, v := range map[string]any{
		`{"brokerDatas":[],"filterServerTable":{},"queueDatas":[]}`: TopicRouteData{},
		`{"brokerAddrTable":{},"clusterAddrTable":{}}`:              ClusterInfo{},
		`{"consumerIdList":[]}`:                                     GetConsumerListByGroupResponseBody{},
		`{"topicList":[]}`:                                          TopicList{},
		`{"lockOKMQSet":[]}`:                                        LockBatchResponseBody{},
		`{"offsetTable":{},"topicPutTps":0.0}`:                      TopicStatsTable{},
		`{"table":{}}`:                                              KVTable{},
	} {
		if got := marshal(t, v); got != want {
			t.Errorf("%T: %s, want %s", v, got, want)
		}
	}
}

// The examples of the reference, to the byte.
func TestBodiesAsJavaPrintsThem(t *testing.T) {
	route := TopicRouteData{
		BrokerDatas: []BrokerData{{BrokerAddrs: map[int64]string{1: "10.0.0.6:10911", 0: "10.0.0.5:10911"}, BrokerName: "broker-a", Cluster: "DefaultCluster"}},
		QueueDatas:  []QueueData{{BrokerName: "broker-a", Perm: 6, ReadQueueNums: 8, WriteQueueNums: 8}},
	}
	stats := TopicStatsTable{OffsetTable: MessageQueueMap[TopicOffset]{
		{"broker-a", 1, "T"}: {}, {"broker-a", 0, "T"}: {LastUpdateTimestamp: 1700000000000, MaxOffset: 10},
	}}
	heartbeat := HeartbeatData{
		ClientID: "10.0.0.9@4711#123", ProducerDataSet: []ProducerData{{"P"}},
		ConsumerDataSet: []ConsumerData{{
			ConsumeFromWhere: ConsumeFromLastOffset, ConsumeType: ConsumePassively, GroupName: "G", MessageModel: ModelClustering,
			SubscriptionDataSet: []SubscriptionData{{
				CodeSet: []LenientInt{2598919}, ExpressionType: ExpressionTag, SubString: "TagA", SubVersion: 1700000000000, TagsSet: []string{"TagA"}, Topic: "T",
			}},
		}},
	}
	for want, v := range map[string]any{
		`{"brokerDatas":[{"brokerAddrs":{"0":"10.0.0.5:10911","1":"10.0.0.6:10911"},"brokerName":"broker-a","cluster":"DefaultCluster","enableActingMaster":false}],"filterServerTable":{},"queueDatas":[{"brokerName":"broker-a","perm":6,"readQueueNums":8,"topicSysFlag":0,"writeQueueNums":8}]}`:                                                                                                                                                                      route,
		`{"offsetTable":{{"brokerName":"broker-a","queueId":0,"topic":"T"}:{"lastUpdateTimestamp":1700000000000,"maxOffset":10,"minOffset":0},{"brokerName":"broker-a","queueId":1,"topic":"T"}:{"lastUpdateTimestamp":0,"maxOffset":0,"minOffset":0}},"topicPutTps":0.0}`:                                                                                                                                                                                                stats,
		`{"clientID":"10.0.0.9@4711#123","consumerDataSet":[{"consumeFromWhere":"CONSUME_FROM_LAST_OFFSET","consumeType":"CONSUME_PASSIVELY","groupName":"G","messageModel":"CLUSTERING","subscriptionDataSet":[{"classFilterMode":false,"codeSet":[2598919],"expressionType":"TAG","subString":"TagA","subVersion":1700000000000,"tagsSet":["TagA"],"topic":"T"}],"unitMode":false}],"heartbeatFingerprint":0,"producerDataSet":[{"groupName":"P"}],"withoutSub":false}`: heartbeat,
		`{"acks":[{"b":"BQ==","c":"G","it":60000,"pt":1700000000000,"q":0,"r":"0","rq":1,"so":100,"t":"T"}],"brokerName":"broker-a"}`: BatchAckMessageRequestBody{
			BrokerName: "broker-a", Acks: []BatchAck{{Bits: []byte{5}, ConsumerGroup: "G", InvisibleTime: 60000, PopTime: 1700000000000, Retry: "0", ReviveQueueID: 1, StartOffset: 100, Topic: "T"}},
		},
	} {
		if got := marshal(t, v); got != want {
			t.Errorf("%T:\n%s\n%s", v, got, want)
		}
		back := reflect.New(reflect.TypeOf(v))
		if err := UnmarshalFast([]byte(want), back.Interface()); err != nil || marshal(t, back.Interface()) != want {
			t.Errorf("%T: %s, %v", v, marshal(t, back.Interface()), err)
		}
	}
}

func TestClientDialects(t *testing.T) {
	var s SubscriptionData // Go's code set
	if err := UnmarshalFast([]byte(`{"codeSet":["2598919","-5"],"tagsSet":[]}`), &s); err != nil || s.CodeSet[0] != 2598919 || s.CodeSet[1] != -5 {
		t.Errorf("%+v, %v", s, err)
	}
	if err := UnmarshalFast([]byte(`{"codeSet":["x"]}`), &s); err == nil {
		t.Error("a word is no code")
	}
	var h HeartbeatData // as C++ clients write it: enums as ordinals, numbers as texts
	if err := UnmarshalFast([]byte(`{"clientID":"c","consumerDataSet":[{"consumeFromWhere":4,"consumeType":1,"groupName":"G","messageModel":0,"unitMode":"true","subscriptionDataSet":[{"codeSet":["5"],"subString":"*","subVersion":"1700000000000","tagsSet":["x"],"topic":7}]}],"producerDataSet":[]}`), &h); err != nil {
		t.Fatal(err)
	}
	c0 := h.ConsumerDataSet[0]
	if c0.ConsumeFromWhere != ConsumeFromFirstOffset || c0.ConsumeType != ConsumePassively || c0.MessageModel != ModelBroadcasting || !c0.UnitMode ||
		c0.SubscriptionDataSet[0].SubVersion != 1700000000000 || c0.SubscriptionDataSet[0].Topic != "7" {
		t.Errorf("%+v", h)
	}
	var stats TopicStatsTable
	if err := UnmarshalFast([]byte(`{"offsetTable":{{"brokerName":"b","queueId":"1","topic":"T"}:{"maxOffset":"5","minOffset":1.0E1}},"topicPutTps":"2.5"}`), &stats); err != nil ||
		stats.OffsetTable[MessageQueue{"b", 1, "T"}] != (TopicOffset{MaxOffset: 5, MinOffset: 10}) || stats.TopicPutTps != 2.5 {
		t.Errorf("%+v, %v", stats, err)
	}
	var group SubscriptionGroupConfig
	if err := UnmarshalFast([]byte(`{"groupName":"G","consumeEnable":"false","retryMaxTimes":"3","new":"5"}`), &group); err != nil || group.ConsumeEnable || group.RetryMaxTimes != 3 || string(group.Unknown["new"]) != `"5"` {
		t.Errorf("%+v, %v", group, err)
	}
	for in, want := range map[string]ConsumeResult{`"CR_LATER"`: ConsumeLater, `0`: ConsumeSuccess, `4`: ConsumeThrowException, `99`: "", `null`: ""} {
		var r ConsumeMessageDirectlyResult
		if err := UnmarshalFast([]byte(`{"consumeResult":`+in+`}`), &r); err != nil || r.ConsumeResult != want {
			t.Errorf("%s: %+v, %v", in, r, err)
		}
	}
	var acks BatchAckMessageRequestBody
	if err := UnmarshalFast([]byte(`{"acks":[{"bitSet":"BQ==","consumerGroup":"G","invisibleTime":1,"popTime":2,"queueId":3,"retry":"1","reviveQueueId":4,"startOffset":5,"topic":"T"}]}`), &acks); err != nil ||
		!reflect.DeepEqual(acks.Acks[0], BatchAck{[]byte{5}, "G", 1, 2, 3, "1", 4, 5, "T"}) {
		t.Errorf("long names: %+v, %v", acks, err)
	}
	goInfo := "{\"mqTable\":{{\"topic\":\"T\",\"brokerName\":\"b\",\"queueId\":0}:{\"commitOffset\":5,\"dropped\":true}}, \"jstack\":\"line one\nline two\" }"
	var info ConsumerRunningInfo
	if err := UnmarshalFast([]byte(goInfo), &info); err != nil || !info.MQTable[MessageQueue{"b", 0, "T"}].Dropped || info.JStack != "line one\nline two" {
		t.Errorf("%+v, %v", info, err)
	}
	var c Connection
	if err := UnmarshalFast([]byte(`{"language":"COBOL","version":1}`), &c); err != nil || c.Language != LanguageUnknown {
		t.Errorf("%+v, %v", c, err)
	}
}

func TestDataVersion(t *testing.T) {
	d := DataVersion{Counter: 1, StateVersion: 2, Timestamp: 3}
	if back, ok := ParseDataVersion(d.String()); !ok || back != d || d.String() != marshal(t, d) {
		t.Errorf("%s, %v", d, back)
	}
	for _, s := range []string{"", "x", "{"} {
		if _, ok := ParseDataVersion(s); ok {
			t.Errorf("%q", s)
		}
	}
	n := d.Next(9, 2)
	if n != (DataVersion{2, 2, 9}) || n.Compare(d) != 1 || d.Compare(n) != -1 || d.Compare(d) != 0 || d.Compare(DataVersion{0, 3, 0}) != -1 {
		t.Errorf("%+v", n)
	}
}

func registerBody() *RegisterBrokerBody {
	t1, t2 := NewTopicConfig("T1"), NewTopicConfig("T2")
	t1.Perm, t1.Attributes = 4, map[string]string{"message.type": "FIFO"}
	return &RegisterBrokerBody{
		FilterServerList: []string{"f:1"},
		TopicConfigSerializeWrapper: TopicConfigWrapper{
			DataVersion:              DataVersion{1, 2, 3},
			TopicConfigTable:         map[string]TopicConfig{"T1": t1, "T2": t2},
			TopicQueueMappingInfoMap: map[string]*TopicQueueMappingInfo{"S": {BrokerName: "b", CurrIDMap: map[int32]int32{0: 1}, Epoch: 5, Scope: "__global__", Topic: "S", TotalQueues: 2}},
		},
	}
}

func TestRegisterBodyForms(t *testing.T) {
	want := registerBody()
	for _, compressed := range []bool{false, true} {
		b, err := want.Encode(compressed)
		if err != nil {
			t.Fatal(err)
		}
		got, err := DecodeRegisterBrokerBody(b, compressed, CurrentVersion)
		if err != nil {
			t.Fatal(err)
		}
		if !maps.EqualFunc(got.TopicConfigSerializeWrapper.TopicConfigTable, want.TopicConfigSerializeWrapper.TopicConfigTable, func(a, b TopicConfig) bool { return reflect.DeepEqual(a, b) }) ||
			!reflect.DeepEqual(got.TopicConfigSerializeWrapper.TopicQueueMappingInfoMap, want.TopicConfigSerializeWrapper.TopicQueueMappingInfoMap) ||
			got.TopicConfigSerializeWrapper.DataVersion != want.TopicConfigSerializeWrapper.DataVersion || got.FilterServerList[0] != "f:1" {
			t.Errorf("compressed %v: %+v", compressed, got)
		}
	}
	// A broker before 5.0 ends with the filter servers, one before 3.0.11 sends the wrapper alone.
	b, _ := want.Encode(true)
	got, err := DecodeRegisterBrokerBody(b, true, VersionV4_9_4)
	if err != nil || len(got.TopicConfigSerializeWrapper.TopicQueueMappingInfoMap) != 0 {
		t.Errorf("%+v, %v", got, err)
	}
	old := marshal(t, want.TopicConfigSerializeWrapper)
	got, err = DecodeRegisterBrokerBody([]byte(old), false, 30)
	if err != nil || len(got.TopicConfigSerializeWrapper.TopicConfigTable) != 2 {
		t.Errorf("%+v, %v", got, err)
	}
	if got, err := DecodeRegisterBrokerBody(nil, false, CurrentVersion); err != nil || got == nil {
		t.Errorf("empty body: %v", err)
	}
	blank := registerBody()
	blank.TopicConfigSerializeWrapper.TopicConfigTable["T1"].Attributes["a"] = "b c"
	if _, err := blank.Encode(true); err == nil {
		t.Error("a blank in an attribute cannot be written in the compressed form")
	}
}

func deflate(t testing.TB, parts ...any) []byte {
	t.Helper()
	var out bytes.Buffer
	zw := zlib.NewWriter(&out)
	for _, p := range parts {
		switch v := p.(type) {
		case int:
			binary.Write(zw, binary.BigEndian, int32(v))
		case string:
			binary.Write(zw, binary.BigEndian, int32(len(v)))
			zw.Write([]byte(v))
		}
	}
	if err := zw.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

func TestRegisterBodyRefuses(t *testing.T) {
	version := DataVersion{}.String()
	for name, body := range map[string][]byte{
		"no JSON":         []byte("nonsense"),
		"no zlib":         []byte("\x78nonsense"),
		"cut zlib":        deflate(t, version, 1, "T 1 1 6 SINGLE_TAG {}", "[]", 0)[:30],
		"no version":      deflate(t),
		"bad version":     deflate(t, "{"),
		"negative count":  deflate(t, version, -1),
		"missing topic":   deflate(t, version, 1),
		"huge item":       deflate(t, version, 1, 1<<30),
		"lying item":      deflate(t, version, 1, 1<<20),
		"malformed topic": deflate(t, version, 1, "T 1 1", "[]", 0),
		"no number":       deflate(t, version, 1, "T x 1 6 SINGLE_TAG", "[]", 0),
		"no servers":      deflate(t, version, 0),
		"no mappings":     deflate(t, version, 0, "[]"),
	} {
		var re *RegisterError
		if got, err := DecodeRegisterBrokerBody(body, body[0] == 0x78, CurrentVersion); !errors.As(err, &re) {
			t.Errorf("%s: %+v, %v", name, got, err)
		}
	}
	bomb := deflate(t, version, 1, strings.Repeat(" ", maxRegisterItem), "[]", 0)
	if got, err := DecodeRegisterBrokerBody(bomb, true, CurrentVersion); err == nil {
		t.Errorf("a stream that inflates %d bytes to %d: %+v", len(bomb), maxRegisterItem, got)
	}
	four := deflate(t, version, 1, "T 1 2 6 SINGLE_TAG", "[]", 0) // as 4.9 writes topics
	if b, err := DecodeRegisterBrokerBody(four, true, CurrentVersion); err != nil || b.TopicConfigSerializeWrapper.TopicConfigTable["T"].WriteQueueNums != 2 {
		t.Errorf("%+v, %v", b, err)
	}
	if err := CheckRegisterCRC([]byte("x"), 1); err == nil || !strings.Contains(err.Error(), "crc32 not match") {
		t.Error(err)
	}
}

// Tables of bodies and headers cover what the codes say, and every body type writes and reads its zero value.
func TestBodyTables(t *testing.T) {
	n := 0
	for code := range requestNames {
		for _, v := range []any{NewRequestBody(code), NewResponseBody(code)} {
			if v == nil {
				continue
			}
			n++
			if err := UnmarshalFast([]byte(marshal(t, v)), v); err != nil {
				t.Errorf("%T: %v", v, err)
			}
		}
	}
	if n < 70 {
		t.Errorf("only %d bodies", n)
	}
}
