package offline

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/seedmq/seedmq/remoting/protocol"
	"github.com/seedmq/seedmq/store"
	storefs "github.com/seedmq/seedmq/store/fs"
	"github.com/seedmq/seedmq/store/index"
	"github.com/seedmq/seedmq/store/internal/fixture"
)

// unpack returns a store that Java wrote.
func unpack(t testing.TB, name string) string {
	return fixture.Unpack(t, name, "commitlog/", "consumequeue/", "batchconsumequeue/", "index/", "config/", "checkpoint", "abort", "lock")
}

// digest is every file of a store with its content.
func digest(t testing.TB, dir string, skip ...string) map[string]string {
	t.Helper()
	out := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		rel, _ := filepath.Rel(dir, path)
		for _, s := range skip {
			if rel == s {
				if e.IsDir() {
					return filepath.SkipDir
				}
				return nil
			}
		}
		if err != nil || e.IsDir() {
			return err
		}
		b, err := os.ReadFile(path)
		out[rel] = string(b)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func same(t testing.TB, got, want map[string]string) {
	t.Helper()
	for name, content := range want {
		if g, ok := got[name]; !ok || g != content {
			t.Errorf("%s: there %v, changed %v", name, ok, g != content)
		}
	}
	for name := range got {
		if _, ok := want[name]; !ok {
			t.Errorf("%s is new", name)
		}
	}
}

func check(t testing.TB, dir string) (*Report, string) {
	t.Helper()
	r, err := Check(Options{Root: dir})
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	if err := r.Print(&b); err != nil {
		t.Fatal(err)
	}
	return r, b.String()
}

func wantState(t testing.TB, dir string, state State, texts ...string) {
	t.Helper()
	r, text := check(t, dir)
	if r.State() != state {
		t.Errorf("%v, want %v:\n%s", r.State(), state, text)
	}
	for _, want := range texts {
		if !strings.Contains(text, want) {
			t.Errorf("%q is not in:\n%s", want, text)
		}
	}
}

// Stores of Apache RocketMQ 5.5.0 are good, and checking changes nothing.
func TestCheckFixtures(t *testing.T) {
	dir := unpack(t, fixture.Clean)
	before := digest(t, dir)
	wantState(t, dir, Good, "log files of 262144 bytes, queue files of 300 units, index files of 1000 slots and 4000 entries",
		"523 records from 0 to 518018 in 2 files", "523 units", "1193 entries", "nothing to do")
	same(t, digest(t, dir), before)

	dir = unpack(t, fixture.Kill9)
	before = digest(t, dir)
	wantState(t, dir, Repairable, "583 records from 0 to 534823 in 4 files", "583 units", "not closed")
	same(t, digest(t, dir), before)
}

// poke writes b into a file of a store.
func poke(t testing.TB, name string, at int64, b []byte) {
	t.Helper()
	f, err := os.OpenFile(name, os.O_RDWR, 0)
	if err == nil {
		_, err = f.WriteAt(b, at)
	}
	if err = errors.Join(err, f.Close()); err != nil {
		t.Fatal(err)
	}
}

const (
	log0 = "commitlog/00000000000000000000"
	log1 = "commitlog/00000000000000262144"
	fill = "consumequeue/GoldenFill/0/00000000000000000000"
	idx  = "index/20261130142808197"
)

// Every kind of damage is found and named.
func TestCheckDamage(t *testing.T) {
	noise := bytes.Repeat([]byte("noise"), 8)
	remove := func(names ...string) func(string) {
		return func(dir string) {
			for _, n := range names {
				if err := os.RemoveAll(filepath.Join(dir, n)); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
	at := func(name string, at int64, b []byte) func(string) {
		return func(dir string) { poke(t, filepath.Join(dir, name), at, b) }
	}
	cut := func(name string, size int64) func(string) {
		return func(dir string) {
			if err := os.Truncate(filepath.Join(dir, name), size); err != nil {
				t.Fatal(err)
			}
		}
	}
	var unit [20]byte
	binary.BigEndian.PutUint64(unit[:], 276)
	binary.BigEndian.PutUint32(unit[8:], 258)
	for _, c := range []struct {
		name   string
		damage func(dir string)
		state  State
		text   []string
	}{
		{"body", at(log0, 100, noise), Lost, []string{"no good record from 0 to 276 (276 bytes)", "GoldenNormal/0: 1 messages lie in damaged places of the log, the first has offset 0"}},
		{"topic", at(log0, 100, []byte("noise")), Lost, []string{"GoldenNormal/0: topic, queue or offset of 1 messages changed", "topic Golnoisermal is gone"}},
		{"topic of no folder", at(log0, 101, []byte("/./")), Lost, []string{"no good record from 0 to 276 (276 bytes)"}},
		{"queue offset of no file", at(log0, 20, []byte{2}), Lost, []string{"no good record from 0 to 276 (276 bytes)"}},
		{"position", at(log0, 276+28, make([]byte, 8)), Lost, []string{"from 276 to 534", "the record was stored at 0"}},
		{"last record", func(dir string) {
			all := boundaries(t, dir)
			poke(t, filepath.Join(dir, log1), all[len(all)-2]-262144, noise)
		}, Lost, []string{"no good record from 517", "point behind the log's end"}},
		{"halved log", cut(log0, 100_000), Lost, []string{"file 00000000000000000000 has 100000 bytes of 262144", "no good record from"}},
		{"empty last log file", cut(log1, 0), Lost, []string{"GoldenFill/1: the last 17 units", "were synced, the last one of the log is of"}},
		{"missing log file", remove(log0), Good, []string{"from 262144 to 518018"}}, // as after deleting old files
		{"one unit", at(fill, 20*7, make([]byte, 40)), Repairable, []string{"GoldenFill/0: 2 units are damaged", "2 messages of the log have no unit, the first at offset 7"}},
		{"another unit", at(fill, 20*7, unit[:]), Repairable, []string{"GoldenFill/0: 1 units are damaged", "GoldenFill/0: 1 units differ from the log"}},
		{"tags code", at(fill, 20*7+12, []byte("tagscode")), Repairable, []string{"1 units differ from the log", "GoldenFill/0: 1 units point to something else"}[:1]},
		{"short queue file", cut(fill, 1000), Repairable, []string{"GoldenFill/0: file 00000000000000000000 has 1000 bytes", "messages of the log have no unit, the first at offset 50"}},
		{"no queue", remove("consumequeue/GoldenFill/0"), Repairable, []string{"GoldenFill/0 is not there, the log has 3"}},
		{"no queues", remove("consumequeue"), Repairable, []string{"GoldenNormal/0 is not there"}},
		{"index entry", at(idx, 40+4*1000+20*50, noise[:20]), Repairable, []string{" entries and"}},
		{"index slot", at(idx, 40, noise), Repairable, []string{"0 entries and 10 slots are damaged"}},
		{"index header", at(idx, 36, []byte{0x7f}), Repairable, []string{"the header says that the next entry is"}},
		{"short index", cut(idx, 3000), Repairable, []string{"has 3000 bytes, not"}},
		{"empty index folder", remove(idx), Repairable, []string{"the folder is empty"}},
		{"no index", remove("index"), Good, []string{"messageIndexEnable is off, or the index was removed"}},
		{"checkpoint", at("checkpoint", 0, noise), Repairable, []string{"checkpoint", "corrupt"}},
		{"no checkpoint", remove("checkpoint"), Repairable, []string{"there is none"}},
		{"table", at("config/topics.json", 0, noise), Repairable, []string{"topics.json: ", "its .bak is good"}},
		{"empty table", cut("config/topics.json", 0), Repairable, []string{"topics.json: it is empty", "its .bak is good"}},
		{"both tables", func(dir string) {
			poke(t, filepath.Join(dir, "config/topics.json"), 0, noise)
			poke(t, filepath.Join(dir, "config/topics.json.bak"), 0, noise)
		}, Lost, []string{"topics.json and its .bak cannot be read"}},
		{"no topics", remove("config/topics.json", "config/topics.json.bak"), Repairable, []string{"there is no topics.json"}},
		{"stray files", func(dir string) {
			for _, name := range []string{"consumequeue/x", "consumequeue/GoldenFill/0/x", "index/x"} {
				if err := os.WriteFile(filepath.Join(dir, name), noise, 0o644); err != nil {
					t.Fatal(err)
				}
			}
		}, Good, []string{"consumequeue/GoldenFill/0/x does not belong there"}},
		{"tail", at(log1, 518018-262144, noise), Good, []string{"40 bytes behind the end, at 518018, are left from before"}},
		{"tail of a crash", func(dir string) {
			poke(t, filepath.Join(dir, log1), 518018-262144, noise)
			poke(t, filepath.Join(dir, log1), 518018-262144+4, []byte{0xDA, 0xA3, 0x20, 0xA7})
			if err := os.WriteFile(filepath.Join(dir, "abort"), nil, 0o644); err != nil {
				t.Fatal(err)
			}
		}, Repairable, []string{"bytes behind the end, at 518018, are what was being written"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := unpack(t, fixture.Clean)
			c.damage(dir)
			before := digest(t, dir)
			wantState(t, dir, c.state, c.text...)
			same(t, digest(t, dir), before)
		})
	}
}

func TestCheckRefuses(t *testing.T) {
	dir := unpack(t, fixture.Clean)
	held, err := storefs.OS{}.Lock(filepath.Join(dir, "lock"))
	if err != nil {
		t.Fatal(err)
	}
	defer held.Close()
	for name, do := range map[string]func() error{
		"check":   func() error { _, err := Check(Options{Root: dir}); return err },
		"rebuild": func() error { _, err := Rebuild(Options{Root: dir}, What{}); return err },
		"cut":     func() error { _, err := Cut(Options{Root: dir}, 0); return err },
	} {
		before := digest(t, dir)
		if err := do(); !errors.Is(err, store.ErrLocked) {
			t.Errorf("%s: %v", name, err)
		}
		same(t, digest(t, dir), before)
	}
	if _, err := Check(Options{Root: t.TempDir()}); !errors.Is(err, ErrNoStore) {
		t.Error(err)
	}
	if _, err := Check(Options{Root: filepath.Join(dir, "none")}); !errors.Is(err, os.ErrNotExist) {
		t.Error(err)
	}
	for _, path := range []string{"dledger-n0/data/x", "consumequeue/CURRENT"} {
		foreign := t.TempDir()
		if err := os.MkdirAll(filepath.Dir(filepath.Join(foreign, path)), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(foreign, path), nil, 0o644); err != nil {
			t.Fatal(err)
		}
		if _, err := Check(Options{Root: foreign}); !errors.Is(err, store.ErrUnsupported) {
			t.Errorf("%s: %v", path, err)
		}
	}
}

// Queues made again from the log are, byte for byte, those that Java wrote; the index has the same entries.
func TestRebuildFixtures(t *testing.T) {
	for _, name := range []string{fixture.Clean, fixture.Kill9} {
		t.Run(name, func(t *testing.T) {
			dir := unpack(t, name)
			want := digest(t, filepath.Join(dir, "consumequeue"))
			log := digest(t, filepath.Join(dir, "commitlog"))
			res, err := Rebuild(Options{Root: dir}, What{})
			if err != nil {
				t.Fatal(err)
			}
			same(t, digest(t, filepath.Join(dir, "consumequeue")), want)
			now := digest(t, filepath.Join(dir, "commitlog"))
			for file, content := range log {
				if now[file] != content && strings.Trim(content, "\x00") != "" { // files made ahead may go
					t.Errorf("%s changed", file)
				}
			}
			if len(res.Aside) != 2 || res.Queues != len(mustLook(t, dir).Queues) {
				t.Errorf("%+v", res)
			}
			same(t, digest(t, res.Aside[0]), want)
			wantState(t, dir, Good, "1 file, ")
		})
	}
}

func mustLook(t testing.TB, dir string) *Layout {
	t.Helper()
	l, err := Look(Options{Root: dir})
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// What was not asked for stays as it is.
func TestRebuildOnePart(t *testing.T) {
	dir := unpack(t, fixture.Clean)
	queues, idxWas := digest(t, filepath.Join(dir, "consumequeue")), digest(t, filepath.Join(dir, "index"))
	poke(t, filepath.Join(dir, fill), 20*7, bytes.Repeat([]byte{7}, 40))
	if _, err := Rebuild(Options{Root: dir}, What{Queues: true}); err != nil {
		t.Fatal(err)
	}
	same(t, digest(t, filepath.Join(dir, "consumequeue")), queues)
	same(t, digest(t, filepath.Join(dir, "index")), idxWas)

	if err := os.RemoveAll(filepath.Join(dir, "index")); err != nil {
		t.Fatal(err)
	}
	if _, err := Rebuild(Options{Root: dir}, What{}); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(dir, "index")); err == nil {
		t.Error("made an index that nobody asked for")
	}
	if _, err := Rebuild(Options{Root: dir, IndexShape: index.Shape{Slots: 100, Entries: 2000}}, What{Index: true}); err != nil {
		t.Fatal(err)
	}
	wantState(t, dir, Good, "1193 entries", "100 slots and 2000 entries")
}

// Damage that a rebuild can repair is gone after it.
func TestRebuildRepairs(t *testing.T) {
	dir := unpack(t, fixture.Clean)
	want := digest(t, filepath.Join(dir, "consumequeue"))
	poke(t, filepath.Join(dir, fill), 20*7, bytes.Repeat([]byte{7}, 40))
	poke(t, filepath.Join(dir, idx), 40, bytes.Repeat([]byte{7}, 400))
	poke(t, filepath.Join(dir, "checkpoint"), 0, bytes.Repeat([]byte{0xff}, 48))
	if err := os.RemoveAll(filepath.Join(dir, "consumequeue/GoldenNormal")); err != nil {
		t.Fatal(err)
	}
	wantState(t, dir, Repairable)
	if _, err := Rebuild(Options{Root: dir}, What{}); err != nil {
		t.Fatal(err)
	}
	wantState(t, dir, Good)
	same(t, digest(t, filepath.Join(dir, "consumequeue")), want)
}

// A log of one file that was cut could be taken for one of smaller files.
func TestSizesInDoubt(t *testing.T) {
	dir := unpack(t, fixture.Clean)
	if err := errors.Join(os.Remove(filepath.Join(dir, log1)), os.Truncate(filepath.Join(dir, log0), 131_072)); err != nil {
		t.Fatal(err)
	}
	before := digest(t, dir)
	if _, err := Rebuild(Options{Root: dir}, What{}); !errors.Is(err, ErrSize) {
		t.Fatal(err)
	}
	if _, err := Cut(Options{Root: dir}, 276); !errors.Is(err, ErrSize) {
		t.Fatal(err)
	}
	same(t, digest(t, dir), before)
	if _, err := Rebuild(Options{Root: dir, LogFileSize: fixture.CommitLogFileSize}, What{}); err != nil {
		t.Fatal(err)
	}
	wantState(t, dir, Good, "log files of 262144 bytes")
}

// boundaries are positions of records of a fixture, among them the first of the second file.
func boundaries(t testing.TB, dir string) []int64 {
	t.Helper()
	l := mustLook(t, dir)
	var all []int64
	res, err := newLogReader(Options{Root: dir}.withDefaults(), l).walk(l, 0, nil, func(v *protocol.MessageView) error {
		all = append(all, v.PhysicalOffset)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return []int64{0, all[1], all[len(all)/3], 262144, all[len(all)-1], res.end}
}

// logBytes are the log's files in a row.
func logBytes(t testing.TB, dir string) string {
	t.Helper()
	files := digest(t, filepath.Join(dir, "commitlog"))
	var b strings.Builder
	for _, name := range slices.Sorted(maps.Keys(files)) {
		b.WriteString(files[name])
	}
	return b.String()
}

// Cutting leaves a good store with the messages before the position, and keeps what was behind it.
func TestCut(t *testing.T) {
	for _, name := range []string{fixture.Clean, fixture.Kill9} {
		for _, at := range boundaries(t, unpack(t, name)) {
			dir := unpack(t, name)
			whole := logBytes(t, dir)
			res, err := Cut(Options{Root: dir}, at)
			if err != nil {
				t.Fatalf("%s at %d: %v", name, at, err)
			}
			if at == 0 {
				wantState(t, dir, Good, "0 records from 0 to 0")
			} else {
				wantState(t, dir, Good)
			}
			left := logBytes(t, dir)
			if res.End != at || left[:at] != whole[:at] || strings.Trim(left[at:], "\x00") != "" {
				t.Errorf("%s at %d: ends at %d", name, at, res.End)
			}
			kept := []byte(left + strings.Repeat("\x00", len(whole)-len(left)))
			for _, aside := range res.Aside {
				pos, err1 := strconv.ParseInt(strings.TrimSuffix(filepath.Base(aside), ".cut"), 10, 64)
				b, err2 := os.ReadFile(aside)
				if err := errors.Join(err1, err2); err != nil {
					t.Fatal(err)
				}
				copy(kept[pos:], b)
			}
			if string(kept) != whole {
				t.Errorf("%s at %d: the log and what was kept in %v are not what the log was", name, at, res.Aside)
			}
			// Once more changes nothing.
			before := digest(t, dir, "checkpoint", "lock", "index")
			if _, err := Cut(Options{Root: dir}, at); err != nil {
				t.Fatal(err)
			}
			same(t, digest(t, dir, "checkpoint", "lock", "index"), before)
		}
	}
}

func TestCutRefusesPositions(t *testing.T) {
	dir := unpack(t, fixture.Clean)
	before := digest(t, dir)
	for at, text := range map[int64]string{-1: "not between", 1 << 40: "not between", 300: "but at 276 and 534", 262143: "but at 261143 and 262144", 518100: "no good record"} {
		if _, err := Cut(Options{Root: dir}, at); !errors.Is(err, ErrPosition) || !strings.Contains(err.Error(), text) {
			t.Errorf("%d: %v", at, err)
		}
	}
	same(t, digest(t, dir), before)
}

// Shapes of index files are found whatever the settings were.
func TestIndexShape(t *testing.T) {
	for _, shape := range []index.Shape{{Slots: 1000, Entries: 4000}, {Slots: 500, Entries: 7000}, {Slots: 3001, Entries: 2000}, {Slots: 100, Entries: 1500}} {
		dir := unpack(t, fixture.Clean)
		if err := os.RemoveAll(filepath.Join(dir, "index")); err != nil {
			t.Fatal(err)
		}
		if _, err := Rebuild(Options{Root: dir, IndexShape: shape}, What{Index: true}); err != nil {
			t.Fatal(err)
		}
		l := mustLook(t, dir)
		if l.IndexShape != shape {
			t.Errorf("found %+v, want %+v", l.IndexShape, shape)
		}
	}
}

// Delays that are not Java's are learnt from the queues.
func TestDelayLevelsAreLearnt(t *testing.T) {
	dir := unpack(t, fixture.Clean)
	o := Options{Root: dir}.withDefaults()
	l := mustLook(t, dir)
	levels, err := delayLevels(o, l)
	if err != nil || len(levels) != 18 || levels[0].Seconds() != 1 {
		t.Fatal(levels, err)
	}
	var q QueueFiles
	for _, have := range l.Queues {
		if have.Topic == protocol.TopicSchedule {
			q = have
		}
	}
	if q.Topic == "" {
		t.Fatal("the fixture has no delayed messages")
	}
	name := filepath.Join(dir, queueDir, q.Topic, filepath.Base(filepath.Dir(filepath.Join(newQueueCheck(o, l, q).dir, "x"))), q.Files[0].Name)
	b, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	for at := 0; at+20 <= len(b) && binary.BigEndian.Uint32(b[at+8:]) != 0; at += 20 {
		code := binary.BigEndian.Uint64(b[at+12:])
		binary.BigEndian.PutUint64(b[at+12:], code+7000)
	}
	poke(t, name, 0, b)
	if levels, err = delayLevels(o, l); err != nil || levels[q.ID] != store.DefaultDelayLevels()[q.ID]+7e9 {
		t.Fatal(levels, err)
	}
	wantState(t, dir, Good)
	want := digest(t, filepath.Join(dir, "consumequeue"))
	if _, err := Rebuild(Options{Root: dir}, What{}); err != nil {
		t.Fatal(err)
	}
	same(t, digest(t, filepath.Join(dir, "consumequeue")), want)
}
