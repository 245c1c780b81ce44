package assign

import (
	"cmp"
	"slices"
	"strings"

	"github.com/seedmq/seedmq/remoting/protocol"
)

// Names of the strategies, as clients send them.
const (
	Averagely = "AVG"
	ByCircle  = "AVG_BY_CIRCLE"
)

// AnyQueue is the queue id that stands for all queues of a broker, in pop mode.
const AnyQueue int32 = -1

// Known says whether strategy is one that a broker can follow. The others (by machine room, by configuration, consistent hash) need
// what only the application knows.
func Known(strategy string) bool { return strategy == Averagely || strategy == ByCircle }

// Allocate returns the queues of one member; none when it is not among members, or when there are fewer queues than members and it
// comes late. The strategy must be Known. Arguments are not changed.
func Allocate(strategy, member string, members []string, queues []protocol.MessageQueue) []protocol.MessageQueue {
	members, queues = sorted(members, queues)
	return allocate(strategy, slices.Index(members, member), len(members), queues)
}

// allocate is Allocate for the member at index i of n. queues are sorted.
func allocate(strategy string, i, n int, queues []protocol.MessageQueue) []protocol.MessageQueue {
	if i < 0 {
		return nil
	}
	var out []protocol.MessageQueue
	if strategy == ByCircle {
		for ; i < len(queues); i += n {
			out = append(out, queues[i])
		}
		return out
	}
	each, more := len(queues)/n, len(queues)%n // the first ones have one more
	from := i*each + min(i, more)
	to := from + each
	if i < more {
		to++
	}
	return append(out, queues[from:to]...)
}

// Share returns the queues from which one member of a group in pop mode takes messages, where several members may share one.
//
// With share ≤ 0, or with so many that it makes no difference, that is all queues of every broker, said as AnyQueue. Otherwise it is its
// own queues and those of the share members that follow it; and when members outnumber the queues, each has one.
func Share(strategy, member string, members []string, queues []protocol.MessageQueue, share int) []protocol.MessageQueue {
	members, queues = sorted(members, queues)
	if share <= 0 || share >= len(members)-1 {
		return anyOf(queues)
	}
	i := slices.Index(members, member)
	if i < 0 || len(queues) == 0 {
		return nil
	}
	if len(members) > len(queues) {
		return []protocol.MessageQueue{queues[i%len(queues)]}
	}
	var out []protocol.MessageQueue
	for k := range share + 1 {
		out = append(out, allocate(strategy, (i+k)%len(members), len(members), queues)...)
	}
	slices.SortFunc(out, compare)
	return slices.Compact(out)
}

// anyOf names every broker of queues once.
func anyOf(queues []protocol.MessageQueue) []protocol.MessageQueue {
	out := make([]protocol.MessageQueue, 0, 1)
	for _, q := range queues {
		q.QueueID = AnyQueue
		if !slices.Contains(out, q) {
			out = append(out, q)
		}
	}
	return out
}

func sorted(members []string, queues []protocol.MessageQueue) ([]string, []protocol.MessageQueue) {
	members, queues = slices.Sorted(slices.Values(members)), slices.SortedFunc(slices.Values(queues), compare)
	return slices.Compact(members), queues
}

// compare is the order of Java's MessageQueue.
func compare(a, b protocol.MessageQueue) int {
	return cmp.Or(strings.Compare(a.Topic, b.Topic), strings.Compare(a.BrokerName, b.BrokerName), cmp.Compare(a.QueueID, b.QueueID))
}
