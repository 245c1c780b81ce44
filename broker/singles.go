package broker

import (
	"github.com/seedmq/seedmq/remoting/protocol"
	"github.com/seedmq/seedmq/store"
)

// singles is the store for those who count messages, not records: it takes batches apart, and gives the records of light queues the
// offsets that they have there. What is acknowledged and given out again are single messages then.
type singles struct{ *store.Store }

// Get is Store.Get. At most MaxCount messages are given, also of a batch that has more, from the offset asked for on.
func (s singles) Get(r *store.GetRequest, dst []byte) ([]byte, store.GetResult) {
	at := len(dst)
	dst, res := s.Store.Get(r, dst)
	if res.Status != store.GetFound {
		return dst, res
	}
	switch {
	case protocol.IsLMQ(r.Topic):
		setLightOffsets(dst[at:], r.Topic)
	case s.IsBatchQueue(r.Topic, r.QueueID):
		return takeApart(r, dst, at, res)
	}
	return dst, res
}

// setLightOffsets is setLightOffset for records that lie one behind the other.
func setLightOffsets(recs []byte, queue string) {
	var v protocol.MessageView
	for len(recs) > 0 {
		n, err := protocol.DecodeMessage(recs, &v)
		if err != nil {
			return // whoever reads on will see
		}
		setLightOffset(recs[:n], &v, queue)
		recs = recs[n:]
	}
}

// takeApart makes single messages of what a Get found of a batch queue, which is in dst from at on.
func takeApart(r *store.GetRequest, dst []byte, at int, res store.GetResult) ([]byte, store.GetResult) {
	recs := append([]byte(nil), dst[at:]...)
	dst, res.Count = dst[:at], 0
	var v protocol.MessageView
	for len(recs) > 0 {
		n, err := protocol.DecodeMessage(recs, &v)
		if err != nil {
			break
		}
		if !store.IsInnerBatch(v.SysFlag) {
			if res.Count == r.MaxCount {
				res.NextBeginOffset = v.QueueOffset
				break
			}
			dst = append(dst, recs[:n]...)
			res.Count++
		} else if full := takeMembers(r, &dst, &v, &res); full {
			break
		}
		recs = recs[n:]
	}
	if res.Bytes = len(dst) - at; res.Count == 0 {
		res.Status = store.GetNoMatched
	}
	return dst, res
}

// takeMembers appends the messages of a batch that are wanted; full says that one of them has no room.
func takeMembers(r *store.GetRequest, dst *[]byte, v *protocol.MessageView, res *store.GetResult) (full bool) {
	err := store.EachInner(v, func(m *protocol.BatchEntry, i int) bool {
		offset, at := v.QueueOffset+int64(i), len(*dst)
		if offset < r.Offset {
			return true
		}
		if full = res.Count == r.MaxCount; full {
			res.NextBeginOffset = offset
			return false
		}
		*dst = store.AppendInner(*dst, v, m, i)
		if r.Filter != nil && !matchInner(r.Filter, m, (*dst)[at:]) {
			*dst = (*dst)[:at]
			return true
		}
		res.Count++
		return true
	})
	_ = err // the broker counted them when it took the batch; what cannot be read ends it
	return full
}
