package broker

import (
	"net/netip"
	"testing"
	"time"

	"github.com/seedmq/seedmq/conf/clock"
	"github.com/seedmq/seedmq/remoting/protocol"
)

func TestLocksExpire(t *testing.T) {
	clk := clock.NewFake(time.UnixMilli(1_700_000_000_000))
	l := newQueueLocks(clk)
	qs := []protocol.MessageQueue{{BrokerName: "b", QueueID: 1, Topic: "T"}}
	if len(l.lock("g", "a", qs)) != 1 || !l.heldByGroup("g") || l.heldByGroup("h") {
		t.Fatal("not locked")
	}
	clk.Advance(lockTTL - time.Second)
	if len(l.lock("g", "b", qs)) != 0 {
		t.Fatal("taken from its owner")
	}
	l.lock("g", "a", qs) // renewed
	clk.Advance(lockTTL - time.Second)
	if len(l.lock("g", "b", qs)) != 0 {
		t.Fatal("not renewed")
	}
	clk.Advance(2 * time.Second)
	if l.heldByGroup("g") {
		t.Fatal("held for ever")
	}
	if len(l.lock("g", "b", qs)) != 1 {
		t.Fatal("an expired lock is not given away")
	}
	clk.Advance(lockTTL + time.Second)
	l.expire()
	if len(l.groups) != 0 {
		t.Fatal("expired locks stay in memory")
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
