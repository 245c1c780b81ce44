package broker

import "time"

// popInfo adds what pop does, once somebody pops. The names are those of Java's metrics, rocketmq_pop_*: its brokerStatus has none.
func (b *Broker) popInfo(t map[string]string) {
	if b.pop == nil {
		return
	}
	f := b.pop.Figures()
	if f.Queues == 0 && f.ReviveRecords == 0 {
		return
	}
	t["popCheckpointBufferSize"] = itoa(f.Held)
	t["popOffsetBufferSize"] = itoa(int64(f.Waiting))
	t["popReviveLag"] = itoa(f.ReviveRecords)
	t["popReviveLatency"] = itoa(int64(f.ReviveLate / time.Millisecond))
	t["popInFlightMessageNum"] = itoa(f.InFlight)
	t["popPollingNum"] = itoa(int64(b.popWaits.Len()))
}
