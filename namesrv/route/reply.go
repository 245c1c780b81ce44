package route

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/seedmq/seedmq/remoting/protocol"
)

// syncMemberPrefix begins the topics by which the members of a broker group find each other.
const syncMemberPrefix = "rmq_sys_SYNC_BROKER_MEMBER_"

// Route is the encoded TopicRouteData of a topic; ok is false for an unknown topic. The bytes are shared: they must not be
// changed. zone, when not "", leaves only brokers of that zone and brokers without a master.
func (t *Table) Route(topic, zone string) (body []byte, ok bool) {
	key := replyKey{topic, strings.ToLower(zone)}
	t.mu.RLock()
	body, ok = t.mu.replies[key]
	t.mu.RUnlock()
	if ok {
		return body, true
	}
	return t.buildRoute(key)
}

func (t *Table) buildRoute(key replyKey) ([]byte, bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if body, ok := t.mu.replies[key]; ok { // somebody was faster
		return body, true
	}
	tp := t.mu.topics[key.topic]
	if tp == nil {
		return nil, false
	}
	body := mustJSON(t.routeLocked(key, tp))
	key.topic = strings.Clone(key.topic) // it may alias a frame
	if key.zone != "" {
		if len(t.mu.zones) >= maxZones {
			return body, true
		}
		key.zone = strings.Clone(key.zone)
		t.mu.zones[key.zone] = struct{}{}
	}
	t.mu.replies[key] = body
	return body, true
}

// maxZones bounds the zones that replies are kept for: their names come from clients.
const maxZones = 32

func (t *Table) routeLocked(key replyKey, tp *topic) *protocol.TopicRouteData {
	r := &protocol.TopicRouteData{
		BrokerDatas: []protocol.BrokerData{}, QueueDatas: []protocol.QueueData{}, FilterServerTable: map[string][]string{},
	}
	if t.mu.config.OrderConf {
		r.OrderTopicConf = t.order(key.topic)
	}
	acting := t.mu.config.SupportActingMaster && !strings.HasPrefix(key.topic, syncMemberPrefix)
	for _, name := range slices.Sorted(maps.Keys(tp.queues)) {
		b, q := t.mu.brokers[name], tp.queues[name]
		if key.zone != "" && b.hasMaster() && !strings.EqualFold(b.zone, key.zone) {
			continue
		}
		d := b.data()
		if acting && b.acting && !b.hasMaster() && q.Perm&protocol.PermWrite == 0 {
			id, _ := b.minID()
			d.BrokerAddrs[masterID] = d.BrokerAddrs[id]
			delete(d.BrokerAddrs, id)
		}
		r.BrokerDatas = append(r.BrokerDatas, d)
		r.QueueDatas = append(r.QueueDatas, q)
		for _, m := range b.members {
			if len(m.filters) > 0 {
				r.FilterServerTable[m.Addr] = m.filters
			}
		}
	}
	if len(tp.mapping) > 0 {
		r.TopicQueueMappingByBroker = maps.Clone(tp.mapping)
	}
	return r
}

func (b *broker) data() protocol.BrokerData {
	d := protocol.BrokerData{BrokerName: b.name, Cluster: b.cluster, ZoneName: b.zone, EnableActingMaster: b.acting,
		BrokerAddrs: map[int64]string{}}
	for id, m := range b.members {
		d.BrokerAddrs[id] = m.Addr
	}
	return d
}

// ClusterInfo is the encoded ClusterInfo. The bytes are shared: they must not be changed.
func (t *Table) ClusterInfo() []byte {
	t.mu.RLock()
	body := t.mu.cluster
	t.mu.RUnlock()
	if body != nil {
		return body
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	info := protocol.ClusterInfo{BrokerAddrTable: map[string]protocol.BrokerData{}, ClusterAddrTable: map[string][]string{}}
	for _, name := range slices.Sorted(maps.Keys(t.mu.brokers)) {
		b := t.mu.brokers[name]
		info.BrokerAddrTable[name] = b.data()
		clusters := map[string]struct{}{b.cluster: {}}
		for _, m := range b.members {
			clusters[m.Cluster] = struct{}{}
		}
		for c := range clusters {
			info.ClusterAddrTable[c] = append(info.ClusterAddrTable[c], name)
		}
	}
	t.mu.cluster = mustJSON(&info)
	return t.mu.cluster
}

// Members are the live members of a broker group by id, empty for an unknown one.
func (t *Table) Members(brokerName string) map[int64]string {
	t.mu.RLock()
	defer t.mu.RUnlock()
	b := t.mu.brokers[brokerName]
	if b == nil {
		return map[int64]string{}
	}
	return b.data().BrokerAddrs
}

// mustJSON encodes our own types, which cannot fail.
func mustJSON(v any) []byte {
	b, err := protocol.MarshalFast(v)
	if err != nil {
		panic(fmt.Sprintf("route: encode %T: %v", v, err))
	}
	return b
}
