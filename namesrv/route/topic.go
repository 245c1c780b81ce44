package route

import (
	"maps"
	"slices"

	"github.com/seedmq/seedmq/remoting/protocol"
)

// Bits of topicSysFlag.
const (
	sysFlagUnit    = 1
	sysFlagUnitSub = 2
)

// RegisterTopic adds or replaces the queues of one topic. It does nothing and returns false when a broker is not registered.
func (t *Table) RegisterTopic(name string, queues []protocol.QueueData) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	for i := range queues {
		if t.mu.brokers[queues[i].BrokerName] == nil {
			t.log.Warnf("topic %s not registered: broker %s is unknown", name, queues[i].BrokerName)
			return false
		}
	}
	for i := range queues {
		t.setQueueLocked(t.mu.brokers[queues[i].BrokerName], name, queues[i])
	}
	return true
}

// DeleteTopic drops the route of a topic, on the brokers of one cluster or, with cluster "", everywhere.
func (t *Table) DeleteTopic(name, cluster string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	tp := t.mu.topics[name]
	if tp == nil {
		return
	}
	for _, brokerName := range slices.Collect(maps.Keys(tp.queues)) {
		if b := t.mu.brokers[brokerName]; b.inCluster(cluster) {
			t.dropQueueLocked(b, name)
		}
	}
}

// inCluster reports whether b belongs to cluster; "" is every cluster.
func (b *broker) inCluster(cluster string) bool {
	if cluster == "" || b.cluster == cluster {
		return true
	}
	for _, m := range b.members {
		if m.Cluster == cluster {
			return true
		}
	}
	return false
}

// WipeWrite takes the write permission from all topics of a broker group; the number of topics is returned.
func (t *Table) WipeWrite(brokerName string) int {
	return t.editPerms(brokerName, func(perm int32) int32 { return perm &^ protocol.PermWrite })
}

// AddWrite gives all topics of a broker group read and write permission; the number of topics is returned.
func (t *Table) AddWrite(brokerName string) int {
	return t.editPerms(brokerName, func(int32) int32 { return protocol.PermRead | protocol.PermWrite })
}

func (t *Table) editPerms(brokerName string, edit func(int32) int32) int {
	t.mu.Lock()
	defer t.mu.Unlock()
	b := t.mu.brokers[brokerName]
	if b == nil {
		return 0
	}
	return t.editPermsLocked(b, edit)
}

// Topics lists all topics, sorted.
func (t *Table) Topics() []string {
	return t.listTopics(func(*topic) bool { return true })
}

// TopicsOfCluster lists the topics that a broker of cluster has, sorted.
func (t *Table) TopicsOfCluster(cluster string) []string {
	if cluster == "" {
		return []string{}
	}
	return t.listTopics(func(tp *topic) bool {
		for name := range tp.queues {
			if t.mu.brokers[name].inCluster(cluster) {
				return true
			}
		}
		return false
	})
}

// UnitTopics lists the topics with the unit bit, sorted.
func (t *Table) UnitTopics() []string {
	return t.listTopics(func(tp *topic) bool { return tp.sysFlag()&sysFlagUnit != 0 })
}

// UnitSubTopics lists the topics with the unit subscription bit, sorted; plain keeps only those without the unit bit.
func (t *Table) UnitSubTopics(plain bool) []string {
	return t.listTopics(func(tp *topic) bool {
		f := tp.sysFlag()
		return f&sysFlagUnitSub != 0 && !(plain && f&sysFlagUnit != 0)
	})
}

// sysFlag is the topicSysFlag on the first broker by name; RocketMQ takes any broker's.
func (tp *topic) sysFlag() int32 {
	first := ""
	for name := range tp.queues {
		if first == "" || name < first {
			first = name
		}
	}
	return tp.queues[first].TopicSysFlag
}

func (t *Table) listTopics(keep func(*topic) bool) []string {
	t.mu.RLock()
	defer t.mu.RUnlock()
	out := []string{}
	for name, tp := range t.mu.topics {
		if keep(tp) {
			out = append(out, name)
		}
	}
	slices.Sort(out)
	return out
}

// SystemTopics lists the names of clusters and brokers, sorted, which are topics too, and the address of one broker.
func (t *Table) SystemTopics() (names []string, brokerAddr string) {
	t.mu.RLock()
	defer t.mu.RUnlock()
	set := map[string]struct{}{}
	for name, b := range t.mu.brokers {
		set[name], set[b.cluster] = struct{}{}, struct{}{}
		for _, m := range b.members {
			set[m.Cluster] = struct{}{}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(t.mu.brokers)) {
		b := t.mu.brokers[name]
		if id, ok := b.minID(); ok {
			brokerAddr = b.members[id].Addr
			break
		}
	}
	names = append([]string{}, slices.Sorted(maps.Keys(set))...)
	return names, brokerAddr
}
