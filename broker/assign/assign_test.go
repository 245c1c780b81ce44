package assign

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/seedmq/seedmq/remoting/protocol"
	"github.com/seedmq/seedmq/store/configfile"
	"github.com/seedmq/seedmq/store/fs"
)

// queues are n of each broker.
func queues(n int, brokers ...string) []protocol.MessageQueue {
	var out []protocol.MessageQueue
	for _, b := range brokers {
		for id := range n {
			out = append(out, protocol.MessageQueue{Topic: "T", BrokerName: b, QueueID: int32(n - 1 - id)}) // not in order
		}
	}
	return out
}

func members(n int) []string {
	var out []string
	for i := range n {
		out = append(out, fmt.Sprintf("c%d", n-1-i))
	}
	return out
}

func text(qs []protocol.MessageQueue) string {
	var out []string
	for _, q := range qs {
		out = append(out, fmt.Sprintf("%s%d", q.BrokerName, q.QueueID))
	}
	return strings.Join(out, " ")
}

func TestAllocate(t *testing.T) {
	for _, x := range []struct {
		strategy        string
		members, queues int
		want            string // of c0, c1, ...
	}{
		{Averagely, 1, 4, "a0 a1 a2 a3"},
		{Averagely, 3, 8, "a0 a1 a2|a3 a4 a5|a6 a7"},
		{Averagely, 3, 3, "a0|a1|a2"},
		{Averagely, 4, 3, "a0|a1|a2|"},
		{Averagely, 2, 0, "|"},
		{ByCircle, 3, 8, "a0 a3 a6|a1 a4 a7|a2 a5"},
		{ByCircle, 4, 3, "a0|a1|a2|"},
	} {
		var got []string
		for i := range x.members {
			got = append(got, text(Allocate(x.strategy, fmt.Sprint("c", i), members(x.members), queues(x.queues, "a"))))
		}
		if s := strings.Join(got, "|"); s != x.want {
			t.Errorf("%s, %d members, %d queues: %s, want %s", x.strategy, x.members, x.queues, s, x.want)
		}
	}
	if got := Allocate(Averagely, "stranger", members(2), queues(4, "a")); len(got) != 0 {
		t.Errorf("a stranger has %s", text(got))
	}
	if Known("MACHINE_ROOM_NEARBY-AVG") || !Known(Averagely) || !Known(ByCircle) {
		t.Error("which strategies are known")
	}
}

// TestAllocateGivesEachQueueOnce, to one member, and nobody has two more than another.
func TestAllocateGivesEachQueueOnce(t *testing.T) {
	for _, strategy := range []string{Averagely, ByCircle} {
		for nm := 1; nm < 9; nm++ {
			for nq := range 20 {
				seen, least, most := map[protocol.MessageQueue]int{}, nq, 0
				for _, m := range members(nm) {
					got := Allocate(strategy, m, members(nm), queues(nq, "a"))
					least, most = min(least, len(got)), max(most, len(got))
					for _, q := range got {
						seen[q]++
					}
				}
				if len(seen) != nq || most-least > 1 {
					t.Fatalf("%s: %d members, %d queues: %d given, from %d to %d each", strategy, nm, nq, len(seen), least, most)
				}
				for q, n := range seen {
					if n != 1 {
						t.Fatalf("%s: %d members have queue %v", strategy, n, q)
					}
				}
			}
		}
	}
}

func TestShare(t *testing.T) {
	for _, x := range []struct {
		members, queues, share int
		want                   string
	}{
		{1, 4, 0, "a-1"},
		{3, 4, -1, "a-1|a-1|a-1"},
		{3, 4, 2, "a-1|a-1|a-1"},
		{3, 4, 1, "a0 a1 a2|a2 a3|a0 a1 a3"},
		{4, 4, 2, "a0 a1 a2|a1 a2 a3|a0 a2 a3|a0 a1 a3"},
		{5, 2, 1, "a0|a1|a0|a1|a0"}, // more members than queues: they share
		{5, 0, 1, "||||"},
	} {
		var got []string
		for i := range x.members {
			got = append(got, text(Share(Averagely, fmt.Sprint("c", i), members(x.members), queues(x.queues, "a"), x.share)))
		}
		if s := strings.Join(got, "|"); s != x.want {
			t.Errorf("%d members, %d queues, share %d: %s, want %s", x.members, x.queues, x.share, s, x.want)
		}
	}
	if s := text(Share(Averagely, "c0", members(1), queues(3, "b", "a"), 0)); s != "a-1 b-1" {
		t.Errorf("two brokers: %s", s)
	}
	if got := Share(Averagely, "stranger", members(4), queues(4, "a"), 1); len(got) != 0 {
		t.Errorf("a stranger has %s", text(got))
	}
}

func TestArgumentsAreNotChanged(t *testing.T) {
	m, q := members(3), queues(4, "a")
	Allocate(Averagely, "c1", m, q)
	Share(Averagely, "c1", m, q, 1)
	if !slices.Equal(m, members(3)) || !slices.Equal(q, queues(4, "a")) {
		t.Errorf("%v %v", m, q)
	}
}

// javaFile is as Apache RocketMQ 5.5.0 writes it.
const javaFile = `{"messageRequestModeMap":{"TopicA":{"g1":{"consumerGroup":"g1","mode":"POP","popShareQueueNum":0,"topic":"TopicA"}}}}`

func TestModesAreKept(t *testing.T) {
	disk := fs.NewMem(nil)
	const path = "/config/messageRequestMode.json"
	if err := configfile.Save(disk, path, []byte(javaFile)); err != nil {
		t.Fatal(err)
	}
	m := NewModes(disk, path)
	if err := m.Load(); err != nil {
		t.Fatal(err)
	}
	if got, ok := m.Get("TopicA", "g1"); !ok || got.Mode != protocol.RequestModePop || got.PopShareQueueNum != 0 {
		t.Fatalf("Java's: %+v %v", got, ok)
	}
	if err := m.Set(Mode{Topic: "B", ConsumerGroup: "g2", Mode: protocol.RequestModePop, PopShareQueueNum: 3}); err != nil {
		t.Fatal(err)
	}
	again := NewModes(disk, path)
	if err := again.Load(); err != nil {
		t.Fatal(err)
	}
	if got, ok := again.Get("B", "g2"); !ok || got.PopShareQueueNum != 3 || len(again.All().MessageRequestModeMap) != 2 {
		t.Fatalf("after a restart: %+v %v", got, ok)
	}
	if _, ok := again.Get("B", "g1"); ok {
		t.Fatal("a mode that nobody set")
	}
	all := again.All()
	delete(all.MessageRequestModeMap["B"], "g2")
	if _, ok := again.Get("B", "g2"); !ok {
		t.Fatal("All is not a copy")
	}
}

func TestModesThatCannotBeRead(t *testing.T) {
	disk := fs.NewMem(nil)
	if err := configfile.Save(disk, "/m.json", []byte(`{"messageRequestModeMap":{"T":`)); err != nil {
		t.Fatal(err)
	}
	m := NewModes(disk, "/m.json")
	if err := m.Load(); err == nil {
		t.Fatal("half a file was read")
	}
	if err := m.Set(Mode{Topic: "T", ConsumerGroup: "g", Mode: protocol.RequestModePull}); err != nil {
		t.Fatal(err)
	}
}
