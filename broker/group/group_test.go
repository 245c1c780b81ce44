package group

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/seedmq/seedmq/conf/clock"
	"github.com/seedmq/seedmq/remoting/protocol"
	"github.com/seedmq/seedmq/store/configfile"
	"github.com/seedmq/seedmq/store/fs"
)

const path = "/store/config/subscriptionGroup.json"

func newTable(t *testing.T, disk fs.FS, auto bool) *Table {
	t.Helper()
	table := New(Options{FS: disk, Path: path, AutoCreate: auto, AutoSystem: true, Clock: clock.NewFake(time.UnixMilli(1_700_000_000_000))})
	if err := table.Load(); err != nil {
		t.Fatal(err)
	}
	return table
}

func TestCreate(t *testing.T) {
	disk := fs.NewMem(nil)
	table := newTable(t, disk, true)
	e, err := table.GetOrCreate("g")
	if err != nil || !e.Config.ConsumeEnable || e.Config.RetryMaxTimes != 16 || e.Config.RetryQueueNums != 1 || e.System {
		t.Fatal(e, err)
	}
	if again, _ := table.GetOrCreate("g"); again != e {
		t.Fatal("made twice")
	}
	if newTable(t, disk, false).Get("g") == nil {
		t.Fatal("not on disk")
	}
	closed := newTable(t, fs.NewMem(nil), false)
	if _, err := closed.GetOrCreate("g"); !errors.Is(err, ErrNotFound) {
		t.Fatal(err)
	}
	if e, err := closed.GetOrCreate("CID_RMQ_SYS_X"); err != nil || !e.System {
		t.Fatal(e, err)
	}
	if closed.Get("TOOLS_CONSUMER") == nil || closed.Get("CID_RMQ_SYS_TRANS") == nil {
		t.Fatal("built-in groups are missing")
	}
}

func TestUpdateAndDelete(t *testing.T) {
	disk := fs.NewMem(nil)
	table := newTable(t, disk, true)
	e, _ := table.GetOrCreate("g")
	c := e.Config
	c.RetryMaxTimes = 3
	v := table.DataVersion()
	if err := table.Update(c); err != nil {
		t.Fatal(err)
	}
	if !e.Stale() || table.Get("g").Config.RetryMaxTimes != 3 || table.DataVersion() == v {
		t.Fatal("not changed")
	}
	if err := table.SetForbidden("g", "T", ForbidRead, true); err != nil {
		t.Fatal(err)
	}
	if was, err := table.Delete("g"); !was || err != nil || table.Get("g") != nil || !table.MayRead("g", "T") {
		t.Fatal(was, err)
	}
	if was, _ := table.Delete("g"); was {
		t.Fatal("deleted twice")
	}
}

func TestForbidden(t *testing.T) {
	disk := fs.NewMem(nil)
	table := newTable(t, disk, true)
	if !table.MayRead("g", "T") {
		t.Fatal("forbidden from the start")
	}
	if err := table.SetForbidden("g", "T", ForbidRead, true); err != nil {
		t.Fatal(err)
	}
	if table.MayRead("g", "T") || !table.MayRead("g", "U") || newTable(t, disk, true).MayRead("g", "T") {
		t.Fatal("not forbidden, or not on disk")
	}
	if err := table.SetForbidden("g", "T", ForbidRead, false); err != nil {
		t.Fatal(err)
	}
	if _, forbidden, _ := table.Snapshot(); !table.MayRead("g", "T") || len(forbidden) != 0 {
		t.Fatal("still forbidden", forbidden)
	}
}

func TestUnknownFieldsAreKept(t *testing.T) {
	disk := fs.NewMem(nil)
	text := []byte(`{"dataVersion":{"counter":7,"stateVersion":0,"timestamp":5},"later":true,"forbiddenTable":{},
		"subscriptionGroupTable":{"g":{"groupName":"g","liteBindTopic":"L","retryMaxTimes":2,"consumeEnable":true}}}`)
	if err := configfile.Save(disk, path, text); err != nil {
		t.Fatal(err)
	}
	table := newTable(t, disk, true)
	if e := table.Get("g"); e == nil || e.Config.RetryMaxTimes != 2 || !e.Config.ConsumeFromMinEnable || table.DataVersion().Counter != 7 {
		t.Fatalf("%+v", e)
	}
	if _, err := table.GetOrCreate("h"); err != nil {
		t.Fatal(err)
	}
	got, err := fs.ReadFile(disk, path)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"liteBindTopic", "later"} {
		if !strings.Contains(string(got), want) {
			t.Errorf("%s is lost: %s", want, got)
		}
	}
}

func TestSnapshotIsSafe(t *testing.T) {
	table := newTable(t, fs.NewMem(nil), true)
	if err := table.Update(protocol.NewSubscriptionGroupConfig("g")); err != nil {
		t.Fatal(err)
	}
	groups, _, _ := table.Snapshot()
	delete(groups, "g")
	if table.Get("g") == nil {
		t.Fatal("the snapshot is the table")
	}
	if all := table.All(); len(all) != len(groups)+1 || all[len(all)-1].Name() != "g" {
		t.Fatal("All is not sorted or not complete")
	}
}
