package broker_test

import (
	"fmt"
	"testing"

	"github.com/seedmq/seedmq/broker/brokertest"
	"github.com/seedmq/seedmq/remoting"
	"github.com/seedmq/seedmq/remoting/protocol"
)

// TestChecksGoToWhoLives: any producer of the group is asked, in turn, and not the one that sent the half message when it is gone.
func TestChecksGoToWhoLives(t *testing.T) {
	b := brokertest.Start(t, quickChecks)
	sender, second, third := brokertest.Dial(t, b.Addr()), brokertest.Dial(t, b.Addr()), brokertest.Dial(t, b.Addr())
	for _, c := range []*brokertest.Client{sender, second, third} {
		produce(c, t, "P")
	}
	stranger := brokertest.Dial(t, b.Addr())
	produce(stranger, t, "Other")
	half(t, sender, "T", "a")
	brokertest.Until(t, "all three to be asked", func() error {
		for i, c := range []*brokertest.Client{sender, second, third} {
			if len(c.Pushes) == 0 {
				return fmt.Errorf("producer %d is not", i)
			}
		}
		return nil
	})
	sender.Conn.Close(remoting.ClosedByHandler)
	third.Conn.Close(remoting.ClosedByHandler)
	for len(second.Pushes) > 0 { // asked before
		second.Push()
	}
	if r := answer(t, second, second.Push(), toCommit); r.Code != protocol.RespSuccess {
		t.Fatal(r.Code, r.Remark)
	}
	if got := stored(t, second, "T", 1, 1); string(got[0].Body) != "a" {
		t.Errorf("%q", got[0].Body)
	}
	if len(stranger.Pushes) != 0 {
		t.Error("a producer of another group was asked")
	}
}
