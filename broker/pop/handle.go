package pop

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/seedmq/seedmq/remoting/protocol"
)

// OrderQueue stands for the revive queue in handles of ordered pops, which store no check points.
const OrderQueue = 999

// MaxTake is how many messages one pop may take: a check point has 32 bits.
const MaxTake = 32

// ErrHandle: a receipt handle that no broker has made.
var ErrHandle = errors.New("pop: bad receipt handle")

// Mark says which topic a message was popped from: as handles, startOffsetInfo and batch acks write it.
type Mark uint8

// Marks.
const (
	Normal  Mark = iota // the topic itself
	RetryV1             // %RETRY%group_topic
	RetryV2             // %RETRY%group+topic
)

// ParseMark reads a mark of a batch ack.
func ParseMark(s string) (Mark, error) {
	if len(s) == 1 && s[0] >= '0' && s[0] <= '2' {
		return Mark(s[0] - '0'), nil
	}
	return 0, fmt.Errorf("%w: retry mark %q", ErrHandle, clip(s))
}

// MarkOf is the mark of a topic.
func MarkOf(topic string) Mark {
	switch {
	case !strings.HasPrefix(topic, protocol.RetryGroupTopicPrefix):
		return Normal
	case strings.Contains(topic, "+"):
		return RetryV2
	}
	return RetryV1
}

// RealTopic is the topic that m stands for.
func RealTopic(topic, group string, m Mark) string {
	switch m {
	case RetryV1:
		return protocol.PopRetryTopicV1(group, topic)
	case RetryV2:
		return protocol.PopRetryTopicV2(group, topic)
	}
	return topic
}

// NormalTopic is the topic whose messages a pop retry topic of group holds; any other topic is its own.
func NormalTopic(topic, group string) string {
	rest, ok := strings.CutPrefix(topic, protocol.RetryGroupTopicPrefix+group)
	if ok && len(rest) > 1 && (rest[0] == '_' || rest[0] == '+') {
		return rest[1:]
	}
	return topic
}

// Handle is a receipt handle (extraInfo, POP_CK): what a client shows to acknowledge a message.
type Handle struct {
	StartOffset int64 // of the check point
	PopTime     int64 // ms
	Invisible   int64 // ms
	ReviveQueue int32
	Mark        Mark
	Broker      string
	QueueID     int32
	Offset      int64 // of the message; -1 when the handle has none
}

// Ordered says whether the message was popped in order.
func (h *Handle) Ordered() bool { return h.ReviveQueue == OrderQueue }

// ParseHandle reads a handle of seven or eight parts. Its Broker aliases s.
func ParseHandle(s string) (Handle, error) {
	h := Handle{Offset: -1}
	var parts [8]string
	n := 0
	for rest, more := s, true; more; n++ {
		if n == len(parts) {
			return Handle{}, fmt.Errorf("%w: more than %d parts: %q", ErrHandle, len(parts), clip(s))
		}
		parts[n], rest, more = strings.Cut(rest, " ")
	}
	if n < 7 {
		return Handle{}, fmt.Errorf("%w: %d parts: %q", ErrHandle, n, clip(s))
	}
	var err error
	number := func(text string, bits int) int64 {
		v, e := strconv.ParseInt(text, 10, bits)
		if e != nil || v < 0 {
			err = fmt.Errorf("%w: %q in %q", ErrHandle, clip(text), clip(s))
		}
		return v
	}
	h.StartOffset, h.PopTime, h.Invisible = number(parts[0], 64), number(parts[1], 64), number(parts[2], 64)
	h.ReviveQueue, h.QueueID = int32(number(parts[3], 32)), int32(number(parts[6], 32))
	if n == 8 {
		h.Offset = number(parts[7], 64)
	}
	if err != nil {
		return Handle{}, err
	}
	h.Broker = parts[5]
	h.Mark, err = ParseMark(parts[4])
	if err != nil {
		return Handle{}, err
	}
	return h, nil
}

// Append writes h.
func (h *Handle) Append(dst []byte) []byte {
	for _, n := range [...]int64{h.StartOffset, h.PopTime, h.Invisible, int64(h.ReviveQueue), int64(h.Mark)} {
		dst = append(strconv.AppendInt(dst, n, 10), ' ')
	}
	dst = append(append(dst, h.Broker...), ' ')
	dst = strconv.AppendInt(dst, int64(h.QueueID), 10)
	if h.Offset >= 0 {
		dst = strconv.AppendInt(append(dst, ' '), h.Offset, 10)
	}
	return dst
}

// appendEntry begins an entry of one of the lists in a reply: `mark queue `.
func appendEntry(dst []byte, m Mark, queueID int32) []byte {
	if len(dst) > 0 {
		dst = append(dst, ';')
	}
	dst = append(dst, '0'+byte(m), ' ')
	return append(strconv.AppendInt(dst, int64(queueID), 10), ' ')
}

func clip(s string) string { return s[:min(len(s), 128)] }
