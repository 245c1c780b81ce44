package filterdata

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/seedmq/seedmq/conf/clock"
	"github.com/seedmq/seedmq/conf/xlog"
	"github.com/seedmq/seedmq/remoting/protocol"
	"github.com/seedmq/seedmq/store/configfile"
	"github.com/seedmq/seedmq/store/fs"
)

const path = "/config/consumerFilter.json"

type bench struct {
	*Table
	fs  *fs.Mem
	clk *clock.Fake
	log strings.Builder
}

var start = time.UnixMilli(1_796_047_369_274)

func newBench(t *testing.T, f *fs.Mem) *bench {
	t.Helper()
	b := &bench{fs: f, clk: clock.NewFake(start)}
	l, err := xlog.New(&b.log, "info")
	if err != nil {
		t.Fatal(err)
	}
	b.Table = New(Options{FS: f, Path: path, Clock: b.clk, Log: l})
	return b
}

func sub(topic, expr string, version int64) *protocol.SubscriptionData {
	return &protocol.SubscriptionData{Topic: topic, SubString: expr, ExpressionType: protocol.ExpressionSQL92, SubVersion: version}
}

func (b *bench) want(t *testing.T, what, topic, group, want string) {
	t.Helper()
	got := "none"
	if d, ok := b.Get(topic, group); ok {
		got = fmt.Sprintf("%s v%d born %d", d.Expression, d.ClientVersion, d.BornTime-start.UnixMilli())
		if d.Dead() {
			got += fmt.Sprintf(" dead %d", d.DeadTime-start.UnixMilli())
		}
	}
	if got != want {
		t.Errorf("%s: %s, want %s", what, got, want)
	}
}

func TestMurmur(t *testing.T) {
	for text, want := range map[string]uint64{"": 0, "hello": 0xcbd8a7b341bd9b02, "The quick brown fox jumps over the lazy dog": 0xe34bbc7bbc071b6c,
		"hello, world": 0x342fac623a5ebc8e, "19 Jan 2038 at 3:14:07 AM": 0xb89e5988b737affc} {
		if got := murmur([]byte(text)); got != want {
			t.Errorf("%q: %#x, want %#x", text, got, want)
		}
	}
	for _, x := range []struct {
		group, topic string
		want         []int
	}{ // what RocketMQ 5.5.0 computes
		{"g1", "TopicA", []int{19, 13, 46}}, {"JSqlGroup", "JSql", []int{33, 93, 108}}, {"%RETRY%g", "T", []int{24, 13, 19}}, {"组", "主题", []int{38, 9, 19}},
		{"a-very-long-group-name-of-more-than-16-bytes", "topic", []int{90, 88, 11}},
	} {
		if b := bloomOf(x.group, x.topic); !slices.Equal(b.BitPos, x.want) {
			t.Errorf("%s#%s: %v, want %v", x.group, x.topic, b.BitPos, x.want)
		}
	}
	for i := range 500 {
		b := bloomOf("group"+fmt.Sprint(i), "topic")
		if !b.fits() || slices.Min(b.BitPos) < 0 || slices.Max(b.BitPos) >= bloomBits {
			t.Fatal(b)
		}
	}
	if (*Bloom)(nil).fits() || (&Bloom{BitNum: 104, BitPos: []int{1, 2, 3}}).fits() || (&Bloom{BitNum: 112, BitPos: []int{1, 2}}).fits() {
		t.Error("another filter's data fits")
	}
}

// javaFile is a file as Java writes it, which does not quote everything and has no indent.
const javaFile = `{"filterDataByTopic":{"TopicA":{"groupFilterData":{"g1":{"bloomFilterData":{"bitNum":112,"bitPos":[3,57,101]},` +
	`"bornTime":1796047369274,"clientVersion":1796047369270,"consumerGroup":"g1","deadTime":%d,"expression":"a > 5","expressionType":"SQL92","topic":"TopicA"}},"topic":"TopicA"}}}`

func put(t *testing.T, f *fs.Mem, text string) {
	t.Helper()
	if err := configfile.Save(f, path, []byte(text)); err != nil {
		t.Fatal(err)
	}
}

func read(t *testing.T, f *fs.Mem) string {
	t.Helper()
	text, err := fs.ReadFile(f, path)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// TestRoundTrip: what Java wrote comes back as Java would write it, field by field in its order; only the dead time is noted.
func TestRoundTrip(t *testing.T) {
	b := newBench(t, fs.NewMem(nil))
	put(t, b.fs, fmt.Sprintf(javaFile, 0))
	b.clk.Advance(10 * time.Second)
	if err := b.Load(); err != nil {
		t.Fatal(err)
	}
	b.want(t, "loaded within 30 s of its birth", "TopicA", "g1", "a > 5 v1796047369270 born 0 dead 0")
	b.file.Mark()
	if err := b.Save(); err != nil {
		t.Fatal(err)
	}
	compact := strings.NewReplacer("\n", "", "\t", "", `": `, `":`).Replace(read(t, b.fs))
	if want := fmt.Sprintf(javaFile, start.UnixMilli()); compact != want {
		t.Errorf("written\n%s\nwant\n%s", compact, want)
	}
	again := newBench(t, b.fs)
	again.clk.Advance(time.Hour)
	if err := again.Load(); err != nil {
		t.Fatal(err)
	}
	again.want(t, "a dead time stays", "TopicA", "g1", "a > 5 v1796047369270 born 0 dead 0")
	again.Register("g1", sub("TopicA", "a > 5", 1796047369270))
	again.want(t, "a member comes back", "TopicA", "g1", "a > 5 v1796047369270 born 0")
}

func TestLoad(t *testing.T) {
	for name, x := range map[string]struct {
		text, want string
		err        error
	}{
		"none yet":                 {`{"filterDataByTopic":{}}`, "none", nil},
		"alive long ago":           {strings.Replace(fmt.Sprintf(javaFile, 0), "1796047369274", "1796000000000", 1), "a > 5 v1796047369270 born -47369274 dead -30000", nil},
		"another bloom filter":     {strings.Replace(fmt.Sprintf(javaFile, 0), "112", "104", 1), "none", nil},
		"no bloom data":            {strings.Replace(fmt.Sprintf(javaFile, 0), `{"bitNum":112,"bitPos":[3,57,101]}`, "null", 1), "none", nil},
		"empty entries":            {`{"filterDataByTopic":{"TopicA":null,"B":{"groupFilterData":{"g1":null},"topic":"B"}}}`, "none", nil},
		"keys that are not quoted": {`{filterDataByTopic:{}}`, "none", nil},
		"damage":                   {`{"filterDataBy`, "none", configfile.ErrCorrupt},
	} {
		b := newBench(t, fs.NewMem(nil))
		put(t, b.fs, x.text)
		if err := b.Load(); !errors.Is(err, x.err) {
			t.Errorf("%s: %v", name, err)
		}
		b.want(t, name, "TopicA", "g1", x.want)
		b.Register("g1", sub("TopicA", "b = 1", 1<<60))
		b.want(t, name+", then a heartbeat", "TopicA", "g1", "b = 1 v1152921504606846976 born 0")
		if err := b.Save(); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	if err := newBench(t, fs.NewMem(nil)).Load(); err != nil {
		t.Error("no file:", err)
	}
}

func TestLife(t *testing.T) {
	b := newBench(t, fs.NewMem(nil))
	step := func(what string, do func(), want string) {
		t.Helper()
		b.clk.Advance(time.Second)
		do()
		b.want(t, what, "T", "g", want)
	}
	all := func(string, string) bool { return true }
	none := func(string, string) bool { return false }
	step("first", func() { b.Register("g", sub("T", "a > 1", 5)) }, "a > 1 v5 born 1000")
	step("again", func() { b.Register("g", sub("T", "a > 1", 5)) }, "a > 1 v5 born 1000")
	step("a newer version of the same", func() { b.Register("g", sub("T", "a > 1", 6)) }, "a > 1 v6 born 1000")
	step("an older one of another", func() { b.Register("g", sub("T", "a > 2", 4)) }, "a > 1 v6 born 1000")
	step("a newer one of another", func() { b.Register("g", sub("T", "a > 2", 7)) }, "a > 2 v7 born 5000")
	step("wanted", func() { b.Sweep(all) }, "a > 2 v7 born 5000")
	step("not wanted", func() { b.Sweep(none) }, "a > 2 v7 born 5000 dead 7000")
	step("still not wanted", func() { b.Sweep(none) }, "a > 2 v7 born 5000 dead 7000")
	step("an older heartbeat", func() { b.Register("g", sub("T", "a > 2", 6)) }, "a > 2 v7 born 5000 dead 7000")
	step("the same heartbeat", func() { b.Register("g", sub("T", "a > 2", 7)) }, "a > 2 v7 born 5000")
	step("gone again", func() { b.Sweep(none) }, "a > 2 v7 born 5000 dead 11000")
	step("back with a newer one", func() { b.Register("g", sub("T", "a > 2", 8)) }, "a > 2 v8 born 5000")
	step("an old one that does not parse", func() { b.Refused("g", sub("T", "a >", 8)) }, "a > 2 v8 born 5000")
	step("a new one that does not parse", func() { b.Refused("g", sub("T", "a >", 9)) }, "none")
	step("and again", func() { b.Refused("g", sub("T", "a >", 9)); b.Refused("g", sub("U", "a >", 9)) }, "none")
	step("a good one", func() { b.Register("g", sub("T", "a > 3", 10)) }, "a > 3 v10 born 16000")
	step("gone for good", func() { b.Sweep(none) }, "a > 3 v10 born 16000 dead 17000")
	b.clk.Advance(keepDead - 2*time.Second)
	step("for nearly a day", func() { b.Sweep(none) }, "a > 3 v10 born 16000 dead 17000")
	step("for a day", func() { b.Sweep(none) }, "none")
	if err := b.Save(); err != nil || !strings.Contains(read(t, b.fs), `"filterDataByTopic": {}`) {
		t.Error(err, read(t, b.fs))
	}
}

// FuzzLoad: any file is taken or refused, and what is taken can be saved and is then the same.
func FuzzLoad(f *testing.F) {
	f.Add(fmt.Sprintf(javaFile, 0))
	f.Add(`{"filterDataByTopic":{"T":{"groupFilterData":{"g":null},"topic":"U"},"V":null}}`)
	f.Fuzz(func(t *testing.T, text string) {
		b := newBench(t, fs.NewMem(nil))
		put(t, b.fs, text)
		if b.Load() != nil {
			return
		}
		b.file.Mark()
		if err := b.Save(); err != nil {
			t.Fatal(err)
		}
		again := newBench(t, b.fs)
		if err := again.Load(); err != nil || len(again.all()) != len(b.all()) {
			t.Fatalf("%v; %d entries became %d", err, len(b.all()), len(again.all()))
		}
	})
}
