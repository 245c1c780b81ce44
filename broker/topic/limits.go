package topic

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/seedmq/seedmq/conf/clock"
	"github.com/seedmq/seedmq/remoting/protocol"
)

// Attributes of ours, beside Java's: how much of a topic consumers may still read. Numbers from 1 on; one that is not set sets no limit.
const (
	AttributeRetentionMs       = "retention.ms"       // age of a message in ms, from its store time on
	AttributeRetentionBytes    = "retention.bytes"    // of all records of the topic on this broker
	AttributeRetentionMessages = "retention.messages" // number of messages of the topic on this broker
	AttributeMessageTTLMs      = "message.ttl.ms"     // age in ms from which a message is not delivered any more
)

// Limits are what these attributes say; 0 is no limit.
type Limits struct {
	Age      time.Duration
	Bytes    int64
	Messages int64
	TTL      time.Duration
}

// Retains says that some of the topic may have to go.
func (l *Limits) Retains() bool { return l.Age > 0 || l.Bytes > 0 || l.Messages > 0 }

// IsLimit says whether an attribute is one of ours.
func IsLimit(key string) bool {
	return strings.HasPrefix(key, "retention.") || key == AttributeMessageTTLMs
}

// limitsOf reads the attributes of a topic. What somebody wrote into the file that is no limit is one that is not set; the error names it.
func limitsOf(c *protocol.TopicConfig) (l Limits, err error) {
	read := func(key string) int64 {
		text, set := c.Attributes[key]
		if !set {
			return 0
		}
		n, bad := strconv.ParseInt(text, 10, 64)
		if bad != nil || n < 1 {
			err = fmt.Errorf("topic %s: attribute %s is %q, which is no number from 1 on; it has no effect", c.TopicName, key, text)
			return 0
		}
		return n
	}
	if len(c.Attributes) > 0 {
		l.Age = clock.Span(read(AttributeRetentionMs), time.Millisecond)
		l.Bytes, l.Messages = read(AttributeRetentionBytes), read(AttributeRetentionMessages)
		l.TTL = clock.Span(read(AttributeMessageTTLMs), time.Millisecond)
	}
	return l, err
}

// Limited lists the topics with a limit of retention, in no order.
func (t *Table) Limited() []*Entry {
	var out []*Entry
	for _, e := range *t.snap.Load() {
		if e.Limits.Retains() && !e.System {
			out = append(out, e)
		}
	}
	return out
}
