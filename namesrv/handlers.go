package namesrv

import (
	"errors"

	"github.com/seedmq/seedmq/remoting"
	"github.com/seedmq/seedmq/remoting/protocol"
)

// poolAdmin runs the handlers that write files.
const poolAdmin = "admin"

var pools = map[string]remoting.PoolOptions{poolAdmin: {Size: 2, Queue: 10_000, Key: "defaultThreadPoolQueueCapacity"}}

// handler makes the reply to a request, or an error that refusal turns into one.
type handler func(c remoting.Conn, req *protocol.Command) (*remoting.Reply, error)

// routes is the table of all requests that a NameServer knows.
func (s *Server) routes() []remoting.Route {
	inline := func(code protocol.RequestCode, h handler) remoting.Route {
		return remoting.Route{Code: code, Mode: remoting.Inline, Handle: s.serve(h)}
	}
	pooled := func(code protocol.RequestCode, h handler) remoting.Route {
		return remoting.Route{Code: code, Mode: remoting.Pooled, Pool: poolAdmin, Handle: s.serve(h)}
	}
	return []remoting.Route{
		inline(protocol.ReqGetRouteInfoByTopic, s.getRoute),
		inline(protocol.ReqRegisterBroker, s.registerBroker),
		inline(protocol.ReqUnregisterBroker, s.unregisterBroker),
		inline(protocol.ReqQueryDataVersion, s.queryDataVersion),
		inline(protocol.ReqBrokerHeartbeat, s.brokerHeartbeat),
		inline(protocol.ReqGetBrokerMemberGroup, s.getBrokerMemberGroup),
		inline(protocol.ReqGetBrokerClusterInfo, s.getClusterInfo),
		inline(protocol.ReqRegisterTopicInNamesrv, s.registerTopic),
		inline(protocol.ReqDeleteTopicInNamesrv, s.deleteTopic),
		inline(protocol.ReqWipeWritePermOfBroker, s.wipeWritePerm),
		inline(protocol.ReqAddWritePermOfBroker, s.addWritePerm),
		inline(protocol.ReqGetAllTopicListFromNameServer, s.getAllTopics),
		inline(protocol.ReqGetTopicsByCluster, s.getTopicsByCluster),
		inline(protocol.ReqGetSystemTopicListFromNs, s.getSystemTopics),
		inline(protocol.ReqGetUnitTopicList, s.topicList(s.table.UnitTopics)),
		inline(protocol.ReqGetHasUnitSubTopicList, s.topicList(func() []string { return s.table.UnitSubTopics(false) })),
		inline(protocol.ReqGetHasUnitSubUnunitTopicList, s.topicList(func() []string { return s.table.UnitSubTopics(true) })),
		pooled(protocol.ReqPutKVConfig, s.putKV),
		inline(protocol.ReqGetKVConfig, s.getKV),
		pooled(protocol.ReqDeleteKVConfig, s.deleteKV),
		inline(protocol.ReqGetKVListByNamespace, s.listKV),
		pooled(protocol.ReqUpdateNamesrvConfig, s.updateConfig),
		inline(protocol.ReqGetNamesrvConfig, s.getConfig),
	}
}

// serve sends what h returns.
func (s *Server) serve(h handler) remoting.HandleFunc {
	return func(c remoting.Conn, req *protocol.Command) {
		r, err := h(c, req)
		if err != nil {
			r = refusal(err)
		}
		c.Reply(req, r)
	}
}

// refused is an answer that is not a success.
type refused struct {
	code   protocol.ResponseCode
	remark string
}

func (r *refused) Error() string { return r.remark }

// errDisabled answers lists that are switched off.
var errDisabled = &refused{protocol.RespSystemError, "disable"}

// refusal is what the peer is told of an error.
func refusal(err error) *remoting.Reply {
	var r *refused
	if errors.As(err, &r) {
		return &remoting.Reply{Code: r.code, Remark: r.remark}
	}
	return &remoting.Reply{Code: protocol.RespSystemError, Remark: err.Error()}
}

// ok is a success without content.
func ok() *remoting.Reply { return &remoting.Reply{Code: protocol.RespSuccess} }

// okJSON is a success with a body.
func okJSON(v any) (*remoting.Reply, error) {
	body, err := protocol.MarshalFast(v)
	if err != nil {
		return nil, err
	}
	return &remoting.Reply{Code: protocol.RespSuccess, Body: body}, nil
}
