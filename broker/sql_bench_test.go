package broker

import (
	"fmt"
	"testing"

	"github.com/seedmq/seedmq/broker/filter"
	"github.com/seedmq/seedmq/remoting/protocol"
	"github.com/seedmq/seedmq/store"
)

// BenchmarkSQLPull reads a queue with filters that select 1 % of its messages, as pulls do. One op is one message looked at.
func BenchmarkSQLPull(b *testing.B) {
	const messages = 40_000
	for _, size := range []int{100, 1024} {
		br := startQuiet(b)
		fillQueue(b, br, messages, size)
		for _, expr := range []string{"price > 99", "region = 'south' AND price BETWEEN 99 AND 100"} {
			b.Run(fmt.Sprintf("size=%d/%s", size, expr), func(b *testing.B) {
				f, err := filter.Compile(expr, protocol.ExpressionSQL92)
				if err != nil {
					b.Fatal(err)
				}
				b.ReportAllocs()
				buf := make([]byte, 0, 1<<20)
				var res store.GetResult
				var at int64
				found, pulls := 0, 0
				for done := int64(0); done < int64(b.N); pulls++ {
					if at >= messages {
						at = 0
					}
					get := store.GetRequest{Topic: "Bench", Offset: at, MaxCount: 32, MaxBytes: 256 << 10, Filter: f}
					buf, res = br.store.Get(&get, buf[:0])
					if res.NextBeginOffset <= at {
						b.Fatalf("stuck at %d: %+v", at, res)
					}
					done += res.NextBeginOffset - at
					at = res.NextBeginOffset
					found += res.Count
				}
				b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "messages/s")
				b.ReportMetric(float64(b.N)/float64(pulls), "messages/pull")
				b.ReportMetric(100*float64(found)/float64(b.N), "%selected")
			})
		}
	}
}

// fillQueue stores messages whose price goes from 0.5 to 99.5.
func fillQueue(b *testing.B, br *Broker, n, size int) {
	b.Helper()
	reqs := make([]*protocol.Command, 0, 200)
	c := &countingConn{}
	for i := range n {
		h := &protocol.SendMessageV2RequestHeader{ProducerGroup: "P", Topic: "Bench", DefaultTopic: "TBW102", DefaultTopicQueueNums: 4, BornTimestamp: 1_700_000_000_000,
			Properties: fmt.Sprintf("KEYS\x01order-%d\x02region\x01south\x02price\x01%d.5\x02TAGS\x01even\x02UNIQ_KEY\x017F0000010A2B18B4AAC2108D5F6E%04X\x02", i, i%100, i%65536)}
		frame := protocol.AppendFrame(nil, protocol.NewRequest(protocol.ReqSendMessageV2, h, make([]byte, size)))
		cmd := &protocol.Command{}
		if err := protocol.DecodeFrame(frame[4:], cmd); err != nil {
			b.Fatal(err)
		}
		if reqs = append(reqs, cmd); len(reqs) == cap(reqs) {
			br.sender.serve(c, reqs)
			reqs = reqs[:0]
		}
	}
	if c.bad != nil {
		b.Fatal(c.bad.Remark)
	}
	for {
		if _, end, _ := br.store.QueueRange("Bench", 0); end == int64(n) {
			return
		}
	}
}
