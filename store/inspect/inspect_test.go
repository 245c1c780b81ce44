package inspect

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/seedmq/seedmq/store/fs"
	"github.com/seedmq/seedmq/store/index"
	"github.com/seedmq/seedmq/store/internal/fixture"
)

var options = Options{Index: index.Shape{Slots: fixture.IndexSlots, Entries: fixture.IndexEntries}, Location: time.UTC}

func print(t testing.TB, f fs.FS, path string, o Options) string {
	t.Helper()
	var b bytes.Buffer
	if err := File(&b, f, path, o); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func want(t *testing.T, text string, parts ...string) {
	t.Helper()
	for _, p := range parts {
		if !strings.Contains(text, p) {
			t.Fatalf("%q is not in:\n%s", p, text[:min(len(text), 3000)])
		}
	}
}

// TestJava prints every file of a Java broker's store and finds what its walk found, and nothing damaged.
func TestJava(t *testing.T) {
	for _, name := range []string{fixture.Clean, fixture.Kill9} {
		d := fixture.ReadDump(t, name)
		dir := fixture.Unpack(t, name, "commitlog/", "consumequeue/", "index/", "config/", "checkpoint", "timerlog/", "lock")
		lines := map[string]int{}
		err := filepath.WalkDir(dir, func(path string, e os.DirEntry, err error) error {
			if err != nil || e.IsDir() {
				return err
			}
			text := print(t, fs.OS{}, path, options)
			if strings.Contains(text, "DAMAGED") || strings.Contains(text, "WRONG") || strings.Contains(text, "BAD") {
				t.Errorf("%s: %s", path, text)
			}
			lines[strings.Split(path[len(dir)+1:], "/")[0]] += strings.Count(text, ": position ") + strings.Count(text, ", stored ")
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		units, entries := 0, 0
		for _, f := range d.ConsumeQueue {
			units += len(f.Units)
		}
		for _, f := range d.Index {
			entries += len(f.Entries) - 1
		}
		if lines["commitlog"] != len(d.Records) || lines["consumequeue"] != units || lines["index"] != entries {
			t.Fatalf("%s: %v, want %d records, %d units, %d entries", name, lines, len(d.Records), units, entries)
		}
		log := print(t, fs.OS{}, dir+"/commitlog/00000000000000000000", options)
		want(t, log, "\n0: 276 bytes, GoldenNormal/0 offset 0, stored 2026-11-30", `KEYS="multi-0 multi-1 shared"`,
			"261143: end of file, 1001 bytes of padding", "428 records, 0 damaged places")
		want(t, print(t, fs.OS{}, dir+"/checkpoint", options), "queues synced up to position 506870", "physicMsgTimestamp 1796048978672")
		want(t, print(t, fs.OS{}, dir+"/config/consumerOffset.json", options), `"GoldenNormal@GoldenPart": {`, `"0": 3`)
		want(t, print(t, fs.OS{}, dir+"/timerlog/00000000000000000000", options), "due 2026-", "to be rolled", "units, ends at")
		want(t, print(t, fs.OS{}, dir+"/config/timercheck", options), "lastTimerQueueOffset: ")
	}
}

func TestFromAndLimit(t *testing.T) {
	dir := fixture.Unpack(t, fixture.Clean, "consumequeue/GoldenFill/0/")
	o := options
	o.From, o.Limit, o.Bodies = 290, 4, true
	text := print(t, fs.OS{}, dir+"/consumequeue/GoldenFill/0/00000000000000000000", o)
	if n := strings.Count(text, ": position "); n != 4 || !strings.Contains(text, "\n290: position ") || !strings.Contains(text, "300 units") {
		t.Fatal(text)
	}
}

// put writes a file of a store in memory.
func put(t testing.TB, path string, b []byte) fs.FS {
	t.Helper()
	m := fs.NewMem(nil)
	if err := m.MkdirAll(filepath.Dir(path)); err != nil {
		t.Fatal(err)
	}
	f, err := m.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.WriteAt(b, 0); err != nil {
		t.Fatal(err)
	}
	return m
}

// TestDamage says what is wrong, and goes on behind it.
func TestDamage(t *testing.T) {
	dir := fixture.Unpack(t, fixture.Clean, "commitlog/", "consumequeue/GoldenFill/0/", "index/")
	log, err := os.ReadFile(dir + "/commitlog/00000000000000000000")
	if err != nil {
		t.Fatal(err)
	}
	copy(log[90:], "xxxx") // the body of the first record
	for i := 534; i < 700; i++ {
		log[i] = byte(rand.Uint32())
	}
	text := print(t, put(t, "/commitlog/00000000000000000000", log), "/commitlog/00000000000000000000", options)
	want(t, text, "BAD BODY", "\n276: ", "\n534: DAMAGED, 258 bytes up to", "\n792: ", "261143: end of file", "427 records, 1 damaged places with 258 bytes")

	units, err := os.ReadFile(dir + "/consumequeue/GoldenFill/0/00000000000000000000")
	if err != nil {
		t.Fatal(err)
	}
	clear(units[20*7 : 20*9])
	text = print(t, put(t, "/consumequeue/T/0/00000000000000000000", units), "/consumequeue/T/0/00000000000000000000", options)
	want(t, text, "ends at 7", "7 units, 0 blank ones, 291 damaged ones")

	list, _ := filepath.Glob(dir + "/index/*")
	idx, err := os.ReadFile(list[0])
	if err != nil {
		t.Fatal(err)
	}
	binary.BigEndian.PutUint32(idx[options.Index.EntryOffset(50)+16:], 12345)
	binary.BigEndian.PutUint32(idx[options.Index.SlotOffset(3):], 7)
	text = print(t, put(t, "/index/20261130142808197", idx), "/index/20261130142808197", options)
	want(t, text, "previous 12345, DAMAGED", "slot 3: DAMAGED: entry 7", "1 damaged ones, 1 damaged slots")
	want(t, print(t, put(t, "/index/20261130142808197", idx[1:]), "/index/20261130142808197", options), "DAMAGED, or other settings")

	want(t, print(t, put(t, "/checkpoint", []byte("short")), "/checkpoint", options), "DAMAGED")
	want(t, print(t, put(t, "/config/topics.json", []byte("{")), "/config/topics.json", options), "DAMAGED")
	want(t, print(t, put(t, "/config/topics.json", nil), "/config/topics.json", options), "empty")
}

func TestTimerWheel(t *testing.T) {
	b := make([]byte, 5000*timerSlotSize)
	slot := b[4321*timerSlotSize:]
	binary.BigEndian.PutUint64(slot, 1796048990)
	binary.BigEndian.PutUint64(slot[8:], 52)
	binary.BigEndian.PutUint64(slot[16:], 104)
	binary.BigEndian.PutUint32(slot[24:], 2)
	want(t, print(t, put(t, "/timerwheel", b), "/timerwheel", options), "4321: tick 1796048990, 2 messages, timer log 52 to 104", "5000 slots, 1 used")
}

func TestKindOf(t *testing.T) {
	for path, want := range map[string]Kind{
		"/s/commitlog/00000000000000000000":             CommitLogFile,
		"/s/consumequeue/T/0/00000000000006000000":      ConsumeQueueFile,
		"/s/batchconsumequeue/T/0/00000000000000000460": BatchQueueFile,
		"/s/index/20261130142808197":                    IndexFile,
		"/s/timerlog/00000000000000000000":              TimerLogFile,
		"/s/timerwheel":                                 TimerWheelFile,
		"/s/config/timercheck":                          TimerCheckFile,
		"/s/config/topics.json.bak":                     TableFile,
		"/s/config/timermetrics.bak":                    TableFile,
		"/s/checkpoint":                                 CheckpointFile,
		"/s/abort":                                      TextFile,
		"/other/log/00000000001073741824":               CommitLogFile,
		"/s/rocksdbstore/000004.log":                    Unknown,
		"/s/bad/consumequeue/T/0/0000000000000600000":   Unknown,
	} {
		if got := KindOf(path); got != want {
			t.Errorf("%s: %v, want %v", path, got, want)
		}
	}
	if err := File(&bytes.Buffer{}, fs.NewMem(nil), "/x", options); err == nil {
		t.Error("printed a file of no kind")
	}
	if s := fmt.Sprint(IndexFile, Kind(99)); s != "index Kind(99)" {
		t.Error(s)
	}
}

// FuzzFile: no content of any kind of file makes it panic or fail.
func FuzzFile(f *testing.F) {
	paths := []string{"/commitlog/00000000000000000000", "/consumequeue/T/0/00000000000000000000", "/index/20261130142808197",
		"/timerlog/00000000000000000000", "/timerwheel", "/config/timercheck", "/config/topics.json", "/checkpoint", "/abort",
		"/batchconsumequeue/T/0/00000000000000000000"}
	dir := fixture.Unpack(f, fixture.Clean, "commitlog/00000000000000000000", "consumequeue/GoldenNormal/0/", "config/", "checkpoint")
	for i, name := range []string{"commitlog/00000000000000000000", "consumequeue/GoldenNormal/0/00000000000000000000"} {
		b, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b[:min(len(b), 3000)], uint8(i))
	}
	batches, err := os.ReadFile(filepath.Join(fixture.Unpack(f, fixture.Queues, "batchconsumequeue/"), "batchconsumequeue/Batches/0/00000000000000000000"))
	if err != nil {
		f.Fatal(err)
	}
	f.Add(batches, uint8(len(paths)-1))
	f.Add(make([]byte, 40+4*4+20*6), uint8(2))
	f.Add([]byte("{1:2}"), uint8(6))
	o := Options{Index: index.Shape{Slots: 4, Entries: 6}, Location: time.UTC, Bodies: true}
	f.Fuzz(func(t *testing.T, b []byte, kind uint8) {
		path := paths[int(kind)%len(paths)]
		print(t, put(t, path, b), path, o)
	})
}
