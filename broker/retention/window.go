package retention

import (
	"context"
	"fmt"
	"math"

	"github.com/seedmq/seedmq/store"
)

// chunk is over how many units a window remembers one sum: 8 bytes of memory for 20 KB of a queue's file.
const chunk = 1024

// window is the part of a queue that its topic's limits allow. In a queue of batches each message has the unit of its record, as often as
// the record has messages; from and to never lie within one, and its bytes count where its first message is.
//
//	sums[0]          sums[1]                    sums[n]
//	|------------|--------------|-- ... --|--------|
//	      from   ^ multiples of chunk               to
type window struct {
	store Store
	topic string
	id    int32

	from, to int64
	sized    bool    // sums and size are kept
	sums     []int64 // bytes of the records in each chunk, of what lies between from and to
	size     int64   // of all

	timeOf, time int64 // the store time in ms of one message, 0 if that is not known

	head []store.QueueUnit // the first units, while the topic is trimmed
}

// sizeOf is the size of a unit's record. A blank unit stands for no record.
func sizeOf(u *store.QueueUnit) int64 {
	if u.Size == math.MaxInt32 {
		return 0
	}
	return int64(u.Size)
}

// extend takes in the units up to offset to.
func (w *window) extend(ctx context.Context, to int64) error {
	if !w.sized {
		w.to = to
		return nil
	}
	before := int64(noRecord)
	for w.to < to && ctx.Err() == nil {
		end := min(to, (w.to/chunk+1)*chunk)
		sum, last, err := w.count(w.to, end, before)
		if err != nil {
			return err
		}
		if w.to == w.from || w.to%chunk == 0 {
			w.sums = append(w.sums, 0)
		}
		w.sums[len(w.sums)-1] += sum
		w.size += sum
		w.to, before = end, last
	}
	return ctx.Err()
}

// noRecord is the position of none.
const noRecord = -1

// count adds up the records of units in one chunk, and returns the position of the last one. The one at position before is not
// counted: it began in the chunk before.
func (w *window) count(from, to, before int64) (sum, last int64, err error) {
	for last = before; from < to; {
		units, err := w.units(from, int(to-from))
		if err != nil {
			return 0, 0, err
		}
		for i := range units {
			u := &units[i]
			if sizeOf(u) > 0 && u.PhysicalOffset != last {
				sum, last = sum+sizeOf(u), u.PhysicalOffset
			}
		}
		from += int64(len(units))
	}
	return sum, last, nil
}

func (w *window) units(from int64, max int) ([]store.QueueUnit, error) {
	units, err := w.store.QueueUnits(w.topic, w.id, from, max)
	if err == nil && len(units) == 0 {
		err = fmt.Errorf("queue %d has nothing at %d: %w", w.id, from, store.ErrNotFound)
	}
	return units, err
}

// beginAt moves from forward. What lies before may not be readable any more: sums of whole chunks are taken away, and that of the chunk
// in which offset lies is made again from what is left of it.
func (w *window) beginAt(offset int64) error {
	if offset <= w.from {
		return nil
	}
	if offset >= w.to || !w.sized {
		w.from, w.to = offset, max(offset, w.to)
		w.sums, w.size = nil, 0
		return nil
	}
	sums, size := w.sums, w.size
	for at := w.from / chunk; at < offset/chunk; at++ {
		size -= sums[0]
		sums = sums[1:]
	}
	if offset%chunk != 0 {
		sum, _, err := w.count(offset, min(w.to, (offset/chunk+1)*chunk), noRecord)
		if err != nil {
			return err
		}
		size += sum - sums[0]
		sums[0] = sum
	}
	w.from, w.sums, w.size = offset, sums, size
	return nil
}

// look reads the first units into head, unless they are there.
func (w *window) look() (err error) {
	if len(w.head) == 0 {
		w.head, err = w.units(w.from, int(min(chunk, w.to-w.from)))
	}
	return err
}

// drop takes the first record out, looks at the next one, and returns the size of the first and how many messages it was. The window must have
// looked.
func (w *window) drop() (size, messages int64, err error) {
	phys, size := w.head[0].PhysicalOffset, sizeOf(&w.head[0])
	if w.sized {
		w.size -= size
		w.sums[0] -= size
	}
	for {
		w.head = w.head[1:]
		messages++
		if w.from++; w.sized && (w.from%chunk == 0 || w.from == w.to) {
			w.sums = w.sums[1:]
		}
		if w.from == w.to {
			return size, messages, nil
		}
		if err = w.look(); err != nil || size == 0 || w.head[0].PhysicalOffset != phys {
			return size, messages, err
		}
	}
}
