package clients

import (
	"cmp"
	"maps"
	"slices"
	"strings"
)

// Lookup is what a pull asks: does the group have members, how does it consume, and what does this connection (or else the group)
// want of the topic. It does not allocate.
func (r *Registry) Lookup(group, topic string, conn uint64) (sub *Subscription, model string, known bool) {
	r.mu.RLock()
	defer r.mu.RUnlock()
	g := r.consumers[group]
	if g == nil {
		return nil, "", false
	}
	if c := g.members[conn]; c != nil {
		if s := c.subs[topic]; s != nil {
			return s, g.model, true
		}
	}
	return g.subs[topic], g.model, true
}

// IsMember says whether the connection is a consumer of the group.
func (r *Registry) IsMember(group string, conn uint64) bool {
	r.mu.RLock()
	defer r.mu.RUnlock()
	g := r.consumers[group]
	return g != nil && g.members[conn] != nil
}

// ConsumerIDs are the client ids of a group's members, sorted, each once.
func (r *Registry) ConsumerIDs(group string) []string {
	r.mu.RLock()
	defer r.mu.RUnlock()
	g := r.consumers[group]
	if g == nil {
		return nil
	}
	ids := make([]string, 0, len(g.members))
	for _, c := range g.members {
		ids = append(ids, c.ClientID)
	}
	slices.Sort(ids)
	return slices.Compact(ids)
}

// Consumers describes a group; ok is false when nobody of it is connected.
func (r *Registry) Consumers(group string) (Group, bool) {
	r.mu.RLock()
	defer r.mu.RUnlock()
	g := r.consumers[group]
	if g == nil {
		return Group{}, false
	}
	out := Group{Name: g.name, ConsumeType: g.typ, MessageModel: g.model, ConsumeFromWhere: g.from, Subscriptions: maps.Clone(g.subs)}
	for _, c := range g.members {
		out.Members = append(out.Members, c.Member)
	}
	sortMembers(out.Members)
	return out, true
}

// Consumer finds a group's member by client id; the newest when there are several.
func (r *Registry) Consumer(group, clientID string) (Member, bool) {
	r.mu.RLock()
	defer r.mu.RUnlock()
	var found Member
	if g := r.consumers[group]; g != nil {
		for _, c := range g.members {
			if c.ClientID == clientID && c.LastUpdate >= found.LastUpdate {
				found = c.Member
			}
		}
	}
	return found, found.Conn != nil
}

// Groups lists the consumer groups that have members and subscribe to the topic ("": all), sorted.
func (r *Registry) Groups(topic string) []string {
	r.mu.RLock()
	defer r.mu.RUnlock()
	var out []string
	for name, g := range r.consumers {
		if topic == "" || g.subs[topic] != nil {
			out = append(out, name)
		}
	}
	slices.Sort(out)
	return out
}

// Producers are the members of a producer group.
func (r *Registry) Producers(group string) []Member {
	r.mu.RLock()
	defer r.mu.RUnlock()
	g := r.producers[group]
	if g == nil {
		return nil
	}
	out := make([]Member, 0, len(g.members))
	for _, m := range g.members {
		out = append(out, *m)
	}
	sortMembers(out)
	return out
}

// ProducerGroups lists the producer groups that have members, sorted.
func (r *Registry) ProducerGroups() []string {
	r.mu.RLock()
	defer r.mu.RUnlock()
	return slices.Sorted(maps.Keys(r.producers))
}

func sortMembers(ms []Member) {
	slices.SortFunc(ms, func(a, b Member) int {
		return cmp.Or(strings.Compare(a.ClientID, b.ClientID), cmp.Compare(a.Conn.ID(), b.Conn.ID()))
	})
}
