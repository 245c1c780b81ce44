package broker_test

import (
	"fmt"
	"testing"

	"github.com/seedmq/seedmq/broker/brokertest"
	"github.com/seedmq/seedmq/remoting/protocol"
)

// TestPullLooksOn: pulls with a filter that selects little are filled by more than one look, pass over nothing, and keep their limits of
// messages and bytes, and of what one pull may look at.
func TestPullLooksOn(t *testing.T) {
	b := brokertest.Start(t)
	c := brokertest.Dial(t, b.Addr())
	const n, most = 9000, 4800
	for i := 0; i < n; i += 300 {
		reqs := make([]*protocol.Command, 300)
		for j := range reqs {
			reqs[j] = protocol.NewRequest(protocol.ReqSendMessageV2, brokertest.SendHeader("T", 0, fmt.Sprintf("a\x01%d\x02", (i+j)%100)), []byte(fmt.Sprintf("%0200d", i+j)))
		}
		c.Burst(reqs...)
	}
	stored(t, c, "T", 0, n)
	var off, furthest int64
	for expr, want := range map[string]int{"a > 98": n / 100, "a > 200": 0, "a >= 50": n / 2} {
		found, last := 0, int64(-1)
		for off = 0; off < n; {
			h := inlinePull("T", expr, off)
			h.MaxMsgBytes = protocol.Some(int32(3000))
			r := c.Call(protocol.ReqPullMessage, h, nil)
			var x protocol.PullMessageResponseHeader
			if err := x.DecodeExt(r.Ext); err != nil || x.NextBeginOffset <= off || x.NextBeginOffset-off > most || len(r.Body) > 3000 {
				t.Fatalf("%s at %d: next %d with %d bytes: %v", expr, off, x.NextBeginOffset, len(r.Body), err)
			}
			if len(r.Body) > 0 {
				for _, m := range brokertest.Messages(t, r.Body) {
					if m.QueueOffset <= last || m.QueueOffset < off {
						t.Fatalf("%s: offset %d after %d", expr, m.QueueOffset, last)
					}
					last = m.QueueOffset
					found++
				}
			}
			furthest = max(furthest, x.NextBeginOffset-off)
			off = x.NextBeginOffset
		}
		if found != want {
			t.Errorf("%s: %d found, want %d", expr, found, want)
		}
	}
	if furthest <= 800 {
		t.Errorf("no pull went beyond one look: %d at most", furthest)
	}
}
