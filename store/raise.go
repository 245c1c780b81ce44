package store

import (
	"errors"
	"maps"
	"slices"
	"sync"

	"github.com/seedmq/seedmq/store/configfile"
)

// raisedFile remembers below which log position the messages of a queue are hidden (Store.Raise). Positions, not offsets: what was
// hidden stays so when queues are made again from the log; a topic that is deleted and made again begins behind the position; and when the
// log has no record below it any more, the entry is of no use and goes.
const raisedFile = "queueRetention.json"

// raisedMins is the table. Lock order: busy, then mu.
type raisedMins struct {
	s    *Store
	file *configfile.Writer
	busy sync.Mutex // one Raise at a time

	mu struct {
		sync.Mutex
		at map[queueKey]int64
	}
}

// raisedBody is the file. Java has none like it.
type raisedBody struct {
	// HiddenBelow says for each topic and queue id below which log position its messages are hidden.
	HiddenBelow map[string]map[int32]int64 `json:"hiddenBelow"`
}

func (r *raisedMins) init(s *Store) {
	r.s, r.mu.at = s, map[queueKey]int64{}
	r.file = configfile.NewWriter(s.fs, s.path("config/"+raisedFile), r.body)
}

// body is the table as it goes to disk, without what the log has lost.
func (r *raisedMins) body() any {
	start := r.s.log.gone.Load()
	out := map[string]map[int32]int64{}
	r.mu.Lock()
	defer r.mu.Unlock()
	for k, at := range r.mu.at {
		if at <= start {
			delete(r.mu.at, k)
			continue
		}
		if out[k.topic] == nil {
			out[k.topic] = map[int32]int64{}
		}
		out[k.topic][k.id] = at
	}
	return &raisedBody{HiddenBelow: out}
}

// restore reads the table and raises the queues, before anything is appended. Where the log has lost its last records, it goes on at
// end: messages that come there now are not those that were hidden, so a position behind it is moved there, on the disk first.
func (r *raisedMins) restore(end int64) error {
	var body raisedBody
	if _, err := r.file.Load(&body); errors.Is(err, configfile.ErrCorrupt) {
		r.s.o.Log.Errorf("messages that were purged, or that a topic's retention has hidden, can be read again: %v", err)
		return nil
	} else if err != nil {
		return err
	}
	start, cut := r.s.log.start(), false
	for topic, queues := range body.HiddenBelow {
		for id, at := range queues {
			if at > start {
				r.mu.at[queueKey{topic, id}] = min(at, end)
				cut = cut || at > end
			}
		}
	}
	if cut {
		if err := r.file.Save(); err != nil {
			return err
		}
	}
	return r.raise(slices.Collect(maps.Keys(r.mu.at)), r.mu.at)
}

// raise moves the first offsets of queues. Nothing may be dispatched meanwhile.
func (r *raisedMins) raise(keys []queueKey, to map[queueKey]int64) error {
	var err error
	for _, k := range keys {
		if cq := r.s.consumeQueue(k.topic, k.id); cq != nil {
			err = errors.Join(err, cq.RaiseMin(to[k]))
		} else if bq := r.s.batchQueue(k.topic, k.id); bq != nil {
			err = errors.Join(err, bq.RaiseMin(to[k]))
		}
	}
	return err
}

// remember puts positions into the table and on the disk. On an error the table is what it was.
func (r *raisedMins) remember(to map[queueKey]int64) error {
	r.mu.Lock()
	was := maps.Clone(r.mu.at)
	for k, at := range to {
		r.mu.at[k] = max(r.mu.at[k], at)
	}
	r.mu.Unlock()
	if err := r.file.Save(); err != nil {
		r.mu.Lock()
		r.mu.at = was
		r.mu.Unlock()
		return err
	}
	return nil
}

// QueueMin is a queue and what its first offset is to be.
type QueueMin struct {
	Topic   string
	QueueID int32
	Offset  int64 // what lies behind the queue's end is its end
}

// Raise hides the messages of queues below the given offsets: a Get there is answered as one below what the log still has. It returns how many
// it hid, of each queue. When it returns without an error, that is on the disk, for all queues or none; a crash and queues made again from
// the log do not bring the messages back. Offsets are not used again. No other queue is touched, and nothing is removed: records can still be
// read by their position and found by key until their log file expires.
//
// One that would lower a first offset does nothing; ErrNotFound if there is no such queue. It costs one write of a small file.
func (s *Store) Raise(mins []QueueMin) (hidden []int64, err error) {
	r := &s.raised
	r.busy.Lock()
	defer r.busy.Unlock()
	if s.state.closed.Load() || !s.dispatch.reach(s.confirm.get()) {
		return nil, ErrClosed
	}
	hidden, to := make([]int64, len(mins)), map[queueKey]int64{}
	for i, m := range mins {
		at, n, err := s.hiddenBelow(&m)
		if err != nil {
			return nil, err
		}
		if hidden[i] = n; n > 0 {
			k := queueKey{m.Topic, m.QueueID}
			to[k] = max(to[k], at)
		}
	}
	if len(to) == 0 {
		return hidden, nil
	}
	if err := r.remember(to); err != nil {
		return nil, err
	}
	for keys := range slices.Chunk(slices.Collect(maps.Keys(to)), raiseAtOnce) {
		if !s.dispatch.do(func() { err = errors.Join(err, r.raise(keys, to)) }) {
			return nil, ErrClosed
		}
	}
	if err != nil {
		return nil, err
	}
	return hidden, nil
}

// raiseAtOnce is how many queues are raised while the dispatcher waits: each may read its file.
const raiseAtOnce = 32

// hiddenBelow is the log position of the message that is to be the first of its queue, and how many messages that hides.
func (s *Store) hiddenBelow(m *QueueMin) (at, n int64, err error) {
	cq := s.consumeQueue(m.Topic, m.QueueID)
	if cq == nil {
		return s.hiddenBatches(m)
	}
	phys := cq.MaxPhys() // before the range, so that what comes meanwhile is not hidden
	first, end := cq.Range()
	if m.Offset <= first || phys < 0 {
		return 0, 0, nil
	}
	if m.Offset < end {
		units, err := s.QueueUnits(m.Topic, m.QueueID, m.Offset, 1)
		if err != nil {
			return 0, 0, err
		}
		return units[0].PhysicalOffset, m.Offset - first, nil
	}
	return phys, end - first, nil
}

// reach waits until what lies below a position that is confirmed is in the queues, so that a message which was acknowledged before a Raise is
// seen by it. False: the dispatcher was stopped. If it has failed, what it did not do is not seen.
func (d *dispatcher) reach(pos int64) bool {
	for d.pos.Load() < pos && !d.isFailed() {
		if !d.do(func() {}) {
			return false
		}
	}
	return true
}
