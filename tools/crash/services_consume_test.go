//go:build crash

package crash

import (
	"context"
	"fmt"
	"strconv"
	"sync"
	"testing"

	"github.com/seedmq/seedmq/remoting/protocol"
)

// follow reads a queue for a group from its committed offset on, and commits what handle took. It returns when ctx ends, the connection
// breaks, or handle says so.
func follow(ctx context.Context, p *Peer, group, topic string, queue int32, expr, kind string, handle func(m *protocol.MessageView) bool) {
	at, err := p.Offset(ctx, group, topic, queue)
	for idle := 0; err == nil && ctx.Err() == nil; {
		var ms []protocol.MessageView
		var next int64
		if ms, next, err = p.Pull(ctx, group, topic, queue, at, expr, kind); err != nil {
			return
		}
		for i := range ms {
			if !handle(&ms[i]) {
				return
			}
		}
		if next > at || len(ms) > 0 {
			at, idle = next, 0
			err = p.Commit(ctx, group, topic, queue, at)
			continue
		}
		idle++
		pause(ctx, idle)
	}
}

// sendAll sends plain messages to all queues until ctx ends; sent and acked hear of each.
func sendAll(ctx context.Context, addr, topic string, round, most int, props func(n int) []string, sent, acked func(name string, r *protocol.SendMessageResponseHeader)) {
	many(queues, func(i int) {
		p, err := Dial(ctx, addr, fmt.Sprint("sender", i), nil)
		if err != nil {
			return
		}
		defer p.Close()
		for n := 0; n < most && ctx.Err() == nil; n++ {
			name := fmt.Sprintf("r%d/%d/%d", round, i, n)
			sent(name, nil)
			r, err := p.Send(ctx, topic, int32(i), 0, name, props(n)...)
			if err != nil {
				return
			}
			acked(name, &r)
		}
	})
}

func noProps(int) []string { return nil }

// retries are consumed by a group that fails with each message twice: it comes from the topic, from the retry topic, and ends among the
// dead letters.
type retries struct{ book }

func TestKillRetries(t *testing.T) {
	killService(t, "messageDelayLevel=1s 2s\nflushDelayOffsetInterval=200\nflushIntervalCommitLog=100\nflushConsumerOffsetInterval=200\n", []string{"Retry"},
		func(*server) service {
			r := &retries{newBook(t)}
			r.often = true
			return r
		})
}

func (r *retries) load(ctx context.Context, addr string, round int) {
	var wg sync.WaitGroup
	for q := range int32(queues) {
		wg.Go(func() { r.consume(ctx, addr, "Retry", q) })
	}
	wg.Go(func() { r.consume(ctx, addr, protocol.RetryTopic("Again"), 0) })
	if round < serviceRounds() {
		sendAll(ctx, addr, "Retry", round, 60, noProps,
			func(name string, _ *protocol.SendMessageResponseHeader) {
				r.mu.Lock()
				r.sent[name] = 0
				r.mu.Unlock()
			}, func(name string, _ *protocol.SendMessageResponseHeader) {
				r.mu.Lock()
				r.due[name] = 0
				r.mu.Unlock()
			})
	}
	wg.Wait()
}

func (r *retries) consume(ctx context.Context, addr, topic string, q int32) {
	p, err := Dial(ctx, addr, fmt.Sprint("again", topic, q), nil)
	if err != nil {
		return
	}
	defer p.Close()
	if p.Consume(ctx, "Again", protocol.SubscriptionData{Topic: "Retry", SubString: "*", SubVersion: 1}) != nil {
		return
	}
	follow(ctx, p, "Again", topic, q, "*", "TAG", func(m *protocol.MessageView) bool {
		_, err := p.Call(ctx, protocol.ReqConsumerSendMsgBack, &protocol.ConsumerSendMsgBackRequestHeader{Offset: m.PhysicalOffset, Group: "Again", DelayLevel: 1,
			OriginMsgID: m.OffsetMsgID(), OriginTopic: m.Topic, MaxReconsumeTimes: protocol.Some(int32(1))}, nil, nil)
		return err == nil
	})
}

func (r *retries) judge(ctx context.Context, addr string) string {
	return r.judgeTopic(ctx, addr, protocol.DLQTopic("Again"), 1)
}

// filtered is a group with an SQL92 expression, of which everything must be consumed that fits, and nothing else.
type filtered struct {
	book
	got map[string]int
}

func TestKillFiltered(t *testing.T) {
	killService(t, "flushConsumerOffsetInterval=200\n", []string{"Sql"}, func(*server) service { return &filtered{newBook(t), map[string]int{}} })
}

func fits(n int) bool { return n%100 >= 10 && n%100 < 20 }

func (f *filtered) load(ctx context.Context, addr string, round int) {
	var wg sync.WaitGroup
	for q := range int32(queues) {
		wg.Go(func() { f.consume(ctx, addr, q) })
	}
	if round < serviceRounds() {
		number := func(name string) (n int) {
			var r, i int
			_, _ = fmt.Sscanf(name, "r%d/%d/%d", &r, &i, &n)
			return n
		}
		sendAll(ctx, addr, "Sql", round, 300, func(n int) []string { return []string{"a", strconv.Itoa(n % 100)} },
			func(name string, _ *protocol.SendMessageResponseHeader) {
				f.mu.Lock()
				defer f.mu.Unlock()
				if f.sent[name] = 0; !fits(number(name)) {
					f.not[name] = "it does not fit the expression"
				}
			}, func(name string, _ *protocol.SendMessageResponseHeader) {
				f.mu.Lock()
				defer f.mu.Unlock()
				if fits(number(name)) {
					f.due[name] = 0
				}
			})
	}
	wg.Wait()
}

func (f *filtered) consume(ctx context.Context, addr string, q int32) {
	p, err := Dial(ctx, addr, fmt.Sprint("sql", q), nil)
	if err != nil {
		return
	}
	defer p.Close()
	if p.Consume(ctx, "Picky", protocol.SubscriptionData{Topic: "Sql", SubString: "a between 10 and 19", ExpressionType: "SQL92", SubVersion: 1}) != nil {
		return
	}
	follow(ctx, p, "Picky", "Sql", q, "a between 10 and 19", "SQL92", func(m *protocol.MessageView) bool {
		f.mu.Lock()
		defer f.mu.Unlock()
		name := string(m.Body)
		f.got[name]++
		if why := f.not[name]; why != "" {
			f.t.Errorf("%s was consumed, but %s", name, why)
		}
		return true
	})
}

func (f *filtered) judge(context.Context, string) string {
	f.mu.Lock()
	defer f.mu.Unlock()
	missing := 0
	for name := range f.due {
		if f.got[name] == 0 {
			missing++
		}
	}
	if missing > 0 {
		return fmt.Sprintf("%d of %d messages that fit are missing", missing, len(f.due))
	}
	return ""
}
