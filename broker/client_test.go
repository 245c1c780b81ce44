package broker_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/seedmq/seedmq/broker"
	"github.com/seedmq/seedmq/broker/brokertest"
	"github.com/seedmq/seedmq/remoting"
	"github.com/seedmq/seedmq/remoting/protocol"
)

func consumerIDs(t *testing.T, c *brokertest.Client, group string) []string {
	t.Helper()
	r := c.Call(protocol.ReqGetConsumerListByGroup, &protocol.GetConsumerListByGroupRequestHeader{ConsumerGroup: group}, nil)
	if r.Code != protocol.RespSuccess {
		if r.Code != protocol.RespSystemError || !strings.Contains(r.Remark, "no consumer for this group") {
			t.Fatalf("code %d %s", r.Code, r.Remark)
		}
		return nil
	}
	var body protocol.GetConsumerListByGroupResponseBody
	if err := protocol.UnmarshalFast(r.Body, &body); err != nil {
		t.Fatal(err)
	}
	return body.ConsumerIDList
}

func wantPush(t *testing.T, c *brokertest.Client, group string) {
	t.Helper()
	p := c.Push()
	got, _ := p.Ext.Get("consumerGroup")
	if p.Code != protocol.ReqNotifyConsumerIDsChanged || got != group || !p.IsOneway() {
		t.Fatalf("pushed %d for %q", p.Code, got)
	}
}

func TestMembersComeAndGo(t *testing.T) {
	b := brokertest.Start(t)
	sub := protocol.SubscriptionData{Topic: "T", SubString: "*", SubVersion: 1}
	c1, c2, c3 := brokertest.Dial(t, b.Addr()), brokertest.Dial(t, b.Addr()), brokertest.Dial(t, b.Addr())
	if ids := consumerIDs(t, c1, "g"); ids != nil {
		t.Fatal(ids)
	}
	c1.Heartbeat("g", sub)
	wantPush(t, c1, "g")
	c2.Heartbeat("g", sub)
	wantPush(t, c1, "g")
	wantPush(t, c2, "g")
	c3.Heartbeat("g", sub)
	for _, c := range []*brokertest.Client{c1, c2, c3} {
		wantPush(t, c, "g")
	}
	ids := consumerIDs(t, c1, "g")
	if want := []string{c1.ID(), c2.ID(), c3.ID()}; !slices.Equal(ids, sorted(want)) {
		t.Fatalf("%v, want %v", ids, want)
	}
	c1.Must(protocol.ReqUnregisterClient, &protocol.UnregisterClientRequestHeader{ClientID: c1.ID(), ConsumerGroup: "g"}, nil, nil)
	wantPush(t, c2, "g")
	wantPush(t, c3, "g")
	c2.Conn.Close(remoting.ClosedByHandler) // a client that dies
	wantPush(t, c3, "g")
	if ids := consumerIDs(t, c3, "g"); !slices.Equal(ids, []string{c3.ID()}) {
		t.Fatal(ids)
	}
}

func sorted(s []string) []string { slices.Sort(s); return s }

func TestHeartbeatMakesGroupAndRetryTopic(t *testing.T) {
	b := brokertest.Start(t)
	c := brokertest.Dial(t, b.Addr())
	r := c.Heartbeat("g", protocol.SubscriptionData{Topic: "T", SubString: "*"})
	for _, key := range []string{"IS_SUPPORT_HEART_BEAT_V2", "IS_SUB_CHANGE"} {
		if v, _ := r.Ext.Get(key); v != "true" {
			t.Errorf("%s is %q", key, v)
		}
	}
	if r.Version != protocol.CurrentVersion {
		t.Errorf("version %d", r.Version)
	}
	if got := pull(t, c, pullHeader("%RETRY%g", 0, 0)); got.code != protocol.RespPullNotFound {
		t.Fatalf("%v", got)
	}
}

func TestShortHeartbeats(t *testing.T) {
	b := brokertest.Start(t)
	c := brokertest.Dial(t, b.Addr())
	beat := func(subs string, without bool) string {
		body := fmt.Sprintf(`{"clientID":"c","consumerDataSet":[{"groupName":"g","consumeType":"CONSUME_PASSIVELY","messageModel":"CLUSTERING",
			"subscriptionDataSet":[%s]}],"heartbeatFingerprint":99,"producerDataSet":[],"withoutSub":%v}`, subs, without)
		r := c.Must(protocol.ReqHeartBeat, nil, []byte(body), nil)
		v, _ := r.Ext.Get("IS_SUB_CHANGE")
		return v
	}
	if v := beat("", true); v != "true" {
		t.Fatalf("an unknown fingerprint: IS_SUB_CHANGE %q", v)
	}
	if v := beat(`{"topic":"T","subString":"*","subVersion":1,"expressionType":"TAG"}`, false); v != "false" {
		t.Fatalf("a full heartbeat: IS_SUB_CHANGE %q", v)
	}
	if v := beat("", true); v != "false" {
		t.Fatalf("a short heartbeat: IS_SUB_CHANGE %q", v)
	}
}

func TestGroupsAreNotMadeWhenSwitchedOff(t *testing.T) {
	b := brokertest.Start(t, func(o *broker.Options) { o.Broker.AutoCreateSubscriptionGroup = false })
	c := brokertest.Dial(t, b.Addr())
	c.Heartbeat("g", protocol.SubscriptionData{Topic: "T", SubString: "*"}) // answered with a success, as Java does
	if ids := consumerIDs(t, c, "g"); ids != nil {
		t.Fatal(ids)
	}
	if !strings.Contains(b.Log(), "consumer group passed over") {
		t.Errorf("not in the log:\n%s", b.Log())
	}
}

func TestConflictingSubscriptionsAreLogged(t *testing.T) {
	b := brokertest.Start(t)
	c1, c2 := brokertest.Dial(t, b.Addr()), brokertest.Dial(t, b.Addr())
	c1.Heartbeat("g", protocol.SubscriptionData{Topic: "T", SubString: "a", SubVersion: 1})
	c2.Heartbeat("g", protocol.SubscriptionData{Topic: "T", SubString: "b", SubVersion: 2})
	if !strings.Contains(b.Log(), "subscribe differently") {
		t.Errorf("not in the log:\n%s", b.Log())
	}
}

func TestGarbageBodies(t *testing.T) {
	b := brokertest.Start(t)
	c := brokertest.Dial(t, b.Addr())
	for _, code := range []int32{protocol.ReqHeartBeat, protocol.ReqCheckClientConfig, protocol.ReqLockBatchMQ, protocol.ReqUnlockBatchMQ} {
		for _, body := range []string{"", "{", "[]", `{"consumerDataSet":5,"subscriptionData":5,"mqSet":5}`, "\x00\x01"} {
			if r := c.Call(code, nil, []byte(body)); r.Code == protocol.RespSuccess || r.Remark == "" || strings.Contains(r.Remark, "panicked") {
				t.Errorf("request %d with body %q: code %d %q", code, body, r.Code, r.Remark)
			}
		}
	}
	for _, id := range []string{"", strings.Repeat("c", 4097)} {
		body := fmt.Sprintf(`{"clientID":%q,"producerDataSet":[{"groupName":"P"}]}`, id)
		if r := c.Call(protocol.ReqHeartBeat, nil, []byte(body)); r.Code != protocol.RespSystemError || !strings.Contains(r.Remark, "clientID") {
			t.Errorf("client id of %d bytes: code %d %q", len(id), r.Code, r.Remark)
		}
	}
}

// FuzzHeartbeat: any body is answered.
func FuzzHeartbeat(f *testing.F) {
	b := brokertest.Start(f)
	conn := brokertest.Dial(f, b.Addr())
	f.Add([]byte(`{"clientID":"c","consumerDataSet":[{"groupName":"g","subscriptionDataSet":[{"topic":"T","subString":"a||b"}]}],"producerDataSet":[{"groupName":"P"}]}`))
	f.Add([]byte(`{"consumerDataSet":[{"groupName":"../x"}]}`))
	f.Add([]byte(`{"clientID":"c","consumerDataSet":[{"groupName":"g","subscriptionDataSet":[{"topic":"T","subString":"a > 5 AND","expressionType":"SQL92","subVersion":9}]}]}`))
	f.Fuzz(func(t *testing.T, body []byte) {
		if r := conn.With(t).Call(protocol.ReqHeartBeat, nil, body); strings.Contains(r.Remark, "panicked") {
			t.Fatal(r.Remark)
		}
	})
}
