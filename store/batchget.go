package store

import (
	"errors"
	"fmt"

	"github.com/seedmq/seedmq/remoting/protocol"
	"github.com/seedmq/seedmq/store/consumequeue"
)

// batchScan is how many records of a batch queue one Get looks at when a filter drops them.
const batchScan = scanUnits

// batchQueue finds a batch queue, nil if there is none.
func (s *Store) batchQueue(topic string, id int32) *consumequeue.BatchQueue {
	q, ok := s.bq.Queue(topic, id)
	if !ok {
		return nil
	}
	return q
}

func (s *Store) batchRange(topic string, id int32) (min, max int64, ok bool) {
	bq := s.batchQueue(topic, id)
	if bq == nil {
		return 0, 0, false
	}
	min, max = bq.Range()
	return min, max, true
}

// getBatch is Get for batch queues: records are given whole, the first also when it begins before the offset asked for. As
// in Java counts are of messages, not of records.
func (s *Store) getBatch(r *GetRequest, dst []byte) ([]byte, GetResult) {
	res := GetResult{Status: GetNoQueue}
	bq := s.batchQueue(r.Topic, r.QueueID)
	if bq == nil || s.state.closed.Load() {
		return dst, res
	}
	res.MinOffset, res.MaxOffset = bq.Range()
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
		g := batchGetter{s: s, r: r, res: &res}
		dst = g.scan(bq, dst)
	}
	return dst, res
}

// batchGetter is the state of one getBatch.
type batchGetter struct {
	s    *Store
	r    *GetRequest
	res  *GetResult
	gone bool // some record was not there
	view protocol.MessageView
	one  []byte // one message of a batch as a record
}

func (g *batchGetter) scan(bq *consumequeue.BatchQueue, dst []byte) []byte {
	res := g.res
	res.Status, res.NextBeginOffset = GetNoMatched, g.r.Offset
	at, err := bq.Find(g.r.Offset)
	var buf [32]consumequeue.BatchUnit
	for looked, more := 0, true; more && err == nil && looked < batchScan; {
		var n int
		n, err = bq.Read(at, buf[:])
		if n == 0 {
			break
		}
		for i := range buf[:n] {
			if dst, more = g.take(&buf[i], dst); !more {
				break
			}
		}
		at, looked = at+int64(n), looked+n
	}
	switch {
	case res.Count > 0:
		res.Status = GetFound
	case err != nil:
		res.Status = GetOffsetFoundNull
		if errors.Is(err, consumequeue.ErrNotFound) || errors.Is(err, consumequeue.ErrCorrupt) {
			res.NextBeginOffset = res.MaxOffset
		}
		g.s.o.Log.Limited(g.s.o.Clock, "get batch", logEvery).Errorf("read batch consume queue %s/%d: %v", g.r.Topic, g.r.QueueID, err)
	case res.Status == GetNoMatched && g.gone:
		res.Status = GetWasRemoving
	}
	return dst
}

// take appends a unit's record if it is wanted; false ends the Get.
func (g *batchGetter) take(u *consumequeue.BatchUnit, dst []byte) ([]byte, bool) {
	res, r := g.res, g.r
	if res.Count > 0 && (res.Count+int(u.Count) > r.MaxCount || int64(res.Bytes)+int64(u.Size) > int64(r.MaxBytes)) {
		return dst, false
	}
	base := len(dst)
	dst = grow(dst, int(u.Size))
	rec := dst[base:]
	err := g.s.log.read(rec, u.PhysicalOffset, r.HotOnly)
	switch {
	case errors.Is(err, errCold):
		if res.Count == 0 {
			res.Status = GetCold
		}
		return dst[:base], false
	case errors.Is(err, ErrNotFound) || errors.Is(err, ErrCorrupt), err == nil && !g.whole(u, rec):
		g.gone = true
		res.NextBeginOffset = max(res.NextBeginOffset, u.Next())
		return dst[:base], true
	case err != nil:
		g.s.o.Log.Limited(g.s.o.Clock, "get", logEvery).Errorf("read the commit log at %d: %v", u.PhysicalOffset, err)
		if res.Count == 0 {
			res.Status = GetOffsetFoundNull
		}
		return dst[:base], false
	}
	res.NextBeginOffset = max(res.NextBeginOffset, u.Next())
	if r.Filter != nil && !g.match(u, rec) {
		return dst[:base], true
	}
	res.FarBehind = g.s.log.end.Load()-u.PhysicalOffset > g.s.farBehind
	res.Count += int(u.Count)
	res.Bytes += len(rec)
	return dst, true
}

// whole says that rec is the unit's record.
func (g *batchGetter) whole(u *consumequeue.BatchUnit, rec []byte) bool {
	if !isRecord(rec, u.Size, u.PhysicalOffset) || !queued(recordSysFlag(rec)) {
		return false
	}
	var r record
	return u.PhysicalOffset >= g.s.log.began ||
		parseRecord(rec, &r) == nil && r.checkCRC() == nil && string(r.topic) == g.r.Topic && r.queueID == g.r.QueueID
}

// match asks the filter about each message of a record from the offset asked for on; one that is wanted is enough. Java looks at the record's own
// tags, which batches do not have, so that with it who filters by tags gets none of them.
func (g *batchGetter) match(u *consumequeue.BatchUnit, rec []byte) bool {
	f := g.r.Filter
	if recordSysFlag(rec)&protocol.SysFlagInnerBatch == 0 {
		return f.MatchTagsCode(u.TagsCode) && f.MatchRecord(rec)
	}
	if _, err := protocol.DecodeMessage(rec, &g.view); err != nil {
		return false
	}
	found := false
	_ = EachInner(&g.view, func(m *protocol.BatchEntry, i int) bool { // what cannot be read is not wanted
		if u.Base+int64(i) < g.r.Offset {
			return true
		}
		tags, _ := protocol.Property(m.Properties, protocol.PropertyTags)
		code := int64(0)
		if tags != "" {
			code = protocol.TagsCode(tags)
		}
		if f.MatchTagsCode(code) {
			g.one = AppendInner(g.one[:0], &g.view, m, i)
			found = f.MatchRecord(g.one)
		}
		return !found
	})
	return found
}

// batchUnits is QueueUnits for batch queues: each message has its record's unit.
func (s *Store) batchUnits(topic string, id int32, offset int64, limit int) ([]QueueUnit, error) {
	bq := s.batchQueue(topic, id)
	if bq == nil {
		return nil, fmt.Errorf("queue %s/%d: %w", topic, id, ErrNotFound)
	}
	from, to := bq.Range()
	if offset < from || offset >= to || limit <= 0 {
		return nil, fmt.Errorf("queue %s/%d has no offset %d: %w", topic, id, offset, ErrNotFound)
	}
	at, err := bq.Find(offset)
	var out []QueueUnit
	var buf [32]consumequeue.BatchUnit
	for n := 1; err == nil && n > 0 && len(out) < limit; at += int64(n) {
		n, err = bq.Read(at, buf[:min(len(buf), limit-len(out))])
		for _, u := range buf[:n] {
			for next := max(offset, u.Base); next < u.Next() && len(out) < limit; next++ {
				out = append(out, QueueUnit{PhysicalOffset: u.PhysicalOffset, Size: u.Size, TagsCode: u.TagsCode})
			}
		}
	}
	if len(out) == 0 {
		return nil, fmt.Errorf("queue %s/%d has no offset %d: %w", topic, id, offset, errors.Join(ErrNotFound, err))
	}
	return out, nil
}

// batchByTime is OffsetByTime for batch queues, whose units have the store time.
func (s *Store) batchByTime(topic string, id int32, ms int64, b Boundary) (int64, error) {
	bq := s.batchQueue(topic, id)
	if bq == nil {
		return 0, fmt.Errorf("queue %s/%d: %w", topic, id, ErrNotFound)
	}
	first, end := bq.Range()
	at, err := bq.FindTime(ms, b == Upper)
	if err != nil {
		return 0, fmt.Errorf("queue %s/%d: %w", topic, id, err)
	}
	var u [1]consumequeue.BatchUnit
	n, err := bq.Read(at, u[:])
	if err != nil {
		return 0, fmt.Errorf("queue %s/%d: %w", topic, id, err)
	}
	offset := end
	if n == 1 {
		offset = u[0].Base
	}
	if b == Upper {
		offset--
	}
	return max(offset, first), nil
}

// hiddenBatches is hiddenBelow for batch queues, where a record stays whole.
func (s *Store) hiddenBatches(m *QueueMin) (at, n int64, err error) {
	bq := s.batchQueue(m.Topic, m.QueueID)
	if bq == nil {
		return 0, 0, fmt.Errorf("queue %s/%d: %w", m.Topic, m.QueueID, ErrNotFound)
	}
	phys := bq.MaxPhys() // before the range, so that what comes meanwhile is not hidden
	first, end := bq.Range()
	if m.Offset <= first || phys < 0 {
		return 0, 0, nil
	}
	if m.Offset >= end {
		return phys, end - first, nil
	}
	unit, err := bq.Find(m.Offset)
	var u [1]consumequeue.BatchUnit
	if err == nil {
		_, err = bq.Read(unit, u[:])
	}
	if err != nil || !u[0].Valid() {
		return 0, 0, fmt.Errorf("queue %s/%d: offset %d: %w", m.Topic, m.QueueID, m.Offset, errors.Join(ErrNotFound, err))
	}
	return u[0].PhysicalOffset, u[0].Base - first, nil
}
