package timer

import (
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"github.com/seedmq/seedmq/conf/xlog"
	"github.com/seedmq/seedmq/remoting/protocol"
	"github.com/seedmq/seedmq/store/fs"
)

// Options say where the files are.
type Options struct {
	FS   fs.FS
	Root string // storePathRootDir
	// LogFileSize is the length of a timer log file, when there are none yet; default 100 MiB (mappedFileSizeTimerLog).
	LogFileSize int64
	// Tick is the length of a slot: 100, 200, 500 or 1000 ms (timerPrecisionMs).
	Tick time.Duration
	Log  *xlog.Logger
}

// Files are the open files of one store. See the package comment for who may call what.
type Files struct {
	o     Options
	wheel *wheel
	log   *timerLog
	check checkFile
	// wheelFile is opened by the first flush.
	wheelFile fs.File
	// num is the sum of all slots' messages.
	num int64
	// used is the number of slots in use.
	used int
	// read is the time in ms before which slots are done with.
	read int64
}

// State is what Open found.
type State struct {
	// Check is the check point, zero when Known is false.
	Check protocol.TimerCheckpoint
	Known bool
	// Last is the newest unit; there is none when its Size is 0.
	Last Unit
	// TailLost: the log ends before the check point says. What came after Last has to be put in again.
	TailLost bool
	// Lost: nothing of wheel and log could be used. They are empty, and all messages have to be put in again; those due before
	// Check.LastReadTimeMs were delivered, if Known.
	Lost bool
}

// Open opens the files, or makes ready to make them, and recovers: see the package comment. Damage that makes the files useless is
// logged and told by State, not by an error.
func Open(o Options) (*Files, State, error) {
	if o.LogFileSize < UnitSize+blankSize {
		o.LogFileSize = 100 << 20
	}
	f := &Files{o: o, wheel: newWheel(o.Tick), log: &timerLog{fs: o.FS, dir: filepath.Join(o.Root, "timerlog"), size: o.LogFileSize},
		check: checkFile{fs: o.FS, name: filepath.Join(o.Root, "config", "timercheck")}}
	st, err := f.open()
	if err != nil {
		return nil, st, errors.Join(fmt.Errorf("timer: %w", err), f.Close())
	}
	f.recount()
	return f, st, nil
}

func (f *Files) open() (st State, err error) {
	st.Check, st.Known, err = loadCheck(f.o.FS, f.check.name)
	if err != nil && !errors.Is(err, ErrCorrupt) {
		return st, err
	}
	if err != nil {
		f.o.Log.Errorf("timers: %v", err)
	}
	f.read = st.Check.LastReadTimeMs
	wheelErr := f.wheel.load(f.o.FS, f.wheelName())
	if wheelErr != nil && !errors.Is(wheelErr, ErrCorrupt) {
		return st, wheelErr
	}
	logErr := f.log.load()
	if logErr != nil && !errors.Is(logErr, ErrCorrupt) {
		return st, logErr
	}
	if !st.Known || logErr != nil || len(f.log.mu.files) == 0 {
		return st, f.startAnew(&st, logErr)
	}
	if wheelErr != nil {
		f.o.Log.Errorf("timers: the wheel is made again from the log: %v", wheelErr)
		f.wheel.wipe()
	}
	return st, f.recover(&st)
}

// startAnew throws wheel and log away: without the check point nobody knows what of them was delivered, and without the log the
// wheel means nothing.
func (f *Files) startAnew(st *State, why error) error {
	if why == nil && st.Known && st.Check.LastTimerLogFlushPos == 0 && len(f.log.mu.files) == 0 {
		f.wheel.wipe()
		return nil // nothing was ever in it
	}
	if st.Known || why != nil || len(f.log.mu.files) > 0 {
		f.o.Log.Errorf("timers: the timer log is missing or cannot be used, waiting messages are looked up in their queue again: %v", why)
	}
	st.Lost = true
	f.wheel.wipe()
	return f.log.remove()
}

// recover finds the log's end and links what the wheel lacks.
func (f *Files) recover(st *State) error {
	from := max(0, st.Check.LastTimerLogFlushPos-f.log.size)
	if f.wheel.fresh {
		from = 0
	}
	end, err := f.log.scan(from, func(_ int64, u *Unit) { st.Last = *u })
	if err != nil {
		return err
	}
	if err := f.log.cut(end); err != nil {
		return err
	}
	st.TailLost = end < st.Check.LastTimerLogFlushPos
	if st.TailLost {
		f.o.Log.Errorf("timers: the timer log ends at %d, %d were written; the rest is looked up in the queue again", end, st.Check.LastTimerLogFlushPos)
		if st.Last.Size == 0 {
			return f.startAnew(st, nil)
		}
	}
	if !f.wheel.fresh && !f.sound() {
		f.o.Log.Errorf("timers: the wheel does not fit to the log, and is made again from it")
		f.wheel.wipe()
		from = 0
	}
	since := int64(0)
	if !f.wheel.fresh {
		since = st.Check.LastTimerLogFlushPos // what is before is in the wheel, or was delivered
	}
	_, err = f.log.scan(from, func(pos int64, u *Unit) {
		if pos >= since {
			f.link(pos, u)
		}
	})
	return err
}

// sound says that every slot still to be read names a unit of its own tick.
func (f *Files) sound() bool {
	ok := true
	var u Unit
	f.wheel.each(func(ms int64, s Slot) {
		if ms < f.tick(f.read) {
			f.wheel.drop(ms) // was delivered
			return
		}
		ok = ok && f.log.read(s.Last, &u) == nil && f.tick(u.Due()) == ms
	})
	return ok
}

// link puts a unit of the log in the wheel, unless it is there.
func (f *Files) link(pos int64, u *Unit) {
	due := f.tick(u.Due())
	if due < f.tick(f.read) || f.wheel.holder(due) > due {
		return
	}
	s, ok := f.wheel.get(due)
	if ok && pos <= s.Last {
		return
	}
	f.wheel.put(due, s.plus(pos, u))
}

// plus is the slot with one more unit.
func (s Slot) plus(pos int64, u *Unit) Slot {
	if s.First == noPrevious {
		s.First = pos
	}
	s.Last = pos
	if u.Deletes() {
		s.Num--
	} else {
		s.Num++
	}
	return s
}

func (f *Files) recount() {
	f.num, f.used = 0, 0
	f.wheel.each(func(_ int64, s Slot) {
		f.num += int64(s.Num)
		f.used++
	})
}

func (f *Files) wheelName() string { return filepath.Join(f.o.Root, "timerwheel") }

// tick is the beginning of the tick that ms is in.
func (f *Files) tick(ms int64) int64 { return ms / f.wheel.tick * f.wheel.tick }

// Tick is the beginning of the tick that ms is in.
func (f *Files) Tick(ms int64) int64 { return f.tick(ms) }

// Num is how many messages wait in all slots. A deletion counts -1, as in Java.
func (f *Files) Num() int64 { return f.num }

// Used is how many slots are in use.
func (f *Files) Used() int { return f.used }

// Slot is the slot of the tick that ms is in; ok is false when it is empty.
func (f *Files) Slot(ms int64) (Slot, bool) { return f.wheel.get(ms) }

// LogEnd is the position after the newest unit.
func (f *Files) LogEnd() int64 { return f.log.end }

// ErrTaken is returned by Add when the place of the slot is held by a tick that was not read yet, two weeks away.
var ErrTaken = errors.New("timer: the slot is taken by another tick")

// Add puts a unit in the slot of its due time; Previous is filled in. Call Write after the last of several. When it fails nothing
// has changed.
func (f *Files) Add(u *Unit) error {
	due := f.tick(u.Due())
	if held := f.wheel.holder(due); held != due && held >= f.tick(f.read) && held != 0 {
		return fmt.Errorf("%w: %d is held by %d", ErrTaken, due, held)
	}
	s, ok := f.wheel.get(due)
	u.Previous = s.Last
	pos, err := f.log.add(u)
	if err != nil {
		return fmt.Errorf("timer log: %w", err)
	}
	if held := f.wheel.holder(due); held != 0 && held != due {
		old, _ := f.wheel.get(held)
		f.num -= int64(old.Num)
		f.used--
	}
	if !ok {
		f.used++
	}
	now := s.plus(pos, u)
	f.num += int64(now.Num - s.Num)
	f.wheel.put(due, now)
	return nil
}

// Write hands all added units to the operating system. It may be tried again after an error.
func (f *Files) Write() error {
	if err := f.log.write(); err != nil {
		return fmt.Errorf("timer log: %w", err)
	}
	return nil
}

// Walk calls fn for the units of a slot, newest first unless the chain is damaged, down to position from. What is gone from the log ends
// the walk; errors are those of the disk.
func (f *Files) Walk(ms, from int64, fn func(pos int64, u *Unit)) error {
	s, ok := f.wheel.get(ms)
	if !ok {
		return nil
	}
	var u Unit
	for pos := s.Last; pos >= from && pos != noPrevious; pos = u.Previous {
		err := f.log.read(pos, &u)
		if errors.Is(err, errGone) {
			return nil
		}
		if errors.Is(err, ErrCorrupt) {
			f.o.Log.Errorf("timers: slot %d: %v; older units are searched for", ms, err)
			return f.search(ms, max(from, s.First), pos, fn)
		}
		if err != nil {
			return fmt.Errorf("timer slot %d: %w", ms, err)
		}
		fn(pos, &u)
	}
	return nil
}

// search is Walk for a broken chain: it looks at all units between two positions.
func (f *Files) search(ms, from, to int64, fn func(pos int64, u *Unit)) error {
	var u Unit
	for pos := max(from, f.log.start()); pos < to; pos += UnitSize {
		if left := f.log.size - pos%f.log.size; left < UnitSize+blankSize {
			pos += left
			if pos >= to {
				break
			}
		}
		switch err := f.log.read(pos, &u); {
		case err == nil && f.tick(u.Due()) == f.tick(ms):
			fn(pos, &u)
		case err != nil && !errors.Is(err, ErrCorrupt):
			return fmt.Errorf("timer slot %d: %w", ms, err)
		}
	}
	return nil
}

// Done says that slots before ms are done with: what was in them was delivered. They are emptied.
func (f *Files) Done(ms int64) {
	ms = f.tick(ms)
	step := f.wheel.tick
	if ms-f.read > Slots*step {
		f.wheel.each(func(at int64, s Slot) {
			if at < ms {
				f.drop(at, s)
			}
		})
	} else {
		for at := f.tick(f.read); at < ms; at += step {
			if s, ok := f.wheel.get(at); ok {
				f.drop(at, s)
			}
		}
	}
	f.read = ms
}

func (f *Files) drop(ms int64, s Slot) {
	f.wheel.drop(ms)
	f.num -= int64(s.Num)
	f.used--
}

// Rewind says that slots from ms on are to be read, as Done does, but empties none.
func (f *Files) Rewind(ms int64) { f.read = f.tick(ms) }

// Expire deletes log files whose units all name messages that are gone from the commit log, which begins at minPhys. lost is how many
// of those units were still waiting.
func (f *Files) Expire(minPhys int64) (lost int, err error) {
	for len(f.log.mu.files) > 1 {
		var last Unit
		old := f.log.mu.files[0]
		if err := f.log.read(old.start+(f.log.size-UnitSize-blankSize)/UnitSize*UnitSize, &last); err != nil || last.Phys >= minPhys {
			return lost, err
		}
		buf := make([]byte, UnitSize*1024)
		if _, _, err := f.log.scanFile(old, buf, func(_ int64, u *Unit) {
			if u.Due() >= f.read && !u.Deletes() {
				lost++
			}
		}); err != nil {
			return lost, err
		}
		if err := f.log.removeOldest(); err != nil {
			return lost, err
		}
	}
	return lost, nil
}

// Close closes the files. It writes nothing.
func (f *Files) Close() error {
	errs := []error{f.log.close()}
	if f.wheelFile != nil {
		errs = append(errs, f.wheelFile.Close())
	}
	if f.check.file != nil {
		errs = append(errs, f.check.file.Close())
	}
	return errors.Join(errs...)
}
