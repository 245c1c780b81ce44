package txn

import (
	"cmp"
	"math/bits"
	"slices"
)

// queue is the state of one half queue. Service.mu guards it.
type queue struct {
	id   int32
	head int64 // every half message before it is ended
	tail int64 // queue offset after the newest half message that is known
	done bitmap
	// claims are the half messages that somebody is ending or putting back.
	claims map[int64]struct{}
	// copies are the transactions that were put back, by root.
	copies map[int64]trail
	// published is the head that was last handed out to be saved, before the one before it: what lies before it needs no mark.
	published, publishing int64

	ops    []opEntry // op messages from opNext on, by offset
	opNext int64     // every op message before it marks only what lies before head
}

// trail is where the records of a transaction are that was put back: the newest, and between it and the root those that a broker could take
// for open whose progress was not saved.
type trail struct {
	cur  int64
	past []int64
}

// opEntry is an op message: where it is, and the last half message that it marks.
type opEntry struct{ offset, max int64 }

func newQueue(id int32, head, tail, opNext int64) *queue {
	q := &queue{id: id, head: head, tail: tail, opNext: opNext, published: head, publishing: head, claims: map[int64]struct{}{}, copies: map[int64]trail{}}
	q.done.base = head &^ 63
	return q
}

// current is the newest record of the transaction that the record at offset belongs to, and whether it is open.
func (q *queue) current(offset, root int64) (cur int64, open bool) {
	c, there := q.copies[root]
	if cur = c.cur; !there {
		if cur = root; offset != root {
			return offset, false // all records of an open transaction that was put back are known
		}
	}
	return cur, cur >= q.head && !q.done.has(cur)
}

func (q *queue) claimed(offset int64) bool {
	_, there := q.claims[offset]
	return there
}

// finish notes that a half message is ended.
func (q *queue) finish(root, cur int64) {
	q.close(cur)
	delete(q.copies, root)
}

// replace notes that a half message was put back to offset to.
func (q *queue) replace(root, cur, to int64) {
	q.close(cur)
	past := slices.DeleteFunc(slices.Clone(q.copies[root].past), func(n int64) bool { return n < q.published })
	if cur != root {
		past = append(past, cur)
	}
	q.copies[root] = trail{to, past}
}

func (q *queue) close(cur int64) {
	if cur < q.head {
		return
	}
	q.done.set(cur)
	q.head = q.done.nextClear(q.head)
	q.done.forget(q.head)
	q.tail = max(q.tail, q.head)
}

// noteOp adds an op message. They may come in any order.
func (q *queue) noteOp(e opEntry) {
	if e.offset < q.opNext {
		return
	}
	i, there := slices.BinarySearchFunc(q.ops, e, func(a, b opEntry) int { return cmp.Compare(a.offset, b.offset) })
	if !there {
		q.ops = slices.Insert(q.ops, i, e)
	}
}

// advanceOps passes op messages that nothing needs any more.
func (q *queue) advanceOps() {
	n := 0
	for n < len(q.ops) && q.ops[n].offset == q.opNext && q.ops[n].max < q.head {
		n++
		q.opNext++
	}
	q.ops = slices.Delete(q.ops, 0, n)
}

// nextOpen is the first half message from offset on, before end, that is neither ended nor claimed.
func (q *queue) nextOpen(offset, end int64) (int64, bool) {
	for offset = max(offset, q.head); offset < end; offset++ {
		if offset = q.done.nextClear(offset); offset < end && !q.claimed(offset) {
			return offset, true
		}
	}
	return 0, false
}

// bitmap is a set of offsets from base on, which is a multiple of 64.
type bitmap struct {
	base  int64
	words []uint64
}

func (b *bitmap) has(n int64) bool {
	i := (n - b.base) >> 6
	return n >= b.base && i < int64(len(b.words)) && b.words[i]&(1<<(n&63)) != 0
}

// set adds n, which is not below base.
func (b *bitmap) set(n int64) {
	i := int((n - b.base) >> 6)
	if i >= len(b.words) {
		b.words = append(b.words, make([]uint64, i+1-len(b.words))...)
	}
	b.words[i] |= 1 << (n & 63)
}

// nextClear is the first offset from n on that is not in the set.
func (b *bitmap) nextClear(n int64) int64 {
	if n < b.base {
		return n
	}
	for i := int((n - b.base) >> 6); i < len(b.words); i++ {
		clear := ^b.words[i] &^ (1<<(n&63) - 1)
		if clear != 0 {
			return b.base + int64(i)<<6 + int64(bits.TrailingZeros64(clear))
		}
		n = b.base + int64(i+1)<<6
	}
	return n
}

// forget drops words before n, once they are half of all.
func (b *bitmap) forget(n int64) {
	k := min(int((n-b.base)>>6), len(b.words))
	if k <= 0 && n < b.base+64 || 2*k < len(b.words) {
		return
	}
	b.words = slices.Delete(b.words, 0, k)
	b.base += int64(k) << 6
	if len(b.words) == 0 {
		b.base = n &^ 63
	}
}

// recent remembers the outcomes of the transactions that ended last, to tell a repetition from a contradiction.
type recent struct {
	outcomes map[ended]Outcome
	order    []ended
	next     int
}

// ended names a transaction.
type ended struct {
	queueID int32
	root    int64
}

// recentLimit is how many outcomes are remembered.
const recentLimit = 16384

func (r *recent) add(e ended, o Outcome) {
	if r.outcomes == nil {
		r.outcomes = map[ended]Outcome{}
	}
	n := len(r.outcomes)
	r.outcomes[e] = o
	switch {
	case len(r.outcomes) == n: // it was there
	case len(r.order) < recentLimit:
		r.order = append(r.order, e)
	default:
		delete(r.outcomes, r.order[r.next])
		r.order[r.next] = e
		r.next = (r.next + 1) % recentLimit
	}
}
