package txn

import "github.com/seedmq/seedmq/remoting/protocol"

// snapshot is progress that may be published once the log is on disk up to end. Otherwise a power cut after an asynchronous append
// could leave progress beyond a half message whose put back record is lost.
type snapshot struct {
	end    int64
	queues []progress
}

type progress struct {
	id       int32
	head, op int64
}

// Publish hands the progress that is safe to Options.Progress. Call it before the offsets are saved.
func (s *Service) Publish() { s.publish(false) }

func (s *Service) publish(all bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := &snapshot{end: s.mu.end}
	for _, q := range s.mu.queues {
		now.queues = append(now.queues, progress{q.id, q.head, q.opNext})
	}
	flushed := now.end
	if !all && s.o.Flushed != nil {
		flushed = s.o.Flushed()
	}
	best := s.mu.held
	if now.end <= flushed {
		best, s.mu.held = now, nil
	} else if best == nil || best.end <= flushed {
		s.mu.held = now
	}
	if best == nil || best.end > flushed {
		return
	}
	for _, p := range best.queues {
		s.o.Progress.Commit(protocol.TopicHalf, p.id, p.head)
		s.o.Progress.Commit(protocol.TopicOpHalf, p.id, p.op)
		q := s.mu.queues[p.id]
		q.published, q.publishing = q.publishing, p.head
	}
}
