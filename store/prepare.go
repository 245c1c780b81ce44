package store

import (
	"context"
	"errors"
	"syscall"
	"time"

	"github.com/seedmq/seedmq/store/mappedfile"
)

const (
	// prepareMax is how far ahead of the log's end files are allocated and zeroed: four times what was appended since
	// the start, between these two, so that a store that is hardly used stays small.
	prepareMin, prepareMax = 1 << 20, 8 << 20
	// spareAhead is how far before the end of the last file the next one is made.
	spareAhead = 128 << 20
	// syncFillEvery is how much is zeroed between two syncs of the filler's own, under sync flush.
	syncFillEvery = 4 << 20
)

// preparer makes files ahead of need and fills them with zeros, so that an append neither allocates space nor, under
// sync flush, pays for a change of the file's blocks. It begins with the first append of a process: an idle store
// takes no space. Its errors are never fatal: an append that finds nothing prepared does the work itself.
func (s *Store) prepare(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-s.log.prepare:
		}
		if err := s.prepareAhead(ctx); errors.Is(err, syscall.ENOSPC) {
			s.checkDisk()
		} else if err != nil {
			s.o.Log.Limited(s.o.Clock, "prepare", logEvery).Warnf("prepare the commit log ahead: %v", err)
		}
	}
}

// ahead is how far ahead of the log's present end files are prepared.
func (s *Store) ahead() int64 {
	return min(max(4*(s.log.end.Load()-s.log.began), prepareMin), prepareMax, s.log.fileSize)
}

// prepareAhead brings what lies ahead of the log's present end into shape.
func (s *Store) prepareAhead(ctx context.Context) error {
	l := &s.log
	for ctx.Err() == nil {
		end := l.end.Load()
		if s.checkDisk() < s.ahead()+2*s.diskReserve() {
			l.prepareAt.Store(end + prepareMin) // the space is needed for queues and index
			return nil
		}
		files := l.list()
		if len(files) == 0 {
			return nil
		}
		last := files[len(files)-1]
		target := end + s.ahead()
		if filled := last.Start() + last.Filled(); filled < min(target, last.End()) {
			if err := s.fill(ctx, last); err != nil {
				return err
			}
			continue
		}
		if end < last.End()-min(spareAhead, l.fileSize/2) {
			l.prepareAt.Store(min(end+s.ahead()/4, last.End()-min(spareAhead, l.fileSize/2)))
			return nil
		}
		spare, err := l.makeSpare(last.End())
		if err != nil {
			return err
		}
		if spare == nil || spare.Start()+spare.Filled() >= min(target, spare.End()) {
			l.prepareAt.Store(end + s.ahead()/4)
			return nil
		}
		if err := s.fill(ctx, spare); err != nil {
			return err
		}
	}
	return nil
}

// fill zeroes some pieces of f.
func (s *Store) fill(ctx context.Context, f *mappedfile.File) error {
	if !f.Acquire() {
		return nil
	}
	defer f.Release()
	start := s.o.Clock.Now()
	var done int64
	for done < syncFillEvery && ctx.Err() == nil {
		n, err := f.Fill(s.ahead())
		if err != nil {
			return err
		}
		if n == 0 {
			break
		}
		done += int64(n)
		if f.Start()+f.Filled() > s.log.end.Load()+s.ahead() {
			break
		}
	}
	if s.o.SyncFlush {
		if err := f.Sync(); err != nil {
			s.flush.fail(err)
			return err
		}
		s.pause(ctx, time.Duration(done*int64(time.Second)/s.o.FillRate)-s.o.Clock.Now().Sub(start))
	}
	return nil
}

// pause waits for d or the end.
func (s *Store) pause(ctx context.Context, d time.Duration) {
	if d <= 0 {
		return
	}
	t := s.o.Clock.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
	case <-t.C():
	}
}
