package store_test

import (
	"errors"
	"testing"

	"github.com/seedmq/seedmq/store"
	"github.com/seedmq/seedmq/store/fs"
)

// TestNotOurs: files that are kept for a start after a kill of ours are void once another broker had the store open, even if we are killed while
// that is noticed.
func TestNotOurs(t *testing.T) {
	mem := fs.NewMem(nil)
	calls := 0
	refuse := error(nil)
	e := newEnv(t, func(o *store.Options) {
		o.FS, o.NotOurs = mem, func() error { calls++; return refuse }
	})
	kill := func() {
		mem = mem.Reboot()
		e.o.FS = mem
	}
	want := func(what string, n int) {
		t.Helper()
		if calls != n {
			t.Fatalf("%s: called %d times, want %d", what, calls, n)
		}
	}
	want("a new store", 1)
	kill()
	e.open()
	kill()
	e.open()
	want("killed twice", 1)
	e.reopen()
	want("closed", 2)
	kill()
	java, err := mem.Create("/s/lock") // as Java does, whenever it opens a store
	if err == nil {
		_, err = java.WriteAt([]byte("lock"), 0)
	}
	if err = errors.Join(err, java.Close()); err != nil {
		t.Fatal(err)
	}
	refuse = errors.New("no")
	if _, err := store.Open(e.o); !errors.Is(err, refuse) {
		t.Fatalf("open: %v", err)
	}
	want("another broker", 3)
	kill()
	refuse = nil
	e.open()
	want("killed before it was done", 4)
	kill()
	e.open()
	want("killed after it was done", 4)
}
