package txn

import (
	"strings"

	"github.com/seedmq/seedmq/remoting/protocol"
	"github.com/seedmq/seedmq/store"
)

// An outcome and its mark are one append, the outcome first. A power failure may take the outcome and leave the mark, when the disk
// wrote what is behind before what is in front: recovery then fills the hole, and keeps the mark. Such a mark is not believed. Its transaction
// is stored anew, as a half message of its own, before anything else is done, so that the mark may stand.

// doubtful is how many records behind a hole can have been stored together with what was in it.
const doubtful = 2048

// doubts finds marks that may tell of what was lost.
type doubts struct {
	s     *Service
	holes []store.LogRange
	// kept are the log positions of half messages whose outcomes are there.
	kept map[int64]bool
	// marks are the half messages, by queue offset, whose marks are not believed.
	marks map[int64]bool
}

func (s *Service) newDoubts() *doubts {
	d := &doubts{s: s, kept: map[int64]bool{}, marks: map[int64]bool{}}
	if s.o.Mended != nil {
		d.holes = s.o.Mended()
	}
	return d
}

// look notes the marks of an op message at a log position when the append that stored it may have begun in a hole.
func (d *doubts) look(phys int64, body string) {
	for i := len(d.holes) - 1; i >= 0; i-- {
		if d.holes[i].To > phys {
			continue
		}
		if d.together(d.holes[i].To, phys) {
			eachMark(body, func(n int64) { d.marks[n] = true })
		}
		return
	}
}

// together says that all records between from and to could be of one append: outcomes and marks. It takes note of the outcomes.
func (d *doubts) together(from, to int64) bool {
	var rec []byte
	var err error
	for n := 0; from < to; n++ {
		if n == doubtful {
			return false
		}
		if rec, err = d.s.o.Source.Record(from, rec[:0]); err != nil {
			return true // the end of a file, or another hole
		}
		var v protocol.MessageView
		if _, err := protocol.DecodeMessage(rec, &v); err != nil {
			return true
		}
		switch {
		case v.SysFlag&protocol.SysFlagTransactionMask == protocol.SysFlagTransactionCommit:
			d.kept[v.PreparedTransactionOffset] = true
		case v.Topic != protocol.TopicOpHalf && v.Topic != protocol.TopicTransCheckMaxTime:
			return false
		}
		from += int64(len(rec))
	}
	return true
}

// reopen stores the transactions anew whose marks are not believed.
func (s *Service) reopen(q *queue, d *doubts) error {
	if len(d.marks) == 0 {
		return nil
	}
	newest, first := map[int64]*Half{}, q.tail // by root
	kept := map[int64]bool{}
	for n := range d.marks {
		h, err := s.read(q.id, n)
		if err != nil {
			continue // gone: nothing can be said of it any more
		}
		if d.kept[h.PhysicalOffset] {
			kept[h.Root] = true
		}
		if old := newest[h.Root]; old == nil || old.QueueOffset < n {
			newest[h.Root] = h
		}
		first = min(first, n)
	}
	keys := map[string]int64{} // UNIQ_KEY → root
	for root, h := range newest {
		if !kept[root] {
			keys[strings.Clone(h.Props.UniqKey)] = root
		}
	}
	err := s.eachRecord(protocol.TopicHalf, q.id, first+1, q.tail, func(offset int64, rec []byte) {
		h, err := decodeHalf(rec)
		if err != nil {
			return
		}
		if root, there := keys[h.Props.UniqKey]; there && h.Root == offset && root != offset {
			delete(keys, h.Props.UniqKey) // it was stored anew at the start before
		}
	})
	if err != nil || len(keys) == 0 {
		return err
	}
	b := s.batches.Get().(Batch)
	defer s.batches.Put(b)
	b.Reset()
	for _, root := range keys {
		m := newest[root].anew()
		if err := b.Add(&m); err != nil {
			s.o.Log.Errorf("transaction %s, whose outcome was lost, cannot be stored again: %v", newest[root].Props.UniqKey, err)
		}
	}
	s.o.Log.Warnf("%d transactions are open again: a power failure may have taken their outcomes and left what says that they have ended", len(keys))
	if b.Len() == 0 {
		return nil
	}
	if err := b.Append(); err != nil {
		return err
	}
	q.tail = max(q.tail, b.Result(b.Len()-1).QueueOffset+1)
	return nil
}

// anew is h as a transaction of its own, which nobody was asked about: one with checks would be taken for a record that Java's broker put back.
func (h *Half) anew() store.Message {
	m := h.message()
	p := protocol.ParseProperties(h.Properties)
	delete(p, protocol.PropertyTransactionPreparedOffset)
	p[protocol.PropertyTransactionCheckTimes] = "0"
	m.Topic, m.QueueID, m.Properties = protocol.TopicHalf, h.QueueID, p.Encode()
	return m
}
