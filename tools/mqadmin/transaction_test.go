package mqadmin

import (
	"fmt"
	"net/netip"
	"strings"
	"testing"

	"github.com/seedmq/seedmq/broker/brokertest"
	"github.com/seedmq/seedmq/remoting/protocol"
)

// TestTransactions: open transactions are listed, checked and ended; those that were given up are listed and opened again.
func TestTransactions(t *testing.T) {
	c := startCluster(t)
	client := brokertest.Dial(t, netip.MustParseAddrPort(c.broker))
	half := func(body string) string {
		h := brokertest.SendHeader("Orders", 1, "TRAN_MSG\x01true\x02PGROUP\x01P\x02UNIQ_KEY\x01U"+body+"\x02KEYS\x01key-"+body+"\x02")
		h.SysFlag = protocol.SysFlagTransactionPrepared
		var reply protocol.SendMessageResponseHeader
		client.Must(protocol.ReqSendMessageV2, h, []byte(body), &reply)
		return reply.MsgID
	}
	open := func() string {
		out := ""
		for line := range strings.Lines(c.run("halfMessages", "-c", "TestCluster")) {
			if f := strings.Fields(line); len(f) == 8 && f[1] == "P" && f[2] == "Orders" && f[3] == "1" {
				out += fmt.Sprintf("%s/%s ", f[7], f[4])
			}
		}
		return out
	}
	state := func(want string) {
		t.Helper()
		brokertest.Until(t, "the list", func() error {
			if got := open(); got != want {
				return fmt.Errorf("lists %q, want %q", got, want)
			}
			return nil
		})
	}
	c.expect(`^#Message Id .*\n$`, "halfMessages")
	a, b := half("a"), half("b")
	state("key-a/0 key-b/0 ")
	c.expect(`^a producer of group P is asked about transaction Ua\n$`, "resumeCheck", "-i", a)
	state("key-b/0 key-a/1 ")
	c.expect(`^rollback of transaction Ub to topic Orders success\.\n$`, "endTransaction", "-i", b, "-o", "rollback")
	c.expect(`CODE: 1  DESC: the transaction has ended: it was rolled back before`, "endTransaction", "-i", b, "-o", "commit")
	c.expect(`CODE: 1  DESC: the transaction of this half message has ended`, "resumeCheck", "-i", b)
	state("key-a/1 ")
	c.expect(`^\[\{"broker":"127[^}]*"transactionId":"Ua","producerGroup":"P","topic":"Orders","queueId":1,"checks":1,"bornTimestamp":\d+,"keys":"key-a"\}\]\n$`,
		"halfMessages", "-b", c.broker, "--output", "json")
	c.expect(`^#Message Id .*\n$`, "halfMessages", "-g", "Other")
	c.expect(`^#Message Id .*\n$`, "halfMessages", "-d")

	client.Must(protocol.ReqUpdateBrokerConfig, nil, []byte("transactionTimeOut=1\ntransactionCheckInterval=1\ntransactionCheckMax=1\n"), nil)
	c.expect(`.`, "resumeCheck", "-i", a)
	c.eventually(`(?m)^[0-9A-F]{32} +P +Orders +1 +\d .* key-a$`, "halfMessages", "-d")
	state("")
	client.Must(protocol.ReqUpdateBrokerConfig, nil, []byte("transactionTimeOut=600000\ntransactionCheckMax=15\n"), nil)
	gone := strings.Fields(strings.SplitN(c.run("halfMessages", "-d"), "\n", 3)[1])[0]
	c.expect(`open it again with resumeCheck`, "endTransaction", "-i", gone, "-o", "commit")
	c.expect(`^transaction Ua is open again; it was given up after \d checks, born 2023-11-14 22:13:20\n$`, "resumeCheck", "-i", gone)
	c.expect(`CODE: 1  DESC: this message was put back before`, "resumeCheck", "-i", gone)
	state("key-a/0 ")
	plain := client.Send("Orders", 1, "", "plain").MsgID
	for _, cmd := range [][]string{{"resumeCheck", "-i", plain}, {"endTransaction", "-o", "commit", "-i", plain}} {
		c.expect(`is no half message`, cmd...)
	}
	c.expect(`must be commit or rollback`, "endTransaction", "-i", a, "-o", "maybe")
	c.expect(`.`, "resumeCheck", "-i", "x")
}
