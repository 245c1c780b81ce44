package store

import (
	"context"
	"fmt"
	"time"

	"github.com/seedmq/seedmq/store/fs"
)

const (
	janitorEvery = time.Second
	// syncQueuesEvery is how often consume queues and index are synced and the checkpoint moves: what a start after a
	// crash has to dispatch again.
	syncQueuesEvery = 10      // ticks
	syncQueuesBytes = 1 << 30 // of the log: then at the next tick
	sweepEvery      = 15      // ticks
)

// janitor does what must be done from time to time, in one goroutine: it writes and syncs queues, index and checkpoint,
// answers those who waited too long for a sync, watches the disk, retries what failed, and unmaps what is not used.
type janitor struct {
	s      *Store
	ticks  int
	synced int64 // log position up to which queues were synced
}

func (j *janitor) run(ctx context.Context) {
	t := j.s.o.Clock.NewTimer(janitorEvery)
	defer t.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-t.C():
			j.tick()
			t.Reset(janitorEvery)
		}
	}
}

func (j *janitor) tick() {
	s := j.s
	j.ticks++
	s.flush.expire(s.o.Clock.Now())
	if s.dispatch.retry() {
		s.dispatch.kick()
	}
	s.checkDisk()
	pos := s.dispatch.pos.Load()
	sync := j.ticks%syncQueuesEvery == 0 || pos-j.synced >= syncQueuesBytes
	if sync {
		j.synced = pos
	}
	if err := s.flushQueues(sync); err != nil {
		s.o.Log.Limited(s.o.Clock, "flush queues", logEvery).Errorf("flush consume queues and index: %v", err)
	}
	if j.ticks%sweepEvery == 0 && s.log.pool != nil {
		s.log.pool.Sweep()
	}
}

// checkDisk stops appends while the disk is too full, and returns how much is free.
func (s *Store) checkDisk() (free int64) {
	u, err := s.diskUsage()
	if err != nil {
		s.o.Log.Limited(s.o.Clock, "disk usage", logEvery).Warnf("read the disk's use: %v", err)
		return 0
	}
	switch {
	case u.UsedRatio >= s.o.DiskWarningRatio:
		s.state.setDiskFull(true, diskFullReason(u.UsedRatio, s.o.DiskWarningRatio))
		s.clean.kick()
	case u.Free < diskReserve(s.o.CommitLogFileSize):
		s.state.setDiskFull(true, fmt.Sprintf("only %d bytes are free", u.Free))
		s.clean.kick()
	default:
		s.state.setDiskFull(false, "")
	}
	return u.Free
}

// diskUsage is the state of the fuller one of the log's and the queues' disks.
func (s *Store) diskUsage() (fs.Usage, error) {
	u, err := s.fs.Usage(s.log.dir)
	if err != nil {
		return u, err
	}
	root, err := s.fs.Usage(s.o.Root)
	u.UsedRatio, u.Free = max(u.UsedRatio, root.UsedRatio), min(u.Free, root.Free)
	return u, err
}
