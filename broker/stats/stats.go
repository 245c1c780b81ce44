package stats

import (
	"strings"
	"sync"
	"sync/atomic"

	"github.com/seedmq/seedmq/conf/clock"
	"github.com/seedmq/seedmq/conf/run"
	"github.com/seedmq/seedmq/remoting/protocol"
)

// Names of figures, as VIEW_BROKER_STATS_DATA asks for them.
const (
	TopicPutNums              = "TOPIC_PUT_NUMS"
	TopicPutSize              = "TOPIC_PUT_SIZE"
	GroupGetNums              = "GROUP_GET_NUMS"
	GroupGetSize              = "GROUP_GET_SIZE"
	SendBackPutNums           = "SNDBCK_PUT_NUMS"
	DLQPutNums                = "DLQ_PUT_NUMS"
	GroupConflicts            = "GROUP_SUB_CONFLICTS" // not Java's
	BrokerPutNums             = "BROKER_PUT_NUMS"
	BrokerGetNums             = "BROKER_GET_NUMS"
	BrokerPutNumsWithoutTopic = "BROKER_PUT_NUMS_WITHOUT_SYSTEM_TOPIC"
	BrokerGetNumsWithoutTopic = "BROKER_GET_NUMS_WITHOUT_SYSTEM_TOPIC"
)

// TopicItem counts what is put into one topic.
type TopicItem struct {
	Nums, Size Meter
	name       string
	system     bool
}

// GroupItem counts what one consumer group takes from one topic.
type GroupItem struct {
	Nums, Size     Meter
	SendBack, DLQ  Meter
	Conflicts      Meter
	topic, groupID string
	system         bool
}

type groupKey struct{ topic, group string }

// Options are what Stats are made of.
type Options struct {
	// Cluster is the key of the broker-wide figures, as in Java.
	Cluster string
	// IsSystem says which topics do not count in the figures "without system topics". May be nil: protocol.IsSystemTopic.
	IsSystem func(topic string) bool
	Clock    clock.Clock
}

// Stats are all figures of a broker. Create with New; Start begins sampling, Close ends it.
type Stats struct {
	o Options
	g *run.Group

	mu struct {
		sync.RWMutex
		topics map[string]*TopicItem
		groups map[groupKey]*GroupItem
	}

	put, get         Meter // all messages
	putUser, getUser Meter // without system topics
	found, miss      atomic.Int64
	failed           atomic.Int64
	puts             putTimes

	rates rates
	days  days
}

// New returns empty figures.
func New(o Options) *Stats {
	if o.IsSystem == nil {
		o.IsSystem = protocol.IsSystemTopic
	}
	s := &Stats{o: o, g: run.NewGroup()}
	s.mu.topics = map[string]*TopicItem{}
	s.mu.groups = map[groupKey]*GroupItem{}
	s.rates.note(s.counters(clock.Millis(o.Clock)))
	s.days.roll(o.Clock.Now(), 0, 0)
	return s
}

// Topic returns the item of a topic. The name is copied.
func (s *Stats) Topic(name string) *TopicItem {
	s.mu.RLock()
	t := s.mu.topics[name]
	s.mu.RUnlock()
	if t != nil {
		return t
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if t = s.mu.topics[name]; t == nil {
		name = strings.Clone(name)
		t = &TopicItem{name: name, system: s.o.IsSystem(name)}
		s.mu.topics[name] = t
	}
	return t
}

// Group returns the item of a consumer group and a topic. The names are copied.
func (s *Stats) Group(topic, group string) *GroupItem {
	k := groupKey{topic, group}
	s.mu.RLock()
	g := s.mu.groups[k]
	s.mu.RUnlock()
	if g != nil {
		return g
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if g = s.mu.groups[k]; g == nil {
		k = groupKey{strings.Clone(topic), strings.Clone(group)}
		g = &GroupItem{topic: k.topic, groupID: k.group, system: s.o.IsSystem(topic)}
		s.mu.groups[k] = g
	}
	return g
}

// AddPut counts n messages of together bytes, stored in t's topic.
func (s *Stats) AddPut(t *TopicItem, n, bytes int64) {
	t.Nums.Add(n, n)
	t.Size.Add(bytes, n)
	s.put.Add(n, n)
	if !t.system {
		s.putUser.Add(n, n)
	}
}

// AddGet counts one read that found n messages of together bytes.
func (s *Stats) AddGet(g *GroupItem, n, bytes int64) {
	g.Nums.Add(n, 1)
	g.Size.Add(bytes, 1)
	s.get.Add(n, 1)
	if !g.system {
		s.getUser.Add(n, 1)
	}
	s.found.Add(1)
}

// AddMiss counts n reads that found nothing.
func (s *Stats) AddMiss(n int64) { s.miss.Add(n) }

// AddPutFailed counts n sends that were not stored.
func (s *Stats) AddPutFailed(n int64) { s.failed.Add(n) }

// AddSendBack counts n messages that a group gave back, dlq of which went to the dead letters.
func (s *Stats) AddSendBack(g *GroupItem, n, dlq int64) {
	g.SendBack.Add(n, n)
	if dlq > 0 {
		g.DLQ.Add(dlq, dlq)
	}
}

// AddConflict counts a heartbeat that made the members of a group differ in what they want of the topic.
func (s *Stats) AddConflict(g *GroupItem) { g.Conflicts.Add(1, 1) }

// View finds a figure by its Java name and key: a topic, topic@group, or the cluster. What never counted is not there.
func (s *Stats) View(name, key string) (protocol.BrokerStatsData, bool) {
	m := s.meter(name, key)
	if m == nil || m.times.Load() == 0 {
		return protocol.BrokerStatsData{}, false
	}
	return m.Data(), true
}

func (s *Stats) meter(name, key string) *Meter {
	switch name {
	case TopicPutNums, TopicPutSize:
		return s.topicMeter(name, key)
	case GroupGetNums, GroupGetSize, SendBackPutNums, DLQPutNums, GroupConflicts:
		return s.groupMeter(name, key)
	}
	if key != s.o.Cluster {
		return nil
	}
	switch name {
	case BrokerPutNums:
		return &s.put
	case BrokerGetNums:
		return &s.get
	case BrokerPutNumsWithoutTopic:
		return &s.putUser
	case BrokerGetNumsWithoutTopic:
		return &s.getUser
	}
	return nil
}

func (s *Stats) topicMeter(name, topic string) *Meter {
	s.mu.RLock()
	t := s.mu.topics[topic]
	s.mu.RUnlock()
	switch {
	case t == nil:
		return nil
	case name == TopicPutNums:
		return &t.Nums
	}
	return &t.Size
}

func (s *Stats) groupMeter(name, key string) *Meter {
	topic, group, _ := strings.Cut(key, "@")
	s.mu.RLock()
	g := s.mu.groups[groupKey{topic, group}]
	s.mu.RUnlock()
	if g == nil {
		return nil
	}
	switch name {
	case GroupGetNums:
		return &g.Nums
	case GroupGetSize:
		return &g.Size
	case SendBackPutNums:
		return &g.SendBack
	case GroupConflicts:
		return &g.Conflicts
	}
	return &g.DLQ
}

// DeleteTopic forgets a topic and what groups took from it.
func (s *Stats) DeleteTopic(topic string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.mu.topics, topic)
	for k := range s.mu.groups {
		if k.topic == topic {
			delete(s.mu.groups, k)
		}
	}
}

// DeleteGroup forgets a consumer group.
func (s *Stats) DeleteGroup(group string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for k := range s.mu.groups {
		if k.group == group {
			delete(s.mu.groups, k)
		}
	}
}
