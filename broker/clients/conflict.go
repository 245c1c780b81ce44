package clients

import (
	"fmt"
	"slices"
	"strings"

	"github.com/seedmq/seedmq/broker/filter"
)

// Conflict is a difference between what two members of a group subscribe to. Such a group loses messages: queues are shared
// out over all members, whatever each of them wants.
type Conflict struct {
	Topic   string
	ClientA string
	ClientB string
	A, B    string // expressions, "SQL92: " before those that are not of tags; "" when the member does not subscribe to the topic
}

func (c Conflict) String() string {
	show := func(s string) string {
		if s == "" {
			return "not subscribed"
		}
		return s
	}
	return fmt.Sprintf("topic %s: client %s has %q, client %s has %q", c.Topic, c.ClientA, show(c.A), c.ClientB, show(c.B))
}

// Conflicts lists the differences within a group, by topic.
func (r *Registry) Conflicts(group string) []Conflict {
	r.mu.RLock()
	defer r.mu.RUnlock()
	g := r.consumers[group]
	if g == nil {
		return nil
	}
	return g.conflictsLocked()
}

// conflictsLocked compares all members with the one whose client id is the lowest.
func (g *consumerGroup) conflictsLocked() []Conflict {
	members := make([]*consumer, 0, len(g.members))
	for _, c := range g.members {
		members = append(members, c)
	}
	slices.SortFunc(members, func(a, b *consumer) int { return strings.Compare(a.ClientID, b.ClientID) })
	var out []Conflict
	for topic := range g.subs {
		for _, c := range members[1:] {
			a, b := expression(members[0], topic), expression(c, topic)
			if a != b {
				out = append(out, Conflict{Topic: topic, ClientA: members[0].ClientID, ClientB: c.ClientID, A: a, B: b})
				break
			}
		}
	}
	slices.SortFunc(out, func(a, b Conflict) int { return strings.Compare(a.Topic, b.Topic) })
	return out
}

// describe tells conflicts in a line.
func describe(list []Conflict) string {
	parts := make([]string, len(list))
	for i, x := range list {
		parts[i] = x.String()
	}
	return strings.Join(parts, "; ")
}

func expression(c *consumer, topic string) string {
	s := c.subs[topic]
	if s == nil {
		return ""
	}
	switch {
	case !filter.IsTag(s.Data.ExpressionType):
		return s.Data.ExpressionType + ": " + s.Data.SubString
	case s.Data.SubString == "":
		return "*"
	}
	return s.Data.SubString
}
