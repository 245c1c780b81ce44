package store

import (
	"errors"
	"fmt"
	"strconv"
	"time"
	"unsafe"

	"github.com/seedmq/seedmq/remoting/protocol"
	"github.com/seedmq/seedmq/store/consumequeue"
)

// unknownDelay is what Java adds for a delay level that its table does not have.
const unknownDelay = time.Second

// entryOf makes the dispatcher's entry from a stored record, as Append makes it from the message.
func (s *Store) entryOf(r *record, hashes []int32) (dispatchEntry, []int32) {
	e := dispatchEntry{phys: r.phys, queueOffset: r.queueOffset, storeTime: r.storeTime, size: r.size}
	if r.phys < s.dropped.before(alias(r.topic)) {
		return e, hashes
	}
	var tags, keys, uniq, delay string
	var in inner
	protocol.EachProperty(r.properties, func(name, value string) bool {
		switch name {
		case protocol.PropertyTags:
			tags = value
		case protocol.PropertyKeys:
			keys = value
		case protocol.PropertyUniqKey:
			uniq = value
		case protocol.PropertyDelay:
			delay = value
		case protocol.PropertyInnerNum:
			in.num = value
		case protocol.PropertyInnerBase:
			in.base = value
		}
		return true
	})
	inQueue, inIndex := queued(r.sysFlag), s.index != nil && indexed(r.sysFlag)
	if !inQueue && !inIndex {
		return e, hashes
	}
	q := s.queues.get(alias(r.topic), r.queueID)
	if in.num != "" || q.batch {
		q = s.innerEntry(q, in, &e)
	}
	if inQueue {
		e.q, e.num = q, max(e.num, 1)
		e.tagsCode = s.tagsCode(q.topic, tags, delay, r.storeTime)
	}
	if inIndex {
		n := len(hashes)
		hashes = appendKeyHashes(hashes, q, uniq, keys, tags)
		e.hashes = int32(len(hashes) - n)
	}
	return e, hashes
}

// tagsCode is what a queue keeps of a message: the hash of its tag, or in the delay topic when to deliver it.
func (s *Store) tagsCode(topic, tags, delay string, storeTime int64) int64 {
	if topic == protocol.TopicSchedule && delay != "" {
		if level, err := strconv.Atoi(delay); err == nil && level > 0 {
			return storeTime + s.delay(min(level, len(s.o.DelayLevels))).Milliseconds()
		}
	}
	if tags == "" {
		return 0
	}
	return protocol.TagsCode(tags)
}

func (s *Store) delay(level int) time.Duration {
	if level < 1 || level > len(s.o.DelayLevels) {
		return unknownDelay
	}
	return s.o.DelayLevels[level-1]
}

// alias is b as a string, without a copy.
func alias(b []byte) string { return unsafe.String(unsafe.SliceData(b), len(b)) }

// readTo dispatches the log from pos to limit, reading it. What is no record is skipped.
func (d *dispatcher) readTo(limit int64) error {
	var entries []dispatchEntry
	var hashes []int32
	d.scan.forget()
	pos := d.pos.Load()
	for pos < limit {
		var rec record
		f := d.s.log.fileOf(pos)
		if f == nil {
			if start := d.s.log.start(); start > pos {
				pos = start // the cleaner was faster
				continue
			}
			return fmt.Errorf("position %d: %w", pos, ErrNotFound)
		}
		_, err := d.scan.record(pos, min(limit, f.End()), scanMode{}, &rec)
		switch {
		case err == nil:
			var e dispatchEntry
			e, hashes = d.s.entryOf(&rec, hashes)
			entries = d.s.appendLights(append(entries, e), &rec, &e)
			pos += int64(rec.size)
		case err == errBlank:
			pos = f.End()
		case errors.Is(err, ErrCorrupt):
			next, ok, err2 := d.scan.find(pos+1, min(limit, f.End()), 0)
			if err2 != nil {
				return err2
			}
			if !ok {
				next = min(limit, f.End())
			}
			d.s.o.Log.Errorf("dispatch: skipping from log position %d to %d: %v", pos, next, err)
			pos = next
		default:
			return err
		}
		if len(entries) >= roundSize || pos >= limit {
			if err := d.apply(entries, hashes); err != nil {
				return err
			}
			entries, hashes = entries[:0], hashes[:0]
			d.pos.Store(pos)
		}
	}
	return nil
}

// applyQuiet is apply without telling anyone, for recovery.
func (d *dispatcher) applyQuiet(entries []dispatchEntry, hashes []int32) error {
	if err := d.applyQueues(entries); err != nil {
		return err
	}
	return d.applyIndex(entries, hashes)
}

// appendUnits appends units of messages with the offsets from first on. A queue that was deleted takes none.
func (s *Store) appendUnits(q *queue, first int64, units []consumequeue.Unit) error {
	if q.dead.Load() {
		return nil
	}
	cq := q.cq.Load()
	if cq == nil {
		var err error
		if cq, err = s.cq.GetOrCreate(q.topic, q.id, first); err != nil {
			return err
		}
		q.cq.Store(cq)
	}
	return cq.Append(first, units)
}
