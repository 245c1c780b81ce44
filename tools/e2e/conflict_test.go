package e2e

import (
	"strings"
	"testing"
	"time"

	"github.com/seedmq/seedmq/tools/harness"
)

// Members of one group that subscribe differently are found within 5 s: in the broker's log and by consumerStatus.
func TestGoConflict(t *testing.T) {
	s := harness.MQServer(t, "")
	harness.CreateTopic(t, s, "GoConflict", 4)
	var g got
	defer newPush(t, s, "GoConflictGroup", "a", "GoConflict", "TagA", g.handler("a")).Shutdown()
	defer newPush(t, s, "GoConflictGroup", "b", "GoConflict", "TagB", g.handler("b")).Shutdown()
	harness.Eventually(t, 5*time.Second, func() string {
		if log := s.Proc.Output(); !strings.Contains(log, `GoConflictGroup: its members subscribe differently`) || !strings.Contains(log, `TagB`) {
			return "nothing in the log"
		}
		out, _ := harness.Admin(t, s, "consumerStatus", "-g", "GoConflictGroup")
		if !strings.Contains(out, "Different subscription in the same group of consumer") {
			return out
		}
		return ""
	})
}
