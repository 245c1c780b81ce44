package admin

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/seedmq/seedmq/remoting/protocol"
)

// masterID is the broker id of a broker group's master.
const masterID = 0

// Route returns who holds a topic's queues. A topic that the NameServer does not know is an *Error with code TOPIC_NOT_EXIST.
func (c *Client) Route(ctx context.Context, topic string) (*protocol.TopicRouteData, error) {
	h := &protocol.GetRouteInfoByTopicRequestHeader{Topic: topic, AcceptStandardJsonOnly: protocol.Some(true)}
	return decode[protocol.TopicRouteData](c.nameServer(ctx, request{code: protocol.ReqGetRouteInfoByTopic, header: h}))
}

// Cluster returns all brokers that are registered.
func (c *Client) Cluster(ctx context.Context) (*protocol.ClusterInfo, error) {
	return decode[protocol.ClusterInfo](c.nameServer(ctx, request{code: protocol.ReqGetBrokerClusterInfo}))
}

// Topics lists all topics, sorted, the system's and those for retries and dead letters among them.
func (c *Client) Topics(ctx context.Context) ([]string, error) {
	l, err := decode[protocol.TopicList](c.nameServer(ctx, request{code: protocol.ReqGetAllTopicListFromNameServer}))
	if err != nil {
		return nil, err
	}
	slices.Sort(l.TopicList)
	return l.TopicList, nil
}

// TopicClusters lists the clusters that have a topic, sorted.
func (c *Client) TopicClusters(ctx context.Context, topic string) ([]string, error) {
	info, err := c.Cluster(ctx)
	if err != nil {
		return nil, err
	}
	route, err := c.Route(ctx, topic)
	if err != nil {
		return nil, err
	}
	return ClustersOf(info, route), nil
}

// ClustersOf lists the clusters of the brokers in a route, sorted.
func ClustersOf(info *protocol.ClusterInfo, route *protocol.TopicRouteData) []string {
	var out []string
	for cluster, names := range info.ClusterAddrTable {
		for _, b := range route.BrokerDatas {
			if slices.Contains(names, b.BrokerName) {
				out = append(out, cluster)
				break
			}
		}
	}
	slices.Sort(out)
	return out
}

// Replica is one broker process.
type Replica struct {
	Cluster, Broker string
	ID              int64
	Addr            string
}

// Replicas lists the brokers of a cluster, or of all clusters if it is "", by cluster, broker name and id. ErrNoCluster if there is none.
func (c *Client) Replicas(ctx context.Context, cluster string) ([]Replica, error) {
	info, err := c.Cluster(ctx)
	if err != nil {
		return nil, err
	}
	return replicas(info, cluster)
}

func replicas(info *protocol.ClusterInfo, cluster string) ([]Replica, error) {
	var out []Replica
	found := cluster == ""
	for name, brokers := range info.ClusterAddrTable {
		if cluster != "" && name != cluster {
			continue
		}
		found = true
		for _, b := range brokers {
			for id, addr := range info.BrokerAddrTable[b].BrokerAddrs {
				out = append(out, Replica{Cluster: name, Broker: b, ID: int64(id), Addr: addr})
			}
		}
	}
	if !found {
		return nil, ErrNoCluster
	}
	slices.SortFunc(out, compareReplicas)
	return out, nil
}

func compareReplicas(a, b Replica) int {
	if n := cmp.Compare(a.Cluster, b.Cluster); n != 0 {
		return n
	}
	if n := cmp.Compare(a.Broker, b.Broker); n != 0 {
		return n
	}
	return cmp.Compare(a.ID, b.ID)
}

// Masters lists the master addresses of a cluster, or of all if it is "".
func (c *Client) Masters(ctx context.Context, cluster string) ([]string, error) {
	all, err := c.Replicas(ctx, cluster)
	var out []string
	for _, r := range all {
		if r.ID == masterID {
			out = append(out, r.Addr)
		}
	}
	return out, err
}

// masterAddr is the broker to ask about a broker group: its master, or any member if there is none.
func masterAddr(b *protocol.BrokerData) (string, bool) {
	best, addr := int64(-1), ""
	for id, a := range b.BrokerAddrs {
		if n := int64(id); best < 0 || n < best {
			best, addr = n, a
		}
	}
	return addr, best >= 0
}

// routeMasters lists, for each broker group of a route, whom to ask, sorted by broker name.
func routeMasters(route *protocol.TopicRouteData) []Replica {
	var out []Replica
	for i := range route.BrokerDatas {
		b := &route.BrokerDatas[i]
		if addr, ok := masterAddr(b); ok {
			out = append(out, Replica{Cluster: b.Cluster, Broker: b.BrokerName, Addr: addr})
		}
	}
	slices.SortFunc(out, compareReplicas)
	return out
}

// TopicBrokers lists whom to ask about a topic: the master of each broker group that has it.
func (c *Client) TopicBrokers(ctx context.Context, topic string) ([]Replica, error) {
	route, err := c.Route(ctx, topic)
	if err != nil {
		return nil, err
	}
	return routeMasters(route), nil
}

// PutKV sets a NameServer key, on all NameServers.
func (c *Client) PutKV(ctx context.Context, namespace, key, value string) error {
	h := &protocol.PutKVConfigRequestHeader{Namespace: namespace, Key: key, Value: value}
	return c.eachNameServer(ctx, request{code: protocol.ReqPutKVConfig, header: h})
}

// DeleteKV removes a NameServer key, on all NameServers.
func (c *Client) DeleteKV(ctx context.Context, namespace, key string) error {
	h := &protocol.DeleteKVConfigRequestHeader{Namespace: namespace, Key: key}
	return c.eachNameServer(ctx, request{code: protocol.ReqDeleteKVConfig, header: h})
}

// GetKV reads a NameServer key. A missing one is an *Error with code QUERY_NOT_FOUND.
func (c *Client) GetKV(ctx context.Context, namespace, key string) (string, error) {
	h := &protocol.GetKVConfigRequestHeader{Namespace: namespace, Key: key}
	reply, err := c.nameServer(ctx, request{code: protocol.ReqGetKVConfig, header: h})
	if err != nil {
		return "", err
	}
	var out protocol.GetKVConfigResponseHeader
	err = out.DecodeExt(reply.Ext)
	return out.Value, err
}

// WipeWritePerm takes the permission to write from a broker, in the routes of the NameServer at addr, and returns how many topics that changed.
func (c *Client) WipeWritePerm(ctx context.Context, addr, broker string) (int, error) {
	h := &protocol.WipeWritePermOfBrokerRequestHeader{BrokerName: broker}
	reply, err := c.broker(ctx, addr, request{code: protocol.ReqWipeWritePermOfBroker, header: h})
	if err != nil {
		return 0, err
	}
	var out protocol.WipeWritePermOfBrokerResponseHeader
	err = out.DecodeExt(reply.Ext)
	return int(out.WipeTopicCount), err
}

// AddWritePerm gives it back.
func (c *Client) AddWritePerm(ctx context.Context, addr, broker string) (int, error) {
	h := &protocol.AddWritePermOfBrokerRequestHeader{BrokerName: broker}
	reply, err := c.broker(ctx, addr, request{code: protocol.ReqAddWritePermOfBroker, header: h})
	if err != nil {
		return 0, err
	}
	var out protocol.AddWritePermOfBrokerResponseHeader
	err = out.DecodeExt(reply.Ext)
	return int(out.AddTopicCount), err
}

// NameServerConfig reads the configuration of the NameServer at addr.
func (c *Client) NameServerConfig(ctx context.Context, addr string) (map[string]string, error) {
	reply, err := c.broker(ctx, addr, request{code: protocol.ReqGetNamesrvConfig})
	if err != nil {
		return nil, err
	}
	return parseProperties(reply.Body), nil
}

// UpdateNameServerConfig changes keys on all NameServers.
func (c *Client) UpdateNameServerConfig(ctx context.Context, kv map[string]string) error {
	body, err := formatProperties(kv)
	if err != nil {
		return err
	}
	return c.eachNameServer(ctx, request{code: protocol.ReqUpdateNamesrvConfig, body: body})
}

// MasterOf finds the master of a broker group in a route.
func MasterOf(route *protocol.TopicRouteData, broker string) (string, error) {
	for i := range route.BrokerDatas {
		b := &route.BrokerDatas[i]
		if b.BrokerName == broker {
			if addr, ok := masterAddr(b); ok {
				return addr, nil
			}
		}
	}
	return "", fmt.Errorf("broker %s is not in the route: %w", broker, ErrNoBroker)
}
