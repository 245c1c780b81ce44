package broker

import (
	"net/netip"
	"testing"
	"time"

	"github.com/seedmq/seedmq/conf/clock"
	"github.com/seedmq/seedmq/remoting/protocol"
)

func lock(l *queueLocks, conn uint64, group, client string, qs []protocol.MessageQueue) []protocol.MessageQueue {
	got, _ := l.lock(asker{conn: conn, client: client}, group, qs)
	return got
}

func TestLocksExpire(t *testing.T) {
	clk := clock.NewFake(time.UnixMilli(1_700_000_000_000))
	l := newQueueLocks(clk)
	qs := []protocol.MessageQueue{{BrokerName: "b", QueueID: 1, Topic: "T"}}
	if len(lock(l, 1, "g", "a", qs)) != 1 || !l.heldByGroup("g") || l.heldByGroup("h") {
		t.Fatal("not locked")
	}
	clk.Advance(lockTTL - time.Second)
	if len(lock(l, 1, "g", "b", qs)) != 0 {
		t.Fatal("taken from its owner")
	}
	lock(l, 1, "g", "a", qs) // renewed
	clk.Advance(lockTTL - time.Second)
	if len(lock(l, 1, "g", "b", qs)) != 0 {
		t.Fatal("not renewed")
	}
	clk.Advance(2 * time.Second)
	if l.heldByGroup("g") {
		t.Fatal("held for ever")
	}
	if len(lock(l, 1, "g", "b", qs)) != 1 {
		t.Fatal("an expired lock is not given away")
	}
	clk.Advance(lockTTL + time.Second)
	l.expire()
	if len(l.groups) != 0 {
		t.Fatal("expired locks stay in memory")
	}
}

func TestLocksEndWithTheirConnection(t *testing.T) {
	l := newQueueLocks(clock.NewFake(time.UnixMilli(1_700_000_000_000)))
	q := func(ids ...int32) (qs []protocol.MessageQueue) {
		for _, id := range ids {
			qs = append(qs, protocol.MessageQueue{BrokerName: "b", QueueID: id, Topic: "T"})
		}
		return qs
	}
	lock(l, 1, "g", "a", q(0, 1))
	lock(l, 1, "h", "a", q(0))
	lock(l, 2, "g", "b", q(2))
	if n, _ := l.release(3); n != 0 {
		t.Fatalf("a connection without locks had %d", n)
	}
	lock(l, 4, "g", "a", q(1)) // a came back over another connection before the end of the first was seen
	if n, free := l.release(1); n != 2 || len(free) != 0 {
		t.Fatalf("%d queues freed, want g's 0 and h's 0", n)
	}
	if got := lock(l, 2, "g", "b", q(0, 1)); len(got) != 1 || got[0].QueueID != 0 {
		t.Fatalf("b has %v, want 0: 1 is a's, by its new connection", got)
	}
	if l.heldByGroup("h") {
		t.Fatal("h has locks")
	}
	l.releaseGroup(2, "g")
	if got := lock(l, 2, "g", "b", q(0, 1, 2)); len(got) != 2 {
		t.Fatalf("b left and came back: it has %v", got)
	}
	l.releaseGroup(2, "g")
	l.unlock("g", "a", q(1))
	l.release(4)
	if len(l.groups)+len(l.conns) != 0 {
		t.Fatalf("left over: %v %v", l.groups, l.conns)
	}
}

func TestWhoWaitsForALockIsKnown(t *testing.T) {
	clk := clock.NewFake(time.UnixMilli(1_700_000_000_000))
	l := newQueueLocks(clk)
	qs := []protocol.MessageQueue{{BrokerName: "b", QueueID: 1, Topic: "T"}, {BrokerName: "b", QueueID: 2, Topic: "T"}}
	want := func(how string, free waiters) {
		t.Helper()
		if len(free) != 1 || len(free["g"]) != 1 || free["g"][0] != 2 {
			t.Fatalf("%s: %v waits", how, free)
		}
	}
	lock(l, 1, "g", "a", qs)
	if lock(l, 2, "g", "b", qs); len(l.unlock("g", "b", qs)) != 0 {
		t.Fatal("b gave back what it had not")
	}
	want("unlock", l.unlock("g", "a", qs))
	if len(l.unlock("g", "a", qs)) != 0 {
		t.Fatal("told twice")
	}
	lock(l, 1, "g", "a", qs)
	lock(l, 2, "g", "b", qs[:1])
	_, free := l.release(1)
	want("the end of the connection", free)
	lock(l, 1, "g", "a", qs)
	lock(l, 2, "g", "b", qs[:1])
	lock(l, 1, "g", "a", qs[1:])
	clk.Advance(lockTTL + time.Millisecond)
	want("expiry", l.expire())
	if len(l.expire()) != 0 {
		t.Fatal("expired twice")
	}
}

// TestLocksThatAreLeft: a client that does not give back what it lost leaves it out when it renews the rest.
func TestLocksThatAreLeft(t *testing.T) {
	clk := clock.NewFake(time.UnixMilli(1_700_000_000_000))
	l := newQueueLocks(clk)
	q := func(ids ...int32) (qs []protocol.MessageQueue) {
		for _, id := range ids {
			qs = append(qs, protocol.MessageQueue{BrokerName: "b", QueueID: id, Topic: "T"})
		}
		return qs
	}
	a := asker{conn: 1, client: "a", keeps: true}
	l.lock(a, "g", q(0, 1, 2, 3))
	lock(l, 2, "g", "b", q(2, 3)) // wants them
	if _, free := l.lock(a, "g", q(0, 1)); len(free) != 0 {
		t.Fatalf("%v is free: a may only just have got the others", free)
	}
	clk.Advance(5 * time.Second)
	if _, free := l.lock(a, "g", q(4)); len(free) != 0 {
		t.Fatalf("%v is free when a asks for one more", free)
	}
	if _, free := l.lock(a, "g", q(0, 1)); len(free["g"]) != 1 || free["g"][0] != 2 {
		t.Fatalf("%v waits for what a left", free)
	}
	if got := lock(l, 2, "g", "b", q(0, 1, 2, 3, 4)); len(got) != 2 {
		t.Fatalf("b has %v", got)
	}
	clk.Advance(20 * time.Second)
	if _, free := l.lock(a, "g", q(0)); len(free["g"]) != 1 { // its only one is renewed
		t.Fatalf("%v", free)
	}
	java := asker{conn: 3, client: "j"}
	l.lock(java, "h", q(0, 1))
	lock(l, 2, "h", "b", q(1))
	clk.Advance(5 * time.Second)
	if _, free := l.lock(java, "h", q(0, 2)); len(free) != 0 {
		t.Fatal("a client that gives back its locks lost one")
	}
}

func TestUniqIDs(t *testing.T) {
	now := time.Date(2026, 3, 1, 0, 0, 0, 5*int(time.Millisecond), time.UTC)
	u := newUniqIDs(netip.MustParseAddrPort("192.0.2.1:10911"), 0x0A0B0C0D)
	var a, b [uniqIDLen]byte
	u.next(&a, now)
	u.next(&b, now)
	if a == b || string(a[:8]) != "C0000201" || string(a[12:20]) != "0A0B0C0D" || string(a[20:28]) != "00000005" {
		t.Fatalf("%s %s", a, b)
	}
	u.next(&b, now.Add(-time.Hour)) // the month before
	if got := string(b[20:28]); got != "8FFB2185" {
		t.Fatalf("28 days less an hour are %s", got)
	}
}
