package timer

import (
	"errors"
	"fmt"
	"os"
	"slices"

	"github.com/seedmq/seedmq/remoting/protocol"
	"github.com/seedmq/seedmq/store/fs"
)

// Snapshot is a state of the files that Flush makes durable.
type Snapshot struct {
	check protocol.TimerCheckpoint
	pages []dirtyPage
	logs  []*logFile
	fresh bool // the wheel's file begins anew
	err   error
}

// Take makes a snapshot of now with check as its check point, of which LastTimerLogFlushPos is filled in. All added units must
// be written. Each snapshot must be given to Flush and then to Flushed, before the next is taken.
func (f *Files) Take(check protocol.TimerCheckpoint) *Snapshot {
	check.LastTimerLogFlushPos = f.log.from
	s := &Snapshot{check: check, logs: f.log.takeUnsynced(), pages: f.wheel.take(), fresh: f.wheel.fresh}
	f.wheel.fresh = false
	slices.SortFunc(s.pages, func(a, b dirtyPage) int { return int(a.number - b.number) })
	return s
}

// Flush makes s durable. It may run beside all other methods.
func (f *Files) Flush(s *Snapshot) error {
	s.err = f.flush(s)
	return s.err
}

func (f *Files) flush(s *Snapshot) error {
	for _, l := range s.logs {
		if err := l.f.Datasync(); err != nil && !errors.Is(err, os.ErrClosed) {
			return fmt.Errorf("timer log: %w", err)
		}
	}
	if err := f.flushWheel(s); err != nil {
		return fmt.Errorf("timer wheel: %w", err)
	}
	if err := f.check.write(s.check); err != nil {
		return fmt.Errorf("timer check point: %w", err)
	}
	return nil
}

func (f *Files) flushWheel(s *Snapshot) error {
	if s.fresh {
		return f.renewWheel(s.pages)
	}
	if len(s.pages) == 0 {
		return nil
	}
	if f.wheelFile == nil {
		file, err := openSized(f.o.FS, f.wheelName(), WheelSize)
		if err != nil {
			return err
		}
		f.wheelFile = file
	}
	return writePages(f.wheelFile, s.pages)
}

func writePages(file fs.File, pages []dirtyPage) error {
	for _, p := range pages {
		if _, err := file.WriteAt(p.data[:], int64(p.number)*pageSize); err != nil {
			return err
		}
	}
	return file.Datasync()
}

// renewWheel puts a new file in the place of the old one, so that a crash leaves one or the other.
func (f *Files) renewWheel(pages []dirtyPage) error {
	if f.wheelFile != nil {
		if err := f.wheelFile.Close(); err != nil {
			return err
		}
		f.wheelFile = nil
	}
	name := f.wheelName()
	if err := f.o.FS.Remove(name + ".tmp"); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	file, err := openSized(f.o.FS, name+".tmp", WheelSize)
	if err != nil {
		return err
	}
	if err := errors.Join(writePages(file, pages), file.Sync(), file.Close()); err != nil {
		return err
	}
	if err := f.o.FS.Rename(name+".tmp", name); err != nil {
		return err
	}
	return f.o.FS.SyncDir(f.o.Root)
}

// Flushed ends a snapshot. When it could not be made durable, the next one has its part too.
func (f *Files) Flushed(s *Snapshot) {
	if s.err == nil {
		return
	}
	f.log.giveBack(s.logs)
	f.wheel.giveBack(s.pages)
	f.wheel.fresh = f.wheel.fresh || s.fresh
}

// Err is why the last Flush of s failed, nil when it did not.
func (s *Snapshot) Err() error { return s.err }
