package broker

// What mqadmin and slaves ask of a broker, as Java's AdminBrokerProcessor: this file has the rows of the table and what all of these
// handlers share. The handlers are in the other handler_*.go files named below; each says what it serves and what differs.
//
// Different from Java in all of them: an answer that is a success has no remark (Java's keeps "not set any response code"), and a
// header field that is missing or malformed is named.

import (
	"sync/atomic"

	"github.com/seedmq/seedmq/conf"
	"github.com/seedmq/seedmq/remoting"
	"github.com/seedmq/seedmq/remoting/protocol"
)

// adminState is what the admin handlers keep. It is made by New; booted is set by Start.
type adminState struct {
	config   *conf.Live[conf.BrokerProcess]
	booted   int64        // ms
	changes  atomic.Int64 // of the configuration
	changeAt atomic.Int64 // ms
}

// adminRoutes are the rows of this file and its sisters.
func (b *Broker) adminRoutes() []remoting.Route {
	b.admin.booted = b.clk.Now().UnixMilli()
	rows := map[protocol.RequestCode]func(remoting.Conn, *protocol.Command){
		// handler_topic.go
		protocol.ReqUpdateAndCreateTopic:         admin(b.updateTopic),
		protocol.ReqUpdateAndCreateTopicList:     admin(b.updateTopicList),
		protocol.ReqDeleteTopicInBroker:          admin(b.deleteTopic),
		protocol.ReqGetTopicConfig:               admin(b.topicConfig),
		protocol.ReqGetAllTopicConfig:            admin(b.allTopics),
		protocol.ReqGetSystemTopicListFromBroker: admin(b.systemTopics),
		protocol.ReqGetTopicStatsInfo:            admin(b.topicStats),
		protocol.ReqCleanExpiredConsumeQueue:     admin(b.cleanExpiredQueues),
		protocol.ReqCleanUnusedTopic:             admin(b.cleanUnusedTopics),
		protocol.ReqDeleteExpiredCommitLog:       admin(b.deleteExpired),
		// handler_purge.go
		protocol.ReqPurgeTopic: admin(b.purgeTopic),
		// handler_group.go
		protocol.ReqUpdateAndCreateSubscriptionGroup:     admin(b.updateGroup),
		protocol.ReqUpdateAndCreateSubscriptionGroupList: admin(b.updateGroupList),
		protocol.ReqDeleteSubscriptionGroup:              admin(b.deleteGroup),
		protocol.ReqGetSubscriptionGroupConfig:           admin(b.groupConfig),
		protocol.ReqGetAllSubscriptionGroupConfig:        admin(b.allGroups),
		protocol.ReqUpdateAndGetGroupForbidden:           admin(b.groupForbidden),
		protocol.ReqGetConsumerConnectionList:            admin(b.consumerConnections),
		protocol.ReqGetProducerConnectionList:            admin(b.producerConnections),
		protocol.ReqGetAllProducerInfo:                   admin(b.allProducers),
		protocol.ReqQuerySubscriptionByConsumer:          admin(b.subscriptionOf),
		// handler_group_stats.go
		protocol.ReqGetConsumeStats:        admin(b.consumeStats),
		protocol.ReqGetBrokerConsumeStats:  admin(b.brokerConsumeStats),
		protocol.ReqQueryTopicConsumeByWho: admin(b.consumersOfTopic),
		protocol.ReqQueryTopicsByConsumer:  admin(b.topicsOfGroup),
		protocol.ReqQueryConsumeTimeSpan:   admin(b.consumeTimeSpan),
		protocol.ReqQueryCorrectionOffset:  admin(b.correctionOffset),
		protocol.ReqCloneGroupOffset:       admin(b.cloneOffsets),
		// handler_reset.go
		protocol.ReqInvokeBrokerToResetOffset: admin(b.resetOffset),
		// handler_relay.go
		protocol.ReqInvokeBrokerToGetConsumerStatus: admin(b.consumerStatus),
		protocol.ReqGetConsumerRunningInfo:          admin(b.consumerRunningInfo),
		protocol.ReqConsumeMessageDirectly:          admin(b.consumeDirectly),
		// handler_config.go
		protocol.ReqUpdateBrokerConfig: admin(b.updateConfig),
		protocol.ReqGetBrokerConfig:    admin(b.getConfig),
		// handler_admin_stats.go
		protocol.ReqGetBrokerRuntimeInfo: admin(b.runtimeInfo),
		protocol.ReqViewBrokerStatsData:  admin(b.statsData),
		protocol.ReqGetAllDelayOffset:    admin(b.delayOffsets),
		protocol.ReqGetBrokerHAStatus:    admin(b.haStatus),
	}
	routes := b.absentRoutes()
	for code, fn := range rows {
		routes = append(routes, remoting.Route{Code: code, Mode: remoting.Pooled, Pool: poolAdmin, Handle: fn})
	}
	routes = append(routes, b.queryRoutes()...)
	return append(routes, b.sendBackRoutes()...)
}

// decoder is a pointer to a header struct.
type decoder[H any] interface {
	*H
	protocol.HeaderDecoder
}

// none is the header of requests that have none.
type none struct{}

// DecodeExt takes any fields.
func (*none) DecodeExt(protocol.ExtFields) error { return nil }

// call is one request and who sent it.
type call struct {
	conn remoting.Conn
	req  *protocol.Command
}

// who names the sender in the log.
func (c *call) who() string { return c.conn.RemoteAddr().String() }

// admin makes a handler: it decodes the header, calls fn and sends the answer that fn returns. Neither the header's strings nor the
// request may be kept.
func admin[H any, P decoder[H]](fn func(c *call, h P) (*remoting.Reply, error)) func(remoting.Conn, *protocol.Command) {
	return func(conn remoting.Conn, req *protocol.Command) {
		var h H
		if err := P(&h).DecodeExt(req.Ext); err != nil {
			fail(conn, req, err)
			return
		}
		r, err := fn(&call{conn, req}, &h)
		if err != nil {
			fail(conn, req, err)
			return
		}
		conn.Reply(req, r)
	}
}

// jsonReply is a success with a JSON body.
func jsonReply(body any) (*remoting.Reply, error) {
	b, err := protocol.MarshalFast(body)
	if err != nil {
		return nil, err
	}
	return &remoting.Reply{Body: b}, nil
}

// ok is a success without anything.
func ok() (*remoting.Reply, error) { return &remoting.Reply{}, nil }

// decodeBody reads a JSON body into v.
func decodeBody(c *call, v any) error {
	if len(c.req.Body) == 0 {
		return refuse(protocol.RespInvalidParameter, "the request has no body")
	}
	if err := protocol.UnmarshalFast(c.req.Body, v); err != nil {
		return refuse(protocol.RespInvalidParameter, "body of the request: %v", err)
	}
	return nil
}
