package store

import (
	"context"
	"errors"
	"time"

	"github.com/seedmq/seedmq/store/consumequeue"
)

const (
	janitorEvery = time.Second
	// syncQueuesEvery is how often consume queues and index are synced and the checkpoint moves: what a start after a
	// crash has to dispatch again.
	syncQueuesEvery = 10      // ticks
	syncQueuesBytes = 1 << 30 // of the log: then at the next tick
	sweepEvery      = 15      // ticks
	// flushShare keeps writing to very many queues from taking the machine: after a flush, this many times as long as it
	// took passes before the next.
	flushShare = 9
	// manyQueues is the number of queues in use from which they are written only to be synced: a write costs the same for
	// the few units that each has got since the last.
	manyQueues = 2000
)

// janitor does what must be done from time to time, in one goroutine: it writes and syncs queues, index and checkpoint,
// answers those who waited too long for a sync, watches the disk, retries what failed, and unmaps what is not used.
type janitor struct {
	s         *Store
	ticks     int
	synced    int64     // log position up to which queues were synced
	syncDue   bool      // they are to be synced with the next flush
	notBefore time.Time // of the next flush
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
	j.flush()
	if j.ticks%sweepEvery == 0 && s.log.pool != nil {
		s.log.pool.Sweep()
	}
}

// flush writes queues and index, and syncs them when that is due, unless the last time was too long and too recent.
func (j *janitor) flush() {
	s := j.s
	pos := s.dispatch.pos.Load()
	if j.ticks%syncQueuesEvery == 0 || pos-j.synced >= syncQueuesBytes {
		j.syncDue = true
	}
	began := s.o.Clock.Now()
	if began.Before(j.notBefore) || !j.syncDue && s.cq.InUse() > manyQueues {
		return
	}
	puts := s.putTimes.Load()
	if err := s.flushQueues(j.syncDue); err == nil {
		s.room.flushed.Store(puts)
	} else if !errors.Is(err, consumequeue.ErrInterrupted) { // close says so
		s.o.Log.Limited(s.o.Clock, "flush queues", logEvery).Errorf("flush consume queues and index: %v", err)
	}
	if j.syncDue {
		j.synced, j.syncDue = pos, false
	}
	now := s.o.Clock.Now()
	j.notBefore = now.Add(flushShare * now.Sub(began))
}
