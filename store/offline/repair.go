package offline

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"github.com/seedmq/seedmq/conf/clock"
	"github.com/seedmq/seedmq/remoting/protocol"
	"github.com/seedmq/seedmq/store"
	"github.com/seedmq/seedmq/store/checkpoint"
	"github.com/seedmq/seedmq/store/fs"
)

// Result is what a repair did.
type Result struct {
	Start, End int64 // of the log now
	Queues     int
	Aside      []string // what was moved or copied out of the way; nothing needs it
}

// What says what Rebuild makes again.
type What struct{ Queues, Index bool }

// Rebuild makes consume queues and index again from the log, by letting the store recover as after a crash. The old ones
// are moved to bad/. An index that is not there is made only if w.Index says so; with neither of w's fields set, both are
// made again. What the log's tail has of a torn write is cut, and holes in it are mended, as at any start after a crash.
func Rebuild(o Options, w What) (*Result, error) {
	o = o.withDefaults()
	l, unlock, err := lookLocked(o)
	if err != nil {
		return nil, err
	}
	defer unlock()
	if w == (What{}) {
		w = What{Queues: true, Index: len(l.IndexFiles) > 0}
	}
	delays, err := delayLevels(o, l)
	if err != nil {
		return nil, err
	}
	if err := crashed(o, checkpoint.Values{}); err != nil {
		return nil, err
	}
	res := &Result{}
	for _, part := range []struct {
		dir string
		do  bool
	}{{queueDir, w.Queues}, {batchDir, w.Queues}, {indexDir, w.Index}} {
		if part.do {
			if err := res.moveAside(o, part.dir); err != nil {
				return nil, err
			}
		}
	}
	unlock()
	return res, res.recover(o, l, delays, w.Index || l.Crashed && len(l.IndexFiles) > 0)
}

// lookLocked locks the store, lists its files, and refuses when their sizes are in doubt.
func lookLocked(o Options) (*Layout, func(), error) {
	if _, err := Look(o); err != nil {
		return nil, nil, err
	}
	held, err := lock(o, true)
	if err != nil {
		return nil, nil, err
	}
	unlock := func() {
		if held != nil {
			held.Close() // the file stays
			held = nil
		}
	}
	l, err := Look(o)
	if err == nil {
		err = sureOfSize(o, l)
	}
	if err != nil {
		unlock()
		return nil, nil, err
	}
	return l, unlock, nil
}

// ErrSize: the log file size cannot be told from the files.
var ErrSize = errors.New("the size of the log's files is not certain")

// sureOfSize refuses a log of one file that was cut: with a wrong size its records would be lost.
func sureOfSize(o Options, l *Layout) error {
	if len(l.LogFiles) != 1 || o.LogFileSize != 0 || l.LogFileSize == defaultLogFileSize {
		return nil
	}
	known := int64(0)
	scrap := &Part{}
	for _, q := range l.Queues {
		c := newQueueCheck(o, l, q)
		if err := c.look(scrap, 0); err != nil {
			return err
		}
		known = max(known, c.maxPhys)
	}
	r := newLogReader(o, l)
	res, err := r.walk(l, 0, nil, func(*protocol.MessageView) error { return nil })
	if err != nil {
		return err
	}
	if end := l.LogFiles[0].Start + l.LogFileSize; res.cutAt >= 0 || known > end {
		return fmt.Errorf("%w: the only one ends at %d, in the middle of what it had", ErrSize, end)
	}
	return nil
}

// crashed makes the store look like one whose broker was killed, with the given checkpoint.
func crashed(o Options, v checkpoint.Values) error {
	f, err := o.FS.OpenFile(o.path(abortName), os.O_RDWR|os.O_CREATE, 0o644)
	if err != nil {
		return err
	}
	_, err = f.WriteAt([]byte(strconv.Itoa(os.Getpid())), 0)
	if err = errors.Join(err, f.Close()); err != nil {
		return err
	}
	c, err := checkpoint.Open(o.FS, o.path(checkName))
	if err != nil {
		return err
	}
	if err = errors.Join(c.Set(v), c.Close()); err != nil {
		return err
	}
	return o.FS.SyncDir(o.Root)
}

// moveAside moves a folder to bad/, if it is there.
func (r *Result) moveAside(o Options, dir string) error {
	if _, err := o.FS.Stat(o.path(dir)); errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err := o.FS.MkdirAll(o.path(badDir)); err != nil {
		return err
	}
	to := freeName(o.FS, filepath.Join(o.path(badDir), dir+".old"))
	if err := o.FS.Rename(o.path(dir), to); err != nil {
		return err
	}
	r.Aside = append(r.Aside, to)
	return errors.Join(o.FS.SyncDir(o.path(badDir)), o.FS.SyncDir(o.Root))
}

// freeName adds a number to name until nothing is there.
func freeName(f fs.FS, name string) string {
	free := name
	for n := 1; ; n++ {
		if _, err := f.Stat(free); err != nil {
			return free
		}
		free = name + "." + strconv.Itoa(n)
	}
}

// recover opens the store as a broker does at its start, and closes it.
func (r *Result) recover(o Options, l *Layout, delays []time.Duration, index bool) error {
	s, err := store.Open(store.Options{Root: o.Root, CommitLogDir: o.CommitLogDir, CommitLogFileSize: l.LogFileSize,
		QueueFileUnits: l.QueueFileUnits, BatchFileUnits: l.BatchFileUnits, IndexEnabled: index, IndexSlots: int(l.IndexShape.Slots), IndexEntries: int(l.IndexShape.Entries),
		DelayLevels: delays, CheckCRCOnRecover: true, NoPrepare: true, FS: o.FS, Clock: o.Clock, Log: o.Log,
		// Nothing is deleted meanwhile.
		FileReservedTime: 100 * 365 * 24 * time.Hour, DiskMaxUsedRatio: 2, DiskForcibleRatio: 2, DiskWarningRatio: 2})
	if err != nil {
		return err
	}
	st := s.Status()
	r.Start, r.End = st.MinPhys, st.MaxPhys
	for _, topic := range s.Topics() {
		r.Queues += len(s.Queues(topic))
	}
	return s.Close()
}

// delayLevels are the delays that the queues of delayed messages show, Java's where they show nothing.
func delayLevels(o Options, l *Layout) ([]time.Duration, error) {
	if len(o.DelayLevels) > 0 {
		return o.DelayLevels, nil
	}
	levels := store.DefaultDelayLevels()
	r := newLogReader(o, l)
	defer r.close()
	for _, q := range l.Queues {
		if q.Topic != protocol.TopicSchedule || q.ID >= 1024 {
			continue
		}
		delay, err := delayOf(o, l, r, q)
		if err != nil {
			return nil, err
		}
		if delay <= 0 {
			continue
		}
		for len(levels) <= int(q.ID) {
			levels = append(levels, time.Second)
		}
		levels[q.ID] = delay
	}
	return levels, nil
}

// delayOf is the delay of the first message of a queue of delayed messages that is found in the log; 0 without one.
func delayOf(o Options, l *Layout, r *logReader, q QueueFiles) (time.Duration, error) {
	c := newQueueCheck(o, l, q)
	if err := c.look(&Part{}, 0); err != nil || len(c.order) == 0 {
		return 0, err
	}
	var v protocol.MessageView
	for n := c.order[0]; n < c.end; n++ {
		u, err := c.unit(n)
		if err != nil {
			return 0, err
		}
		if !u.Valid() || u.Blank() {
			continue
		}
		err = r.record(u.PhysicalOffset, &v)
		if err != nil && err != errBlank && !isBad(err) {
			return 0, err
		}
		if err == nil && v.Topic == q.Topic && v.QueueOffset == n {
			return clock.Span(u.TagsCode-v.StoreTimestamp, time.Millisecond), nil
		}
	}
	return 0, nil
}
