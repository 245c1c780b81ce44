package txn

import (
	"fmt"
	"strconv"
	"time"

	"github.com/seedmq/seedmq/remoting/protocol"
	"github.com/seedmq/seedmq/store"
)

// reserved are the properties of a half message that only the broker may set.
func reserved(name string) bool {
	switch name {
	case protocol.PropertyRealTopic, protocol.PropertyRealQueueID, protocol.PropertyTransactionID, protocol.PropertyTransactionCheckTimes,
		protocol.PropertyTransactionPreparedOffset:
		return true
	}
	return false
}

// Prepare turns m, a transactional message, into its half message: topic, queue, flags and properties. group is its producer's,
// for clients that do not say PGROUP. The new properties are appended to dst, which is returned, and m.Properties aliases them.
func Prepare(m *store.Message, group string, dst []byte) []byte {
	start, hasGroup := len(dst), false
	protocol.EachProperty(m.Properties, func(name, value string) bool {
		if !reserved(name) {
			hasGroup = hasGroup || name == protocol.PropertyProducerGroup
			dst = protocol.AppendProperty(dst, name, value)
		}
		return true
	})
	if !hasGroup {
		dst = protocol.AppendProperty(dst, protocol.PropertyProducerGroup, group)
	}
	dst = protocol.AppendProperty(dst, protocol.PropertyTransactionID, m.UniqKey)
	dst = protocol.AppendProperty(dst, protocol.PropertyRealTopic, m.Topic)
	dst = protocol.AppendProperty(dst, protocol.PropertyRealQueueID, strconv.Itoa(int(m.QueueID)))
	m.Properties = dst[start:]
	m.Topic, m.QueueID = protocol.TopicHalf, 0
	m.SysFlag &^= protocol.SysFlagTransactionMask
	return dst
}

// Half is a half message as it is stored. It aliases its record.
type Half struct {
	protocol.MessageView
	Props protocol.PropertyView
	// Root is the queue offset of the transaction's first record: its own, unless it was put back.
	Root int64
	// Checks says how often the producer was asked.
	Checks int
	// Again are the properties of its next record, when it is put back.
	Again string
	rec   []byte
}

// decodeHalf reads a record. It fails when that is no half message.
func decodeHalf(rec []byte) (*Half, error) {
	h := new(Half)
	if err := h.decode(rec); err != nil {
		return nil, err
	}
	return h, nil
}

// decode sets all of h.
func (h *Half) decode(rec []byte) error {
	*h = Half{rec: rec}
	if _, err := protocol.DecodeMessage(rec, &h.MessageView); err != nil {
		return err
	}
	if h.Topic != protocol.TopicHalf {
		return fmt.Errorf("the record is of topic %s, not a half message", h.Topic)
	}
	if h.QueueOffset < 0 {
		return fmt.Errorf("the half message has the queue offset %d", h.QueueOffset)
	}
	h.Props.Parse(h.Properties)
	h.Root = h.QueueOffset
	if n, err := strconv.ParseInt(h.Props.PreparedQueueOffset, 10, 64); err == nil && n >= 0 && n < h.QueueOffset {
		h.Root = n
	}
	if n, err := strconv.Atoi(h.Props.TransactionCheckTimes); err == nil {
		h.Checks = n
	}
	return nil
}

// putBack says that the record is not the transaction's first one.
func (h *Half) putBack() bool { return h.Props.PreparedQueueOffset != "" || h.Checks > 0 }

// immunity is how long the producer wants not to be asked, ok says that the message has such a time. One that is no number counts
// as the time-out.
func (h *Half) immunity(timeout time.Duration) (d time.Duration, ok bool) {
	if h.Props.CheckImmunityTime == "" {
		return timeout, false
	}
	n, err := strconv.ParseInt(h.Props.CheckImmunityTime, 10, 32)
	if err != nil || n == -1 {
		return timeout, true
	}
	return time.Duration(n) * time.Second, true
}

// message copies what all records made from h share.
func (h *Half) message() store.Message {
	m := h.bare()
	m.Properties = []byte(h.Properties)
	return m
}

// bare is message without the properties.
func (h *Half) bare() store.Message {
	return store.Message{Flag: h.Flag, SysFlag: h.SysFlag, BornTimestamp: h.BornTimestamp, BornHost: h.BornHost, StoreHost: h.StoreHost,
		ReconsumeTimes: h.ReconsumeTimes, Body: h.Body, Tags: h.Props.Tags, Keys: h.Props.Keys, UniqKey: h.Props.UniqKey}
}

// target is where the message goes when it is committed.
func (h *Half) target() (topic string, queueID int32, err error) {
	if err := protocol.CheckTopic(h.Props.RealTopic); err != nil {
		return "", 0, fmt.Errorf("property %s: %w", protocol.PropertyRealTopic, err)
	}
	if protocol.IsForbiddenTopic(h.Props.RealTopic) {
		return "", 0, fmt.Errorf("property %s names %s", protocol.PropertyRealTopic, h.Props.RealTopic)
	}
	q, err := strconv.ParseInt(h.Props.RealQueueID, 10, 32)
	if err != nil || q < 0 {
		return "", 0, fmt.Errorf("property %s is %q", protocol.PropertyRealQueueID, h.Props.RealQueueID)
	}
	return h.Props.RealTopic, int32(q), nil
}

// RealQueue is the queue that the message was sent to, 0 if the record does not say.
func (h *Half) RealQueue() int32 {
	_, q, err := h.target()
	if err != nil {
		return 0
	}
	return q
}

// committed is the message that a commit stores: all properties stay but those that say where it goes and came from, as in Java. They are
// appended to dst, which is returned.
func (h *Half) committed(dst []byte) (m store.Message, props []byte, err error) {
	start := len(dst)
	protocol.EachProperty(h.Properties, func(name, value string) bool {
		switch name {
		case protocol.PropertyRealTopic, protocol.PropertyRealQueueID, protocol.PropertyTransactionPreparedOffset:
		default:
			dst = protocol.AppendProperty(dst, name, value)
		}
		return true
	})
	m = h.bare()
	m.Properties = dst[start:len(dst):len(dst)]
	if m.Topic, m.QueueID, err = h.target(); err != nil {
		return m, dst, err
	}
	m.SysFlag = m.SysFlag&^protocol.SysFlagTransactionMask | protocol.SysFlagTransactionCommit
	m.PreparedTransactionOffset = h.PhysicalOffset
	return m, dst, nil
}

// again is h put back: the same with its root, and with one check more when its producer is asked.
func (h *Half) again(check bool) store.Message {
	m := h.message()
	p := protocol.ParseProperties(h.Properties)
	p[protocol.PropertyTransactionPreparedOffset] = strconv.FormatInt(h.Root, 10)
	if check {
		p[protocol.PropertyTransactionCheckTimes] = strconv.Itoa(h.Checks + 1)
	}
	m.Topic, m.QueueID, m.Properties = protocol.TopicHalf, h.QueueID, p.Encode()
	return m
}

// givenUp is h as a discarded message.
func (h *Half) givenUp() store.Message {
	m := h.message()
	m.Topic, m.QueueID = protocol.TopicTransCheckMaxTime, 0
	return m
}

// Resumed is a discarded message turned into a new half message, to be checked from the beginning.
func Resumed(rec []byte) (store.Message, error) {
	var v protocol.MessageView
	if _, err := protocol.DecodeMessage(rec, &v); err != nil {
		return store.Message{}, err
	}
	if v.Topic != protocol.TopicTransCheckMaxTime {
		return store.Message{}, fmt.Errorf("the message is of topic %s, not one that was given up (%s)", v.Topic, protocol.TopicTransCheckMaxTime)
	}
	h := Half{MessageView: v}
	h.Props.Parse(v.Properties)
	if _, _, err := h.target(); err != nil {
		return store.Message{}, err
	}
	m := h.message()
	p := protocol.ParseProperties(v.Properties)
	delete(p, protocol.PropertyTransactionPreparedOffset)
	p[protocol.PropertyTransactionCheckTimes] = "0"
	m.Topic, m.QueueID, m.Properties = protocol.TopicHalf, 0, p.Encode()
	return m, nil
}
