package broker

import (
	"time"

	"github.com/seedmq/seedmq/store"
)

// A pull whose filter drops most of what it looks at goes on until its answer is full, instead of coming back for each 800 messages, but
// not beyond these: the connection's other requests wait meanwhile.
const (
	lookMost = 4000 // messages
	lookTime = time.Millisecond
)

// get reads from the store as store.Get does, further with a filter.
func (p *puller) get(r *store.GetRequest, dst []byte) ([]byte, store.GetResult) {
	dst, res := p.b.store.Get(r, dst)
	if r.Filter == nil || !unfinished(r, &res) {
		return dst, res
	}
	for until := p.b.clk.Now().Add(lookTime); unfinished(r, &res) && p.b.clk.Now().Before(until); {
		next := *r
		next.Offset, next.MaxCount, next.MaxBytes = res.NextBeginOffset, r.MaxCount-res.Count, r.MaxBytes-res.Bytes
		longer, more := p.b.store.Get(&next, dst)
		tooMuch := res.Count > 0 && more.Bytes > next.MaxBytes // the first record comes whatever its size
		if !looked(&more) || more.NextBeginOffset <= next.Offset || tooMuch {
			return dst, res
		}
		dst = longer
		more.Count, more.Bytes = more.Count+res.Count, more.Bytes+res.Bytes
		if res.Status == store.GetFound {
			more.Status = store.GetFound
		}
		res = more
	}
	return dst, res
}

// unfinished says that a Get stopped before its answer was full or the queue was at its end.
func unfinished(r *store.GetRequest, res *store.GetResult) bool {
	return looked(res) && res.Count < r.MaxCount && res.Bytes < r.MaxBytes && res.NextBeginOffset < res.MaxOffset && res.NextBeginOffset-r.Offset < lookMost
}

func looked(res *store.GetResult) bool {
	return res.Status == store.GetFound || res.Status == store.GetNoMatched
}
