package broker

// Filters of subscriptions, as Java's ConsumerFilterManager and the checks of its PullMessageProcessor.
//
// Different from Java: what a member subscribes to is compiled with its subscription, so the filter of a pull is never older than the
// subscription and FILTER_DATA_NOT_LATEST is never said; the table of filter data is only the record for consumerFilter.json. A
// refused expression is told with the place of the mistake, also where Java only says that it may be wrong.

import (
	"encoding/json"

	"github.com/seedmq/seedmq/broker/clients"
	"github.com/seedmq/seedmq/broker/filter"
	"github.com/seedmq/seedmq/remoting/protocol"
	"github.com/seedmq/seedmq/store"
)

// registerFilters keeps what a heartbeat says of filters other than tags.
func (b *Broker) registerFilters(clientID, group string, subs []protocol.SubscriptionData) {
	for i := range subs {
		s := &subs[i]
		if filter.IsTag(s.ExpressionType) {
			continue
		}
		if _, err := b.filters.Compile(s.SubString, s.ExpressionType); err != nil {
			b.log.Limited(b.clk, "filter "+group, logEvery).Warnf("group %s, client %s: the filter of topic %s cannot be used, its pulls are refused: %v",
				group, clientID, clip(s.Topic), err)
			b.filterData.Refused(group, s)
			continue
		}
		b.filterData.Register(group, s)
	}
}

// warmFilters compiles the filters of a heartbeat, so that the registry of clients finds them in the cache while it is locked.
func (b *Broker) warmFilters(subs []protocol.SubscriptionData) {
	for i := range subs {
		if s := &subs[i]; !filter.IsTag(s.ExpressionType) {
			_, _ = b.filters.Compile(s.SubString, s.ExpressionType) // registerFilters sees the error
		}
	}
}

// filterText shows what a group filters a topic by: "null" for tags, as Java's.
func (b *Broker) filterText(topic, group string) string {
	d, ok := b.filterData.Get(topic, group)
	if !ok {
		return "null"
	}
	text, err := json.MarshalIndent(&d, "", "\t")
	if err != nil {
		return "null"
	}
	return string(text)
}

// sweepFilters notes which filters nobody wants any more.
func (b *Broker) sweepFilters() {
	b.filterData.Sweep(func(topic, group string) bool {
		s, _, _ := b.clients.Lookup(group, topic, 0)
		return s != nil && !filter.IsTag(s.Data.ExpressionType)
	})
}

// filterAllowed refuses filters other than tags when they are switched off.
func (b *Broker) filterAllowed(expressionType string) error {
	if filter.IsTag(expressionType) || b.settings().EnablePropertyFilter {
		return nil
	}
	return refuse(protocol.RespSystemError, "The broker does not support consumer to filter message by %s: enablePropertyFilter is false", clip(expressionType))
}

// noFilterData is said to a member whose heartbeat had a filter that cannot be used.
func noFilterData(err error) *Refusal {
	return refuse(protocol.RespFilterDataNotExist, "The broker's consumer filter data is not exist!Your expression may be wrong! %v", err)
}

// retryFilter filters a group's retry topic by what the group wants of the topics that the messages came from.
func (b *Broker) retryFilter(group string) store.Filter {
	return &filter.Retry{Wanted: func(topic string) store.Filter {
		if s, _, _ := b.clients.Lookup(group, topic, 0); s != nil {
			return s.Filter
		}
		return nil
	}}
}

// conflicts counts differences between the members of a group.
func (b *Broker) conflicts(group string, list []clients.Conflict) {
	for i := range list {
		b.stats.AddConflict(b.stats.Group(list[i].Topic, group))
	}
}
