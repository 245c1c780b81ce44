//go:build peers

package e2e

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/seedmq/seedmq/remoting/protocol"
	"github.com/seedmq/seedmq/tools/harness"
)

// dumpConf has one level at which messages stay.
var dumpConf = "mappedFileSizeCommitLog=1048576\nmappedFileSizeConsumeQueue=6000\nmaxHashSlotNum=1000\nmaxIndexNum=4000\n" +
	"flushDelayOffsetInterval=500\nflushConsumerOffsetInterval=500\ntransactionTimeOut=600000\n" +
	"messageDelayLevel=" + strings.Repeat("1s ", 17) + "2h\n"

// dump is everything that a broker serves: records by queue, and tables.
type dump struct {
	queues  map[string][]string
	topics  map[string]protocol.TopicConfig
	groups  map[string]protocol.SubscriptionGroupConfig
	offsets map[string]map[int32]int64
}

func takeDump(t *testing.T, s *harness.Server) *dump {
	t.Helper()
	w := mustDial(t, s.Broker)
	d := &dump{queues: map[string][]string{}}
	var topics struct {
		TopicConfigTable map[string]protocol.TopicConfig
	}
	var groups struct {
		SubscriptionGroupTable map[string]protocol.SubscriptionGroupConfig
	}
	var offsets struct{ OffsetTable map[string]map[int32]int64 }
	w.table(t, protocol.ReqGetAllTopicConfig, &topics)
	w.table(t, protocol.ReqGetAllSubscriptionGroupConfig, &groups)
	w.table(t, protocol.ReqGetAllConsumerOffset, &offsets)
	d.topics, d.groups, d.offsets = topics.TopicConfigTable, groups.SubscriptionGroupTable, offsets.OffsetTable
	for name, c := range d.topics {
		for q := range min(c.ReadQueueNums, 20) {
			reply, err := w.success(protocol.ReqGetMaxOffset, &protocol.GetMaxOffsetRequestHeader{Topic: name, QueueID: q}, nil)
			var h protocol.GetMaxOffsetResponseHeader
			if err == nil {
				err = h.DecodeExt(reply.Ext)
			}
			if err != nil {
				t.Fatal(err)
			}
			if h.Offset == 0 {
				continue
			}
			for _, v := range w.readAll(t, name, q, 0) {
				v.Body = slices.Clone(v.Body)
				d.queues[fmt.Sprint(name, "/", q)] = append(d.queues[fmt.Sprint(name, "/", q)], fmt.Sprintf("%+v", v))
			}
		}
	}
	return d
}

// same sees that other has all of d: what is the broker's own may have grown, what is the users' may not.
func (d *dump) same(t *testing.T, other *dump) {
	t.Helper()
	own := func(name string) bool { return protocol.IsSystemTopic(strings.Split(name, "/")[0]) }
	for q, want := range d.queues {
		got := other.queues[q]
		if len(got) < len(want) || len(got) > len(want) && !own(q) {
			t.Errorf("queue %s: %d messages, want %d", q, len(got), len(want))
			continue
		}
		for i := range want {
			if got[i] != want[i] {
				t.Errorf("queue %s offset %d:\n%s\nwant\n%s", q, i, got[i], want[i])
			}
		}
	}
	for q := range other.queues {
		if d.queues[q] == nil && !own(q) {
			t.Errorf("queue %s: %d messages, want none", q, len(other.queues[q]))
		}
	}
	for name, want := range d.topics {
		got, ok := other.topics[name]
		if !ok && own(name) {
			continue // one that only the other version has
		}
		if !ok || got.Perm != want.Perm || got.ReadQueueNums != want.ReadQueueNums || got.WriteQueueNums != want.WriteQueueNums ||
			got.Order != want.Order || got.TopicFilterType != want.TopicFilterType || !maps.Equal(got.Attributes, want.Attributes) {
			t.Errorf("topic %s: %+v, want %+v", name, got, want)
		}
	}
	for name, want := range d.groups {
		if got, ok := other.groups[name]; !ok || got.RetryMaxTimes != want.RetryMaxTimes || got.RetryQueueNums != want.RetryQueueNums ||
			got.ConsumeEnable != want.ConsumeEnable || got.ConsumeBroadcastEnable != want.ConsumeBroadcastEnable {
			t.Errorf("group %s: %+v, want %+v", name, got, want)
		}
	}
	for key, want := range d.offsets {
		if _, group, _ := strings.Cut(key, "@"); !protocol.IsSystemGroup(group) && !maps.Equal(other.offsets[key], want) {
			t.Errorf("offsets %s: %v, want %v", key, other.offsets[key], want)
		}
	}
}

// A store in which Apache's clients made all that they can is the same on both sides, whoever wrote it.
func TestExchangeDump(t *testing.T) {
	for _, release := range []string{harness.Java5, harness.Java4Broker} {
		t.Run(release, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			ns := harness.Namesrv(t)
			client := strings.TrimSuffix(release, "-broker")
			java := func() *harness.Server { return harness.JavaBrokerOf(t, release, dir, ns.Namesrv, dumpConf) }

			s := java()
			useAll(t, s, client, "J")
			theirs := takeDump(t, s)
			theirs.holds(t, 1)
			stop(t, s)

			s = harness.Broker(t, dir, ns.Namesrv, dumpConf)
			theirs.same(t, takeDump(t, s))
			useAll(t, s, client, "O")
			both := takeDump(t, s)
			both.holds(t, 2)
			stop(t, s)

			s = java()
			both.same(t, takeDump(t, s))
			stop(t, s)

			s = harness.Broker(t, dir, ns.Namesrv, dumpConf)
			both.same(t, takeDump(t, s))
		})
	}
}

// holds sees that there is something to compare after useAll was run turns times.
func (d *dump) holds(t *testing.T, turns int) {
	t.Helper()
	half, delayed := len(d.queues[protocol.TopicHalf+"/0"]), len(d.queues[protocol.TopicSchedule+"/17"])
	if _, listed := d.topics[protocol.TopicHalf]; !listed { // 4.9 lists it only after a look of its transaction service
		half = turns
	}
	if half < turns || delayed != turns {
		t.Errorf("%d half messages and %d delayed ones after %d turns", half, delayed, turns)
	}
	if len(d.queues) < 10*turns || len(d.offsets) < 3*turns {
		t.Errorf("only %d queues and %d offsets after %d turns", len(d.queues), len(d.offsets), turns)
	}
}

// useAll runs scenarios of Apache's client, and leaves a delayed and a half message.
func useAll(t *testing.T, s *harness.Server, client, prefix string) {
	t.Helper()
	for _, sc := range scenarios {
		if !slices.Contains([]string{"producer", "retry", "orderly"}, sc.name) {
			continue
		}
		topic := prefix + sc.name
		harness.CreateTopic(t, s, topic, sc.queues)
		if sc.name == "retry" {
			harness.CreateTopic(t, s, "%RETRY%JRetry"+topic, 1)
		}
		harness.Scenario(t, client, s, sc.name, topic)
	}
	w := mustDial(t, s.Broker)
	if _, err := w.send(prefix+"producer", 0, "stays", protocol.Properties{protocol.PropertyDelay: "18", protocol.PropertyUniqKey: prefix + "delayed"}); err != nil {
		t.Fatal(err)
	}
	if err := w.sendHalf(prefix+"producer", prefix+"half"); err != nil {
		t.Fatal(err)
	}
}

// sendHalf leaves a half message that nobody ends.
func (w *wire) sendHalf(topic, key string) error {
	props := protocol.Properties{protocol.PropertyTransactionPrepared: "true", protocol.PropertyProducerGroup: "ExchangeTran", protocol.PropertyUniqKey: key}
	_, err := w.success(protocol.ReqSendMessageV2, &protocol.SendMessageV2RequestHeader{
		ProducerGroup: "ExchangeTran", Topic: topic, DefaultTopic: protocol.DefaultTopic, DefaultTopicQueueNums: 4,
		SysFlag: protocol.SysFlagTransactionPrepared, BornTimestamp: time.Now().UnixMilli(), Properties: string(props.Encode()),
		ReconsumeTimes: protocol.Some(int32(0)), UnitMode: protocol.Some(false), Batch: protocol.Some(false)}, []byte("half"))
	return err
}
