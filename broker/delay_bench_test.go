package broker_test

import (
	"slices"
	"sync"
	"testing"

	"github.com/seedmq/seedmq/broker"
	"github.com/seedmq/seedmq/broker/brokertest"
	"github.com/seedmq/seedmq/remoting/protocol"
)

// BenchmarkDelayedLateness sends 30,000 messages of one level as fast as it can, and reports how late they came back.
func BenchmarkDelayedLateness(b *testing.B) {
	for _, flush := range []string{"ASYNC_FLUSH", "SYNC_FLUSH"} {
		b.Run("flush="+flush, func(b *testing.B) {
			for range b.N {
				late := delayedLateness(b, flush)
				b.ReportMetric(float64(late[0]), "min-ms")
				b.ReportMetric(float64(late[len(late)/2]), "p50-ms")
				b.ReportMetric(float64(late[len(late)*99/100]), "p99-ms")
				if late[0] < 0 {
					b.Fatalf("a message came %d ms early", -late[0])
				}
			}
		})
	}
}

// delayedLateness returns by how many ms each message came late, sorted.
func delayedLateness(b *testing.B, flush string) []int64 {
	const senders, bursts, burst = 8, 37, 100
	br := brokertest.Start(b, func(o *broker.Options) {
		o.Store.FlushDiskType, o.Store.MappedFileSizeCommitLog = flush, 128<<20
	})
	var wg sync.WaitGroup
	for range senders {
		c := brokertest.Dial(b, br.Addr())
		wg.Go(func() {
			for range bursts {
				reqs := make([]*protocol.Command, burst)
				for i := range reqs {
					reqs[i] = protocol.NewRequest(protocol.ReqSendMessageV2, brokertest.SendHeader("T", 0, "DELAY\x012\x02"), make([]byte, 200))
				}
				c.Burst(reqs...)
			}
		})
	}
	wg.Wait()
	c := brokertest.Dial(b, br.Addr())
	came := storeTimes(b, c, "T", 0, senders*bursts*burst)
	put := storeTimes(b, c, protocol.TopicSchedule, 1, len(came))
	for i := range came {
		came[i] -= put[i] + 5000 // level 2
	}
	slices.Sort(came)
	return came
}

// storeTimes reads n messages of a queue.
func storeTimes(b *testing.B, c *brokertest.Client, topic string, queue int32, n int) []int64 {
	var times []int64
	for len(times) < n {
		h := pullHeader(topic, queue, int64(len(times)))
		h.SysFlag |= protocol.PullFlagSuspend
		h.SuspendTimeoutMillis = 10_000
		r := c.Call(protocol.ReqPullMessage, h, nil)
		for body := r.Body; len(body) > 0; {
			var v protocol.MessageView
			size, err := protocol.DecodeMessage(body, &v)
			if err != nil {
				b.Fatal(err)
			}
			times, body = append(times, v.StoreTimestamp), body[size:]
		}
	}
	return times
}
