package store

import (
	"errors"
	"fmt"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/seedmq/seedmq/conf/clock"
	"github.com/seedmq/seedmq/store/consumequeue"
	"github.com/seedmq/seedmq/store/fs"
)

// Schedule says when expired files may be deleted. A cron schedule is one.
type Schedule interface {
	// Next is the first moment after t at which deleting begins.
	Next(t time.Time) time.Time
}

// hours is the Schedule of deleteWhen: deleting begins at each of these local hours.
type hours []int

// parseHours reads hours parted by ';'.
func parseHours(s string) (hours, error) {
	var h hours
	for _, part := range strings.Split(s, ";") {
		if part = strings.TrimSpace(part); part == "" {
			continue
		}
		n, err := strconv.Atoi(part)
		if err != nil || n < 0 || n > 23 {
			return nil, fmt.Errorf("deleteWhen: %q is no hour", part)
		}
		h = append(h, n)
	}
	if len(h) == 0 {
		return nil, errors.New("deleteWhen: no hour")
	}
	return h, nil
}

// Next is the start of the next of the hours.
func (h hours) Next(t time.Time) time.Time {
	var next time.Time
	for _, hour := range h {
		at := time.Date(t.Year(), t.Month(), t.Day(), hour, 0, 0, 0, t.Location())
		if !at.After(t) {
			at = time.Date(t.Year(), t.Month(), t.Day()+1, hour, 0, 0, 0, t.Location())
		}
		if next.IsZero() || at.Before(next) {
			next = at
		}
	}
	return next
}

// defaultDelays are Java's messageDelayLevel.
var defaultDelays = [...]time.Duration{
	time.Second, 5 * time.Second, 10 * time.Second, 30 * time.Second, time.Minute, 2 * time.Minute, 3 * time.Minute,
	4 * time.Minute, 5 * time.Minute, 6 * time.Minute, 7 * time.Minute, 8 * time.Minute, 9 * time.Minute,
	10 * time.Minute, 20 * time.Minute, 30 * time.Minute, time.Hour, 2 * time.Hour,
}

// orDefault sets *p to d if it is zero.
func orDefault[T comparable](p *T, d T) {
	var zero T
	if *p == zero {
		*p = d
	}
}

// withDefaults fills zero fields and reports everything that is wrong.
func (o Options) withDefaults() (Options, error) {
	orDefault(&o.CommitLogDir, filepath.Join(o.Root, "commitlog"))
	orDefault(&o.CommitLogFileSize, 1<<30)
	orDefault(&o.QueueFileUnits, 300_000)
	orDefault(&o.BatchFileUnits, consumequeue.DefaultBatchFileUnits)
	orDefault(&o.MaxMessageSize, 4<<20)
	orDefault(&o.SyncFlushTimeout, 5*time.Second)
	orDefault(&o.FlushInterval, 500*time.Millisecond)
	orDefault(&o.FileReservedTime, 72*time.Hour)
	orDefault(&o.DeleteWhen, "04")
	orDefault(&o.IndexSlots, 5_000_000)
	orDefault(&o.IndexEntries, 20_000_000)
	orDefault(&o.DiskMaxUsedRatio, 0.75)
	orDefault(&o.DiskForcibleRatio, 0.85)
	orDefault(&o.DiskWarningRatio, 0.90)
	orDefault(&o.FillRate, 256<<20)
	orDefault(&o.HotBytes, min(fs.PhysicalMemory()/16, 64<<20))
	orDefault(&o.MapBytes, 256<<20)
	if o.KeepBytes == 0 && fs.FreeMemoryIsReturned() {
		o.KeepBytes = fs.PhysicalMemory() / 8 * 3
	}
	o.KeepBytes = max(o.KeepBytes, 0)
	if o.Clock == nil {
		o.Clock = clock.Real{}
	}
	if o.FS == nil {
		o.FS = fs.OS{}
	}
	if o.DelayLevels == nil {
		o.DelayLevels = defaultDelays[:]
	}
	var errs []error
	if o.Schedule == nil {
		h, err := parseHours(o.DeleteWhen)
		errs = append(errs, err)
		o.Schedule, o.hours = h, true
	}
	if o.Root == "" {
		errs = append(errs, errors.New("no root folder"))
	}
	if strings.Contains(o.CommitLogDir, ",") {
		errs = append(errs, fmt.Errorf("%w: several commit log folders: %s", ErrUnsupported, o.CommitLogDir))
	}
	if o.CommitLogFileSize < 1024 || o.CommitLogFileSize > 1<<31-1 {
		errs = append(errs, fmt.Errorf("commit log file size %d: not in 1024 to %d", o.CommitLogFileSize, 1<<31-1))
	}
	if o.QueueFileUnits < 1 || o.BatchFileUnits < 1 || o.MaxMessageSize < 1 {
		errs = append(errs, errors.New("a size is negative"))
	}
	if err := errors.Join(errs...); err != nil {
		return o, fmt.Errorf("store options: %w", err)
	}
	return o, nil
}
