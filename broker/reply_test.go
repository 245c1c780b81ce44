package broker_test

import (
	"context"
	"maps"
	"net"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/seedmq/seedmq/broker"
	"github.com/seedmq/seedmq/broker/brokertest"
	"github.com/seedmq/seedmq/remoting"
	"github.com/seedmq/seedmq/remoting/protocol"
)

// requester is a client that answers pushed replies with a code.
type requester struct {
	conn   remoting.Conn
	pushes chan *protocol.Command
	code   atomic.Int32
}

func (r *requester) ServeBurst(c remoting.Conn, reqs []*protocol.Command) {
	for _, req := range reqs {
		r.pushes <- req.Clone()
		c.Reply(req, &remoting.Reply{Code: r.code.Load(), Remark: "so it says"})
	}
}
func (*requester) Opened(remoting.Conn)                       {}
func (*requester) Closed(remoting.Conn, remoting.CloseReason) {}

func newRequester(t *testing.T, b *brokertest.Broker) *requester {
	t.Helper()
	r := &requester{pushes: make(chan *protocol.Command, 10)}
	client := remoting.NewClient(remoting.ClientOptions{Handler: r})
	t.Cleanup(func() { client.Close() })
	var err error
	if r.conn, err = client.Conn(context.Background(), b.Addr().String()); err != nil {
		t.Fatal(err)
	}
	return r
}

func (r *requester) do(t *testing.T, cmd *protocol.Command) *protocol.Command {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), brokertest.Wait)
	defer cancel()
	got, err := r.conn.Invoke(ctx, cmd)
	if err != nil {
		t.Fatal(err)
	}
	return got
}

// TestRequestReplyConversation plays a request and its reply between stock Java clients, and compares what is pushed and answered with
// Apache's.
func TestRequestReplyConversation(t *testing.T) {
	frames := wireFrames(t, "java-request-reply")
	b := brokertest.Start(t, func(o *broker.Options) { o.Broker.BrokerClusterName, o.Broker.BrokerName = "GoldenCluster", "broker-g" })
	conns := map[string]*requester{}
	n := 0
	for i := range frames {
		f := &frames[i]
		if f.Dir != "c2s" || f.Flag&1 == 1 || f.ReqCode == protocol.ReqUnregisterClient {
			continue
		}
		c := conns[f.Conn]
		if c == nil {
			c = newRequester(t, b)
			conns[f.Conn] = c
		}
		got, want := c.do(t, f.command(t)), replyTo(t, frames, f)
		if got.Code != want.Code || !slices.Equal(keysOf(got.Ext), keysOf(want.Ext)) {
			t.Errorf("request %d: code %d %s %v, Apache says %d %v", f.Code, got.Code, got.Remark, got.Ext, want.Code, want.Ext)
		}
		if f.Code != protocol.ReqSendReplyMessageV2 {
			continue
		}
		n++
		for j := range frames {
			if frames[j].Code == protocol.ReqPushReplyMessageToClient && frames[j].Dir == "s2c" {
				comparePush(t, b, frames[j].command(t), <-conns[frames[j].Conn].pushes)
			}
		}
	}
	if n != 1 {
		t.Fatal(n)
	}
	m := stored(t, brokertest.Dial(t, b.Addr()), "GoldenCluster_REPLY_TOPIC", 0, 1)[0]
	if p := protocol.ParseProperties(m.Properties); string(m.Body) != "reply to question" || p["CORRELATION_ID"] == "" || p["PUSH_REPLY_TIME"] != "" {
		t.Errorf("%s %v", m.Body, p)
	}
}

func comparePush(t *testing.T, b *brokertest.Broker, want, got *protocol.Command) {
	t.Helper()
	if got.Code != want.Code || got.IsOneway() || string(got.Body) != string(want.Body) || !slices.Equal(keysOf(got.Ext), keysOf(want.Ext)) {
		t.Fatalf("pushed %+v, Apache pushes %+v", got, want)
	}
	for _, f := range want.Ext {
		v := valueOf(got, f.Key)
		switch f.Key {
		case "storeTimestamp":
		case "bornHost", "storeHost":
			if _, _, err := net.SplitHostPort(v); err != nil || f.Key == "storeHost" && v != b.Self().String() {
				t.Errorf("%s is %q", f.Key, v)
			}
		case "properties":
			g, w := protocol.ParseProperties(v), protocol.ParseProperties(f.Value)
			if g["PUSH_REPLY_TIME"] == "" {
				t.Errorf("properties %v", g)
			}
			delete(g, "PUSH_REPLY_TIME")
			delete(w, "PUSH_REPLY_TIME")
			if !maps.Equal(g, w) {
				t.Errorf("properties %v, Apache pushes %v", g, w)
			}
		default:
			if v != f.Value {
				t.Errorf("%s is %q, Apache pushes %q", f.Key, v, f.Value)
			}
		}
	}
}

// TestReplyOutcomes: the replier is told what became of its reply, in both forms of the request; it is stored when the configuration
// says so.
func TestReplyOutcomes(t *testing.T) {
	b := brokertest.Start(t, func(o *broker.Options) { o.Broker.StoreReplyMessageEnable = false })
	r, c := newRequester(t, b), brokertest.Dial(t, b.Addr())
	body, err := protocol.MarshalFast(&protocol.HeartbeatData{ClientID: "me", ProducerDataSet: []protocol.ProducerData{{GroupName: "R"}}})
	if err != nil {
		t.Fatal(err)
	}
	if got := r.do(t, protocol.NewRequest(protocol.ReqHeartBeat, nil, body)); got.Code != 0 {
		t.Fatal(got.Remark)
	}
	const topic = "TestCluster_REPLY_TOPIC"
	for _, x := range []struct {
		props  string
		answer int32
		code   int32
		remark string
		pushed bool
	}{
		{"REPLY_TO_CLIENT\x01me\x02CORRELATION_ID\x01c\x02", 0, 0, "", true},
		{"REPLY_TO_CLIENT\x01me\x02", 1, 1, "so it says", true},
		{"REPLY_TO_CLIENT\x01nobody\x02", 0, 1, "channel of <nobody> not found", false},
		{"CORRELATION_ID\x01c\x02", 0, 1, "reply message properties[REPLY_TO_CLIENT] is null", false},
		{"", 0, 1, "is null", false},
	} {
		r.code.Store(x.answer)
		v2 := brokertest.SendHeader(topic, 0, x.props)
		v1 := &protocol.SendMessageRequestHeader{ProducerGroup: "P", Topic: topic, DefaultTopic: "TBW102", DefaultTopicQueueNums: 4, Properties: x.props}
		for _, got := range []*protocol.Command{c.Call(protocol.ReqSendReplyMessageV2, v2, []byte("b")), c.Call(protocol.ReqSendReplyMessage, v1, []byte("b"))} {
			if got.Code != x.code || !strings.Contains(got.Remark, x.remark) || valueOf(got, "msgId") != "0" || valueOf(got, "queueOffset") != "0" {
				t.Errorf("%q: code %d %q %v", x.props, got.Code, got.Remark, got.Ext)
			}
			if x.pushed {
				<-r.pushes
			}
		}
	}
	if _, max := offsets(c, topic); max != 0 {
		t.Errorf("%d replies are stored", max)
	}
	for _, bad := range []*protocol.SendMessageV2RequestHeader{brokertest.SendHeader("SCHEDULE_TOPIC_XXXX", 0, ""), brokertest.SendHeader(topic, 99, ""), brokertest.SendHeader("", 0, "")} {
		if got := c.Call(protocol.ReqSendReplyMessageV2, bad, nil); got.Code == 0 || got.Remark == "" {
			t.Errorf("%+v: code %d %q", bad, got.Code, got.Remark)
		}
	}
	if len(r.pushes) != 0 {
		t.Errorf("%d pushes more", len(r.pushes))
	}
}
