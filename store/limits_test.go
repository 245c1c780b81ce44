package store_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/seedmq/seedmq/store"
)

func limits(l store.Limits) store.Limits {
	if l.FileReservedTime == 0 {
		l.FileReservedTime = 9999 * time.Hour
	}
	if l.DiskForcibleRatio == 0 {
		l.DiskMaxUsedRatio, l.DiskForcibleRatio, l.DiskWarningRatio = 2, 2, 2
	}
	return l
}

func (e *env) setLimits(l store.Limits) {
	e.t.Helper()
	if err := e.s.SetLimits(limits(l)); err != nil {
		e.t.Fatal(err)
	}
}

// halfFull gives the disk twice the size of what is on it.
func (e *env) halfFull() {
	e.t.Helper()
	e.mem.SetCapacity(1 << 40)
	u, err := e.mem.Usage("/s")
	if err != nil {
		e.t.Fatal(err)
	}
	e.mem.SetCapacity(2 * (u.Total - u.Free))
}

func TestMessageSizeChangesWhileOpen(t *testing.T) {
	e := newEnv(t, func(o *store.Options) { o.MaxMessageSize = 1000 })
	size := func(n int) error { return e.s.NewBatch().Add(msg("A", 0, strings.Repeat("x", n))) }
	if size(1000) != nil || !errors.Is(size(1001), store.ErrMessageTooLarge) {
		t.Fatal("the first limit")
	}
	e.setLimits(store.Limits{MaxMessageSize: 2000})
	if size(2000) != nil || !errors.Is(size(2001), store.ErrMessageTooLarge) {
		t.Fatal("raised")
	}
	e.setLimits(store.Limits{MaxMessageSize: 10})
	if size(10) != nil || !errors.Is(size(11), store.ErrMessageTooLarge) {
		t.Fatal("lowered")
	}
}

func TestDeletingFollowsChangesWhileOpen(t *testing.T) {
	never := func(o *store.Options) {
		o.FileReservedTime = 9999 * time.Hour
		o.DiskMaxUsedRatio, o.DiskForcibleRatio, o.DiskWarningRatio = 2, 2, 2
	}
	for name, c := range map[string]struct {
		limits  store.Limits
		advance time.Duration
		full    bool
	}{
		"reserved time and disk use": {store.Limits{FileReservedTime: time.Hour, DiskMaxUsedRatio: 0.2, DiskForcibleRatio: 2, DiskWarningRatio: 2}, 2 * time.Hour, true},
		"reserved time and hours":    {store.Limits{FileReservedTime: time.Hour, DeleteWhen: "00;01;02;03;04;05;06;07;08;09;10;11;12;13;14;15;16;17;18;19;20;21;22;23"}, 3 * time.Hour, false},
		"forced":                     {store.Limits{DiskMaxUsedRatio: 0.2, DiskForcibleRatio: 0.3, DiskWarningRatio: 2}, time.Minute, true},
	} {
		t.Run(name, func(t *testing.T) {
			e := newEnv(t, never)
			e.fill(3)
			if c.full {
				e.halfFull()
			}
			e.clock.Advance(c.advance)
			if e.s.Status().MinPhys != 0 {
				t.Fatal("deleted before the change")
			}
			e.setLimits(c.limits)
			e.until("a file deleted", func() bool { return e.s.Status().MinPhys > 0 })
		})
	}
}

func TestWarningRatioChangesWhileOpen(t *testing.T) {
	e := newEnv(t, func(o *store.Options) { o.DiskMaxUsedRatio, o.DiskForcibleRatio, o.DiskWarningRatio = 2, 2, 2 })
	e.fill(3)
	e.halfFull()
	l := store.Limits{DiskMaxUsedRatio: 2, DiskForcibleRatio: 2, DiskWarningRatio: 0.4}
	e.setLimits(l)
	e.until("appends refused", func() bool { return errors.Is(e.s.Writable(), store.ErrDiskFull) })
	l.DiskWarningRatio = 0.6
	e.setLimits(l)
	e.until("appends taken", func() bool { return e.s.Writable() == nil })
}

func TestBadLimitsAreRefused(t *testing.T) {
	e := newEnv(t, func(o *store.Options) { o.MaxMessageSize = 100 })
	for want, l := range map[string]store.Limits{"no hour": {DeleteWhen: "25"}, "maxMessageSize": {MaxMessageSize: -1, DeleteWhen: "04"}, "fileReservedTime": {FileReservedTime: -time.Hour}} {
		if err := e.s.SetLimits(l); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: %v", l, err)
		}
	}
	if err := e.s.NewBatch().Add(msg("A", 0, strings.Repeat("x", 101))); !errors.Is(err, store.ErrMessageTooLarge) {
		t.Error("a refused change took effect")
	}
}
