package txn

import (
	"strconv"
	"strings"

	"github.com/seedmq/seedmq/remoting/protocol"
	"github.com/seedmq/seedmq/store"
)

// opTag is the tag of marks; Java knows no other.
const opTag = "d"

// appendMark adds a half queue offset to the body of an op message, in the form since 5.1.
func appendMark(body []byte, offset int64) []byte {
	return append(strconv.AppendInt(body, offset, 10), ',')
}

// eachMark calls fn for the offsets in the body of an op message: "12,15," or, before 5.1, "12". What is no offset is passed over.
func eachMark(body string, fn func(offset int64)) {
	for word := range strings.SplitSeq(body, ",") {
		if n, err := strconv.ParseInt(strings.TrimSpace(word), 10, 64); err == nil && n >= 0 {
			fn(n)
		}
	}
}

// opMessage is the op message with these marks.
func (s *Service) opMessage(queueID int32, body []byte) store.Message {
	props := protocol.AppendProperty(nil, protocol.PropertyWait, "true")
	props = protocol.AppendProperty(props, protocol.PropertyTags, opTag)
	host := s.o.Host()
	return store.Message{Topic: protocol.TopicOpHalf, QueueID: queueID, BornTimestamp: s.o.Clock.Now().UnixMilli(), BornHost: host, StoreHost: host,
		Properties: props, Body: body, Tags: opTag}
}

// marks gathers the marks of one append, and makes op messages of them that are not longer than the limit.
type marks struct {
	bodies []markBody
}

// markBody is the body of one op message to be.
type markBody struct {
	queueID int32
	body    []byte
	max     int64
	at      int // index in the batch
}

// add marks all records of a transaction.
func (m *marks) add(queueID int32, limit int, root int64, past []int64, cur int64) {
	var b *markBody
	for i := range m.bodies {
		if c := &m.bodies[i]; c.queueID == queueID && len(c.body) < limit {
			b = c
		}
	}
	if b == nil {
		m.bodies = append(m.bodies, markBody{queueID: queueID})
		b = &m.bodies[len(m.bodies)-1]
	}
	if root != cur {
		b.body = appendMark(b.body, root)
	}
	for _, n := range past {
		b.body = appendMark(b.body, n)
	}
	b.body = appendMark(b.body, cur)
	b.max = max(b.max, cur)
}
