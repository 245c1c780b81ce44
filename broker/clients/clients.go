// Package clients knows who is connected: the producers and consumers of each group, what consumers subscribe to, and through
// which connection each can be reached.
//
// Registry is safe for concurrent use. Members are grouped by connection; a member lives until it unregisters, its
// connection ends, or it has been silent for the time-out. A change of a consumer group's members or subscriptions is told to all
// its members at once (NOTIFY_CONSUMER_IDS_CHANGED), the new one too, so that they rebalance without waiting.
// Notifications are sent after the lock is released.
package clients

import (
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/seedmq/seedmq/broker/filter"
	"github.com/seedmq/seedmq/conf/clock"
	"github.com/seedmq/seedmq/conf/xlog"
	"github.com/seedmq/seedmq/remoting"
	"github.com/seedmq/seedmq/remoting/protocol"
	"github.com/seedmq/seedmq/store"
)

// Options are what a registry is made of.
type Options struct {
	Timeout time.Duration // channelExpiredTimeout; 0 is 120 s
	// Notify says whether the members of a consumer group are told of changes; nil is always.
	Notify func(group string) bool
	// Compile makes the filter of a subscription; nil is filter.Compile. It is called with the registry locked.
	Compile func(expr, expressionType string) (store.Filter, error)
	// Conflict is told of members of a group that differ, when a heartbeat makes it so; may be nil.
	Conflict func(group string, differences []Conflict)
	Clock    clock.Clock
	Log      *xlog.Logger
}

// Member is one client on one connection, as seen at one moment.
type Member struct {
	Conn       remoting.Conn
	ClientID   string
	Language   protocol.Language
	Version    int32
	LastUpdate int64 // ms
}

// Subscription is what a consumer wants of one topic. Immutable.
type Subscription struct {
	Data   protocol.SubscriptionData
	Filter store.Filter // nil: all messages
	Err    error        // why Data cannot be served; Filter is nil then
}

// Group is a consumer group as seen at one moment; its slices and maps are the caller's, the subscriptions are shared.
type Group struct {
	Name             string
	ConsumeType      string
	MessageModel     string
	ConsumeFromWhere string
	Members          []Member
	Subscriptions    map[string]*Subscription // by topic; the newest of all members
}

// Registry is the table of clients.
type Registry struct {
	o Options

	mu        sync.RWMutex
	consumers map[string]*consumerGroup
	producers map[string]*producerGroup
	conns     map[uint64]*links
}

// links are the groups in which a connection is a member.
type links struct{ consumers, producers []string }

type producerGroup struct{ members map[uint64]*Member }

type consumerGroup struct {
	name    string
	members map[uint64]*consumer
	model   string
	typ     string
	from    string
	subs    map[string]*Subscription
}

type consumer struct {
	Member
	subs        map[string]*Subscription
	fingerprint int32
}

// New returns an empty registry.
func New(o Options) *Registry {
	if o.Timeout <= 0 {
		o.Timeout = 120 * time.Second
	}
	if o.Compile == nil {
		o.Compile = filter.Compile
	}
	return &Registry{o: o, consumers: map[string]*consumerGroup{}, producers: map[string]*producerGroup{}, conns: map[uint64]*links{}}
}

// RegisterProducer notes that m produces for group.
func (r *Registry) RegisterProducer(group string, m Member) {
	r.mu.Lock()
	defer r.mu.Unlock()
	g := r.producers[group]
	if g == nil {
		group = strings.Clone(group)
		g = &producerGroup{members: map[uint64]*Member{}}
		r.producers[group] = g
	}
	m.LastUpdate = clock.Millis(r.o.Clock)
	if old := g.members[m.Conn.ID()]; old != nil {
		old.ClientID, old.Language, old.Version, old.LastUpdate = strings.Clone(m.ClientID), m.Language, m.Version, m.LastUpdate
		return
	}
	m.ClientID = strings.Clone(m.ClientID)
	g.members[m.Conn.ID()] = &m
	l := r.linksLocked(m.Conn.ID())
	l.producers = append(l.producers, group)
}

func (r *Registry) linksLocked(id uint64) *links {
	l := r.conns[id]
	if l == nil {
		l = &links{}
		r.conns[id] = l
	}
	return l
}

// Unregister removes the connection from the groups named; "" is none.
func (r *Registry) Unregister(c remoting.Conn, producerGroup, consumerGroup string) {
	r.mu.Lock()
	if producerGroup != "" {
		r.dropProducerLocked(c.ID(), producerGroup)
	}
	var tell []remoting.Conn
	if consumerGroup != "" {
		tell = r.dropConsumerLocked(c.ID(), consumerGroup)
	}
	r.mu.Unlock()
	r.notify(consumerGroup, tell)
}

// Closed removes a connection that ended from all groups.
func (r *Registry) Closed(c remoting.Conn) {
	r.mu.Lock()
	l := r.conns[c.ID()]
	if l == nil {
		r.mu.Unlock()
		return
	}
	tell := map[string][]remoting.Conn{}
	for _, g := range slices.Clone(l.consumers) {
		tell[g] = r.dropConsumerLocked(c.ID(), g)
	}
	for _, g := range slices.Clone(l.producers) {
		r.dropProducerLocked(c.ID(), g)
	}
	delete(r.conns, c.ID())
	r.mu.Unlock()
	for g, conns := range tell {
		r.notify(g, conns)
	}
}

// Expire closes connections whose members have been silent too long, and removes them. Call it every few seconds.
func (r *Registry) Expire() {
	oldest := clock.Millis(r.o.Clock) - r.o.Timeout.Milliseconds()
	dead := map[uint64]remoting.Conn{}
	r.mu.RLock()
	for id, l := range r.conns {
		if c := r.silentLocked(id, l, oldest); c != nil {
			dead[id] = c
		}
	}
	r.mu.RUnlock()
	for _, c := range dead {
		r.o.Log.Warnf("client %s was silent for %s: its connection is closed", c.RemoteAddr(), r.o.Timeout)
		r.Closed(c)
		c.Close(remoting.ClosedIdle)
	}
}

// silentLocked returns the connection when all its members are older than oldest.
func (r *Registry) silentLocked(id uint64, l *links, oldest int64) remoting.Conn {
	var c remoting.Conn
	for _, g := range l.consumers {
		m := r.consumers[g].members[id]
		if m.LastUpdate >= oldest {
			return nil
		}
		c = m.Conn
	}
	for _, g := range l.producers {
		m := r.producers[g].members[id]
		if m.LastUpdate >= oldest {
			return nil
		}
		c = m.Conn
	}
	return c
}

func (r *Registry) dropProducerLocked(id uint64, group string) {
	g := r.producers[group]
	if g == nil || g.members[id] == nil {
		return
	}
	delete(g.members, id)
	if len(g.members) == 0 {
		delete(r.producers, group)
	}
	l := r.conns[id]
	l.producers = slices.DeleteFunc(l.producers, func(s string) bool { return s == group })
	r.dropLinksLocked(id, l)
}

func (r *Registry) dropLinksLocked(id uint64, l *links) {
	if len(l.consumers)+len(l.producers) == 0 {
		delete(r.conns, id)
	}
}

// notify tells the members of a consumer group to rebalance.
func (r *Registry) notify(group string, conns []remoting.Conn) {
	if len(conns) == 0 || r.o.Notify != nil && !r.o.Notify(group) {
		return
	}
	for _, c := range conns {
		cmd := protocol.NewRequest(protocol.ReqNotifyConsumerIDsChanged, &protocol.NotifyConsumerIDsChangedRequestHeader{ConsumerGroup: group}, nil)
		if err := c.Oneway(cmd); err != nil {
			r.o.Log.Debugf("group %s: telling %s of a change: %v", group, c.RemoteAddr(), err)
		}
	}
}
