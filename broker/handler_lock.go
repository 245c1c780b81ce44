package broker

// LOCK_BATCH_MQ 41, UNLOCK_BATCH_MQ 42: as Java's AdminBrokerProcessor and RebalanceLockManager. Left out until there are
// replicas: lockInStrictMode, which asks them too.
//
// Different from Java: the end of a connection frees its locks at once, before the other members are told, so that they do not wait
// for 60 s. A member that was refused a queue is told when it is free. A Go client that renews its locks
// loses those that it leaves out and another one waits for: it never gives back what a rebalance took from it.

import (
	"slices"

	"github.com/seedmq/seedmq/remoting"
	"github.com/seedmq/seedmq/remoting/protocol"
)

func (b *Broker) lockRoutes() []remoting.Route {
	return []remoting.Route{
		{Code: protocol.ReqLockBatchMQ, Mode: remoting.Inline, Handle: b.lockQueues},
		{Code: protocol.ReqUnlockBatchMQ, Mode: remoting.Inline, Handle: b.unlockQueues},
	}
}

// maxLockSet bounds the queues of one request.
const maxLockSet = 10_000

func decodeLock(req *protocol.Command) (*protocol.LockBatchRequestBody, error) {
	var body protocol.LockBatchRequestBody
	if err := protocol.UnmarshalFast(req.Body, &body); err != nil {
		return nil, refuse(protocol.RespSystemError, "body of request %d: %v", req.Code, err)
	}
	if err := protocol.CheckGroup(body.ConsumerGroup); err != nil {
		return nil, err
	}
	if len(body.MQSet) > maxLockSet {
		return nil, refuse(protocol.RespInvalidParameter, "mqSet has %d queues, the limit is %d", len(body.MQSet), maxLockSet)
	}
	return &body, nil
}

func (b *Broker) lockQueues(c remoting.Conn, req *protocol.Command) {
	body, err := decodeLock(req)
	if err != nil {
		fail(c, req, err)
		return
	}
	by := asker{conn: c.ID(), client: body.ClientID, keeps: req.Language.String() == languageGo}
	got, free := b.locks.lock(by, body.ConsumerGroup, body.MQSet)
	select {
	case <-c.Done(): // it ended meanwhile, perhaps after its locks were freed
		b.locks.release(c.ID())
	default:
	}
	out, err := protocol.MarshalFast(&protocol.LockBatchResponseBody{LockOKMQSet: got})
	done(c, req, nil, out, err)
	b.tellWaiters(free)
}

func (b *Broker) unlockQueues(c remoting.Conn, req *protocol.Command) {
	body, err := decodeLock(req)
	if err != nil {
		fail(c, req, err)
		return
	}
	free := b.locks.unlock(body.ConsumerGroup, body.ClientID, body.MQSet)
	c.Reply(req, &remoting.Reply{})
	b.tellWaiters(free)
}

// tellWaiters makes members that were refused a queue which is free now share the queues anew. They would ask again by themselves, but
// some clients only after 20 s.
func (b *Broker) tellWaiters(free waiters) {
	for group, conns := range free {
		g, _ := b.clients.Consumers(group)
		for i := range g.Members {
			if slices.Contains(conns, g.Members[i].Conn.ID()) {
				b.tellMember(group, g.Members[i].Conn)
			}
		}
	}
}
