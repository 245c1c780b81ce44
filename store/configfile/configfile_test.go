package configfile

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/seedmq/seedmq/store/fs"
)

const path = "/store/config/consumerOffset.json"

// table has the shape of consumerOffset.json.
type table struct {
	OffsetTable map[string]map[int32]int64 `json:"offsetTable"`
	Limit       int                        `json:"limit,omitempty"`
}

func offsets(n int64) table {
	return table{OffsetTable: map[string]map[int32]int64{"T@g": {0: n, 7: 1 << 60}}}
}

func put(t *testing.T, f fs.FS, name, text string) {
	t.Helper()
	if err := f.MkdirAll("/store/config"); err != nil {
		t.Fatal(err)
	}
	if err := writeFile(f, name, []byte(text)); err != nil {
		t.Fatal(err)
	}
}

func TestLoadChoosesTheFile(t *testing.T) {
	const good1 = `{"offsetTable":{"T@g":{0:1,7:1152921504606846976}}}`
	const good2 = `{"offsetTable":{"T@g":{"0":2,"7":1152921504606846976}}}`
	for _, c := range []struct {
		name         string
		main, backup string // "-": no such file
		want         Source
		offset       int64
		corrupt, bad bool
	}{
		{name: "nothing", main: "-", backup: "-", want: None},
		{name: "main", main: good1, backup: good2, want: Main, offset: 1},
		{name: "main alone", main: good1, backup: "-", want: Main, offset: 1},
		{name: "main missing", main: "-", backup: good2, want: Backup, offset: 2},
		{name: "main empty", main: "", backup: good2, want: Backup, offset: 2},
		{name: "main blank", main: " \n", backup: good2, want: Backup, offset: 2},
		{name: "main halved", main: good1[:len(good1)/2], backup: good2, want: Backup, offset: 2, bad: true},
		{name: "main zeros", main: strings.Repeat("\x00", 40), backup: good2, want: Backup, offset: 2, bad: true},
		{name: "main of another shape", main: `{"offsetTable":[1]}`, backup: good2, want: Backup, offset: 2, bad: true},
		{name: "main a number", main: `17`, backup: good2, want: Backup, offset: 2, bad: true},
		{name: "both empty", main: "", backup: "", want: None},
		{name: "main noise, no backup", main: "\x17\x99{", backup: "-", want: None, corrupt: true, bad: true},
		{name: "both noise", main: "x", backup: "{{", want: None, corrupt: true, bad: true},
		{name: "main missing, backup noise", main: "-", backup: "{{", want: None, corrupt: true},
	} {
		t.Run(c.name, func(t *testing.T) {
			m := fs.NewMem(nil)
			if c.main != "-" {
				put(t, m, path, c.main)
			}
			if c.backup != "-" {
				put(t, m, path+BackupSuffix, c.backup)
			}
			into := table{Limit: 5} // a default that the file does not name
			src, err := Load(m, path, &into)
			if src != c.want || errors.Is(err, ErrCorrupt) != c.corrupt || (err != nil) != c.corrupt {
				t.Fatalf("source %v, %v", src, err)
			}
			want := table{Limit: 5}
			if c.want != None {
				want.OffsetTable = offsets(c.offset).OffsetTable
			}
			if !reflect.DeepEqual(into, want) {
				t.Fatalf("got %+v, want %+v", into, want)
			}
			text, err := fs.ReadFile(m, path+badSuffix)
			if c.bad != (err == nil) || c.bad && string(text) != c.main {
				t.Fatalf("put aside: %q, %v", text, err)
			}
		})
	}
}

func TestSaveKeepsTheOldTable(t *testing.T) {
	m := fs.NewMem(nil)
	for i := int64(1); i <= 3; i++ {
		if err := Save(m, path, offsets(i)); err != nil {
			t.Fatal(err)
		}
	}
	var now, before table
	if src, err := Load(m, path, &now); src != Main || err != nil || !reflect.DeepEqual(now, offsets(3)) {
		t.Fatalf("%v %v %+v", src, err, now)
	}
	if src, err := Load(m, path+BackupSuffix, &before); src != Main || err != nil || !reflect.DeepEqual(before, offsets(2)) {
		t.Fatalf("%v %v %+v", src, err, before)
	}
}

func TestSaveAfterDamageKeepsTheBackup(t *testing.T) {
	for _, damage := range []string{"", "\x00\x01noise"} {
		m := fs.NewMem(nil)
		put(t, m, path, damage)
		put(t, m, path+BackupSuffix, `{"offsetTable":{"T@g":{0:1,7:1152921504606846976}}}`)
		var got table
		if src, err := Load(m, path, &got); src != Backup || err != nil {
			t.Fatal(src, err)
		}
		if err := Save(m, path, offsets(2)); err != nil {
			t.Fatal(err)
		}
		if src, err := Load(m, path+BackupSuffix, &got); src != Main || err != nil || !reflect.DeepEqual(got, offsets(1)) {
			t.Fatalf("damage %q: %v %v %+v", damage, src, err, got)
		}
	}
}

// TestCrashAtEveryStep saves a table again and again, stops at each operation, and wants one of the last two tables back,
// and the last one if its Save had returned.
func TestCrashAtEveryStep(t *testing.T) {
	const saves = 4
	run := func(m *fs.Mem) (done int64) {
		for i := int64(1); i <= saves; i++ {
			if Save(m, path, offsets(i)) != nil {
				return done
			}
			done = i
		}
		return done
	}
	dry := fs.NewMem(nil)
	run(dry)
	for stop := int64(1); stop <= dry.Ops(); stop++ {
		for seed := uint64(0); seed < 16; seed++ {
			m := fs.NewMem(nil)
			m.SetHook(func(op fs.Op) fs.Fault { return fs.Fault{Kill: op.N == stop, Short: op.Len / 2} })
			done := run(m)
			after := m.Crash(seed)
			if seed == 0 {
				after = m.Reboot()
			}
			var got table
			src, err := Load(after, path, &got)
			if err != nil {
				t.Fatalf("stop %d seed %d: %v", stop, seed, err)
			}
			if src == None && done > 0 {
				t.Fatalf("stop %d seed %d: table %d is gone", stop, seed, done)
			}
			if src != None && !reflect.DeepEqual(got, offsets(done)) && !reflect.DeepEqual(got, offsets(done+1)) {
				t.Fatalf("stop %d seed %d: after %d saves got %+v", stop, seed, done, got)
			}
			// And what follows works.
			if err := Save(after, path, offsets(99)); err != nil {
				t.Fatal(err)
			}
		}
	}
}

func TestErrorAtEveryStep(t *testing.T) {
	dry := fs.NewMem(nil)
	if err := errors.Join(Save(dry, path, offsets(1)), Save(dry, path, offsets(2))); err != nil {
		t.Fatal(err)
	}
	for stop := int64(1); stop <= dry.Ops(); stop++ {
		m := fs.NewMem(nil)
		m.SetHook(func(op fs.Op) fs.Fault {
			if op.N == stop {
				return fs.Fault{Err: syscall.ENOSPC, Short: op.Len / 2}
			}
			return fs.Fault{}
		})
		err := errors.Join(Save(m, path, offsets(1)), Save(m, path, offsets(2)))
		if !errors.Is(err, syscall.ENOSPC) {
			t.Fatalf("stop %d: %v", stop, err)
		}
		var got table
		if _, err := Load(m, path, &got); err != nil {
			t.Fatalf("stop %d: %v", stop, err)
		}
		if err := Save(m, path, offsets(3)); err != nil {
			t.Fatalf("stop %d: %v", stop, err)
		}
		if src, err := Load(m, path, &got); src != Main || err != nil || !reflect.DeepEqual(got, offsets(3)) {
			t.Fatalf("stop %d: %v %v %+v", stop, src, err, got)
		}
	}
}

func TestEncode(t *testing.T) {
	text, err := Encode(map[string]any{"a": "<&>", "m": map[int32]int64{1: 2}})
	if err != nil || string(text) != "{\n\t\"a\": \"<&>\",\n\t\"m\": {\n\t\t\"1\": 2\n\t}\n}" {
		t.Fatalf("%s, %v", text, err)
	}
	big := strings.Repeat("x", prettyLimit)
	if text, err = Encode(map[string]any{"a": big, "b": 1}); err != nil || bytes.Contains(text, []byte("\n")) {
		t.Fatalf("a big table is indented: %v", err)
	}
	if text, err = Encode(json.RawMessage("{ }")); err != nil || string(text) != "{ }" {
		t.Fatalf("%s, %v", text, err)
	}
	if err := Save(fs.NewMem(nil), path, func() {}); err == nil {
		t.Fatal("saved a function")
	}
}

func TestWriterKeepsUnknownFields(t *testing.T) {
	m := fs.NewMem(nil)
	put(t, m, path, `{"groupTopicMap":{"g":["T"]},"offsetTable":{"T@g":{0:1}},"pullOffsetTable":{"T@g":{0:9}},limit:3}`)
	state := table{}
	w := NewWriter(m, path, func() any { return state })
	if src, err := w.Load(&state); src != Main || err != nil || state.Limit != 3 {
		t.Fatalf("%v %v %+v", src, err, state)
	}
	state = offsets(2) // limit is known and gone
	if err := w.Save(); err != nil {
		t.Fatal(err)
	}
	var got map[string]any
	if _, err := Load(m, path, &got); err != nil {
		t.Fatal(err)
	}
	want := map[string]any{
		"groupTopicMap":   map[string]any{"g": []any{"T"}},
		"pullOffsetTable": map[string]any{"T@g": map[string]any{"0": 9.0}},
		"offsetTable":     map[string]any{"T@g": map[string]any{"0": 2.0, "7": float64(1 << 60)}},
	}
	// Compare as text: numbers may have been decoded as either kind.
	if a, b := fmt.Sprintf("%v", norm(t, got)), fmt.Sprintf("%v", norm(t, want)); a != b {
		t.Fatalf("got %s, want %s", a, b)
	}
}

func norm(t *testing.T, v any) any {
	t.Helper()
	text, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	var out any
	if err := json.Unmarshal(text, &out); err != nil {
		t.Fatal(err)
	}
	return out
}

func TestWriterWritesWhatChanged(t *testing.T) {
	m := fs.NewMem(nil)
	n := int64(0)
	w := NewWriter(m, path, func() any { n++; return offsets(n) })
	if err := w.Flush(); err != nil || n != 0 || w.Dirty() {
		t.Fatal("written without a change", err)
	}
	w.Mark()
	w.Mark()
	if !w.Dirty() {
		t.Fatal("not dirty after a change")
	}
	if err := errors.Join(w.Flush(), w.Flush()); err != nil || n != 1 || w.Dirty() {
		t.Fatalf("%d writes for one round of changes: %v", n, err)
	}
	m.SetHook(func(op fs.Op) fs.Fault { return fs.Fault{Err: syscall.EIO} })
	if err := w.Save(); !errors.Is(err, syscall.EIO) || !w.Dirty() {
		t.Fatalf("%v, dirty %v", err, w.Dirty())
	}
	m.SetHook(nil)
	if err := w.Flush(); err != nil || w.Dirty() {
		t.Fatal(err)
	}
}

func TestWriterConcurrentSaves(t *testing.T) {
	m := fs.NewMem(nil)
	var mu sync.Mutex
	state := map[string]int{}
	w := NewWriter(m, path, func() any {
		mu.Lock()
		defer mu.Unlock()
		c := make(map[string]int, len(state))
		for k, v := range state {
			c[k] = v
		}
		return c
	})
	var wg sync.WaitGroup
	for i := range 50 {
		wg.Add(1)
		go func() {
			defer wg.Done()
			key := fmt.Sprint(i)
			mu.Lock()
			state[key] = i
			mu.Unlock()
			if err := w.Save(); err != nil {
				t.Error(err)
			}
			// Whatever write served this Save, the change is in the file or in a later one that is whole by then.
			got := map[string]int{}
			w.mu.Lock()
			_, err := Load(m, path, &got)
			w.mu.Unlock()
			if err != nil || got[key] != i {
				t.Errorf("%s is not in the table: %v", key, err)
			}
		}()
	}
	wg.Wait()
}

// FuzzDecode: no panic; what was read can be written and read again with the same result.
func FuzzDecode(f *testing.F) {
	for _, s := range []string{
		`{"offsetTable":{"T@g":{0:1195,1:1195}}}`, `{"offsetTable":{"T@g":{"0":1}},limit:'3'}`, "{}", "", "{", "null", "[]",
		"{\n\t\"dataVersion\":{\"counter\":0},\n\t\"offsetTable\":{}\n}", `{"offsetTable":{"a":{1:2,},},}`, "/* c */ {limit:1}",
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		var v table
		if err := Decode(text, &v); err != nil {
			if !errors.Is(err, ErrCorrupt) || v.OffsetTable != nil || v.Limit != 0 {
				t.Fatalf("%v, and half a table: %+v", err, v)
			}
			return
		}
		out, err := Encode(v)
		if err != nil {
			t.Fatal(err)
		}
		var again table
		if err := Decode(out, &again); err != nil {
			t.Fatalf("%v in %s", err, out)
		}
		if fmt.Sprint(v) != fmt.Sprint(again) {
			t.Fatalf("%+v became %+v", v, again)
		}
	})
}
