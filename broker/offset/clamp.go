package offset

// Clamp lowers offsets that lie behind the end of their queue, as after the loss of the log's last messages: the consumer
// would skip as many new ones. end is the next offset of a queue. Call it after Load, before use. It returns how many.
func (t *Table) Clamp(end func(topic string, queueID int32) int64) (lowered int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, topics := range t.groups {
		for topic, qs := range topics {
			for id, s := range qs {
				lowered += s.clamp(end(topic, id))
			}
		}
	}
	if lowered > 0 {
		t.touchLocked()
	}
	return lowered
}

// clamp is 1 when the committed offset had to be lowered.
func (s *slot) clamp(end int64) int {
	if s.hasPull {
		s.pulled = min(s.pulled, end)
	}
	if s.hasReset {
		s.reset = min(s.reset, end)
	}
	if !s.has || s.offset <= end {
		return 0
	}
	s.offset = end
	return 1
}
