package mqadmin

import (
	"net/netip"
	"strings"
	"testing"

	"github.com/seedmq/seedmq/broker/brokertest"
)

// TestDelayed: messages that wait are listed with their time, and recalled by id or by handle, with a level or without.
func TestDelayed(t *testing.T) {
	c := startCluster(t)
	client := brokertest.Dial(t, netip.MustParseAddrPort(c.broker))
	level := client.Send("Orders", 1, "DELAY\x0118\x02UNIQ_KEY\x01UL\x02KEYS\x01key-level\x02", "level").MsgID
	timed := client.Send("Orders", 2, "TIMER_DELAY_SEC\x013600\x02UNIQ_KEY\x01UT\x02KEYS\x01key-timed\x02TAGS\x01TagA\x02", "timed").MsgID
	other := client.Send("Other", 0, "TIMER_DELAY_MS\x017200000\x02UNIQ_KEY\x01UO\x02", "other")
	list := func() string {
		out := ""
		for line := range strings.Lines(c.run("listDelayed", "-c", "TestCluster")) {
			if f := strings.Fields(line); len(f) > 4 && f[0] != "#Message" {
				out += f[1] + "/" + f[2] + "/" + f[3] + " "
			}
		}
		return out
	}
	if got := list(); got != "Orders/1/18 Orders/2/- Other/0/- " {
		t.Errorf("lists %q", got)
	}
	c.expect(`"uniqKey":"UT","topic":"Orders","queueId":2,"level":0,"dueTimestamp":\d{13},"storeTimestamp":\d{13},"keys":"key-timed","tags":"TagA"\}\]\n$`,
		"listDelayed", "-b", c.broker, "-t", "Orders", "--output", "json")
	c.expect(`^recall of message UL of topic Orders success\.\n$`, "recallMessage", "-i", level)
	c.expect(`^recall of message UT of topic Orders success\.\n$`, "recallMessage", "-i", timed)
	c.expect(`^recall of message UO of topic Other success\.\n$`, "recallMessage", "-r", other.RecallHandle)
	if got := list(); got != "Orders/1/18 " { // Java's files have no place for recalls of levels
		t.Errorf("lists %q", got)
	}
	plain := client.Send("Orders", 1, "", "plain").MsgID
	c.expect(`is no delayed message`, "recallMessage", "-i", plain)
	c.expect(`either -i or -r`, "recallMessage")
	c.expect(`recall handle is invalid`, "recallMessage", "-r", "x")
	c.expect(`no NameServer knows a master of broker elsewhere`, "recallMessage", "-r", "djEgVCBlbHNld2hlcmUgMTcwMDAwMDAwMDAwMSBL")
}
