package store

import (
	"strings"
	"sync"
	"sync/atomic"

	"github.com/seedmq/seedmq/remoting/protocol"
	"github.com/seedmq/seedmq/store/consumequeue"
)

// queue is what the store keeps in memory per queue, whether its consume queue has files yet or not.
type queue struct {
	topic string
	id    int32
	// keyHash is Java's hash of topic + "#", with which the hashes of index keys begin.
	keyHash int32

	// batch says that the queue is one of package consumequeue's batch queues: a unit stands for all messages of a record.
	batch bool

	// next is the queue offset of the next message; under the log's lock.
	next int64
	// dead says that the queue was deleted: what is still to be dispatched to it is dropped. Set under the log's lock.
	dead atomic.Bool

	// cq is the consume queue, nil until the first message is dispatched; bq the one of a batch queue.
	cq atomic.Pointer[consumequeue.Queue]
	bq atomic.Pointer[consumequeue.BatchQueue]

	// first and last chain the units of one round of the dispatcher, which alone uses them.
	first, last int32
}

type queueKey struct {
	topic string
	id    int32
}

// queueTable finds queues by name. Lookups of existing queues do not allocate.
type queueTable struct {
	// batch says whether a topic's queues are batch queues. It is asked when a queue is made.
	batch  func(topic string) bool
	lights atomic.Int64 // light queues
	mu     struct {
		sync.RWMutex
		m map[queueKey]*queue
	}
}

func newQueueTable(batch func(topic string) bool) *queueTable {
	t := &queueTable{batch: batch}
	t.mu.m = map[queueKey]*queue{}
	return t
}

// find returns the queue or nil.
func (t *queueTable) find(topic string, id int32) *queue {
	t.mu.RLock()
	defer t.mu.RUnlock()
	return t.mu.m[queueKey{topic, id}]
}

// get returns the queue, making it if needed. topic may alias a buffer.
func (t *queueTable) get(topic string, id int32) *queue {
	if q := t.find(topic, id); q != nil {
		return q
	}
	topic = strings.Clone(topic)
	batch := t.batch(topic)
	t.mu.Lock()
	defer t.mu.Unlock()
	if q := t.mu.m[queueKey{topic, id}]; q != nil {
		return q
	}
	q := &queue{topic: topic, id: id, batch: batch, keyHash: hashMore(hashMore(0, topic), "#"), first: -1, last: -1}
	t.mu.m[queueKey{topic, id}] = q
	if protocol.IsLMQ(topic) {
		t.lights.Add(1)
	}
	return q
}

// remove takes q out, so that the next get makes a new one.
func (t *queueTable) remove(q *queue) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.mu.m[queueKey{q.topic, q.id}] == q {
		delete(t.mu.m, queueKey{q.topic, q.id})
		if protocol.IsLMQ(q.topic) {
			t.lights.Add(-1)
		}
	}
}

// all lists the queues that keep accepts, in no order.
func (t *queueTable) all(keep func(*queue) bool) []*queue {
	t.mu.RLock()
	defer t.mu.RUnlock()
	var out []*queue
	for _, q := range t.mu.m {
		if keep(q) {
			out = append(out, q)
		}
	}
	return out
}
