//go:build crash

package crash

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/seedmq/seedmq/remoting"
	"github.com/seedmq/seedmq/remoting/protocol"
)

// pause waits a moment, longer after more idle turns.
func pause(ctx context.Context, idle int) {
	select {
	case <-ctx.Done():
	case <-time.After(time.Duration(min(idle, 5)) * 2 * time.Millisecond):
	}
}

// ordered is a group of two members that lock queues and take turns: no queue is ever read by both, nothing is passed over, and nothing
// comes before what was sent before it.
type ordered struct {
	book
	holder map[int32]string // who has the lock, in this life of the broker
	life   int
	next   map[int32]int64 // the offset after the furthest that was consumed
	seen   map[string]int
}

func TestKillOrdered(t *testing.T) {
	killService(t, "flushConsumerOffsetInterval=200\n", []string{"Order"}, func(*server) service {
		return &ordered{book: newBook(t), next: map[int32]int64{}, seen: map[string]int{}}
	})
}

func (o *ordered) load(ctx context.Context, addr string, round int) {
	o.mu.Lock()
	o.holder, o.life = map[int32]string{}, round
	o.mu.Unlock()
	done := make(chan struct{})
	go func() {
		defer close(done)
		many(2, func(i int) { o.member(ctx, addr, fmt.Sprint("member", i)) })
	}()
	if round < serviceRounds() {
		sendAll(ctx, addr, "Order", round, 100, noProps,
			func(name string, _ *protocol.SendMessageResponseHeader) {
				o.mu.Lock()
				o.sent[name] = 0
				o.mu.Unlock()
			}, func(name string, _ *protocol.SendMessageResponseHeader) {
				o.mu.Lock()
				o.due[name] = 0
				o.mu.Unlock()
			})
	}
	<-done
}

// member locks queues, consumes some of each that it got, and gives them up again.
func (o *ordered) member(ctx context.Context, addr, id string) {
	p, err := Dial(ctx, addr, id, nil)
	if err != nil {
		return
	}
	defer p.Close()
	if p.Consume(ctx, "InOrder", protocol.SubscriptionData{Topic: "Order", SubString: "*", SubVersion: 1}) != nil {
		return
	}
	for turn := 1; ctx.Err() == nil; turn++ {
		got, err := o.lock(ctx, p)
		for _, q := range got {
			if err == nil {
				err = o.consume(ctx, p, q)
			}
		}
		if err != nil || o.unlock(ctx, p, got) != nil {
			return
		}
		pause(ctx, turn)
	}
}

func lockBody(p *Peer, qs []int32) ([]byte, error) {
	b := &protocol.LockBatchRequestBody{ClientID: p.ID, ConsumerGroup: "InOrder"}
	for _, q := range qs {
		b.MQSet = append(b.MQSet, protocol.MessageQueue{Topic: "Order", BrokerName: "b", QueueID: q})
	}
	return protocol.MarshalFast(b)
}

func (o *ordered) lock(ctx context.Context, p *Peer) (got []int32, err error) {
	all := make([]int32, queues)
	for i := range all {
		all[i] = int32(i)
	}
	body, err := lockBody(p, all)
	if err != nil {
		return nil, err
	}
	r, err := p.Call(ctx, protocol.ReqLockBatchMQ, nil, body, nil)
	if err != nil {
		return nil, err
	}
	var ok protocol.LockBatchResponseBody
	if err := protocol.UnmarshalFast(r.Body, &ok); err != nil {
		return nil, err
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, q := range ok.LockOKMQSet {
		if h := o.holder[q.QueueID]; h != "" && h != p.ID {
			o.t.Errorf("queue %d is locked by %s and by %s", q.QueueID, h, p.ID)
		}
		o.holder[q.QueueID] = p.ID
		got = append(got, q.QueueID)
	}
	return got, nil
}

func (o *ordered) unlock(ctx context.Context, p *Peer, qs []int32) error {
	body, err := lockBody(p, qs)
	if err != nil {
		return err
	}
	o.mu.Lock()
	for _, q := range qs {
		delete(o.holder, q)
	}
	o.mu.Unlock()
	_, err = p.Call(ctx, protocol.ReqUnlockBatchMQ, nil, body, nil)
	return err
}

// consume reads what a locked queue has, once.
func (o *ordered) consume(ctx context.Context, p *Peer, q int32) error {
	at, err := p.Offset(ctx, "InOrder", "Order", q)
	if err != nil {
		return err
	}
	ms, next, err := p.Pull(ctx, "InOrder", "Order", q, at, "*", "TAG")
	if err != nil {
		return err
	}
	o.mu.Lock()
	for i := range ms {
		m := &ms[i]
		if m.QueueOffset > o.next[q] {
			o.t.Errorf("queue %d goes on at %d, consumed is what is before %d", q, m.QueueOffset, o.next[q])
		}
		o.next[q] = max(o.next[q], m.QueueOffset+1)
		o.seen[string(m.Body)]++
	}
	o.mu.Unlock()
	if len(ms) == 0 {
		return nil
	}
	return p.Commit(ctx, "InOrder", "Order", q, next)
}

func (o *ordered) judge(ctx context.Context, addr string) string {
	o.mu.Lock()
	defer o.mu.Unlock()
	missing := 0
	for name := range o.due {
		if o.seen[name] == 0 {
			missing++
		}
	}
	if missing > 0 {
		return fmt.Sprintf("%d of %d messages were not consumed", missing, len(o.due))
	}
	return ""
}

// requests are answered by a consumer, whose replies must reach the one that asked, and nobody else.
type requests struct {
	book
	answered, round int
	last            int
}

func TestKillRequestReply(t *testing.T) {
	killService(t, "flushConsumerOffsetInterval=200\nbrokerClusterName=C\n", []string{"Ask"}, func(*server) service { return &requests{book: newBook(t)} })
}

func (r *requests) load(ctx context.Context, addr string, round int) {
	r.mu.Lock()
	if round > 1 && r.last == 0 {
		r.t.Errorf("no request was answered in round %d", round-1)
	}
	r.round, r.last = round, 0
	r.mu.Unlock()
	many(2+queues, func(i int) {
		if i < queues {
			r.replier(ctx, addr, int32(i))
		} else {
			r.requester(ctx, addr, round, i)
		}
	})
}

func (r *requests) requester(ctx context.Context, addr string, round, i int) {
	id := fmt.Sprintf("requester-%d-%d", round, i)
	replies := make(chan string, 100)
	p, err := Dial(ctx, addr, id, func(c remoting.Conn, req *protocol.Command) {
		var h protocol.PushReplyMessageToClientRequestHeader
		if req.Code == protocol.ReqPushReplyMessageToClient && h.DecodeExt(req.Ext) == nil {
			props := protocol.ParseProperties(h.Properties)
			replies <- props[protocol.PropertyCorrelationID] + " " + string(req.Body)
			c.Reply(req, &remoting.Reply{})
		}
	})
	if err != nil {
		return
	}
	defer p.Close()
	if p.Produce(ctx) != nil {
		return
	}
	for n := 0; ctx.Err() == nil; n++ {
		name := fmt.Sprintf("%s-%d", id, n)
		r.mu.Lock()
		r.sent[name] = 0
		r.mu.Unlock()
		if _, err := p.Send(ctx, "Ask", int32(n%queues), 0, name, protocol.PropertyCorrelationID, name, protocol.PropertyReplyToClient, id, "TTL", "3000", protocol.PropertyCluster, "C"); err != nil {
			return
		}
		r.mu.Lock()
		r.due[name] = 0
		r.mu.Unlock()
		select {
		case got := <-replies:
			r.mu.Lock()
			if r.last++; got != name+" "+name+" to "+name {
				r.t.Errorf("%s got the reply %q", name, got)
			}
			r.mu.Unlock()
		case <-p.Done():
			return
		case <-ctx.Done():
			return
		case <-time.After(10 * time.Second):
			r.t.Errorf("%s got no reply", name)
			return
		}
	}
}

func (r *requests) replier(ctx context.Context, addr string, q int32) {
	p, err := Dial(ctx, addr, fmt.Sprint("replier", q), nil)
	if err != nil {
		return
	}
	defer p.Close()
	follow(ctx, p, "Answers", "Ask", q, "*", "TAG", func(m *protocol.MessageView) bool {
		props := protocol.ParseProperties(m.Properties)
		all := protocol.AppendProperty(nil, protocol.PropertyMessageType, protocol.ReplyMessageType)
		for _, k := range []string{protocol.PropertyCorrelationID, protocol.PropertyReplyToClient} {
			all = protocol.AppendProperty(all, k, props[k])
		}
		_, err := p.Call(ctx, protocol.ReqSendReplyMessageV2, &protocol.SendReplyMessageV2RequestHeader{ProducerGroup: producerGroup, Topic: "C_REPLY_TOPIC",
			DefaultTopic: protocol.DefaultTopic, DefaultTopicQueueNums: 4, BornTimestamp: time.Now().UnixMilli(), Properties: string(all)},
			[]byte(string(m.Body)+" to "+props[protocol.PropertyCorrelationID]), nil)
		var refused *Refused
		return err == nil || errors.As(err, &refused) // a requester of the life before is not there any more
	})
}

func (r *requests) judge(ctx context.Context, addr string) string {
	return r.judgeTopic(ctx, addr, "Ask", queues)
}

// resets are made by an operator while members commit. What was acknowledged is where the group begins after a kill.
type resets struct {
	book
	at      map[int32]int64 // acknowledged
	perhaps map[int32]int64 // asked for, and not acknowledged
	n       int
}

func TestKillResets(t *testing.T) {
	killService(t, "flushConsumerOffsetInterval=200\n", []string{"Reset"}, func(*server) service {
		return &resets{book: newBook(t), at: map[int32]int64{}, perhaps: map[int32]int64{}}
	})
}

func (r *resets) size() int { return r.n }

func (r *resets) load(ctx context.Context, addr string, round int) {
	many(queues, func(i int) {
		p, err := Dial(ctx, addr, fmt.Sprint("reset", i), nil)
		if err != nil {
			return
		}
		defer p.Close()
		q := int32(i)
		if p.Consume(ctx, "Back", protocol.SubscriptionData{Topic: "Reset", SubString: "*", SubVersion: 1}) != nil || !r.compare(ctx, p, q) || round == serviceRounds() {
			return
		}
		for n := 0; ctx.Err() == nil; n++ {
			if !r.one(ctx, p, q, n) {
				return
			}
		}
	})
}

// compare looks whether the offset is that of the last reset.
func (r *resets) compare(ctx context.Context, p *Peer, q int32) bool {
	at, err := p.Offset(ctx, "Back", "Reset", q)
	if err != nil {
		return false
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	want, known := r.at[q]
	if perhaps, asked := r.perhaps[q]; known && at != want && (!asked || at != perhaps) {
		r.t.Errorf("queue %d was reset to %d, and stands at %d", q, want, at)
	}
	if known {
		r.at[q] = at
	}
	delete(r.perhaps, q)
	return true
}

// one sends a message, commits, and has the offset reset.
func (r *resets) one(ctx context.Context, p *Peer, q int32, n int) bool {
	m, err := p.Send(ctx, "Reset", q, 0, fmt.Sprint(n))
	if err != nil || p.Commit(ctx, "Back", "Reset", q, m.QueueOffset) != nil {
		return false // before the first reset it is taken, then ignored: nobody pulls
	}
	to := m.QueueOffset * int64(n%3) / 3
	r.mu.Lock()
	r.perhaps[q] = to
	r.mu.Unlock()
	_, err = p.Call(ctx, protocol.ReqInvokeBrokerToResetOffset, &protocol.InvokeBrokerToResetOffsetRequestHeader{Group: "Back", Topic: "Reset",
		QueueID: protocol.Some(q), Offset: protocol.Some(to), Timestamp: -1, IsForce: true}, nil, nil)
	if err != nil {
		return false
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.n++
	r.at[q] = to
	delete(r.perhaps, q)
	return true
}

func (r *resets) judge(context.Context, string) string { return "" }
