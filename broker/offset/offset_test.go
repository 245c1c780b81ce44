package offset

import (
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/seedmq/seedmq/conf/clock"
	"github.com/seedmq/seedmq/conf/xlog"
	"github.com/seedmq/seedmq/store/configfile"
	"github.com/seedmq/seedmq/store/fs"
)

const path = "/store/config/consumerOffset.json"

var key = Key{Group: "g", Topic: "%RETRY%t", QueueID: 3}

func newTable(t *testing.T, disk fs.FS, log *strings.Builder) *Table {
	t.Helper()
	o := Options{FS: disk, Path: path, Clock: clock.NewFake(time.UnixMilli(1_700_000_000_000))}
	if log != nil {
		l, err := xlog.New(log, "info")
		if err != nil {
			t.Fatal(err)
		}
		o.Log = l
	}
	table := New(o)
	if err := table.Load(); err != nil {
		t.Fatal(err)
	}
	return table
}

func TestCommitRules(t *testing.T) {
	owner, other := Origin{Conn: 1}, Origin{Conn: 2, Addr: "192.0.2.7:99"}
	operator := Origin{Conn: 3, Explicit: true, Addr: "192.0.2.9:1"}
	for _, c := range []struct {
		name string
		by   Origin
		off  int64
		want Outcome
		now  int64
	}{
		{"higher, by the owner", owner, 20, Committed, 20},
		{"higher, by another", other, 20, Committed, 20},
		{"the same", owner, 10, Unchanged, 10},
		{"lower, by the owner: a seek", owner, 5, Lowered, 5},
		{"lower, by a late owner", other, 5, IgnoredLower, 10},
		{"lower, by an operator", operator, 5, Lowered, 5},
		{"lower, by nobody", Origin{}, 5, IgnoredLower, 10},
	} {
		t.Run(c.name, func(t *testing.T) {
			var log strings.Builder
			table := newTable(t, fs.NewMem(nil), &log)
			if out := table.Commit(key, 10, owner); out != Committed {
				t.Fatal(out)
			}
			if out := table.Commit(key, c.off, c.by); out != c.want {
				t.Fatalf("got outcome %d, want %d", out, c.want)
			}
			if now, ok := table.Query(key); !ok || now != c.now {
				t.Fatalf("offset is %d, want %d", now, c.now)
			}
			if noted := log.Len() > 0; noted != (c.want == Lowered || c.want == IgnoredLower) {
				t.Fatalf("log: %q", log.String())
			}
			if c.want == Lowered && c.by.Explicit && !strings.Contains(log.String(), c.by.Addr) {
				t.Fatalf("the log does not say who: %q", log.String())
			}
		})
	}
}

func TestReset(t *testing.T) {
	disk := fs.NewMem(nil)
	var log strings.Builder
	table := newTable(t, disk, &log)
	table.Commit(key, 100, Origin{Conn: 1})
	table.Reset(key, 40, "192.0.2.9:1")
	if !strings.Contains(log.String(), "from 100 to 40 by 192.0.2.9:1") {
		t.Errorf("log: %q", log.String())
	}
	if out := table.Commit(key, 120, Origin{Conn: 1}); out != IgnoredReset {
		t.Fatalf("a commit of a consumer that does not know of the reset: outcome %d", out)
	}
	if off, _ := table.Query(key); off != 40 {
		t.Fatalf("offset %d", off)
	}
	if err := table.Save(); err != nil {
		t.Fatal(err)
	}
	table = newTable(t, disk, nil) // a restart does not forget that the consumer must be told
	off, ok := table.TakeReset(key)
	if !ok || off != 40 {
		t.Fatal(off, ok)
	}
	if _, ok := table.TakeReset(key); ok {
		t.Fatal("told twice")
	}
	if out := table.Commit(key, 41, Origin{Conn: 1}); out != Committed {
		t.Fatalf("outcome %d", out)
	}
}

func TestSaveAndLoad(t *testing.T) {
	disk := fs.NewMem(nil)
	table := newTable(t, disk, nil)
	if err := table.Save(); err != nil {
		t.Fatal(err)
	}
	if _, err := fs.ReadFile(disk, path); err == nil {
		t.Fatal("written although nothing changed")
	}
	table.Commit(key, 1<<60, Origin{Conn: 1})
	table.Pulled(Key{"g2", "T", 0}, 17)
	if err := table.Save(); err != nil {
		t.Fatal(err)
	}
	got := newTable(t, disk, nil)
	if off, ok := got.Query(key); !ok || off != 1<<60 {
		t.Fatal(off, ok)
	}
	if off, ok := got.QueryPulled(Key{"g2", "T", 0}); !ok || off != 17 {
		t.Fatal(off, ok)
	}
	if _, ok := got.Query(Key{"g2", "T", 0}); ok {
		t.Fatal("a pull counts as committed")
	}
}

func TestLoadsJavas(t *testing.T) {
	disk := fs.NewMem(nil)
	text := []byte("{\n\t\"dataVersion\":{\"counter\":3,\"stateVersion\":0,\"timestamp\":9},\"groupTopicMap\":{\"g\":[\"T\"]},\"newer\":1," +
		"\n\t\"offsetTable\":{\n\t\t\"T@g\":{0:1195,1:7\n\t\t},\"broken\":{0:1}\n\t}\n}")
	if err := configfile.Save(disk, path, text); err != nil {
		t.Fatal(err)
	}
	table := newTable(t, disk, nil)
	if off, ok := table.Query(Key{"g", "T", 0}); !ok || off != 1195 {
		t.Fatal(off, ok)
	}
	table.Commit(Key{"g", "T", 0}, 1196, Origin{Conn: 1})
	if err := table.Save(); err != nil {
		t.Fatal(err)
	}
	got, _ := fs.ReadFile(disk, path)
	if s := string(got); !strings.Contains(s, "newer") || strings.Contains(s, "groupTopicMap") {
		t.Fatalf("got %s", s)
	}
}

func TestListsCloneRemove(t *testing.T) {
	table := newTable(t, fs.NewMem(nil), nil)
	for q := range int32(3) {
		table.Commit(Key{"a", "T", q}, int64(q)*10, Origin{Conn: 1})
		table.Commit(Key{"a", "U", q}, 1, Origin{Conn: 1})
	}
	table.Clone("a", "b", "T", "test")
	if q := table.Queues("b", "T"); len(q) != 3 || q[2] != 20 || len(table.Queues("b", "U")) != 0 {
		t.Fatal(q)
	}
	if g := table.Groups("T"); len(g) != 2 || g[0] != "a" {
		t.Fatal(g)
	}
	if u := table.Topics("a"); len(u) != 2 || u[1] != "U" {
		t.Fatal(u)
	}
	if all := table.All(); len(all) != 3 || all["T@b"][1] != 10 {
		t.Fatal(all)
	}
	table.RemoveTopic("T")
	if len(table.Groups("T")) != 0 || len(table.Groups("")) != 1 {
		t.Fatal(table.Groups(""))
	}
	table.RemoveGroup("a")
	if len(table.All()) != 0 {
		t.Fatal(table.All())
	}
}

// TestModel compares the table with a plain map under random commits, resets and restarts.
func TestModel(t *testing.T) {
	const seed = 7
	rnd := rand.New(rand.NewPCG(seed, seed))
	disk := fs.NewMem(nil)
	table := newTable(t, disk, nil)
	model := map[Key]int64{}
	owner := map[Key]uint64{}
	pending := map[Key]bool{}
	for step := range 5000 {
		k := Key{Group: string(rune('a' + rnd.IntN(3))), Topic: string(rune('S' + rnd.IntN(3))), QueueID: int32(rnd.IntN(2))}
		off := int64(rnd.IntN(50))
		switch rnd.IntN(20) {
		case 0:
			table.Reset(k, off, "test")
			model[k], pending[k] = off, true
		case 1:
			if _, ok := table.TakeReset(k); ok != pending[k] {
				t.Fatalf("seed %d step %d: pending reset of %v: %v", seed, step, k, ok)
			}
			pending[k] = false
		case 2:
			if err := table.Save(); err != nil {
				t.Fatal(err)
			}
			table = newTable(t, disk, nil)
			owner = map[Key]uint64{}
		default:
			conn := uint64(1 + rnd.IntN(2))
			table.Commit(k, off, Origin{Conn: conn})
			if was, ok := model[k]; !pending[k] && (!ok || off >= was || owner[k] == conn) {
				model[k], owner[k] = off, conn
			}
		}
		if got, ok := table.Query(k); ok != has(model, k) || got != model[k] {
			t.Fatalf("seed %d step %d: %v is %d (%v), want %d", seed, step, k, got, ok, model[k])
		}
	}
}

func has(m map[Key]int64, k Key) bool { _, ok := m[k]; return ok }

func TestQueryDoesNotAllocate(t *testing.T) {
	table := newTable(t, fs.NewMem(nil), nil)
	table.Commit(key, 1, Origin{Conn: 1})
	if n := testing.AllocsPerRun(100, func() {
		table.Query(key)
		table.Commit(key, 1, Origin{Conn: 1})
		table.Pulled(key, 1)
	}); n > 0 {
		t.Fatalf("%v allocations", n)
	}
}
