package store_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/seedmq/seedmq/store"
	"github.com/seedmq/seedmq/store/fs"
)

// kill ends the process and opens the store again on what it wrote. before may change that.
func (e *env) kill(before func()) {
	e.t.Helper()
	e.mem.Kill()
	_ = e.s.Close() // its goroutines must end
	e.mem = e.mem.Reboot()
	e.o.FS = e.mem
	if before != nil {
		before()
	}
	e.open()
}

func (e *env) logFile(start int64) (name string, content []byte) {
	e.t.Helper()
	name = fmt.Sprintf("/s/commitlog/%020d", start)
	b, err := fs.ReadFile(e.mem, name)
	if err != nil {
		e.t.Fatal(err)
	}
	return name, b
}

// patch writes b into a file.
func (e *env) patch(name string, off int64, b []byte) {
	e.t.Helper()
	f, err := e.mem.OpenFile(name, os.O_RDWR|os.O_CREATE, 0)
	if err != nil {
		e.t.Fatal(err)
	}
	defer f.Close()
	if _, err := f.WriteAt(b, off); err != nil {
		e.t.Fatal(err)
	}
}

func TestTornTailIsCutAndKeptAside(t *testing.T) {
	e := newEnv(t, nil)
	r := e.send(msg("A", 0, "whole"), msg("A", 0, "torn-torn"))
	var tail []byte
	e.kill(func() {
		name, b := e.logFile(0)
		cut := r[1].PhysicalOffset + int64(r[1].Size) - 5
		tail = bytes.Clone(b[r[1].PhysicalOffset:cut])
		e.patch(name, cut, make([]byte, 5))
	})
	if got, res := e.get(get("A", 0, 0)); fmt.Sprint(got) != "[whole]" || res.MaxOffset != 1 {
		t.Fatalf("%v %+v", got, res)
	}
	zeros := len(tail) - len(bytes.TrimLeft(tail, "\x00"))
	aside, err := fs.ReadFile(e.mem, fmt.Sprintf("/s/torn/%020d.torn", r[1].PhysicalOffset+int64(zeros)))
	if err != nil || !bytes.Equal(aside, bytes.Trim(tail, "\x00")) {
		t.Fatalf("kept aside: %q, %v; want %q", aside, err, tail)
	}
	if _, b := e.logFile(0); len(bytes.TrimRight(b[r[1].PhysicalOffset:], "\x00")) != 0 {
		t.Fatal("bytes behind the end of the log")
	}
	if r := e.send(msg("A", 0, "next")); r[0].QueueOffset != 1 {
		t.Fatalf("%+v", r)
	}
}

func TestDamageInTheMiddleLeavesTheRest(t *testing.T) {
	e := newEnv(t, nil)
	var r []store.AppendResult
	for i := range 20 {
		r = append(r, e.send(msg("A", 0, fmt.Sprintf("%02d", i)+strings.Repeat("x", 400)))...)
	}
	damaged := 3 // in the first of several files
	e.kill(func() {
		name, _ := e.logFile(0)
		e.patch(name, r[damaged].PhysicalOffset+100, []byte("noise"))
	})
	for range 2 {
		q := get("A", 0, 0)
		got, res := e.get(q)
		if len(got) != 19 || res.MaxOffset != 20 {
			t.Fatalf("%d messages, %+v", len(got), res)
		}
		q.Offset = int64(damaged) + 1
		if got, _ := e.get(q); got[0][:2] != "04" {
			t.Fatalf("message 4 is not at its offset: %.10s", got[0])
		}
		e.reopen()
	}
	if rec, err := e.s.Record(r[damaged].PhysicalOffset, nil); err != nil || !bytes.Contains(rec, []byte("SEEDMQ_DAMAGED")) {
		t.Fatalf("filler: %q, %v", rec, err)
	}
	e.kill(func() { // queues made again from a log with fillers
		if err := errors.Join(e.mem.RemoveAll("/s/consumequeue"), e.mem.Remove("/s/checkpoint")); err != nil {
			t.Fatal(err)
		}
	})
	if got, res := e.get(get("A", 0, 4)); len(got) != 16 || got[0][:2] != "04" || res.MaxOffset != 20 {
		t.Fatalf("rebuilt: %d messages, %+v", len(got), res)
	}
	if m := e.s.Mended(); len(m) != 1 || m[0] != (store.LogRange{From: r[damaged].PhysicalOffset, To: r[damaged+1].PhysicalOffset}) {
		t.Fatalf("mended: %v", m)
	}
}

// Java's recovery leaves bytes behind the end; when it has appended since, an old record may stand there whole.
func TestStaleRecordBehindTheEndIsNoRecord(t *testing.T) {
	for _, crashed := range []bool{false, true} {
		e := newEnv(t, nil)
		e.send(msg("A", 0, "first"))
		e.clock.Advance(time.Minute)
		r := e.send(msg("A", 0, "last"))
		end := e.s.Status().MaxPhys
		if err := e.s.Close(); err != nil {
			t.Fatal(err)
		}
		name, b := e.logFile(0)
		stale := bytes.Clone(b[:r[0].PhysicalOffset])
		at := end
		if crashed {
			at += 30 // behind some other bytes
			e.patch("/s/abort", 0, []byte("1"))
		}
		binary.BigEndian.PutUint64(stale[20:], 2)
		binary.BigEndian.PutUint64(stale[28:], uint64(at))
		e.patch(name, at, stale)
		e.open()
		if got, res := e.get(get("A", 0, 0)); fmt.Sprint(got) != "[first last]" || res.MaxOffset != 2 {
			t.Fatalf("crashed %v: %v %+v", crashed, got, res)
		}
		if _, b := e.logFile(0); len(bytes.TrimRight(b[end:], "\x00")) != 0 {
			t.Fatalf("crashed %v: it is still there", crashed)
		}
	}
}

// What was stored after a crash by a clock that was set back is no leftover.
func TestClockSetBackBetweenCrashes(t *testing.T) {
	e := newEnv(t, nil)
	e.send(msg("A", 0, "1"), msg("A", 0, "2"))
	e.clock.Set(now.Add(-10 * time.Minute))
	e.kill(nil)
	e.send(msg("A", 0, "3"))
	e.send(msg("A", 0, "4"))
	e.kill(nil)
	if got, _ := e.get(get("A", 0, 0)); fmt.Sprint(got) != "[1 2 3 4]" {
		t.Fatal(got)
	}
}

func TestDeletedTopicStaysDeletedAfterACrash(t *testing.T) {
	e := newEnv(t, nil)
	e.send(msg("A", 0, "old0"), msg("A", 0, "old1"), msg("B", 0, "b"))
	if err := e.s.DeleteTopic("A"); err != nil {
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

func TestLogIsGone(t *testing.T) {
	e := newEnv(t, nil)
	n := e.fill(2)
	max := e.s.Status().MaxPhys
	if err := e.s.Close(); err != nil {
		t.Fatal(err)
	}
	if err := e.mem.RemoveAll("/s/commitlog"); err != nil {
		t.Fatal(err)
	}
	e.open()
	r := e.send(msg("A", 0, "again"))
	if r[0].PhysicalOffset < max || r[0].QueueOffset != int64(n) {
		t.Fatalf("%+v; the log ended at %d, the queue at %d", r, max, n)
	}
	if got, _ := e.get(get("A", 0, int64(n))); fmt.Sprint(got) != "[again]" {
		t.Fatal(got)
	}
	e.reopen()
	if min, max, _ := e.s.QueueRange("A", 0); min != int64(n) || max != int64(n)+1 {
		t.Fatalf("queue %d to %d", min, max)
	}
}

func TestClockThatWasAhead(t *testing.T) {
	e := newEnv(t, nil)
	e.clock.Set(now.AddDate(1, 0, 0))
	e.send(msg("A", 0, "from the future"))
	e.clock.Set(now)
	e.reopen()
	if r := e.send(msg("A", 0, "x")); r[0].StoreTimestamp != now.UnixMilli() {
		t.Fatalf("store time %d", r[0].StoreTimestamp)
	}
}

func TestSpareFile(t *testing.T) {
	e := newEnv(t, func(o *store.Options) { o.NoPrepare = false })
	e.send(msg("A", 0, "x"))
	e.until("first file", func() bool { return len(e.logFiles()) == 1 })
	for e.s.Status().MaxPhys < 2048 {
		e.send(msg("A", 0, "x"))
	}
	spares := func() int {
		list, _ := e.mem.List("/s/commitlog.spare")
		return len(list)
	}
	e.until("spare file", func() bool { return spares() == 1 })
	if got := e.logFiles(); len(got) != 1 { // a Java broker started by mistake would remove one that has no record
		t.Fatalf("beside a spare file: %v", got)
	}
	if err := e.s.Close(); err != nil {
		t.Fatal(err)
	}
	if got := e.logFiles(); len(got) != 1 || spares() != 0 {
		t.Fatalf("after a clean stop: %v and %d to spare", got, spares())
	}
	e.open()
	if n := e.fill(3); n == 0 {
		t.Fatal("nothing sent")
	}
	e.until("spare file", func() bool { return spares() == 1 })
	e.kill(nil) // with a spare file, which goes
	if got := spares(); got != 0 {
		t.Fatalf("after a kill: %d to spare", got)
	}
	if err := e.s.Append(e.s.NewBatch()); err != nil {
		t.Fatal(err)
	}
}

func TestSeveralLogFoldersAreRefused(t *testing.T) {
	if _, err := store.Open(store.Options{Root: "/s", CommitLogDir: "/a,/b", FS: fs.NewMem(nil)}); !errors.Is(err, store.ErrUnsupported) {
		t.Fatal(err)
	}
}
