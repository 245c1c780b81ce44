package pop

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"

	"github.com/seedmq/seedmq/store/fs"
)

// fields reads an entry's fields. After an error everything is zero and bad is set.
type fields struct {
	b   []byte
	bad bool
}

func (f *fields) num() uint64 {
	v, n := binary.Uvarint(f.b)
	if n <= 0 {
		f.bad, f.b = true, nil
		return 0
	}
	f.b = f.b[n:]
	return v
}

func (f *fields) int() int64 {
	v, n := binary.Varint(f.b)
	if n <= 0 {
		f.bad, f.b = true, nil
		return 0
	}
	f.b = f.b[n:]
	return v
}

func (f *fields) bytes() []byte {
	n := f.num()
	if n > uint64(len(f.b)) {
		f.bad, f.b = true, nil
		return nil
	}
	out := f.b[:n]
	f.b = f.b[n:]
	return out
}

// eachEntry calls fn for each whole entry of a journal file, and returns what its header says.
func eachEntry(data []byte, fn func(kind byte, f *fields)) (since int64, err error) {
	if len(data) < journalHeader || string(data[:8]) != journalMagic {
		return 0, errJournal
	}
	since = int64(binary.BigEndian.Uint64(data[8:]))
	for data = data[journalHeader:]; len(data) > 8; {
		n := binary.BigEndian.Uint32(data)
		if n == 0 || n > maxEntry || int(n) > len(data)-8 {
			break
		}
		body := data[8 : 8+n]
		if crc32.Checksum(body, castagnoli) != binary.BigEndian.Uint32(data[4:]) {
			break
		}
		fn(body[0], &fields{b: body[1:]})
		data = data[8+n:]
	}
	return since, nil
}

// replayed is what a journal says.
type replayed struct {
	since   int64
	found   bool
	last    uint64 // the highest number of a queue
	queues  map[uint64]*queue
	offsets map[*queue]int64 // committed by ordered consumers
	revived map[int32]int64
}

// replay reads all files. Files that are no journals are named in the error, and the others count.
func (j *journal) replay(broker string) (*replayed, int, error) {
	nos, err := j.files()
	if err != nil {
		return nil, 0, err
	}
	r := &replayed{queues: map[uint64]*queue{}, offsets: map[*queue]int64{}, revived: map[int32]int64{}}
	var files [][]byte
	last := 0
	for _, no := range nos {
		data, e := fs.ReadFile(j.fs, j.name(no))
		if e != nil {
			return nil, 0, fmt.Errorf("pop: journal: %w", e)
		}
		last = max(last, no)
		since, e := eachEntry(data, r.declare)
		if e != nil {
			err = fmt.Errorf("%s: %w", j.name(no), e)
			continue
		}
		if !r.found || since < r.since {
			r.since = since
		}
		r.found = true
		files = append(files, data)
	}
	for _, data := range files {
		_, _ = eachEntry(data, func(kind byte, f *fields) { r.apply(kind, f, broker) })
	}
	return r, last, err
}

// declare notes the queues: an entry may come before that of its queue, when a new file was begun at that time.
func (r *replayed) declare(kind byte, f *fields) {
	if kind != entryQueue {
		return
	}
	num, topic, group, id := f.num(), string(f.bytes()), string(f.bytes()), f.int()
	if f.bad || topic == "" || group == "" || id < 0 || id > 1<<20 || r.queues[num] != nil {
		return
	}
	r.last = max(r.last, num)
	r.queues[num] = newQueue(queueKey{topic, group, int32(id)}, num)
}

func (r *replayed) apply(kind byte, f *fields, broker string) {
	if kind == entryRevived {
		if n, done := f.num(), f.int(); !f.bad && n < 1<<20 {
			if old, ok := r.revived[int32(n)]; !ok || done > old {
				r.revived[int32(n)] = done
			}
		}
		return
	}
	q := r.queues[f.num()]
	if q == nil || f.bad {
		return
	}
	switch kind {
	case entrySwept:
		delete(r.queues, q.num)
		delete(r.offsets, q)
	case entryPoint, entryNext, entryForget:
		epoch := f.num()
		if f.bad || epoch < q.epoch {
			return
		}
		if epoch > q.epoch {
			q.forgetLocked(false)
			q.epoch = epoch
		}
		if kind == entryPoint {
			r.point(q, f, broker)
		} else if next := f.int(); kind == entryNext && !f.bad {
			q.reachLocked(next)
		}
	case entryOrder:
		committed, info := f.int(), f.bytes()
		if f.bad {
			return
		}
		r.offsets[q] = committed
		q.order = decodeOrder(info)
	case entryBits, entryStoring, entryStored, entryGone:
		r.change(kind, q, f)
	}
}

func (r *replayed) point(q *queue, f *fields, broker string) {
	p := &point{}
	p.Topic, p.Group, p.QueueID, p.Broker = q.key.topic, q.key.group, q.key.id, broker
	p.StartOffset, p.PopTime, p.Invisible = f.int(), f.int(), f.int()
	p.reviveQueue, p.next = int32(f.int()), f.int()
	p.Bits, p.written = uint32(f.int()), uint32(f.int())
	p.state = pointState(f.num())
	listed := f.num() == 1
	n := f.num()
	if n > MaxTake {
		return
	}
	p.Count = int32(n)
	for len(f.b) > 0 {
		p.Diffs = append(p.Diffs, int32(f.num()))
	}
	if f.bad || p.StartOffset < 0 || p.state > stored || p.Diffs != nil && len(p.Diffs) != int(n) {
		return
	}
	if p.state == storing {
		p.state, p.tried = held, true
	}
	if old := q.points[p.id()]; old != nil { // the state of a queue at the beginning of a file
		q.setLocked(old, p.Bits)
		old.written |= p.written
		old.state = max(old.state, p.state)
		old.tried = old.tried || p.tried
		return
	}
	if listed {
		q.reachLocked(p.next)
	}
	q.addLocked(p, listed)
}

func (r *replayed) change(kind byte, q *queue, f *fields) {
	p := q.points[pointID{f.int(), f.int()}]
	if p == nil || f.bad {
		return
	}
	switch kind {
	case entryBits:
		q.setLocked(p, uint32(f.int()))
	case entryStoring:
		p.tried = true
	case entryStored:
		p.state = stored
		p.written |= uint32(f.int())
	case entryGone:
		q.dropLocked(p)
	}
}
