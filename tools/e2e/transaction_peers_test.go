//go:build peers

package e2e

import (
	"testing"

	"github.com/seedmq/seedmq/tools/harness"
)

// The official Java clients end, and are asked about, transactions, and answer requests.
func TestJavaTransactions(t *testing.T) {
	s := harness.MQServer(t, harness.FastRetryConf+quickChecks)
	for _, release := range []string{harness.Java5, harness.Java4} {
		for _, name := range []string{"transaction", "requestReply"} {
			t.Run(release+"/"+name, func(t *testing.T) {
				topic := "J" + release[:1] + name
				harness.CreateTopic(t, s, topic, 2)
				harness.Scenario(t, release, s, name, topic)
			})
		}
	}
}
