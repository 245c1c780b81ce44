package admin

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/seedmq/seedmq/conf/clock"
	"github.com/seedmq/seedmq/remoting/protocol"
)

// fakeCluster answers requests by code. Every request that was sent is kept, as a server would have seen it.
type fakeCluster struct {
	mu       sync.Mutex
	handlers map[protocol.RequestCode]func(addr string, req *protocol.Command) *protocol.Command
	down     map[string]bool
	seen     []seen
}

type seen struct {
	addr string
	req  *protocol.Command
}

func (f *fakeCluster) Invoke(_ context.Context, addr string, cmd *protocol.Command) (*protocol.Command, error) {
	req := new(protocol.Command)
	if err := protocol.DecodeFrame(protocol.AppendFrame(nil, cmd)[4:], req); err != nil {
		return nil, err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.seen = append(f.seen, seen{addr, req})
	if f.down[addr] {
		return nil, errors.New("connection refused")
	}
	h := f.handlers[req.Code]
	if h == nil {
		return &protocol.Command{Code: protocol.RespRequestCodeNotSupported, Remark: fmt.Sprint(req.Code)}, nil
	}
	return h(addr, req), nil
}

// asked lists who got requests with this code.
func (f *fakeCluster) asked(code protocol.RequestCode) []string {
	var out []string
	for _, s := range f.seen {
		if s.req.Code == code {
			out = append(out, s.addr)
		}
	}
	return out
}

func (f *fakeCluster) on(code protocol.RequestCode, h func(addr string, req *protocol.Command) *protocol.Command) {
	f.handlers[code] = h
}

func body(t testing.TB, v any) *protocol.Command {
	t.Helper()
	b, err := protocol.MarshalFast(v)
	if err != nil {
		t.Fatal(err)
	}
	return &protocol.Command{Body: b}
}

func refuse(code protocol.ResponseCode, remark string) *protocol.Command {
	return &protocol.Command{Code: code, Remark: remark}
}

func field(req *protocol.Command, name string) string {
	v, _ := req.Ext.Get(name)
	return v
}

// newCluster is two broker groups, a with a slave, that hold all topics but those called none.
func newCluster(t testing.TB) (*fakeCluster, *Client) {
	f := &fakeCluster{handlers: map[protocol.RequestCode]func(string, *protocol.Command) *protocol.Command{}, down: map[string]bool{}}
	brokers := []protocol.BrokerData{
		{BrokerName: "a", Cluster: "C", BrokerAddrs: map[int64]string{0: "a:1", 1: "a:2"}},
		{BrokerName: "b", Cluster: "C", BrokerAddrs: map[int64]string{0: "b:1"}},
	}
	f.on(protocol.ReqGetRouteInfoByTopic, func(_ string, req *protocol.Command) *protocol.Command {
		if strings.Contains(field(req, "topic"), "none") {
			return refuse(protocol.RespTopicNotExist, "No topic route")
		}
		return body(t, &protocol.TopicRouteData{BrokerDatas: brokers, QueueDatas: []protocol.QueueData{
			{BrokerName: "a", Perm: 6, ReadQueueNums: 2, WriteQueueNums: 3}, {BrokerName: "b", Perm: 4, ReadQueueNums: 1, WriteQueueNums: 1}}})
	})
	f.on(protocol.ReqGetBrokerClusterInfo, func(string, *protocol.Command) *protocol.Command {
		return body(t, &protocol.ClusterInfo{BrokerAddrTable: map[string]protocol.BrokerData{"a": brokers[0], "b": brokers[1]},
			ClusterAddrTable: map[string][]string{"C": {"b", "a"}}})
	})
	return f, New(f, Options{NameServers: []string{"ns1:1", "ns2:1"}, Clock: clock.NewFake(time.UnixMilli(1e12))})
}

var ctx = context.Background()

func TestRefusalsAreTyped(t *testing.T) {
	f, c := newCluster(t)
	f.on(protocol.ReqGetBrokerRuntimeInfo, func(string, *protocol.Command) *protocol.Command { return refuse(16, "no") })
	_, err := c.RuntimeInfo(ctx, "a:1")
	var e *Error
	if !errors.As(err, &e) || *e != (Error{Code: 16, Remark: "no", Addr: "a:1", Request: protocol.ReqGetBrokerRuntimeInfo}) || !IsCode(err, 16) {
		t.Errorf("%#v", err)
	}
	f.down["a:1"] = true
	var conn *ConnectError
	if _, err = c.RuntimeInfo(ctx, "a:1"); !errors.As(err, &conn) || conn.Addr != "a:1" {
		t.Errorf("%#v", err)
	}
	f.down = nil
	f.on(protocol.ReqGetBrokerRuntimeInfo, func(string, *protocol.Command) *protocol.Command { return &protocol.Command{Body: []byte("{")} })
	if _, err = c.RuntimeInfo(ctx, "a:1"); err == nil {
		t.Error("a cut body was accepted")
	}
}

func TestChangesGoToAllNameServers(t *testing.T) {
	f, c := newCluster(t)
	ok := func(string, *protocol.Command) *protocol.Command { return &protocol.Command{} }
	f.on(protocol.ReqPutKVConfig, ok)
	f.on(protocol.ReqDeleteTopicInNamesrv, ok)
	f.down["ns1:1"] = true
	err := c.PutKV(ctx, "n", "k", "v")
	var conn *ConnectError
	if !errors.As(err, &conn) || conn.Addr != "ns1:1" {
		t.Errorf("the one that is down: %v", err)
	}
	if got := f.asked(protocol.ReqPutKVConfig); !slices.Equal(got, []string{"ns1:1", "ns2:1"}) {
		t.Errorf("asked %v", got)
	}
	f.down = nil
	if err := c.DeleteTopicOnNameServers(ctx, "C", "T"); err != nil || len(f.asked(protocol.ReqDeleteTopicInNamesrv)) != 2 {
		t.Errorf("%v, asked %v", err, f.asked(protocol.ReqDeleteTopicInNamesrv))
	}
}

func TestReplicas(t *testing.T) {
	_, c := newCluster(t)
	all, err := c.Replicas(ctx, "C")
	want := []Replica{{"C", "a", 0, "a:1"}, {"C", "a", 1, "a:2"}, {"C", "b", 0, "b:1"}}
	if err != nil || !slices.Equal(all, want) {
		t.Errorf("%v, %v", all, err)
	}
	if _, err := c.Replicas(ctx, "nope"); !errors.Is(err, ErrNoCluster) {
		t.Error(err)
	}
	if m, err := c.Masters(ctx, ""); err != nil || !slices.Equal(m, []string{"a:1", "b:1"}) {
		t.Errorf("%v, %v", m, err)
	}
}

func TestWriteQueues(t *testing.T) {
	f, c := newCluster(t)
	q, _, err := c.WriteQueues(ctx, "T") // b is read-only
	want := []protocol.MessageQueue{{BrokerName: "a", QueueID: 0, Topic: "T"}, {BrokerName: "a", QueueID: 1, Topic: "T"}, {BrokerName: "a", QueueID: 2, Topic: "T"}}
	if err != nil || !slices.Equal(q, want) {
		t.Errorf("%v, %v", q, err)
	}
	if q, _, err := c.WriteQueues(ctx, "none"); err != nil || len(q) != 3 || q[0].Topic != "none" {
		t.Errorf("topic to be created: %v, %v", q, err)
	}
	f.on(protocol.ReqGetRouteInfoByTopic, func(string, *protocol.Command) *protocol.Command {
		return body(t, &protocol.TopicRouteData{QueueDatas: []protocol.QueueData{{BrokerName: "gone", Perm: 6, WriteQueueNums: 1}}})
	})
	if _, _, err := c.WriteQueues(ctx, "T"); !errors.Is(err, ErrNoBroker) {
		t.Error(err)
	}
}

func TestGroupsArePaged(t *testing.T) {
	f, c := newCluster(t)
	f.on(protocol.ReqGetAllSubscriptionGroupConfig, func(_ string, req *protocol.Command) *protocol.Command {
		name := "g" + field(req, "groupSeq")
		r := body(t, &protocol.SubscriptionGroupWrapper{SubscriptionGroupTable: map[string]protocol.SubscriptionGroupConfig{name: {GroupName: name}}})
		r.Ext = protocol.ExtFields{{Key: "totalGroupNum", Value: "3"}}
		return r
	})
	g, err := c.Groups(ctx, "a:1")
	if err != nil || len(g) != 3 || g["g2"].GroupName != "g2" {
		t.Errorf("%v, %v", g, err)
	}
	f.on(protocol.ReqGetAllSubscriptionGroupConfig, func(string, *protocol.Command) *protocol.Command { // an old broker: all at once, no total
		return body(t, &protocol.SubscriptionGroupWrapper{SubscriptionGroupTable: map[string]protocol.SubscriptionGroupConfig{"x": {}, "y": {}}})
	})
	if g, err := c.Groups(ctx, "a:1"); err != nil || len(g) != 2 {
		t.Errorf("%v, %v", g, err)
	}
}

func TestProperties(t *testing.T) {
	text := "# comment\n! another\na=1\n b : 2\nc\nd=x\\\n  y\npath=/a=b:c\ne\\=f=\\u0041\\n\nempty=\r\n"
	want := map[string]string{"a": "1", "b": "2", "c": "", "d": "xy", "path": "/a=b:c", "e=f": "A\n", "empty": ""}
	got := parseProperties([]byte(text))
	for k, v := range want {
		if w, ok := got[k]; !ok || w != v {
			t.Errorf("%s: %q, want %q", k, w, v)
		}
	}
	if len(got) != len(want) {
		t.Errorf("%v", got)
	}
	if b, err := formatProperties(map[string]string{"b": "2", "a": "1"}); err != nil || string(b) != "a=1\nb=2\n" {
		t.Errorf("%q, %v", b, err)
	}
	for _, kv := range []map[string]string{{"a": "1\nconfigPath=/etc"}, {"a\nb": ""}, {"": "x"}} {
		if b, err := formatProperties(kv); err == nil {
			t.Errorf("%v became %q", kv, b)
		}
	}
}

// FuzzParseProperties: no body panics, and a plain key=value line reads back.
func FuzzParseProperties(f *testing.F) {
	for _, s := range []string{"a=1", "a\\", "\\u00", "=", "#\n\\", "a\\\n\\\nb"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		parseProperties([]byte(s))
		if strings.ContainsAny(s, "\\\r\n") || strings.TrimLeft(s, " \t\f") != s {
			return
		}
		if got := parseProperties([]byte("key=" + s)); got["key"] != s {
			t.Fatalf("%q became %q", s, got["key"])
		}
	})
}
