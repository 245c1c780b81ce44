package broker_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/seedmq/seedmq/broker"
	"github.com/seedmq/seedmq/broker/brokertest"
	"github.com/seedmq/seedmq/remoting/protocol"
)

// assignmentOf asks for the queues of a member; "keep" is an answer without an assignment.
func assignmentOf(t *testing.T, c *brokertest.Client, group, topic, strategy string, edit ...func(*protocol.QueryAssignmentRequestBody)) string {
	t.Helper()
	q := protocol.QueryAssignmentRequestBody{ClientID: c.ID(), ConsumerGroup: group, MessageModel: protocol.ModelClustering, StrategyName: strategy, Topic: topic}
	for _, e := range edit {
		e(&q)
	}
	body, err := protocol.MarshalFast(&q)
	if err != nil {
		t.Fatal(err)
	}
	var got protocol.QueryAssignmentResponseBody
	reply := c.Must(protocol.ReqQueryAssignment, nil, body, nil).Body
	if err := protocol.UnmarshalFast(reply, &got); err != nil {
		t.Fatalf("%s: %v", reply, err)
	}
	if got.MessageQueueAssignments == nil {
		return "keep"
	}
	var out []string
	for _, a := range got.MessageQueueAssignments {
		if a.MessageQueue.Topic != topic || a.MessageQueue.BrokerName != "test-broker" {
			t.Fatalf("assigned: %+v", a)
		}
		out = append(out, fmt.Sprint(a.Mode, a.MessageQueue.QueueID))
	}
	slices.Sort(out)
	return strings.Join(out, " ")
}

func setMode(c *brokertest.Client, topic, group, mode string, share int) *protocol.Command {
	return c.Call(protocol.ReqSetMessageRequestMode, nil, fmt.Appendf(nil, `{"consumerGroup":%q,"mode":%q,"popShareQueueNum":%d,"topic":%q}`, group, mode, share, topic))
}

func TestAssignment(t *testing.T) {
	b, a := startFilled(t, 1) // topic T with 2 queues
	sub := protocol.SubscriptionData{Topic: "T", SubString: "*", SubVersion: 1}
	if got := assignmentOf(t, a, "G", "T", "AVG"); got != "keep" {
		t.Fatalf("a group without members: %s", got)
	}
	a.Heartbeat("G", sub)
	if got := assignmentOf(t, a, "G", "T", "AVG"); got != "PULL0 PULL1" {
		t.Fatalf("alone: %s", got)
	}
	members := []*brokertest.Client{a}
	for range 2 {
		m := brokertest.Dial(t, b.Addr())
		m.Heartbeat("G", sub)
		members = append(members, m)
	}
	slices.SortFunc(members, func(x, y *brokertest.Client) int { return strings.Compare(x.ID(), y.ID()) })
	all := func(strategy string) (out []string) {
		for _, m := range members {
			out = append(out, assignmentOf(t, m, "G", "T", strategy))
		}
		return out
	}
	if got := all("AVG"); !slices.Equal(got, []string{"PULL0", "PULL1", ""}) {
		t.Fatalf("three members and two queues: %q", got)
	}
	if got := all("AVG_BY_CIRCLE"); !slices.Equal(got, []string{"PULL0", "PULL1", ""}) {
		t.Fatalf("by circle: %q", got)
	}
	for _, x := range []struct{ name, group, topic, strategy, want string }{
		{"a strategy of clients", "G", "T", "CONSISTENT_HASH", "keep"},
		{"no such topic", "G", "Nothing", "AVG", "keep"},
		{"the retry topic", "G", "%RETRY%G", "AVG", "PULL0"},
	} {
		if got := assignmentOf(t, members[0], x.group, x.topic, x.strategy); got != x.want {
			t.Errorf("%s: %s, want %s", x.name, got, x.want)
		}
	}
	broadcast := func(q *protocol.QueryAssignmentRequestBody) { q.MessageModel = protocol.ModelBroadcasting }
	if got := assignmentOf(t, members[2], "G", "T", "AVG", broadcast); got != "PULL0 PULL1" {
		t.Errorf("broadcasting: %s", got)
	}
	stranger := func(q *protocol.QueryAssignmentRequestBody) { q.ClientID = "stranger" }
	if got := assignmentOf(t, a, "G", "T", "AVG", stranger); got != "" {
		t.Errorf("a client that is no member: %s", got)
	}

	// Pop: the members hear of the new mode, and share queues.
	if r := setMode(a, "T", "G", "POP", 0); r.Code != protocol.RespSuccess {
		t.Fatal(r.Code, r.Remark)
	}
	for _, m := range members {
		nextPush(m, protocol.ReqNotifyConsumerIDsChanged)
	}
	if got := all("AVG"); !slices.Equal(got, []string{"POP-1", "POP-1", "POP-1"}) {
		t.Fatalf("all queues for everyone: %q", got)
	}
	setMode(a, "T", "G", "POP", 1)
	if got := all("AVG"); !slices.Equal(got, []string{"POP0", "POP1", "POP0"}) {
		t.Fatalf("more members than queues: %q", got)
	}
	if got := assignmentOf(t, a, "G", "%RETRY%G", "AVG"); strings.Contains(got, "POP") {
		t.Errorf("the retry topic is popped: %s", got)
	}
}

func TestAssignmentDefaults(t *testing.T) {
	_, c := startFilled(t, 1, func(o *broker.Options) {
		o.Broker.DefaultMessageRequestMode, o.Broker.ServerLoadBalancerEnable = protocol.RequestModePop, false
	})
	c.Heartbeat("G", protocol.SubscriptionData{Topic: "T", SubString: "*", SubVersion: 1})
	if got := assignmentOf(t, c, "G", "T", "AVG"); got != "POP0 POP1" {
		t.Fatalf("without sharing: %s", got)
	}
	_, c = startFilled(t, 1, func(o *broker.Options) { o.Broker.DefaultMessageRequestMode = protocol.RequestModePop })
	c.Heartbeat("G", protocol.SubscriptionData{Topic: "T", SubString: "*", SubVersion: 1})
	if got := assignmentOf(t, c, "G", "T", "AVG"); got != "POP-1" {
		t.Fatalf("popped by default: %s", got)
	}
	if got := assignmentOf(t, c, "G", "%RETRY%G", "AVG"); got != "PULL0" {
		t.Fatalf("retry topic: %s", got)
	}
}

func TestRequestModesAreKept(t *testing.T) {
	dir := t.TempDir()
	b := brokertest.StartIn(t, dir)
	c := brokertest.Dial(t, b.Addr())
	c.Send("T", 0, "", "m")
	stored(t, c, "T", 0, 1) // also makes the group g
	for _, x := range []struct {
		topic, group, mode string
		code               protocol.ResponseCode
		words              string
	}{
		{"%RETRY%g", "g", "POP", protocol.RespNoPermission, "retry topic"},
		{"Nothing", "g", "POP", protocol.RespTopicNotExist, "topic[Nothing] not exist"},
		{"T", "nobody", "POP", protocol.RespSubscriptionGroupNotExist, "subscription group does not exist"},
		{"T", "g", "PUSH", protocol.RespInvalidParameter, "PUSH"},
		{"T", "g", "", protocol.RespInvalidParameter, "mode"},
	} {
		refused(t, setMode(c, x.topic, x.group, x.mode, 1), x.code, x.words)
	}
	refused(t, c.Call(protocol.ReqSetMessageRequestMode, nil, []byte(`{"topic":`)), protocol.RespInvalidParameter, "body")
	refused(t, c.Call(protocol.ReqQueryAssignment, nil, nil), protocol.RespInvalidParameter, "no body")
	if r := setMode(c, "T", "g", "POP", 3); r.Code != protocol.RespSuccess {
		t.Fatal(r.Code, r.Remark)
	}
	text, err := os.ReadFile(filepath.Join(dir, "config", "messageRequestMode.json"))
	if err != nil {
		t.Fatal(err)
	}
	var file, want any
	if err := json.Unmarshal(text, &file); err != nil {
		t.Fatal(err)
	}
	json.Unmarshal([]byte(`{"messageRequestModeMap":{"T":{"g":{"consumerGroup":"g","mode":"POP","popShareQueueNum":3,"topic":"T"}}}}`), &want)
	if fmt.Sprint(file) != fmt.Sprint(want) {
		t.Fatalf("file: %s", text)
	}
	b.Stop(t)
	c = brokertest.Dial(t, brokertest.StartIn(t, dir).Addr())
	all := fetch[protocol.MessageRequestModeWrapper](t, c, protocol.ReqGetAllMessageRequestMode, nil, "")
	if m := all.MessageRequestModeMap["T"]["g"]; m.Mode != "POP" || m.PopShareQueueNum != 3 {
		t.Fatalf("after a restart: %+v", all)
	}
}
