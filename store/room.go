package store

import (
	"fmt"
	"math"
	"sync/atomic"

	"github.com/seedmq/seedmq/store/consumequeue"
	"github.com/seedmq/seedmq/store/fs"
)

// room keeps the appends away from the end of the disk: they must be refused, with a reason, before the file system refuses
// something that cannot be refused, as a queue, the index or a table.
type room struct {
	end     atomic.Int64 // log position up to which may be appended before the disk is looked at again
	flushed atomic.Int64 // of the store's putTimes, how many have their units in files
}

func diskFullReason(used, limit float64) string {
	return fmt.Sprintf("%.1f %% of the disk is used, the limit is %.0f %%", 100*used, 100*limit)
}

// diskReserve is the free space below which no messages are taken: for tables, a new index file's slots, and the first
// pages of new queue files.
func (s *Store) diskReserve() int64 {
	n := min(s.log.fileSize/16, 16<<20)
	if s.o.IndexEnabled {
		n += 4 * int64(s.o.IndexSlots)
	}
	return n
}

// checkDisk stops appends while the disk is too full, and returns how much is free.
func (s *Store) checkDisk() (free int64) {
	end := s.log.end.Load()
	u, err := s.diskUsage()
	if err != nil {
		s.o.Log.Limited(s.o.Clock, "disk usage", logEvery).Warnf("read the disk's use: %v", err)
		s.room.end.Store(math.MaxInt64)
		return 0
	}
	floor := s.diskReserve()
	if s.state.diskFull.Load() != nil {
		floor *= 2 // go on when it is worth it
	}
	switch limit := s.limits.Load().DiskWarningRatio; {
	case u.UsedRatio >= limit:
		s.state.setDiskFull(true, diskFullReason(u.UsedRatio, limit))
		s.clean.kick()
	case u.Free < floor:
		s.state.setDiskFull(true, fmt.Sprintf("only %d bytes of the disk are free", u.Free))
		s.clean.kick()
	default:
		s.state.setDiskFull(false, "")
	}
	// Half of it is for what the queues and the index will write of the same messages.
	waiting := consumequeue.UnitSize * (s.putTimes.Load() - s.room.flushed.Load())
	s.room.end.Store(end + max(u.Free-s.diskReserve()-waiting, 0)/2)
	return u.Free
}

// checkRoomLocked refuses n bytes for which there is no room. The disk is looked at the more often the fuller it is.
func (s *Store) checkRoomLocked(n int64) error {
	end := s.log.end.Load() + n
	if end <= s.room.end.Load() {
		return nil
	}
	free := s.checkDisk()
	if err := s.state.err(); err != nil {
		return err
	}
	if end > s.room.end.Load() {
		s.clean.kick()
		return fmt.Errorf("%w: only %d bytes of the disk are free", ErrDiskFull, free)
	}
	return nil
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
