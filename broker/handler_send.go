package broker

// SEND_MESSAGE 10, SEND_MESSAGE_V2 310, SEND_BATCH_MESSAGE 320: as Java's SendMessageProcessor.
//
// All sends that one read brought are checked, appended with one write and answered together. A message that is refused fails
// alone; only an error of the append itself fails all.
//
// Different from Java: a topic or broker without write permission refuses sends (Java leaves that to the route); a property
// string is kept byte for byte unless something in it must go. Half messages are made by txn.Prepare; one with a delay is refused, timed
// ones by divertTimer. Batches for topics with queue.type=BatchCQ, and light queues: handler_send_inner.go.

import (
	"sync"
	"time"

	"github.com/seedmq/seedmq/broker/delay"
	"github.com/seedmq/seedmq/remoting"
	"github.com/seedmq/seedmq/remoting/protocol"
	"github.com/seedmq/seedmq/store"
)

const sendKey = "send"

func (b *Broker) sendRoutes() []remoting.Route {
	row := func(code protocol.RequestCode) remoting.Route {
		return remoting.Route{Code: code, Mode: remoting.Batched, BatchKey: sendKey, HandleBatch: b.sendsAndEnds}
	}
	return []remoting.Route{row(protocol.ReqSendMessage), row(protocol.ReqSendMessageV2), row(protocol.ReqSendBatchMessage)}
}

// sender serves sends. Its methods may run for many connections at once.
type sender struct {
	b      *Broker
	levels *delay.Levels
	ids    *uniqIDs
	// stored is told of messages that are in the log: n of them, size bytes of records. It must be quick.
	stored func(topic string, n int, size int64)

	works   sync.Pool // *sendWork
	replies sync.Pool // *sendReplies
}

func newSender(b *Broker, levels *delay.Levels) *sender {
	s := &sender{b: b, levels: levels}
	s.works.New = func() any { return &sendWork{} }
	s.replies.New = func() any { return newSendReplies(s) }
	return s
}

// sendWork is the memory of one burst until its messages are appended.
type sendWork struct {
	batch  *store.Batch
	head   protocol.SendMessageRequestHeader
	headV2 protocol.SendMessageV2RequestHeader
	view   protocol.PropertyView
	msg    store.Message
	props  []byte // the message's properties, rewritten
	delay  []byte // the same for a delayed message
	group  []store.Message
	now    time.Time // when the burst began
	set    *settings
}

// serve handles the sends of one burst.
func (s *sender) serve(c remoting.Conn, reqs []*protocol.Command) {
	w := s.works.Get().(*sendWork)
	r := s.replies.Get().(*sendReplies)
	s.begin(w)
	r.begin(c, w.set, len(reqs))
	ses := sessionOf(c)
	for i, req := range reqs {
		it := &r.items[i]
		it.begin(req)
		if err := s.add(c, ses, w, req, it); err != nil {
			it.refused = refusal(err)
		}
	}
	end := s.append(w, r)
	s.works.Put(w)
	r.answer(end)
}

func (s *sender) begin(w *sendWork) {
	if w.batch == nil {
		w.batch = s.b.store.NewBatch()
	}
	w.batch.Reset()
	w.now = s.b.clk.Now()
	w.set = s.b.settings()
}

// append writes the batch and notes in r where its messages went.
func (s *sender) append(w *sendWork, r *sendReplies) (end int64) {
	if w.batch.Len() == 0 {
		return 0
	}
	if err := s.b.store.Append(w.batch); err != nil {
		why := storeRefusal(err)
		for i := range r.items {
			if r.items[i].refused == nil {
				r.items[i].refused = why
			}
		}
		s.b.stats.AddPutFailed(int64(w.batch.Len()))
		return 0
	}
	s.b.stats.AddPutTime(s.b.clk.Now().Sub(w.now), int64(w.batch.Len()))
	var topic string
	var n int
	var size int64
	for i := range r.items {
		it := &r.items[i]
		if it.refused != nil {
			continue
		}
		r.ids = it.place(w.batch, w.set, r.ids)
		if it.topic != topic && n > 0 {
			s.tell(topic, n, size)
			n, size = 0, 0
		}
		topic = it.topic
		n += int(it.count)
		size += it.size
	}
	s.tell(topic, n, size)
	return w.batch.End()
}

func (s *sender) tell(topic string, n int, size int64) {
	if n > 0 && s.stored != nil {
		s.stored(topic, n, size)
	}
}
