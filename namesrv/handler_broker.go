package namesrv

// Requests of brokers: 103, 104, 217, 322, 901, 904. Java: DefaultRequestProcessor, RouteInfoManager.
//
// Differs: an unregistration is applied at once and not queued; what a newer connection has overtaken is ignored (package route);
// a compressed register body is recognised whatever its header says.
// Left out: BROKER_HEARTBEAT's epoch and offsets, which are for controllers.

import (
	"fmt"
	"strings"
	"time"

	"github.com/seedmq/seedmq/conf/clock"
	"github.com/seedmq/seedmq/namesrv/route"
	"github.com/seedmq/seedmq/remoting"
	"github.com/seedmq/seedmq/remoting/protocol"
)

// zoneName is the header field with a broker's or client's zone.
const zoneName = "__ZONE_NAME"

func (s *Server) registerBroker(c remoting.Conn, req *protocol.Command) (*remoting.Reply, error) {
	var h protocol.RegisterBrokerRequestHeader
	if err := h.DecodeExt(req.Ext); err != nil {
		return nil, err
	}
	if err := protocol.CheckRegisterCRC(req.Body, h.BodyCRC32.Or(0)); err != nil {
		return nil, &refused{protocol.RespSystemError, "crc32 not match"}
	}
	body, err := protocol.DecodeRegisterBrokerBody(req.Body, h.Compressed.Or(false), req.Version)
	if err != nil {
		return nil, err
	}
	w := &body.TopicConfigSerializeWrapper
	res := s.table.Register(&route.Registration{
		Identity: identity(h.ClusterName, h.BrokerName, h.BrokerAddr, h.BrokerID), Session: sessionOf(c),
		HAAddr: strings.Clone(h.HaServerAddr), Zone: zone(req), Timeout: clock.Span(h.HeartbeatTimeoutMillis.Or(0), time.Millisecond),
		ActingMaster: h.EnableActingMaster, Version: w.DataVersion, Topics: byName(w.TopicConfigTable), Mappings: w.TopicQueueMappingInfoMap,
		Filters: body.FilterServerList})
	if res.Verdict == route.Incomplete {
		return nil, &refused{protocol.RespSystemError, fmt.Sprintf(
			"register broker failed: one topic came, and broker %s[%d] has not registered all of its topics yet", h.BrokerName, h.BrokerID)}
	}
	s.notify(res.Notice)
	r := ok()
	r.Header = &protocol.RegisterBrokerResponseHeader{HaServerAddr: res.HAAddr, MasterAddr: res.MasterAddr}
	if s.live.Get().Namesrv.ReturnOrderTopicConfigToBroker {
		if kvs, has := s.kv.list(orderNamespace); has {
			if r.Body, err = protocol.MarshalFast(protocol.KVTable{Table: kvs}); err != nil {
				return nil, err
			}
		}
	}
	return r, nil
}

// byName makes sure that a topic is filed under the name it has: Java publishes by the name inside.
func byName(table map[string]protocol.TopicConfig) map[string]protocol.TopicConfig {
	for key, c := range table {
		if c.TopicName != "" && c.TopicName != key {
			delete(table, key)
			table[c.TopicName] = c
		}
	}
	return table
}

// identity copies header texts, which alias the frame.
func identity(cluster, name, addr string, id int64) route.Identity {
	return route.Identity{Cluster: strings.Clone(cluster), Name: strings.Clone(name), Addr: strings.Clone(addr), ID: id}
}

func zone(req *protocol.Command) string {
	z, _ := req.Ext.Get(zoneName)
	return strings.Clone(z)
}

func (s *Server) unregisterBroker(c remoting.Conn, req *protocol.Command) (*remoting.Reply, error) {
	var h protocol.UnregisterBrokerRequestHeader
	if err := h.DecodeExt(req.Ext); err != nil {
		return nil, err
	}
	n, _ := s.table.Unregister(identity(h.ClusterName, h.BrokerName, h.BrokerAddr, h.BrokerID), sessionOf(c))
	s.notify(n)
	return ok(), nil
}

func (s *Server) queryDataVersion(c remoting.Conn, req *protocol.Command) (*remoting.Reply, error) {
	var h protocol.QueryDataVersionRequestHeader
	if err := h.DecodeExt(req.Ext); err != nil {
		return nil, err
	}
	var theirs protocol.DataVersion
	if err := protocol.UnmarshalFast(req.Body, &theirs); err != nil {
		return nil, &refused{protocol.RespSystemError, "body is not a DataVersion: " + err.Error()}
	}
	ours, known := s.table.Heartbeat(h.ClusterName, h.BrokerAddr, sessionOf(c))
	r := ok()
	r.Header = &protocol.QueryDataVersionResponseHeader{Changed: !known || ours != theirs}
	if known {
		r.Body = []byte(ours.String())
	}
	return r, nil
}

func (s *Server) brokerHeartbeat(c remoting.Conn, req *protocol.Command) (*remoting.Reply, error) {
	var h protocol.BrokerHeartbeatRequestHeader
	if err := h.DecodeExt(req.Ext); err != nil {
		return nil, err
	}
	s.table.Heartbeat(h.ClusterName, h.BrokerAddr, sessionOf(c))
	return ok(), nil
}

func (s *Server) getBrokerMemberGroup(_ remoting.Conn, req *protocol.Command) (*remoting.Reply, error) {
	var h protocol.GetBrokerMemberGroupRequestHeader
	if err := h.DecodeExt(req.Ext); err != nil {
		return nil, err
	}
	return okJSON(protocol.GetBrokerMemberGroupResponseBody{BrokerMemberGroup: protocol.BrokerMemberGroup{
		Cluster: h.ClusterName, BrokerName: h.BrokerName, BrokerAddrs: s.table.Members(h.BrokerName)}})
}

func (s *Server) registerTopic(_ remoting.Conn, req *protocol.Command) (*remoting.Reply, error) {
	var h protocol.RegisterTopicInNamesrvRequestHeader
	if err := h.DecodeExt(req.Ext); err != nil {
		return nil, err
	}
	var body protocol.TopicRouteData
	if err := protocol.UnmarshalFast(req.Body, &body); err != nil {
		return nil, &refused{protocol.RespSystemError, "body is not a TopicRouteData: " + err.Error()}
	}
	s.table.RegisterTopic(strings.Clone(h.Topic), body.QueueDatas)
	return ok(), nil
}
