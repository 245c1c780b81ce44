package store

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"math"
	"os"
	"strings"
	"sync"

	"github.com/seedmq/seedmq/remoting/protocol"
	"github.com/seedmq/seedmq/store/consumequeue"
	"github.com/seedmq/seedmq/store/fs"
)

// DeleteTopic removes the topic's queues; its records stay in the log until retention removes them.
func (s *Store) DeleteTopic(topic string) error {
	var err error
	ok := s.dispatch.do(func() {
		if err = s.retireTopic(topic); err == nil {
			err = errors.Join(s.cq.DeleteTopic(topic), s.bq.DeleteTopic(topic))
		}
	})
	if !ok {
		return ErrClosed
	}
	return err
}

// retireTopic remembers where the log is now, and takes the topic's queues out of the table, so that what is appended from
// now on goes to new ones. On an error the queues are what they were. It runs between two rounds of the dispatcher.
func (s *Store) retireTopic(topic string) error {
	end, next := s.topicEnd(topic)
	if err := s.dropped.add(topic, end); err != nil {
		return err
	}
	s.log.mu.Lock()
	defer s.log.mu.Unlock()
	if end, again := s.topicEndLocked(topic); again != next {
		// Messages came meanwhile: this time the appends must wait.
		if err := s.dropped.add(topic, end); err != nil {
			return err
		}
	}
	for _, q := range s.queues.all(func(q *queue) bool { return q.topic == topic }) {
		q.dead.Store(true)
		s.queues.remove(q)
	}
	return nil
}

// topicEnd is the log's end, and a number that every message of the topic changes.
func (s *Store) topicEnd(topic string) (end, next int64) {
	s.log.mu.Lock()
	defer s.log.mu.Unlock()
	return s.topicEndLocked(topic)
}

func (s *Store) topicEndLocked(topic string) (end, next int64) {
	for _, q := range s.queues.all(func(q *queue) bool { return q.topic == topic }) {
		next += q.next
	}
	return s.log.end.Load(), next
}

// finishDeletions removes the queues of topics whose deletion was remembered and no more, and returns the log position from
// which on messages of theirs count, the largest int64 if there are none.
func (s *Store) finishDeletions() (from int64, err error) {
	from = math.MaxInt64
	for topic, at := range s.dropped.all() {
		old := false
		for _, cq := range s.cq.Queues(topic) {
			var u [1]consumequeue.Unit
			first, _ := cq.Range()
			n, _ := cq.Read(first, u[:])
			old = old || n == 1 && u[0].PhysicalOffset < at || cq.MaxPhys() >= 0 && cq.MaxPhys() <= at
		}
		if old = old || s.batchBefore(topic, at); old {
			s.o.Log.Warnf("finishing the deletion of topic %s, which was interrupted", topic)
			from, err = min(from, at), errors.Join(err, s.cq.DeleteTopic(topic), s.bq.DeleteTopic(topic))
		}
	}
	return from, err
}

// CleanExpiredQueues removes queues whose messages are all gone; keep protects topics.
func (s *Store) CleanExpiredQueues(keep func(topic string) bool) error {
	var err error
	ok := s.dispatch.do(func() {
		for _, topic := range s.cq.Topics() {
			if !protocol.IsSystemTopic(topic) && !keep(topic) {
				err = errors.Join(err, s.cleanTopic(topic))
			}
		}
		for _, topic := range s.bq.Topics() {
			if !keep(topic) {
				err = errors.Join(err, s.cleanBatchTopic(topic))
			}
		}
	})
	if !ok {
		return ErrClosed
	}
	return err
}

// cleanTopic removes the topic's queues that have no message left.
func (s *Store) cleanTopic(topic string) error {
	var err error
	start := s.log.start()
	for _, cq := range s.cq.Queues(topic) {
		if _, end := cq.Range(); cq.MaxPhys() > start || !s.retireIdle(topic, cq.ID(), end) {
			continue
		}
		s.o.Log.Infof("removing queue %s/%d, whose messages are all gone", topic, cq.ID())
		err = errors.Join(err, s.cq.DeleteQueue(topic, cq.ID()))
	}
	return err
}

// retireIdle retires a queue to which nothing was appended that is not dispatched.
func (s *Store) retireIdle(topic string, id int32, end int64) bool {
	s.log.mu.Lock()
	defer s.log.mu.Unlock()
	q := s.queues.find(topic, id)
	if q == nil {
		return true
	}
	if q.next != end {
		return false
	}
	q.dead.Store(true)
	s.queues.remove(q)
	return true
}

// droppedFile remembers deleted topics until the log has no record of them: without it, a topic that was deleted and
// made again would get its old messages back when queues are made again from the log.
const droppedFile = "deletedTopics"

// droppedTopics says for each deleted topic where the log was at that moment. On disk: lines "position topic".
type droppedTopics struct {
	s  *Store
	mu struct {
		sync.RWMutex
		at map[string]int64
	}
}

// load reads the file; what lies below start is forgotten.
func (d *droppedTopics) load(s *Store, start int64) error {
	d.s = s
	d.mu.at = map[string]int64{}
	b, err := fs.ReadFile(s.fs, s.path(droppedFile))
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	for _, line := range strings.Split(string(b), "\n") {
		var at int64
		var topic string
		if n, _ := fmt.Sscanf(line, "%d %s", &at, &topic); n == 2 && at > start {
			d.mu.at[topic] = at
		}
	}
	return err
}

// before is the position below which records of the topic belong to a deleted one.
func (d *droppedTopics) before(topic string) int64 {
	d.mu.RLock()
	defer d.mu.RUnlock()
	return d.mu.at[topic]
}

// all is a copy.
func (d *droppedTopics) all() map[string]int64 {
	d.mu.RLock()
	defer d.mu.RUnlock()
	return maps.Clone(d.mu.at)
}

// cut is told of the log's end: where it has lost its last records, deletions behind it must not meet those that follow.
func (d *droppedTopics) cut(end int64) error {
	for topic, at := range d.all() {
		if at > end {
			if err := d.add(topic, end); err != nil {
				return err
			}
		}
	}
	return nil
}

func (d *droppedTopics) add(topic string, end int64) (err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	was := d.mu.at[topic]
	defer func() {
		if err != nil {
			d.mu.at[topic] = was
		}
	}()
	d.mu.at[topic] = end
	var b bytes.Buffer
	start := d.s.log.gone.Load()
	for t, at := range d.mu.at {
		if at > start {
			fmt.Fprintf(&b, "%d %s\n", at, t)
		}
	}
	return d.save(b.String())
}

func (d *droppedTopics) save(content string) error {
	name := d.s.path(droppedFile)
	f, err := d.s.fs.Create(name + ".tmp")
	if err != nil {
		return err
	}
	_, err = f.WriteAt([]byte(content), 0)
	if err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return err
	}
	if err := d.s.fs.Rename(name+".tmp", name); err != nil {
		return err
	}
	return d.s.fs.SyncDir(d.s.o.Root)
}
