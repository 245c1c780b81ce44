//go:build peers

package e2e

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/apache/rocketmq-client-go/v2/consumer"
	"github.com/apache/rocketmq-client-go/v2/primitive"

	"github.com/seedmq/seedmq/tools/harness"
)

// goldenConf gives our broker the names of the recordings.
const goldenConf = "brokerClusterName=GoldenCluster\nbrokerName=broker-g\n" + harness.FastRetryConf

// How much of a recording must be found in the output of Apache's mqadmin on ours.
const (
	heads = iota // column heads and the lines around the tables
	keys         // what stands before ":" or "=" on each line
	lines        // every line, with numbers, ids and times masked
)

// adminScript are the recorded commands, in an order that works on one broker.
var adminScript = []struct {
	recording string
	how       int
}{
	{"topicList", heads}, {"topicList-c", heads}, {"topicRoute", lines}, {"topicRoute-list", lines}, {"topicRoute-unknown", lines},
	{"topicStatus", lines}, {"topicStatus-unknown", lines}, {"topicClusterList", lines}, {"topicClusterList-unknown", heads},
	{"clusterList", heads}, {"clusterList-more", heads}, {"brokerStatus", keys}, {"getBrokerConfig", heads}, {"getNamesrvConfig", heads},
	{"consumerConnection", heads}, {"consumerConnection-unknown", lines}, {"consumerStatus", heads},
	{"consumerProgress", heads}, {"consumerProgress-group", lines}, {"consumerProgress-group-ip", heads}, {"consumerProgress-unknown", lines},
	{"producerConnection-unknown", lines}, {"getConsumerConfig", heads}, {"getConsumerConfig-unknown", heads},
	{"statsAll", heads}, {"brokerConsumeStats", heads}, {"allocateMQ", heads}, {"queryCq", heads}, {"queryCq-group", heads}, {"queryCq-unknown", lines},
	{"queryMsgById", keys}, {"queryMsgById-nothing-there", heads}, {"queryMsgById-unique-key", keys}, {"queryMsgByKey", heads}, {"queryMsgByKey-none", heads},
	{"queryMsgByOffset", keys}, {"queryMsgByOffset-beyond", lines}, {"queryMsgByUniqueKey", keys}, {"queryMsgByUniqueKey-none", heads},
	{"printMsg", heads}, {"printMsgByQueue", heads}, {"consumeMessage", heads}, {"consumeMessage-queue", heads},
	{"sendMessage", heads}, {"sendMessage-queue", heads}, {"sendMessage-unknown-topic", heads}, {"checkMsgSendRT", heads}, {"sendMsgStatus", heads},
	{"updateTopic", lines}, {"updateTopic-broker-attributes", lines}, {"updateTopic-bad-name", lines}, {"updateTopic-bad-attribute", heads}, {"updateTopicPerm", lines},
	{"updateOrderConf", lines}, {"updateOrderConf-get", lines}, {"updateOrderConf-delete", lines},
	{"updateSubGroup", lines}, {"updateSubGroup-cluster", lines}, {"updateSubGroup-bad-name", lines},
	{"cloneGroupOffset", lines}, {"resetOffsetByTime", lines}, {"resetOffsetByTime-offline", lines}, {"resetOffsetByTime-queue", lines}, {"resetOffsetByTime-unknown-group", heads},
	{"skipAccumulatedMessage", lines},
	{"updateBrokerConfig", lines}, {"updateBrokerConfig-refused", lines}, {"updateNamesrvConfig", lines},
	{"updateKvConfig", lines}, {"deleteKvConfig", lines}, {"deleteKvConfig-unknown", lines},
	{"wipeWritePerm", heads}, {"addWritePerm", heads}, {"wipeWritePerm-unknown", lines},
	{"cleanExpiredCQ", lines}, {"cleanUnusedTopic", lines}, {"deleteExpiredCommitLog", lines},
	{"deleteSubGroup-unknown", lines}, {"deleteSubGroup", heads}, {"deleteTopic", lines}, {"deleteTopic-unknown", lines},
}

// TestJavaAdmin runs the official mqadmin on our servers and compares with what it printed on Apache's.
func TestJavaAdmin(t *testing.T) {
	s := harness.MQServer(t, goldenConf)
	st := adminState(t, s)
	ja, top := harness.StartJavaAdmin(t, s), t
	for _, c := range adminScript {
		t.Run(c.recording, func(t *testing.T) {
			args, want := recording(t, c.recording, s, st)
			if c.recording == "resetOffsetByTime-unknown-group" { // Apache's broker moves offsets of a group that nobody has
				if got := ja.Run(t, args...); !strings.Contains(got, "CODE: 26") || !strings.Contains(got, "NoSuchGroup") {
					t.Error(got)
				}
				return
			}
			if c.recording == "consumeMessage-queue" || strings.HasPrefix(c.recording, "sendMessage-") {
				ja = harness.StartJavaAdmin(top, s) // these commands cannot run twice in one JVM
			}
			got := ja.Run(t, args...)
			compareOutput(t, c.how, want, got)
		})
	}
}

// TestOurAdminOnJava runs our mqadmin on Apache's NameServer and broker with the same recordings.
func TestOurAdminOnJava(t *testing.T) {
	ns := harness.JavaNamesrv(t)
	s := harness.JavaBroker(t, t.TempDir(), ns.Namesrv, strings.ReplaceAll(goldenConf, "broker-a", "broker-g"))
	st := adminState(t, s)
	// The recorded broker had made this group by itself earlier.
	harness.MustAdmin(t, s, "success", "updateSubGroup", "-b", s.Broker, "-g", "NoSuchGroup")
	for _, c := range adminScript {
		t.Run(c.recording, func(t *testing.T) {
			args, want := recording(t, c.recording, s, st)
			got, _ := harness.Admin(t, s, args...)
			compareOutput(t, c.how, want, got)
		})
	}
}

// state is what the recordings find on the broker: ids of messages with the keys ak1 and ak2.
type state struct{ offsetID, uniqueID string }

// adminState makes the topics, groups and clients of the recordings.
func adminState(t *testing.T, s *harness.Server) state {
	harness.CreateTopic(t, s, "AdminTopic", 4)
	harness.CreateTopic(t, s, "AdminTick", 4)
	p := newProducer(t, s, "AdminProducer")
	var st state
	for i := range 20 {
		r := mustSend(t, p, primitive.NewMessage("AdminTopic", []byte(fmt.Sprint("admin ", i))).WithTag([]string{"TagA", "TagB"}[i%2]).WithKeys([]string{fmt.Sprint("ak", i)}))
		switch i {
		case 1:
			st.uniqueID = r.MsgID
		case 2:
			st.offsetID = r.OffsetMsgID
		}
	}
	mustSend(t, p, primitive.NewMessage("AdminTick", []byte("tick")))
	for _, level := range []int{1, 3} {
		mustSend(t, p, primitive.NewMessage("AdminTick", []byte("delayed tick")).WithDelayTimeLevel(level))
	}
	harness.CreateTopic(t, s, "%RETRY%AdminGroup", 1)
	var g got
	c := newPush(t, s, "AdminGroup", "admin", "AdminTopic", "*", func(_ context.Context, ms ...*primitive.MessageExt) (consumer.ConsumeResult, error) {
		for _, m := range ms {
			if string(m.Body) == "admin 3" && m.ReconsumeTimes == 0 {
				return consumer.ConsumeRetryLater, nil
			}
			g.add(string(m.Body))
		}
		return consumer.ConsumeSuccess, nil
	})
	t.Cleanup(func() { c.Shutdown() })
	harness.Eventually(t, 60*time.Second, func() string {
		if n := g.distinct("admin"); n < 20 {
			return fmt.Sprintf("%d of 20 consumed", n)
		}
		out, _ := harness.Admin(t, s, "consumerProgress", "-g", "AdminGroup")
		if !strings.Contains(out, "Consume Diff Total: 0") {
			return out
		}
		return ""
	})
	return st
}

// recording returns a recorded command line, with this run's addresses and ids, and its output.
func recording(t *testing.T, name string, s *harness.Server, st state) (args []string, want []string) {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("testdata", "mqadmin", name+".txt"))
	if err != nil {
		t.Fatal(err)
	}
	text := strings.NewReplacer("127.0.0.2:12911", s.Broker, "7F0000020000326F000000000000C30E", st.offsetID,
		"FD0000000000000000000000000000021CB24E0E2F2A987A8F740001", st.uniqueID, "broker-a ", "broker-g ").Replace(string(b))
	all := strings.Split(text, "\n")
	line := strings.TrimPrefix(all[0], "$ mqadmin ")
	// Values with blanks in the recorded command lines.
	for _, v := range []string{"bad name!", "bad group!", "from mqadmin", "creates a topic"} {
		line = strings.ReplaceAll(line, v, strings.ReplaceAll(v, " ", "\x00"))
	}
	f := strings.Fields(line)
	for i := 0; i < len(f); i++ {
		if f[i] == "-n" {
			i++
			continue
		}
		args = append(args, strings.ReplaceAll(f[i], "\x00", " "))
	}
	return args, all[1:]
}

var masks = []struct {
	re *regexp.Regexp
	by string
}{
	{regexp.MustCompile(`\b[0-9A-Fa-f]{32}([0-9A-Fa-f]{24})?\b`), "ID"},
	{regexp.MustCompile(`\d{4}-\d{2}-\d{2}[ #]\d{2}:\d{2}:\d{2}([,:]\d+)?`), "TIME"},
	{regexp.MustCompile(`\d+(\.\d+)*`), "0"},
	{regexp.MustCompile(`\s+`), " "},
}

func mask(line string) string {
	for _, m := range masks {
		line = m.re.ReplaceAllString(line, m.by)
	}
	return strings.TrimSpace(line)
}

var key = regexp.MustCompile(`^\s*([A-Za-z][\w.% ]*?)\s*[:=]`)

func compareOutput(t *testing.T, how int, want []string, got string) {
	t.Helper()
	have := map[string]bool{}
	for _, l := range strings.Split(got, "\n") {
		have[mask(l)] = true
		if m := key.FindStringSubmatch(l); m != nil {
			have["key "+m[1]] = true
		}
	}
	wantTrace := false
	for _, l := range want {
		if strings.HasPrefix(l, "exit code:") || strings.HasPrefix(l, "\tat ") || strings.HasPrefix(l, "\t... ") {
			continue
		}
		if strings.Contains(l, "Exception") {
			wantTrace = true
		}
		need := ""
		switch {
		case strings.HasPrefix(l, "#"), how == lines:
			need = mask(l)
		case how == keys:
			if m := key.FindStringSubmatch(l); m != nil && m[1] != "See https" {
				need = "key " + m[1]
			}
		}
		if need != "" && !have[need] {
			t.Errorf("no line like %q (%q)", l, need)
		}
	}
	// The stock Go client cannot encode its own running info when a rate is not a number yet.
	clientBug := strings.Contains(got, "json marshal error")
	if !wantTrace && !clientBug && strings.Contains(got, "Exception") {
		t.Errorf("an exception")
	}
	if t.Failed() {
		t.Logf("recorded:\n%s\nnow:\n%s", strings.Join(want, "\n"), got)
	}
}
