package pop

import (
	"fmt"
	"testing"

	"github.com/seedmq/seedmq/conf/clock"
)

// BenchmarkTakeAndAck pops 32 messages and acknowledges them in one turn each, with the journal on the disk.
func BenchmarkTakeAndAck(b *testing.B) {
	for _, each := range []int{1, 32} {
		b.Run(fmt.Sprintf("acks=%d", each), func(b *testing.B) {
			x := newBench(b)
			for range MaxTake {
				x.store.send("T", 0, "a", "0123456789")
			}
			now := clock.Millis(x.clk)
			take := Take{Topic: "T", Group: "G", Max: MaxTake, MaxBytes: 1 << 20, Invisible: 60_000, PopTime: now}
			h := Handle{PopTime: now, Invisible: 60_000, Broker: testBroker, Offset: -1}
			var buf []byte
			var lists Lists
			done := func(err error) {
				if err != nil {
					b.Fatal(err)
				}
			}
			b.ReportAllocs()
			for b.Loop() {
				state := x.s.lockFor("T", "G", 0)
				state.known, state.seen = false, false
				state.mu.Unlock()
				lists.Start, lists.Offsets = lists.Start[:0], lists.Offsets[:0]
				x.offsets.RemoveGroup("G")
				turn := x.s.Begin()
				var got Taken
				if buf, got = turn.Take(&take, buf[:0], &lists); got.Count != MaxTake {
					b.Fatalf("%+v", got)
				}
				turn.End(done)
				for i := 0; i < MaxTake; i += each {
					turn = x.s.Begin()
					for j := range each {
						r := Receipt{Topic: "T", Group: "G", Offset: int64(i + j), Handle: h}
						if err := turn.Ack(&r); err != nil {
							b.Fatal(err)
						}
					}
					turn.End(done)
				}
				take.PopTime++
				h.PopTime++
			}
			b.ReportMetric(float64(b.N*MaxTake)/b.Elapsed().Seconds(), "msg/s")
		})
	}
}
