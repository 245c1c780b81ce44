package retention

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/seedmq/seedmq/broker/topic"
	"github.com/seedmq/seedmq/conf/clock"
	"github.com/seedmq/seedmq/remoting/protocol"
)

// BenchmarkQuietPass: a pass over topics of 8 queues with all limits, none of which is reached.
func BenchmarkQuietPass(b *testing.B) {
	for _, topics := range []int{1, 100} {
		b.Run(fmt.Sprint("topics=", topics), func(b *testing.B) {
			s, now := newFakeStore(), clock.NewFake(start)
			var entries []*topic.Entry
			for i := range topics {
				name := fmt.Sprint("T", i)
				entries = append(entries, &topic.Entry{Config: protocol.NewTopicConfig(name), Limits: topic.Limits{Age: time.Hour, Bytes: 1 << 40, Messages: 1 << 40}})
				for q := range int32(8) {
					s.send(name, q, 100, clock.Millis(now))
				}
			}
			ids := []int32{0, 1, 2, 3, 4, 5, 6, 7}
			k := New(Options{Store: &listed{s, ids}, Clock: now, Topics: func() []*topic.Entry { return entries }})
			b.ReportAllocs()
			for b.Loop() {
				if err := k.Pass(context.Background()); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkFirstPass: what a start costs a topic with a limit of bytes.
func BenchmarkFirstPass(b *testing.B) {
	s, now := newFakeStore(), clock.NewFake(start)
	const messages = 100_000
	for range messages {
		s.send("T", 0, 100, clock.Millis(now))
	}
	b.ReportAllocs()
	for b.Loop() {
		entry := &topic.Entry{Config: protocol.NewTopicConfig("T"), Limits: topic.Limits{Bytes: 1 << 40}}
		k := New(Options{Store: s, Clock: now, Topics: func() []*topic.Entry { return []*topic.Entry{entry} }})
		if err := k.Pass(context.Background()); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/messages, "ns/message")
}

// listed is a fake store that knows its queues without looking for them.
type listed struct {
	*fakeStore
	ids []int32
}

func (l *listed) Queues(string) []int32 { return l.ids }
