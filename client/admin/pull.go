package admin

import (
	"context"
	"math"
	"strconv"
	"strings"

	"github.com/seedmq/seedmq/client/internal/instance"
	"github.com/seedmq/seedmq/remoting/protocol"
)

// PullStatus says what a pull brought.
type PullStatus string

// Pull statuses, in Java's words.
const (
	PullFound         PullStatus = "FOUND"
	PullNoNewMsg      PullStatus = "NO_NEW_MSG"
	PullNoMatchedMsg  PullStatus = "NO_MATCHED_MSG"
	PullOffsetIllegal PullStatus = "OFFSET_ILLEGAL"
)

// PullResult is the answer to one pull.
type PullResult struct {
	Status     PullStatus
	NextOffset int64 // where to pull next
	MinOffset  int64
	MaxOffset  int64
	Messages   []*Message
}

// PullRequest is one pull. It never waits at the broker and never commits.
type PullRequest struct {
	Queue      protocol.MessageQueue
	Group      string // default TOOLS_CONSUMER
	Expression string // tags; default *
	Offset     int64
	Max        int32 // messages; the broker may send fewer
}

// Pull reads messages of one queue from the broker at addr. Messages carry MIN_OFFSET and MAX_OFFSET, as Java's client adds them.
func (c *Client) Pull(ctx context.Context, addr string, r PullRequest) (*PullResult, error) {
	if r.Group == "" {
		r.Group = protocol.GroupTools
	}
	if r.Expression == "" {
		r.Expression = "*"
	}
	h := &protocol.PullMessageRequestHeader{
		ConsumerGroup: r.Group, Topic: r.Queue.Topic, QueueID: r.Queue.QueueID, QueueOffset: r.Offset, MaxMsgNums: r.Max,
		SysFlag: protocol.PullFlagSubscription, SuspendTimeoutMillis: 20000, Subscription: r.Expression, ExpressionType: "TAG",
		MaxMsgBytes: protocol.Some(int32(math.MaxInt32)),
	}
	req := request{code: protocol.ReqPullMessage, header: h}
	reply, err := c.net.Invoke(ctx, addr, req.command(), c.limit(&req))
	if err != nil {
		return nil, err
	}
	out := &PullResult{}
	switch reply.Code {
	case protocol.RespSuccess:
		out.Status = PullFound
	case protocol.RespPullNotFound:
		out.Status = PullNoNewMsg
	case protocol.RespPullRetryImmediately:
		out.Status = PullNoMatchedMsg
	case protocol.RespPullOffsetMoved:
		out.Status = PullOffsetIllegal
	default:
		return nil, refusal(reply, addr, req.code)
	}
	return out, out.fill(reply, r)
}

func (p *PullResult) fill(reply *protocol.Command, r PullRequest) error {
	var h protocol.PullMessageResponseHeader
	if err := h.DecodeExt(reply.Ext); err != nil {
		return err
	}
	p.NextOffset, p.MinOffset, p.MaxOffset = h.NextBeginOffset, h.MinOffset, h.MaxOffset
	if p.Status != PullFound {
		return nil
	}
	msgs, err := instance.DecodeMessages(reply.Body)
	for _, m := range msgs {
		if !matchesTags(r.Expression, m.Properties[protocol.PropertyTags]) {
			continue // the broker compares hashes; another tag may have the same
		}
		m.BrokerName = r.Queue.BrokerName
		m.Properties[protocol.PropertyMinOffset] = strconv.FormatInt(p.MinOffset, 10)
		m.Properties[protocol.PropertyMaxOffset] = strconv.FormatInt(p.MaxOffset, 10)
		p.Messages = append(p.Messages, m)
	}
	return err
}

// matchesTags reports whether a message with this tag belongs to the subscription expression (tags joined by ||).
func matchesTags(expression, tag string) bool {
	if expression == "*" {
		return true
	}
	for _, want := range strings.Split(expression, "||") {
		if want = strings.TrimSpace(want); want == tag && want != "" || want == "*" {
			return true
		}
	}
	return false
}
