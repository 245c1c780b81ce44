package topic

import (
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/seedmq/seedmq/conf/clock"
	"github.com/seedmq/seedmq/remoting/protocol"
	"github.com/seedmq/seedmq/store/configfile"
	"github.com/seedmq/seedmq/store/fs"
)

const path = "/store/config/topics.json"

func settings() Settings {
	return Settings{ClusterName: "C", BrokerName: "b-0", AutoCreate: true, DefaultQueues: 8, ClusterTopic: true, BrokerTopic: true,
		TraceTopicName: "RMQ_SYS_TRACE_TOPIC", ReviveQueues: 8, ScheduleQueues: 18, TimerTopic: true}
}

func newTable(t *testing.T, disk fs.FS, s Settings, change func([]string)) *Table {
	t.Helper()
	table := New(Options{FS: disk, Path: path, Settings: s, OnChange: change, Clock: clock.NewFake(time.UnixMilli(1_700_000_000_000))})
	if err := table.Load(); err != nil {
		t.Fatal(err)
	}
	return table
}

func TestBuiltIns(t *testing.T) {
	table := newTable(t, fs.NewMem(nil), settings(), nil)
	for _, c := range []struct {
		name        string
		queues, per int32
	}{
		{"TBW102", 8, 7}, {"SELF_TEST_TOPIC", 1, 6}, {"BenchmarkTest", 1024, 6}, {"C", 16, 7}, {"b-0", 1, 7}, {"OFFSET_MOVED_EVENT", 1, 6},
		{"SCHEDULE_TOPIC_XXXX", 18, 6}, {"C_REPLY_TOPIC", 1, 6}, {"rmq_sys_REVIVE_LOG_C", 8, 6}, {"rmq_sys_SYNC_BROKER_MEMBER_b-0", 1, 1},
		{"RMQ_SYS_TRANS_HALF_TOPIC", 1, 6}, {"RMQ_SYS_TRANS_OP_HALF_TOPIC", 1, 6}, {"rmq_sys_wheel_timer", 1, 6},
	} {
		e := table.Get(c.name)
		if e == nil {
			t.Errorf("%s is missing", c.name)
			continue
		}
		if e.Config.ReadQueueNums != c.queues || e.Config.WriteQueueNums != c.queues || e.Config.Perm != c.per || !e.System {
			t.Errorf("%s: %+v, system %v; want %d queues, perm %d", c.name, e.Config, e.System, c.queues, c.per)
		}
	}
	if table.Get("RMQ_SYS_TRACE_TOPIC") != nil {
		t.Error("the trace topic is there although traceTopicEnable is false")
	}
	off := settings()
	off.AutoCreate, off.ClusterTopic, off.TraceTopic = false, false, true
	table = newTable(t, fs.NewMem(nil), off, nil)
	if table.Get("TBW102") != nil || table.Get("C").Config.Perm != protocol.PermInherit || table.Get("RMQ_SYS_TRACE_TOPIC") == nil {
		t.Error("switches do not decide")
	}
}

func TestCreateOnSend(t *testing.T) {
	for _, c := range []struct {
		name, template      string
		queues, wantQueues  int32
		autoCreate, refused bool
	}{
		{name: "fewer than the template", template: "TBW102", queues: 4, wantQueues: 4, autoCreate: true},
		{name: "more than the template", template: "TBW102", queues: 100, wantQueues: 8, autoCreate: true},
		{name: "none asked for", template: "TBW102", queues: 0, wantQueues: 1, autoCreate: true},
		{name: "switched off", template: "TBW102", queues: 4, refused: true},
		{name: "no such template", template: "nothing", queues: 4, autoCreate: true, refused: true},
		{name: "template without inherit", template: "BenchmarkTest", queues: 4, autoCreate: true, refused: true},
		{name: "cluster topic", template: "C", queues: 20, wantQueues: 16, autoCreate: false},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := settings()
			s.AutoCreate = c.autoCreate
			var changed []string
			table := newTable(t, fs.NewMem(nil), s, func(names []string) { changed = append(changed, names...) })
			e, err := table.CreateOnSend(CreateRequest{Topic: "new", DefaultTopic: c.template, Queues: c.queues})
			if c.refused {
				if !errors.Is(err, ErrNoTemplate) || table.Get("new") != nil {
					t.Fatalf("got %v, %v", e, err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if e.Config.ReadQueueNums != c.wantQueues || e.Config.WriteQueueNums != c.wantQueues || e.Config.Perm != 6 {
				t.Fatalf("got %+v, want %d queues and perm 6", e.Config, c.wantQueues)
			}
			again, err := table.CreateOnSend(CreateRequest{Topic: "new", DefaultTopic: c.template, Queues: 1})
			if again != e || err != nil || !slices.Equal(changed, []string{"new"}) {
				t.Fatalf("second time: same %v, %v, changes %v", again == e, err, changed)
			}
		})
	}
}

func TestChangesAreOnDiskAndStale(t *testing.T) {
	disk := fs.NewMem(nil)
	table := newTable(t, disk, settings(), nil)
	before := table.DataVersion()
	c := protocol.NewTopicConfig("T")
	c.ReadQueueNums, c.WriteQueueNums, c.TopicFilterType = 4, 2, protocol.FilterMultiTag
	if err := table.Update(c); err != nil {
		t.Fatal(err)
	}
	e := table.Get("T")
	if e.Stale() || !e.MultiTags || e.MaxQueues() != 4 {
		t.Fatalf("%+v", e)
	}
	if v := table.DataVersion(); v.Counter != before.Counter+1 {
		t.Fatalf("data version %v after %v", v, before)
	}
	if got := newTable(t, disk, settings(), nil).Get("T"); got == nil || got.Config.WriteQueueNums != 2 {
		t.Fatal("not on disk after Update")
	}
	c.Perm = protocol.PermRead
	if err := table.Update(c); err != nil {
		t.Fatal(err)
	}
	if !e.Stale() || table.Get("T").Writable() {
		t.Fatal("the old entry is not stale, or the new one not there")
	}
	e = table.Get("T")
	if was, err := table.Delete("T"); !was || err != nil || !e.Stale() || table.Get("T") != nil {
		t.Fatal(was, err)
	}
	if was, err := table.Delete("T"); was || err != nil {
		t.Fatal("deleted twice")
	}
	if newTable(t, disk, settings(), nil).Get("T") != nil {
		t.Fatal("still on disk")
	}
}

func TestUnknownFieldsAreKept(t *testing.T) {
	disk := fs.NewMem(nil)
	table := newTable(t, disk, settings(), nil)
	if err := table.Update(protocol.NewTopicConfig("T")); err != nil {
		t.Fatal(err)
	}
	text, err := fs.ReadFile(disk, path)
	if err != nil {
		t.Fatal(err)
	}
	var f map[string]any
	if err := json.Unmarshal(text, &f); err != nil {
		t.Fatal(err)
	}
	f["fromTheFuture"] = 1
	f["topicConfigTable"].(map[string]any)["T"].(map[string]any)["liteTopicExpiration"] = 30
	if err := configfile.Save(disk, path, f); err != nil {
		t.Fatal(err)
	}
	table = newTable(t, disk, settings(), nil)
	c := protocol.NewTopicConfig("T")
	c.WriteQueueNums = 3
	if err := table.Update(c); err != nil {
		t.Fatal(err)
	}
	text, err = fs.ReadFile(disk, path)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"fromTheFuture", "liteTopicExpiration", `"writeQueueNums": 3`} {
		if !strings.Contains(string(text), want) {
			t.Errorf("%s is lost:\n%s", want, text)
		}
	}
}

func TestSaveFailureIsReported(t *testing.T) {
	disk := fs.NewMem(nil)
	table := newTable(t, disk, settings(), func([]string) { t.Error("told of a change that is not on disk") })
	disk.SetCapacity(1)
	if err := table.Update(protocol.NewTopicConfig("T")); err == nil {
		t.Fatal("no error")
	}
}

func TestLookupDoesNotAllocate(t *testing.T) {
	table := newTable(t, fs.NewMem(nil), settings(), nil)
	name := []byte("TBW102")
	if n := testing.AllocsPerRun(100, func() {
		if table.Get(string(name)) == nil {
			t.Fatal("gone")
		}
	}); n > 0 {
		t.Fatalf("%v allocations", n)
	}
}

func TestSaveTriesAgain(t *testing.T) {
	disk := fs.NewMem(nil)
	table := newTable(t, disk, settings(), nil)
	disk.SetCapacity(1)
	if err := table.Update(protocol.NewTopicConfig("T")); err == nil {
		t.Fatal("no error")
	}
	disk.SetCapacity(0)
	if err := table.Save(); err != nil {
		t.Fatal(err)
	}
	if newTable(t, disk, settings(), nil).Get("T") == nil {
		t.Fatal("not on disk")
	}
}
