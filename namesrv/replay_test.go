package namesrv

import (
	"bufio"
	"compress/gzip"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/seedmq/seedmq/conf"
	"github.com/seedmq/seedmq/remoting/protocol"
)

// exchange is a recorded request and Apache RocketMQ's reply.
type exchange struct {
	seq            int
	request, reply *protocol.Command
}

// recording reads testdata/name: exchanges by conversation.
func recording(t *testing.T, name string) map[string][]exchange {
	t.Helper()
	f, err := os.Open("testdata/" + name)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	out, waiting := map[string][]exchange{}, map[string]exchange{}
	lines := bufio.NewScanner(z)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var l struct {
			File, Dir, Raw string
			Seq            int
		}
		if err := json.Unmarshal(lines.Bytes(), &l); err != nil {
			t.Fatal(err)
		}
		raw, err := base64.StdEncoding.DecodeString(l.Raw)
		if err != nil {
			t.Fatal(err)
		}
		cmd := &protocol.Command{}
		if err := protocol.DecodeFrame(raw[4:], cmd); err != nil {
			t.Fatalf("%s/%d: %v", l.File, l.Seq, err)
		}
		key := fmt.Sprint(l.File, "#", cmd.Opaque)
		if l.Dir == "c2s" {
			waiting[key] = exchange{seq: l.Seq, request: cmd}
			continue
		}
		e := waiting[key]
		e.reply = cmd
		out[l.File] = append(out[l.File], e)
	}
	if err := lines.Err(); err != nil {
		t.Fatal(err)
	}
	return out
}

// replay sends the request and compares the answers in meaning.
func (h *harness) replay(e exchange) {
	h.t.Helper()
	got := h.call(h.cl, &protocol.Command{Code: e.request.Code, Language: e.request.Language, Version: e.request.Version, Ext: e.request.Ext, Body: e.request.Body})
	if got.Code != e.reply.Code || got.Remark != e.reply.Remark {
		h.t.Errorf("%d, request %d: %d %q, recorded %d %q", e.seq, e.request.Code, got.Code, got.Remark, e.reply.Code, e.reply.Remark)
	}
	if g, w := extMap(got.Ext), extMap(e.reply.Ext); !maps.Equal(g, w) {
		h.t.Errorf("%d, request %d: header %v, recorded %v", e.seq, e.request.Code, g, w)
	}
	switch protocol.RequestCode(e.request.Code) {
	case protocol.ReqGetNamesrvConfig: // Java shows keys of its own
		if !strings.Contains("\n"+string(got.Body), "\norderMessageEnable=") {
			h.t.Errorf("configuration:\n%s", got.Body)
		}
	case protocol.ReqGetAllTopicListFromNameServer:
		if g, w := topicsIn(h.t, got.Body), topicsIn(h.t, e.reply.Body); !slices.Equal(g, w) {
			h.t.Errorf("%d: topics %v, recorded %v", e.seq, g, w)
		}
	default:
		if len(got.Body)+len(e.reply.Body) > 0 && !sameJSON(got.Body, e.reply.Body) {
			h.t.Errorf("%d, request %d: body\n%s\nrecorded\n%s", e.seq, e.request.Code, got.Body, e.reply.Body)
		}
	}
}

func extMap(ext protocol.ExtFields) map[string]string {
	m := map[string]string{}
	for _, f := range ext {
		m[f.Key] = f.Value
	}
	return m
}

func topicsIn(t *testing.T, body []byte) []string {
	var l protocol.TopicList
	if err := protocol.UnmarshalFast(body, &l); err != nil {
		t.Errorf("topic list: %v", err)
	}
	slices.Sort(l.TopicList)
	return l.TopicList
}

// TestReplayBrokerRegister plays a broker's life: registrations, the cluster as it was seen between them, unregistration.
func TestReplayBrokerRegister(t *testing.T) {
	h := start(t)
	n := 0
	for _, e := range recording(t, "broker-register.jsonl.gz")["broker-register"] {
		h.replay(e)
		n++
	}
	if n != 12 {
		t.Errorf("%d exchanges, want 12", n)
	}
}

// TestReplayMqadmin plays what the official mqadmin asked. Before each question the server is brought into the state that the
// recorded answer shows.
func TestReplayMqadmin(t *testing.T) {
	all := recording(t, "mqadmin.jsonl.gz")
	if len(all) < 76 {
		t.Fatalf("only %d conversations", len(all))
	}
	for _, name := range slices.Sorted(maps.Keys(all)) {
		t.Run(name, func(t *testing.T) {
			h := start(t, func(p *conf.NamesrvProcess) {})
			for _, e := range all[name] {
				h.arrange(e)
				h.replay(e)
			}
		})
	}
}

// arrange makes the recorded answer true.
func (h *harness) arrange(e exchange) {
	h.t.Helper()
	b := &broker{cluster: "GoldenCluster", name: "broker-g", addr: "127.0.0.2:12911", version: int64(e.seq)}
	switch code := protocol.RequestCode(e.request.Code); {
	case e.reply.Code != 0:
	case code == protocol.ReqGetRouteInfoByTopic:
		var r protocol.TopicRouteData
		if err := protocol.UnmarshalFast(e.reply.Body, &r); err != nil {
			h.t.Fatal(err)
		}
		topic, _ := e.request.Ext.Get("topic")
		h.registerRoute(topic, &r, int64(e.seq))
	case code == protocol.ReqGetBrokerClusterInfo:
		var c protocol.ClusterInfo
		if err := protocol.UnmarshalFast(e.reply.Body, &c); err != nil {
			h.t.Fatal(err)
		}
		for name, d := range c.BrokerAddrTable {
			for id, addr := range d.BrokerAddrs {
				h.register(h.cl, &broker{cluster: d.Cluster, name: name, addr: addr, id: id, version: int64(e.seq)})
			}
		}
	case code == protocol.ReqGetAllTopicListFromNameServer:
		for _, topic := range h.srv.table.Topics() {
			h.srv.table.DeleteTopic(topic, "")
		}
		h.registerTopics(b, topicsIn(h.t, e.reply.Body))
	case code == protocol.ReqWipeWritePermOfBroker, code == protocol.ReqAddWritePermOfBroker:
		n := 0
		for _, f := range e.reply.Ext {
			fmt.Sscan(f.Value, &n)
		}
		topics := []string{}
		for i := range n {
			topics = append(topics, fmt.Sprint("T", i))
		}
		if n > 0 {
			h.registerTopics(b, topics)
		}
	case code == protocol.ReqGetKVConfig:
		v, _ := e.reply.Ext.Get("value")
		ns, _ := e.request.Ext.Get("namespace")
		key, _ := e.request.Ext.Get("key")
		h.ask(0, protocol.ReqPutKVConfig, &protocol.PutKVConfigRequestHeader{Namespace: ns, Key: key, Value: v}, nil)
	}
}

// registerTopics registers b with exactly these topics.
func (h *harness) registerTopics(b *broker, topics []string) {
	w := protocol.TopicConfigWrapper{DataVersion: protocol.DataVersion{Counter: b.version}, TopicConfigTable: map[string]protocol.TopicConfig{}}
	for _, name := range topics {
		w.TopicConfigTable[name] = protocol.NewTopicConfig(name)
	}
	h.registerWrapper(b, w)
}

func (h *harness) registerWrapper(b *broker, w protocol.TopicConfigWrapper) {
	h.t.Helper()
	cmd := b.request(h.t)
	header := cmd.Header.(*protocol.RegisterBrokerRequestHeader)
	header.EnableActingMaster = protocol.Some(false)
	cmd.Body = encode(h.t, protocol.RegisterBrokerBody{FilterServerList: []string{}, TopicConfigSerializeWrapper: w})
	header.BodyCRC32 = protocol.Some(protocol.BodyCRC(cmd.Body))
	if reply := h.call(h.cl, cmd); reply.Code != 0 {
		h.t.Fatalf("register: %d %q", reply.Code, reply.Remark)
	}
}

// registerRoute registers the brokers of r with topic as r shows it.
func (h *harness) registerRoute(topic string, r *protocol.TopicRouteData, version int64) {
	h.t.Helper()
	for _, d := range r.BrokerDatas {
		for id, addr := range d.BrokerAddrs {
			b := &broker{cluster: d.Cluster, name: d.BrokerName, addr: addr, id: id, version: version}
			w := b.wrapper()
			for _, q := range r.QueueDatas {
				if q.BrokerName == d.BrokerName {
					c := protocol.NewTopicConfig(topic)
					c.Perm, c.ReadQueueNums, c.WriteQueueNums, c.TopicSysFlag = q.Perm, q.ReadQueueNums, q.WriteQueueNums, q.TopicSysFlag
					w.TopicConfigTable[topic] = c
				}
			}
			if m := r.TopicQueueMappingByBroker[d.BrokerName]; m != nil {
				w.TopicQueueMappingInfoMap = map[string]*protocol.TopicQueueMappingInfo{topic: m}
			}
			h.registerWrapper(b, w)
		}
	}
}
