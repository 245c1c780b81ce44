package broker

// END_TRANSACTION 37, RESUME_CHECK_HALF_MESSAGE 323; CHECK_TRANSACTION_STATE 39 is sent: as Java's EndTransactionProcessor,
// AdminBrokerProcessor and AbstractTransactionalMessageCheckListener.
//
// All ends that one read brought are stored with one append. Nothing waits for the disk: what a crash takes back is asked again.
//
// Different from Java: a transaction that has ended takes no second outcome: nothing is stored, and the reply says 1 when the outcomes
// differ. RESUME_CHECK_HALF_MESSAGE takes only messages that were given up, each once; for an open half message it asks the
// producer at once.

import (
	"errors"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/seedmq/seedmq/broker/clients"
	"github.com/seedmq/seedmq/broker/offset"
	"github.com/seedmq/seedmq/broker/txn"
	"github.com/seedmq/seedmq/conf/clock"
	"github.com/seedmq/seedmq/remoting"
	"github.com/seedmq/seedmq/remoting/protocol"
	"github.com/seedmq/seedmq/store"
)

func (b *Broker) txnRoutes() []remoting.Route {
	return []remoting.Route{
		{Code: protocol.ReqEndTransaction, Mode: remoting.Batched, BatchKey: sendKey, HandleBatch: b.sendsAndEnds},
		{Code: protocol.ReqResumeCheckHalfMessage, Mode: remoting.Pooled, Pool: poolAdmin, Handle: admin(b.resumeCheck)},
	}
}

// makeTxn makes the service that keeps track of transactions.
func (b *Broker) makeTxn() {
	b.txn = txn.New(txn.Options{Source: b.store, NewBatch: func() txn.Batch { return txn.NewStoreBatch(b.store) },
		Progress: txnProgress{b}, Settings: b.txnSettings, Clock: b.clk, Log: b.log, Ask: b.askProducer,
		Host:    func() netip.AddrPort { return b.Self() },
		Flushed: func() int64 { return b.store.Status().FlushedPhys },
		Mended:  b.store.Mended,
		Route:   b.queueNow,
		Stored: func(m *store.Message, r store.AppendResult) {
			b.stats.AddPut(b.stats.Topic(m.Topic), 1, int64(r.Size))
		}})
}

func (b *Broker) txnSettings() txn.Settings {
	s := b.settings()
	ms := func(n int64) time.Duration { return clock.Span(n, time.Millisecond) }
	return txn.Settings{Timeout: ms(s.TransactionTimeOut), Interval: ms(s.TransactionCheckInterval), MaxChecks: s.TransactionCheckMax,
		Reserved: clock.Span(s.Store.FileReservedTime, time.Hour), OpSize: s.TransactionOpMsgMaxSize}
}

// txnProgress keeps the progress of transactions where Java keeps it.
type txnProgress struct{ b *Broker }

func txnKey(topic string, queueID int32) offset.Key {
	return offset.Key{Group: protocol.GroupTransaction, Topic: topic, QueueID: queueID}
}

func (p txnProgress) Query(topic string, queueID int32) (int64, bool) {
	return p.b.offsets.Query(txnKey(topic, queueID))
}

func (p txnProgress) Commit(topic string, queueID int32, off int64) {
	p.b.offsets.Commit(txnKey(topic, queueID), off, offset.Origin{Addr: "the broker", Explicit: true})
}

// startTxn makes the topic of what is given up, the one that is not built in, and starts the service. The progress that it read out of the
// topics is saved at once: a broker that takes over after a kill would ask again about what it passes.
func (b *Broker) startTxn() error {
	if _, err := b.ensureOwn(protocol.TopicTransCheckMaxTime, 1); err != nil {
		return err
	}
	if err := b.txn.Start(); err != nil {
		return err
	}
	b.txn.Publish()
	return b.offsets.Save()
}

// sendsAndEnds serves what one read brought of both: producers with many threads commit one transaction between the half messages of
// others. The ends come first, so that a message that its thread sent after a commit stays behind it.
func (b *Broker) sendsAndEnds(c remoting.Conn, reqs []*protocol.Command) {
	if !slices.ContainsFunc(reqs, isEnd) {
		b.sender.serve(c, reqs)
		return
	}
	sends := make([]*protocol.Command, 0, len(reqs))
	ends := make([]*protocol.Command, 0, len(reqs))
	for _, req := range reqs {
		if isEnd(req) {
			ends = append(ends, req)
		} else {
			sends = append(sends, req)
		}
	}
	b.endTransactions(c, ends)
	if len(sends) > 0 {
		b.sender.serve(c, sends)
	}
}

func isEnd(req *protocol.Command) bool { return req.Code == int32(protocol.ReqEndTransaction) }

// endTransactions handles the ends of one burst.
func (b *Broker) endTransactions(c remoting.Conn, reqs []*protocol.Command) {
	ends := make([]txn.End, 0, len(reqs))
	known := make([]*protocol.Command, 0, len(reqs))
	hot := true
	for _, req := range reqs {
		var h protocol.EndTransactionRequestHeader
		if err := h.DecodeExt(req.Ext); err != nil {
			fail(c, req, err)
			continue
		}
		e := txn.End{Group: h.ProducerGroup, QueueOffset: h.TranStateTableOffset, LogOffset: h.CommitLogOffset, FromCheck: h.FromTransactionCheck.Or(false)}
		switch h.CommitOrRollback {
		case protocol.SysFlagTransactionCommit:
			e.Outcome = txn.Commit
		case protocol.SysFlagTransactionRollback:
			e.Outcome = txn.Rollback
		case protocol.SysFlagTransactionNot: // the producer does not know yet: no reply, as in Java
			continue
		default:
			fail(c, req, refuse(protocol.RespSystemError, "commitOrRollback: %d is none of 0 (unknown), 8 (commit) and 12 (rollback)", h.CommitOrRollback))
			continue
		}
		hot = hot && b.store.IsHot(h.CommitLogOffset)
		ends, known = append(ends, e), append(known, req)
	}
	if len(ends) == 0 {
		return
	}
	if hot {
		b.endAll(c, known, ends)
		return
	}
	for i := range known { // a half message must be read from disk
		known[i] = known[i].Clone()
		ends[i].Group = strings.Clone(ends[i].Group)
	}
	if busy := b.cold.do(func() { b.endAll(c, known, ends) }); busy != nil {
		for _, req := range known {
			fail(c, req, busy)
		}
	}
}

func (b *Broker) endAll(c remoting.Conn, reqs []*protocol.Command, ends []txn.End) {
	b.txn.End(ends)
	for i, req := range reqs {
		err := ends[i].Err
		if err == nil {
			c.Reply(req, &remoting.Reply{})
			continue
		}
		b.log.Limited(b.clk, "end-transaction", time.Second).Warnf("end of transaction by %s, group %s, half message at %d: %v",
			c.RemoteAddr(), clip(ends[i].Group), ends[i].LogOffset, err)
		fail(c, req, endRefusal(err))
	}
}

// endRefusal maps the errors of ends; those of the store keep their codes.
func endRefusal(err error) error {
	switch {
	case errors.Is(err, txn.ErrTooLate):
		return refuse(protocol.RespIllegalOperation, "Message commit fail [producer end]. currentTimeMillis - bornTime > checkImmunityTime: %v", err)
	case errors.Is(err, txn.ErrMismatch), errors.Is(err, txn.ErrEnded):
		return refuse(protocol.RespSystemError, "%v", err)
	}
	return err
}

// askProducer sends a check to one of the group's producers, each in turn.
func (b *Broker) askProducer(h *txn.Half, at store.AppendResult) {
	group := h.Props.ProducerGroup
	members := b.clients.Producers(group)
	if len(members) == 0 {
		b.log.Limited(b.clk, "ask-producer "+group, logEvery).Warnf("no producer of group %s is connected: transaction %s stays open", group, h.Props.UniqKey)
		return
	}
	cmd, id := b.checkCommand(h, at), h.Props.UniqKey
	// The answer names the new record, which can be looked up only once it is safe: a quick producer would be refused, every time.
	b.store.AwaitSafe(at.PhysicalOffset+int64(at.Size), func(err error) {
		if err != nil {
			b.log.Limited(b.clk, "ask-producer unsafe", logEvery).Warnf("transaction %s is not checked: %v", id, err)
			return
		}
		b.sendCheck(members, cmd, id)
	})
}

// sendCheck sends the check of transaction id to the first producer that takes it, in turn.
func (b *Broker) sendCheck(members []clients.Member, cmd *protocol.Command, id string) {
	first := int(b.turn.Add(1))
	for i := range members {
		m := &members[(first+i)%len(members)]
		err := m.Conn.Oneway(cmd)
		if err == nil {
			return
		}
		b.log.Debugf("check of transaction %s: producer %s: %v", id, m.Conn.RemoteAddr(), err)
	}
}

// checkCommand is the request that asks for the outcome of h, whose newest record is at: the message as it will be committed, and
// where its half is.
func (b *Broker) checkCommand(h *txn.Half, at store.AppendResult) *protocol.Command {
	set := b.settings()
	p := protocol.ParseProperties(h.Again)
	p[protocol.PropertyWait] = "false"
	f := protocol.FieldsOf(&h.MessageView)
	f.Topic, f.Properties = h.Props.RealTopic, string(p.Encode())
	f.QueueID, f.QueueOffset, f.PhysicalOffset = h.RealQueue(), at.QueueOffset, at.PhysicalOffset
	id := string(set.appendMsgID(nil, at.PhysicalOffset))
	cmd := protocol.NewRequest(int32(protocol.ReqCheckTransactionState), &protocol.CheckTransactionStateRequestHeader{
		Topic: protocol.TopicHalf, TranStateTableOffset: at.QueueOffset, CommitLogOffset: at.PhysicalOffset,
		MsgID: h.Props.UniqKey, TransactionID: h.Props.TransactionID, OffsetMsgID: id}, protocol.AppendRecord(nil, &f))
	cmd.Ext = protocol.ExtFields{{Key: "bname", Value: b.o.Broker.BrokerName}}
	return cmd
}

// resumed are the log positions of messages that were given up and put back since the start.
type resumed struct {
	mu  sync.Mutex
	set map[int64]struct{}
}

// claim notes one, and says whether it is new.
func (r *resumed) claim(phys int64) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if _, there := r.set[phys]; there {
		return false
	}
	if r.set == nil {
		r.set = map[int64]struct{}{}
	}
	r.set[phys] = struct{}{}
	return true
}

func (r *resumed) giveUp(phys int64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.set, phys)
}

// resumeCheck turns a message that was given up into a half message again, or asks for the outcome of an open one now.
func (b *Broker) resumeCheck(c *call, h *protocol.ResumeCheckHalfMessageRequestHeader) (*remoting.Reply, error) {
	_, phys, err := protocol.ParseOffsetMsgID(h.MsgID)
	if err != nil {
		return nil, refuse(protocol.RespSystemError, "msgId %q: %v", clip(h.MsgID), err)
	}
	rec, err := b.store.Record(phys, nil)
	if err != nil {
		return nil, refuse(protocol.RespSystemError, "can not find message by the offset, %d", phys)
	}
	open, err := b.txn.CheckNow(rec)
	switch {
	case open:
		b.log.Infof("check of the transaction at %d, asked for by %s", phys, c.who())
		return ok()
	case err == nil:
		return nil, refuse(protocol.RespSystemError, "the transaction of this half message has ended")
	}
	m, err := txn.Resumed(rec)
	if err != nil {
		return nil, refuse(protocol.RespSystemError, "%v", err)
	}
	if !b.resumed.claim(phys) {
		return nil, refuse(protocol.RespSystemError, "this message was put back before")
	}
	batch := b.store.NewBatch()
	if err = batch.Add(&m); err == nil {
		err = b.store.Append(batch)
	}
	if err != nil {
		b.resumed.giveUp(phys)
		return nil, refuse(protocol.RespSystemError, "Put message back to RMQ_SYS_TRANS_HALF_TOPIC failed: %v", err)
	}
	b.log.Infof("transaction of the given up message at %d is open again, asked for by %s", phys, c.who())
	return ok()
}
