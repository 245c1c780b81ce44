package broker

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/seedmq/seedmq/broker/clients"
	"github.com/seedmq/seedmq/conf/clock"
	"github.com/seedmq/seedmq/remoting"
	"github.com/seedmq/seedmq/remoting/protocol"
)

// A member whose pull names a subscription that is newer than the one we have is refused (SUBSCRIPTION_NOT_LATEST), and its next heartbeat
// brings the new one: up to 30 s later. Java's client of 5.5 gets there in every few starts: it counts its subscriptions' version up when
// it is given queues, which is a second after its start, and skips the heartbeat that should say so while another one, due at the same
// time, is under way. So the member is asked: GET_CONSUMER_RUNNING_INFO has its subscriptions.

const (
	askTimeout = 5 * time.Second
	askPause   = time.Second // between two questions to one member
)

// questions are the members that were asked for their subscriptions, and when. The zero value is ready; safe for concurrent use.
type questions struct {
	mu    sync.Mutex
	asked map[memberKey]int64 // ms
}

// ask says whether a member may be asked now, and notes it.
func (q *questions) ask(k memberKey, now int64) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	for old, at := range q.asked {
		if now-at >= askTimeout.Milliseconds() {
			delete(q.asked, old)
		}
	}
	if at, ok := q.asked[k]; ok && now-at < askPause.Milliseconds() {
		return false
	}
	if q.asked == nil {
		q.asked = map[memberKey]int64{}
	}
	q.asked[k] = now
	return true
}

// askSubscriptions asks a member what it subscribes to, in the background.
func (b *Broker) askSubscriptions(c remoting.Conn, group string) {
	g, _ := b.clients.Consumers(group)
	for i := range g.Members {
		m := g.Members[i]
		if m.Conn.ID() != c.ID() || m.Language.String() != languageJava || m.Version < oldestRelayVersion {
			continue
		}
		if !b.questions.ask(memberKey{c.ID(), group}, clock.Millis(b.clk)) {
			return
		}
		err := b.jobs.Go("ask-subscriptions", func(ctx context.Context) {
			if err := b.takeSubscriptions(ctx, &g, m); err != nil {
				b.log.Debugf("group %s: subscriptions of %s: %v", group, m.ClientID, err)
			}
		})
		if err != nil {
			b.log.Debugf("group %s: subscriptions of %s: %v", group, m.ClientID, err)
		}
		return
	}
}

func (b *Broker) takeSubscriptions(ctx context.Context, g *clients.Group, m clients.Member) error {
	ctx, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	h := &protocol.GetConsumerRunningInfoRequestHeader{ConsumerGroup: g.Name, ClientID: m.ClientID, JstackEnable: protocol.Some(false)}
	r, err := m.Conn.Invoke(ctx, protocol.NewRequest(protocol.ReqGetConsumerRunningInfo, h, nil))
	if err != nil {
		return err
	}
	var info protocol.ConsumerRunningInfo
	if err := protocol.UnmarshalFast(r.Body, &info); err != nil || r.Code != protocol.RespSuccess {
		return fmt.Errorf("code %d %s: %w", r.Code, r.Remark, err)
	}
	if len(info.SubscriptionSet) == 0 || !b.clients.IsMember(g.Name, m.Conn.ID()) {
		return nil
	}
	b.clients.RegisterConsumer(m, &protocol.ConsumerData{GroupName: g.Name, ConsumeType: g.ConsumeType, MessageModel: g.MessageModel,
		ConsumeFromWhere: g.ConsumeFromWhere, SubscriptionDataSet: info.SubscriptionSet}, clients.Heartbeat{})
	b.registerFilters(m.ClientID, g.Name, info.SubscriptionSet)
	b.dropIfClosed(m.Conn)
	return nil
}
