package pop

import (
	"errors"
	"slices"
	"strings"

	"github.com/seedmq/seedmq/conf/clock"
	"github.com/seedmq/seedmq/store/configfile"
)

// orderLife is how long an entry of consumerOrderInfo.json is kept that nobody touches, as Java's.
const orderLife = 24 * 3600_000

// orderFile is consumerOrderInfo.json.
type orderFile struct {
	Table map[string]map[int32]*orderInfo `json:"table"`
}

// loadOrders reads the file. Damage costs that ordered groups begin at their committed offsets, unblocked.
func (s *Service) loadOrders() error {
	var f orderFile
	if _, err := s.orders.Load(&f); errors.Is(err, configfile.ErrCorrupt) {
		s.o.Log.Errorf("ordered groups begin at their committed offsets: %v", err)
		return nil
	} else if err != nil {
		return err
	}
	for name, queues := range f.Table {
		topic, group, ok := strings.Cut(name, "@")
		if !ok || topic == "" || group == "" {
			continue
		}
		for id, o := range queues {
			if o == nil || !o.valid() || id < 0 {
				continue
			}
			q := newQueue(queueKey{topic, group, id}, s.nums.Add(1))
			q.order = o
			s.table.put(q)
		}
	}
	return nil
}

// orderTable is the file's content of now.
func (s *Service) orderTable() any {
	f := orderFile{Table: map[string]map[int32]*orderInfo{}}
	now := clock.Millis(s.o.Clock)
	for _, q := range s.table.all(nil) {
		q.mu.Lock()
		o := q.order
		if o != nil && now-o.LastConsume > orderLife {
			q.order, o = nil, nil
		}
		if o != nil {
			c := *o
			c.Offsets = slices.Clone(o.Offsets)
			c.NextVisible, c.Consumed = clone(o.NextVisible), clone(o.Consumed)
			o = &c
		}
		q.mu.Unlock()
		if o == nil || !s.o.HasTopic(q.key.topic) || !s.o.HasGroup(q.key.group) {
			continue
		}
		name := q.key.topic + "@" + q.key.group
		if f.Table[name] == nil {
			f.Table[name] = map[int32]*orderInfo{}
		}
		f.Table[name][q.key.id] = o
	}
	return f
}

func clone[V any](m map[int64]V) map[int64]V {
	if m == nil {
		return nil
	}
	out := make(map[int64]V, len(m))
	for k, v := range m {
		out[k] = v
	}
	return out
}
