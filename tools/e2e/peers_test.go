//go:build peers

package e2e

import (
	"testing"

	"github.com/seedmq/seedmq/tools/harness"
)

// scenarios are those of java/Scenario.java with the queues their topic wants.
var scenarios = []struct {
	name   string
	queues int
}{
	{"producer", 4}, {"tags", 4}, {"three", 12}, {"broadcast", 4}, {"retry", 2}, {"pull", 2}, {"orderly", 3}, {"sql", 4},
}

func runScenarios(t *testing.T, release string, s *harness.Server, names ...string) {
	for _, sc := range scenarios {
		if len(names) > 0 && !contains(names, sc.name) {
			continue
		}
		t.Run(release+"/"+sc.name, func(t *testing.T) {
			topic := "J" + release[:1] + sc.name
			harness.CreateTopic(t, s, topic, sc.queues)
			if sc.name == "retry" {
				harness.CreateTopic(t, s, "%RETRY%JRetry"+topic, 1)
			}
			harness.Scenario(t, release, s, sc.name, topic)
		})
	}
}

func contains(names []string, name string) bool {
	for _, n := range names {
		if n == name {
			return true
		}
	}
	return false
}

// The official Java clients live on our NameServer and broker.
func TestJavaClients(t *testing.T) {
	s := harness.MQServer(t, harness.FastRetryConf)
	for _, release := range []string{harness.Java5, harness.Java4} {
		runScenarios(t, release, s)
	}
}

// Our broker registers with Apache's NameServer and serves Java and our tools through it.
func TestOurBrokerJavaNamesrv(t *testing.T) {
	ns := harness.JavaNamesrv(t)
	s := harness.Broker(t, t.TempDir(), ns.Namesrv, harness.FastRetryConf)
	runScenarios(t, harness.Java5, s, "producer", "tags", "retry")
}

// Apache's broker registers with our NameServer; our mqadmin works on it.
func TestJavaBrokerOurNamesrv(t *testing.T) {
	ns := harness.Namesrv(t)
	s := harness.JavaBroker(t, t.TempDir(), ns.Namesrv, harness.FastRetryConf)
	runScenarios(t, harness.Java5, s, "producer", "tags", "retry")
}
