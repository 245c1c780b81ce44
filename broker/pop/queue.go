package pop

import (
	"slices"
	"sync"

	"github.com/seedmq/seedmq/broker/offset"
)

// queueKey names a queue of a group.
type queueKey struct {
	topic, group string
	id           int32
}

// pointID names a check point within its queue.
type pointID struct{ start, popTime int64 }

// pointState is how far a check point is.
//
//	held ──► storing ──► stored ──► (revived or all acknowledged: gone)
//	  ▲         │
//	  └─────────┘ the store refused
type pointState uint8

const (
	held    pointState = iota // in memory and the journal only
	storing                   // its record is on its way
	stored                    // the store has its record
)

// point is a check point in memory. queue.mu guards it.
type point struct {
	Checkpoint
	reviveQueue int32
	next        int64 // offset of the group behind it
	state       pointState
	tried       bool   // its record may be in the store, though nobody knows
	listed      bool   // in queue.list
	gone        bool   // not in queue.points any more
	dirty       bool   // in queue.acked
	claimed     bool   // its messages are on their way back: acks come too late
	counted     bool   // in queue.open
	written     uint32 // bits that the store has acks of
}

func (p *point) id() pointID { return pointID{p.StartOffset, p.PopTime} }

// finished says that nothing of it is open.
func (p *point) finished() bool { return p.open() == 0 }

// recentPoints is how many finished check points a queue remembers, so that an ack that comes twice is no mistake.
const recentPoints = 64

// queue is one queue of one group.
type queue struct {
	key  queueKey
	mark Mark
	num  uint64 // in the journal

	mu        sync.Mutex
	reading   bool   // somebody takes from it
	contended bool   // and somebody else wanted to
	full      bool   // somebody could not take because too much is open
	known     bool   // next counts
	seen      bool   // the group has a committed offset
	active    bool   // in Service.active
	epoch     uint64 // of what the journal says: see there
	next      int64  // to be taken, when known
	due       int64  // ms: when the first held point must be stored
	used      int64  // ms: when somebody took from it last
	until     int64  // ms: when the time of the last check point is over
	dead      bool   // swept: not in the table any more
	open      int64  // messages that are popped and neither acknowledged nor back, since the last reset
	list      []*point
	points    map[pointID]*point
	acked     []*point // stored ones with bits that the store does not have
	recent    []pointID
	recentAt  int
	order     *orderInfo
}

func (k queueKey) offset() offset.Key {
	return offset.Key{Group: k.group, Topic: k.topic, QueueID: k.id}
}

func (q *queue) offsetKey() offset.Key { return q.key.offset() }

// addLocked keeps p as the queue's newest.
func (q *queue) addLocked(p *point, listed bool) {
	q.points[p.id()] = p
	p.counted = true
	q.open += int64(p.open())
	q.until = max(q.until, p.ReviveTime())
	if listed {
		p.listed = true
		q.list = append(q.list, p)
	}
}

// dropLocked forgets p.
func (q *queue) dropLocked(p *point) {
	if p.gone {
		return
	}
	p.gone = true
	q.uncountLocked(p)
	delete(q.points, p.id())
	if len(q.recent) < recentPoints {
		q.recent = append(q.recent, p.id())
		return
	}
	q.recent[q.recentAt] = p.id()
	q.recentAt = (q.recentAt + 1) % recentPoints
}

// uncountLocked takes what is open of p out of the queue's count.
func (q *queue) uncountLocked(p *point) {
	if p.counted {
		p.counted = false
		q.open -= int64(p.open())
	}
}

// setLocked sets bits of p.
func (q *queue) setLocked(p *point, set uint32) {
	before := p.open()
	p.Bits |= set
	if p.counted {
		q.open -= int64(before - p.open())
	}
}

func (q *queue) wasThereLocked(id pointID) bool { return slices.Contains(q.recent, id) }

// reachLocked notes that everything before next was taken.
func (q *queue) reachLocked(next int64) {
	if !q.known || next > q.next {
		q.next, q.known = max(next, 0), true
	}
}

// advanceLocked takes finished and stored points from the head of the list. It returns the offset that the group has reached.
func (q *queue) advanceLocked() (next int64, moved bool) {
	n := 0
	for _, p := range q.list {
		if !p.gone && p.state != stored {
			break
		}
		p.listed = false
		next, moved = p.next, true
		n++
	}
	if n > 0 {
		clear(q.list[:n])
		q.list = q.list[n:]
	}
	if moved && len(q.list) == 0 && q.known {
		next = q.next // what was skipped, and what a journal has forgotten because it is over, lies before
	}
	return next, moved
}

// ackLocked sets a bit. changed is false when there was nothing to do.
func (q *queue) ackLocked(p *point, i int) (changed bool) {
	bit := uint32(1) << i
	if p.claimed || p.Bits&bit != 0 {
		return false
	}
	q.setLocked(p, bit)
	switch {
	case p.state == held && p.finished() && !p.tried:
		q.dropLocked(p)
	case p.state == stored && !p.dirty:
		p.dirty = true
		q.acked = append(q.acked, p)
	}
	return true
}

// forgetLocked drops everything, as when the topic is deleted or an operator resets the offset. What is stored stays known when keepStored.
func (q *queue) forgetLocked(keepStored bool) {
	q.epoch++
	q.known, q.seen, q.order = false, false, nil
	for _, p := range q.list {
		p.listed = false
		if !keepStored && !p.gone {
			q.dropLocked(p)
		}
	}
	q.list = nil
	for _, p := range q.points {
		q.uncountLocked(p) // as in Java
	}
	if !keepStored {
		for _, p := range q.points {
			q.dropLocked(p)
		}
		q.acked = nil
	}
}

// shard is a part of the table of queues.
type shard struct {
	mu sync.RWMutex
	m  map[queueKey]*queue
}

const shards = 64

// table finds queues without a lock that all of them share.
type table [shards]shard

func (t *table) shard(k queueKey) *shard {
	h := uint32(2166136261)
	for i := range len(k.group) {
		h = (h ^ uint32(k.group[i])) * 16777619
	}
	for i := range len(k.topic) {
		h = (h ^ uint32(k.topic[i])) * 16777619
	}
	h = (h ^ uint32(k.id)) * 16777619
	return &t[(h>>16^h)%shards]
}

// get returns a queue, nil when nobody has popped from it.
func (t *table) get(k queueKey) *queue {
	s := t.shard(k)
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.m[k]
}

// put adds q unless there is one; it returns the one that counts.
func (t *table) put(q *queue) *queue {
	s := t.shard(q.key)
	s.mu.Lock()
	defer s.mu.Unlock()
	if old := s.m[q.key]; old != nil {
		return old
	}
	if s.m == nil {
		s.m = map[queueKey]*queue{}
	}
	s.m[q.key] = q
	return q
}

// remove takes q out.
func (t *table) remove(q *queue) {
	s := t.shard(q.key)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.m[q.key] == q {
		delete(s.m, q.key)
	}
}

// all lists the queues that match; nil is all.
func (t *table) all(match func(queueKey) bool) []*queue {
	var out []*queue
	for i := range t {
		s := &t[i]
		s.mu.RLock()
		for k, q := range s.m {
			if match == nil || match(k) {
				out = append(out, q)
			}
		}
		s.mu.RUnlock()
	}
	return out
}
