package broker

import (
	"strings"
	"sync/atomic"
	"unsafe"

	"github.com/seedmq/seedmq/remoting"
	"github.com/seedmq/seedmq/remoting/protocol"
	"github.com/seedmq/seedmq/store"
)

// keepIDs bounds the memory for ids that replies keep when they are idle.
const keepIDs = 256 << 10

// sendItem is what the reply to one send needs.
type sendItem struct {
	opaque, flag int32
	refused      *Refusal
	wait         bool // the sender wants to wait for the flush
	pending      bool // not answered yet
	queueID      int32
	queueOffset  int64
	phys         int64
	size         int64
	first, count int32  // place in the batch
	topic        string // for statistics
	txID         string // UNIQ_KEY of the request; aliases it until detach
	id           [uniqIDLen]byte
	madeID       bool   // id is the UNIQ_KEY
	batchIDs     string // ids of a batch, joined; aliases the replies' ids
	inner        bool   // a batch that is one record
	realTopic    string // of a timed message that can be recalled
	timerOut     int64  // and its TIMER_OUT_MS
}

func (it *sendItem) begin(req *protocol.Command) {
	*it = sendItem{opaque: req.Opaque, flag: req.Flag}
}

// uniqKey is the message's UNIQ_KEY. A made one aliases the item.
func (it *sendItem) uniqKey() string {
	if it.madeID {
		return unsafe.String(&it.id[0], len(it.id))
	}
	return it.txID
}

// place notes where the batch put the message, and makes the ids of a batch's messages in ids, which it returns.
func (it *sendItem) place(b *store.Batch, set *settings, ids []byte) []byte {
	r := b.Result(int(it.first))
	it.queueOffset, it.phys, it.size = r.QueueOffset, r.PhysicalOffset, int64(r.Size)
	if it.count <= 1 || it.inner {
		return ids
	}
	if room := int(it.count) * (len(set.selfHex) + physHexLen + 1); cap(ids)-len(ids) < room {
		ids = make([]byte, 0, max(room, 2*cap(ids))) // those of the items before stay in the old one
	}
	from := len(ids)
	for i := range it.count {
		r := b.Result(int(it.first + i))
		if i > 0 {
			ids = append(ids, ',')
			it.size += int64(r.Size)
		}
		ids = set.appendMsgID(ids, r.PhysicalOffset)
	}
	it.batchIDs = unsafe.String(&ids[from], len(ids)-from)
	return ids
}

// States of sendReplies between the call of AwaitSafe and its answer. Under async flush the answer comes during the call:
//
//	calling → answered            the caller writes the replies
//	calling → detached → (reply)  the answer comes later, on another goroutine, which writes them
const (
	repliesCalling int32 = iota
	repliesAnswered
	repliesDetached
)

// sendReplies are the replies to one burst of sends, waiting until the messages are safe. It is pooled; one goroutine at a time has it.
type sendReplies struct {
	s     *sender
	c     remoting.Conn
	set   *settings
	items []sendItem
	ids   []byte // of the messages of batches
	state atomic.Int32
	safe  error

	outside bool // the replies are written outside of ServeBurst, and gathered in out
	out     remoting.ReplyBatch

	onSafe func(error) // safeNow, made once
	req    protocol.Command
	reply  remoting.Reply
	head   sendHeader
}

func newSendReplies(s *sender) *sendReplies {
	r := &sendReplies{s: s}
	r.onSafe = r.safeNow
	return r
}

func (r *sendReplies) begin(c remoting.Conn, set *settings, n int) {
	if cap(r.items) < n {
		r.items = make([]sendItem, n)
	}
	r.c, r.set, r.items, r.safe, r.outside, r.ids = c, set, r.items[:n], nil, false, r.ids[:0]
}

// answer replies to what need not wait, and to the rest once everything below end is safe.
func (r *sendReplies) answer(end int64) {
	waiting := false
	for i := range r.items {
		it := &r.items[i]
		if it.pending = it.refused == nil && it.wait; it.pending {
			waiting = true
			continue
		}
		r.write(it)
	}
	if !waiting {
		r.release()
		return
	}
	r.state.Store(repliesCalling)
	r.s.b.store.AwaitSafe(end, r.onSafe)
	if r.state.Load() == repliesCalling {
		r.detach()
		if r.state.CompareAndSwap(repliesCalling, repliesDetached) {
			return
		}
	}
	r.finish()
}

// safeNow is the store's answer.
func (r *sendReplies) safeNow(err error) {
	r.safe = err
	if r.state.CompareAndSwap(repliesCalling, repliesAnswered) {
		return
	}
	r.outside = true
	r.finish()
}

// finish writes the replies that waited.
func (r *sendReplies) finish() {
	if r.safe != nil {
		r.fail(storeRefusal(r.safe))
	}
	for i := range r.items {
		if it := &r.items[i]; it.pending {
			r.write(it)
		}
	}
	if r.outside {
		r.out.Flush()
	}
	r.release()
}

// fail gives the waiting messages a code: they are in the log, but not known to be safe.
func (r *sendReplies) fail(why *Refusal) {
	for i := range r.items {
		if it := &r.items[i]; it.pending {
			it.refused = why
		}
	}
}

// detach copies what aliases the requests, which end with the burst.
func (r *sendReplies) detach() {
	for i := range r.items {
		if it := &r.items[i]; it.pending && !it.madeID {
			it.txID = strings.Clone(it.txID)
		}
	}
}

func (r *sendReplies) release() {
	clear(r.items)
	r.c, r.set = nil, nil
	if cap(r.ids) > keepIDs {
		r.ids = nil
	}
	r.s.replies.Put(r)
}

// write sends one reply.
func (r *sendReplies) write(it *sendItem) {
	r.req.Opaque, r.req.Flag = it.opaque, it.flag
	r.head.it, r.head.set = it, r.set
	r.reply = remoting.Reply{Header: &r.head}
	if it.refused != nil {
		r.reply.Code, r.reply.Remark = it.refused.Code, it.refused.Remark
	}
	if r.outside {
		r.out.Reply(r.c, &r.req, &r.reply)
		return
	}
	r.c.Reply(&r.req, &r.reply)
}

// sendHeader is SendMessageResponseHeader written straight from an item.
type sendHeader struct {
	it  *sendItem
	set *settings
}

// EncodeExt writes the fields. Region and trace switch are always there: Java's client needs at least one field.
func (h *sendHeader) EncodeExt(w *protocol.ExtWriter) {
	it := h.it
	if it.count == 1 && !it.inner && it.realTopic == "" && !w.Binary() {
		h.encodePlain(w)
		return
	}
	if it.count > 0 {
		if it.batchIDs != "" {
			w.String("msgId", it.batchIDs)
		} else {
			var id [56]byte
			w.String("msgId", string(h.set.appendMsgID(id[:0], it.phys)))
		}
		w.Int32("queueId", it.queueID)
		w.Int64("queueOffset", it.queueOffset)
		w.OptString("transactionId", it.uniqKey())
		if it.inner {
			w.String("batchUniqId", it.uniqKey())
		}
		if it.realTopic != "" {
			w.String("recallHandle", h.recallHandle())
		}
	}
	w.String("MSG_REGION", h.set.RegionID)
	w.Bool("TRACE_ON", h.set.TraceOn)
}

// encodePlain writes the reply to a plain message in the JSON encoding, as EncodeExt would, from parts that are ready.
func (h *sendHeader) encodePlain(w *protocol.ExtWriter) {
	it := h.it
	w.Raw(h.set.replyHead)
	w.RawHex(uint64(it.phys))
	w.Raw(`","queueId":"`)
	w.RawInt64(int64(it.queueID))
	w.Raw(`","queueOffset":"`)
	w.RawInt64(it.queueOffset)
	if id := it.uniqKey(); id != "" {
		w.Raw(`","transactionId":"`)
		w.RawText(id)
	}
	w.Raw(h.set.replyTail)
}
