package store_test

import (
	"errors"
	"fmt"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/seedmq/seedmq/store"
	"github.com/seedmq/seedmq/store/fs"
)

// withCheckpoint makes a store whose checkpoint covers 40 messages with keys in files of 10 units, and that has 5 more.
func withCheckpoint(t *testing.T) *env {
	e := newEnv(t, nil)
	keyed := func(from, to int) {
		for i := from; i < to; i++ {
			m := msg("A", 0, fmt.Sprintf("%02d", i)+strings.Repeat("x", 100))
			m.UniqKey = fmt.Sprintf("u%d", i)
			m.Properties = []byte("UNIQ_KEY\x01" + m.UniqKey + "\x02")
			e.send(m)
		}
	}
	keyed(0, 40)
	e.until("checkpoint", func() bool {
		b, err := fs.ReadFile(e.mem, "/s/checkpoint")
		return err == nil && len(b) >= 48 && b[46] != 0
	})
	keyed(40, 45)
	return e
}

func (e *env) checkAll() {
	e.t.Helper()
	min, max, _ := e.s.QueueRange("A", 0)
	if min != 0 || max != 45 {
		e.t.Fatalf("queue %d to %d", min, max)
	}
	for i := range 45 {
		if got, _ := e.get(get("A", 0, int64(i))); len(got) == 0 || got[0][:2] != fmt.Sprintf("%02d", i) {
			e.t.Fatalf("message %d: %.10s", i, got)
		}
		if res, err := e.s.QueryKey("A", fmt.Sprintf("u%d", i), store.KeyUniq, 9, 0, 1<<60); err != nil || len(res.Records) != 1 {
			e.t.Fatalf("key u%d: %d records, %v", i, len(res.Records), err)
		}
	}
}

// What somebody removes between a kill and a start is missed and made again, though the checkpoint says that it is there.
func TestRemovedFilesAreMissed(t *testing.T) {
	list := withCheckpoint(t)
	var names []string
	for _, dir := range []string{"/s/consumequeue/A/0", "/s/index"} {
		files, err := list.mem.List(dir)
		if err != nil || len(files) == 0 {
			t.Fatal(err)
		}
		for _, f := range files {
			if dir == "/s/index" {
				names = append(names, dir+"/*")
				break
			}
			names = append(names, dir+"/"+f.Name)
		}
	}
	for _, name := range append(names, "/s/abort", "/s/checkpoint", "/s/lock") {
		t.Run(name, func(t *testing.T) {
			e := withCheckpoint(t)
			e.kill(func() {
				if dir, all := strings.CutSuffix(name, "/*"); all {
					if err := e.mem.RemoveAll(dir); err != nil {
						t.Fatal(err)
					}
				} else if err := e.mem.Remove(name); err != nil {
					t.Fatal(err)
				}
			})
			e.checkAll()
			e.reopen()
			e.checkAll()
		})
	}
}

// Noise before the checkpoint is not read at the start. It must not be served either.
func TestNoiseBeforeTheCheckpointIsNotServed(t *testing.T) {
	e := withCheckpoint(t)
	u, err := e.s.QueueUnits("A", 0, 7, 1)
	if err != nil {
		t.Fatal(err)
	}
	e.kill(func() {
		name, _ := e.logFile(0)
		e.patch(name, u[0].PhysicalOffset+100, []byte("noise")) // in the body
	})
	got, res := e.get(get("A", 0, 5))
	if len(got) < 3 || got[0][:2] != "05" || got[1][:2] != "06" || got[2][:2] != "08" {
		t.Fatalf("%.2s %+v", got, res)
	}
	if rec, err := e.s.Record(u[0].PhysicalOffset, nil); !errors.Is(err, store.ErrCorrupt) {
		t.Fatalf("%q, %v", rec, err)
	}
}

func TestInterruptedDeletionIsFinished(t *testing.T) {
	e := newEnv(t, nil)
	e.send(msg("A", 0, "old0"), msg("A", 0, "old1"), msg("B", 0, "b"))
	e.until("written", func() bool { _, err := e.mem.Stat("/s/consumequeue/A/0"); return err == nil })
	e.mem.SetHook(func(op fs.Op) fs.Fault {
		if op.Kind == fs.OpRename && strings.Contains(op.Name, "consumequeue") {
			return fs.Fault{Err: syscall.EIO}
		}
		return fs.Fault{}
	})
	if err := e.s.DeleteTopic("A"); !errors.Is(err, syscall.EIO) {
		t.Fatal(err)
	}
	e.send(msg("A", 0, "new"))
	for range 2 {
		e.kill(nil)
		if got, res := e.get(get("A", 0, 0)); fmt.Sprint(got) != "[new]" || res.MaxOffset != 1 {
			t.Fatalf("%v %+v", got, res)
		}
	}
}

func TestDeletionThatIsNotRememberedChangesNothing(t *testing.T) {
	e := newEnv(t, nil)
	e.send(msg("A", 0, "0"))
	e.mem.SetHook(func(op fs.Op) fs.Fault {
		if strings.Contains(op.Name, "deletedTopics") {
			return fs.Fault{Err: syscall.ENOSPC}
		}
		return fs.Fault{}
	})
	if err := e.s.DeleteTopic("A"); !errors.Is(err, syscall.ENOSPC) {
		t.Fatal(err)
	}
	if r := e.send(msg("A", 0, "1")); r[0].QueueOffset != 1 {
		t.Fatalf("%+v", r)
	}
	e.kill(nil)
	if got, _ := e.get(get("A", 0, 0)); fmt.Sprint(got) != "[0 1]" {
		t.Fatal(got)
	}
}

// However fast the messages come, they are refused with a reason when the disk is full, and taken again when there is room.
func TestSmallDisk(t *testing.T) {
	e := newEnv(t, func(o *store.Options) {
		o.CommitLogFileSize = 64 << 10
		o.DiskMaxUsedRatio, o.DiskForcibleRatio, o.DiskWarningRatio, o.KeepUnexpired = 0.999, 0.999, 0.9999, true
	})
	e.mem.SetCapacity(1 << 20)
	body, n := strings.Repeat("x", 1000), 0
	var refused error
	for refused == nil && n < 2000 {
		b := e.s.NewBatch()
		if err := b.Add(msg("A", 0, body)); err != nil {
			t.Fatal(err)
		}
		if refused = e.s.Append(b); refused == nil {
			n++
		}
	}
	if !errors.Is(refused, store.ErrDiskFull) {
		t.Fatalf("after %d messages: %v", n, refused)
	}
	if got, _ := e.get(get("A", 0, int64(n-1))); len(got) != 1 {
		t.Fatal("reads do not go on")
	}
	if e.s.Status().MinPhys != 0 {
		t.Fatal("files were deleted before their time")
	}
	e.clock.Advance(2 * time.Second)
	e.mem.SetCapacity(2 << 20)
	e.until("room", func() bool { return e.s.Writable() == nil })
	if r := e.send(msg("A", 0, "again")); r[0].QueueOffset != int64(n) {
		t.Fatalf("%+v, not %d", r, n)
	}
	if err := e.s.Close(); err != nil {
		t.Fatal(err)
	}
}
