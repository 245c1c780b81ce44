package timer

import (
	"bytes"
	"testing"

	"github.com/seedmq/seedmq/remoting/protocol"
	"github.com/seedmq/seedmq/store"
)

// FuzzProperties: whatever properties a message has, it is diverted, read, placed and forwarded without a panic, and is never early.
func FuzzProperties(f *testing.F) {
	f.Add("TIMER_DELAY_SEC\x015\x02", int64(5))
	f.Add("TIMER_DELAY_MS\x01-9223372036854775808\x02TIMER_ROLL_TIMES\x01x\x02", int64(1))
	f.Add("TIMER_DELIVER_MS\x011700000000001\x02TIMER_DEL_UNIQKEY\x01k", int64(0))
	f.Fuzz(func(t *testing.T, props string, lag int64) {
		const now = 1_700_000_000_400
		var v protocol.PropertyView
		v.Parse(props)
		due, asked, err := Due(&v, now)
		if err != nil || !asked || due <= now || len(props) > 10_000 || lag < 0 || lag > 10_000 {
			return
		}
		m := store.Message{Topic: "T", Properties: []byte(props)}
		Divert(&m, due, 1000, nil)
		rec := protocol.AppendRecord(nil, &protocol.RecordFields{Topic: m.Topic, Properties: string(m.Properties), StoreTimestamp: now + lag,
			BornHost: host, StoreHost: host})
		var p parcel
		if err := p.open(rec); err != nil {
			t.Fatalf("%q: %v", props, err)
		}
		if at := p.exact(1000); at < due && p.rolls == 0 || at > p.out+longestTick {
			t.Fatalf("%q due at %d comes at %d", props, due, at)
		}
		for _, roll := range []bool{true, false} {
			if fw, _, err := p.forward(roll, 5, stamps{1, 2}, nil); err == nil && !bytes.Contains(fw.Properties, []byte("TIMER_DEQUEUE_MS\x012\x02")) {
				t.Fatalf("%q becomes %q", props, fw.Properties)
			}
		}
	})
}
