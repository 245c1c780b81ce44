package broker

import (
	"github.com/seedmq/seedmq/broker/topic"
	"github.com/seedmq/seedmq/remoting/protocol"
)

// addBatch adds the messages of a batch request: one topic, one queue, consecutive offsets, all or none. Their property strings are
// stored as they are, as Java does.
func (s *sender) addBatch(w *sendWork, e *topic.Entry, h *protocol.SendMessageV2RequestHeader, it *sendItem) error {
	common, v := &w.msg, &w.view
	switch {
	case len(e.Name()) > maxBatchTopic:
		return refuse(protocol.RespMessageIllegal, "message topic length too long: %d bytes, the limit is %d for batches", len(e.Name()), maxBatchTopic)
	case protocol.IsRetryTopic(e.Name()):
		return refuse(protocol.RespMessageIllegal, "batch request does not support retry group %s", e.Name())
	case v.Delay != "" || v.TransactionPrepared != "" || protocol.TransactionType(h.SysFlag) != 0:
		return refuse(protocol.RespMessageIllegal, "a batch can be neither delayed (DELAY) nor part of a transaction (TRAN_MSG)")
	case len(common.Body) > w.set.Store.MaxMessageSize:
		return refuse(protocol.RespMessageIllegal, "the message is illegal, maybe msg body or properties length not matched: batch is %d bytes, the limit is %d (maxMessageSize)",
			len(common.Body), w.set.Store.MaxMessageSize)
	}
	if e.BatchCQ && v.UniqKey != "" { // clients since 5.0
		return s.addInnerBatch(w, h, it)
	}
	if v.InnerMultiDispatch != "" && w.set.Store.EnableLmq {
		return refuse(protocol.RespMessageIllegal, "a batch cannot enter light queues (INNER_MULTI_DISPATCH)")
	}
	w.group = w.group[:0]
	r := protocol.NewBatchReader(common.Body)
	var entry protocol.BatchEntry
	for r.Next(&entry) {
		w.group = append(w.group, *common)
		m := &w.group[len(w.group)-1]
		m.Flag, m.Body, m.Properties = entry.Flag, entry.Body, bytesOf(entry.Properties)
		w.view.Parse(entry.Properties)
		if err := checkMember(&w.view, w.set, r.Count()); err != nil {
			return err
		}
		m.Tags, m.Keys, m.UniqKey = w.view.Tags, w.view.Keys, w.view.UniqKey
	}
	if err := r.Err(); err != nil {
		return refuse(protocol.RespMessageIllegal, "%v", err)
	}
	if len(w.group) == 0 {
		return refuse(protocol.RespMessageIllegal, "the batch has no messages")
	}
	if err := w.batch.AddGroup(w.group); err != nil {
		return err
	}
	clear(w.group)
	w.view.Parse(h.Properties)
	it.topic, it.count, it.txID = e.Name(), int32(len(w.group)), w.view.UniqKey
	return nil
}

// maxBatchTopic is the longest topic of a batch: its records have the topic's length in one signed byte.
const maxBatchTopic = 127
