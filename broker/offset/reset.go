package offset

import (
	"slices"
	"time"
)

const logEvery = 10 * time.Second

// Reset sets the committed offset by an operator's wish and keeps a note for the consumer: its next pull of the queue gets the
// offset (TakeReset), and until then its commits are ignored. who is for the log.
// A reset of a queue that has one pending replaces it.
func (t *Table) Reset(k Key, off int64, who string) {
	t.mu.Lock()
	s := t.makeSlotLocked(k)
	was, had := s.offset, s.has
	s.offset, s.has = off, true
	s.reset, s.hasReset = off, true
	t.touchLocked()
	t.mu.Unlock()
	if !had {
		was = -1
	}
	t.o.Log.Infof("consumer offset reset: group %s topic %s queue %d from %d to %d by %s", k.Group, k.Topic, k.QueueID, was, off, who)
}

// HasReset says whether a reset waits for the consumer of the queue.
func (t *Table) HasReset(k Key) bool {
	_, pending := t.PendingReset(k)
	return pending
}

// PendingReset is the offset of a reset that waits for the consumer of the queue.
func (t *Table) PendingReset(k Key) (off int64, pending bool) {
	t.mu.RLock()
	defer t.mu.RUnlock()
	s := t.slotLocked(k)
	if s == nil || !s.hasReset {
		return 0, false
	}
	return s.reset, true
}

// TakeReset returns the offset of a pending reset and forgets that it is pending.
func (t *Table) TakeReset(k Key) (int64, bool) {
	if !t.HasReset(k) {
		return 0, false
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	s := t.slotLocked(k)
	if s == nil || !s.hasReset {
		return 0, false
	}
	s.hasReset = false
	t.file.Mark()
	return s.reset, true
}

// Clone gives group dst the committed offsets of group src, for one topic or for all ("").
func (t *Table) Clone(src, dst, topic, who string) {
	t.mu.Lock()
	n := 0
	for name, qs := range t.groups[src] {
		if topic != "" && topic != name {
			continue
		}
		for id, from := range qs {
			if !from.has {
				continue
			}
			to := t.makeSlotLocked(Key{Group: dst, Topic: name, QueueID: id})
			to.offset, to.has = from.offset, true
			t.touchLocked()
			n++
		}
	}
	t.mu.Unlock()
	t.o.Log.Infof("consumer offsets cloned: %d queues from group %s to group %s by %s", n, src, dst, who)
}

// RemoveGroup forgets a group's offsets.
func (t *Table) RemoveGroup(group string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.groups, group)
	t.file.Mark()
}

// RemoveTopic forgets all groups' offsets of a topic.
func (t *Table) RemoveTopic(topic string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for name, topics := range t.groups {
		delete(topics, topic)
		if len(topics) == 0 {
			delete(t.groups, name)
		}
	}
	t.file.Mark()
}

// Groups lists the groups with a committed offset of the topic, sorted; all groups for "".
func (t *Table) Groups(topic string) []string {
	t.mu.RLock()
	defer t.mu.RUnlock()
	var out []string
	for name, topics := range t.groups {
		if topic == "" || len(committed(topics[topic])) > 0 {
			out = append(out, name)
		}
	}
	slices.Sort(out)
	return out
}

// Topics lists the topics of which a group has committed offsets, sorted.
func (t *Table) Topics(group string) []string {
	t.mu.RLock()
	defer t.mu.RUnlock()
	var out []string
	for name, qs := range t.groups[group] {
		if len(committed(qs)) > 0 {
			out = append(out, name)
		}
	}
	slices.Sort(out)
	return out
}

// Queues are the committed offsets of a group in a topic, by queue id. The map is the caller's.
func (t *Table) Queues(group, topic string) map[int32]int64 {
	t.mu.RLock()
	defer t.mu.RUnlock()
	return committed(t.groups[group][topic])
}

// All are the committed offsets by "topic@group", as consumerOffset.json and GET_ALL_CONSUMER_OFFSET have them.
func (t *Table) All() map[string]map[int32]int64 {
	t.mu.RLock()
	defer t.mu.RUnlock()
	return t.allLocked(committed)
}

func (t *Table) allLocked(pick func(queues) map[int32]int64) map[string]map[int32]int64 {
	out := map[string]map[int32]int64{}
	for group, topics := range t.groups {
		for topic, qs := range topics {
			if m := pick(qs); len(m) > 0 {
				out[topic+"@"+group] = m
			}
		}
	}
	return out
}
