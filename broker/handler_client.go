package broker

// HEART_BEAT 34, UNREGISTER_CLIENT 35, GET_CONSUMER_LIST_BY_GROUP 38, CHECK_CLIENT_CONFIG 46: as Java's ClientManageProcessor and
// ConsumerManageProcessor. NOTIFY_CONSUMER_IDS_CHANGED 40 is sent by clients.Registry.
//
// Different from Java: members of one group that subscribe differently are noticed, logged and kept for consumerStatus.

import (
	"strings"

	"github.com/seedmq/seedmq/broker/clients"
	"github.com/seedmq/seedmq/broker/filter"
	"github.com/seedmq/seedmq/remoting"
	"github.com/seedmq/seedmq/remoting/protocol"
)

func (b *Broker) clientRoutes() []remoting.Route {
	return []remoting.Route{
		{Code: protocol.ReqHeartBeat, Mode: remoting.Pooled, Pool: poolMeta, Handle: b.heartbeat},
		{Code: protocol.ReqUnregisterClient, Mode: remoting.Inline, Handle: b.unregisterClient},
		{Code: protocol.ReqGetConsumerListByGroup, Mode: remoting.Inline, Handle: b.consumerList},
		{Code: protocol.ReqCheckClientConfig, Mode: remoting.Inline, Handle: b.checkClient},
	}
}

// maxClientID bounds the bytes of a client id, which is kept for each of its groups. Clients make it from address, name and unit.
const maxClientID = 4096

// heartbeat registers the producers and consumers of a connection. It is pooled, for it may make groups and topics.
func (b *Broker) heartbeat(c remoting.Conn, req *protocol.Command) {
	var hb protocol.HeartbeatData
	if err := protocol.UnmarshalFast(req.Body, &hb); err != nil {
		fail(c, req, refuse(protocol.RespSystemError, "heartbeat body: %v", err))
		return
	}
	if hb.ClientID == "" || len(hb.ClientID) > maxClientID {
		fail(c, req, refuse(protocol.RespSystemError, "heartbeat body: clientID: %d bytes, it must have 1 to %d", len(hb.ClientID), maxClientID))
		return
	}
	me := clients.Member{Conn: c, ClientID: hb.ClientID, Language: req.Language, Version: req.Version}
	known := true
	for i := range hb.ConsumerDataSet {
		ok, err := b.heartbeatConsumer(me, &hb.ConsumerDataSet[i], clients.Heartbeat{Fingerprint: hb.HeartbeatFingerprint, WithoutSub: hb.WithoutSub})
		if err != nil {
			fail(c, req, err)
			return
		}
		known = known && ok
	}
	if b.settings().EnableRegisterProducer {
		for _, p := range hb.ProducerDataSet {
			if checkProducerGroup(p.GroupName) == nil {
				b.clients.RegisterProducer(p.GroupName, me)
			}
		}
	}
	b.dropIfClosed(c)
	// A heartbeat of version 1 is answered true to both, as Java does.
	change := hb.HeartbeatFingerprint == 0 || !known
	c.Reply(req, &remoting.Reply{Header: &protocol.HeartBeatResponseHeader{
		SupportHeartbeatV2: protocol.Some(true), SubChange: protocol.Some(change)}})
}

// dropIfClosed removes what a heartbeat registered when its connection ended meanwhile, after Closed was handled.
func (b *Broker) dropIfClosed(c remoting.Conn) {
	select {
	case <-c.Done():
		b.clients.Closed(c)
	default:
	}
}

// heartbeatConsumer registers one consumer group of a client. A group that may not be made is passed over, as Java does: its
// pulls say why.
func (b *Broker) heartbeatConsumer(me clients.Member, d *protocol.ConsumerData, hb clients.Heartbeat) (known bool, err error) {
	g, err := b.groupFor(d.GroupName)
	if err != nil {
		b.log.Limited(b.clk, "heartbeat "+me.ClientID, logEvery).Warnf("client %s: consumer group passed over: %v", me.ClientID, err)
		return true, nil
	}
	if b.settings().RejectPullConsumerEnable && d.ConsumeType == protocol.ConsumeActively {
		return true, nil
	}
	if _, err := b.ensureRetryTopic(g, d.UnitMode); err != nil {
		return false, err
	}
	b.warmFilters(d.SubscriptionDataSet)
	_, known = b.clients.RegisterConsumer(me, d, hb)
	if !hb.WithoutSub {
		b.registerFilters(me.ClientID, g.Name(), d.SubscriptionDataSet)
	}
	return known, nil
}

// unregisterClient removes a client from the groups it names.
func (b *Broker) unregisterClient(c remoting.Conn, req *protocol.Command) {
	var h protocol.UnregisterClientRequestHeader
	if err := h.DecodeExt(req.Ext); err != nil {
		fail(c, req, err)
		return
	}
	if h.ConsumerGroup != "" {
		b.locks.releaseGroup(c.ID(), h.ConsumerGroup) // before the others are told
	}
	b.clients.Unregister(c, strings.Clone(h.ProducerGroup), strings.Clone(h.ConsumerGroup))
	c.Reply(req, &remoting.Reply{})
}

// consumerList tells the client ids of a group. A group without members is an error, as in Java.
func (b *Broker) consumerList(c remoting.Conn, req *protocol.Command) {
	var h protocol.GetConsumerListByGroupRequestHeader
	if err := h.DecodeExt(req.Ext); err != nil {
		fail(c, req, err)
		return
	}
	ids := b.clients.ConsumerIDs(h.ConsumerGroup)
	if b.followers.leaving(c.ID(), h.ConsumerGroup) {
		ids = b.withoutMember(ids, h.ConsumerGroup, c.ID())
	}
	if len(ids) == 0 {
		fail(c, req, refuse(protocol.RespSystemError, "no consumer for this group, %s", clip(h.ConsumerGroup)))
		return
	}
	body, err := protocol.MarshalFast(&protocol.GetConsumerListByGroupResponseBody{ConsumerIDList: ids})
	done(c, req, nil, body, err)
}

// checkClient says whether a subscription can be served.
func (b *Broker) checkClient(c remoting.Conn, req *protocol.Command) {
	var body protocol.CheckClientRequestBody
	if err := protocol.UnmarshalFast(req.Body, &body); err != nil {
		fail(c, req, refuse(protocol.RespSystemError, "body of CHECK_CLIENT_CONFIG: %v", err))
		return
	}
	s := &body.SubscriptionData
	if filter.IsTag(s.ExpressionType) {
		c.Reply(req, &remoting.Reply{})
		return
	}
	if err := b.filterAllowed(s.ExpressionType); err != nil {
		fail(c, req, err)
		return
	}
	if _, err := b.filters.Compile(s.SubString, s.ExpressionType); err != nil {
		fail(c, req, refuse(protocol.RespSubscriptionParseFailed, "%v", err))
		return
	}
	c.Reply(req, &remoting.Reply{})
}
