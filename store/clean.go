package store

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"sync/atomic"
	"time"

	"github.com/seedmq/seedmq/store/mappedfile"
)

const (
	cleanEvery = 10 * time.Second
	// cleanBatch is how many files one round deletes, and cleanPause how long it waits between two.
	cleanBatch = 10
	cleanPause = 100 * time.Millisecond
	// shrinkStep is how much of a deleted file is given back at once: freeing a whole file would stall the appends. Each step
	// makes one commit of the file system's journal slow, for which a sync of the log may have to wait; at one a second these
	// are less than one in a hundred. When the disk fills up there is no time for that.
	shrinkStep  = 64 << 20
	shrinkPause = time.Second
	shrinkHaste = 20 * time.Millisecond
	// deletedSuffix makes the log's folder the one that takes files on their way out. It stands beside the log's, where
	// old Java versions do not accept a folder.
	deletedSuffix = ".deleted"
)

// cleaner deletes the oldest files of the log: expired ones when the schedule says so or the disk fills up, others when
// it is nearly full. One goroutine does it, slowly.
type cleaner struct {
	s      *Store
	wake   chan struct{}
	armed  atomic.Bool // deletes expired files until there are none
	limits *limits     // that next was made from
	next   time.Time   // of the schedule
}

func (c *cleaner) init(s *Store) {
	c.s, c.wake, c.limits = s, make(chan struct{}, 1), s.limits.Load()
	c.next = c.limits.schedule.Next(s.o.Clock.Now())
}

func (c *cleaner) kick() {
	select {
	case c.wake <- struct{}{}:
	default:
	}
}

// DeleteExpired runs the commit log cleaner now, without regard to deleteWhen.
func (s *Store) DeleteExpired() error {
	if s.state.closed.Load() {
		return ErrClosed
	}
	s.clean.armed.Store(true)
	s.clean.kick()
	return nil
}

func (c *cleaner) run(ctx context.Context) {
	t := c.s.o.Clock.NewTimer(cleanEvery)
	defer t.Stop()
	c.emptyDeleted(ctx)
	for {
		select {
		case <-ctx.Done():
			return
		case <-c.wake:
		case <-t.C():
			t.Reset(cleanEvery)
		}
		if err := c.round(ctx); err != nil {
			c.s.o.Log.Limited(c.s.o.Clock, "clean", logEvery).Errorf("delete commit log files: %v", err)
		}
	}
}

// round deletes what may go now.
func (c *cleaner) round(ctx context.Context) error {
	now, l := c.s.o.Clock.Now(), c.s.limits.Load()
	if !now.Before(c.next) {
		c.next = l.schedule.Next(now)
		c.armed.Store(true)
	}
	if l != c.limits {
		c.limits, c.next = l, l.schedule.Next(now)
	}
	n := 0
	var err error
	for n < cleanBatch && ctx.Err() == nil && err == nil {
		var deleted bool
		if deleted, err = c.one(ctx); !deleted {
			break
		}
		n++
		c.s.pause(ctx, cleanPause)
	}
	if n > 0 {
		err = errors.Join(err, c.follow())
	}
	if n == cleanBatch {
		c.kick()
	}
	return err
}

// one deletes the oldest file if it may go.
func (c *cleaner) one(ctx context.Context) (bool, error) {
	s := c.s
	f := s.log.oldest()
	if f == nil {
		c.armed.Store(false)
		return false, nil
	}
	if f.End() > s.dispatch.pos.Load() || f.End() > s.flush.flushed.Load() {
		return false, nil // soon
	}
	info, err := f.Stat()
	if err != nil {
		return false, err
	}
	u, err := s.fs.Usage(s.log.dir)
	if err != nil {
		return false, err
	}
	expired := !s.o.Clock.Now().Before(info.ModTime.Add(c.limits.FileReservedTime))
	switch {
	case expired && (c.armed.Load() || u.UsedRatio >= c.limits.DiskMaxUsedRatio):
	case u.UsedRatio >= c.limits.DiskForcibleRatio && !c.limits.KeepUnexpired:
		s.o.Log.Warnf("the disk is full to %.1f %%: deleting %s before its time", 100*u.UsedRatio, f.Path())
	default:
		if !expired {
			c.armed.Store(false)
		}
		return false, nil
	}
	if err := c.delete(ctx, f); err != nil {
		return false, err
	}
	s.o.Log.Infof("deleted commit log file %s", f.Path())
	s.checkDisk()
	return true, nil
}

// oldest is the first file, nil when it is also the one that the next record goes to.
func (l *commitLog) oldest() *mappedfile.File {
	files := l.list()
	if len(files) < 2 || files[0].End() > l.end.Load() {
		return nil
	}
	return files[0]
}

// dropOldest takes the first file out of the list.
func (l *commitLog) dropOldest() {
	l.making.Lock()
	defer l.making.Unlock()
	l.setList(append([]*mappedfile.File(nil), l.list()[1:]...))
}

func (l *commitLog) deletedDir() string { return filepath.Clean(l.dir) + deletedSuffix }

// delete moves f out of the log's folder, and gives its space back step by step. Where that is another disk, the file
// goes at once.
func (c *cleaner) delete(ctx context.Context, f *mappedfile.File) error {
	l := &c.s.log
	if err := c.s.fs.MkdirAll(l.deletedDir()); err != nil {
		return err
	}
	l.dropOldest()
	moved, err := f.MoveTo(l.deletedDir())
	if err != nil {
		if err := f.Remove(); err != nil {
			return err
		}
		if err = c.s.fs.SyncDir(l.dir); err == nil {
			l.gone.Store(f.End())
		}
		return err
	}
	f.Close()
	if err := c.s.fs.SyncDir(l.dir); err != nil {
		return err
	}
	l.gone.Store(f.End())
	return c.shrink(ctx, moved)
}

// shrink cuts a file down in steps and removes it.
func (c *cleaner) shrink(ctx context.Context, name string) error {
	f, err := c.s.fs.OpenFile(name, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	info, err := f.Stat()
	for size := info.Size - shrinkStep; err == nil && size > 0 && ctx.Err() == nil; size -= shrinkStep {
		err = f.Truncate(size)
		c.s.pause(ctx, c.shrinkPause())
	}
	if err = errors.Join(err, f.Close()); ctx.Err() != nil {
		return err // the next start goes on
	}
	return errors.Join(err, c.s.fs.Remove(name))
}

func (c *cleaner) shrinkPause() time.Duration {
	if u, err := c.s.fs.Usage(c.s.log.dir); err != nil || u.UsedRatio >= c.s.limits.Load().DiskMaxUsedRatio {
		return shrinkHaste
	}
	return shrinkPause
}

// emptyDeleted finishes what an earlier process left.
func (c *cleaner) emptyDeleted(ctx context.Context) {
	dir := c.s.log.deletedDir()
	list, err := c.s.fs.List(dir)
	for _, i := range list {
		err = errors.Join(err, c.shrink(ctx, filepath.Join(dir, i.Name)))
	}
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		c.s.o.Log.Warnf("remove deleted commit log files: %v", err)
	}
}

// follow cuts queues and index to what the log still has.
func (c *cleaner) follow() error {
	s := c.s
	start := s.log.start()
	var err error
	s.dispatch.do(func() {
		err = errors.Join(s.cq.DeleteBefore(start), s.bq.DeleteBefore(start))
		if s.index != nil {
			err = errors.Join(err, s.index.DeleteBefore(start))
		}
	})
	return err
}
