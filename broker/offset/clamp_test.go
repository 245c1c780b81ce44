package offset

import (
	"testing"

	"github.com/seedmq/seedmq/store/fs"
)

func TestClamp(t *testing.T) {
	tab := newTable(t, fs.NewMem(nil), nil)
	commit := func(queue int32, off int64) {
		tab.Commit(Key{"g", "T", queue}, off, Origin{Explicit: true})
	}
	commit(0, 100)
	commit(1, 7)
	tab.Pulled(Key{"g", "T", 0}, 120)
	n := tab.Clamp(func(topic string, queue int32) int64 { return 90 })
	if off, _ := tab.Query(Key{"g", "T", 0}); n != 1 || off != 90 {
		t.Errorf("%d lowered, queue 0 at %d", n, off)
	}
	if off, _ := tab.QueryPulled(Key{"g", "T", 0}); off != 90 {
		t.Errorf("pulled %d", off)
	}
	if off, _ := tab.Query(Key{"g", "T", 1}); off != 7 {
		t.Errorf("queue 1 at %d", off)
	}
	if n := tab.Clamp(func(string, int32) int64 { return 90 }); n != 0 {
		t.Errorf("%d lowered again", n)
	}
}
