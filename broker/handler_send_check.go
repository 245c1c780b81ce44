package broker

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/seedmq/seedmq/broker/topic"
	"github.com/seedmq/seedmq/broker/txn"
	"github.com/seedmq/seedmq/remoting"
	"github.com/seedmq/seedmq/remoting/protocol"
	"github.com/seedmq/seedmq/store"
)

// faq ends the remarks of Java's that point to its manual.
const faq = "\nSee https://rocketmq.apache.org/docs/bestPractice/06FAQ for further details."

// add checks one request and adds its message, or the messages of its batch, to w.
func (s *sender) add(c remoting.Conn, ses *session, w *sendWork, req *protocol.Command, it *sendItem) error {
	h, err := w.decode(req)
	if err != nil {
		return err
	}
	if err := s.admit(w, ses, h); err != nil {
		return err
	}
	e, err := s.topicFor(ses, h)
	if err != nil {
		return err
	}
	m := &w.msg
	*m = store.Message{Topic: e.Name(), Flag: h.Flag, SysFlag: h.SysFlag, BornTimestamp: h.BornTimestamp,
		BornHost: c.RemoteAddr(), StoreHost: w.set.self, ReconsumeTimes: h.ReconsumeTimes.Or(0), Body: req.Body}
	if m.QueueID, err = s.queueFor(e, h); err != nil {
		return err
	}
	if e.MultiTags {
		m.SysFlag |= protocol.SysFlagMultiTags
	}
	it.queueID = m.QueueID
	w.view.Parse(h.Properties)
	it.wait = w.view.WaitsForStore()
	it.first = int32(w.batch.Len())
	if req.Code == protocol.ReqSendBatchMessage || h.Batch.Or(false) {
		return s.addBatch(w, e, h, it)
	}
	if v := &w.view; e.BatchCQ || h.SysFlag&protocol.SysFlagInnerBatch != 0 || v.InnerNum != "" || v.InnerMultiDispatch != "" {
		if err := s.checkInner(w, e); err != nil {
			return err
		}
	}
	return s.addOne(w, req, h, it)
}

// decode reads the header of either form.
func (w *sendWork) decode(req *protocol.Command) (*protocol.SendMessageV2RequestHeader, error) {
	h := &w.headV2
	if req.Code != protocol.ReqSendMessage {
		return h, h.DecodeExt(req.Ext)
	}
	l := &w.head
	if err := l.DecodeExt(req.Ext); err != nil {
		return nil, err
	}
	*h = protocol.SendMessageV2RequestHeader{ProducerGroup: l.ProducerGroup, Topic: l.Topic, DefaultTopic: l.DefaultTopic,
		DefaultTopicQueueNums: l.DefaultTopicQueueNums, QueueID: l.QueueID, SysFlag: l.SysFlag, BornTimestamp: l.BornTimestamp,
		Flag: l.Flag, Properties: l.Properties, ReconsumeTimes: l.ReconsumeTimes, UnitMode: l.UnitMode,
		MaxReconsumeTimes: l.MaxReconsumeTimes, Batch: l.Batch}
	return h, nil
}

// admit checks what does not depend on the topic.
func (s *sender) admit(w *sendWork, ses *session, h *protocol.SendMessageV2RequestHeader) error {
	set := w.set
	if !protocol.PermWritable(int32(set.BrokerPermission)) {
		return refuse(protocol.RespNoPermission, "the broker[%s] sending message is forbidden: brokerPermission is %d", set.BrokerIP1, set.BrokerPermission)
	}
	if at := set.StartAcceptSendRequestTimeStamp; at > 0 && w.now.UnixMilli() < at {
		return refuse(protocol.RespSystemError, "broker unable to service, until %d (startAcceptSendRequestTimeStamp)", at)
	}
	if h.ProducerGroup != ses.producerGroup {
		if err := checkProducerGroup(h.ProducerGroup); err != nil {
			return err
		}
		ses.producerGroup = strings.Clone(h.ProducerGroup)
	}
	if protocol.TransactionType(h.SysFlag) != 0 && !strings.Contains(h.Properties, protocol.PropertyTransactionPrepared) {
		return refuse(protocol.RespMessageIllegal, "sysFlag %d says that the message is part of a transaction, but property TRAN_MSG is missing", h.SysFlag)
	}
	return nil
}

// maxProducerGroup is what Java's clients allow; consumer groups have less.
const maxProducerGroup = 255

func checkProducerGroup(name string) error {
	if len(name) > maxProducerGroup {
		return refuse(protocol.RespInvalidParameter, "producerGroup is %d bytes long, the limit is %d", len(name), maxProducerGroup)
	}
	for name != "" {
		part := name[:min(len(name), 120)]
		if err := protocol.CheckGroup(part); err != nil {
			return err
		}
		name = name[len(part):]
	}
	return nil
}

// topicFor returns the topic that h sends to, made when that is allowed.
func (s *sender) topicFor(ses *session, h *protocol.SendMessageV2RequestHeader) (*topic.Entry, error) {
	if e := ses.sendTopic; e != nil && e.Name() == h.Topic && !e.Stale() {
		return e, nil
	}
	e := s.b.topics.Get(h.Topic)
	if e == nil {
		if err := protocol.CheckTopic(h.Topic); err != nil {
			return nil, err
		}
	}
	if protocol.IsForbiddenTopic(h.Topic) {
		return nil, refuse(protocol.RespNoPermission, "Sending message to topic[%s] is forbidden.", h.Topic)
	}
	if e == nil {
		var err error
		if e, err = s.create(h); err != nil {
			return nil, err
		}
	}
	if !e.Writable() {
		return nil, refuse(protocol.RespNoPermission, "the topic[%s] sending message is forbidden: its permission is %s", e.Name(), protocol.PermString(int32(e.Config.Perm)))
	}
	ses.sendTopic = e
	return e, nil
}

func (s *sender) create(h *protocol.SendMessageV2RequestHeader) (*topic.Entry, error) {
	if group, ok := protocol.GroupOfRetryTopic(h.Topic); ok {
		g := s.b.groups.Get(group)
		if g == nil {
			return nil, refuse(protocol.RespSubscriptionGroupNotExist, "subscription group not exist, %s %s", group, faq)
		}
		return s.b.ensureRetryTopic(g, h.UnitMode.Or(false))
	}
	flag := int32(0)
	if h.UnitMode.Or(false) {
		flag = protocol.TopicSysFlagUnit
	}
	e, err := s.b.topics.CreateOnSend(topic.CreateRequest{Topic: h.Topic, DefaultTopic: h.DefaultTopic, Queues: h.DefaultTopicQueueNums, SysFlag: flag})
	if errors.Is(err, topic.ErrNoTemplate) {
		return nil, refuse(protocol.RespTopicNotExist, "topic[%s] not exist, apply first please! (%v)%s", h.Topic, err, faq)
	}
	return e, err
}

// queueFor returns the queue that h names, or any for a negative number.
func (s *sender) queueFor(e *topic.Entry, h *protocol.SendMessageV2RequestHeader) (int32, error) {
	if h.QueueID < 0 {
		return s.b.anyQueue(e), nil
	}
	if limit := e.MaxQueues(); h.QueueID >= limit {
		return 0, refuse(protocol.RespInvalidParameter, "request queueId[%d] is illegal, topic[%s] has read queues %d and write queues %d",
			h.QueueID, e.Name(), e.Config.ReadQueueNums, e.Config.WriteQueueNums)
	}
	return h.QueueID, nil
}

// addOne adds the message of a request that is no batch.
func (s *sender) addOne(w *sendWork, req *protocol.Command, h *protocol.SendMessageV2RequestHeader, it *sendItem) error {
	m, v := &w.msg, &w.view
	if len(req.Body) > w.set.Store.MaxMessageSize {
		return refuse(protocol.RespMessageIllegal, "the message is illegal, maybe msg body or properties length not matched: body is %d bytes, the limit is %d (maxMessageSize)",
			len(req.Body), w.set.Store.MaxMessageSize)
	}
	level, err := delayLevel(v)
	if err != nil {
		return err
	}
	half := isHalf(v, m.ReconsumeTimes, level)
	if half {
		if err := checkHalf(w.set, v, level); err != nil {
			return err
		}
	}
	drop := ""
	if protocol.IsRetryTopic(m.Topic) {
		dead, err := s.redirect(m, h, req.Version)
		if err != nil {
			return err
		}
		if dead {
			level, drop = 0, protocol.PropertyDelay
			it.queueID = m.QueueID
		}
	}
	s.properties(w, h.Properties, it, drop)
	switch {
	case half:
		w.delay = txn.Prepare(m, h.ProducerGroup, w.delay[:0])
	case level > 0:
		w.delay = s.levels.Divert(m, level, w.delay[:0])
	default:
		if err := s.divertTimer(w, it); err != nil {
			return err
		}
	}
	if len(m.Properties) > protocol.MaxPropertiesLength {
		return refuse(protocol.RespMessageIllegal, "the message is illegal, maybe msg body or properties length not matched: properties are %d bytes with what the broker adds, the limit is %d",
			len(m.Properties), protocol.MaxPropertiesLength)
	}
	if err := w.batch.Add(m); err != nil {
		return err
	}
	it.topic, it.count = m.Topic, 1
	return nil
}

// delayLevel returns the delay level, 0 for none.
func delayLevel(v *protocol.PropertyView) (level int32, err error) {
	if v.Delay != "" {
		n, err := strconv.ParseInt(v.Delay, 10, 32)
		if err != nil {
			return 0, refuse(protocol.RespMessageIllegal, "property DELAY is %q, not a number of a delay level", clip(v.Delay))
		}
		level = int32(max(n, 0))
	}
	return level, nil
}

// isHalf says whether a message is a half message: a consumer's retry of a committed message has TRAN_MSG, too.
func isHalf(v *protocol.PropertyView, reconsumed, level int32) bool {
	return strings.EqualFold(v.TransactionPrepared, "true") && !(reconsumed > 0 && level > 0)
}

// checkHalf refuses half messages that cannot be served. One with a delay would be lost in Java: its clients take the delay off.
func checkHalf(set *settings, v *protocol.PropertyView, level int32) error {
	if set.RejectTransactionMessage {
		return refuse(protocol.RespNoPermission, "the broker[%s] sending transaction message is forbidden: rejectTransactionMessage is true", set.BrokerIP1)
	}
	if level > 0 || v.TimerDelaySec != "" || v.TimerDelayMs != "" || v.TimerDeliverMs != "" {
		return refuse(protocol.RespMessageIllegal, "a transactional message (TRAN_MSG) cannot be delayed (DELAY, TIMER_...)")
	}
	return nil
}

// redirect sends a message of a retry topic to the dead letters when it was tried too often, or when the group consumes in order.
func (s *sender) redirect(m *store.Message, h *protocol.SendMessageV2RequestHeader, version int32) (dead bool, err error) {
	name, _ := protocol.GroupOfRetryTopic(m.Topic)
	g := s.b.groups.Get(name)
	if g == nil {
		return false, refuse(protocol.RespSubscriptionGroupNotExist, "subscription group not exist, %s %s", name, faq)
	}
	limit := int32(g.Config.RetryMaxTimes)
	if version >= versionOwnRetryLimit && h.MaxReconsumeTimes.OK {
		limit = h.MaxReconsumeTimes.V
	}
	if m.ReconsumeTimes <= limit && !s.b.locks.heldByGroup(name) {
		return false, nil
	}
	e, err := s.b.ensureDLQTopic(name)
	if err != nil {
		return false, fmt.Errorf("dead letter topic of %s: %w", name, err)
	}
	m.Topic, m.QueueID = e.Name(), s.b.anyQueue(e)
	return true, nil
}

// versionOwnRetryLimit is V3_4_9: clients since then say how often they want to retry.
const versionOwnRetryLimit = 121

// properties makes the stored property string: what the client sent, without what only the broker may say, with UNIQ_KEY when it is
// missing, cluster, region and trace switch. drop names a property that is replaced by -1.
func (s *sender) properties(w *sendWork, raw string, it *sendItem, drop string) {
	v, dst := &w.view, w.props[:0]
	if v.Skipped == 0 && drop == "" && v.PopCK == "" && v.Cluster == "" && v.MsgRegion == "" && v.TraceSwitch == "" && v.CRC32 == "" && v.InnerMultiQueueOffset == "" {
		dst = append(dst, raw...)
		if v.MissingTrailingSeparator {
			dst = append(dst, protocol.PropertySeparator)
		}
	} else {
		dst = appendKept(dst, raw, drop)
	}
	it.txID = v.UniqKey
	if v.UniqKey == "" {
		s.ids.next(&it.id, w.now)
		it.madeID = true
		dst = append(append(append(dst, protocol.PropertyUniqKey+"\x01"...), it.id[:]...), protocol.PropertySeparator)
	}
	if drop != "" {
		dst = protocol.AppendProperty(dst, drop, "-1")
	}
	dst = append(dst, w.set.sendSuffix...)
	w.props = dst
	m := &w.msg
	m.Properties, m.Tags, m.Keys, m.UniqKey = dst, v.Tags, v.Keys, it.uniqKey()
}

// appendKept copies the properties that clients may set.
func appendKept(dst []byte, raw, drop string) []byte {
	protocol.EachProperty(raw, func(name, value string) bool {
		switch name {
		case protocol.PropertyPopCK, protocol.PropertyCluster, protocol.PropertyMsgRegion, protocol.PropertyTraceSwitch, protocol.PropertyCRC32, protocol.PropertyInnerMultiQueueOffset, drop:
		default:
			dst = protocol.AppendProperty(dst, name, value)
		}
		return true
	})
	return dst
}

// clip shortens what a client sent, for a remark.
func clip(s string) string {
	if len(s) > 64 {
		return s[:64] + "..."
	}
	return s
}
