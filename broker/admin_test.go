package broker_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/seedmq/seedmq/broker"
	"github.com/seedmq/seedmq/broker/brokertest"
	"github.com/seedmq/seedmq/conf"
	"github.com/seedmq/seedmq/remoting/protocol"
)

func startAdmin(t *testing.T, edit ...func(*broker.Options)) *brokertest.Client {
	t.Helper()
	return brokertest.Dial(t, brokertest.Start(t, edit...).Addr())
}

// fetch sends a request and decodes the JSON body of the reply, a success.
func fetch[T any](t *testing.T, c *brokertest.Client, code protocol.RequestCode, h protocol.HeaderEncoder, body string) (out T) {
	t.Helper()
	r := c.Must(code, h, []byte(body), nil)
	if err := protocol.UnmarshalFast(r.Body, &out); err != nil {
		t.Fatalf("request %d: %v in %s", code, err, r.Body)
	}
	return out
}

func refused(t *testing.T, r *protocol.Command, code protocol.ResponseCode, parts ...string) {
	t.Helper()
	if r.Code != code {
		t.Errorf("code %d %q, want %d", r.Code, r.Remark, code)
	}
	for _, p := range parts {
		if !strings.Contains(r.Remark, p) {
			t.Errorf("remark %q does not say %q", r.Remark, p)
		}
	}
}

func newTopic(name string, queues int32) *protocol.UpdateAndCreateTopicRequestHeader {
	return &protocol.UpdateAndCreateTopicRequestHeader{Topic: name, DefaultTopic: "TBW102", ReadQueueNums: queues, WriteQueueNums: queues, Perm: 6}
}

func TestTopicLife(t *testing.T) {
	b := brokertest.Start(t)
	c := brokertest.Dial(t, b.Addr())
	h := newTopic("T", 4)
	h.Attributes = "+message.type=FIFO"
	c.Must(protocol.ReqUpdateAndCreateTopic, h, nil, nil)
	get := func() protocol.TopicConfig {
		return fetch[protocol.TopicConfig](t, c, protocol.ReqGetTopicConfig, &protocol.GetTopicConfigRequestHeader{Topic: "T"}, "")
	}
	if got := get(); got.ReadQueueNums != 4 || got.Perm != 6 || got.Attributes["message.type"] != "FIFO" {
		t.Fatalf("%+v", got)
	}
	c.Send("T", 3, "KEYS\x01k\x02", "m")
	lastOf(t, c, "T", 3)
	c.Must(protocol.ReqUpdateConsumerOffset, &protocol.UpdateConsumerOffsetRequestHeader{ConsumerGroup: "g", Topic: "T", QueueID: 3}, nil, nil)
	c.Must(protocol.ReqUpdateAndCreateTopic, newTopic("T", 2), nil, nil)
	if got := get(); got.ReadQueueNums != 2 || got.Attributes["message.type"] != "FIFO" {
		t.Fatalf("%+v", got)
	}
	if !strings.Contains(b.Log(), "queue 3 is taken away from group g with 1 messages unread") {
		t.Error("nobody is warned of unread messages")
	}
	c.Must(protocol.ReqUpdateAndCreateTopic, newTopic("T", 4), nil, nil)
	if got := stored(t, c, "T", 3, 1); string(got[0].Body) != "m" {
		t.Error("messages of a queue that was taken away are lost")
	}
	c.Must(protocol.ReqDeleteTopicInBroker, &protocol.DeleteTopicInBrokerRequestHeader{Topic: "T"}, nil, nil)
	refused(t, c.Call(protocol.ReqGetTopicConfig, &protocol.GetTopicConfigRequestHeader{Topic: "T"}, nil), protocol.RespTopicNotExist, "T")
	refused(t, c.Call(protocol.ReqGetTopicStatsInfo, &protocol.GetTopicStatsInfoRequestHeader{Topic: "T"}, nil), protocol.RespTopicNotExist, "topic[T] not exist")
	if got := fetch[protocol.TopicList](t, c, protocol.ReqQueryTopicsByConsumer, &protocol.QueryTopicsByConsumerRequestHeader{Group: "g"}, ""); len(got.TopicList) != 0 {
		t.Errorf("offsets of a deleted topic: %v", got.TopicList)
	}
	c.Must(protocol.ReqUpdateAndCreateTopic, newTopic("T", 4), nil, nil)
	s := fetch[protocol.TopicStatsTable](t, c, protocol.ReqGetTopicStatsInfo, &protocol.GetTopicStatsInfoRequestHeader{Topic: "T"}, "")
	if q := s.OffsetTable[protocol.MessageQueue{BrokerName: "test-broker", QueueID: 3, Topic: "T"}]; len(s.OffsetTable) != 4 || q.MaxOffset != 0 {
		t.Errorf("a topic made anew has messages: %+v", s)
	}
}

func TestTopicRefusals(t *testing.T) {
	c := startAdmin(t)
	c.Must(protocol.ReqUpdateAndCreateTopic, newTopic("T", 4), nil, nil)
	for _, x := range []struct {
		edit func(h *protocol.UpdateAndCreateTopicRequestHeader)
		code protocol.ResponseCode
		say  string
	}{
		{func(h *protocol.UpdateAndCreateTopicRequestHeader) { h.Topic = "../../etc" }, protocol.RespInvalidParameter, "illegal characters"},
		{func(h *protocol.UpdateAndCreateTopicRequestHeader) { h.Topic = " " }, protocol.RespInvalidParameter, "blank"},
		{func(h *protocol.UpdateAndCreateTopicRequestHeader) { h.Topic = strings.Repeat("x", 128) }, protocol.RespInvalidParameter, "longer"},
		{func(h *protocol.UpdateAndCreateTopicRequestHeader) { h.Topic = "TBW102" }, protocol.RespInvalidParameter, "The topic[TBW102] is conflict with system topic."},
		{func(h *protocol.UpdateAndCreateTopicRequestHeader) { h.Topic = "TestCluster" }, protocol.RespInvalidParameter, "system topic"},
		{func(h *protocol.UpdateAndCreateTopicRequestHeader) { h.ReadQueueNums = -1 }, protocol.RespInvalidParameter, "-1"},
		{func(h *protocol.UpdateAndCreateTopicRequestHeader) { h.WriteQueueNums = 1 << 30 }, protocol.RespInvalidParameter, "16384"},
		{func(h *protocol.UpdateAndCreateTopicRequestHeader) { h.Perm = 64 }, protocol.RespInvalidParameter, "perm 64"},
		{func(h *protocol.UpdateAndCreateTopicRequestHeader) { h.TopicFilterType = "WHAT" }, protocol.RespInvalidParameter, "topicFilterType"},
		{func(h *protocol.UpdateAndCreateTopicRequestHeader) { h.Attributes = "+no.such=1" }, protocol.RespSystemError, "unsupported key: no.such"},
		{func(h *protocol.UpdateAndCreateTopicRequestHeader) { h.Attributes = "queue.type=BatchCQ" }, protocol.RespSystemError, "format is wrong"},
		{func(h *protocol.UpdateAndCreateTopicRequestHeader) { h.Attributes = "+queue.type" }, protocol.RespSystemError, "format is wrong"},
		{func(h *protocol.UpdateAndCreateTopicRequestHeader) { h.Attributes = "+queue.type=BatchCQ" }, protocol.RespSystemError, "unchangeable"},
		{func(h *protocol.UpdateAndCreateTopicRequestHeader) { h.Attributes = "-message.type" }, protocol.RespSystemError, "nonexistent"},
		{func(h *protocol.UpdateAndCreateTopicRequestHeader) { h.Attributes = "+message.type=ODD" }, protocol.RespSystemError, "not in set"},
		{func(h *protocol.UpdateAndCreateTopicRequestHeader) { h.Attributes = "+reserve.time=-2" }, protocol.RespSystemError, "not in range"},
		{func(h *protocol.UpdateAndCreateTopicRequestHeader) { h.Attributes = "+reserve.time=1,+reserve.time=2" }, protocol.RespSystemError, "duplication"},
		{func(h *protocol.UpdateAndCreateTopicRequestHeader) { h.Attributes = "+reserve.time=1,-reserve.time" }, protocol.RespSystemError, "duplication"},
		{func(h *protocol.UpdateAndCreateTopicRequestHeader) { h.Topic, h.Attributes = "New", "-reserve.time" }, protocol.RespSystemError, "only add"},
	} {
		h := newTopic("T", 4)
		x.edit(h)
		refused(t, c.Call(protocol.ReqUpdateAndCreateTopic, h, nil), x.code, x.say)
	}
	for _, name := range []string{"", "../T", "SCHEDULE_TOPIC_XXXX", "test-broker", "rmq_sys_x"} {
		refused(t, c.Call(protocol.ReqDeleteTopicInBroker, &protocol.DeleteTopicInBrokerRequestHeader{Topic: name}, nil), protocol.RespInvalidParameter)
	}
	refused(t, c.Call(protocol.ReqUpdateAndCreateTopic, nil, nil), protocol.RespSystemError, "topic")
	refused(t, c.Call(protocol.ReqUpdateAndCreateTopicList, nil, []byte(`{"topicConfigList":[{"topicName":"Good"},{"topicName":"bad name"}]}`)), protocol.RespInvalidParameter, "bad name")
	refused(t, c.Call(protocol.ReqGetTopicConfig, &protocol.GetTopicConfigRequestHeader{Topic: "Good"}, nil), protocol.RespTopicNotExist)
	refused(t, c.Call(protocol.ReqUpdateAndCreateTopicList, nil, nil), protocol.RespInvalidParameter, "no body")
	refused(t, c.Call(protocol.ReqUpdateAndCreateTopicList, nil, []byte(`{{`)), protocol.RespInvalidParameter, "body")
}

func TestPages(t *testing.T) {
	c := startAdmin(t)
	for i := range 5 {
		c.Must(protocol.ReqUpdateAndCreateTopic, newTopic(fmt.Sprint("T", i), 1), nil, nil)
	}
	all := fetch[protocol.TopicConfigWrapper](t, c, protocol.ReqGetAllTopicConfig, nil, "")
	got := map[string]bool{}
	version := ""
	for seq, pages := int32(0), 0; ; pages++ {
		r := c.Must(protocol.ReqGetAllTopicConfig, &protocol.GetAllTopicConfigRequestHeader{TopicSeq: seq, DataVersion: version, MaxTopicNum: protocol.Some[int32](3)}, nil, nil)
		var w protocol.TopicConfigWrapper
		if err := protocol.UnmarshalFast(r.Body, &w); err != nil {
			t.Fatal(err)
		}
		if len(w.TopicConfigTable) > 3 || len(w.TopicConfigTable) == 0 || pages > 20 {
			t.Fatalf("page %d at %d has %d topics", pages, seq, len(w.TopicConfigTable))
		}
		for name := range w.TopicConfigTable {
			if got[name] {
				t.Errorf("%s came twice", name)
			}
			got[name] = true
		}
		b, _ := json.Marshal(w.DataVersion)
		version = string(b)
		seq += int32(len(w.TopicConfigTable))
		if total, _ := r.Ext.Get("totalTopicNum"); fmt.Sprint(seq) == total {
			break
		}
	}
	if len(got) != len(all.TopicConfigTable) {
		t.Errorf("%d topics in pages, %d in all", len(got), len(all.TopicConfigTable))
	}
	c.Must(protocol.ReqUpdateAndCreateTopic, newTopic("Another", 1), nil, nil) // pages begin anew when the table changed
	w := fetch[protocol.TopicConfigWrapper](t, c, protocol.ReqGetAllTopicConfig, &protocol.GetAllTopicConfigRequestHeader{TopicSeq: 5, DataVersion: version, MaxTopicNum: protocol.Some[int32](1)}, "")
	if first := slices.Sorted(maps.Keys(w.TopicConfigTable)); !slices.Equal(first, []string{"Another"}) {
		t.Errorf("page begins with %v", first)
	}
	g := fetch[protocol.SubscriptionGroupWrapper](t, c, protocol.ReqGetAllSubscriptionGroupConfig, &protocol.GetAllSubscriptionGroupConfigRequestHeader{MaxGroupNum: protocol.Some[int32](2)}, "")
	if len(g.SubscriptionGroupTable) != 2 || g.ForbiddenTable == nil {
		t.Errorf("%+v", g)
	}
}

func TestGroupLife(t *testing.T) {
	c := startAdmin(t)
	c.Must(protocol.ReqUpdateAndCreateTopic, newTopic("T", 2), nil, nil)
	c.Must(protocol.ReqUpdateAndCreateSubscriptionGroup, nil, []byte(`{"groupName":"G","retryMaxTimes":3}`), nil)
	group := &protocol.GetSubscriptionGroupConfigRequestHeader{Group: "G"}
	if g := fetch[protocol.SubscriptionGroupConfig](t, c, protocol.ReqGetSubscriptionGroupConfig, group, ""); g.RetryMaxTimes != 3 || !g.ConsumeEnable {
		t.Fatalf("%+v", g)
	}
	forbid := &protocol.UpdateAndGetGroupForbiddenRequestHeader{Group: "G", Topic: "T", Readable: protocol.Some(false)}
	if f := fetch[protocol.GroupForbidden](t, c, protocol.ReqUpdateAndGetGroupForbidden, forbid, ""); f.Readable {
		t.Errorf("%+v", f)
	}
	forbid.Readable = protocol.Opt[bool]{}
	if f := fetch[protocol.GroupForbidden](t, c, protocol.ReqUpdateAndGetGroupForbidden, forbid, ""); f.Readable {
		t.Errorf("%+v", f)
	}
	commitAt(c, "G", "T", 0, 0)
	c.Must(protocol.ReqDeleteSubscriptionGroup, &protocol.DeleteSubscriptionGroupRequestHeader{GroupName: "G"}, nil, nil)
	refused(t, c.Call(protocol.ReqGetSubscriptionGroupConfig, group, nil), protocol.RespSubscriptionGroupNotExist, "G")
	topics := func() []string {
		return fetch[protocol.TopicList](t, c, protocol.ReqQueryTopicsByConsumer, &protocol.QueryTopicsByConsumerRequestHeader{Group: "G"}, "").TopicList
	}
	if !slices.Equal(topics(), []string{"T"}) {
		t.Errorf("offsets are gone with the group: %v", topics())
	}
	c.Must(protocol.ReqDeleteSubscriptionGroup, &protocol.DeleteSubscriptionGroupRequestHeader{GroupName: "G", CleanOffset: protocol.Some(true)}, nil, nil)
	if len(topics()) != 0 {
		t.Errorf("offsets stay: %v", topics())
	}
	for _, body := range []string{`{"groupName":"bad group"}`, `{"groupName":""}`, `{"groupName":"G","retryMaxTimes":-1}`, `{"groupName":"G","retryQueueNums":99999}`, `{`, ``} {
		refused(t, c.Call(protocol.ReqUpdateAndCreateSubscriptionGroup, nil, []byte(body)), protocol.RespInvalidParameter)
	}
	refused(t, c.Call(protocol.ReqUpdateAndCreateSubscriptionGroup, nil, []byte(`{"groupName":"G","attributes":{"+x":"y"}}`)), protocol.RespSystemError, "unsupported key")
	refused(t, c.Call(protocol.ReqUpdateAndCreateSubscriptionGroupList, nil, []byte(`{"groupConfigList":[{"groupName":"Good"},{"groupName":"b d"}]}`)), protocol.RespInvalidParameter)
	refused(t, c.Call(protocol.ReqGetSubscriptionGroupConfig, &protocol.GetSubscriptionGroupConfigRequestHeader{Group: "Good"}, nil), protocol.RespSubscriptionGroupNotExist)
}

// commitAt commits an offset for a group, which is made when it is not there.
func commitAt(c *brokertest.Client, group, topic string, queue int32, off int64) {
	if r := c.Call(protocol.ReqGetSubscriptionGroupConfig, &protocol.GetSubscriptionGroupConfigRequestHeader{Group: group}, nil); r.Code != protocol.RespSuccess {
		c.Must(protocol.ReqUpdateAndCreateSubscriptionGroup, nil, []byte(`{"groupName":"`+group+`"}`), nil)
	}
	c.Must(protocol.ReqUpdateConsumerOffset, &protocol.UpdateConsumerOffsetRequestHeader{ConsumerGroup: group, Topic: topic, QueueID: queue, CommitOffset: off}, nil, nil)
}

// pullAs pulls the first queue of T as a member of a group that may not exist.
func pullAs(c *brokertest.Client, group string) *protocol.Command {
	h := pullHeader("T", 0, 0)
	h.ConsumerGroup = group
	return c.Call(protocol.ReqPullMessage, h, nil)
}

func TestConfig(t *testing.T) {
	c := startAdmin(t)
	text := func() string { return "\n" + string(c.Must(protocol.ReqGetBrokerConfig, nil, nil, nil).Body) }
	var before, after protocol.GetBrokerConfigResponseHeader
	c.Must(protocol.ReqGetBrokerConfig, nil, nil, &before)
	for _, x := range []struct {
		body string
		code protocol.ResponseCode
		say  string
	}{
		{"storePathRootDir=/tmp/x", protocol.RespNoPermission, "storePathRootDir"},
		{"storePathCommitLog=/tmp/x", protocol.RespNoPermission, "storePathCommitLog"},
		{"brokerIP1=10.0.0.1", protocol.RespNoPermission, "brokerIP1"},
		{"namesrvAddr=10.0.0.1:9876", protocol.RespNoPermission, "namesrvAddr"},
		{"listenPort=1", protocol.RespNoPermission, "listenPort"},
		{"rocketmqHome=-c $(id) `id`", protocol.RespInvalidParameter, "rocketmqHome"},
		{"configBlackList=x", protocol.RespNoPermission, "Can not update config in black list."},
		{"brokerConfigPath=/x", protocol.RespNoPermission, conf.BlackListRemark},
		{"filterServerNums=1", protocol.RespInvalidParameter, "filterServerNums"},
		{"deleteWhen=25", protocol.RespInvalidParameter, `"25" is no hour`},
		{"deleteWhen=", protocol.RespInvalidParameter, "deleteWhen"},
		{"maxMessageSize=0", protocol.RespInvalidParameter, "maxMessageSize"},
		{"fileReservedTime=-1", protocol.RespInvalidParameter, "fileReservedTime"},
		{"diskMaxUsedSpaceRatio=x", protocol.RespInvalidParameter, "diskMaxUsedSpaceRatio"},
		{"traceOnn=true", protocol.RespInvalidParameter, "traceOn"},
		{"traceOn=maybe", protocol.RespInvalidParameter, "traceOn"},
		{"traceOn=false\nstorePathRootDir=/x", protocol.RespNoPermission, "storePathRootDir"},
		{`traceOn=\u00`, protocol.RespInvalidParameter, "body"},
	} {
		refused(t, c.Call(protocol.ReqUpdateBrokerConfig, nil, []byte(x.body)), x.code, x.say)
	}
	if !strings.Contains(text(), "\ntraceOn=true\n") {
		t.Error("a refused request changed something")
	}
	c.Must(protocol.ReqUpdateBrokerConfig, nil, []byte("traceOn=false\n"), nil)
	c.Must(protocol.ReqUpdateBrokerConfig, nil, nil, nil)
	c.Must(protocol.ReqGetBrokerConfig, nil, nil, &after)
	if !strings.Contains(text(), "\ntraceOn=false\n") || after.Version == before.Version {
		t.Error(text())
	}
	var h protocol.SendMessageResponseHeader
	c.Must(protocol.ReqSendMessageV2, brokertest.SendHeader("T", 0, ""), []byte("x"), &h)
	if h.TraceOn != "false" {
		t.Errorf("the change has no effect: %+v", h)
	}
	c.Must(protocol.ReqUpdateBrokerConfig, nil, []byte("maxMessageSize=10\nautoCreateTopicEnable=false\nautoCreateSubscriptionGroup=false\n"), nil)
	refused(t, c.Call(protocol.ReqSendMessageV2, brokertest.SendHeader("T", 0, ""), []byte("too large a body")), protocol.RespMessageIllegal)
	refused(t, c.Call(protocol.ReqSendMessageV2, brokertest.SendHeader("New", 0, ""), []byte("x")), protocol.RespTopicNotExist)
	refused(t, pullAs(c, "NewGroup"), protocol.RespSubscriptionGroupNotExist)
	c.Must(protocol.ReqUpdateBrokerConfig, nil, []byte("autoCreateTopicEnable=true\nautoCreateSubscriptionGroup=true\ndefaultTopicQueueNums=2\n"), nil)
	c.Send("New", 0, "", "x")
	if r := pullAs(c, "NewGroup"); r.Code == protocol.RespSubscriptionGroupNotExist {
		t.Error(r.Remark)
	}
	if got := fetch[protocol.TopicConfig](t, c, protocol.ReqGetTopicConfig, &protocol.GetTopicConfigRequestHeader{Topic: "New"}, ""); got.WriteQueueNums != 2 {
		t.Errorf("%+v", got)
	}
	version := func() protocol.DataVersion {
		return fetch[protocol.TopicConfigWrapper](t, c, protocol.ReqGetAllTopicConfig, nil, "").DataVersion
	}
	was := version()
	c.Must(protocol.ReqUpdateBrokerConfig, nil, []byte("brokerPermission=4\n"), nil)
	if version() == was {
		t.Error("a change of the permission does not reach the NameServers: the data version stands")
	}
}

func TestFigures(t *testing.T) {
	c := startAdmin(t)
	c.Send("T", 0, "", "x")
	c.Send("T", 0, "DELAY\x0118\x02", "x")
	lastOf(t, c, protocol.TopicSchedule, 17)
	kv := fetch[protocol.KVTable](t, c, protocol.ReqGetBrokerRuntimeInfo, nil, "").Table
	for k, want := range map[string]string{"brokerActive": "true", "msgPutTotalTodayNow": "2", "scheduleMessageOffset_18": "0,1", "putTps": "0.0 0.0 0.0",
		"brokerVersionDesc": "V5_5_0", "putMessageFailedTimes": "0", "putMessageTimesTotal": "2"} {
		if kv[k] != want {
			t.Errorf("%s is %q, want %q", k, kv[k], want)
		}
	}
	if kv["earliestMessageTimeStamp"] == "" || !strings.HasPrefix(kv["runtime"], "[ 0 days, 0 hours, ") || !strings.HasPrefix(kv["commitLogDirCapacity"], "Total : ") {
		t.Errorf("%v", kv)
	}
	d := &protocol.ViewBrokerStatsDataRequestHeader{StatsName: "TOPIC_PUT_NUMS", StatsKey: "T"}
	fetch[protocol.BrokerStatsData](t, c, protocol.ReqViewBrokerStatsData, d, "")
	d.StatsKey = "Nothing"
	refused(t, c.Call(protocol.ReqViewBrokerStatsData, d, nil), protocol.RespSystemError, "The stats <TOPIC_PUT_NUMS> <Nothing> not exist")
	if ha := fetch[protocol.HARuntimeInfo](t, c, protocol.ReqGetBrokerHAStatus, nil, ""); !ha.Master || ha.MasterCommitLogMaxOffset == 0 || len(ha.HAConnectionInfo) != 0 {
		t.Errorf("%+v", ha)
	}
}

func TestWhatIsNotThereSaysSo(t *testing.T) {
	c := startAdmin(t)
	for _, code := range []protocol.RequestCode{323, 354, 355, 1007, 2001, 2002, 2004, 3001, 3002, 3003, 3004, 3005, 3006, 3007, 3008, 3009, 3010} {
		if r := c.Call(code, nil, nil); r.Code != protocol.RespSystemError || len(r.Remark) < 20 {
			t.Errorf("%d: %d %q", code, r.Code, r.Remark)
		}
	}
	fetch[protocol.ColdDataFlowCtrInfo](t, c, protocol.ReqGetColdDataFlowCtrInfo, nil, "")
	c.Must(protocol.ReqResetMasterFlushOffset, &protocol.ResetMasterFlushOffsetRequestHeader{MasterFlushOffset: 1}, nil, nil)
}
