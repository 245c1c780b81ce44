package broker_test

import (
	"fmt"
	"os"
	"runtime"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/seedmq/seedmq/broker"
	"github.com/seedmq/seedmq/broker/brokertest"
	"github.com/seedmq/seedmq/conf/clock"
	"github.com/seedmq/seedmq/remoting/protocol"
)

// sendMany sends n messages of 100 bytes in bursts over several connections, the i-th with props(i), and returns how long it took.
func sendMany(b *testing.B, br *brokertest.Broker, n int, props func(i int) string) time.Duration {
	const senders, burst = 4, 250
	begin := clock.Real{}.Now()
	var wg sync.WaitGroup
	for s := range senders {
		c := brokertest.Dial(b, br.Addr())
		wg.Go(func() {
			body := make([]byte, 100)
			for from := s * burst; from < n; from += senders * burst {
				reqs := make([]*protocol.Command, min(burst, n-from))
				for i := range reqs {
					reqs[i] = protocol.NewRequest(protocol.ReqSendMessageV2, brokertest.SendHeader("T", 0, props(from+i)), body)
				}
				for _, r := range c.Burst(reqs...) {
					if r.Code != protocol.RespSuccess {
						b.Errorf("code %d %s", r.Code, r.Remark)
						return
					}
				}
			}
		})
	}
	wg.Wait()
	return clock.Real{}.Now().Sub(begin)
}

// BenchmarkTimedLateness has 10,000 messages come due in each of 3 seconds, spread over their milliseconds, and reports how late they are.
func BenchmarkTimedLateness(b *testing.B) {
	for _, flush := range []string{"ASYNC_FLUSH", "SYNC_FLUSH"} {
		b.Run("flush="+flush, func(b *testing.B) {
			for range b.N {
				const n = 30_000
				br := brokertest.Start(b, func(o *broker.Options) { o.Store.FlushDiskType, o.Store.MappedFileSizeCommitLog = flush, 128<<20 })
				first := clock.Millis(clock.Real{}) + 6000
				sendMany(b, br, n, func(i int) string { return "TIMER_DELIVER_MS\x01" + strconv.FormatInt(first+int64(i/10), 10) + "\x02" })
				late := timedLateness(b, brokertest.Dial(b, br.Addr()), n)
				b.ReportMetric(float64(late[0]), "min-ms")
				b.ReportMetric(float64(late[len(late)/2]), "p50-ms")
				b.ReportMetric(float64(late[len(late)*99/100]), "p99-ms")
				b.ReportMetric(float64(late[len(late)-1]), "max-ms")
				if late[0] < 0 {
					b.Fatalf("a message came %d ms early", -late[0])
				}
			}
		})
	}
}

func timedLateness(b *testing.B, c *brokertest.Client, n int) (late []int64) {
	for len(late) < n {
		h := pullHeader("T", 0, int64(len(late)))
		h.SysFlag |= protocol.PullFlagSuspend
		h.SuspendTimeoutMillis = 10_000
		for body := c.Call(protocol.ReqPullMessage, h, nil).Body; len(body) > 0; {
			var v protocol.MessageView
			size, err := protocol.DecodeMessage(body, &v)
			if err != nil {
				b.Fatal(err)
			}
			at, _ := v.Property(protocol.PropertyTimerDeliverMs)
			due, err := strconv.ParseInt(at, 10, 64)
			if err != nil {
				b.Fatal(err)
			}
			late, body = append(late, v.StoreTimestamp-due), body[size:]
		}
	}
	slices.Sort(late)
	return late
}

// BenchmarkMillionTimers holds a million messages for up to 3 days, and reports what they cost: memory, and the rate of ordinary sends
// with and without them.
func BenchmarkMillionTimers(b *testing.B) {
	for range b.N {
		br := brokertest.Start(b, func(o *broker.Options) { o.Store.MappedFileSizeCommitLog = 256 << 20 })
		plain := func(int) string { return "" }
		sendMany(b, br, 200_000, plain)
		before := sendMany(b, br, 500_000, plain)
		heap := heapBytes()
		const n = 1_000_000
		took := sendMany(b, br, n, func(i int) string { return "TIMER_DELAY_SEC\x01" + strconv.Itoa(60+i*7919%250_000) + "\x02" })
		brokertest.Until(b, "all are in the wheel", func() error {
			var info protocol.KVTable
			r := brokertest.Dial(b, br.Addr()).Must(protocol.ReqGetBrokerRuntimeInfo, nil, nil, nil)
			if err := protocol.UnmarshalFast(r.Body, &info); err != nil {
				return err
			}
			if behind := info.Table["timerOffsetBehind"]; behind != "0" {
				return fmt.Errorf("%s are not", behind)
			}
			return nil
		})
		b.ReportMetric(n/took.Seconds(), "timed/s")
		b.ReportMetric(float64(heapBytes()-heap)/(1<<20), "heap-MiB")
		b.ReportMetric(resident(b), "resident-MiB")
		after := sendMany(b, br, 500_000, plain)
		b.ReportMetric(500_000/before.Seconds(), "before/s")
		b.ReportMetric(500_000/after.Seconds(), "after/s")
	}
}

func heapBytes() uint64 {
	debug.FreeOSMemory()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

// resident is the process's resident memory in MiB, file pages not counted.
func resident(b *testing.B) float64 {
	text, err := os.ReadFile("/proc/self/status")
	if err != nil {
		b.Skip(err)
	}
	for line := range strings.Lines(string(text)) {
		if f := strings.Fields(line); len(f) > 1 && f[0] == "RssAnon:" {
			kb, _ := strconv.Atoi(f[1])
			return float64(kb) / 1024
		}
	}
	return 0
}
