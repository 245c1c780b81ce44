package store

import (
	"errors"
	"strings"
	"sync"

	"github.com/seedmq/seedmq/store/consumequeue"
)

const (
	// scanUnits is how many units of a queue one Get looks at when a filter drops them, at least.
	scanUnits = 800
	// unitsAtOnce is how many units are read from a queue at once.
	unitsAtOnce = 128
	// runBytes bounds how many bytes of neighbouring records are read at once.
	runBytes = 256 << 10
)

// extAddress is the greatest number that Java puts in the place of a tags code when it is the address of the code in a
// ConsumeQueueExt file. What such a message's code is, only the filter's look at the record tells.
const extAddress = -1<<31 - 1

// getter is the scratch of one Get.
type getter struct {
	s     *Store
	r     GetRequest
	res   GetResult
	dst   []byte
	units [unitsAtOnce]consumequeue.Unit

	gone bool // some record was not there
	view logView
}

var getters = sync.Pool{New: func() any { return new(getter) }}

// Get appends records to dst.
func (s *Store) Get(r *GetRequest, dst []byte) ([]byte, GetResult) {
	res := GetResult{Status: GetNoQueue}
	cq := s.consumeQueue(r.Topic, r.QueueID)
	if cq == nil || s.state.closed.Load() {
		return s.getBatch(r, dst)
	}
	res.MinOffset, res.MaxOffset = cq.Range()
	switch {
	case res.MaxOffset == 0:
		res.Status = GetNoMessageInQueue
	case r.Offset < res.MinOffset:
		res.Status, res.NextBeginOffset = GetOffsetTooSmall, res.MinOffset
	case r.Offset == res.MaxOffset:
		res.Status, res.NextBeginOffset = GetOffsetOverflowOne, r.Offset
	case r.Offset > res.MaxOffset:
		res.Status, res.NextBeginOffset = GetOffsetOverflowBadly, res.MaxOffset
	default:
		g := getters.Get().(*getter)
		g.s, g.r, g.res, g.dst, g.gone = s, *r, res, dst, false
		g.scan(cq)
		g.view.drop()
		dst, res = g.dst, g.res
		g.s, g.r, g.dst = nil, GetRequest{}, nil
		getters.Put(g)
	}
	return dst, res
}

// consumeQueue finds a queue that has files or messages, nil if there is none.
func (s *Store) consumeQueue(topic string, id int32) *consumequeue.Queue {
	q, ok := s.cq.Queue(topic, id)
	if !ok {
		return nil
	}
	return q
}

// scan goes through the queue from the offset asked for.
func (g *getter) scan(cq *consumequeue.Queue) {
	res := &g.res
	res.Status, res.NextBeginOffset = GetNoMatched, g.r.Offset
	limit := min(g.r.Offset+int64(max(scanUnits, g.r.MaxCount)), res.MaxOffset)
	for at := g.r.Offset; at < limit; {
		n, err := cq.Read(at, g.units[:min(int64(unitsAtOnce), limit-at)])
		if n == 0 || err != nil {
			if res.Count == 0 {
				g.nullAt(cq, at, err)
			}
			break
		}
		if !g.take(at, g.units[:n]) {
			break
		}
		at += int64(n)
	}
	switch {
	case res.Count > 0:
		res.Status = GetFound
	case res.Status == GetNoMatched && g.gone:
		res.Status = GetWasRemoving
	}
	if res.Count == 0 && res.NextBeginOffset > res.MaxOffset {
		res.NextBeginOffset = res.MaxOffset
	}
}

// nullAt answers a Get whose units cannot be read: the reader goes on at the next file.
func (g *getter) nullAt(cq *consumequeue.Queue, at int64, err error) {
	g.res.Status, g.res.NextBeginOffset = GetOffsetFoundNull, at
	if errors.Is(err, consumequeue.ErrNotFound) || errors.Is(err, consumequeue.ErrCorrupt) {
		n := int64(g.s.o.QueueFileUnits)
		g.res.NextBeginOffset = min((at/n+1)*n, g.res.MaxOffset)
		return
	}
	g.s.o.Log.Limited(g.s.o.Clock, "get", logEvery).Errorf("read consume queue %s/%d: %v", cq.Topic(), cq.ID(), err)
}

// take handles units from offset at on; false ends the Get.
func (g *getter) take(at int64, units []consumequeue.Unit) bool {
	touched := 0
	for i := 0; i < len(units); {
		if i >= touched && g.r.Filter == nil {
			touched = i + g.touch(units[i:])
		}
		n, bytes, full := g.run(units[i:])
		if n == 0 {
			if full {
				return false
			}
			i++
			g.res.NextBeginOffset = at + int64(i)
			continue
		}
		if !g.read(at+int64(i), units[i:i+n], bytes) {
			return false
		}
		i += n
	}
	return true
}

// touchAhead is how many records are touched at once.
const touchAhead = 12

// touch brings the records of the first units into the processor's cache, as far as they will be read, and returns how
// many units it looked at.
func (g *getter) touch(units []consumequeue.Unit) int {
	n := min(len(units), touchAhead, max(g.r.MaxCount-g.res.Count, 1))
	if u := &units[0]; u.Valid() && g.view.at(&g.s.log, u.PhysicalOffset, int64(u.Size)) != nil {
		g.view.touch(units[:n])
	}
	return n
}

// run finds how many of the first units are wanted and lie one behind the other in the log. n is 0 when the first is
// not wanted, or, with full, when nothing more fits.
func (g *getter) run(units []consumequeue.Unit) (n int, bytes int64, full bool) {
	for ; n < len(units); n++ {
		u := &units[n]
		if !u.Valid() || u.Blank() || g.r.Filter != nil && u.TagsCode > extAddress && !g.r.Filter.MatchTagsCode(u.TagsCode) {
			if u.Blank() || !u.Valid() {
				g.gone = true
			}
			return n, bytes, false
		}
		if count := g.res.Count + n; count > 0 && (count >= g.r.MaxCount || int64(g.res.Bytes)+bytes+int64(u.Size) > int64(g.r.MaxBytes)) {
			return n, bytes, true
		}
		if n > 0 && (u.PhysicalOffset != units[n-1].PhysicalOffset+int64(units[n-1].Size) || bytes+int64(u.Size) > runBytes) {
			return n, bytes, false
		}
		bytes += int64(u.Size)
	}
	return n, bytes, false
}

// read appends the records of a run, whose first has the offset at; false ends the Get.
func (g *getter) read(at int64, units []consumequeue.Unit, bytes int64) bool {
	base, phys := len(g.dst), units[0].PhysicalOffset
	if phys/g.s.log.fileSize != (phys+bytes-1)/g.s.log.fileSize {
		return g.readEach(at, units, bytes) // the log does not put a record across two files: damaged units
	}
	g.dst = grow(g.dst, int(bytes))
	var err error
	if b := g.view.at(&g.s.log, phys, bytes); b != nil {
		copy(g.dst[base:], b)
	} else if err = g.s.log.read(g.dst[base:], phys, g.r.HotOnly); err != nil {
		g.dst = g.dst[:base]
	}
	switch {
	case err == nil:
	case errors.Is(err, errCold):
		if g.res.Count == 0 {
			g.res.Status = GetCold
		}
		return false
	case errors.Is(err, ErrNotFound) || errors.Is(err, ErrCorrupt):
		return g.readEach(at, units, bytes)
	default:
		g.s.o.Log.Limited(g.s.o.Clock, "get", logEvery).Errorf("read the commit log at %d: %v", phys, err)
		if g.res.Count == 0 {
			g.res.Status = GetOffsetFoundNull
		}
		return false
	}
	g.keep(at, units, base)
	g.res.FarBehind = g.s.log.end.Load()-phys > g.s.farBehind
	return true
}

// readEach goes on one by one where a run could not be read; a single record that cannot is skipped.
func (g *getter) readEach(at int64, units []consumequeue.Unit, bytes int64) bool {
	if len(units) == 1 {
		g.gone = true
		g.res.NextBeginOffset = at + 1
		return true
	}
	for i := range units {
		if !g.read(at+int64(i), units[i:i+1], int64(units[i].Size)) {
			return false
		}
	}
	return true
}

// keep checks the records that were read to base and drops those that are none, or that the filter refuses.
func (g *getter) keep(at int64, units []consumequeue.Unit, base int) {
	from, to := base, base
	for i := range units {
		u := &units[i]
		rec := g.dst[from : from+int(u.Size)]
		from += int(u.Size)
		switch {
		case isRecord(rec, u.Size, u.PhysicalOffset) && !queued(recordSysFlag(rec)):
			g.gone = true // a filler that recovery left for a lost record
		case !isRecord(rec, u.Size, u.PhysicalOffset) || u.PhysicalOffset < g.s.log.began && !g.whole(rec):
			g.gone = true
			g.s.o.Log.Limited(g.s.o.Clock, "get bad", logEvery).Warnf("no record at %d, where queue %s/%d has message %d", u.PhysicalOffset, g.r.Topic, g.r.QueueID, at+int64(i))
		case g.r.Filter != nil && !g.r.Filter.MatchRecord(rec):
		default:
			if to != from-len(rec) {
				copy(g.dst[to:], rec)
			}
			to += len(rec)
			g.res.Count++
			g.res.Bytes += len(rec)
		}
	}
	g.dst = g.dst[:to]
	g.res.NextBeginOffset = at + int64(len(units))
}

// whole says that rec is as it was written, as far as its format can tell. It is asked of what was there when the store was
// opened: a start reads only the end of the log, and a disk may have spoiled what lies before.
func (g *getter) whole(rec []byte) bool {
	var r record
	if parseRecord(rec, &r) != nil || r.checkCRC() != nil {
		return false
	}
	return string(r.topic) == g.r.Topic && r.queueID == g.r.QueueID || strings.HasPrefix(g.r.Topic, lightPrefix)
}

// lightPrefix begins the names of Java's light queues, which share the records of other topics.
const lightPrefix = "%LMQ%"

// grow lengthens b by n bytes of any content.
func grow(b []byte, n int) []byte {
	if cap(b)-len(b) < n {
		b = append(b, make([]byte, n)...)
		return b
	}
	return b[:len(b)+n]
}
