package filter

import (
	"unsafe"

	"github.com/seedmq/seedmq/broker/filter/sql"
	"github.com/seedmq/seedmq/remoting/protocol"
	"github.com/seedmq/seedmq/store"
)

// SQL selects messages by an SQL92 expression on their properties.
type SQL struct{ expr *sql.Expr }

// MatchTagsCode is always true: the queue unit says nothing of properties.
func (*SQL) MatchTagsCode(int64) bool { return true }

// MatchRecord evaluates the expression.
func (f *SQL) MatchRecord(rec []byte) bool {
	props, ok := properties(rec)
	return ok && f.expr.Match(props)
}

// Retry filters a retry topic by what its group wants of the topic that a message came from (filterSupportRetry).
type Retry struct {
	// Wanted is the filter of the group for a topic, nil for all messages. Topic is valid during the call.
	Wanted func(topic string) store.Filter
}

// MatchTagsCode is always true.
func (*Retry) MatchTagsCode(int64) bool { return true }

// MatchRecord asks the filter of the message's first topic. Only SQL92 counts, as in Java: tags were compared before.
func (f *Retry) MatchRecord(rec []byte) bool {
	props, ok := properties(rec)
	if !ok {
		return false
	}
	topic, ok := property(props, protocol.PropertyRetryTopic)
	if !ok {
		return true
	}
	wanted, ok := f.Wanted(unsafe.String(&topic[0], len(topic))).(*SQL) // a value is never empty
	return !ok || wanted.expr.Match(props)
}
