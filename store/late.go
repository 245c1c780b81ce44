package store

import (
	"encoding/binary"
	"errors"
	"slices"
	"strconv"

	"github.com/seedmq/seedmq/remoting/protocol"
	"github.com/seedmq/seedmq/store/consumequeue"
)

// lateWidth is the room for one number, with what parts it from the next.
const lateWidth = 20

// lates are a batch's records whose last property holds queue offsets: INNER_BASE of a record in a batch queue,
// INNER_MULTI_QUEUE_OFFSET of one that enters light queues. Add leaves room for the numbers; Append, under the log's lock,
// writes them and closes the gaps. A batch without such records pays one comparison.
type lates struct {
	fields []lateField
	lights []lightPlace
	filled bool
}

type lateField struct {
	entry         int32
	head          int32 // bytes of the record before the numbers
	propertiesLen int32 // where the record has the length of its properties
	first, n      int32 // of lights; n = 0: the number is the record's own queue offset
}

// lightPlace is a record's place in one light queue.
type lightPlace struct {
	q      *queue
	offset int64
}

func (l *lates) reset() {
	clear(l.lights)
	l.fields, l.lights, l.filled = l.fields[:0], l.lights[:0], false
}

// addLate adds a message to a batch queue or to light queues. done is false when it is neither.
func (b *Batch) addLate(q *queue, m *Message) (done bool, err error) {
	switch {
	case m.Inner > 0 && !q.batch:
		return true, errQueueType(q)
	case m.Inner > 0:
		return true, b.addInner(q, m)
	case q.batch || !b.s.o.Light:
		return false, nil
	}
	return b.addLight(q, m)
}

// addWithRoom adds a record whose properties end with a list of n numbers that is called name.
func (b *Batch) addWithRoom(q *queue, m *Message, props []byte, name string, n int) error {
	late := *m
	props = append(append(props, name...), protocol.NameValueSeparator)
	at := len(props)
	props = append(props, make([]byte, n*lateWidth)...)
	late.Properties = props
	if err := b.s.checkMessage(&late); err != nil {
		return err
	}
	b.add(q, &late, 1)
	e := &b.entries[len(b.entries)-1]
	b.late.fields = append(b.late.fields, lateField{entry: int32(len(b.entries) - 1), head: e.size - int32(len(props)-at),
		propertiesLen: e.size - int32(len(props)) - 2, first: int32(len(b.late.lights))})
	return nil
}

// errFilled: the room for the numbers is gone.
var errFilled = errors.New("store: a batch with records of batch queues or light queues is appended once")

// fillLateLocked gives all messages of b their queue offsets, and writes those that stand in properties.
func (s *Store) fillLateLocked(b *Batch) error {
	if b.late.filled {
		return errFilled
	}
	b.late.filled = true
	to, next := 0, 0
	for i := range b.entries {
		e := &b.entries[i]
		e.q = s.alive(e.q)
		size := copy(b.buf[to:], b.buf[e.off:e.off+int(e.size)])
		e.queueOffset = 0
		if e.num > 0 {
			e.queueOffset = e.q.next
			e.q.next += int64(e.num)
		}
		if next < len(b.late.fields) && b.late.fields[next].entry == int32(i) {
			size = s.fillLocked(b, &b.late.fields[next], b.buf[to:to+size], e.queueOffset)
			next++
		}
		e.off, e.size = to, int32(size)
		to += size
	}
	b.buf = b.buf[:to]
	return nil
}

// fillLocked writes the numbers of one record and returns its length.
func (s *Store) fillLocked(b *Batch, f *lateField, rec []byte, offset int64) int {
	out := rec[:f.head]
	if f.n == 0 {
		out = strconv.AppendInt(out, offset, 10)
	}
	for i := range b.late.lights[f.first : f.first+f.n] {
		l := &b.late.lights[int(f.first)+i]
		l.q = s.alive(l.q)
		l.offset = l.q.next
		l.q.next++
		if i > 0 {
			out = append(out, lightSeparator)
		}
		out = strconv.AppendInt(out, l.offset, 10)
	}
	out = append(out, protocol.PropertySeparator)
	binary.BigEndian.PutUint32(out, uint32(len(out)))
	binary.BigEndian.PutUint16(out[f.propertiesLen:], uint16(len(out)-int(f.propertiesLen)-2))
	return len(out)
}

// alive is q, or the queue that took its name when q was deleted.
func (s *Store) alive(q *queue) *queue {
	if q.dead.Load() {
		return s.queues.get(q.topic, q.id)
	}
	return q
}

// undo gives the light queues' offsets back, after a write that failed. The log's lock is held.
func (l *lates) undo() {
	for _, p := range slices.Backward(l.lights) {
		p.q.next--
	}
}

// appendLights adds the entries of the light queues of entry i, which has become de.
func (l *lates) appendLights(dst []dispatchEntry, i int32, de *dispatchEntry) []dispatchEntry {
	n, ok := slices.BinarySearchFunc(l.fields, i, func(f lateField, i int32) int { return int(f.entry - i) })
	if !ok {
		return dst
	}
	f := &l.fields[n]
	for _, p := range l.lights[f.first : f.first+f.n] {
		dst = append(dst, de.inLight(p.q, p.offset))
	}
	return dst
}

// inLight is the record's entry of a light queue.
func (e *dispatchEntry) inLight(q *queue, offset int64) dispatchEntry {
	return dispatchEntry{q: q, phys: e.phys, queueOffset: offset, tagsCode: e.tagsCode, storeTime: e.storeTime, size: e.size}
}

// light says that the entry follows another one of the same record.
func (e *dispatchEntry) light() bool { return e.num == 0 && e.q != nil }

// inner are the properties of a record in a batch queue.
type inner struct{ num, base string }

// parse reads them as Java does; false where they cannot be.
func (in inner) parse() (num int32, base int64, ok bool) {
	n, err1 := strconv.ParseInt(in.num, 10, 16)
	base, err2 := strconv.ParseInt(in.base, 10, 64)
	return int32(n), base, err1 == nil && err2 == nil && n > 0 && n <= consumequeue.MaxInner && base >= 0 && base <= consumequeue.MaxOffset
}
