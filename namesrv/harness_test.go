package namesrv

import (
	"context"
	"encoding/json"
	"path/filepath"
	"reflect"
	"testing"
	"time"

	"github.com/seedmq/seedmq/conf"
	"github.com/seedmq/seedmq/conf/clock"
	"github.com/seedmq/seedmq/conf/xlog"
	"github.com/seedmq/seedmq/remoting"
	"github.com/seedmq/seedmq/remoting/protocol"
	"github.com/seedmq/seedmq/store/fs"
)

// harness is a running server and a client to it.
type harness struct {
	t    *testing.T
	srv  *Server
	clk  *clock.Fake
	live *conf.Live[conf.NamesrvProcess]
	addr string
	fs   *fs.Mem
	cl   *remoting.Client
}

// start runs a server on a fake clock that only expiry and waiting look at.
func start(t *testing.T, edit ...func(*conf.NamesrvProcess)) *harness {
	t.Helper()
	p := conf.DefaultNamesrvProcess(conf.Env{Home: "/home"})
	for _, fn := range edit {
		fn(&p)
	}
	return startLive(t, conf.NewLive(p), newMem())
}

func startLive(t *testing.T, live *conf.Live[conf.NamesrvProcess], mem *fs.Mem) *harness {
	t.Helper()
	h := &harness{t: t, live: live, fs: mem, clk: clock.NewFake(time.UnixMilli(1_700_000_000_000))}
	var err error
	h.srv, err = New(Options{Live: live, ListenAddr: "127.0.0.1:0", Clock: h.clk, FS: mem, Log: xlog.Discard()})
	if err != nil {
		t.Fatal(err)
	}
	if err := h.srv.Start(); err != nil {
		t.Fatal(err)
	}
	h.addr = h.srv.Addr().String()
	h.cl = h.client()
	t.Cleanup(func() {
		if err := h.srv.Close(context.Background()); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	return h
}

// client is another client, on a connection of its own.
func (h *harness) client() *remoting.Client {
	cl := remoting.NewClient(remoting.ClientOptions{Common: remoting.Common{Transport: remoting.TransportNet}})
	h.t.Cleanup(func() { cl.Close() })
	return cl
}

func (h *harness) call(cl *remoting.Client, cmd *protocol.Command) *protocol.Command {
	h.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	reply, err := cl.Invoke(ctx, h.addr, cmd)
	if err != nil {
		h.t.Fatalf("request %d: %v", cmd.Code, err)
	}
	return reply
}

// ask sends a request and wants a reply of the given code.
func (h *harness) ask(want protocol.ResponseCode, code protocol.RequestCode, header protocol.HeaderEncoder, body any) *protocol.Command {
	h.t.Helper()
	reply := h.call(h.cl, protocol.NewRequest(int32(code), header, encode(h.t, body)))
	if reply.Code != int32(want) {
		h.t.Fatalf("request %d: code %d %q, want %d", code, reply.Code, reply.Remark, want)
	}
	return reply
}

func encode(t *testing.T, body any) []byte {
	t.Helper()
	switch b := body.(type) {
	case nil:
		return nil
	case string:
		return []byte(b)
	}
	b, err := protocol.MarshalFast(body)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// broker is a broker as a NameServer sees it.
type broker struct {
	cluster, name, addr string
	id                  int64
	topics              []string
	version             int64
	timeoutMs           int64
}

func (b *broker) wrapper() protocol.TopicConfigWrapper {
	w := protocol.TopicConfigWrapper{DataVersion: protocol.DataVersion{Counter: b.version}, TopicConfigTable: map[string]protocol.TopicConfig{}}
	for _, name := range append([]string{b.name, "SELF_TEST_TOPIC"}, b.topics...) {
		w.TopicConfigTable[name] = protocol.NewTopicConfig(name)
	}
	return w
}

func (b *broker) request(t *testing.T) *protocol.Command {
	body := encode(t, protocol.RegisterBrokerBody{FilterServerList: []string{}, TopicConfigSerializeWrapper: b.wrapper()})
	h := &protocol.RegisterBrokerRequestHeader{ClusterName: b.cluster, BrokerName: b.name, BrokerAddr: b.addr, BrokerID: b.id,
		HaServerAddr: "ha-" + b.addr, BodyCRC32: protocol.Some(protocol.BodyCRC(body))}
	if b.timeoutMs > 0 {
		h.HeartbeatTimeoutMillis = protocol.Some(b.timeoutMs)
	}
	return protocol.NewRequest(int32(protocol.ReqRegisterBroker), h, body)
}

func (h *harness) register(cl *remoting.Client, b *broker) *protocol.Command {
	h.t.Helper()
	reply := h.call(cl, b.request(h.t))
	if reply.Code != 0 {
		h.t.Fatalf("register %s: %d %q", b.name, reply.Code, reply.Remark)
	}
	return reply
}

func (h *harness) hasRoute(topic string) bool {
	_, ok := h.srv.table.Route(topic, "")
	return ok
}

// eventually waits until cond holds.
func eventually(t *testing.T, what string, cond func() bool) {
	t.Helper()
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	late := time.After(10 * time.Second)
	for !cond() {
		select {
		case <-tick.C:
		case <-late:
			t.Fatalf("%s: not within 10 s", what)
		}
	}
}

// sameJSON compares two bodies in meaning: fastjson's dialect or not, whatever the order of keys.
func sameJSON(a, b []byte) bool {
	var x, y any
	na, err1 := protocol.NormalizeJSON(a)
	nb, err2 := protocol.NormalizeJSON(b)
	if err1 != nil || err2 != nil {
		return false
	}
	return json.Unmarshal(na, &x) == nil && json.Unmarshal(nb, &y) == nil && reflect.DeepEqual(x, y)
}

func tempConf(t *testing.T) string { return filepath.Join(t.TempDir(), "namesrv.conf") }

func newMem() *fs.Mem { return fs.NewMem(nil) }
