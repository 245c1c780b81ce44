package offset

import (
	"strings"
	"testing"
	"time"

	"github.com/seedmq/seedmq/conf/clock"
	"github.com/seedmq/seedmq/store/fs"
)

const (
	plainPath = "/config/consumerOffset.json"
	lightPath = "/config/lmqConsumerOffset.json"
)

// lightBench is a table whose files a test moves.
type lightBench struct {
	t     *testing.T
	mem   *fs.Mem
	clock *clock.Fake
}

func newLightBench(t *testing.T) *lightBench {
	b := &lightBench{t: t, clock: clock.NewFake(time.Unix(1_700_000_000, 0))}
	b.mem = fs.NewMem(b.clock.Now)
	if err := b.mem.MkdirAll("/config"); err != nil {
		t.Fatal(err)
	}
	return b
}

func (b *lightBench) load(light bool) *Table {
	b.t.Helper()
	o := Options{FS: b.mem, Path: plainPath, Clock: b.clock}
	if light {
		o.LightPath = lightPath
	}
	table := New(o)
	if err := table.Load(); err != nil {
		b.t.Fatal(err)
	}
	return table
}

func (b *lightBench) commit(table *Table, group, topic string, queue int32, off int64) {
	b.t.Helper()
	table.Commit(Key{group, topic, queue}, off, Origin{Explicit: true})
	b.clock.Advance(time.Second)
	if err := table.Save(); err != nil {
		b.t.Fatal(err)
	}
}

func (b *lightBench) want(table *Table, group, topic string, queue int32, want int64) {
	b.t.Helper()
	if got, ok := table.Query(Key{group, topic, queue}); got != want || !ok {
		b.t.Fatalf("%s %s/%d: %d, %v, want %d", group, topic, queue, got, ok, want)
	}
}

// Turning light queues on and off keeps what is committed.
func TestLightOnAndOff(t *testing.T) {
	b := newLightBench(t)
	table := b.load(false)
	b.commit(table, "g", "T", 1, 10)

	table = b.load(true)
	b.want(table, "g", "T", 1, 10)
	b.commit(table, "g", "T", 1, 20)
	b.commit(table, "%LMQ%g", "%LMQ%q", 0, 5)
	text, err := fs.ReadFile(b.mem, lightPath)
	if err != nil || !strings.Contains(string(text), `"lmqOffsetTable"`) || strings.Count(string(text), "%LMQ%g") != 1 {
		t.Fatalf("%s, %v", text, err)
	}
	table = b.load(true)
	b.want(table, "g", "T", 1, 20)
	b.want(table, "%LMQ%g", "%LMQ%q", 0, 5)

	table = b.load(false)
	b.want(table, "g", "T", 1, 20)
	b.commit(table, "g", "T", 1, 30)

	table = b.load(true) // consumerOffset.json is newer; the light queues' offsets are only in the other
	b.want(table, "g", "T", 1, 30)
	b.want(table, "%LMQ%g", "%LMQ%q", 0, 5)
}

// What Java wrote is read, with queue ids that are not quoted.
func TestLightOfJava(t *testing.T) {
	b := newLightBench(t)
	f, err := b.mem.Create(lightPath)
	if err != nil {
		t.Fatal(err)
	}
	const text = `{"dataVersion":{"counter":0,"stateVersion":0,"timestamp":1796070082910},"groupTopicMap":{},"lmqOffsetTable":{"%LMQ%a@%LMQ%group":1},
		"offsetTable":{"T@g":{0:7,1:8}},"pullOffsetTable":{"%LMQ%a@r":{0:15}}}`
	if _, err := f.WriteAt([]byte(text), 0); err != nil {
		t.Fatal(err)
	}
	f.Close()
	table := b.load(true)
	b.want(table, "%LMQ%group", "%LMQ%a", 0, 1)
	b.want(table, "g", "T", 1, 8)
	if got, ok := table.QueryPulled(Key{"r", "%LMQ%a", 0}); got != 15 || !ok {
		t.Fatalf("%d, %v", got, ok)
	}
}

// FuzzLightFile: no content makes the load panic.
func FuzzLightFile(f *testing.F) {
	f.Add([]byte(`{"lmqOffsetTable":{"a@b":1},"offsetTable":{"T@g":{0:7}}}`))
	f.Add([]byte(`{"lmqOffsetTable":{"@":-1,"":2}}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		mem := fs.NewMem(nil)
		if err := mem.MkdirAll("/config"); err != nil {
			t.Fatal(err)
		}
		file, err := mem.Create(lightPath)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := file.WriteAt(text, 0); err != nil {
			t.Fatal(err)
		}
		file.Close()
		table := New(Options{FS: mem, Path: plainPath, LightPath: lightPath, Clock: clock.Real{}})
		_ = table.Load() // damaged files are moved away
		if err := table.Save(); err != nil {
			t.Fatal(err)
		}
	})
}
