package store

import (
	"context"
	"time"
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
	puts := s.putTimes.Load()
	if err := s.flushQueues(sync); err == nil {
		s.room.flushed.Store(puts)
	} else {
		s.o.Log.Limited(s.o.Clock, "flush queues", logEvery).Errorf("flush consume queues and index: %v", err)
	}
	if j.ticks%sweepEvery == 0 && s.log.pool != nil {
		s.log.pool.Sweep()
	}
}
