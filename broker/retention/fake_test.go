package retention

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/seedmq/seedmq/store"
)

// fakeMessage is a message of fakeStore.
type fakeMessage struct {
	unit store.QueueUnit
	ms   int64
}

// fakeQueue is a queue: first is its first offset that can be read.
type fakeQueue struct {
	first int64
	all   []fakeMessage
}

// base is the offset of the first message of the record that has the one at offset.
func (q *fakeQueue) base(offset int64) int64 {
	for offset > 0 && offset < int64(len(q.all)) && q.all[offset].unit == q.all[offset-1].unit {
		offset--
	}
	return offset
}

// fakeStore is a store in memory, with queues by "topic/id".
type fakeStore struct {
	queues map[string]*fakeQueue
	end    int64 // of the log
	reads  int   // units and store times read
	raises int
	atMost int   // units given at once
	fail   error // of Raise, once
}

func newFakeStore() *fakeStore {
	return &fakeStore{queues: map[string]*fakeQueue{}, atMost: math.MaxInt}
}

func key(topic string, id int32) string { return fmt.Sprint(topic, "/", id) }

func (s *fakeStore) send(topic string, id int32, size int32, ms int64) {
	s.sendBatch(topic, id, size, ms, 1)
}

// sendBatch stores one record of n messages.
func (s *fakeStore) sendBatch(topic string, id int32, size int32, ms int64, n int) {
	q := s.queues[key(topic, id)]
	if q == nil {
		q = &fakeQueue{}
		s.queues[key(topic, id)] = q
	}
	for range n {
		q.all = append(q.all, fakeMessage{store.QueueUnit{PhysicalOffset: s.end, Size: size}, ms})
	}
	s.end += int64(size)
}

// state shows the queues as "topic/id:first-next".
func (s *fakeStore) state() string {
	var b strings.Builder
	for _, k := range slices.Sorted(maps.Keys(s.queues)) {
		fmt.Fprintf(&b, "%s:%d-%d ", k, s.queues[k].first, len(s.queues[k].all))
	}
	return b.String()
}

func (s *fakeStore) Queues(topic string) (ids []int32) {
	for _, k := range slices.Sorted(maps.Keys(s.queues)) {
		var id int32
		if name, rest, _ := strings.Cut(k, "/"); name == topic {
			fmt.Sscan(rest, &id)
			ids = append(ids, id)
		}
	}
	return ids
}

func (s *fakeStore) QueueRange(topic string, id int32) (first, next int64, ok bool) {
	q := s.queues[key(topic, id)]
	if q == nil {
		return 0, 0, false
	}
	return q.first, int64(len(q.all)), true
}

func (s *fakeStore) at(topic string, id int32, offset int64) (*fakeQueue, error) {
	q := s.queues[key(topic, id)]
	if q == nil || offset < q.first || offset >= int64(len(q.all)) {
		return nil, fmt.Errorf("%s/%d at %d: %w", topic, id, offset, store.ErrNotFound)
	}
	return q, nil
}

func (s *fakeStore) QueueUnits(topic string, id int32, offset int64, most int) (out []store.QueueUnit, err error) {
	q, err := s.at(topic, id, offset)
	if err != nil {
		return nil, err
	}
	for n := offset; n < int64(len(q.all)) && len(out) < min(most, s.atMost); n++ {
		out = append(out, q.all[n].unit)
	}
	s.reads += len(out)
	return out, nil
}

func (s *fakeStore) StoreTime(topic string, id int32, offset int64) (int64, error) {
	q, err := s.at(topic, id, offset)
	if err != nil {
		return 0, err
	}
	s.reads++
	return q.all[offset].ms, nil
}

func (s *fakeStore) OffsetByTime(topic string, id int32, ms int64, _ store.Boundary) (int64, error) {
	q := s.queues[key(topic, id)]
	if q == nil {
		return 0, store.ErrNotFound
	}
	at := q.first
	for at < int64(len(q.all)) && q.all[at].ms < ms {
		at++
	}
	return at, nil
}

func (s *fakeStore) Raise(mins []store.QueueMin) (hidden []int64, err error) {
	if err, s.fail = s.fail, nil; err != nil {
		return nil, err
	}
	s.raises++
	for _, m := range mins {
		q := s.queues[key(m.Topic, m.QueueID)]
		if q == nil {
			return nil, store.ErrNotFound
		}
		to := q.base(min(m.Offset, int64(len(q.all))))
		hidden = append(hidden, max(0, to-q.first))
		q.first = max(q.first, to)
	}
	return hidden, nil
}

var errDisk = errors.New("the disk is broken")
