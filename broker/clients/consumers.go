package clients

import (
	"slices"
	"strings"

	"github.com/seedmq/seedmq/conf/clock"
	"github.com/seedmq/seedmq/remoting"
	"github.com/seedmq/seedmq/remoting/protocol"
)

// Heartbeat says how a consumer's heartbeat was sent (version 2 leaves subscriptions out when they did not change).
type Heartbeat struct {
	Fingerprint int32 // 0: version 1
	WithoutSub  bool
}

// RegisterConsumer notes that m consumes for a group. known is false when the heartbeat left its subscriptions out and the
// registry has none for this fingerprint: the client must send them.
func (r *Registry) RegisterConsumer(m Member, d *protocol.ConsumerData, hb Heartbeat) (changed, known bool) {
	r.mu.Lock()
	g := r.consumers[d.GroupName]
	if g == nil {
		g = &consumerGroup{name: strings.Clone(d.GroupName), members: map[uint64]*consumer{}, subs: map[string]*Subscription{}}
		r.consumers[g.name] = g
	}
	c := g.members[m.Conn.ID()]
	if c == nil {
		changed = true
		c = &consumer{}
		g.members[m.Conn.ID()] = c
		l := r.linksLocked(m.Conn.ID())
		l.consumers = append(l.consumers, g.name)
	}
	m.ClientID = strings.Clone(m.ClientID)
	m.LastUpdate = clock.Millis(r.o.Clock)
	c.Member = m
	g.typ, g.model, g.from = d.ConsumeType, d.MessageModel, d.ConsumeFromWhere
	known = true
	other := false
	switch {
	case !hb.WithoutSub:
		c.fingerprint = hb.Fingerprint
		var wanted bool
		wanted, other = g.subscribeLocked(c, d.SubscriptionDataSet, r.compile)
		changed = changed || wanted
	case hb.Fingerprint == 0 || c.fingerprint != hb.Fingerprint:
		known = false
	}
	var tell []remoting.Conn
	if changed {
		tell = g.conns()
	}
	var conflicts []Conflict
	if (changed || other) && len(g.members) > 1 && c.subs != nil {
		conflicts = g.conflictsLocked()
	}
	name := g.name
	r.mu.Unlock()
	if len(conflicts) > 0 {
		r.o.Log.Warnf("group %s: its members subscribe differently, so messages will be missed: %s", name, describe(conflicts))
		if r.o.Conflict != nil {
			r.o.Conflict(name, conflicts)
		}
	}
	r.notify(name, tell)
	return changed, known
}

// subscribeLocked replaces the subscriptions of one member, and those of the group that are older. changed says that the group
// wants other topics than before, other that the member wants something else.
func (g *consumerGroup) subscribeLocked(c *consumer, set []protocol.SubscriptionData, compile func(*protocol.SubscriptionData) *Subscription) (changed, other bool) {
	subs := make(map[string]*Subscription, len(set))
	for i := range set {
		d := &set[i]
		s := c.subs[d.Topic]
		if s == nil || s.Data.SubVersion != d.SubVersion || s.Data.SubString != d.SubString || s.Data.ExpressionType != d.ExpressionType {
			s, other = compile(d), true
		}
		subs[s.Data.Topic] = s
		now := g.subs[s.Data.Topic]
		if now == nil {
			changed = true
		}
		if now == nil || s.Data.SubVersion > now.Data.SubVersion {
			g.subs[s.Data.Topic] = s
		}
	}
	other = other || len(subs) != len(c.subs)
	c.subs = subs
	for topic := range g.subs {
		if !g.wantedLocked(topic) {
			delete(g.subs, topic)
			changed = true
		}
	}
	return changed, other
}

// compile copies d and makes its filter.
func (r *Registry) compile(d *protocol.SubscriptionData) *Subscription {
	s := &Subscription{Data: *d}
	s.Data.Topic, s.Data.SubString, s.Data.ExpressionType = strings.Clone(d.Topic), strings.Clone(d.SubString), strings.Clone(d.ExpressionType)
	if d.ClassFilterMode {
		return s
	}
	s.Filter, s.Err = r.o.Compile(d.SubString, d.ExpressionType)
	return s
}

// wantedLocked says whether any member subscribes to the topic.
func (g *consumerGroup) wantedLocked(topic string) bool {
	for _, c := range g.members {
		if c.subs[topic] != nil {
			return true
		}
	}
	return false
}

func (g *consumerGroup) conns() []remoting.Conn {
	if g.model == protocol.ModelBroadcasting {
		return nil
	}
	out := make([]remoting.Conn, 0, len(g.members))
	for _, c := range g.members {
		out = append(out, c.Conn)
	}
	return out
}

// dropConsumerLocked removes a member and returns whom to tell.
func (r *Registry) dropConsumerLocked(id uint64, group string) []remoting.Conn {
	g := r.consumers[group]
	if g == nil || g.members[id] == nil {
		return nil
	}
	delete(g.members, id)
	l := r.conns[id]
	l.consumers = slices.DeleteFunc(l.consumers, func(s string) bool { return s == group })
	r.dropLinksLocked(id, l)
	if len(g.members) == 0 {
		delete(r.consumers, group)
		return nil
	}
	for topic := range g.subs {
		if !g.wantedLocked(topic) {
			delete(g.subs, topic)
		}
	}
	return g.conns()
}
