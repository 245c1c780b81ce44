package txn

import (
	"errors"
	"fmt"
	"strings"

	"github.com/seedmq/seedmq/remoting/protocol"
	"github.com/seedmq/seedmq/store"
)

// unitsPerRead is how many queue units are read at a time.
const unitsPerRead = 256

// load reads the state from the topics.
func (s *Service) load() error {
	for _, id := range s.o.Source.Queues(protocol.TopicHalf) {
		lo, hi, ok := s.o.Source.QueueRange(protocol.TopicHalf, id)
		if !ok {
			continue
		}
		head := s.entry(protocol.TopicHalf, id, lo, hi)
		opLo, opHi, _ := s.o.Source.QueueRange(protocol.TopicOpHalf, id)
		q, d := newQueue(id, head, hi, s.entry(protocol.TopicOpHalf, id, opLo, opHi)), s.newDoubts()
		err := s.loadQueue(q, opHi, d)
		if err == nil {
			err = s.reopen(q, d)
		}
		if err != nil {
			return fmt.Errorf("transactions: half queue %d: %w", id, err)
		}
		s.mu.Lock()
		s.mu.queues[id] = q
		s.mu.Unlock()
	}
	return nil
}

// entry is the offset to begin with: the progress, as far as the queue has it.
func (s *Service) entry(topic string, id int32, lo, hi int64) int64 {
	if at, ok := s.o.Progress.Query(topic, id); ok {
		return min(max(at, lo), hi)
	}
	return lo
}

// loadQueue reads the marks, then the records that have none: those that were put back since are ended, too.
func (s *Service) loadQueue(q *queue, opHi int64, d *doubts) error {
	marked := map[int64]bool{} // also what lies before the head: roots
	err := s.eachRecord(protocol.TopicOpHalf, q.id, q.opNext, opHi, func(offset int64, rec []byte) {
		var v protocol.MessageView
		e := opEntry{offset: offset, max: -1}
		if _, err := protocol.DecodeMessage(rec, &v); err == nil {
			if tag, _ := protocol.Property(v.Properties, protocol.PropertyTags); tag == opTag {
				d.look(v.PhysicalOffset, string(v.Body))
				eachMark(string(v.Body), func(n int64) {
					if n < q.tail {
						marked[n] = true
						e.max = max(e.max, n)
					}
				})
			}
		}
		q.noteOp(e)
	})
	if err != nil {
		return err
	}
	for n := range marked {
		q.close(n)
	}
	if err := s.loadOpen(q, marked); err != nil {
		return err
	}
	q.advanceOps()
	return nil
}

// loadOpen reads the records from the head on and closes those that another record of their transaction ended or followed. Ended ones are
// read too: a Java broker marks only the record that it was told of, and its progress may be older than the records before that.
func (s *Service) loadOpen(q *queue, marked map[int64]bool) error {
	if _, open := q.nextOpen(q.head, q.tail); !open {
		return nil
	}
	c := chains{q: q, ended: marked, byKey: map[string]int64{}}
	return s.eachRecord(protocol.TopicHalf, q.id, q.head, q.tail, func(offset int64, rec []byte) {
		if h, err := decodeHalf(rec); err == nil {
			c.add(offset, h)
		}
	})
}

// chains puts the records of one transaction together, in the order that they were stored.
type chains struct {
	q     *queue
	ended map[int64]bool   // roots, and records, that are ended
	byKey map[string]int64 // UNIQ_KEY → root of the newest record
}

// root is the first record of the transaction. A record that a Java broker put back does not name it; it is known by its UNIQ_KEY and its
// checks.
func (c *chains) root(offset int64, h *Half) int64 {
	root := h.Root
	if older, there := c.byKey[h.Props.UniqKey]; there && root == offset && h.Checks > 0 {
		root = older
	}
	c.byKey[strings.Clone(h.Props.UniqKey)] = root
	return root
}

func (c *chains) add(offset int64, h *Half) {
	root := c.root(offset, h)
	t, there := c.q.copies[root]
	if !there {
		t.cur = root
	}
	switch done := c.ended[offset]; {
	case done || c.ended[root]:
		c.ended[root] = true
		c.q.close(t.cur)
		c.q.close(offset)
		delete(c.q.copies, root)
		delete(c.q.copies, t.cur)
	case root != offset:
		c.q.replace(root, t.cur, offset)
		if t.cur != root {
			delete(c.q.copies, t.cur)
		}
		if h.Root == offset { // what is made of this record will name it as the first
			c.q.copies[offset] = trail{offset, append([]int64{root}, c.q.copies[root].past...)}
		}
	}
}

// eachRecord reads the records of a queue in [from, to). What is gone or damaged is passed over.
func (s *Service) eachRecord(topic string, id int32, from, to int64, fn func(offset int64, rec []byte)) error {
	var rec []byte
	for from < to {
		units, err := s.o.Source.QueueUnits(topic, id, from, int(min(to-from, unitsPerRead)))
		if err != nil {
			if errors.Is(err, store.ErrNotFound) {
				return nil
			}
			return err
		}
		for i := range units {
			rec, err = s.o.Source.Record(units[i].PhysicalOffset, rec[:0])
			if err != nil && !errors.Is(err, store.ErrNotFound) && !errors.Is(err, store.ErrCorrupt) {
				return err
			}
			if err == nil {
				fn(from, rec)
			} else {
				s.o.Log.Warnf("transactions: %s queue %d offset %d cannot be read: %v", topic, id, from, err)
				if topic == protocol.TopicOpHalf {
					fn(from, nil)
				}
			}
			from++
		}
	}
	return nil
}
