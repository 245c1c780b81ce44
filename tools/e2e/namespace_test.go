package e2e

import (
	"strings"
	"testing"
	"time"

	"github.com/apache/rocketmq-client-go/v2/primitive"
	"github.com/apache/rocketmq-client-go/v2/producer"

	"github.com/seedmq/seedmq/tools/harness"
)

func TestGoNamespace(t *testing.T) {
	s := namespaceServer(t)
	send := func(ns, body string) {
		p := newProducer(t, s, "NsSender-"+strings.ReplaceAll(body, " ", "-"), producer.WithNamespace(ns))
		mustSend(t, p, primitive.NewMessage("Events", []byte(body)))
		p.Shutdown()
	}
	send("north", "poison")
	send("north", "for north")
	send("south", "for south")
	namespaceConsumers(t, s, "go", "namespace=north", "namespace=south")
}

// namespaceServer has the topic Events in two namespaces, and outside of them.
func namespaceServer(t *testing.T) *harness.Server {
	t.Helper()
	s := harness.MQServer(t, harness.FastRetryConf)
	for _, topic := range []string{"north%Events", "south%Events", "Events"} {
		harness.CreateTopic(t, s, topic, 2)
	}
	harness.CreateTopic(t, s, "%RETRY%north%NsGroup", 1) // clients look for a new retry topic only every 30 s
	return s
}

// namespaceConsumers checks that a consumer in each of two namespaces gets the messages of its own (Java's see the topic by its short name,
// Go's by the long one); that what it refuses comes again and in the end is among the dead letters of its namespace; and that the broker has the long names.
func namespaceConsumers(t *testing.T, s *harness.Server, client, north, south string) {
	t.Helper()
	args := []string{"ns=" + s.Namesrv, "group=NsGroup", "topic=Events", "reconsume=1"}
	a, b := startPeer(t, client, "n", append(args, north)...), startPeer(t, client, "s", append(args, south)...)
	a.ready(t)
	b.ready(t)
	takes := func(p *peer, body string, retries int, refused bool) {
		t.Helper()
		harness.Eventually(t, 60*time.Second, func() string {
			for _, m := range p.taken() {
				if m.body == body && m.retries == retries && m.refused == refused && strings.HasSuffix("%"+m.topic, "%Events") {
					return ""
				}
			}
			return p.name + " has not taken " + body + ":\n" + p.Output()
		})
	}
	takes(a, "for north", 0, false)
	takes(b, "for south", 0, false)
	takes(a, "poison", 0, true)
	takes(a, "poison", 1, true)
	for _, p := range []*peer{a, b} {
		for _, m := range p.taken() {
			if m.body == "for north" && p == b || m.body == "for south" && p == a {
				t.Errorf("%s took %q of the other namespace", p.name, m.body)
			}
		}
	}
	harness.Eventually(t, 30*time.Second, func() string {
		out, _ := harness.Admin(t, s, "topicList")
		for _, topic := range []string{"%RETRY%north%NsGroup", "%DLQ%north%NsGroup", "%RETRY%south%NsGroup"} {
			if !strings.Contains(out+"\n", topic+"\n") {
				return topic + " is not in\n" + out
			}
		}
		return ""
	})
	harness.MustAdmin(t, s, "south%Events", "consumerConnection", "-g", "south%NsGroup")
	progressIs(t, s, "south%NsGroup", 0)
}
