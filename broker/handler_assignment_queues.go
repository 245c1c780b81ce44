package broker

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/seedmq/seedmq/conf/clock"
	"github.com/seedmq/seedmq/remoting/protocol"
)

const (
	queuesFresh  = 5 * time.Second // for how long the queues of a topic are not looked up again
	routeTimeout = 3 * time.Second
)

// topicQueues knows the queues of topics on all brokers, from the NameServers, for assignments. Safe for concurrent use; of may wait for
// a NameServer.
type topicQueues struct {
	b *Broker

	mu     sync.Mutex
	topics map[string]knownQueues
}

type knownQueues struct {
	queues []protocol.MessageQueue // never changed
	at     int64                   // ms: when they were looked up, or could not be
}

func newTopicQueues(b *Broker) *topicQueues {
	return &topicQueues{b: b, topics: map[string]knownQueues{}}
}

// of returns the readable queues of a topic; they must not be changed. When no NameServer answers, those known from before hold, or
// else this broker's own.
func (t *topicQueues) of(topic string) (queues []protocol.MessageQueue, there bool) {
	now := clock.Millis(t.b.clk)
	t.mu.Lock()
	k, known := t.topics[topic]
	t.mu.Unlock()
	if known && now-k.at < queuesFresh.Milliseconds() {
		return k.queues, true
	}
	route, err := t.route(topic)
	switch {
	case err == nil && route != nil:
		k.queues = readable(strings.Clone(topic), route)
	case err != nil && known:
		t.b.log.Limited(t.b.clk, "route", logEvery).Warnf("the queues of topic %s are those of %d ms ago: %v", topic, now-k.at, err)
	default:
		own := t.b.topics.Get(topic)
		if own == nil {
			t.mu.Lock()
			delete(t.topics, topic)
			t.mu.Unlock()
			return nil, false
		}
		k.queues = readable(own.Name(), &protocol.TopicRouteData{QueueDatas: []protocol.QueueData{{BrokerName: t.b.o.Broker.BrokerName,
			Perm: own.Config.Perm, ReadQueueNums: own.Config.ReadQueueNums}}})
	}
	k.at = now
	t.mu.Lock()
	t.topics[strings.Clone(topic)] = k
	t.mu.Unlock()
	return k.queues, true
}

// readable are the queues of a route that may be read.
func readable(topic string, r *protocol.TopicRouteData) []protocol.MessageQueue {
	var out []protocol.MessageQueue
	for _, d := range r.QueueDatas {
		if !protocol.PermReadable(d.Perm) {
			continue
		}
		for id := range min(d.ReadQueueNums, maxQueues) {
			out = append(out, protocol.MessageQueue{Topic: topic, BrokerName: d.BrokerName, QueueID: id})
		}
	}
	return out
}

// route asks the NameServers one after the other; nil when there are none, or when the first that answers knows no such topic.
func (t *topicQueues) route(topic string) (*protocol.TopicRouteData, error) {
	if t.b.registrar == nil {
		return nil, nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), routeTimeout)
	defer cancel()
	err := error(nil)
	for _, s := range t.b.registrar.States() {
		if !s.Registered {
			continue
		}
		var r *protocol.TopicRouteData
		if r, err = t.ask(ctx, s.NameServer, topic); err == nil {
			return r, nil
		}
	}
	return nil, err
}

func (t *topicQueues) ask(ctx context.Context, addr, topic string) (*protocol.TopicRouteData, error) {
	c, err := t.b.outer.Conn(ctx, addr)
	if err != nil {
		return nil, err
	}
	reply, err := c.Invoke(ctx, protocol.NewRequest(protocol.ReqGetRouteInfoByTopic, &protocol.GetRouteInfoByTopicRequestHeader{Topic: topic, AcceptStandardJsonOnly: protocol.Some(true)}, nil))
	switch {
	case err != nil:
		return nil, err
	case reply.Code == protocol.RespTopicNotExist:
		return nil, nil
	case reply.Code != protocol.RespSuccess:
		return nil, fmt.Errorf("NameServer %s: route of topic %s: code %d %s", addr, topic, reply.Code, reply.Remark)
	}
	var r protocol.TopicRouteData
	if err := protocol.UnmarshalFast(reply.Body, &r); err != nil {
		return nil, fmt.Errorf("NameServer %s: route of topic %s: %w", addr, topic, err)
	}
	return &r, nil
}
