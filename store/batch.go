package store

import (
	"fmt"

	"github.com/seedmq/seedmq/remoting/protocol"
)

// keepBuffer is how much of a batch's buffer outlives Reset: that of the largest usual burst, with room for growing.
const keepBuffer = 4 << 20

// Batch collects messages to be appended together. It is reused after Reset and belongs to one goroutine.
// Messages are encoded as they are added, outside of any lock, into one buffer that Append writes as it is.
type Batch struct {
	s       *Store
	buf     []byte
	entries []entry
	hashes  []int32 // of index keys
	chunks  []chunk // of the last Append
	last    *queue  // of the last Add: most batches go to one queue
	late    lates   // of records whose properties have numbers that only Append knows
	end     int64
}

// entry is one message of a batch.
type entry struct {
	q           *queue
	off         int // in the buffer
	size        int32
	group       int32  // how many records from this one on must stay together; 0 within a group
	num         uint16 // how many queue offsets it takes: 1; none if it is not queued; more in a batch queue
	storeTime   uint8  // offset of the store time in the record
	delayed     bool   // tagsCode is a delay in ms
	hashes      int32  // how many of the batch's hashes are this message's
	tagsCode    int64
	queueOffset int64
	phys        int64
	storedAt    int64
}

// NewBatch returns an empty batch for s.
func (s *Store) NewBatch() *Batch { return &Batch{s: s} }

// Reset empties the batch.
func (b *Batch) Reset() {
	if cap(b.buf) > keepBuffer {
		b.buf = nil
	}
	b.buf, b.entries, b.hashes, b.last, b.end = b.buf[:0], b.entries[:0], b.hashes[:0], nil, 0
	b.late.reset()
}

// Len is the number of messages added.
func (b *Batch) Len() int { return len(b.entries) }

// Add encodes m. On an error (ErrMessageTooLarge) nothing was added.
func (b *Batch) Add(m *Message) error {
	if err := b.s.checkMessage(m); err != nil {
		return err
	}
	q := b.queueOf(m)
	if m.Inner > 0 || b.s.o.Light {
		if done, err := b.addLate(q, m); done {
			return err
		}
	}
	b.add(q, m, 1)
	return nil
}

// AddGroup encodes ms so that they get consecutive queue offsets in one commit log file: all or none.
// All must have the same topic and queue.
func (b *Batch) AddGroup(ms []Message) error {
	total := int64(0)
	for i := range ms {
		m := &ms[i]
		if err := b.s.checkMessage(m); err != nil {
			return err
		}
		if m.Topic != ms[0].Topic || m.QueueID != ms[0].QueueID {
			return fmt.Errorf("store: a group for %s queue %d has a message for %s queue %d", ms[0].Topic, ms[0].QueueID, m.Topic, m.QueueID)
		}
		total += int64(91 + len(m.Body) + len(m.Topic) + len(m.Properties) + 2*longHost + 1)
	}
	if total+blankSize > b.s.o.CommitLogFileSize {
		return fmt.Errorf("%w: group of %d bytes, a commit log file has %d", ErrMessageTooLarge, total, b.s.o.CommitLogFileSize)
	}
	for i := range ms {
		group := 0
		if i == 0 {
			group = len(ms)
		}
		b.add(b.queueOf(&ms[i]), &ms[i], group)
	}
	return nil
}

// queueOf finds m's queue.
func (b *Batch) queueOf(m *Message) *queue {
	if q := b.last; q != nil && q.id == m.QueueID && q.topic == m.Topic {
		return q
	}
	b.last = b.s.queues.get(m.Topic, m.QueueID)
	return b.last
}

func (b *Batch) add(q *queue, m *Message, group int) {
	host := m.StoreHost
	if !host.IsValid() {
		host = b.s.o.StoreHost
	}
	e := entry{q: q, off: len(b.buf), group: int32(group)}
	if queued(m.SysFlag) {
		e.num = 1
	}
	if b.buf == nil {
		b.buf = make([]byte, 0, 64<<10)
	}
	var enc encodedRecord
	b.buf, enc = appendRecord(b.buf, m, host)
	e.size, e.storeTime = int32(enc.size), uint8(enc.storeTime)
	switch {
	case m.DelayMs > 0 || m.DelayLevel > 0:
		e.delayed, e.tagsCode = true, m.DelayMs
	case m.Tags != "":
		e.tagsCode = protocol.TagsCode(m.Tags)
	}
	if b.s.o.IndexEnabled && indexed(m.SysFlag) {
		n := len(b.hashes)
		b.hashes = appendKeyHashes(b.hashes, q, m.UniqKey, m.Keys, m.Tags)
		e.hashes = int32(len(b.hashes) - n)
	}
	b.entries = append(b.entries, e)
}

// checkMessage checks the limits. The error names the one that m breaks.
func (s *Store) checkMessage(m *Message) error {
	switch maxBody := s.limits.Load().MaxMessageSize; {
	case len(m.Body) > maxBody:
		return fmt.Errorf("%w: body of %d bytes, maxMessageSize is %d", ErrMessageTooLarge, len(m.Body), maxBody)
	case len(m.Properties) > maxProperties:
		return fmt.Errorf("%w: properties of %d bytes, the limit is %d", ErrMessageTooLarge, len(m.Properties), maxProperties)
	case len(m.Topic) > maxTopic:
		return fmt.Errorf("%w: topic of %d bytes, the limit is %d", ErrMessageTooLarge, len(m.Topic), maxTopic)
	case len(m.Topic) == 0:
		return fmt.Errorf("store: message without a topic")
	case m.QueueID < 0:
		return fmt.Errorf("store: queue id %d", m.QueueID)
	}
	if n, limit := int64(recordSize(m, 0)+2*longHost), s.o.CommitLogFileSize-blankSize; n > limit {
		return fmt.Errorf("%w: record of %d bytes, a commit log file has room for %d", ErrMessageTooLarge, n, limit)
	}
	return nil
}

// Result is where message i went, in the order added, after a successful Append.
func (b *Batch) Result(i int) AppendResult {
	e := &b.entries[i]
	return AppendResult{QueueOffset: e.queueOffset, PhysicalOffset: e.phys, Size: e.size, StoreTimestamp: e.storedAt}
}

// End is the log position after the batch's last record, after a successful Append.
func (b *Batch) End() int64 { return b.end }
