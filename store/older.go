package store

import "errors"

// StoreTimeOf is the store time in ms of a record as a Filter is shown it.
func StoreTimeOf(rec []byte) int64 { return recordStoreTime(rec) }

// SkipOlder is the first offset from offset on whose message was stored at or after ms, the queue's end if there is none. Outside of
// the queue it is offset itself, as Get has the answer to that. With hot it never waits for the disk: cold says that it would have to.
//
// Store times never decrease within a queue, so that one look is enough where nothing is old.
func (s *Store) SkipOlder(topic string, queueID int32, offset, ms int64, hot bool) (next int64, cold bool) {
	units, err := s.QueueUnits(topic, queueID, offset, 1)
	if err != nil {
		return offset, false
	}
	var buf [minRecord]byte
	phys := units[0].PhysicalOffset
	b, err := s.log.readUpTo(buf[:], phys, hot)
	if errors.Is(err, errCold) {
		return offset, true
	}
	if err == nil && len(b) == minRecord {
		if _, magic, at := recordHead(b); isMagic(magic) && at == phys && recordStoreTime(b) >= ms {
			return offset, false
		}
	}
	if hot {
		return offset, true // the search reads what may be anywhere
	}
	if next, err = s.OffsetByTime(topic, queueID, ms, Lower); err != nil {
		return offset, false
	}
	return max(next, offset), false
}
