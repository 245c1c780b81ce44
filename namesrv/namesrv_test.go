package namesrv

import (
	"context"
	"errors"
	"os"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/seedmq/seedmq/conf"
	"github.com/seedmq/seedmq/remoting"
	"github.com/seedmq/seedmq/remoting/protocol"
)

func brokerA() *broker {
	return &broker{cluster: "C", name: "a", addr: "127.0.0.1:10911", topics: []string{"T"}, version: 1}
}

func (h *harness) route(want protocol.ResponseCode, topic string) protocol.TopicRouteData {
	h.t.Helper()
	reply := h.ask(want, protocol.ReqGetRouteInfoByTopic, &protocol.GetRouteInfoByTopicRequestHeader{Topic: topic}, nil)
	var r protocol.TopicRouteData
	if want == 0 {
		if err := protocol.UnmarshalFast(reply.Body, &r); err != nil {
			h.t.Fatal(err)
		}
	}
	return r
}

func TestAClosedConnectionRemovesAtOnce(t *testing.T) {
	h := start(t)
	cl := h.client()
	h.register(cl, brokerA())
	if !h.hasRoute("T") {
		t.Fatal("not registered")
	}
	cl.Close()
	eventually(t, "route gone", func() bool { return !h.hasRoute("T") })
}

// TestAReconnectIsNotUndone: a broker reconnects and registers; then its old connection says goodbye, and ends.
func TestAReconnectIsNotUndone(t *testing.T) {
	h := start(t)
	old, now := h.client(), h.client()
	h.register(old, brokerA())
	h.register(now, brokerA())
	bye := &protocol.UnregisterBrokerRequestHeader{ClusterName: "C", BrokerName: "a", BrokerAddr: "127.0.0.1:10911"}
	if reply := h.call(old, protocol.NewRequest(int32(protocol.ReqUnregisterBroker), bye, nil)); reply.Code != 0 {
		t.Fatalf("unregister: %d %q", reply.Code, reply.Remark)
	}
	old.Close()
	eventually(t, "old connection closed", func() bool { return len(h.srv.srv.Conns()) == 1 })
	if !h.hasRoute("T") {
		t.Error("the past of a broker removed its present")
	}
	h.call(now, protocol.NewRequest(int32(protocol.ReqUnregisterBroker), bye, nil))
	if h.hasRoute("T") {
		t.Error("unregistration has no effect")
	}
}

func TestRegisterBodies(t *testing.T) {
	h := start(t)
	w := brokerA().wrapper()
	full := protocol.RegisterBrokerBody{FilterServerList: []string{}, TopicConfigSerializeWrapper: w}
	compressed, err := full.Encode(true)
	if err != nil {
		t.Fatal(err)
	}
	header := func() *protocol.RegisterBrokerRequestHeader {
		return brokerA().request(t).Header.(*protocol.RegisterBrokerRequestHeader)
	}
	for name, tt := range map[string]struct {
		body       []byte
		version    int32
		compressed bool
		crc        int32
		remark     string
	}{
		"plain":                    {body: encode(t, full), version: protocol.CurrentVersion},
		"compressed":               {body: compressed, version: protocol.CurrentVersion, compressed: true},
		"compressed, not said so":  {body: compressed, version: protocol.CurrentVersion},
		"before 3.0.11":            {body: encode(t, w), version: 30},
		"CRC of something else":    {body: encode(t, full), version: protocol.CurrentVersion, crc: 7, remark: "crc32 not match"},
		"not JSON":                 {body: []byte("hello"), version: protocol.CurrentVersion, remark: "register body: not JSON"},
		"half a compressed stream": {body: compressed[:len(compressed)/2], version: protocol.CurrentVersion, compressed: true, remark: "register body"},
	} {
		t.Run(name, func(t *testing.T) {
			cmd := protocol.NewRequest(int32(protocol.ReqRegisterBroker), nil, tt.body)
			hd := header()
			hd.Compressed, hd.BodyCRC32 = protocol.Some(tt.compressed), protocol.Some(tt.crc)
			cmd.Header, cmd.Version = hd, tt.version
			cl := h.client()
			reply := h.call(cl, cmd)
			if (reply.Code == 0) != (tt.remark == "") || !strings.Contains(reply.Remark, tt.remark) {
				t.Errorf("code %d, remark %q, want %q", reply.Code, reply.Remark, tt.remark)
			}
			if got := h.hasRoute("T"); got != (tt.remark == "") {
				t.Errorf("route known: %v", got)
			}
			cl.Close()
			eventually(t, "gone", func() bool { return !h.hasRoute("T") })
		})
	}
}

func TestMissingFieldsAreNamed(t *testing.T) {
	h := start(t)
	for code, field := range map[protocol.RequestCode]string{
		protocol.ReqRegisterBroker: "brokerName", protocol.ReqUnregisterBroker: "brokerName", protocol.ReqGetRouteInfoByTopic: "topic",
		protocol.ReqPutKVConfig: "namespace", protocol.ReqGetKVConfig: "namespace", protocol.ReqDeleteKVConfig: "namespace",
		protocol.ReqGetKVListByNamespace: "namespace", protocol.ReqWipeWritePermOfBroker: "brokerName",
		protocol.ReqAddWritePermOfBroker: "brokerName", protocol.ReqDeleteTopicInNamesrv: "topic", protocol.ReqRegisterTopicInNamesrv: "topic",
		protocol.ReqGetTopicsByCluster: "cluster", protocol.ReqQueryDataVersion: "brokerName",
		protocol.ReqGetBrokerMemberGroup: "clusterName", protocol.ReqBrokerHeartbeat: "clusterName",
	} {
		reply := h.ask(protocol.RespSystemError, code, nil, nil)
		if !strings.Contains(reply.Remark, field) {
			t.Errorf("request %d: remark %q does not name %s", code, reply.Remark, field)
		}
	}
	if reply := h.ask(protocol.RespRequestCodeNotSupported, protocol.ReqSendMessage, nil, nil); !strings.Contains(reply.Remark, "10 not supported") {
		t.Errorf("remark %q", reply.Remark)
	}
}

func TestMasterAndSlave(t *testing.T) {
	h := start(t)
	h.register(h.cl, brokerA())
	slave := brokerA()
	slave.id, slave.addr = 1, "127.0.0.1:10921"
	reply := h.register(h.client(), slave)
	master, _ := reply.Ext.Get("masterAddr")
	ha, _ := reply.Ext.Get("haServerAddr")
	if master != "127.0.0.1:10911" || ha != "ha-127.0.0.1:10911" {
		t.Errorf("the slave is told master %q, ha %q", master, ha)
	}
	members := h.ask(0, protocol.ReqGetBrokerMemberGroup, &protocol.GetBrokerMemberGroupRequestHeader{ClusterName: "C", BrokerName: "a"}, nil)
	if want := `{"brokerMemberGroup":{"brokerAddrs":{"0":"127.0.0.1:10911","1":"127.0.0.1:10921"},"brokerName":"a","cluster":"C"}}`; string(members.Body) != want {
		t.Errorf("members %s", members.Body)
	}
}

func TestQueryDataVersion(t *testing.T) {
	h := start(t)
	header := &protocol.QueryDataVersionRequestHeader{BrokerName: "a", BrokerAddr: "127.0.0.1:10911", ClusterName: "C"}
	query := func(v protocol.DataVersion) (changed, body string) {
		t.Helper()
		reply := h.ask(0, protocol.ReqQueryDataVersion, header, v)
		changed, _ = reply.Ext.Get("changed")
		return changed, string(reply.Body)
	}
	if changed, body := query(protocol.DataVersion{Counter: 1}); changed != "true" || body != "" {
		t.Errorf("unknown broker: changed %s, body %s", changed, body)
	}
	h.register(h.cl, brokerA())
	if changed, body := query(protocol.DataVersion{Counter: 1}); changed != "false" || body != `{"counter":1,"stateVersion":0,"timestamp":0}` {
		t.Errorf("same version: changed %s, body %s", changed, body)
	}
	if changed, _ := query(protocol.DataVersion{Counter: 2}); changed != "true" {
		t.Errorf("other version: changed %s", changed)
	}
}

func TestSilentBrokersLeave(t *testing.T) {
	h := start(t)
	quiet, lively := h.client(), h.client()
	a, b := brokerA(), &broker{cluster: "C", name: "b", addr: "127.0.0.1:2", topics: []string{"U"}, timeoutMs: 10_000}
	a.timeoutMs = 10_000
	h.register(quiet, a)
	h.register(lively, b)
	beat := protocol.NewRequest(int32(protocol.ReqBrokerHeartbeat), &protocol.BrokerHeartbeatRequestHeader{ClusterName: "C", BrokerName: "b", BrokerAddr: "127.0.0.1:2"}, nil)
	for range 3 {
		eventually(t, "timer set", func() bool { return h.clk.Timers() > 0 })
		h.clk.Advance(5 * time.Second)
		if reply := h.call(lively, beat); reply.Code != 0 {
			t.Fatalf("heartbeat: %d %s", reply.Code, reply.Remark)
		}
	}
	eventually(t, "a is gone", func() bool { return !h.hasRoute("T") })
	if !h.hasRoute("U") {
		t.Error("a broker that sent heartbeats was dropped")
	}
	eventually(t, "connection closed", func() bool { return len(h.srv.srv.Conns()) == 1 })
}

func TestTopicRequests(t *testing.T) {
	h := start(t)
	h.register(h.cl, brokerA())
	body := protocol.TopicRouteData{QueueDatas: []protocol.QueueData{{BrokerName: "a", Perm: 6, ReadQueueNums: 4, WriteQueueNums: 4}}}
	h.ask(0, protocol.ReqRegisterTopicInNamesrv, &protocol.RegisterTopicInNamesrvRequestHeader{Topic: "N"}, body)
	if r := h.route(0, "N"); r.QueueDatas[0].ReadQueueNums != 4 || r.BrokerDatas[0].BrokerAddrs[0] != "127.0.0.1:10911" {
		t.Errorf("route %+v", r)
	}
	if reply := h.ask(0, protocol.ReqWipeWritePermOfBroker, &protocol.WipeWritePermOfBrokerRequestHeader{BrokerName: "a"}, nil); len(reply.Ext) != 1 || reply.Ext[0].Value != "4" {
		t.Errorf("wipe: %v", reply.Ext)
	}
	if r := h.route(0, "N"); r.QueueDatas[0].Perm != protocol.PermRead {
		t.Errorf("perm %d after wipe", r.QueueDatas[0].Perm)
	}
	h.ask(0, protocol.ReqAddWritePermOfBroker, &protocol.AddWritePermOfBrokerRequestHeader{BrokerName: "a"}, nil)
	h.ask(0, protocol.ReqDeleteTopicInNamesrv, &protocol.DeleteTopicInNamesrvRequestHeader{Topic: "N", ClusterName: "C"}, nil)
	h.route(protocol.RespTopicNotExist, "N")
	h.ask(protocol.RespSystemError, protocol.ReqRegisterTopicInNamesrv, &protocol.RegisterTopicInNamesrvRequestHeader{Topic: "N"}, "hello")
}

func TestLists(t *testing.T) {
	h := start(t)
	h.register(h.cl, brokerA())
	for code, want := range map[protocol.RequestCode]string{
		protocol.ReqGetAllTopicListFromNameServer: `{"topicList":["SELF_TEST_TOPIC","T","a"]}`,
		protocol.ReqGetTopicsByCluster:            `{"topicList":["SELF_TEST_TOPIC","T","a"]}`,
		protocol.ReqGetSystemTopicListFromNs:      `{"brokerAddr":"127.0.0.1:10911","topicList":["C","a"]}`,
		protocol.ReqGetUnitTopicList:              `{"topicList":[]}`,
		protocol.ReqGetHasUnitSubTopicList:        `{"topicList":[]}`,
		protocol.ReqGetHasUnitSubUnunitTopicList:  `{"topicList":[]}`,
	} {
		reply := h.ask(0, code, &protocol.GetTopicsByClusterRequestHeader{Cluster: "C"}, nil)
		if string(reply.Body) != want {
			t.Errorf("request %d: %s, want %s", code, reply.Body, want)
		}
	}
	h.ask(0, protocol.ReqUpdateNamesrvConfig, nil, "enableTopicList=false\nenableAllTopicList=false")
	for _, code := range []protocol.RequestCode{protocol.ReqGetAllTopicListFromNameServer, protocol.ReqGetTopicsByCluster, protocol.ReqGetUnitTopicList} {
		reply := h.ask(protocol.RespSystemError, code, &protocol.GetTopicsByClusterRequestHeader{Cluster: "C"}, nil)
		if reply.Remark != "disable" {
			t.Errorf("request %d: %q", code, reply.Remark)
		}
	}
}

func TestKVConfigSurvivesARestart(t *testing.T) {
	h := start(t)
	put := func(ns, key, value string) {
		h.ask(0, protocol.ReqPutKVConfig, &protocol.PutKVConfigRequestHeader{Namespace: ns, Key: key, Value: value}, nil)
	}
	put("N", "k1", "v1")
	put("N", "k2", "ü=\n")
	put(orderNamespace, "T", "a:8")
	h.ask(0, protocol.ReqDeleteKVConfig, &protocol.DeleteKVConfigRequestHeader{Namespace: "N", Key: "k1"}, nil)
	h.ask(0, protocol.ReqDeleteKVConfig, &protocol.DeleteKVConfigRequestHeader{Namespace: "no", Key: "such"}, nil)

	again := startLive(t, conf.NewLive(*h.live.Get()), h.fs)
	if reply := again.ask(0, protocol.ReqGetKVConfig, &protocol.GetKVConfigRequestHeader{Namespace: "N", Key: "k2"}, nil); reply.Ext[0].Value != "ü=\n" {
		t.Errorf("k2 = %q", reply.Ext[0].Value)
	}
	again.ask(protocol.RespQueryNotFound, protocol.ReqGetKVConfig, &protocol.GetKVConfigRequestHeader{Namespace: "N", Key: "k1"}, nil)
	if reply := again.ask(0, protocol.ReqGetKVListByNamespace, &protocol.GetKVListByNamespaceRequestHeader{Namespace: "N"}, nil); string(reply.Body) != `{"table":{"k2":"ü=\n"}}` {
		t.Errorf("list %s", reply.Body)
	}
	again.ask(protocol.RespQueryNotFound, protocol.ReqGetKVListByNamespace, &protocol.GetKVListByNamespaceRequestHeader{Namespace: "no"}, nil)
	if reply := again.register(again.cl, brokerA()); string(reply.Body) != `{"table":{"T":"a:8"}}` {
		t.Errorf("a broker is told order configuration %s", reply.Body)
	}
}

func TestOrderConfigurationInRoutes(t *testing.T) {
	h := start(t)
	h.register(h.cl, brokerA())
	put := func(v string) {
		h.ask(0, protocol.ReqPutKVConfig, &protocol.PutKVConfigRequestHeader{Namespace: orderNamespace, Key: "T", Value: v}, nil)
	}
	put("a:8")
	if r := h.route(0, "T"); r.OrderTopicConf != "" {
		t.Errorf("switched off: %q", r.OrderTopicConf)
	}
	h.ask(0, protocol.ReqUpdateNamesrvConfig, nil, "orderMessageEnable=true")
	for _, v := range []string{"a:8", "a:4"} {
		put(v)
		if r := h.route(0, "T"); r.OrderTopicConf != v {
			t.Errorf("order configuration %q, want %q", r.OrderTopicConf, v)
		}
	}
	h.ask(0, protocol.ReqDeleteKVConfig, &protocol.DeleteKVConfigRequestHeader{Namespace: orderNamespace, Key: "T"}, nil)
	if r := h.route(0, "T"); r.OrderTopicConf != "" {
		t.Errorf("deleted: %q", r.OrderTopicConf)
	}
}

func TestConfigUpdates(t *testing.T) {
	path := tempConf(t)
	if err := os.WriteFile(path, []byte("# ours\norderMessageEnable=false\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	live, _, err := conf.Start(conf.DefaultNamesrvProcess(conf.Env{}), path, nil)
	if err != nil {
		t.Fatal(err)
	}
	h := startLive(t, live, newMem())
	h.ask(0, protocol.ReqUpdateNamesrvConfig, nil, nil)
	h.ask(0, protocol.ReqUpdateNamesrvConfig, nil, "orderMessageEnable=true")
	if text, err := os.ReadFile(path); err != nil || string(text) != "# ours\norderMessageEnable=true\n" {
		t.Errorf("file %q, %v", text, err)
	}
	for body, want := range map[string]string{
		"kvConfigPath=/etc/x":                       conf.BlackListRemark,
		"configStorePath=/etc/x":                    conf.BlackListRemark,
		"listenPort=1":                              "listenPort: cannot be changed remotely",
		"orderMessageEnable=false\nrocketmqHome=/x": "rocketmqHome",
	} {
		if reply := h.ask(protocol.RespNoPermission, protocol.ReqUpdateNamesrvConfig, nil, body); !strings.Contains(reply.Remark, want) || want == conf.BlackListRemark && reply.Remark != want {
			t.Errorf("%q: %q, want %q", body, reply.Remark, want)
		}
	}
	text := string(h.ask(0, protocol.ReqGetNamesrvConfig, nil, nil).Body)
	for _, want := range []string{"orderMessageEnable=true\n", "listenPort=9876\n"} {
		if !strings.Contains(text, want) {
			t.Errorf("configuration lacks %q:\n%s", want, text)
		}
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	h.ask(protocol.RespSystemError, protocol.ReqUpdateNamesrvConfig, nil, "orderMessageEnable=false")
}

func TestNeedWaitForService(t *testing.T) {
	h := start(t, func(p *conf.NamesrvProcess) { p.Namesrv.NeedWaitForService, p.Namesrv.WaitSecondsForService = true, 45 })
	h.register(h.cl, brokerA())
	reply := h.ask(protocol.RespSystemError, protocol.ReqGetRouteInfoByTopic, &protocol.GetRouteInfoByTopicRequestHeader{Topic: "T"}, nil)
	if reply.Remark != "name server not ready" {
		t.Errorf("remark %q", reply.Remark)
	}
	h.clk.Advance(45 * time.Second)
	h.route(0, "T")
}

func TestZones(t *testing.T) {
	h := start(t)
	for i, name := range []string{"a", "b"} {
		b := &broker{cluster: "C", name: name, addr: name, topics: []string{"T"}, version: 1}
		cmd := b.request(t)
		cmd.Ext = protocol.ExtFields{{Key: zoneName, Value: []string{"z1", "z2"}[i]}}
		h.call(h.cl, cmd)
	}
	ask := func(ext ...protocol.ExtField) []string {
		cmd := protocol.NewRequest(int32(protocol.ReqGetRouteInfoByTopic), &protocol.GetRouteInfoByTopicRequestHeader{Topic: "T"}, nil)
		cmd.Ext = ext
		var r protocol.TopicRouteData
		if err := protocol.UnmarshalFast(h.call(h.cl, cmd).Body, &r); err != nil {
			t.Fatal(err)
		}
		names := []string{}
		for _, d := range r.BrokerDatas {
			names = append(names, d.BrokerName)
		}
		return names
	}
	name := protocol.ExtField{Key: zoneName, Value: "Z2"}
	if got := ask(name); !slices.Equal(got, []string{"a", "b"}) {
		t.Errorf("without zone mode: %v", got)
	}
	if got := ask(protocol.ExtField{Key: zoneMode, Value: "true"}, name); !slices.Equal(got, []string{"b"}) {
		t.Errorf("zone Z2: %v", got)
	}
}

// told records the notifications that a broker gets on its port.
type told struct {
	remoting.Handler
	got chan protocol.NotifyMinBrokerIDChangeRequestHeader
}

func (n *told) Opened(remoting.Conn)                       {}
func (n *told) Closed(remoting.Conn, remoting.CloseReason) {}
func (n *told) ServeBurst(_ remoting.Conn, reqs []*protocol.Command) {
	for _, r := range reqs {
		var h protocol.NotifyMinBrokerIDChangeRequestHeader
		if r.Code == int32(protocol.ReqNotifyMinBrokerIDChange) && h.DecodeExt(r.Clone().Ext) == nil {
			n.got <- h
		}
	}
}

func TestBrokersAreToldOfTheSmallestID(t *testing.T) {
	slaveSide := &told{got: make(chan protocol.NotifyMinBrokerIDChangeRequestHeader, 4)}
	port, err := remoting.NewServer(remoting.ServerOptions{BindAddress: "127.0.0.1"}, slaveSide)
	if err != nil {
		t.Fatal(err)
	}
	if err := port.Serve(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { port.Close(context.Background()) })

	h := start(t, func(p *conf.NamesrvProcess) { p.Namesrv.NotifyMinBrokerIDChanged = true })
	acting := func(b *broker) *protocol.Command {
		cmd := b.request(t)
		cmd.Header.(*protocol.RegisterBrokerRequestHeader).EnableActingMaster = protocol.Some(true)
		return cmd
	}
	slave := brokerA()
	slave.id, slave.addr = 1, port.Addr().String()
	master := h.client()
	h.call(h.cl, acting(slave))
	h.call(master, acting(brokerA()))
	if got := <-slaveSide.got; got.MinBrokerID.V != 0 || got.MinBrokerAddr != "127.0.0.1:10911" || got.HaBrokerAddr != "ha-127.0.0.1:10911" {
		t.Errorf("after the master joined: %+v", got)
	}
	master.Close()
	if got := <-slaveSide.got; got.MinBrokerID.V != 1 || got.OfflineBrokerAddr != "127.0.0.1:10911" || got.BrokerName != "a" {
		t.Errorf("after the master left: %+v", got)
	}
}

func TestStartFailures(t *testing.T) {
	h := start(t)
	second, err := New(Options{Live: h.live, ListenAddr: h.addr, FS: newMem()})
	if err != nil {
		t.Fatal(err)
	}
	if err := second.Start(); !errors.Is(err, syscall.EADDRINUSE) {
		t.Errorf("port in use: %v", err)
	}
	if _, err := New(Options{Live: h.live, ListenAddr: "nowhere"}); err == nil {
		t.Error("a listen address without port is accepted")
	}
	mem := newMem()
	if err := mem.MkdirAll("/home/namesrv"); err != nil {
		t.Fatal(err)
	}
	f, err := mem.Create("/home/namesrv/kvConfig.json")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.WriteAt([]byte("{{{{"), 0); err != nil {
		t.Fatal(err)
	}
	broken, err := New(Options{Live: h.live, ListenAddr: "127.0.0.1:0", FS: mem})
	if err != nil {
		t.Fatal(err)
	}
	if err := broken.Start(); err == nil || !strings.Contains(err.Error(), "kvConfig.json") {
		t.Errorf("broken KV file: %v", err)
	}
}

func TestCloseTwice(t *testing.T) {
	h := start(t)
	h.register(h.cl, brokerA())
	for range 2 {
		if err := h.srv.Close(context.Background()); err != nil {
			t.Errorf("close: %v", err)
		}
	}
}

// TestEveryNameServerRequestIsServed lists the request codes that Apache RocketMQ 5.5.0's NameServer handles.
func TestEveryNameServerRequestIsServed(t *testing.T) {
	h := start(t)
	served := map[protocol.RequestCode]bool{}
	for _, r := range h.srv.routes() {
		served[r.Code] = true
	}
	all := []protocol.RequestCode{100, 101, 102, 103, 104, 105, 106, 205, 206, 216, 217, 219, 224, 304, 311, 312, 313, 318, 319, 322, 327, 901, 904}
	for _, code := range all {
		if !served[code] {
			t.Errorf("%d %s is not served", code, protocol.RequestName(code))
		}
	}
	if len(served) != len(all) {
		t.Errorf("%d codes served, %d known", len(served), len(all))
	}
}
