package broker

// SEND_REPLY_MESSAGE 324, SEND_REPLY_MESSAGE_V2 325; PUSH_REPLY_MESSAGE_TO_CLIENT 326 is sent: as Java's ReplyMessageProcessor.
//
// The reply to a request goes to the requester's connection, found by its client id (REPLY_TO_CLIENT), and then into the reply topic
// when storeReplyMessageEnable says so. The replier is told whether the requester took it.
//
// Different from Java: the stored message is what an ordinary send would store; when storing fails the replier is told so only if
// the requester did not get the reply.

import (
	"context"
	"strconv"
	"strings"
	"time"

	"github.com/seedmq/seedmq/broker/topic"
	"github.com/seedmq/seedmq/remoting"
	"github.com/seedmq/seedmq/remoting/protocol"
	"github.com/seedmq/seedmq/store"
)

// pushTimeout is how long a requester may take to confirm a reply.
const pushTimeout = 10 * time.Second

// repliesInFlight bounds the replies that wait for their requesters; each costs a goroutine.
const repliesInFlight = 4096

func (b *Broker) replyRoutes() []remoting.Route {
	row := func(code protocol.RequestCode) remoting.Route {
		return remoting.Route{Code: code, Mode: remoting.Inline, Handle: b.sendReply}
	}
	return []remoting.Route{row(protocol.ReqSendReplyMessage), row(protocol.ReqSendReplyMessageV2)}
}

// replyMessage is a reply on its way.
type replyMessage struct {
	c     remoting.Conn
	req   *protocol.Command
	h     *protocol.SendMessageV2RequestHeader
	props protocol.Properties
	m     store.Message
	set   *settings
}

// sendReply checks a reply and passes it on. The requester's confirmation is waited for on a goroutine of its own: one slow requester
// must not hold up others.
func (b *Broker) sendReply(c remoting.Conn, req *protocol.Command) {
	r, err := b.makeReply(c, req.Clone())
	if err != nil {
		fail(c, req, err)
		return
	}
	if b.replying.Add(1) > repliesInFlight {
		b.replying.Add(-1)
		fail(c, req, overload("%d replies wait for their requesters, of %d; reply again in a moment", repliesInFlight, repliesInFlight))
		return
	}
	err = b.jobs.Go("reply", func(ctx context.Context) {
		defer b.replying.Add(-1)
		defer b.guard(c, func() *protocol.Command { return r.req })
		b.passReply(ctx, r)
	})
	if err != nil {
		b.replying.Add(-1)
		fail(c, req, refuse(protocol.RespServiceNotAvailable, "the broker is stopping"))
	}
}

// makeReply decodes and checks a reply.
func (b *Broker) makeReply(c remoting.Conn, req *protocol.Command) (*replyMessage, error) {
	w := &sendWork{now: b.clk.Now(), set: b.settings()}
	if req.Code == protocol.ReqSendReplyMessage {
		req.Code = protocol.ReqSendMessage // the same fields
	} else {
		req.Code = protocol.ReqSendMessageV2
	}
	h, err := w.decode(req)
	if err != nil {
		return nil, err
	}
	if err := b.sender.admit(w, &session{}, h); err != nil {
		return nil, err
	}
	e, err := b.sender.topicFor(&session{}, h)
	if err != nil {
		return nil, err
	}
	if len(req.Body) > w.set.Store.MaxMessageSize {
		return nil, refuse(protocol.RespMessageIllegal, "body is %d bytes, the limit is %d (maxMessageSize)", len(req.Body), w.set.Store.MaxMessageSize)
	}
	r := &replyMessage{c: c, req: req, h: h, set: w.set}
	return r, b.fillReply(w, r, e)
}

// fillReply makes the message that is stored and the properties that are pushed.
func (b *Broker) fillReply(w *sendWork, r *replyMessage, e *topic.Entry) error {
	h := r.h
	r.m = store.Message{Topic: e.Name(), Flag: h.Flag, SysFlag: h.SysFlag &^ protocol.SysFlagTransactionMask, BornTimestamp: h.BornTimestamp,
		BornHost: r.c.RemoteAddr(), StoreHost: w.set.self, ReconsumeTimes: h.ReconsumeTimes.Or(0), Body: r.req.Body}
	var err error
	if r.m.QueueID, err = b.sender.queueFor(e, h); err != nil {
		return err
	}
	r.props = protocol.ParseProperties(h.Properties)
	for _, name := range []string{protocol.PropertyPopCK, protocol.PropertyCluster, protocol.PropertyCRC32, protocol.PropertyTransactionPrepared, protocol.PropertyDelay} {
		delete(r.props, name)
	}
	r.props[protocol.PropertyMsgRegion] = w.set.RegionID
	r.props[protocol.PropertyTraceSwitch] = strconv.FormatBool(w.set.TraceOn)
	r.m.Properties = r.props.Encode()
	r.m.Tags, r.m.Keys, r.m.UniqKey = r.props[protocol.PropertyTags], r.props[protocol.PropertyKeys], r.props[protocol.PropertyUniqKey]
	return nil
}

// passReply pushes the reply to the requester, stores it, and tells the replier how the push went.
func (b *Broker) passReply(ctx context.Context, r *replyMessage) {
	pushed := b.pushReply(ctx, r)
	head := &protocol.SendMessageResponseHeader{MsgID: "0", QueueID: r.m.QueueID, MsgRegion: r.set.RegionID, TraceOn: strconv.FormatBool(r.set.TraceOn)}
	if r.set.StoreReplyMessageEnable {
		at, err := b.storeReply(r)
		if err != nil {
			b.log.Limited(b.clk, "store-reply", logEvery).Warnf("a reply to %s is not stored: %v", r.m.Topic, err)
		} else {
			head.MsgID, head.QueueOffset = string(r.set.appendMsgID(nil, at.PhysicalOffset)), at.QueueOffset
		}
	}
	reply := &remoting.Reply{Header: head}
	if pushed != nil {
		reply.Code, reply.Remark = protocol.RespSystemError, pushed.Remark
	}
	r.c.Reply(r.req, reply)
}

// pushReply sends the reply to the requester and waits for its confirmation.
func (b *Broker) pushReply(ctx context.Context, r *replyMessage) *Refusal {
	id := r.props[protocol.PropertyReplyToClient]
	if id == "" {
		return refuse(protocol.RespSystemError, "reply message properties[%s] is null", protocol.PropertyReplyToClient)
	}
	to, there := b.clients.Producer(id)
	if !there {
		return refuse(protocol.RespSystemError, "push reply message fail, channel of <%s> not found.", clip(id))
	}
	ctx, cancel := context.WithTimeout(ctx, pushTimeout)
	defer cancel()
	got, err := to.Conn.Invoke(ctx, b.pushCommand(r))
	if err != nil {
		return refuse(protocol.RespSystemError, "push reply message to %s fail: %v", clip(id), err)
	}
	if got.Code != int32(protocol.RespSuccess) {
		return refuse(protocol.RespSystemError, "push reply message to %s fail: it answered %d %s", clip(id), got.Code, clip(got.Remark))
	}
	return nil
}

func (b *Broker) pushCommand(r *replyMessage) *protocol.Command {
	h, now := r.h, b.clk.Now().UnixMilli()
	r.props[protocol.PropertyPushReplyTime] = strconv.FormatInt(now, 10)
	props := string(r.props.Encode())
	delete(r.props, protocol.PropertyPushReplyTime)
	return protocol.NewRequest(int32(protocol.ReqPushReplyMessageToClient), &protocol.PushReplyMessageToClientRequestHeader{
		ProducerGroup: h.ProducerGroup, Topic: h.Topic, DefaultTopic: h.DefaultTopic, DefaultTopicQueueNums: h.DefaultTopicQueueNums,
		QueueID: h.QueueID, SysFlag: h.SysFlag, BornTimestamp: h.BornTimestamp, Flag: h.Flag, Properties: strings.Clone(props),
		ReconsumeTimes: h.ReconsumeTimes, UnitMode: h.UnitMode, BornHost: r.m.BornHost.String(), StoreHost: r.set.self.String(),
		StoreTimestamp: now}, r.m.Body)
}

// storeReply stores the reply. Like Java's broker it does not wait for the disk.
func (b *Broker) storeReply(r *replyMessage) (store.AppendResult, error) {
	batch := b.store.NewBatch()
	if err := batch.Add(&r.m); err != nil {
		return store.AppendResult{}, err
	}
	if err := b.store.Append(batch); err != nil {
		return store.AppendResult{}, err
	}
	at := batch.Result(0)
	b.stats.AddPut(b.stats.Topic(r.m.Topic), 1, int64(at.Size))
	return at, nil
}
