//go:build peers

package e2e

import (
	"testing"

	"github.com/seedmq/seedmq/tools/harness"
)

// Java's clients with enableMsgTrace write what they do to a topic, and find it there by the message's id.
func TestJavaTrace(t *testing.T) {
	s := harness.MQServer(t, "")
	for _, release := range []string{harness.Java5, harness.Java4} {
		t.Run(release, func(t *testing.T) {
			topic := "Trace" + release[:1]
			harness.CreateTopic(t, s, topic, 2)
			harness.Scenario(t, release, s, "trace", topic)
		})
	}
}
