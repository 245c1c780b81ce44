package clients

import (
	"net/netip"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/seedmq/seedmq/conf/clock"
	"github.com/seedmq/seedmq/conf/xlog"
	"github.com/seedmq/seedmq/remoting"
	"github.com/seedmq/seedmq/remoting/protocol"
)

// fakeConn remembers what it was told.
type fakeConn struct {
	remoting.Conn
	id     uint64
	mu     sync.Mutex
	told   []string
	closed bool
}

func (c *fakeConn) ID() uint64 { return c.id }
func (c *fakeConn) RemoteAddr() netip.AddrPort {
	return netip.AddrPortFrom(netip.AddrFrom4([4]byte{192, 0, 2, byte(c.id)}), 1)
}
func (c *fakeConn) Close(remoting.CloseReason) { c.mu.Lock(); c.closed = true; c.mu.Unlock() }
func (c *fakeConn) Oneway(cmd *protocol.Command) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if cmd.Code == protocol.ReqNotifyConsumerIDsChanged {
		c.told = append(c.told, cmd.Header.(*protocol.NotifyConsumerIDsChangedRequestHeader).ConsumerGroup)
	}
	return nil
}

// tolds returns what the connections were told since the last call.
func tolds(cs ...*fakeConn) (n []int) {
	for _, c := range cs {
		c.mu.Lock()
		n = append(n, len(c.told))
		c.told = nil
		c.mu.Unlock()
	}
	return n
}

type bench struct {
	*Registry
	clk *clock.Fake
	log strings.Builder
}

func newBench(t *testing.T) *bench {
	t.Helper()
	b := &bench{clk: clock.NewFake(time.UnixMilli(1_700_000_000_000))}
	l, err := xlog.New(&b.log, "info")
	if err != nil {
		t.Fatal(err)
	}
	b.Registry = New(Options{Clock: b.clk, Log: l})
	return b
}

func data(group string, subs ...protocol.SubscriptionData) *protocol.ConsumerData {
	return &protocol.ConsumerData{GroupName: group, ConsumeType: protocol.ConsumePassively, MessageModel: protocol.ModelClustering,
		SubscriptionDataSet: subs}
}

func sub(topic, expr string, version int64) protocol.SubscriptionData {
	return protocol.SubscriptionData{Topic: topic, SubString: expr, SubVersion: version, ExpressionType: protocol.ExpressionTag}
}

func member(c *fakeConn) Member { return Member{Conn: c, ClientID: "id-" + string(rune('0'+c.id))} }

func (b *bench) beat(c *fakeConn, d *protocol.ConsumerData) bool {
	changed, _ := b.RegisterConsumer(member(c), d, Heartbeat{})
	return changed
}

func TestChangesAreToldToAllAtOnce(t *testing.T) {
	b := newBench(t)
	c1, c2, c3 := &fakeConn{id: 1}, &fakeConn{id: 2}, &fakeConn{id: 3}
	d := data("g", sub("T", "*", 1))
	step := func(what string, want []int) {
		t.Helper()
		if got := tolds(c1, c2, c3); !slices.Equal(got, want) {
			t.Fatalf("%s: told %v, want %v", what, got, want)
		}
	}
	b.beat(c1, d)
	step("the first member", []int{1, 0, 0})
	b.beat(c1, d)
	step("the same again", []int{0, 0, 0})
	b.beat(c2, d)
	step("a second member, and the new one itself", []int{1, 1, 0})
	b.beat(c3, d)
	step("a third", []int{1, 1, 1})
	b.beat(c1, data("g", sub("T", "*", 1), sub("U", "*", 1)))
	step("a new topic", []int{1, 1, 1})
	b.Unregister(c3, "", "g")
	step("one unregisters", []int{1, 1, 0})
	b.Closed(c2)
	step("one's connection ends", []int{1, 0, 0})
	if ids := b.ConsumerIDs("g"); !slices.Equal(ids, []string{"id-1"}) {
		t.Fatal(ids)
	}
	b.Closed(c1)
	if _, ok := b.Consumers("g"); ok || len(b.conns) != 0 || len(b.Groups("")) != 0 {
		t.Fatal("something is left")
	}
}

func TestBroadcastIsNotTold(t *testing.T) {
	b := newBench(t)
	c1, c2 := &fakeConn{id: 1}, &fakeConn{id: 2}
	d := data("g", sub("T", "*", 1))
	d.MessageModel = protocol.ModelBroadcasting
	b.beat(c1, d)
	b.beat(c2, d)
	if got := tolds(c1, c2); !slices.Equal(got, []int{0, 0}) {
		t.Fatal(got)
	}
}

func TestNotifyIsAsked(t *testing.T) {
	b := newBench(t)
	b.o.Notify = func(group string) bool { return group != "g" }
	c1 := &fakeConn{id: 1}
	b.beat(c1, data("g", sub("T", "*", 1)))
	b.beat(c1, data("h", sub("T", "*", 1)))
	if len(c1.told) != 1 || c1.told[0] != "h" {
		t.Fatal(c1.told)
	}
}

func TestSubscriptions(t *testing.T) {
	b := newBench(t)
	c1, c2 := &fakeConn{id: 1}, &fakeConn{id: 2}
	b.beat(c1, data("g", sub("T", "a", 5)))
	b.beat(c2, data("g", sub("T", "a", 4)))
	s, model, known := b.Lookup("g", "T", 99)
	if !known || model != protocol.ModelClustering || s.Data.SubVersion != 5 {
		t.Fatalf("%+v", s)
	}
	if s, _, _ := b.Lookup("g", "T", 2); s.Data.SubVersion != 4 {
		t.Fatal("a member's own subscription is not used")
	}
	if s, _, known := b.Lookup("g", "none", 1); s != nil || !known {
		t.Fatal("found")
	}
	if _, _, known := b.Lookup("none", "T", 1); known {
		t.Fatal("known")
	}
	if s.Filter == nil || !s.Filter.MatchTagsCode(protocol.TagsCode("a")) || s.Filter.MatchTagsCode(protocol.TagsCode("b")) {
		t.Fatal("wrong filter")
	}
	b.beat(c1, data("g", sub("U", "*", 6)))
	if g, _ := b.Consumers("g"); len(g.Subscriptions) != 2 || g.Subscriptions["U"].Filter != nil {
		t.Fatalf("%+v", g.Subscriptions)
	}
	b.Closed(c2)
	if g, _ := b.Consumers("g"); len(g.Subscriptions) != 1 {
		t.Fatalf("a topic that nobody wants stays: %+v", g.Subscriptions)
	}
	sql := sub("S", "a > 5", 1)
	sql.ExpressionType = protocol.ExpressionSQL92
	b.beat(c1, data("g", sql))
	if s, _, _ := b.Lookup("g", "S", 1); s == nil || s.Err != nil || s.Filter == nil {
		t.Fatalf("SQL92 is not taken: %+v", s)
	}
	sql.SubString, sql.SubVersion = "a >", 2
	b.beat(c1, data("g", sql))
	if s, _, _ := b.Lookup("g", "S", 1); s == nil || s.Err == nil || s.Filter != nil {
		t.Fatalf("what is no SQL92 is taken: %+v", s)
	}
}

func TestConflictOfSQL(t *testing.T) {
	b := newBench(t)
	var told []string
	b.o.Conflict = func(group string, list []Conflict) { told = append(told, group+" "+describe(list)) }
	c1, c2 := &fakeConn{id: 1}, &fakeConn{id: 2}
	sql := func(expr string, version int64) protocol.SubscriptionData {
		s := sub("T", expr, version)
		s.ExpressionType = protocol.ExpressionSQL92
		return s
	}
	b.beat(c1, data("g", sql("a > 5", 1)))
	b.beat(c2, data("g", sql("a > 5", 2)))
	if len(told) > 0 {
		t.Fatal("same expressions conflict", told)
	}
	b.beat(c2, data("g", sql("a > 6", 3)))
	b.beat(c2, data("g", sql("a > 6", 3)))
	b.beat(c2, data("g", sub("T", "a > 5", 4))) // the same text, but as tags
	want := []string{`g topic T: client id-1 has "SQL92: a > 5", client id-2 has "SQL92: a > 6"`, `g topic T: client id-1 has "SQL92: a > 5", client id-2 has "a > 5"`}
	if !slices.Equal(told, want) || strings.Count(b.log.String(), "subscribe differently") != 2 {
		t.Fatalf("told %q\n%s", told, b.log.String())
	}
}

func TestConflict(t *testing.T) {
	b := newBench(t)
	c1, c2 := &fakeConn{id: 1}, &fakeConn{id: 2}
	b.beat(c1, data("g", sub("T", "a", 1), sub("%RETRY%g", "*", 1)))
	b.beat(c2, data("g", sub("T", "a", 2), sub("%RETRY%g", "*", 2)))
	if len(b.Conflicts("g")) != 0 || b.log.Len() > 0 {
		t.Fatal("same subscriptions conflict", b.log.String())
	}
	b.beat(c2, data("g", sub("T", "b", 3), sub("%RETRY%g", "*", 3)))
	want := Conflict{Topic: "T", ClientA: "id-1", ClientB: "id-2", A: "a", B: "b"}
	if got := b.Conflicts("g"); len(got) != 1 || got[0] != want {
		t.Fatalf("got %v", got)
	}
	if !strings.Contains(b.log.String(), `client id-2 has \"b\"`) {
		t.Fatalf("log: %s", b.log.String())
	}
	b.log.Reset()
	b.beat(c2, data("g", sub("T", "b", 3), sub("%RETRY%g", "*", 3)))
	if b.log.Len() > 0 {
		t.Fatal("logged again on every heartbeat")
	}
	b.beat(c2, data("g", sub("T", "a", 4), sub("%RETRY%g", "*", 4)))
	if len(b.Conflicts("g")) != 0 {
		t.Fatal("still there")
	}
}

func TestFingerprints(t *testing.T) {
	b := newBench(t)
	c := &fakeConn{id: 1}
	beat := func(print int32, without bool) bool {
		d := data("g")
		if !without {
			d = data("g", sub("T", "*", 1))
		}
		_, known := b.RegisterConsumer(member(c), d, Heartbeat{Fingerprint: print, WithoutSub: without})
		return known
	}
	if beat(7, true) {
		t.Fatal("an unknown fingerprint is taken")
	}
	if !beat(7, false) || !beat(7, true) {
		t.Fatal("a known fingerprint is not taken")
	}
	if s, _, _ := b.Lookup("g", "T", 1); s == nil {
		t.Fatal("a short heartbeat removed the subscription")
	}
	if beat(8, true) {
		t.Fatal("another fingerprint is taken")
	}
}

func TestExpire(t *testing.T) {
	b := newBench(t)
	c1, c2 := &fakeConn{id: 1}, &fakeConn{id: 2}
	b.beat(c1, data("g", sub("T", "*", 1)))
	b.RegisterProducer("p", member(c1))
	b.beat(c2, data("g", sub("T", "*", 1)))
	b.clk.Advance(100 * time.Second)
	b.beat(c2, data("g", sub("T", "*", 1)))
	b.RegisterProducer("p", member(c1)) // a member that is heard of keeps its connection
	b.clk.Advance(21 * time.Second)
	b.Expire()
	if c1.closed || c2.closed {
		t.Fatal("closed too early")
	}
	tolds(c1, c2)
	b.clk.Advance(100 * time.Second)
	b.beat(c2, data("g", sub("T", "*", 1)))
	b.Expire()
	if !c1.closed || c2.closed || len(b.ProducerGroups()) != 0 || !slices.Equal(b.ConsumerIDs("g"), []string{"id-2"}) {
		t.Fatal("the silent client is still there, or the other is not")
	}
	if got := tolds(c1, c2); got[1] != 1 {
		t.Fatal("the others are not told")
	}
}

func TestProducers(t *testing.T) {
	b := newBench(t)
	c1, c2 := &fakeConn{id: 1}, &fakeConn{id: 2}
	b.RegisterProducer("p", member(c2))
	b.RegisterProducer("p", member(c1))
	b.RegisterProducer("p", member(c1))
	if ps := b.Producers("p"); len(ps) != 2 || ps[0].ClientID != "id-1" {
		t.Fatal(ps)
	}
	b.Unregister(c1, "p", "")
	b.Unregister(c1, "p", "no-such-group")
	if ps := b.Producers("p"); len(ps) != 1 {
		t.Fatal(ps)
	}
	if len(b.Producers("none")) != 0 {
		t.Fatal("found")
	}
}

func TestLookupDoesNotAllocate(t *testing.T) {
	b := newBench(t)
	b.beat(&fakeConn{id: 1}, data("g", sub("T", "a", 1)))
	if n := testing.AllocsPerRun(100, func() { b.Lookup("g", "T", 1) }); n > 0 {
		t.Fatalf("%v allocations", n)
	}
}
