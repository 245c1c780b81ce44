package broker

import (
	"github.com/seedmq/seedmq/broker/group"
	"github.com/seedmq/seedmq/broker/topic"
	"github.com/seedmq/seedmq/remoting"
	"github.com/seedmq/seedmq/store"
)

// session is what the broker keeps for one connection. Only the connection's read goroutine uses it: what it caches saves
// look-ups, and is checked for being stale on each use.
type session struct {
	sendTopic     *topic.Entry // last topic sent to; may be sent to
	producerGroup string       // last producer group, found legal

	pullTopic *topic.Entry
	pullGroup *group.Entry

	// the last subscription that came with a pull, compiled
	subExpr, subType string
	subFilter        store.Filter
	subKnown         bool
}

// sessionOf returns the session of c, made on first use.
func sessionOf(c remoting.Conn) *session {
	if s, ok := c.Value().(*session); ok {
		return s
	}
	s := &session{}
	c.SetValue(s)
	return s
}
