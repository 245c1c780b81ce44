package topic

import (
	"testing"

	"github.com/seedmq/seedmq/conf/clock"
	"github.com/seedmq/seedmq/remoting/protocol"
	"github.com/seedmq/seedmq/store/fs"
)

// With light queues every name of one is a topic, and in no list of topics.
func TestLight(t *testing.T) {
	for _, on := range []bool{false, true} {
		table := New(Options{FS: fs.NewMem(nil), Path: "/config/topics.json", Clock: clock.Real{}, Settings: Settings{ClusterName: "c", BrokerName: "b", Light: on}})
		n := table.Len()
		e := table.Get("%LMQ%q")
		if (e != nil) != on || table.Get("T") != nil || table.Len() != n {
			t.Fatalf("on %v: %+v", on, e)
		}
		if on && (!e.Light || !e.Readable() || !e.Writable() || e.MaxQueues() != 1 || e.Name() != "%LMQ%q" || e.Stale()) {
			t.Fatalf("%+v", e)
		}
		if err := table.Update(protocol.NewTopicConfig("%LMQ%made")); err != nil {
			t.Fatal(err)
		}
		if e := table.Get("%LMQ%made"); e.Light != on {
			t.Fatalf("on %v: %+v", on, e)
		}
	}
}
