package broker

import (
	"github.com/seedmq/seedmq/broker/group"
	"github.com/seedmq/seedmq/broker/topic"
	"github.com/seedmq/seedmq/remoting/protocol"
)

// ensureRetryTopic returns the topic of a group's retried messages. One that is made for a client in unit mode bears the mark of unit
// subscribers.
func (b *Broker) ensureRetryTopic(g *group.Entry, unitMode bool) (*topic.Entry, error) {
	name := protocol.RetryTopic(g.Name())
	if e := b.topics.Get(name); e != nil {
		return e, nil
	}
	c := ownTopic(name, max(1, int32(g.Config.RetryQueueNums)))
	if unitMode {
		c.TopicSysFlag = protocol.TopicSysFlagUnitSub
	}
	return b.topics.Ensure(c)
}

// ensureDLQTopic returns the topic of a group's dead messages, made when it is not there: one queue, readable and writable.
func (b *Broker) ensureDLQTopic(group string) (*topic.Entry, error) {
	return b.ensureOwn(protocol.DLQTopic(group), 1)
}

func (b *Broker) ensureOwn(name string, queues int32) (*topic.Entry, error) {
	if e := b.topics.Get(name); e != nil {
		return e, nil
	}
	return b.topics.Ensure(ownTopic(name, queues))
}

func ownTopic(name string, queues int32) protocol.TopicConfig {
	c := protocol.NewTopicConfig(name)
	c.ReadQueueNums, c.WriteQueueNums = queues, queues
	c.Perm = protocol.PermRead | protocol.PermWrite
	return c
}

// anyQueue picks a queue that may be written, in turn.
func (b *Broker) anyQueue(e *topic.Entry) int32 {
	n := uint32(max(1, e.Config.WriteQueueNums))
	return int32(b.turn.Add(1) % n)
}
