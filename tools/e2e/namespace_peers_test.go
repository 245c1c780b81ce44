//go:build peers

package e2e

import (
	"strings"
	"testing"
	"time"

	"github.com/seedmq/seedmq/tools/harness"
)

func TestJavaNamespaces(t *testing.T) {
	for _, x := range []struct{ name, release, key string }{
		{"5.5.0", harness.Java5, "namespace"}, {"5.5.0 V2", harness.Java5, "namespacev2"}, {"4.9.8", harness.Java4, "namespace"},
	} {
		t.Run(x.name, func(t *testing.T) {
			s := namespaceServer(t)
			if x.key == "namespacev2" {
				// The namespace is a header of each request, for access control; names stay short.
				javaSend(t, x.release, s, "Events", "for everyone", x.key+"=north")
				p := startPeer(t, x.release, "v2", "ns="+s.Namesrv, "group=NsGroup", "topic=Events", x.key+"=north")
				p.ready(t)
				harness.Eventually(t, 60*time.Second, func() string {
					if all := p.taken(); len(all) == 1 && all[0].body == "for everyone" && all[0].topic == "Events" {
						return ""
					}
					return p.Output()
				})
				harness.MustAdmin(t, s, "Events", "consumerConnection", "-g", "NsGroup")
				return
			}
			javaSend(t, x.release, s, "Events", "poison", x.key+"=north")
			javaSend(t, x.release, s, "Events", "for north", x.key+"=north")
			javaSend(t, x.release, s, "Events", "for south", x.key+"=south")
			namespaceConsumers(t, s, x.release, x.key+"=north", x.key+"=south")
		})
	}
}

// Clients of a unit have its name in their ids; topics that they make bear the marks by which the NameServer lists them.
func TestJavaUnits(t *testing.T) {
	for _, release := range []string{harness.Java5, harness.Java4} {
		t.Run(release, func(t *testing.T) {
			s := harness.MQServer(t, harness.FastRetryConf)
			javaSend(t, release, s, "UnitTopic", "first", "unit=east", "unitmode=true")
			p := startPeer(t, release, "u", "ns="+s.Namesrv, "group=UnitGroup", "topic=UnitTopic", "unit=east", "unitmode=true", "reconsume=1")
			p.ready(t)
			javaSend(t, release, s, "UnitTopic", "poison", "unit=east", "unitmode=true")
			harness.Eventually(t, 60*time.Second, func() string {
				first, again := false, false
				for _, m := range p.taken() {
					first = first || m.body == "first" && !m.refused
					again = again || m.body == "poison" && m.retries == 1
				}
				if first && again {
					return ""
				}
				return p.Output()
			})
			if out := harness.MustAdmin(t, s, "@u@east", "consumerConnection", "-g", "UnitGroup"); !strings.Contains(out, "UnitTopic") {
				t.Error(out)
			}
			for topic, flag := range map[string]string{"UnitTopic": `"topicSysFlag":1`, "%RETRY%UnitGroup": `"topicSysFlag":2`} {
				harness.MustAdmin(t, s, flag, "topicRoute", "-t", topic)
			}
		})
	}
}

// javaSend sends one message with a producer of a release in a process of its own.
func javaSend(t *testing.T, release string, s *harness.Server, topic, body string, args ...string) {
	t.Helper()
	p := harness.StartJava(t, release, "Peer", append([]string{"ns=" + s.Namesrv, "group=NsSender", "instance=sender", "topic=" + topic, "send=" + body}, args...)...)
	if !p.Ended(60*time.Second) || !strings.Contains(p.Output(), "SENT SEND_OK "+topic+"\n") {
		t.Fatalf("%q was not sent:\n%s", body, p.Output())
	}
}
