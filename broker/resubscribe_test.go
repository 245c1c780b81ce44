package broker_test

import (
	"fmt"
	"testing"

	"github.com/seedmq/seedmq/broker/brokertest"
	"github.com/seedmq/seedmq/remoting"
	"github.com/seedmq/seedmq/remoting/protocol"
)

// TestNewerSubscriptionIsAskedFor: a member that pulls with a subscription that no heartbeat brought is refused, and asked for it.
func TestNewerSubscriptionIsAskedFor(t *testing.T) {
	b, _ := startFilled(t, 3)
	c := brokertest.Dial(t, b.Addr())
	member(t, c, protocol.VersionV5_5_0)
	h := pullHeader("T", 0, 0)
	h.ConsumerGroup, h.SubVersion, h.SysFlag = "G", 7, 0
	refused(t, c.Call(protocol.ReqPullMessage, h, nil), protocol.RespSubscriptionNotLatest)
	refused(t, c.Call(protocol.ReqPullMessage, h, nil), protocol.RespSubscriptionNotLatest) // asked once, not for each pull
	q := nextPush(c, protocol.ReqGetConsumerRunningInfo)
	if group, _ := q.Ext.Get("consumerGroup"); group != "G" {
		t.Fatalf("asked for group %s", group)
	}
	c.Conn.Reply(q, &remoting.Reply{Body: []byte(`{"mqTable":{},"subscriptionSet":[` + subscription("T", 7) + `,` + subscription("%RETRY%G", 1) + `]}`)})
	brokertest.Until(t, "the pull is served", func() error {
		if r := c.Call(protocol.ReqPullMessage, h, nil); r.Code != protocol.RespSuccess {
			return fmt.Errorf("code %d %s", r.Code, r.Remark)
		}
		return nil
	})
	select {
	case q := <-c.Pushes:
		t.Fatalf("asked again: %d", q.Code)
	default:
	}
}

func subscription(topic string, version int) string {
	return fmt.Sprintf(`{"classFilterMode":false,"codeSet":[],"expressionType":"TAG","subString":"*","subVersion":%d,"tagsSet":[],"topic":%q}`, version, topic)
}
