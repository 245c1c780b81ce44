package namesrv

// Requests for routes and lists: 105, 106, 205, 206, 216, 224, 304, 311-313, 327. Java: ClientRequestProcessor, DefaultRequestProcessor.
//
// Differs: every route is standard JSON, which all clients read; lists are sorted and name a topic once.

import (
	"fmt"
	"time"

	"github.com/seedmq/seedmq/conf/clock"
	"github.com/seedmq/seedmq/remoting"
	"github.com/seedmq/seedmq/remoting/protocol"
)

// zoneMode is the header field by which a client asks for brokers of its zone only.
const zoneMode = "__ZONE_MODE"

// faq is what Java appends to the remark of an unknown topic.
const faq = "\nSee https://rocketmq.apache.org/docs/bestPractice/06FAQ for further details."

func (s *Server) getRoute(_ remoting.Conn, req *protocol.Command) (*remoting.Reply, error) {
	var h protocol.GetRouteInfoByTopicRequestHeader
	if err := h.DecodeExt(req.Ext); err != nil {
		return nil, err
	}
	if c := &s.live.Get().Namesrv; c.NeedWaitForService && s.o.Clock.Now().Sub(s.started) < clock.Span(c.WaitSecondsForService, time.Second) {
		return nil, &refused{protocol.RespSystemError, "name server not ready"}
	}
	zone := ""
	if mode, _ := req.Ext.Get(zoneMode); mode == "true" {
		zone, _ = req.Ext.Get(zoneName)
	}
	body, known := s.table.Route(h.Topic, zone)
	if !known {
		return nil, &refused{protocol.RespTopicNotExist, fmt.Sprintf("No topic route info in name server for the topic: %s%s", h.Topic, faq)}
	}
	return &remoting.Reply{Code: protocol.RespSuccess, Body: body}, nil
}

func (s *Server) getClusterInfo(remoting.Conn, *protocol.Command) (*remoting.Reply, error) {
	return &remoting.Reply{Code: protocol.RespSuccess, Body: s.table.ClusterInfo()}, nil
}

func (s *Server) deleteTopic(_ remoting.Conn, req *protocol.Command) (*remoting.Reply, error) {
	var h protocol.DeleteTopicInNamesrvRequestHeader
	if err := h.DecodeExt(req.Ext); err != nil {
		return nil, err
	}
	s.table.DeleteTopic(h.Topic, h.ClusterName)
	return ok(), nil
}

func (s *Server) wipeWritePerm(c remoting.Conn, req *protocol.Command) (*remoting.Reply, error) {
	var h protocol.WipeWritePermOfBrokerRequestHeader
	if err := h.DecodeExt(req.Ext); err != nil {
		return nil, err
	}
	n := s.table.WipeWrite(h.BrokerName)
	s.o.Log.Infof("%v took the write permission from %d topics of broker %s", c.RemoteAddr(), n, h.BrokerName)
	r := ok()
	r.Header = &protocol.WipeWritePermOfBrokerResponseHeader{WipeTopicCount: int32(n)}
	return r, nil
}

func (s *Server) addWritePerm(c remoting.Conn, req *protocol.Command) (*remoting.Reply, error) {
	var h protocol.AddWritePermOfBrokerRequestHeader
	if err := h.DecodeExt(req.Ext); err != nil {
		return nil, err
	}
	n := s.table.AddWrite(h.BrokerName)
	s.o.Log.Infof("%v gave read and write permission to %d topics of broker %s", c.RemoteAddr(), n, h.BrokerName)
	r := ok()
	r.Header = &protocol.AddWritePermOfBrokerResponseHeader{AddTopicCount: int32(n)}
	return r, nil
}

func (s *Server) getAllTopics(remoting.Conn, *protocol.Command) (*remoting.Reply, error) {
	if !s.live.Get().Namesrv.EnableAllTopicList {
		return nil, errDisabled
	}
	return okJSON(protocol.TopicList{TopicList: s.table.Topics()})
}

// topicList answers a list that enableTopicList can switch off.
func (s *Server) topicList(list func() []string) handler {
	return func(remoting.Conn, *protocol.Command) (*remoting.Reply, error) {
		if !s.live.Get().Namesrv.EnableTopicList {
			return nil, errDisabled
		}
		return okJSON(protocol.TopicList{TopicList: list()})
	}
}

func (s *Server) getTopicsByCluster(c remoting.Conn, req *protocol.Command) (*remoting.Reply, error) {
	var h protocol.GetTopicsByClusterRequestHeader
	if err := h.DecodeExt(req.Ext); err != nil {
		return nil, err
	}
	return s.topicList(func() []string { return s.table.TopicsOfCluster(h.Cluster) })(c, req)
}

func (s *Server) getSystemTopics(remoting.Conn, *protocol.Command) (*remoting.Reply, error) {
	names, addr := s.table.SystemTopics()
	return okJSON(protocol.TopicList{TopicList: names, BrokerAddr: addr})
}
