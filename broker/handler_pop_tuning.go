package broker

// The configuration keys of pop that may change while the broker runs.

import (
	"github.com/seedmq/seedmq/broker/pop"
	"github.com/seedmq/seedmq/broker/topic"
	"github.com/seedmq/seedmq/remoting/protocol"
)

// popTuning is what package pop needs of the configuration of now.
func (b *Broker) popTuning() pop.Tuning {
	set := b.settings()
	t := pop.Tuning{StayMs: int64(max(0, set.PopCkStayBufferTime)), InFlight: -1}
	if set.EnablePopMessageThreshold {
		t.InFlight = max(0, set.PopInflightMessageThreshold)
	}
	return t
}

// popLimits is how many pops may wait.
func (b *Broker) popLimits() pop.WaitLimits {
	set := b.settings()
	return pop.WaitLimits{PerQueue: int64(set.PopPollingSize), All: set.MaxPopPollingSize}
}

// retryFirst says whether pop n looks at the retry topic first: percent of all, evenly spread. Java draws lots.
func retryFirst(n uint32, percent int) bool { return int(uint64(n)*uint64(percent)%100) < percent }

// popRetryTopics are the retry topics of both forms that a pop reads, nil for one that there is not. The lists of a reply tell them apart,
// so a pop may have messages of both; they take turns in being first. What enableRetryTopicV2 made is read after it is off again (Java leaves
// those messages); of the old form nothing is read only when both keys say so.
func (b *Broker) popRetryTopics(q *popReq, n uint32) [2]*topic.Entry {
	g, t, set := q.group.Name(), q.topic.Name(), b.settings()
	list := [2]*topic.Entry{nil, b.topics.Get(protocol.PopRetryTopicV2(g, t))}
	if !set.EnableRetryTopicV2 || set.RetrieveMessageFromPopRetryTopicV1 {
		list[0] = b.topics.Get(protocol.PopRetryTopicV1(g, t))
	}
	if n/2%2 == 1 {
		list[0], list[1] = list[1], list[0]
	}
	return list
}
