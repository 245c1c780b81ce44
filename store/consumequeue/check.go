package consumequeue

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"sync/atomic"

	"github.com/seedmq/seedmq/store/fs"
)

func sortByID(qs []*Queue) {
	slices.SortFunc(qs, func(a, b *Queue) int { return int(int64(a.id) - int64(b.id)) })
}

// checker goes through the files of one queue, first to last, and finds where its units end.
//
// What a whole queue looks like: files follow each other without a gap and have the full length; blank units come first;
// then the records' positions grow; every file but the last is full, and none is empty; behind the last unit there are
// zeros. After a crash the end of it may be in pieces, which TruncateToPhys clears away; what is recognised then is only
// what no torn write can leave: negative positions and sizes, and holes before units that were synced.
type checker struct {
	q       *Queue
	last    bool // the file is the last one
	crashed bool
	synced  int64         // log position below which units were synced
	budget  *atomic.Int64 // bytes that may still be read to look into the middle of files

	next     int64 // where the next file must start
	files    int
	end      int64 // unit behind the last good one
	lastPhys int64 // end of its record, noPhys before the first
	minPhys  int64 // position of the first record
}

// errNoUnits: a file is made only to write units, so whatever was there is lost; if it was a crash that came between the
// two, nothing is lost but time.
var errNoUnits = errors.New("it has no units")

func (c *checker) corrupt(format string, a ...any) error {
	return fmt.Errorf("%w: %s", ErrCorrupt, fmt.Sprintf(format, a...))
}

// check looks at the next file. After ErrCorrupt the fields tell of the files before it.
func (c *checker) check(f queueFile) error {
	n := c.q.set.fileUnits
	switch {
	case f.size != n*UnitSize:
		return c.corrupt("it has %d bytes, not %d", f.size, n*UnitSize)
	case f.start%n != 0:
		return c.corrupt("its name is no multiple of the file size")
	case c.files > 0 && f.start != c.next:
		return c.corrupt("the file before it is missing")
	case c.files > 0 && c.end != f.start && !c.crashed:
		return c.corrupt("the file before it is not full")
	}
	file, err := c.q.set.fs.Open(c.q.fileName(f.start))
	if err != nil {
		return err
	}
	was := *c
	err = c.checkContent(file, f.start)
	file.Close() // only read
	if err == nil && c.end == f.start {
		err = fmt.Errorf("%w: %w", ErrCorrupt, errNoUnits)
	}
	if err != nil {
		*c = was
		return err
	}
	c.files++
	c.next = f.start + n
	return nil
}

func (c *checker) checkContent(file fs.File, start int64) error {
	b := readBuffers.Get().(*[readAtOnce * UnitSize]byte)
	defer readBuffers.Put(b)
	n := c.q.set.fileUnits
	c.end = start
	ended, err := c.block(file, b[:], start, 0, min(n, readAtOnce))
	if err != nil || ended {
		return err
	}
	tail := max(n-readAtOnce, readAtOnce)
	switch {
	case n <= readAtOnce:
		return nil
	case c.budget.Load() > 0:
		for at := int64(readAtOnce); at < n && !ended && err == nil; at += readAtOnce {
			ended, err = c.block(file, b[:], start, at, min(n, at+readAtOnce))
			c.budget.Add(-readAtOnce * UnitSize)
		}
		return err
	case !c.last || c.isFull(file, b[:], n):
		_, err := c.block(file, b[:], start, tail, n)
		return err
	}
	// The last file: leap to where its units end.
	lo, hi := int64(readAtOnce), n
	for step := int64(readAtOnce); hi-lo > readAtOnce; {
		at := lo + step
		if at >= hi {
			at = lo + (hi-lo)/2
		}
		if err := readUnit(file, b[:UnitSize], at); err != nil {
			return err
		}
		if Decode(b[:]).Valid() {
			lo, step = at, step*2
		} else {
			hi, step = at, n
		}
	}
	_, err = c.block(file, b[:], start, lo, min(n, lo+readAtOnce))
	return err
}

func (c *checker) isFull(file fs.File, b []byte, n int64) bool {
	return readUnit(file, b[:UnitSize], n-1) == nil && Decode(b).Valid()
}

func readUnit(file fs.File, b []byte, at int64) error {
	n, err := file.ReadAt(b[:UnitSize], at*UnitSize)
	if n == UnitSize || err == io.EOF {
		return nil
	}
	return err
}

// block looks at the units [from, to) of a file, at most readAtOnce. ended says that the units end there.
func (c *checker) block(file fs.File, b []byte, start, from, to int64) (ended bool, err error) {
	b = b[:(to-from)*UnitSize]
	if n, err := file.ReadAt(b, from*UnitSize); n < len(b) {
		return false, fmt.Errorf("read %s: %w", file.Name(), err)
	}
	for i := range to - from {
		u := Decode(b[i*UnitSize:])
		at := start + from + i
		switch {
		case u.PhysicalOffset < 0 || u.Size < 0:
			return false, c.corrupt("unit %d is %+v", at, u)
		case ended:
			if u != (Unit{}) && (!c.crashed || u.Valid() && u.PhysicalOffset >= c.lastPhys && u.end() <= c.synced) {
				return false, c.corrupt("unit %d is %+v, behind unit %d, which is none", at, u, c.end)
			}
		case u.Blank() && c.lastPhys == noPhys:
			c.end = at + 1
		case u.Size == 0 || u.PhysicalOffset < c.lastPhys:
			if !c.crashed && u != (Unit{}) {
				return false, c.corrupt("unit %d is %+v, the record before it ends at %d", at, u, c.lastPhys)
			}
			if !c.last && !c.crashed {
				return false, c.corrupt("unit %d is empty, and it is not the last file", at)
			}
			ended = true
		default:
			if c.lastPhys == noPhys {
				c.minPhys = u.PhysicalOffset
				if at != start+from || from != 0 || c.files > 0 {
					c.minPhys = noPhys // blank ones before it: CorrectMin finds it
				}
			}
			c.lastPhys, c.end = u.end(), at+1
		}
	}
	return ended, nil
}

// apply sets the queue's state to what was found: files are those that stay, from is where the first one started of
// those that were there.
func (c *checker) apply(files []queueFile, from int64) {
	q := c.q
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(files) == 0 {
		q.startAtLocked(from - from%q.set.fileUnits)
		return
	}
	q.base, q.fileEnd, q.blank = files[0].start, files[len(files)-1].start+q.set.fileUnits, noBlank
	q.resetLocked(c.end)
	q.min.Store(q.base)
	q.maxPhys.Store(c.lastPhys)
	q.minPhys = c.minPhys
	if c.lastPhys == noPhys {
		q.min.Store(c.end)
	}
}

// BeginsLate says that the first file of some queue is likely to be gone: a file is removed only when the log has none of its
// messages, and so the first one that is left begins, but for chance, before the log does. Call it before CorrectMin.
func (s *Set) BeginsLate(logStart int64) bool {
	for _, q := range s.all() {
		q.mu.Lock()
		late := q.base > 0 && q.minPhys > logStart
		q.mu.Unlock()
		if late {
			s.log.Errorf("consume queue %s/%d begins at %d, whose message is not the first of the log: its queues are made again", q.topic.name, q.id, q.base)
			return true
		}
	}
	return false
}
