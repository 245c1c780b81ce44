package outer

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/seedmq/seedmq/conf/clock"
	"github.com/seedmq/seedmq/remoting/protocol"
)

// call is one request that a fake NameServer got.
type call struct {
	addr string
	code protocol.RequestCode
	ext  map[string]string
	body []byte
}

func (c call) topics(t *testing.T) []string {
	t.Helper()
	var b protocol.RegisterBrokerBody
	if err := json.Unmarshal(c.body, &b); err != nil {
		t.Fatal(err)
	}
	var names []string
	for name := range b.TopicConfigSerializeWrapper.TopicConfigTable {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// fakeNet is a network of fake NameServers.
type fakeNet struct {
	mu      sync.Mutex
	down    map[string]bool
	hang    map[string]bool
	answer  map[protocol.RequestCode]int32
	changed string // what QUERY_DATA_VERSION says
	conns   map[*fakeConn]bool
	calls   []call
}

func newFakeNet() *fakeNet {
	return &fakeNet{down: map[string]bool{}, hang: map[string]bool{}, answer: map[protocol.RequestCode]int32{}, conns: map[*fakeConn]bool{}, changed: "false"}
}

type fakeConn struct {
	n    *fakeNet
	addr string
	done chan struct{}
}

func (n *fakeNet) Connect(ctx context.Context, addr string) (Conn, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.down[addr] {
		return nil, errors.New("refused")
	}
	c := &fakeConn{n: n, addr: addr, done: make(chan struct{})}
	n.conns[c] = true
	return c, nil
}

func (n *fakeNet) Disconnect(c Conn) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.closeLocked(c.(*fakeConn))
}

func (n *fakeNet) closeLocked(c *fakeConn) {
	if n.conns[c] {
		delete(n.conns, c)
		close(c.done)
	}
}

// set brings a NameServer down, which closes its connections, or up.
func (n *fakeNet) set(addr string, down bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.down[addr] = down
	for c := range n.conns {
		if down && c.addr == addr {
			n.closeLocked(c)
		}
	}
}

func (c *fakeConn) Done() <-chan struct{} { return c.done }

func (c *fakeConn) Invoke(ctx context.Context, cmd *protocol.Command) (*protocol.Command, error) {
	frame := protocol.AppendFrame(nil, cmd)
	var got protocol.Command
	if err := protocol.DecodeFrame(frame[4:], &got); err != nil {
		return nil, err
	}
	ext := map[string]string{}
	for _, f := range got.Ext {
		ext[f.Key] = f.Value
	}
	code := protocol.RequestCode(got.Code)
	c.n.mu.Lock()
	c.n.calls = append(c.n.calls, call{c.addr, code, ext, slices.Clone(got.Body)})
	hang, answer, changed := c.n.hang[c.addr], c.n.answer[code], c.n.changed
	c.n.mu.Unlock()
	if hang {
		<-ctx.Done()
		return nil, ctx.Err()
	}
	reply := &protocol.Command{Code: answer, Flag: protocol.FlagResponse}
	if code == protocol.ReqQueryDataVersion {
		reply.Ext = protocol.ExtFields{{Key: "changed", Value: changed}}
	}
	return reply, nil
}

// take waits until n calls came and returns them all, leaving none.
func (n *fakeNet) take(t *testing.T, count int) []call {
	t.Helper()
	var got []call
	waitFor(t, func() (bool, string) {
		n.mu.Lock()
		defer n.mu.Unlock()
		if len(n.calls) < count {
			return false, fmt.Sprintf("%d calls of %d", len(n.calls), count)
		}
		got, n.calls = n.calls, nil
		return true, ""
	})
	if len(got) != count {
		t.Fatalf("%d calls, want %d: %+v", len(got), count, got)
	}
	return got
}

func waitFor(t *testing.T, ok func() (bool, string)) {
	t.Helper()
	deadline := time.Now().Add(10 * time.Second)
	for {
		done, why := ok()
		if done {
			return
		}
		if time.Now().After(deadline) {
			t.Fatal("timeout: ", why)
		}
		time.Sleep(200 * time.Microsecond)
	}
}

// topicTable is a fake of the broker's topic table.
type topicTable struct {
	mu      sync.Mutex
	topics  map[string]protocol.TopicConfig
	version protocol.DataVersion
	perm    int32
}

func (tt *topicTable) set(names ...string) {
	tt.mu.Lock()
	defer tt.mu.Unlock()
	m := map[string]protocol.TopicConfig{}
	for _, n := range names {
		m[n] = protocol.NewTopicConfig(n)
	}
	tt.topics = m
	tt.version.Counter++
}

func (tt *topicTable) get() (map[string]protocol.TopicConfig, protocol.DataVersion) {
	tt.mu.Lock()
	defer tt.mu.Unlock()
	return tt.topics, tt.version
}

func (tt *topicTable) permission() int32 {
	tt.mu.Lock()
	defer tt.mu.Unlock()
	return tt.perm
}

type rig struct {
	*fakeNet
	clk    *clock.Fake
	topics *topicTable
	r      *Registrar
}

const ns1, ns2 = "10.0.0.1:9876", "10.0.0.2:9876"

func start(t *testing.T, edit func(o *Options)) *rig {
	t.Helper()
	g := &rig{fakeNet: newFakeNet(), clk: clock.NewFake(time.UnixMilli(1_700_000_000_000)), topics: &topicTable{perm: 6}}
	g.topics.set("A", "B")
	o := Options{
		Identity:    Identity{Cluster: "C", Name: "b", Addr: "1.2.3.4:10911", HAAddr: "1.2.3.4:10912"},
		NameServers: []string{ns1},
		Transport:   g.fakeNet, Topics: g.topics.get, Permission: g.topics.permission, Force: true, Clock: g.clk,
		Lookup: func(context.Context, string) ([]netip.Addr, error) { return nil, errors.New("no such host") },
	}
	if edit != nil {
		edit(&o)
	}
	g.r = New(o)
	if err := g.r.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		_ = g.r.Close(ctx)
		g.mu.Lock()
		defer g.mu.Unlock()
		if len(g.conns) > 0 {
			t.Errorf("%d connections left open", len(g.conns))
		}
	})
	return g
}

// asleep waits until the registrar waits for n timers (one per peer, one for resolving).
func (g *rig) asleep(t *testing.T, n int) {
	t.Helper()
	waitFor(t, func() (bool, string) { return g.clk.Timers() == n, fmt.Sprint(g.clk.Timers(), " timers of ", n) })
}

// settle has the peer look at its topics and come to rest.
func (g *rig) settle(addr string) {
	g.r.mu.Lock()
	p := g.r.mu.peers[addr]
	g.r.mu.Unlock()
	for range 3 { // the second is taken after the work of the first; the third after the timer of the second
		p.changed <- struct{}{}
	}
	for len(p.changed) > 0 {
		time.Sleep(100 * time.Microsecond)
	}
}

func (g *rig) registered(t *testing.T, n int) {
	t.Helper()
	waitFor(t, func() (bool, string) {
		have := 0
		for _, s := range g.r.States() {
			if s.Registered {
				have++
			}
		}
		return have == n, fmt.Sprintf("%d registered of %d: %+v", have, n, g.r.States())
	})
}

func TestRegistersWithAllAtStart(t *testing.T) {
	g := start(t, func(o *Options) { o.NameServers = []string{ns1, ns2} })
	calls := g.take(t, 2)
	slices.SortFunc(calls, func(a, b call) int { return strings.Compare(a.addr, b.addr) })
	for i, c := range calls {
		if c.addr != []string{ns1, ns2}[i] || c.code != protocol.ReqRegisterBroker {
			t.Fatalf("call %d: %+v", i, c)
		}
		want := map[string]string{
			"brokerName": "b", "brokerAddr": "1.2.3.4:10911", "clusterName": "C", "brokerId": "0", "haServerAddr": "1.2.3.4:10912",
			"enableActingMaster": "false", "compressed": "false",
			"bodyCrc32": strconv.Itoa(int(crc32.ChecksumIEEE(c.body) & 0x7fffffff)),
		}
		for k, v := range want {
			if c.ext[k] != v {
				t.Errorf("%s = %q, want %q", k, c.ext[k], v)
			}
		}
		if len(c.ext) != len(want) {
			t.Errorf("fields %v", c.ext)
		}
		if got := c.topics(t); !slices.Equal(got, []string{"A", "B"}) {
			t.Errorf("topics %v", got)
		}
	}
}

// The body has the members that a Java broker sends (fixtures/wire/broker-register.jsonl).
func TestBodyShape(t *testing.T) {
	g := start(t, nil)
	var b map[string]map[string]any
	raw := g.take(t, 1)[0].body
	var top map[string]json.RawMessage
	if err := json.Unmarshal(raw, &top); err != nil {
		t.Fatal(err)
	}
	if string(top["filterServerList"]) != "[]" || len(top) != 2 {
		t.Fatalf("%s", raw)
	}
	delete(top, "filterServerList")
	rest, _ := json.Marshal(top)
	if err := json.Unmarshal(rest, &b); err != nil {
		t.Fatal(err)
	}
	w := b["topicConfigSerializeWrapper"]
	for _, k := range []string{"dataVersion", "mappingDataVersion", "topicConfigTable", "topicQueueMappingDetailMap", "topicQueueMappingInfoMap"} {
		if _, ok := w[k].(map[string]any); !ok {
			t.Errorf("%s is %v", k, w[k])
		}
	}
	topic := w["topicConfigTable"].(map[string]any)["A"].(map[string]any)
	for _, k := range []string{"attributes", "order", "perm", "readQueueNums", "topicFilterType", "topicName", "topicSysFlag", "writeQueueNums"} {
		if _, ok := topic[k]; !ok {
			t.Errorf("topic has no %s", k)
		}
	}
}

func TestPeriod(t *testing.T) {
	g := start(t, func(o *Options) { o.Period = time.Second }) // clamped to 10 s
	g.take(t, 1)
	g.asleep(t, 2)
	g.clk.Advance(9 * time.Second)
	g.clk.Advance(time.Second)
	if c := g.take(t, 1)[0]; c.code != protocol.ReqRegisterBroker || len(c.topics(t)) != 2 {
		t.Fatalf("%+v", c)
	}
}

func TestChangeIsToldAtOnceAndAlone(t *testing.T) {
	g := start(t, nil)
	g.take(t, 1)
	g.asleep(t, 2)
	g.topics.set("A", "B", "New")
	g.r.TopicsChanged()
	if got := g.take(t, 1)[0].topics(t); !slices.Equal(got, []string{"New"}) {
		t.Fatalf("told %v", got)
	}
	g.topics.set("A", "New") // a deletion is told with all topics
	g.r.TopicsChanged()
	if got := g.take(t, 1)[0].topics(t); !slices.Equal(got, []string{"A", "New"}) {
		t.Fatalf("told %v", got)
	}
	g.settle(ns1) // told of changes when nothing changed: says nothing
	g.clk.Advance(30 * time.Second)
	if got := g.take(t, 1)[0].topics(t); !slices.Equal(got, []string{"A", "New"}) {
		t.Fatalf("told %v", got)
	}
}

// A NameServer that refused a change must not get the next one alone.
func TestRefusedChangeIsFollowedByAllTopics(t *testing.T) {
	g := start(t, nil)
	g.take(t, 1)
	g.asleep(t, 2)
	g.fakeNet.mu.Lock()
	g.answer[protocol.ReqRegisterBroker] = 1
	g.fakeNet.mu.Unlock()
	g.topics.set("A", "B", "New")
	g.r.TopicsChanged()
	g.take(t, 1)
	g.registered(t, 0)
	g.asleep(t, 2)
	g.fakeNet.mu.Lock()
	g.answer[protocol.ReqRegisterBroker] = 0
	g.fakeNet.mu.Unlock()
	g.clk.Advance(minBackoff)
	if got := g.take(t, 1)[0].topics(t); !slices.Equal(got, []string{"A", "B", "New"}) {
		t.Fatalf("told %v", got)
	}
	g.registered(t, 1)
}

func TestPermissionChange(t *testing.T) {
	g := start(t, nil)
	g.take(t, 1)
	g.asleep(t, 2)
	g.topics.mu.Lock()
	g.topics.perm = protocol.PermRead
	g.topics.mu.Unlock()
	g.r.TopicsChanged()
	var b protocol.RegisterBrokerBody
	if err := json.Unmarshal(g.take(t, 1)[0].body, &b); err != nil {
		t.Fatal(err)
	}
	table := b.TopicConfigSerializeWrapper.TopicConfigTable
	if len(table) != 2 || table["A"].Perm != protocol.PermRead {
		t.Fatalf("%+v", table)
	}
}

func TestLostConnection(t *testing.T) {
	g := start(t, nil)
	g.take(t, 1)
	g.asleep(t, 2)
	g.set(ns1, true)
	g.registered(t, 0)
	g.asleep(t, 2)
	g.topics.set("A", "B", "New")
	g.r.TopicsChanged()
	g.set(ns1, false)
	g.clk.Advance(maxBackoff)
	if got := g.take(t, 1)[0].topics(t); !slices.Equal(got, []string{"A", "B", "New"}) {
		t.Fatalf("told %v", got)
	}
	// A connection that closes while the NameServer lives is made again without any pause.
	g.registered(t, 1)
	g.fakeNet.mu.Lock()
	for c := range g.conns {
		g.closeLocked(c)
	}
	g.fakeNet.mu.Unlock()
	g.take(t, 1)
}

func TestOneHangingNameServerHoldsUpNobody(t *testing.T) {
	g := start(t, func(o *Options) { o.NameServers = []string{ns1, ns2}; o.Timeout = time.Minute })
	g.take(t, 2)
	g.registered(t, 2)
	g.fakeNet.mu.Lock()
	g.hang[ns1] = true
	g.fakeNet.mu.Unlock()
	for i := range 3 {
		g.topics.set("A", "B", fmt.Sprint("New", i))
		g.r.TopicsChanged()
		waitFor(t, func() (bool, string) {
			g.fakeNet.mu.Lock()
			defer g.fakeNet.mu.Unlock()
			n := 0
			for _, c := range g.calls {
				if c.addr == ns2 {
					n++
				}
			}
			return n == i+1, fmt.Sprint(n)
		})
	}
}

func TestDataVersionQuery(t *testing.T) {
	g := start(t, func(o *Options) { o.Force = false })
	g.take(t, 1)
	g.asleep(t, 2)
	g.clk.Advance(30 * time.Second)
	c := g.take(t, 1)[0]
	var v protocol.DataVersion
	if err := json.Unmarshal(c.body, &v); err != nil || c.code != protocol.ReqQueryDataVersion || v.Counter != 1 {
		t.Fatalf("%+v %v", c, err)
	}
	g.asleep(t, 2)
	g.fakeNet.mu.Lock()
	g.changed = "true"
	g.fakeNet.mu.Unlock()
	g.clk.Advance(30 * time.Second)
	if cs := g.take(t, 2); cs[0].code != protocol.ReqQueryDataVersion || cs[1].code != protocol.ReqRegisterBroker {
		t.Fatalf("%+v", cs)
	}
}

func TestNamesAreResolvedAgain(t *testing.T) {
	var mu sync.Mutex
	ips := []string{"10.0.0.1"}
	fail := false
	g := start(t, func(o *Options) {
		o.NameServers = []string{"names:9876"}
		o.Lookup = func(_ context.Context, host string) ([]netip.Addr, error) {
			mu.Lock()
			defer mu.Unlock()
			if fail || host != "names" {
				return nil, errors.New("no answer")
			}
			var out []netip.Addr
			for _, ip := range ips {
				out = append(out, netip.MustParseAddr(ip))
			}
			return append(out, netip.MustParseAddr("::1")), nil
		}
	})
	if c := g.take(t, 1)[0]; c.addr != ns1 {
		t.Fatal(c.addr)
	}
	g.asleep(t, 2)
	mu.Lock()
	fail = true
	mu.Unlock()
	g.clk.Advance(29 * time.Second)
	g.clk.Advance(time.Second) // the look-up fails: the old address stays
	g.take(t, 1)
	g.asleep(t, 2)
	mu.Lock()
	fail, ips = false, []string{"10.0.0.2"}
	mu.Unlock()
	g.clk.Advance(maxBackoff)
	cs := g.take(t, 2)
	slices.SortFunc(cs, func(a, b call) int { return strings.Compare(a.addr, b.addr) })
	if cs[0].addr != ns1 || cs[0].code != protocol.ReqUnregisterBroker || cs[1].addr != ns2 || cs[1].code != protocol.ReqRegisterBroker {
		t.Fatalf("%+v", cs)
	}
	g.r.SetNameServers([]string{ns1})
	cs = g.take(t, 2)
	slices.SortFunc(cs, func(a, b call) int { return strings.Compare(a.addr, b.addr) })
	if cs[0].code != protocol.ReqRegisterBroker || cs[1].code != protocol.ReqUnregisterBroker {
		t.Fatalf("%+v", cs)
	}
}

func TestCloseUnregisters(t *testing.T) {
	g := start(t, func(o *Options) { o.NameServers = []string{ns1, ns2} })
	g.take(t, 2)
	g.registered(t, 2)
	g.fakeNet.mu.Lock()
	g.hang[ns2] = true
	g.fakeNet.mu.Unlock()
	ctx, cancel := context.WithTimeout(context.Background(), 50*time.Millisecond)
	defer cancel()
	if err := g.r.Close(ctx); !errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), ns2) {
		t.Fatal(err)
	}
	for _, c := range g.take(t, 2) {
		if c.code != protocol.ReqUnregisterBroker || c.ext["brokerName"] != "b" || c.ext["brokerId"] != "0" || len(c.ext) != 4 {
			t.Fatalf("%+v", c)
		}
	}
	if err := g.r.Close(context.Background()); err != nil {
		t.Fatal("second Close: ", err)
	}
}

func TestParseNameServers(t *testing.T) {
	got, err := ParseNameServers(" a:1;10.0.0.1:9876; a:1;;[::1]:2 ")
	if err != nil || !slices.Equal(got, []string{"a:1", "10.0.0.1:9876", "[::1]:2"}) {
		t.Fatalf("%q %v", got, err)
	}
	_, err = ParseNameServers("a;b:0;c:99999;:5;d:1")
	for _, bad := range []string{`"a"`, `"b:0"`, `"c:99999"`, `":5"`} {
		if err == nil || !strings.Contains(err.Error(), bad) {
			t.Errorf("%s not in: %v", bad, err)
		}
	}
}
