package broker

import (
	"strings"
	"testing"

	"github.com/seedmq/seedmq/remoting/protocol"
)

// TestFullColdReads: a read that finds no place is refused, with what is full and what to do, and runs once there is a place again.
func TestFullColdReads(t *testing.T) {
	p := newColdReads()
	for range poolQueue {
		if r := p.do(func() {}); r != nil {
			t.Fatal(r)
		}
	}
	r := p.do(func() { t.Error("the refused read ran") })
	want := "[OVERLOAD]system busy, start flow control for a while: 10000 reads of old messages wait for the disk, of 10000; pull again in a moment"
	if r == nil || r.Code != protocol.RespSystemBusy || r.Remark != want {
		t.Fatalf("%+v, want %q", r, want)
	}
	if err := p.start(); err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	for p.do(func() { close(done) }) != nil {
	}
	<-done
	p.close()
}

// TestPoolsSayWhatToDo: what a full pool of the broker tells to do is a sentence.
func TestPoolsSayWhatToDo(t *testing.T) {
	for name, o := range new(Broker).pools() {
		if o.Queue != poolQueue || o.MaxPerConn >= o.Queue || !strings.Contains(o.Key, "send fewer") {
			t.Errorf("pool %s: %+v", name, o)
		}
	}
}
