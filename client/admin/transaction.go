package admin

import (
	"context"
	"strconv"
	"strings"

	"github.com/seedmq/seedmq/remoting/protocol"
)

// HalfMessage is a message of a transaction: an open one, or one that was given up.
type HalfMessage struct {
	*Message
	// Group is its producer's, RealTopic and RealQueue where it goes when it is committed.
	Group, RealTopic string
	RealQueue        int32
	Checks           int
	root             int64
}

func newHalfMessage(m *Message) *HalfMessage {
	p := m.Properties
	h := &HalfMessage{Message: m, Group: p[protocol.PropertyProducerGroup], RealTopic: p[protocol.PropertyRealTopic], root: m.QueueOffset}
	queue, _ := strconv.ParseInt(p[protocol.PropertyRealQueueID], 10, 32)
	h.RealQueue = int32(queue)
	h.Checks, _ = strconv.Atoi(p[protocol.PropertyTransactionCheckTimes])
	if n, err := strconv.ParseInt(p[protocol.PropertyTransactionPreparedOffset], 10, 64); err == nil {
		h.root = n
	}
	return h
}

// HalfMessages lists up to limit open half messages of the broker at addr, the oldest first, as the two topics of transactions and the
// progress of CID_RMQ_SYS_TRANS have them: it works on Apache's brokers, too.
func (c *Client) HalfMessages(ctx context.Context, addr string, limit int) ([]*HalfMessage, error) {
	ops, err := c.transactionOffset(ctx, addr, protocol.TopicOpHalf) // before the other, or marks in between would be missed
	if err != nil {
		return nil, err
	}
	begin, err := c.transactionOffset(ctx, addr, protocol.TopicHalf)
	if err != nil {
		return nil, err
	}
	marked, err := c.marks(ctx, addr, ops)
	if err != nil {
		return nil, err
	}
	var all []*HalfMessage
	newest := map[int64]int64{} // root → record
	err = c.scan(ctx, addr, protocol.TopicHalf, begin, func(m *Message) bool {
		h := newHalfMessage(m)
		newest[h.root] = m.QueueOffset
		if !marked[m.QueueOffset] && !marked[h.root] {
			all = append(all, h)
		}
		return true
	})
	var open []*HalfMessage
	for _, h := range all {
		if newest[h.root] == h.QueueOffset && len(open) < limit {
			open = append(open, h)
		}
	}
	return open, err
}

// GivenUp lists up to limit messages of the broker at addr whose transactions were given up, the newest last.
func (c *Client) GivenUp(ctx context.Context, addr string, limit int) ([]*HalfMessage, error) {
	end, err := c.MaxOffset(ctx, addr, protocol.MessageQueue{Topic: protocol.TopicTransCheckMaxTime})
	if err != nil {
		return nil, err
	}
	var out []*HalfMessage
	err = c.scan(ctx, addr, protocol.TopicTransCheckMaxTime, max(0, end-int64(limit)), func(m *Message) bool {
		out = append(out, newHalfMessage(m))
		return true
	})
	return out, err
}

// transactionOffset is the progress of transactions in a topic's queue 0, or the queue's first offset.
func (c *Client) transactionOffset(ctx context.Context, addr, topic string) (int64, error) {
	h := &protocol.QueryConsumerOffsetRequestHeader{ConsumerGroup: protocol.GroupTransaction, Topic: topic}
	r := request{code: protocol.ReqQueryConsumerOffset, header: h}
	reply, err := c.net.Invoke(ctx, addr, r.command(), c.limit(&r))
	if err != nil {
		return 0, err
	}
	if reply.Code == int32(protocol.RespQueryNotFound) {
		return c.MinOffset(ctx, addr, protocol.MessageQueue{Topic: topic})
	}
	if err := refusal(reply, addr, r.code); err != nil {
		return 0, err
	}
	var out protocol.QueryConsumerOffsetResponseHeader
	err = out.DecodeExt(reply.Ext)
	return out.Offset, err
}

// marks are the queue offsets of half messages that are ended, in the op messages from begin on.
func (c *Client) marks(ctx context.Context, addr string, begin int64) (map[int64]bool, error) {
	marked := map[int64]bool{}
	err := c.scan(ctx, addr, protocol.TopicOpHalf, begin, func(m *Message) bool {
		for word := range strings.SplitSeq(string(m.Body), ",") {
			if n, err := strconv.ParseInt(word, 10, 64); err == nil {
				marked[n] = true
			}
		}
		return true
	})
	return marked, err
}

// scan reads queue 0 of a topic from an offset to its end, or until fn says no.
func (c *Client) scan(ctx context.Context, addr, topic string, offset int64, fn func(*Message) bool) error {
	q := protocol.MessageQueue{Topic: topic}
	end, err := c.MaxOffset(ctx, addr, q)
	if err != nil {
		return err
	}
	for offset < end {
		r, err := c.Pull(ctx, addr, PullRequest{Queue: q, Offset: offset, Max: 32})
		if err != nil {
			return err
		}
		for _, m := range r.Messages {
			if !fn(m) {
				return nil
			}
		}
		if r.NextOffset <= offset {
			return nil
		}
		offset = r.NextOffset
	}
	return nil
}

// ResumeCheck puts a given up message back among the half messages, to be checked from the beginning. Of our brokers it also
// asks for a check of an open half message now. id is the broker's id of the message.
func (c *Client) ResumeCheck(ctx context.Context, addr, topic, id string) error {
	h := &protocol.ResumeCheckHalfMessageRequestHeader{Topic: topic, MsgID: id}
	_, err := c.broker(ctx, addr, request{code: protocol.ReqResumeCheckHalfMessage, header: h})
	return err
}

// EndTransaction commits or rolls back an open half message in its producer's stead.
func (c *Client) EndTransaction(ctx context.Context, addr string, m *HalfMessage, commit bool) error {
	outcome := protocol.SysFlagTransactionRollback
	if commit {
		outcome = protocol.SysFlagTransactionCommit
	}
	h := &protocol.EndTransactionRequestHeader{Topic: m.RealTopic, ProducerGroup: m.Group, TranStateTableOffset: m.QueueOffset,
		CommitLogOffset: m.CommitLogOffset, CommitOrRollback: outcome, FromTransactionCheck: protocol.Some(true),
		MsgID: m.Properties[protocol.PropertyUniqKey], TransactionID: m.Properties[protocol.PropertyTransactionID]}
	_, err := c.broker(ctx, addr, request{code: protocol.ReqEndTransaction, header: h})
	return err
}

// HalfMessage reads a half message, or one that was given up, by the broker's id. It returns the address that the id names.
func (c *Client) HalfMessage(ctx context.Context, id string) (m *HalfMessage, addr string, err error) {
	at, offset, err := protocol.ParseOffsetMsgID(id)
	if err != nil {
		return nil, "", err
	}
	msg, err := c.View(ctx, at.String(), protocol.TopicHalf, offset)
	if err != nil {
		return nil, "", err
	}
	return newHalfMessage(msg), at.String(), nil
}
