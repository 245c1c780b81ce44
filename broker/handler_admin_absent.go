package broker

// Requests for parts that this version does not have: each is answered with what is missing, in Java's code where Java has one, rather
// than with "not supported".

import (
	"math"

	"github.com/seedmq/seedmq/remoting"
	"github.com/seedmq/seedmq/remoting/protocol"
)

const (
	noRocksDB     = "this broker keeps its consume queues and tables in files, not in RocksDB"
	noColdControl = "flow control of cold reads is not available in this version: cold reads run on a pool of their own and need no limit per group"
	noReadAhead   = "the read-ahead mode is not changeable: old records are read with pread, not through a mapping"
	noAuth        = "users and access control lists are not available in this version"
)

// absentRoutes are the rows of what is not there.
func (b *Broker) absentRoutes() []remoting.Route {
	var routes []remoting.Route
	add := func(r *Refusal, codes ...protocol.RequestCode) {
		for _, code := range codes {
			routes = append(routes, remoting.Route{Code: code, Mode: remoting.Inline,
				Handle: func(c remoting.Conn, req *protocol.Command) { fail(c, req, r) }})
		}
	}
	missing := func(why string) *Refusal { return &Refusal{Code: protocol.RespSystemError, Remark: why} }
	add(missing(noRocksDB), protocol.ReqCheckRocksDBCQWriteProgress, protocol.ReqExportRocksDBConfigToJSON, protocol.ReqPopRollback)
	add(missing(noColdControl), protocol.ReqUpdateColdDataFlowCtrConfig, protocol.ReqRemoveColdDataFlowCtrConfig)
	add(missing(noStaticTopics), protocol.ReqUpdateAndCreateStaticTopic)
	add(missing(noReadAhead), protocol.ReqSetCommitLogReadMode)
	add(missing(noAuth), protocol.ReqAuthCreateUser, protocol.ReqAuthUpdateUser, protocol.ReqAuthDeleteUser, protocol.ReqAuthGetUser,
		protocol.ReqAuthListUser, protocol.ReqAuthCreateACL, protocol.ReqAuthUpdateACL, protocol.ReqAuthDeleteACL,
		protocol.ReqAuthGetACL, protocol.ReqAuthListACL)
	add(missing("this request only for controllerMode "), protocol.ReqGetBrokerEpochCache) // Java's words
	return append(routes,
		remoting.Route{Code: protocol.ReqGetColdDataFlowCtrInfo, Mode: remoting.Inline, Handle: admin(b.coldInfo)},
		remoting.Route{Code: protocol.ReqResetMasterFlushOffset, Mode: remoting.Inline, Handle: admin(b.resetFlushOffset)})
}

// coldInfo says truthfully that no group is under control.
func (b *Broker) coldInfo(*call, *none) (*remoting.Reply, error) {
	return jsonReply(&protocol.ColdDataFlowCtrInfo{CGColdReadThreshold: math.MaxInt64, GlobalColdReadThreshold: math.MaxInt64,
		ConfigTable: map[string]int64{}, RuntimeTable: map[string]any{}})
}

// resetFlushOffset is for slaves; a master takes no notice, as Java's.
func (b *Broker) resetFlushOffset(*call, *protocol.ResetMasterFlushOffsetRequestHeader) (*remoting.Reply, error) {
	return ok()
}
