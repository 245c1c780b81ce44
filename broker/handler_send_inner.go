package broker

import (
	"strconv"
	"strings"

	"github.com/seedmq/seedmq/broker/topic"
	"github.com/seedmq/seedmq/remoting/protocol"
	"github.com/seedmq/seedmq/store"
	"github.com/seedmq/seedmq/store/consumequeue"
)

// Sends to topics with queue.type=BatchCQ, where a batch is stored as one record, and sends that enter light queues.
//
// Different from Java: a list of light queues is checked, where a name that is none stops Java's dispatcher; messages of batches
// cannot enter light queues, as in Java, which says nothing.

// addInnerBatch adds a batch as one record.
func (s *sender) addInnerBatch(w *sendWork, h *protocol.SendMessageV2RequestHeader, it *sendItem) error {
	m := &w.msg
	n, err := protocol.CountBatch(m.Body)
	if err != nil {
		return refuse(protocol.RespMessageIllegal, "%v", err)
	}
	if n > consumequeue.MaxInner {
		return refuse(protocol.RespMessageIllegal, "the batch has %d messages, the limit for a topic with queue.type=BatchCQ is %d", n, consumequeue.MaxInner)
	}
	if err := checkNoLight(&w.view, w.set); err != nil {
		return err
	}
	m.SysFlag |= protocol.SysFlagInnerBatch | protocol.SysFlagNeedUnwrap
	m.Inner = int32(n)
	s.properties(w, h.Properties, it, "")
	if err := s.addRecord(w, it); err != nil {
		return err
	}
	it.count, it.inner = int32(n), true
	return nil
}

// addRecord adds the message of w, whose properties are made.
func (s *sender) addRecord(w *sendWork, it *sendItem) error {
	m := &w.msg
	if err := w.batch.Add(m); err != nil {
		return err
	}
	it.topic, it.count = m.Topic, 1
	return nil
}

// checkInner checks a single message that says that it is a batch, goes to a topic of batches, or enters light queues.
func (s *sender) checkInner(w *sendWork, e *topic.Entry) error {
	m, v := &w.msg, &w.view
	if m.SysFlag&protocol.SysFlagInnerBatch == 0 {
		if v.InnerNum != "" && !protocol.IsRetryTopic(e.Name()) { // there a consumer sends what it got
			return refuse(protocol.RespMessageIllegal, "the message has property INNER_NUM, but sysFlag %d does not say that it is a batch", m.SysFlag)
		}
		if v.InnerMultiDispatch == "" || !w.set.Store.EnableLmq {
			return nil
		}
		if e.BatchCQ {
			return checkNoLight(v, w.set)
		}
		return s.checkLight(v.InnerMultiDispatch, w.set)
	}
	if !e.BatchCQ {
		return refuse(protocol.RespMessageIllegal, "sysFlag %d says that the message is a batch, but topic[%s] has not the attribute queue.type=BatchCQ", m.SysFlag, e.Name())
	}
	n, err := protocol.CountBatch(m.Body)
	if err != nil {
		return refuse(protocol.RespMessageIllegal, "%v", err)
	}
	if v.InnerNum != strconv.Itoa(n) || n > consumequeue.MaxInner {
		return refuse(protocol.RespMessageIllegal, "the batch has %d messages, INNER_NUM is %q, the limit is %d", n, clip(v.InnerNum), consumequeue.MaxInner)
	}
	m.Inner = int32(n)
	return checkNoLight(v, w.set)
}

// checkLight checks the light queues that a message enters. It is done when the message comes, though one that is delayed enters
// them later.
func (s *sender) checkLight(names string, set *settings) error {
	if !set.Store.EnableMultiDispatch {
		return nil
	}
	if err := store.CheckLightNames(names); err != nil {
		return refuse(protocol.RespMessageIllegal, "%v", err)
	}
	if !set.Store.EnableLmqQuota {
		return nil
	}
	limit, have, more := int64(set.Store.MaxLmqConsumeQueueNum), s.b.store.LightQueues(), int64(0)
	for name := range strings.SplitSeq(names, protocol.MultiDispatchSeparator) {
		if !s.b.store.HasLightQueue(name) {
			more++
		}
	}
	if more > 0 && have+more > limit {
		return refuse(protocol.RespLmqQuotaExceeded, "%d light queues would be new, there are %d, the limit is %d (maxLmqConsumeQueueNum)", more, have, limit)
	}
	return nil
}

// checkNoLight refuses a batch that enters light queues.
func checkNoLight(v *protocol.PropertyView, set *settings) error {
	if v.InnerMultiDispatch != "" && set.Store.EnableLmq {
		return refuse(protocol.RespMessageIllegal, "what goes to a topic with queue.type=BatchCQ cannot enter light queues (INNER_MULTI_DISPATCH)")
	}
	return nil
}

// checkMember refuses what only the broker may say in a message of a batch that becomes a record of its own: n is its number.
func checkMember(v *protocol.PropertyView, set *settings, n int) error {
	switch {
	case v.InnerNum != "" || v.InnerMultiQueueOffset != "":
		return refuse(protocol.RespMessageIllegal, "message %d of the batch has a property INNER_NUM or INNER_MULTI_QUEUE_OFFSET", n)
	case v.InnerMultiDispatch != "" && set.Store.EnableLmq:
		return refuse(protocol.RespMessageIllegal, "message %d of the batch has a property INNER_MULTI_DISPATCH: messages of a batch cannot enter light queues", n)
	}
	return nil
}

// isBatchTopic says whether a topic has queue.type=BatchCQ; the store asks before it makes the topic's first queue.
func (b *Broker) isBatchTopic(name string) bool {
	e := b.topics.Get(name)
	return e != nil && e.BatchCQ
}

// adoptTopic makes a topic whose queues were found on disk, with the attribute that fits them.
func (b *Broker) adoptTopic(name string, queues int32) (*topic.Entry, error) {
	if !b.store.HasBatchQueues(name) {
		return b.ensureOwn(name, queues)
	}
	c := protocol.NewTopicConfig(name)
	c.ReadQueueNums, c.WriteQueueNums = queues, queues
	c.Perm = protocol.PermRead | protocol.PermWrite
	c.Attributes = map[string]string{protocol.AttributeQueueType: "BatchCQ"}
	return b.topics.Ensure(c)
}

// takeInner makes of a batch the message whose UNIQ_KEY a consumer named: it cannot take the others back. Java refuses in any
// case; its clients then send the message itself.
func takeInner(v *protocol.MessageView, id string) error {
	found := false
	err := store.EachInner(v, func(m *protocol.BatchEntry, i int) bool {
		uniq, _ := protocol.Property(m.Properties, protocol.PropertyUniqKey)
		if found = uniq != "" && uniq == id; found {
			one := *v
			one.SysFlag &^= protocol.SysFlagInnerBatch | protocol.SysFlagNeedUnwrap
			one.Flag, one.Body, one.Properties = m.Flag, m.Body, m.Properties
			one.QueueOffset += int64(i)
			*v = one
		}
		return !found
	})
	if err != nil || !found {
		return refuse(protocol.RespMessageIllegal, "the message at %d is a batch, and has no message %s", v.PhysicalOffset, clip(id))
	}
	return nil
}
