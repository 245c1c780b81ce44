package e2e

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/seedmq/seedmq/remoting/protocol"
	"github.com/seedmq/seedmq/tools/harness"
)

// The fixtures are stores of Apache RocketMQ 5.5.0: one stopped in order, one killed. The manifests say what it serves.
var fixtures = map[string]string{"a-clean": "a-clean.manifest.json.gz", "b-kill9": "b-kill9.after-recovery.manifest.json.gz"}

// fixtureConf are the sizes of the fixtures' files, and the names of their broker.
const fixtureConf = `brokerClusterName=GoldenCluster
brokerName=broker-g
mappedFileSizeCommitLog=262144
mappedFileSizeConsumeQueue=6000
mappedFileSizeTimerLog=52000
maxHashSlotNum=1000
maxIndexNum=4000
`

type fixtureManifest struct {
	Queues []struct {
		Topic                string
		QueueID              int32
		MinOffset, MaxOffset int64
	}
	Messages []struct {
		Topic                              string
		QueueID                            int32
		QueueOffset, CommitLogOffset       int64
		StoreSize, BodyCRC                 int32
		BornTimestamp, StoreTimestamp      int64
		PreparedTransactionOffset          int64
		BornHost, OffsetMsgID, MsgID, Keys string
		SysFlag, Flag, ReconsumeTimes      int32
		BodySha256                         string
		Properties                         map[string]string
	}
	TopicConfigs       []map[string]any
	SubscriptionGroups map[string]map[string]any
	ConsumerOffsets    struct {
		OffsetTable, PullOffsetTable map[string]map[string]int64
	}
}

func fixtureFile(t *testing.T, name string) io.Reader {
	t.Helper()
	f, err := os.Open(filepath.Join(harness.Root(t), "store", "testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	return z
}

// unpackFixture puts a fixture into dir/store.
func unpackFixture(t *testing.T, dir, name string) {
	t.Helper()
	r := tar.NewReader(fixtureFile(t, name+".tar.gz"))
	for {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			return
		}
		if err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(dir, "store", strings.TrimPrefix(h.Name, name))
		if h.Typeflag == tar.TypeDir {
			err = os.MkdirAll(path, 0o755)
		} else {
			b, e := io.ReadAll(r)
			err = errors.Join(e, os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, b, 0o644))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

// fixture is a fixture's store, what must be served from it, and what it held before.
type fixture struct {
	dir     string
	m       fixtureManifest
	pending []int // indexes of delayed messages that are not delivered
	end     int64 // of the log
	files   map[string][]byte
}

func newFixture(t *testing.T, name string) *fixture {
	t.Helper()
	x := &fixture{dir: t.TempDir()}
	unpackFixture(t, x.dir, name)
	if err := json.NewDecoder(fixtureFile(t, fixtures[name])).Decode(&x.m); err != nil {
		t.Fatal(err)
	}
	x.files = readTree(t, x.dir)
	var delay struct{ OffsetTable map[string]int64 }
	if err := protocol.UnmarshalFast(x.files["store/config/delayOffset.json"], &delay); err != nil {
		t.Fatal(err)
	}
	for i := range x.m.Messages {
		m := &x.m.Messages[i]
		x.end = max(x.end, m.CommitLogOffset+int64(m.StoreSize))
		if m.Topic == protocol.TopicSchedule && m.QueueOffset >= delay.OffsetTable[fmt.Sprint(m.QueueID+1)] {
			x.pending = append(x.pending, i)
		}
	}
	if len(x.m.Messages) < 500 || len(x.pending) == 0 {
		t.Fatalf("%d messages, %d pending", len(x.m.Messages), len(x.pending))
	}
	return x
}

func readTree(t *testing.T, dir string) map[string][]byte {
	t.Helper()
	out := map[string][]byte{}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		b, err := os.ReadFile(path)
		name, _ := filepath.Rel(dir, path)
		out[name] = b
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// Our broker serves everything that Apache's left, goes on with what it had not done, and leaves alone what it does not do.
func TestExchangeFixtures(t *testing.T) {
	for _, name := range slices.Sorted(maps.Keys(fixtures)) {
		t.Run(name, func(t *testing.T) {
			x := newFixture(t, name)
			ns := harness.Namesrv(t)
			s := harness.Broker(t, x.dir, ns.Namesrv, fixtureConf)
			w := mustDial(t, s.Broker)
			x.checkTables(t, w)
			x.checkMessages(t, w)
			x.checkIndex(t, w)
			x.checkDelayed(t, w)
			_, max := queueEnd(t, w, "GoldenNormal", 0)
			h, err := w.send("GoldenNormal", 0, "ours", protocol.Properties{protocol.PropertyUniqKey: "OURS"})
			if err != nil || h.QueueOffset != max {
				t.Fatalf("%+v, %v; the queue ended at %d", h, err, max)
			}
			if err := s.Proc.Stop(t, 20*time.Second); err != nil {
				t.Fatal(err)
			}
			x.checkUntouched(t)
			s = harness.Broker(t, x.dir, ns.Namesrv, fixtureConf)
			w = mustDial(t, s.Broker)
			x.checkTables(t, w)
			x.checkMessages(t, w)
			x.checkIndex(t, w)
			x.checkDelayed(t, w)
			if all := w.readAll(t, "GoldenNormal", 0, 0); string(all[len(all)-1].Body) != "ours" {
				t.Errorf("what was sent is not there after a restart")
			}
		})
	}
}

func queueEnd(t *testing.T, w *wire, topic string, queue int32) (min, max int64) {
	t.Helper()
	_, h, err := w.pull(topic, queue, 0)
	if err != nil {
		t.Fatal(err)
	}
	return h.MinOffset, h.MaxOffset
}

// checkTables compares topics, groups and offsets.
func (x *fixture) checkTables(t *testing.T, w *wire) {
	t.Helper()
	var topics struct{ TopicConfigTable map[string]map[string]any }
	w.table(t, protocol.ReqGetAllTopicConfig, &topics)
	for _, want := range x.m.TopicConfigs {
		name := want["topicName"].(string)
		if got := topics.TopicConfigTable[name]; !contained(want, got) {
			t.Errorf("topic %s: %v, want %v", name, got, want)
		}
	}
	var groups struct{ SubscriptionGroupTable map[string]map[string]any }
	w.table(t, protocol.ReqGetAllSubscriptionGroupConfig, &groups)
	for name, want := range x.m.SubscriptionGroups {
		if got := groups.SubscriptionGroupTable[name]; !contained(want, got) {
			t.Errorf("group %s: %v, want %v", name, got, want)
		}
	}
	var offsets struct{ OffsetTable, PullOffsetTable map[string]map[string]int64 }
	w.table(t, protocol.ReqGetAllConsumerOffset, &offsets)
	saved := x.savedOffsets(t)
	for key, qs := range saved {
		if !maps.Equal(offsets.OffsetTable[key], qs) {
			t.Errorf("offsets %s: %v, want %v", key, offsets.OffsetTable[key], qs)
		}
		topic, group, _ := strings.Cut(key, "@")
		for q, want := range qs {
			var id int32
			fmt.Sscan(q, &id)
			if got, err := w.committed(topic, group, id); err != nil || got != want {
				t.Errorf("offset %s queue %s: %d, %v, want %d", key, q, got, err, want)
			}
		}
	}
}

// savedOffsets are those of the file: the manifest of a killed broker has later ones, which were not on disk.
func (x *fixture) savedOffsets(t *testing.T) map[string]map[string]int64 {
	t.Helper()
	var f struct{ OffsetTable map[string]map[string]int64 }
	if err := protocol.UnmarshalFast(x.files["store/config/consumerOffset.json"], &f); err != nil || len(f.OffsetTable) < 4 {
		t.Fatalf("%v, %v", f, err)
	}
	return f.OffsetTable
}

// contained says that got has all that want has; Java's null is nothing.
func contained(want, got map[string]any) bool {
	for k, v := range want {
		if m, ok := v.(map[string]any); ok {
			g, ok := got[k].(map[string]any)
			if !ok || !contained(m, g) {
				return false
			}
		} else if v != nil && !reflect.DeepEqual(v, got[k]) {
			return false
		}
	}
	return true
}

// checkMessages reads every message by its place and compares all of it.
func (x *fixture) checkMessages(t *testing.T, w *wire) {
	t.Helper()
	type queue struct {
		topic string
		id    int32
	}
	read := map[queue][]protocol.MessageView{}
	for _, q := range x.m.Queues {
		if q.MaxOffset == 0 {
			continue
		}
		all := w.readAll(t, q.Topic, q.QueueID, q.MinOffset)
		if int64(len(all)) < q.MaxOffset-q.MinOffset {
			t.Errorf("queue %s/%d has %d messages, want %d", q.Topic, q.QueueID, len(all), q.MaxOffset-q.MinOffset)
		}
		read[queue{q.Topic, q.QueueID}] = all
	}
	for i := range x.m.Messages {
		m := &x.m.Messages[i]
		all := read[queue{m.Topic, m.QueueID}]
		if m.QueueOffset >= int64(len(all)) {
			t.Errorf("%s/%d has no offset %d", m.Topic, m.QueueID, m.QueueOffset)
			continue
		}
		v := &all[m.QueueOffset]
		// The client that wrote the manifest clears the bit of what it has decompressed.
		got := fmt.Sprintln(v.PhysicalOffset, v.Size, v.Flag, v.SysFlag&^protocol.SysFlagCompressed, v.BodyCRC, v.ReconsumeTimes, v.BornTimestamp, v.StoreTimestamp, v.PreparedTransactionOffset, "/"+v.BornHost.String(), v.OffsetMsgID())
		want := fmt.Sprintln(m.CommitLogOffset, m.StoreSize, m.Flag, m.SysFlag, m.BodyCRC, m.ReconsumeTimes, m.BornTimestamp, m.StoreTimestamp, m.PreparedTransactionOffset, m.BornHost, m.OffsetMsgID)
		props := protocol.ParseProperties(v.Properties)
		delete(m.Properties, protocol.PropertyMinOffset)
		delete(m.Properties, protocol.PropertyMaxOffset)
		sum := sha256.Sum256(v.Body)
		body := v.SysFlag&protocol.SysFlagCompressed != 0 || hex.EncodeToString(sum[:]) == m.BodySha256
		if got != want || !body || !maps.Equal(map[string]string(props), m.Properties) {
			t.Errorf("%s/%d offset %d, body the same %v:\ngot  %s%v\nwant %s%v", m.Topic, m.QueueID, m.QueueOffset, body, got, props, want, m.Properties)
		}
	}
}

// checkIndex finds messages of users by unique key and by key.
func (x *fixture) checkIndex(t *testing.T, w *wire) {
	t.Helper()
	asked := 0
	for i := range x.m.Messages {
		m := &x.m.Messages[i]
		if !strings.HasPrefix(m.Topic, "Golden") || i%7 != 0 {
			continue
		}
		keys := map[string]bool{m.Properties[protocol.PropertyUniqKey]: true}
		for _, k := range strings.Fields(m.Keys) {
			keys[k] = false
		}
		for key, unique := range keys {
			if key == "" {
				continue
			}
			asked++
			found, err := w.query(m.Topic, key, unique)
			if err != nil || !slices.ContainsFunc(found, func(v protocol.MessageView) bool { return v.PhysicalOffset == m.CommitLogOffset }) && len(found) < 32 {
				t.Errorf("%s by key %q: %d found, %v", m.Topic, key, len(found), err)
			}
		}
	}
	if asked < 50 {
		t.Errorf("only %d keys asked", asked)
	}
}

// checkDelayed waits for the delayed messages that Apache's broker had not delivered, and for no others. Their time is over,
// unless this machine's clock is behind that of the recording.
func (x *fixture) checkDelayed(t *testing.T, w *wire) {
	t.Helper()
	ends := map[string]int64{} // of the real topics' queues before
	for _, q := range x.m.Queues {
		ends[fmt.Sprint(q.Topic, "/", q.QueueID)] = q.MaxOffset
	}
	want, places := map[string]int{}, map[string]bool{}
	for _, i := range x.pending {
		m := &x.m.Messages[i]
		place := m.Properties[protocol.PropertyRealTopic] + "/" + m.Properties[protocol.PropertyRealQueueID]
		places[place] = true
		if m.StoreTimestamp+2*time.Hour.Milliseconds() < time.Now().UnixMilli() {
			want[place+" "+m.Properties[protocol.PropertyUniqKey]]++
		}
	}
	got := map[string]int{}
	harness.Eventually(t, 20*time.Second, func() string {
		clear(got)
		for place := range places {
			topic, id, _ := strings.Cut(place, "/")
			q, _ := strconv.Atoi(id)
			for _, v := range w.readAll(t, topic, int32(q), ends[place]) {
				key, _ := v.Property(protocol.PropertyUniqKey)
				got[place+" "+key]++
			}
		}
		delete(got, "GoldenNormal/0 OURS")
		if len(got) < len(want) {
			return fmt.Sprintf("delivered %v, want %v", got, want)
		}
		return ""
	})
	if !maps.Equal(got, want) {
		t.Errorf("delivered %v, want %v", got, want)
	}
}

// checkUntouched compares the files with those of before: nothing that was in the log or in a queue has changed, and nothing
// at all of what our broker does not do.
func (x *fixture) checkUntouched(t *testing.T) {
	t.Helper()
	now := readTree(t, x.dir)
	for name, was := range x.files {
		b, there := now[name]
		switch top := strings.Split(name, "/")[1]; {
		case top == "index", top == "checkpoint", top == "abort", top == "lock": // made anew or told elsewhere
		case top == "config" && strings.Contains(name, ".json"): // tables: see checkTables
		case top == "timerwheel", strings.HasPrefix(name, "store/config/timer"): // goes on: the timer's own tests look
		case top == "consumequeue", top == "timerlog":
			if n := len(bytes.TrimRight(was, "\x00")); !there || len(b) != len(was) || !bytes.HasPrefix(b, was[:n]) {
				t.Errorf("%s has changed", name)
			}
		case top == "commitlog":
			x.checkLogFile(t, name, was, b)
		case !there || !bytes.Equal(b, was):
			t.Errorf("%s has changed", name)
		}
	}
	if _, there := now["store/abort"]; there {
		t.Error("abort is there after a clean stop")
	}
	for name := range now {
		if strings.Contains(name, ".bad") || strings.Contains(name, "torn") {
			t.Errorf("something was put aside: %s", name)
		}
	}
}

func (x *fixture) checkLogFile(t *testing.T, name string, was, now []byte) {
	t.Helper()
	var start int64
	fmt.Sscanf(filepath.Base(name), "%020d", &start)
	n := min(max(x.end-start, 0), int64(len(was)))
	if n > 0 && (len(now) != len(was) || !bytes.Equal(now[:n], was[:n])) {
		t.Errorf("%s has changed before the log's end %d", name, x.end)
	}
}

// What a later version wrote beside what ours knows is written back.
func TestExchangeUnknownFields(t *testing.T) {
	dir := t.TempDir()
	unpackFixture(t, dir, "a-clean")
	const top = `"laterTop":{"list":[1,"x"]},`
	marks := map[string]string{
		"topics": `"topicConfigTable":{`, "subscriptionGroup": `"subscriptionGroupTable":{`,
		"consumerOffset": `"offsetTable":{`, "delayOffset": `"offsetTable":{`,
	}
	path := func(table string) string { return filepath.Join(dir, "store", "config", table+".json") }
	for table, mark := range marks {
		b, err := os.ReadFile(path(table))
		if err != nil {
			t.Fatal(err)
		}
		text := strings.Replace(string(b), mark, top+mark, 1)
		text = strings.ReplaceAll(text, `"order":false`, `"order":false,"laterField":7`)
		text = strings.ReplaceAll(text, `"groupSysFlag":0`, `"groupSysFlag":0,"laterField":7`)
		if err := os.WriteFile(path(table), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	ns := harness.Namesrv(t)
	s := harness.Broker(t, dir, ns.Namesrv, fixtureConf+harness.FastRetryConf)
	harness.CreateTopic(t, s, "GoldenNormal", 8)
	harness.MustAdmin(t, s, "success", "updateSubGroup", "-b", s.Broker, "-g", "GoldenPart", "-r", "3")
	w := mustDial(t, s.Broker)
	if err := w.commit("GoldenNormal", "GoldenPart", 0, 1); err != nil {
		t.Fatal(err)
	}
	if _, err := w.send("GoldenNormal", 0, "delayed", protocol.Properties{protocol.PropertyDelay: "1"}); err != nil {
		t.Fatal(err)
	}
	harness.Eventually(t, 20*time.Second, func() string {
		if all := w.readAll(t, "GoldenNormal", 0, 0); string(all[len(all)-1].Body) != "delayed" {
			return "the delayed message is not there"
		}
		return ""
	})
	if err := s.Proc.Stop(t, 20*time.Second); err != nil {
		t.Fatal(err)
	}
	for table := range marks {
		b, err := os.ReadFile(path(table))
		var f map[string]any
		if err == nil {
			err = protocol.UnmarshalFast(b, &f)
		}
		if err != nil {
			t.Fatal(err)
		}
		if got := fmt.Sprint(f["laterTop"]); got != "map[list:[1 x]]" {
			t.Errorf("%s.json: laterTop is %s", table, got)
		}
		if n := strings.Count(string(b), `"laterField"`); n < 10 && table != "consumerOffset" && table != "delayOffset" {
			t.Errorf("%s.json: %d of the fields that are not ours are left", table, n)
		}
	}
}

// A queue of delayed messages that is made again from the log has the due times of the configured levels.
func TestExchangeDelayLevels(t *testing.T) {
	dir, ns := t.TempDir(), harness.Namesrv(t)
	const conf = "messageDelayLevel=1s 7h\n"
	s := harness.Broker(t, dir, ns.Namesrv, conf)
	harness.CreateTopic(t, s, "Exchange", 1)
	before := time.Now().Truncate(time.Millisecond) // the store counts milliseconds
	if _, err := mustDial(t, s.Broker).send("Exchange", 0, "later", protocol.Properties{protocol.PropertyDelay: "2"}); err != nil {
		t.Fatal(err)
	}
	s.Proc.Kill()
	if err := os.RemoveAll(filepath.Join(dir, "store", "consumequeue")); err != nil {
		t.Fatal(err)
	}
	s = harness.Broker(t, dir, ns.Namesrv, conf)
	reply, err := mustDial(t, s.Broker).success(protocol.ReqQueryConsumeQueue, &protocol.QueryConsumeQueueRequestHeader{
		Topic: protocol.TopicSchedule, QueueID: protocol.Some(int32(1)), Index: protocol.Some(int64(0)), Count: protocol.Some(int32(1))}, nil)
	var body struct{ QueueData []struct{ TagsCode int64 } }
	if err == nil {
		err = protocol.UnmarshalFast(reply.Body, &body)
	}
	if err != nil || len(body.QueueData) != 1 {
		t.Fatalf("%+v, %v", body, err)
	}
	if due := time.UnixMilli(body.QueueData[0].TagsCode).Sub(before); due < 7*time.Hour || due > 7*time.Hour+time.Minute {
		t.Errorf("due in %v, want 7h", due)
	}
}
