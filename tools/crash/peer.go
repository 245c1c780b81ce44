package crash

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/seedmq/seedmq/conf/clock"
	"github.com/seedmq/seedmq/conf/xlog"
	"github.com/seedmq/seedmq/remoting"
	"github.com/seedmq/seedmq/remoting/protocol"
)

// callTimeout bounds one request.
const callTimeout = 5 * time.Second

// Peer is one connection of a client to a broker. Close it.
type Peer struct {
	ID     string
	client *remoting.Client
	conn   remoting.Conn
}

// Pushed handles a request that the broker sent. It runs on the connection's read goroutine and must not wait for a reply.
type Pushed func(c remoting.Conn, req *protocol.Command)

// ServeBurst hands over each request.
func (p Pushed) ServeBurst(c remoting.Conn, reqs []*protocol.Command) {
	for _, r := range reqs {
		p(c, r)
	}
}

// Opened does nothing.
func (Pushed) Opened(remoting.Conn) {}

// Closed does nothing.
func (Pushed) Closed(remoting.Conn, remoting.CloseReason) {}

// Dial connects to addr as client id. pushed may be nil.
func Dial(ctx context.Context, addr, id string, pushed Pushed) (*Peer, error) {
	if pushed == nil {
		pushed = func(remoting.Conn, *protocol.Command) {}
	}
	cl := remoting.NewClient(remoting.ClientOptions{Common: remoting.Common{Clock: clock.Real{}, Logger: xlog.Discard()}, Handler: pushed})
	conn, err := cl.Conn(ctx, addr)
	if err != nil {
		return nil, errors.Join(err, cl.Close())
	}
	return &Peer{ID: id, client: cl, conn: conn}, nil
}

// Close ends the connection.
func (p *Peer) Close() { _ = p.client.Close() }

// Refused is a reply that is not a success.
type Refused struct {
	Code   int32
	Remark string
}

func (r *Refused) Error() string { return fmt.Sprintf("code %d %s", r.Code, r.Remark) }

// Call sends a request and decodes the header of its reply into out, unless that is nil. A reply that is no success is a *Refused.
func (p *Peer) Call(ctx context.Context, code protocol.RequestCode, h protocol.HeaderEncoder, body []byte, out protocol.HeaderDecoder) (*protocol.Command, error) {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	req := protocol.NewRequest(code, h, body)
	req.Version = protocol.CurrentVersion
	r, err := p.conn.Invoke(ctx, req)
	switch {
	case err != nil:
		return nil, err
	case r.Code != protocol.RespSuccess:
		return r, &Refused{r.Code, r.Remark}
	case out != nil:
		return r, out.DecodeExt(r.Ext)
	}
	return r, nil
}

// Send sends a message with properties, a list of names and values.
func (p *Peer) Send(ctx context.Context, topic string, queue int32, sysFlag int32, body string, props ...string) (protocol.SendMessageResponseHeader, error) {
	all := protocol.AppendProperty(nil, protocol.PropertyWait, "true")
	for i := 0; i+1 < len(props); i += 2 {
		all = protocol.AppendProperty(all, props[i], props[i+1])
	}
	var out protocol.SendMessageResponseHeader
	_, err := p.Call(ctx, protocol.ReqSendMessageV2, &protocol.SendMessageV2RequestHeader{ProducerGroup: producerGroup, Topic: topic, DefaultTopic: protocol.DefaultTopic,
		DefaultTopicQueueNums: 4, QueueID: queue, SysFlag: sysFlag, BornTimestamp: time.Now().UnixMilli(), Properties: string(all)}, []byte(body), &out)
	return out, err
}

// producerGroup is that of all producers.
const producerGroup = "crash"

// Produce registers the client as a producer.
func (p *Peer) Produce(ctx context.Context) error {
	return p.beat(ctx, &protocol.HeartbeatData{ProducerDataSet: []protocol.ProducerData{{GroupName: producerGroup}}})
}

// Consume registers the client as a push consumer of a group.
func (p *Peer) Consume(ctx context.Context, group string, subs ...protocol.SubscriptionData) error {
	return p.beat(ctx, &protocol.HeartbeatData{ConsumerDataSet: []protocol.ConsumerData{{GroupName: group, ConsumeType: protocol.ConsumePassively,
		MessageModel: protocol.ModelClustering, SubscriptionDataSet: subs}}})
}

func (p *Peer) beat(ctx context.Context, d *protocol.HeartbeatData) error {
	d.ClientID = p.ID
	body, err := protocol.MarshalFast(d)
	if err != nil {
		return err
	}
	_, err = p.Call(ctx, protocol.ReqHeartBeat, nil, body, nil)
	return err
}

// Offset is the committed offset of a group, 0 for none.
func (p *Peer) Offset(ctx context.Context, group, topic string, queue int32) (int64, error) {
	var h protocol.QueryConsumerOffsetResponseHeader
	_, err := p.Call(ctx, protocol.ReqQueryConsumerOffset, &protocol.QueryConsumerOffsetRequestHeader{ConsumerGroup: group, Topic: topic, QueueID: queue}, nil, &h)
	var r *Refused
	if errors.As(err, &r) && r.Code == protocol.RespQueryNotFound {
		return 0, nil
	}
	return h.Offset, err
}

// Commit sets the committed offset of a group.
func (p *Peer) Commit(ctx context.Context, group, topic string, queue int32, offset int64) error {
	_, err := p.Call(ctx, protocol.ReqUpdateConsumerOffset, &protocol.UpdateConsumerOffsetRequestHeader{ConsumerGroup: group, Topic: topic, QueueID: queue, CommitOffset: offset}, nil, nil)
	return err
}

// Pull reads messages of a queue for a group, with an expression. next is where to go on; there may be no message.
func (p *Peer) Pull(ctx context.Context, group, topic string, queue int32, offset int64, expr, kind string) (ms []protocol.MessageView, next int64, err error) {
	r, err := p.Call(ctx, protocol.ReqPullMessage, &protocol.PullMessageRequestHeader{ConsumerGroup: group, Topic: topic, QueueID: queue, QueueOffset: offset,
		MaxMsgNums: 32, SysFlag: protocol.PullFlagSubscription, Subscription: expr, ExpressionType: kind}, nil, nil)
	var no *Refused
	if errors.As(err, &no) {
		switch no.Code {
		case protocol.RespPullNotFound, protocol.RespPullRetryImmediately, protocol.RespPullOffsetMoved:
			var h protocol.PullMessageResponseHeader
			err = h.DecodeExt(r.Ext)
			return nil, h.NextBeginOffset, err
		}
	}
	if err != nil {
		return nil, offset, err
	}
	var h protocol.PullMessageResponseHeader
	if err := h.DecodeExt(r.Ext); err != nil {
		return nil, offset, err
	}
	for b := r.Body; len(b) > 0; {
		var m protocol.MessageView
		n, err := protocol.DecodeMessage(b, &m)
		if err != nil {
			return nil, offset, err
		}
		ms, b = append(ms, m), b[n:]
	}
	return ms, h.NextBeginOffset, nil
}

// Ledger counts messages by name: what was promised and what came. Safe for concurrent use through its owner's lock.
type Ledger struct {
	due  map[string]int64 // acknowledged and to be delivered, not before this time in ms
	sent map[string]int64 // all that may be delivered, with the same time
	not  map[string]string
	// May are those that a kill repeats by design, since what is known of their delivery is written now and then.
	may map[string]bool
}

// NewLedger returns an empty one.
func NewLedger() *Ledger {
	return &Ledger{due: map[string]int64{}, sent: map[string]int64{}, not: map[string]string{}, may: map[string]bool{}}
}

// Judge compares what all queues of a topic hold with the ledger. missing counts what has to come yet; twice what came more than once.
func (l *Ledger) Judge(all []protocol.MessageView) (missing, twice int, err error) {
	count := map[string]int{}
	for i := range all {
		m := &all[i]
		name := string(m.Body)
		due, known := l.sent[name]
		switch {
		case l.not[name] != "":
			return 0, 0, fmt.Errorf("%s is there, but %s", name, l.not[name])
		case !known:
			return 0, 0, fmt.Errorf("nobody sent %.60q", name)
		case m.StoreTimestamp < due:
			return 0, 0, fmt.Errorf("%s came %d ms early", name, due-m.StoreTimestamp)
		}
		if count[name]++; count[name] == 2 && !l.may[name] {
			twice++
		}
	}
	for name := range l.due {
		if count[name] == 0 {
			missing++
		}
	}
	return missing, twice, nil
}

// Done is closed when the connection has ended.
func (p *Peer) Done() <-chan struct{} { return p.conn.Done() }
