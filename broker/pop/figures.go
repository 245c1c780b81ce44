package pop

import (
	"time"

	"github.com/seedmq/seedmq/conf/clock"
)

// Figures are counts for the runtime information and tests.
type Figures struct {
	Queues   int   // queues of groups that have a state in memory
	Held     int64 // check points that are not stored
	Points   int   // all that are known
	Waiting  int   // check points that the committed offset has not passed
	InFlight int64 // messages that are popped and neither acknowledged nor back, those of ordered groups not counted

	ReviveRecords int64         // in the revive topic that are not done
	ReviveLate    time.Duration // by how much the oldest check point among them is
}

// Figures counts.
func (s *Service) Figures() Figures {
	f := Figures{Held: s.held.Load()}
	for _, q := range s.table.all(nil) {
		q.mu.Lock()
		f.Queues++
		f.Points += len(q.points)
		f.Waiting += len(q.list)
		f.InFlight += q.open
		q.mu.Unlock()
	}
	now := clock.Millis(s.o.Clock)
	for _, r := range s.revivers {
		_, end, _ := s.o.Source.QueueRange(s.o.ReviveTopic, r.id)
		f.ReviveRecords += max(0, end-1-r.done.Load())
		if due := r.due.Load(); due > 0 {
			f.ReviveLate = max(f.ReviveLate, time.Duration(now-due)*time.Millisecond)
		}
	}
	return f
}
