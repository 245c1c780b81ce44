//go:build crash

package crash

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/seedmq/seedmq/remoting/protocol"
)

// batches go to a topic with batch queues, with single messages in between: each batch is there as a whole, once, or not at all.
type batches struct{ book }

func TestKillBatches(t *testing.T) {
	killService(t, "", nil, func(*server) service { return &batches{newBook(t)} })
}

func (b *batches) load(ctx context.Context, addr string, round int) {
	if round == serviceRounds() {
		return
	}
	if round == 0 {
		b.makeTopic(ctx, addr)
	}
	many(queues, func(i int) {
		p, err := Dial(ctx, addr, fmt.Sprint("batches", i), nil)
		if err != nil {
			return
		}
		defer p.Close()
		for n := 0; n < 300 && ctx.Err() == nil; n++ {
			if !b.one(ctx, p, int32(i), fmt.Sprintf("r%d/%d/%d", round, i, n), n%5) {
				return
			}
		}
	})
}

// makeTopic makes the topic; its attribute cannot be added later.
func (b *batches) makeTopic(ctx context.Context, addr string) {
	p, err := Dial(ctx, addr, "maker", nil)
	if err == nil {
		defer p.Close()
		_, err = p.Call(ctx, protocol.ReqUpdateAndCreateTopic, &protocol.UpdateAndCreateTopicRequestHeader{Topic: "Batches", DefaultTopic: protocol.DefaultTopic,
			ReadQueueNums: queues, WriteQueueNums: queues, Perm: 6, TopicFilterType: "SINGLE_TAG", Attributes: "+queue.type=BatchCQ"}, nil, nil)
	}
	if err != nil {
		b.t.Errorf("make the topic: %v", err)
	}
}

// one sends a batch of n messages, or for 0 a single one.
func (b *batches) one(ctx context.Context, p *Peer, queue int32, name string, n int) bool {
	names, body := []string{name}, []byte(nil)
	if n > 0 {
		names = nil
	}
	for i := range n {
		names = append(names, fmt.Sprint(name, "+", i))
		body = protocol.AppendBatchEntry(body, &protocol.BatchEntry{Body: []byte(names[i]), Properties: "TAGS\x01t\x02"})
	}
	b.mu.Lock()
	for _, s := range names {
		b.sent[s] = 0
	}
	b.mu.Unlock()
	var err error
	if n == 0 {
		_, err = p.Send(ctx, "Batches", queue, 0, name)
	} else {
		_, err = p.Call(ctx, protocol.ReqSendBatchMessage, &protocol.SendMessageV2RequestHeader{ProducerGroup: producerGroup, Topic: "Batches", DefaultTopic: protocol.DefaultTopic,
			DefaultTopicQueueNums: queues, QueueID: queue, BornTimestamp: time.Now().UnixMilli(), Batch: protocol.Some(true), Properties: "UNIQ_KEY\x01U" + name + "\x02WAIT\x01true\x02"}, body, nil)
	}
	if err != nil {
		return false
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, s := range names {
		b.due[s] = 0
	}
	return true
}

func (b *batches) judge(ctx context.Context, addr string) string {
	return b.judgeTopic(ctx, addr, "Batches", queues)
}

// lights are messages that enter light queues: all of them are in each, once.
type lights struct{ book }

func TestKillLightQueues(t *testing.T) {
	killService(t, "enableLmq=true\nenableMultiDispatch=true\n", []string{"Lights"}, func(*server) service { return &lights{newBook(t)} })
}

func (l *lights) load(ctx context.Context, addr string, round int) {
	if round == serviceRounds() {
		return
	}
	sendAll(ctx, addr, "Lights", round, 300, func(int) []string { return []string{protocol.PropertyInnerMultiDispatch, "%LMQ%a,%LMQ%b"} },
		func(name string, _ *protocol.SendMessageResponseHeader) {
			l.mu.Lock()
			defer l.mu.Unlock()
			l.sent[name] = 0
		}, func(name string, _ *protocol.SendMessageResponseHeader) {
			l.mu.Lock()
			defer l.mu.Unlock()
			l.due[name] = 0
		})
}

func (l *lights) judge(ctx context.Context, addr string) string {
	for topic, n := range map[string]int{"Lights": queues, "%LMQ%a": 1, "%LMQ%b": 1} {
		if why := l.judgeTopic(ctx, addr, topic, n); why != "" {
			return topic + ": " + why
		}
	}
	return ""
}
