package store

import (
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/seedmq/seedmq/remoting/protocol"
	"github.com/seedmq/seedmq/store/consumequeue"
)

// QueueRange is the first and the next queue offset; ok is false when there is no such queue.
func (s *Store) QueueRange(topic string, queueID int32) (min, max int64, ok bool) {
	cq := s.consumeQueue(topic, queueID)
	if cq == nil {
		return s.batchRange(topic, queueID)
	}
	min, max = cq.Range()
	return min, max, true
}

// QueueStillInMemory says that the queue starts at 0 and its first message is still recent enough to be read from memory.
func (s *Store) QueueStillInMemory(topic string, queueID int32) bool {
	units, err := s.QueueUnits(topic, queueID, 0, 1)
	if err != nil || len(units) == 0 {
		return false
	}
	return s.log.end.Load()-units[0].PhysicalOffset <= s.farBehind
}

// QueueUnits reads up to max units of a queue from offset on.
func (s *Store) QueueUnits(topic string, queueID int32, offset int64, max int) ([]QueueUnit, error) {
	cq := s.consumeQueue(topic, queueID)
	if cq == nil {
		return s.batchUnits(topic, queueID, offset, max)
	}
	from, to := cq.Range()
	if offset < from || offset >= to || max <= 0 {
		return nil, fmt.Errorf("queue %s/%d has no offset %d: %w", topic, queueID, offset, ErrNotFound)
	}
	units := make([]consumequeue.Unit, min(int64(max), to-offset))
	n, err := cq.Read(offset, units)
	if n == 0 && err != nil {
		return nil, fmt.Errorf("queue %s/%d: %w", topic, queueID, err)
	}
	out := make([]QueueUnit, n)
	for i, u := range units[:n] {
		out[i] = QueueUnit(u)
	}
	return out, nil
}

// StoreTime is the store time in ms of one message of a queue, ErrNotFound when it is not there.
func (s *Store) StoreTime(topic string, queueID int32, offset int64) (int64, error) {
	units, err := s.QueueUnits(topic, queueID, offset, 1)
	if err != nil {
		return 0, err
	}
	return s.storeTimeAt(units[0].PhysicalOffset)
}

// storeTimeAt reads the store time of the record at phys. A filler at a file's end stands for the file behind it.
func (s *Store) storeTimeAt(phys int64) (int64, error) {
	var buf [minRecord]byte
	b, err := s.log.readUpTo(buf[:], phys, false)
	if err != nil {
		return 0, err
	}
	if len(b) < minRecord {
		return 0, fmt.Errorf("position %d: %w", phys, ErrNotFound)
	}
	if _, magic, at := recordHead(b); !isMagic(magic) || at != phys {
		return 0, fmt.Errorf("no record at %d: %w", phys, ErrNotFound)
	}
	return recordStoreTime(b), nil
}

// recordStoreTime reads the store time of a record from its first minRecord bytes.
func recordStoreTime(b []byte) int64 {
	at := posStoreTime
	if int32(binary.BigEndian.Uint32(b[posSysFlag:]))&protocol.SysFlagBornHostV6 != 0 {
		at += longHost
	}
	return int64(binary.BigEndian.Uint64(b[at:]))
}

// Record appends the record at a log position to dst, ErrNotFound when none starts there.
func (s *Store) Record(phys int64, dst []byte) ([]byte, error) {
	if phys < 0 || phys >= s.confirm.get() {
		return dst, fmt.Errorf("position %d: %w", phys, ErrNotFound)
	}
	var head [minRecord]byte
	b, err := s.log.readUpTo(head[:], phys, false)
	if err != nil {
		return dst, err
	}
	if len(b) < minRecord {
		return dst, fmt.Errorf("no record at %d: %w", phys, ErrNotFound)
	}
	size, magic, at := recordHead(b)
	f := s.log.fileOf(phys)
	if !isMagic(magic) || at != phys || size < minRecord || f == nil || int64(size) > f.End()-phys {
		return dst, fmt.Errorf("no record at %d: %w", phys, ErrNotFound)
	}
	n := len(dst)
	dst = grow(dst, int(size))
	err = s.log.read(dst[n:], phys, false)
	var r record
	if err == nil {
		err = parseRecord(dst[n:], &r)
	}
	if err == nil && phys < s.log.began {
		err = r.checkCRC()
	}
	if err != nil {
		return dst[:n], err
	}
	return dst, nil
}

// OffsetByTime is the queue offset for a store time in ms: Lower is the first message stored at or after it, the next
// offset if there is none; Upper the last message stored at or before it, the first offset if there is none.
func (s *Store) OffsetByTime(topic string, queueID int32, ms int64, b Boundary) (int64, error) {
	cq := s.consumeQueue(topic, queueID)
	if cq == nil {
		return s.batchByTime(topic, queueID, ms, b)
	}
	first, end := cq.Range()
	// The messages before lo are too early (Upper: early enough), those from hi on are not. One that is gone from the
	// log counts as early.
	lo, hi := first, end
	for lo < hi {
		mid := lo + (hi-lo)/2
		t, err := s.StoreTime(topic, queueID, mid)
		if err != nil && !errors.Is(err, ErrNotFound) {
			return 0, err
		}
		if err != nil || t < ms || b == Upper && t == ms {
			lo = mid + 1
		} else {
			hi = mid
		}
	}
	if b == Upper && lo > first {
		lo--
	}
	return lo, nil
}

// Topics lists the topics that have consume queues on disk.
func (s *Store) Topics() []string { return s.allTopics() }

// Queues lists the queue ids of a topic on disk.
func (s *Store) Queues(topic string) []int32 {
	var ids []int32
	for _, q := range s.cq.Queues(topic) {
		ids = append(ids, q.ID())
	}
	for _, q := range s.bq.Queues(topic) {
		ids = append(ids, q.ID())
	}
	return ids
}
