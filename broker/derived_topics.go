package broker

import (
	"github.com/seedmq/seedmq/broker/group"
	"github.com/seedmq/seedmq/broker/topic"
	"github.com/seedmq/seedmq/remoting/protocol"
)

// ensureRetryTopic returns the topic of a group's retried messages, made when it is not there.
func (b *Broker) ensureRetryTopic(g *group.Entry) (*topic.Entry, error) {
	return b.ensureOwn(protocol.RetryTopic(g.Name()), max(1, int32(g.Config.RetryQueueNums)))
}

// ensureDLQTopic returns the topic of a group's dead messages, made when it is not there: one queue, readable and writable.
func (b *Broker) ensureDLQTopic(group string) (*topic.Entry, error) {
	return b.ensureOwn(protocol.DLQTopic(group), 1)
}

func (b *Broker) ensureOwn(name string, queues int32) (*topic.Entry, error) {
	if e := b.topics.Get(name); e != nil {
		return e, nil
	}
	c := protocol.NewTopicConfig(name)
	c.ReadQueueNums, c.WriteQueueNums = queues, queues
	c.Perm = protocol.PermRead | protocol.PermWrite
	return b.topics.Ensure(c)
}

// anyQueue picks a queue that may be written, in turn.
func (b *Broker) anyQueue(e *topic.Entry) int32 {
	n := uint32(max(1, e.Config.WriteQueueNums))
	return int32(b.turn.Add(1) % n)
}
