package pop

import (
	"errors"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/seedmq/seedmq/broker/offset"
	"github.com/seedmq/seedmq/conf/clock"
	"github.com/seedmq/seedmq/remoting/protocol"
	"github.com/seedmq/seedmq/store"
)

// ReviveGroup is the group whose offsets say how far the revive topic is done. Unlike others they name the last record that is done.
const ReviveGroup = "CID_RMQ_SYS_REVIVE_GROUP"

const (
	reviveEvery = 200 * time.Millisecond
	// graceMs is how long after its time a check point is open for acks: those that were on their way, and those that come through the timer.
	graceMs = 1000
	// readAtOnce and readBytes bound one read of the revive topic.
	readAtOnce = 512
	readBytes  = 1 << 20
	// messageBytes bounds a message that is read to be revived: larger than any.
	messageBytes = 1 << 30
)

// reviver follows one queue of the revive topic. Only the goroutine that calls Revive uses it.
type reviver struct {
	s    *Service
	id   int32
	done atomic.Int64 // last record that is done; -1: none
	due  atomic.Int64 // ms: when the time of the first in wait is over; 0: none
	next int64        // to be read
	wait []*waiting   // in the order of the queue
	by   map[mergeKey]*waiting
	buf  []byte
	msg  []byte
}

// waiting is a check point whose time is near.
type waiting struct {
	Checkpoint
	over bool
}

func newReviver(s *Service, id int32) *reviver {
	r := &reviver{s: s, id: id, by: map[mergeKey]*waiting{}}
	r.done.Store(-1)
	return r
}

func (r *reviver) key() offset.Key {
	return offset.Key{Group: ReviveGroup, Topic: r.s.o.ReviveTopic, QueueID: r.id}
}

// load finds out where to go on. The journal is newer than the offset table's file.
func (r *reviver) load(journalled map[int32]int64) {
	done := int64(-1)
	if off, ok := r.s.o.Offsets.Query(r.key()); ok {
		done = off
	}
	if off, ok := journalled[r.id]; ok {
		done = max(done, off)
	}
	_, end, _ := r.s.o.Source.QueueRange(r.s.o.ReviveTopic, r.id)
	if done = min(done, end-1); done >= 0 {
		r.s.o.Offsets.Commit(r.key(), done, offset.Origin{})
	}
	r.done.Store(done)
	r.next = done + 1
}

// Revive brings back what was not acknowledged in time. The service calls it by itself; tests do, too.
func (s *Service) Revive() {
	for _, r := range s.revivers {
		if err := r.run(); err != nil {
			s.o.Log.Limited(s.o.Clock, "revive", logEvery).Errorf("revive topic, queue %d: stands still at record %d: %v", r.id, r.done.Load()+1, err)
		}
	}
}

func (r *reviver) run() error {
	for {
		n := r.read()
		if err := r.settle(n == 0); err != nil {
			return err
		}
		if n == 0 {
			return nil
		}
	}
}

// read takes the next records of the queue in, and returns how many.
func (r *reviver) read() int {
	get := store.GetRequest{Topic: r.s.o.ReviveTopic, QueueID: r.id, Offset: r.next, MaxCount: readAtOnce, MaxBytes: readBytes}
	var res store.GetResult
	r.buf, res = r.s.o.Source.Get(&get, r.buf[:0])
	if res.Status != store.GetFound {
		if res.NextBeginOffset > r.next && res.Status != store.GetOffsetOverflowOne {
			r.next = res.NextBeginOffset // old records are gone
			return 1
		}
		return 0
	}
	for recs := r.buf; len(recs) > 0; {
		var v protocol.MessageView
		n, err := protocol.DecodeMessage(recs, &v)
		if err != nil {
			r.s.o.Log.Errorf("revive topic, queue %d: a record from offset %d on cannot be read: %v", r.id, r.next, err)
			break
		}
		r.take(&v)
		recs = recs[n:]
	}
	r.next = res.NextBeginOffset
	return res.Count
}

// take notes one record.
func (r *reviver) take(v *protocol.MessageView) {
	tags, _ := v.Property(protocol.PropertyTags)
	var err error
	switch tags {
	case tagCheckpoint:
		var c Checkpoint
		if c, err = DecodeCheckpoint(v.Body); err == nil {
			r.add(&c, v.QueueOffset)
		}
	case tagAck, tagBatchAck:
		var a Ack
		if a, err = DecodeAck(v.Body, tags == tagBatchAck); err == nil {
			r.ack(&a)
		}
	}
	if err != nil {
		r.s.o.Log.Errorf("revive topic, queue %d: record %d is passed over: %v", r.id, v.QueueOffset, err)
	}
}

func (r *reviver) add(c *Checkpoint, at int64) {
	w := &waiting{Checkpoint: *c}
	w.ReviveOffset = at
	w.Topic, w.Group, w.Broker, w.RePuts = strings.Clone(c.Topic), strings.Clone(c.Group), strings.Clone(c.Broker), strings.Clone(c.RePuts)
	if old := r.by[w.key()]; old != nil { // the same one again, as after a kill
		old.over = true
		w.Bits |= old.Bits
	}
	r.by[w.key()] = w
	r.wait = append(r.wait, w)
}

func (r *reviver) ack(a *Ack) {
	w := r.by[a.key(r.s.o.Broker)]
	if w == nil {
		return
	}
	for _, o := range a.Offsets {
		if i := w.index(o); i >= 0 {
			w.Bits |= 1 << i
		}
	}
}

// settle brings back what is due. end says that all records of the queue are read.
func (r *reviver) settle(end bool) error {
	now := clock.Millis(r.s.o.Clock)
	if behind := r.s.o.TimerBehind(); behind > 0 {
		now -= behind.Milliseconds() // acks of that time may still be in the timer
	}
	n := 0
	t := r.s.Begin()
	defer t.free()
	var revived []*waiting
	for n < len(r.wait) && t.records < recordsAtOnce {
		w := r.wait[n]
		if !w.over && (now < w.ReviveTime()+graceMs || !end) {
			break
		}
		n++
		if w.over {
			continue
		}
		revived = append(revived, w)
		if err := r.revive(t, w); err != nil {
			t.s.restore(revived)
			return err
		}
	}
	if err := r.flush(t, revived); err != nil {
		return err
	}
	for _, w := range r.wait[:n] {
		if r.by[w.key()] == w {
			delete(r.by, w.key())
		}
	}
	r.wait = slices.Delete(r.wait, 0, n)
	r.commit(t, end)
	if n > 0 && end && len(r.wait) > 0 {
		return r.settle(end)
	}
	return nil
}

// flush stores the messages that come back. On an error their check points wait on.
func (r *reviver) flush(t *Turn, revived []*waiting) error {
	s := r.s
	if t.records > 0 {
		end, err := t.sink.Append()
		if err == nil {
			safe := make(chan error, 1)
			s.o.AwaitSafe(end, func(err error) { safe <- err })
			if err = <-safe; errors.Is(err, store.ErrFlushTimeout) {
				err = nil // it is in the log
			}
		}
		t.records = 0
		t.sink.Reset()
		if err != nil {
			s.restore(revived)
			return err
		}
	}
	for _, w := range revived {
		s.finish(t, &w.Checkpoint)
	}
	return nil
}

// commit notes how far the queue is done.
func (r *reviver) commit(t *Turn, end bool) {
	done, due := r.next-1, int64(0)
	if len(r.wait) > 0 {
		done, due = r.wait[0].ReviveOffset-1, r.wait[0].ReviveTime()
	}
	r.due.Store(due)
	if done > r.done.Load() {
		r.done.Store(done)
		t.j.revived(r.id, done)
		r.s.o.Offsets.Commit(r.key(), done, offset.Origin{})
	}
	r.s.note(&t.j)
}

// revive adds the messages of w that nobody acknowledged to the batch.
func (r *reviver) revive(t *Turn, w *waiting) error {
	s := r.s
	if !s.o.HasTopic(NormalTopic(w.Topic, w.Group)) || !s.o.HasGroup(w.Group) {
		return nil
	}
	w.Bits |= s.claim(&w.Checkpoint)
	for i := range int(w.Count) {
		if w.Bits&(1<<i) != 0 {
			continue
		}
		if err := r.message(t, w, w.offset(i)); err != nil {
			return err
		}
	}
	return nil
}

// claim takes the bits of a check point that is known here; from now on acks of it come too late.
func (s *Service) claim(c *Checkpoint) uint32 {
	if c.Broker != s.o.Broker {
		return 0
	}
	q := s.lock(queueKey{c.Topic, c.Group, c.QueueID})
	if q == nil {
		return 0
	}
	defer q.mu.Unlock()
	id := pointID{c.StartOffset, c.PopTime}
	p := q.points[id]
	if p == nil && q.wasThereLocked(id) {
		return ^uint32(0) // it is over: the timer has brought its record twice, as after a kill
	}
	if p == nil || p.Count != c.Count {
		return 0
	}
	p.claimed = true
	return p.Bits
}

// restore takes claims back.
func (s *Service) restore(list []*waiting) {
	for _, w := range list {
		if q := s.lock(queueKey{w.Topic, w.Group, w.QueueID}); q != nil {
			if p := q.points[pointID{w.StartOffset, w.PopTime}]; p != nil {
				p.claimed = false
			}
			q.mu.Unlock()
		}
	}
}

// finish forgets a check point whose messages came back.
func (s *Service) finish(t *Turn, c *Checkpoint) {
	q := s.lock(queueKey{c.Topic, c.Group, c.QueueID})
	if q == nil {
		return
	}
	defer q.mu.Unlock()
	if p := q.points[pointID{c.StartOffset, c.PopTime}]; p != nil {
		if p.state != stored {
			s.held.Add(-1)
		}
		q.dropLocked(p)
		t.freeLocked(q)
		t.j.of(entryGone, q, p)
		s.advanceLocked(q)
	}
}

// message adds the copy of the message at off to the batch. One that is not there any more is passed over.
func (r *reviver) message(t *Turn, w *waiting, off int64) error {
	s := r.s
	get := store.GetRequest{Topic: w.Topic, QueueID: w.QueueID, Offset: off, MaxCount: 1, MaxBytes: messageBytes}
	var res store.GetResult
	r.msg, res = s.o.Source.Get(&get, r.msg[:0])
	if res.Status != store.GetFound || res.NextBeginOffset != off+1 {
		s.o.Log.Limited(s.o.Clock, "revive-gone", logEvery).Warnf("group %s: message %d of topic %s queue %d was not acknowledged and is not in the log any more", w.Group, off, w.Topic, w.QueueID)
		return nil
	}
	var v protocol.MessageView
	if _, err := protocol.DecodeMessage(r.msg, &v); err != nil {
		s.o.Log.Errorf("message %d of topic %s queue %d cannot be read: %v", off, w.Topic, w.QueueID, err)
		return nil
	}
	topic, err := s.o.Retry(&w.Checkpoint, v.ReconsumeTimes)
	if err != nil {
		return err
	}
	var p protocol.PropertyView
	p.Parse(v.Properties)
	t.props = retryProperties(t.props[:0], &v, &p, w)
	self := s.o.Self()
	m := store.Message{Topic: topic, Flag: v.Flag, SysFlag: v.SysFlag, BornTimestamp: v.BornTimestamp, BornHost: self, StoreHost: self,
		ReconsumeTimes: v.ReconsumeTimes + 1, Properties: t.props, Body: v.Body, Tags: p.Tags, Keys: p.Keys, UniqKey: p.UniqKey}
	if err := t.sink.Add(&m); err != nil {
		s.o.Log.Errorf("message %d of topic %s queue %d is too large for its retry: %v", off, w.Topic, w.QueueID, err)
		return nil
	}
	t.records++
	s.o.Revived(topic, len(v.Body)+len(t.props))
	return nil
}

// retryProperties are those of a copy: since when the message is popped, and by which group, as Java notes them.
func retryProperties(dst []byte, v *protocol.MessageView, p *protocol.PropertyView, w *waiting) []byte {
	dst = append(dst, v.Properties...)
	if n := len(dst); n > 0 && dst[n-1] != protocol.PropertySeparator {
		dst = append(dst, protocol.PropertySeparator)
	}
	if p.FirstPopTime == "" {
		dst = protocol.AppendProperty(dst, protocol.PropertyFirstPopTime, strconv.FormatInt(w.PopTime, 10))
	}
	if _, has := v.Property(protocol.PropertyOriginGroup); !has {
		dst = protocol.AppendProperty(dst, protocol.PropertyOriginGroup, w.Group)
	}
	return dst
}
