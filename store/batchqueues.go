package store

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"sync/atomic"

	"github.com/seedmq/seedmq/remoting/protocol"
	"github.com/seedmq/seedmq/store/consumequeue"
	"github.com/seedmq/seedmq/store/fs"
)

const batchDir = "batchconsumequeue"

// batchTopics says which topics have queue.type=BatchCQ: while the store is opened as config/topics.json has it, for the
// queues must be made again as Java would make them.
type batchTopics struct {
	open  atomic.Bool
	known map[string]bool // topics of the file: whether they have it; nil when there is no file
}

// openBatches opens the batch queues, and reads which topics have some.
func (s *Store) openBatches(crashed bool) (err error) {
	if s.batches.known, err = readBatchTopics(s.fs, s.path("config/topics.json")); err != nil {
		s.o.Log.Warnf("which topics have queue.type=BatchCQ is not known: %v", err)
	}
	s.bq, err = consumequeue.OpenBatch(consumequeue.BatchOptions{FS: s.fs, Dir: s.path(batchDir), BadDir: s.path("bad"),
		FileUnits: s.o.BatchFileUnits, AfterCrash: crashed, Log: s.o.Log, Clock: s.o.Clock})
	return err
}

func readBatchTopics(f fs.FS, name string) (map[string]bool, error) {
	b, err := fs.ReadFile(f, name)
	if errors.Is(err, os.ErrNotExist) {
		b, err = fs.ReadFile(f, name+".bak")
	}
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return parseBatchTopics(b)
}

// parseBatchTopics says for each topic of a topics.json whether it has queue.type=BatchCQ.
func parseBatchTopics(b []byte) (map[string]bool, error) {
	b, err := protocol.NormalizeJSON(b)
	if err != nil {
		return nil, fmt.Errorf("config/topics.json: %w", err)
	}
	var file struct {
		Topics map[string]struct {
			Attributes map[string]any `json:"attributes"`
		} `json:"topicConfigTable"`
	}
	if err := json.Unmarshal(b, &file); err != nil {
		return nil, fmt.Errorf("config/topics.json: %w", err)
	}
	known := make(map[string]bool, len(file.Topics))
	for name, t := range file.Topics {
		known[name] = t.Attributes[protocol.AttributeQueueType] == "BatchCQ"
	}
	return known, nil
}

// isBatchTopic decides about the queues of a topic when the first of them is made. Those on disk decide, and then what the
// topic's attributes say.
func (s *Store) isBatchTopic(topic string) bool {
	switch {
	case s.bq.Len() > 0 && len(s.bq.Queues(topic)) > 0:
		return true
	case len(s.cq.Queues(topic)) > 0:
		return false
	case s.batches.open.Load() && s.o.BatchTopic != nil:
		return s.o.BatchTopic(topic)
	}
	return s.batches.known[topic]
}

func errQueueType(q *queue) error {
	return fmt.Errorf("%w: the queues of %s hold single messages", ErrQueueType, q.topic)
}

// addInner adds a record of several messages to a batch queue.
func (b *Batch) addInner(q *queue, m *Message) error {
	n := m.Inner
	if n > consumequeue.MaxInner {
		return fmt.Errorf("%w: %d messages in a batch, the limit is %d", ErrMessageTooLarge, n, consumequeue.MaxInner)
	}
	props := appendWithout(make([]byte, 0, len(m.Properties)+64), m.Properties, protocol.PropertyInnerNum, protocol.PropertyInnerBase)
	if !queued(m.SysFlag) {
		plain := *m
		plain.Properties = props
		b.add(q, &plain, 1)
		return nil
	}
	props = protocol.AppendProperty(props, protocol.PropertyInnerNum, strconv.Itoa(int(n)))
	if err := b.addWithRoom(q, m, props, protocol.PropertyInnerBase, 1); err != nil {
		return err
	}
	b.entries[len(b.entries)-1].num = uint16(n)
	return nil
}

// innerEntry completes the entry of a stored record that has INNER_NUM or goes to a batch queue. As in Java it counts for one
// message at its own offset there, unless it has both properties; in other queues they mean nothing.
func (s *Store) innerEntry(q *queue, in inner, e *dispatchEntry) *queue {
	num, base, ok := in.parse()
	if _, known := s.batches.known[q.topic]; ok && !q.batch && !known && !s.batches.open.Load() {
		q = s.queues.turn(q) // the topic is not known: the record says what it is
	}
	if q.batch && ok {
		e.num, e.queueOffset = num, base
	}
	return q
}

// turn makes a batch queue of one that has no messages yet.
func (t *queueTable) turn(q *queue) *queue {
	t.mu.Lock()
	defer t.mu.Unlock()
	if q.cq.Load() == nil && q.next == 0 {
		q.batch = true
	}
	return q
}

// appendBatchUnits is appendUnits for a batch queue.
func (s *Store) appendBatchUnits(q *queue, entries []dispatchEntry, first int32) error {
	if q.dead.Load() {
		return nil
	}
	bq := q.bq.Load()
	if bq == nil {
		var err error
		if bq, err = s.bq.GetOrCreate(q.topic, q.id); err != nil {
			return err
		}
		q.bq.Store(bq)
	}
	for i := first; i >= 0; i = entries[i].next {
		e := &entries[i]
		if err := bq.Append(consumequeue.NewBatchUnit(e.phys, e.size, e.tagsCode, e.storeTime, e.queueOffset, int16(e.num))); err != nil {
			return fmt.Errorf("batch queue %s/%d: %w", q.topic, q.id, err)
		}
	}
	return nil
}

// loadBatches sets the counters of all batch queues to where these end.
func (s *Store) loadBatches() {
	for _, topic := range s.bq.Topics() {
		for _, bq := range s.bq.Queues(topic) {
			q := s.queues.get(topic, bq.ID())
			q.bq.Store(bq)
			_, q.next = bq.Range()
		}
	}
}

// correctMin tells all queues where the log begins.
func (s *Store) correctMin(start int64) error {
	return errors.Join(s.cq.CorrectMin(start), s.bq.CorrectMin(start))
}

// endsBatch says that the last record of some batch queue ends at pos, and that it is whole.
func (r *recovery) endsBatch(pos int64) (bool, error) {
	s := r.s
	for _, topic := range s.bq.Topics() {
		for _, bq := range s.bq.Queues(topic) {
			if bq.MaxPhys() != pos {
				continue
			}
			var u [1]consumequeue.BatchUnit
			_, end := bq.Units()
			if n, err := bq.Read(end-1, u[:]); n != 1 || err != nil {
				return false, err
			}
			return r.endsAt(u[0].PhysicalOffset, pos)
		}
	}
	return false, nil
}

// batchBefore says that a batch queue of the topic has records from before a log position.
func (s *Store) batchBefore(topic string, at int64) bool {
	for _, bq := range s.bq.Queues(topic) {
		var u [1]consumequeue.BatchUnit
		from, _ := bq.Units()
		n, _ := bq.Read(from, u[:])
		if n == 1 && u[0].PhysicalOffset < at || bq.MaxPhys() >= 0 && bq.MaxPhys() <= at {
			return true
		}
	}
	return false
}

// cleanBatchTopic is cleanTopic for batch queues.
func (s *Store) cleanBatchTopic(topic string) error {
	var err error
	start := s.log.start()
	for _, bq := range s.bq.Queues(topic) {
		if _, end := bq.Range(); bq.MaxPhys() > start || !s.retireIdle(topic, bq.ID(), end) {
			continue
		}
		s.o.Log.Infof("removing batch queue %s/%d, whose messages are all gone", topic, bq.ID())
		err = errors.Join(err, s.bq.DeleteQueue(topic, bq.ID()))
	}
	return err
}

// allTopics lists the topics that have queues of either kind, sorted.
func (s *Store) allTopics() []string {
	topics := s.cq.Topics()
	if s.bq.Len() > 0 {
		topics = append(topics, s.bq.Topics()...)
		slices.Sort(topics)
		topics = slices.Compact(topics)
	}
	return topics
}

// batchFileUnits is queueUnits for the files of batch queues.
func (s *Store) batchFileUnits() (int, error) {
	configured := int64(s.o.BatchFileUnits) * consumequeue.BatchUnitSize
	size, left := int64(0), sampleQueues
	err := s.eachFile(s.path(batchDir), 2, &left, func(n int64) {
		switch {
		case n == configured || size != 0 && n != size:
			size = configured
		case n > 0 && n%consumequeue.BatchUnitSize == 0 && size == 0:
			size = n
		}
	})
	if size == 0 || size%consumequeue.BatchUnitSize != 0 || size/consumequeue.BatchUnitSize > 1<<31-1 {
		size = configured
	}
	return int(size / consumequeue.BatchUnitSize), err
}

// HasBatchQueues says whether a topic has batch queues on disk.
func (s *Store) HasBatchQueues(topic string) bool { return len(s.bq.Queues(topic)) > 0 }

// IsBatchQueue says whether a queue that has messages is a batch queue.
func (s *Store) IsBatchQueue(topic string, id int32) bool { return s.batchQueue(topic, id) != nil }
