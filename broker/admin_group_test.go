package broker_test

import (
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/seedmq/seedmq/broker"
	"github.com/seedmq/seedmq/broker/brokertest"
	"github.com/seedmq/seedmq/remoting"
	"github.com/seedmq/seedmq/remoting/protocol"
)

// startFilled has topic T with n messages in each of two queues.
func startFilled(t *testing.T, n int, edit ...func(*broker.Options)) (*brokertest.Broker, *brokertest.Client) {
	t.Helper()
	b := brokertest.Start(t, edit...)
	c := brokertest.Dial(t, b.Addr())
	c.Must(protocol.ReqUpdateAndCreateTopic, newTopic("T", 2), nil, nil)
	for q := range int32(2) {
		for range n {
			c.Send("T", q, "TAGS\x01a\x02KEYS\x01k1 k2\x02", "m")
		}
		stored(t, c, "T", q, n)
	}
	return b, c
}

func queue(id int32) protocol.MessageQueue {
	return protocol.MessageQueue{BrokerName: "test-broker", QueueID: id, Topic: "T"}
}

func reset(group string) *protocol.InvokeBrokerToResetOffsetRequestHeader {
	return &protocol.InvokeBrokerToResetOffsetRequestHeader{Group: group, Topic: "T", Timestamp: -1, QueueID: protocol.Some[int32](-1), Offset: protocol.Some[int64](-1), IsForce: true}
}

func TestResetOffset(t *testing.T) {
	_, c := startFilled(t, 5)
	commitAt(c, "G", "T", 0, 2)
	got := fetch[protocol.ResetOffsetBody](t, c, protocol.ReqInvokeBrokerToResetOffset, reset("G"), "").OffsetTable
	if len(got) != 2 || got[queue(0)] != 5 || got[queue(1)] != 5 {
		t.Fatalf("to the end: %v", got)
	}
	early := reset("G")
	early.Timestamp = 0
	got = fetch[protocol.ResetOffsetBody](t, c, protocol.ReqInvokeBrokerToResetOffset, early, "").OffsetTable
	if len(got) != 2 || got[queue(0)] != 0 {
		t.Fatalf("to the beginning: %v", got)
	}
	late := reset("G")
	late.Timestamp = math.MaxInt64
	if got = fetch[protocol.ResetOffsetBody](t, c, protocol.ReqInvokeBrokerToResetOffset, late, "").OffsetTable; got[queue(1)] != 5 {
		t.Fatalf("to a time that has not come: %v", got)
	}
	one := reset("G")
	one.QueueID, one.Offset = protocol.Some[int32](1), protocol.Some[int64](3)
	got = fetch[protocol.ResetOffsetBody](t, c, protocol.ReqInvokeBrokerToResetOffset, one, "").OffsetTable
	if len(got) != 1 || got[queue(1)] != 3 {
		t.Fatalf("one queue: %v", got)
	}
	h := pullHeader("T", 1, 5) // the next pull is told
	h.ConsumerGroup = "G"
	r := c.Call(protocol.ReqPullMessage, h, nil)
	if next, _ := r.Ext.Get("nextBeginOffset"); r.Code != protocol.RespPullOffsetMoved || next != "3" {
		t.Fatalf("code %d, next %s", r.Code, next)
	}
	one.Offset = protocol.Some[int64](6)
	refused(t, c.Call(protocol.ReqInvokeBrokerToResetOffset, one, nil), protocol.RespSystemError, "6", "[0-5]")
	one.Topic = "Nothing"
	refused(t, c.Call(protocol.ReqInvokeBrokerToResetOffset, one, nil), protocol.RespTopicNotExist, "Nothing")
	unknown := reset("Typo") // nothing is stored of a group that nobody made
	refused(t, c.Call(protocol.ReqInvokeBrokerToResetOffset, unknown, nil), protocol.RespSubscriptionGroupNotExist, "Typo")
	refused(t, c.Call(protocol.ReqGetSubscriptionGroupConfig, &protocol.GetSubscriptionGroupConfigRequestHeader{Group: "Typo"}, nil), protocol.RespSubscriptionGroupNotExist, "Typo")
	one.Topic, one.QueueID, one.Offset = "T", protocol.Some[int32](7), protocol.Opt[int64]{}
	refused(t, c.Call(protocol.ReqInvokeBrokerToResetOffset, one, nil), protocol.RespSystemError, "No queues")
}

func TestResetByPush(t *testing.T) {
	b, c := startFilled(t, 5, func(o *broker.Options) { o.Broker.UseServerSideResetOffset = false })
	refused(t, c.Call(protocol.ReqInvokeBrokerToResetOffset, reset("G"), nil), protocol.RespSubscriptionGroupNotExist, "G")
	c.Must(protocol.ReqUpdateAndCreateSubscriptionGroup, nil, []byte(`{"groupName":"G"}`), nil)
	refused(t, c.Call(protocol.ReqInvokeBrokerToResetOffset, reset("G"), nil), protocol.RespSystemError, "G")
	commitAt(c, "G", "T", 0, 2)
	commitAt(c, "G", "T", 1, 2)
	refused(t, c.Call(protocol.ReqInvokeBrokerToResetOffset, reset("G"), nil), protocol.RespConsumerNotOnline, "G")
	client := brokertest.Dial(t, b.Addr())
	client.Heartbeat("G", protocol.SubscriptionData{Topic: "T", SubString: "*"})
	c.Must(protocol.ReqInvokeBrokerToResetOffset, reset("G"), nil, nil)
	push := nextPush(client, protocol.ReqResetConsumerClientOffset)
	var body protocol.ResetOffsetBody
	if err := protocol.UnmarshalFast(push.Body, &body); err != nil || body.OffsetTable[queue(0)] != 5 || !push.IsOneway() {
		t.Fatalf("%s %v", push.Body, err)
	}
	for _, x := range []struct {
		language protocol.Language
		form     string // of the first queue
	}{{protocol.LanguageCPP, `{"offsetTable":[{"`}, {protocol.LanguageGo, `{"offsetTable":[[{"`}, {protocol.LanguageJava, `{"offsetTable":{{"`}} {
		other := brokertest.Dial(t, b.Addr())
		body, err := protocol.MarshalFast(&protocol.HeartbeatData{ClientID: other.ID(), ConsumerDataSet: []protocol.ConsumerData{{GroupName: "G",
			ConsumeType: protocol.ConsumePassively, MessageModel: protocol.ModelClustering, SubscriptionDataSet: []protocol.SubscriptionData{{Topic: "T", SubString: "*"}}}}})
		if err != nil {
			t.Fatal(err)
		}
		hb := protocol.NewRequest(protocol.ReqHeartBeat, nil, body)
		hb.Language, hb.Version = x.language, protocol.CurrentVersion
		if r := other.Do(hb); r.Code != protocol.RespSuccess {
			t.Fatal(r.Remark)
		}
		c.Must(protocol.ReqInvokeBrokerToResetOffset, reset("G"), nil, nil)
		if got := nextPush(other, protocol.ReqResetConsumerClientOffset).Body; !strings.HasPrefix(string(got), x.form) {
			t.Errorf("a client of %v gets %s, want %s...", x.language, got, x.form)
		}
	}
	gentle := reset("G")
	gentle.IsForce = false // only back, never forward
	got := fetch[protocol.ResetOffsetBody](t, c, protocol.ReqInvokeBrokerToResetOffset, gentle, "").OffsetTable
	if got[queue(0)] != 2 {
		t.Fatalf("%v", got)
	}
}

// nextPush is the next request with that code.
func nextPush(c *brokertest.Client, code protocol.RequestCode) *protocol.Command {
	for {
		if p := c.Push(); p.Code == int32(code) {
			return p
		}
	}
}

func TestRelay(t *testing.T) {
	b, c := startFilled(t, 1)
	h := &protocol.GetConsumerRunningInfoRequestHeader{ConsumerGroup: "G", ClientID: "nobody"}
	refused(t, c.Call(protocol.ReqGetConsumerRunningInfo, h, nil), protocol.RespSystemError, "The Consumer <G> <nobody> not online")
	client := brokertest.Dial(t, b.Addr())
	client.Heartbeat("G", protocol.SubscriptionData{Topic: "T", SubString: "*"})
	h.ClientID = client.ID()
	const unclean = `{"mqTable":{{"topic":"T"}:{}}, "jstack":"a` + "\n" + `b" }`
	answered := make(chan *protocol.Command, 1)
	go func() {
		p := nextPush(client, protocol.ReqGetConsumerRunningInfo)
		client.Conn.Reply(p, &remoting.Reply{Body: []byte(unclean), Remark: "hi"})
		p = nextPush(client, protocol.ReqConsumeMessageDirectly)
		client.Conn.Reply(p, &remoting.Reply{Code: protocol.RespSystemError, Remark: "cannot"})
		answered <- p
	}()
	if r := c.Must(protocol.ReqGetConsumerRunningInfo, h, nil, nil); string(r.Body) != unclean || r.Remark != "hi" {
		t.Fatalf("%q %q", r.Body, r.Remark)
	}
	m := stored(t, c, "T", 0, 1)[0]
	direct := &protocol.ConsumeMessageDirectlyRequestHeader{ConsumerGroup: "G", ClientID: client.ID(), MsgID: m.OffsetMsgID(), Topic: "T", BrokerName: "forged"}
	refused(t, c.Call(protocol.ReqConsumeMessageDirectly, direct, nil), protocol.RespSystemError, "cannot")
	p := <-answered
	if got := brokertest.Messages(t, p.Body); len(got) != 1 || got[0].PhysicalOffset != m.PhysicalOffset {
		t.Fatalf("%+v", got)
	}
	for k, v := range map[string]string{"brokerName": "test-broker", "topicSysFlag": "0", "groupSysFlag": "0", "clientId": client.ID()} {
		if got, _ := p.Ext.Get(k); got != v {
			t.Errorf("%s is %q, want %q", k, got, v)
		}
	}
	direct.MsgID = "xyz"
	refused(t, c.Call(protocol.ReqConsumeMessageDirectly, direct, nil), protocol.RespSystemError, "xyz")
	direct.MsgID = protocol.OffsetMsgID(b.Self(), 1<<40)
	refused(t, c.Call(protocol.ReqConsumeMessageDirectly, direct, nil), protocol.RespSystemError, "can not find message")
}

func TestConsumerStatus(t *testing.T) {
	b, c := startFilled(t, 1)
	h := &protocol.InvokeBrokerToGetConsumerStatusRequestHeader{Group: "G", Topic: "T"}
	refused(t, c.Call(protocol.ReqInvokeBrokerToGetConsumerStatus, h, nil), protocol.RespSystemError, "G")
	var ids []string
	for i := range 2 {
		client := brokertest.Dial(t, b.Addr())
		client.Heartbeat("G", protocol.SubscriptionData{Topic: "T", SubString: "*"})
		ids = append(ids, client.ID())
		done := make(chan struct{})
		go func() {
			defer close(done)
			for range 2 - i { // the first is asked twice
				p := nextPush(client, protocol.ReqGetConsumerStatusFromClient)
				client.Conn.Reply(p, relayAnswer(p))
			}
		}()
		t.Cleanup(func() { <-done })
	}
	got := fetch[protocol.GetConsumerStatusBody](t, c, protocol.ReqInvokeBrokerToGetConsumerStatus, h, "").ConsumerTable
	if len(got) != 2 || len(got[ids[0]]) != 1 {
		t.Fatalf("%v", got)
	}
	h.ClientAddr = ids[0]
	if got = fetch[protocol.GetConsumerStatusBody](t, c, protocol.ReqInvokeBrokerToGetConsumerStatus, h, "").ConsumerTable; len(got) != 1 {
		t.Fatalf("%v", got)
	}
}

func TestProgress(t *testing.T) {
	b, c := startFilled(t, 5)
	commitAt(c, "G", "T", 0, 2)
	stats := func(h *protocol.GetConsumeStatsRequestHeader) map[protocol.MessageQueue]protocol.OffsetWrapper {
		return fetch[protocol.ConsumeStats](t, c, protocol.ReqGetConsumeStats, h, "").OffsetTable
	}
	at := stored(t, c, "T", 0, 2)[1].StoreTimestamp
	want := protocol.OffsetWrapper{BrokerOffset: 5, ConsumerOffset: 2, PullOffset: 2, LastTimestamp: at}
	for _, h := range []*protocol.GetConsumeStatsRequestHeader{{ConsumerGroup: "G"}, {ConsumerGroup: "G", Topic: "T"}, {ConsumerGroup: "G", TopicList: "T;Nothing"}} {
		if got := stats(h); len(got) != 2 || got[queue(0)] != want || got[queue(1)].BrokerOffset != 5 {
			t.Errorf("%+v: %+v", h, got)
		}
	}
	all := fetch[protocol.ConsumeStatsList](t, c, protocol.ReqGetBrokerConsumeStats, &protocol.GetBrokerConsumeStatsRequestHeader{}, "")
	if i := slices.IndexFunc(all.ConsumeStatsList, func(m map[string][]protocol.ConsumeStats) bool { return len(m["G"]) == 1 }); i < 0 || all.BrokerAddr != b.Self().String() {
		t.Errorf("%+v", all)
	}
	if all.TotalDiff < 8 {
		t.Errorf("total lag %d", all.TotalDiff)
	}
	ordered := fetch[protocol.ConsumeStatsList](t, c, protocol.ReqGetBrokerConsumeStats, &protocol.GetBrokerConsumeStatsRequestHeader{IsOrder: true}, "")
	if ordered.TotalDiff != 0 {
		t.Errorf("%+v", ordered)
	}
	spans := fetch[protocol.QueryConsumeTimeSpanBody](t, c, protocol.ReqQueryConsumeTimeSpan, &protocol.QueryConsumeTimeSpanRequestHeader{Topic: "T", Group: "G"}, "").ConsumeTimeSpanSet
	if len(spans) != 2 || spans[0].ConsumeTimestamp != at || spans[0].MinTimestamp > at || spans[0].MaxTimestamp < at || spans[0].MessageQueue != queue(0) {
		t.Errorf("%+v", spans)
	}
	// A connected group that does not subscribe any more is left out.
	client := brokertest.Dial(t, b.Addr())
	client.Heartbeat("G", protocol.SubscriptionData{Topic: "Other", SubString: "*"})
	if got := stats(&protocol.GetConsumeStatsRequestHeader{ConsumerGroup: "G", Topic: "T"}); len(got) != 0 {
		t.Errorf("%+v", got)
	}
}

func TestGroupsAndTopicsOfEachOther(t *testing.T) {
	b, c := startFilled(t, 5)
	commitAt(c, "Offline", "T", 0, 1)
	client := brokertest.Dial(t, b.Addr())
	client.Heartbeat("Online", protocol.SubscriptionData{Topic: "T", SubString: "a || b"})
	who := fetch[protocol.GroupList](t, c, protocol.ReqQueryTopicConsumeByWho, &protocol.QueryTopicConsumeByWhoRequestHeader{Topic: "T"}, "").GroupList
	if !slices.Equal(who, []string{"Offline", "Online"}) && !slices.Equal(who, []string{"Offline", "Online", "g"}) {
		t.Errorf("%v", who)
	}
	sub := fetch[protocol.QuerySubscriptionResponseBody](t, c, protocol.ReqQuerySubscriptionByConsumer, &protocol.QuerySubscriptionByConsumerRequestHeader{Group: "Online", Topic: "T"}, "")
	if sub.SubscriptionData == nil || sub.SubscriptionData.SubString != "a || b" {
		t.Errorf("%+v", sub)
	}
	sub = fetch[protocol.QuerySubscriptionResponseBody](t, c, protocol.ReqQuerySubscriptionByConsumer, &protocol.QuerySubscriptionByConsumerRequestHeader{Group: "Offline", Topic: "T"}, "")
	if sub.SubscriptionData != nil || sub.Group != "Offline" {
		t.Errorf("%+v", sub)
	}
	conns := fetch[protocol.ConsumerConnection](t, c, protocol.ReqGetConsumerConnectionList, &protocol.GetConsumerConnectionListRequestHeader{ConsumerGroup: "Online"}, "")
	if len(conns.ConnectionSet) != 1 || conns.ConnectionSet[0].ClientAddr != client.Conn.LocalAddr().String() || conns.SubscriptionTable["T"].SubString != "a || b" {
		t.Errorf("%+v", conns)
	}
	refused(t, c.Call(protocol.ReqGetConsumerConnectionList, &protocol.GetConsumerConnectionListRequestHeader{ConsumerGroup: "Offline"}, nil), protocol.RespConsumerNotOnline, "the consumer group[Offline] not online")
	refused(t, c.Call(protocol.ReqGetProducerConnectionList, &protocol.GetProducerConnectionListRequestHeader{ProducerGroup: "P"}, nil), protocol.RespSystemError, "the producer group[P] not exist")
}

func TestCloneAndCorrection(t *testing.T) {
	_, c := startFilled(t, 5)
	commitAt(c, "A", "T", 0, 4)
	commitAt(c, "A", "T", 1, 1)
	commitAt(c, "B", "T", 0, 2)
	commitAt(c, "Skip", "T", 0, 0)
	got := fetch[protocol.QueryCorrectionOffsetBody](t, c, protocol.ReqQueryCorrectionOffset,
		&protocol.QueryCorrectionOffsetRequestHeader{Topic: "T", CompareGroup: "B", FilterGroups: "Skip,g"}, "").CorrectionOffsets
	if got[0] != 2 || got[1] != 1 {
		t.Errorf("%v", got)
	}
	got = fetch[protocol.QueryCorrectionOffsetBody](t, c, protocol.ReqQueryCorrectionOffset,
		&protocol.QueryCorrectionOffsetRequestHeader{Topic: "T", CompareGroup: "B", FilterGroups: "Skip,B,g"}, "").CorrectionOffsets
	if got[0] != math.MaxInt64 {
		t.Errorf("%v", got)
	}
	c.Must(protocol.ReqUpdateAndCreateSubscriptionGroup, nil, []byte(`{"groupName":"Copy"}`), nil)
	c.Must(protocol.ReqCloneGroupOffset, &protocol.CloneGroupOffsetRequestHeader{SrcGroup: "A", DestGroup: "Copy"}, nil, nil)
	if off := offsetOf(t, query(c, "Copy", "T", 0)); off != 4 {
		t.Errorf("copied offset %d", off)
	}
	c.Must(protocol.ReqCloneGroupOffset, &protocol.CloneGroupOffsetRequestHeader{SrcGroup: "B", DestGroup: "Copy", Topic: "T", Offline: protocol.Some(true)}, nil, nil)
	if off := offsetOf(t, query(c, "Copy", "T", 0)); off != 2 {
		t.Errorf("copied offset %d", off)
	}
	r := c.Call(protocol.ReqCloneGroupOffset, &protocol.CloneGroupOffsetRequestHeader{SrcGroup: "A", DestGroup: "../../etc", Topic: "T"}, nil)
	if r.Code != protocol.RespInvalidParameter || !strings.Contains(r.Remark, "illegal characters") {
		t.Errorf("a group that cannot be: code %d %s", r.Code, r.Remark)
	}
}

func TestFindMessages(t *testing.T) {
	_, c := startFilled(t, 3)
	c.Send("T", 0, "UNIQ_KEY\x01U7\x02", "unique")
	key := func(k string, edit func(h *protocol.QueryMessageRequestHeader)) *protocol.Command {
		h := &protocol.QueryMessageRequestHeader{Topic: "T", Key: k, MaxNum: 64, EndTimestamp: math.MaxInt64}
		if edit != nil {
			edit(h)
		}
		return c.Call(protocol.ReqQueryMessage, h, nil)
	}
	brokertest.Until(t, "index", func() error {
		if r := key("U7", func(h *protocol.QueryMessageRequestHeader) { h.UniqueKeyQuery = protocol.Some(true) }); r.Code != protocol.RespSuccess {
			return &protocol.FieldError{Field: "U7", Reason: r.Remark}
		}
		return nil
	})
	if got := brokertest.Messages(t, key("k2", nil).Body); len(got) != 6 {
		t.Errorf("%d messages by key", len(got))
	}
	if got := brokertest.Messages(t, key("k2", func(h *protocol.QueryMessageRequestHeader) { h.MaxNum = 2; h.IndexType = "K" }).Body); len(got) != 2 {
		t.Errorf("%d messages by key, asked for 2", len(got))
	}
	if got := brokertest.Messages(t, key("U7", func(h *protocol.QueryMessageRequestHeader) { h.IndexType = "U" }).Body); len(got) != 1 || string(got[0].Body) != "unique" {
		t.Errorf("%v by unique key", got)
	}
	for _, r := range []*protocol.Command{key("nothing", nil), key("", nil), key("k2", func(h *protocol.QueryMessageRequestHeader) { h.Topic = "../x" }),
		key("k2", func(h *protocol.QueryMessageRequestHeader) { h.EndTimestamp = 1 }), key(strings.Repeat("k", 5000), nil)} {
		refused(t, r, protocol.RespQueryNotFound, "can not find message, maybe time range not correct")
		if _, there := r.Ext.Get("indexLastUpdateTimestamp"); !there {
			t.Error("the header is missing")
		}
	}
	m := stored(t, c, "T", 1, 2)[1]
	r := c.Must(protocol.ReqViewMessageByID, &protocol.ViewMessageByIDRequestHeader{Offset: m.PhysicalOffset}, nil, nil)
	if got := brokertest.Messages(t, r.Body); len(got) != 1 || got[0].QueueOffset != 1 {
		t.Errorf("%+v", got)
	}
	for _, off := range []int64{m.PhysicalOffset + 1, -1, 1 << 50} {
		refused(t, c.Call(protocol.ReqViewMessageByID, &protocol.ViewMessageByIDRequestHeader{Offset: off}, nil), protocol.RespSystemError, "can not find message by the offset")
	}
	cq := func(q int32, index int64, count int32, group string) protocol.QueryConsumeQueueResponseBody {
		return fetch[protocol.QueryConsumeQueueResponseBody](t, c, protocol.ReqQueryConsumeQueue, &protocol.QueryConsumeQueueRequestHeader{Topic: "T",
			QueueID: protocol.Some(q), Index: protocol.Some(index), Count: protocol.Some(count), ConsumerGroup: group}, "")
	}
	if got := cq(1, 1, 1, ""); got.MaxQueueIndex != 3 || len(got.QueueData) != 1 || got.QueueData[0].PhysicOffset != m.PhysicalOffset || got.QueueData[0].TagsCode != 97 {
		t.Errorf("%+v", got)
	}
	if got := cq(1, -1, 2, "g"); len(got.QueueData) != 2 || got.QueueData[0].PhysicOffset != m.PhysicalOffset || !strings.Contains(got.FilterData, "not online") {
		t.Errorf("%+v", got)
	}
	if got := cq(1, 99, 5, ""); len(got.QueueData) != 0 {
		t.Errorf("%+v", got)
	}
	refused(t, c.Call(protocol.ReqQueryConsumeQueue, &protocol.QueryConsumeQueueRequestHeader{Topic: "T", QueueID: protocol.Some[int32](9)}, nil), protocol.RespSystemError, "9@T is not exist!")
}
