package consumequeue

import (
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
)

// readAtOnce is how many units one pread gets: about a page.
const readAtOnce = 204

var readBuffers = sync.Pool{New: func() any { return new([readAtOnce * UnitSize]byte) }}

// Read fills buf with units from queue offset offset on and returns how many: fewer than asked for at the end of the
// queue, 0 and nil at or beyond it. Blank units are given as they are. ErrNotFound: they were removed. ErrCorrupt: they
// cannot be units. With an error, n units before it are good. It allocates nothing unless a file must be opened.
func (q *Queue) Read(offset int64, buf []Unit) (n int, err error) {
	if offset < 0 {
		return 0, fmt.Errorf("%w: queue offset %d", ErrNotFound, offset)
	}
	for n < len(buf) {
		got, fromFile, err := q.readRing(offset+int64(n), buf[n:])
		if got == 0 && fromFile > 0 {
			got, err = q.readFile(offset+int64(n), buf[n:min(len(buf), n+fromFile)])
		}
		n += got
		if err != nil || got == 0 {
			return n, err
		}
	}
	return n, nil
}

// readRing reads from the ring. When it does not reach back to offset it says how many units to read from files first.
func (q *Queue) readRing(offset int64, buf []Unit) (n, fromFile int, err error) {
	end := q.max.Load()
	if offset >= end {
		return 0, 0, nil
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.removed {
		return 0, 0, ErrRemoved
	}
	end = q.max.Load()
	start := q.ringStartLocked()
	if offset < start {
		return 0, int(min(int64(len(buf)), start-offset)), nil
	}
	mask := int64(len(q.ring)/UnitSize - 1)
	for n < len(buf) && offset < end {
		buf[n] = Decode(q.ring[offset&mask*UnitSize:])
		n, offset = n+1, offset+1
	}
	return n, 0, nil
}

// readFile reads units that are in files.
func (q *Queue) readFile(offset int64, buf []Unit) (n int, err error) {
	b := readBuffers.Get().(*[readAtOnce * UnitSize]byte)
	defer readBuffers.Put(b)
	for n < len(buf) {
		got, err := q.readBytes(offset+int64(n), b[:min(len(buf)-n, readAtOnce)*UnitSize])
		if err != nil {
			return n, err
		}
		for i := range got {
			u := Decode(b[i*UnitSize:])
			if !u.Valid() {
				if offset+int64(n) >= q.max.Load() {
					return n, nil // cut meanwhile
				}
				return n, fmt.Errorf("%w: %s/%d: unit %d is %+v", ErrCorrupt, q.topic.name, q.id, offset+int64(n), u)
			}
			buf[n] = u
			n++
		}
	}
	return n, nil
}

// readBytes reads units of one file as they are, up to its end or len(b).
func (q *Queue) readBytes(offset int64, b []byte) (units int, err error) {
	start := offset - offset%q.set.fileUnits
	h, err := q.set.files.get(fileKey{q, start})
	if errors.Is(err, os.ErrNotExist) {
		return 0, fmt.Errorf("%w: %s/%d: unit %d", ErrNotFound, q.topic.name, q.id, offset)
	}
	if err != nil {
		return 0, err
	}
	defer q.set.files.put(h)
	b = b[:min(int64(len(b)), (start+q.set.fileUnits-offset)*UnitSize)]
	n, err := h.file.ReadAt(b, (offset-start)*UnitSize)
	if n == len(b) {
		return n / UnitSize, nil
	}
	if err == nil || err == io.EOF {
		err = fmt.Errorf("%w: %s ends early", ErrCorrupt, h.file.Name())
	}
	return 0, err
}

// search finds the first unit of [from, to) for which below is false, or to. All of them are in files, and those for
// which it is true come first. It reads little where few units are there: the rest of a file is a hole.
func (q *Queue) search(from, to int64, below func(Unit) bool) (int64, error) {
	buf := readBuffers.Get().(*[readAtOnce * UnitSize]byte)
	defer readBuffers.Put(buf)
	one := func(at int64) (bool, error) {
		if _, err := q.readBytes(at, buf[:UnitSize]); err != nil {
			return false, err
		}
		return below(Decode(buf[:])), nil
	}
	lo, hi, err := q.searchFile(from, to, one)
	if err != nil {
		return 0, err
	}
	for step := int64(readAtOnce); lo < hi; {
		n, err := q.readBytes(lo, buf[:min(hi-lo, readAtOnce)*UnitSize])
		if err != nil {
			return 0, err
		}
		for i := range n {
			if !below(Decode(buf[i*UnitSize:])) {
				return lo + int64(i), nil
			}
		}
		lo += int64(n)
		// All of the block are below: leap, twice as far each time, then halve.
		for lo < hi {
			at := lo + step
			if at >= hi {
				if at = lo + (hi-lo)/2; hi-lo <= readAtOnce {
					break
				}
			}
			ok, err := one(at)
			if err != nil {
				return 0, err
			}
			if ok {
				lo, step = at+1, step*2
			} else {
				hi, step = at, hi // no more leaps
			}
		}
	}
	return lo, nil
}

// searchFile narrows [from, to) down to one file by looking at first units.
func (q *Queue) searchFile(from, to int64, below func(int64) (bool, error)) (lo, hi int64, err error) {
	n := q.set.fileUnits
	first, last := from/n, (to-1)/n // in files
	for first < last {
		mid := (first + last + 1) / 2
		ok, err := below(mid * n)
		if err != nil {
			return 0, 0, err
		}
		if ok {
			first = mid
		} else {
			last = mid - 1
		}
	}
	return max(from, first*n), min(to, (first+1)*n), nil
}
