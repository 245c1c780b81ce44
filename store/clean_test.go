package store_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/seedmq/seedmq/store"
)

// fill sends messages until the log has n files more, and returns how many.
func (e *env) fill(n int) (count int) {
	e.t.Helper()
	for end := e.s.Status().MaxPhys + int64(n)*e.o.CommitLogFileSize; e.s.Status().MaxPhys < end; count++ {
		m := msg("A", 0, strings.Repeat("x", 500))
		m.Keys = fmt.Sprintf("k%d", count)
		m.Properties = []byte("KEYS\x01" + m.Keys + "\x02")
		e.send(m)
	}
	return count
}

func (e *env) logFiles() (out []string) {
	e.t.Helper()
	list, err := e.mem.List("/s/commitlog")
	if err != nil {
		e.t.Fatal(err)
	}
	for _, i := range list {
		if !i.Dir {
			out = append(out, i.Name)
		}
	}
	return out
}

// sinceStart is a Schedule with one moment.
type sinceStart time.Duration

func (d sinceStart) Next(t time.Time) time.Time {
	if at := now.Add(time.Duration(d)); at.After(t) {
		return at
	}
	return t.AddDate(100, 0, 0)
}

func TestExpiredFilesGoWhenTheScheduleSays(t *testing.T) {
	e := newEnv(t, func(o *store.Options) {
		o.FileReservedTime = time.Hour
		o.Schedule = sinceStart(90 * time.Minute)
	})
	e.fill(3)
	e.clock.Advance(70 * time.Minute)
	e.fill(2) // young files
	files := e.logFiles()
	e.until("first file deleted", func() bool { return e.s.Status().MinPhys > 0 })
	if at := e.clock.Now().Sub(now); at < 90*time.Minute {
		t.Fatalf("deleted after %v", at)
	}
	e.until("three files gone", func() bool { return len(e.logFiles()) <= len(files)-3 })
	e.until("queue's beginning moved", func() bool { min, _, _ := e.s.QueueRange("A", 0); return min > 0 })
	min, max, _ := e.s.QueueRange("A", 0)
	u, err := e.s.QueueUnits("A", 0, min, 1)
	if start := e.s.Status().MinPhys; err != nil || u[0].PhysicalOffset != start || max <= min {
		t.Fatalf("queue %d to %d, unit %v, %v; log from %d", min, max, u, err, start)
	}
	if res, err := e.s.QueryKey("A", "k0", store.KeyUser, 9, 0, 1<<60); err != nil || len(res.Records) > 1 {
		t.Fatalf("%d records, %v", len(res.Records), err)
	}
	e.reopen()
	if got, _, _ := e.s.QueueRange("A", 0); got != min {
		t.Fatalf("after a restart the queue begins at %d, not %d", got, min)
	}
}

func TestDeleteExpiredNeverTakesTheLastFile(t *testing.T) {
	e := newEnv(t, func(o *store.Options) { o.FileReservedTime = time.Minute; o.Schedule = sinceStart(time.Hour * 9999) })
	e.fill(4)
	e.clock.Advance(time.Hour)
	if err := e.s.DeleteExpired(); err != nil {
		t.Fatal(err)
	}
	e.until("one file left", func() bool { return len(e.logFiles()) == 1 })
	e.clock.Advance(time.Hour)
	if err := e.s.DeleteExpired(); err != nil {
		t.Fatal(err)
	}
	e.send(msg("A", 0, "still here"))
	if min, max, _ := e.s.QueueRange("A", 0); max == 0 || min > max {
		t.Fatalf("queue %d to %d", min, max)
	}
}

func TestFullDiskDeletesBeforeTime(t *testing.T) {
	e := newEnv(t, func(o *store.Options) {
		o.DiskWarningRatio, o.DiskForcibleRatio, o.DiskMaxUsedRatio = 0.90, 0.85, 0.75
	})
	n := e.fill(10)
	u, err := e.mem.Usage("/")
	if err != nil {
		t.Fatal(err)
	}
	if u.UsedRatio != 0 {
		t.Fatal("no capacity was set yet")
	}
	var used int64
	for _, name := range e.logFiles() {
		i, err := e.mem.Stat("/s/commitlog/" + name)
		if err != nil {
			t.Fatal(err)
		}
		used += i.Size
	}
	e.mem.SetCapacity(used * 112 / 100) // with the queues this is about 95 %
	b := e.s.NewBatch()
	if err := b.Add(msg("A", 0, "next")); err != nil {
		t.Fatal(err)
	}
	e.until("room by deleting", func() bool { return e.s.Status().MinPhys > 0 && e.s.Append(b) == nil })
	if r := b.Result(0); r.QueueOffset != int64(n) {
		t.Fatalf("%+v, %d were sent before", r, n)
	}
}

func TestCleanExpiredQueues(t *testing.T) {
	e := newEnv(t, func(o *store.Options) { o.FileReservedTime = time.Minute })
	e.send(msg("Old", 0, "x"), msg("Kept", 0, "x"), msg("rmq_sys_wheel_timer", 0, "x"))
	e.fill(3)
	e.clock.Advance(time.Hour)
	if err := e.s.DeleteExpired(); err != nil {
		t.Fatal(err)
	}
	e.until("deleted", func() bool { return len(e.logFiles()) == 1 })
	if err := e.s.CleanExpiredQueues(func(topic string) bool { return topic == "Kept" }); err != nil {
		t.Fatal(err)
	}
	if got := fmt.Sprint(e.s.Topics()); got != "[A Kept rmq_sys_wheel_timer]" {
		t.Fatal(got)
	}
	if _, max, _ := e.s.QueueRange("Kept", 0); max != 1 {
		t.Fatal("the kept queue lost its offsets")
	}
}
