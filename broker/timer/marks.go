package timer

import (
	"strings"
	"sync"
	"sync/atomic"
)

// mark says which message is deleted: one of a topic, by a TIMER_DEL_UNIQKEY.
type mark struct{ topic, key string }

// marks are the deletions of slots that are loaded or about to be. Safe for concurrent use.
type marks struct {
	n  atomic.Int64 // slots
	mu struct {
		sync.Mutex
		slots map[int64]map[mark]struct{}
	}
}

func (m *marks) init() { m.mu.slots = map[int64]map[mark]struct{}{} }

// add notes that key deletes a message of slot.
func (m *marks) add(slot int64, topic, key string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	keys := m.mu.slots[slot]
	if keys == nil {
		keys = map[mark]struct{}{}
		m.mu.slots[slot] = keys
	}
	keys[mark{strings.Clone(topic), strings.Clone(key)}] = struct{}{}
	m.n.Store(int64(len(m.mu.slots)))
}

// match says whether a message of slot is deleted: by its key, or by topic and key (see DeleteKey), and only from its own topic.
func (m *marks) match(slot int64, p *parcel) bool {
	if m.n.Load() == 0 || p.props.UniqKey == "" {
		return false
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	keys := m.mu.slots[slot]
	if len(keys) == 0 {
		return false
	}
	topic := p.props.RealTopic
	for _, long := range []bool{false, true} {
		if _, ok := keys[mark{topic, DeleteKey(topic, p.props.UniqKey, long)}]; ok {
			return true
		}
	}
	return false
}

// drop forgets the slots before a tick.
func (m *marks) drop(before int64) {
	if m.n.Load() == 0 {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	for slot := range m.mu.slots {
		if slot < before {
			delete(m.mu.slots, slot)
		}
	}
	m.n.Store(int64(len(m.mu.slots)))
}

// soon is how far ahead of now the loader may be, and the queue behind, in ms. A deletion for later is found in its slot.
const soon = 60_000

// Recalled says that a record which deletes a message of the tick that ms is in is stored: from now on that message is not delivered.
func (s *Service) Recalled(ms int64, realTopic, deleteKey string) {
	if slot := Out(ms, s.tick); slot < s.o.Clock.Now().UnixMilli()+soon {
		s.marks.add(slot, realTopic, deleteKey)
	}
}
