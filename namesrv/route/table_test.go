package route

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/seedmq/seedmq/conf/clock"
	"github.com/seedmq/seedmq/remoting/protocol"
)

// TestRandomCommands runs random commands and has env.check compare the maps and the kept replies after each.
func TestRandomCommands(t *testing.T) {
	for seed := range uint64(20) {
		t.Run(fmt.Sprint("seed=", seed), func(t *testing.T) {
			rnd := rand.New(rand.NewPCG(seed, 0))
			e := &env{t: t, clk: clock.NewFake(time.UnixMilli(0)), order: map[string]string{}}
			e.table = New(Options{Clock: e.clk})
			var done []string
			for range 400 {
				cmd := randomCommand(rnd)
				done = append(done, cmd)
				e.run(strings.Fields(cmd))
				if e.check(); t.Failed() {
					t.Fatalf("after:\n%s", strings.Join(done, "\n"))
				}
			}
		})
	}
}

func randomCommand(r *rand.Rand) string {
	pick := func(words ...string) string { return words[r.IntN(len(words))] }
	who := fmt.Sprintf("name=%s id=%d addr=%s session=%d cluster=%s", pick("a", "b"), r.IntN(3), pick("x", "y", "z"), r.IntN(9), pick("C", "C", "C", "D"))
	switch r.IntN(10) {
	case 0, 1, 2, 3:
		return fmt.Sprintf("register %s version=%d state=%d topics=%s acting=%s zone=%s", who, r.IntN(4), r.IntN(2),
			pick("T:1:6,U:2:6", "T:2:6,V:1:4", "U:1:6", "T:1:6,U:1:6,V:1:6"), pick("true", "false"), pick("z", ""))
	case 4:
		return "unregister " + who
	case 5:
		return fmt.Sprintf("close session=%d", r.IntN(9))
	case 6:
		return pick("advance 50s", "expire", "wipe a", "add-write b", "delete topic=T", "delete topic=U cluster=C")
	case 7:
		return "config acting=" + pick("true", "false") + " missing=" + pick("true", "false")
	case 8:
		return "heartbeat " + who
	}
	return "route " + pick("T", "U", "V") + " zone=" + pick("", "z", "q")
}

func fullTable(topics int) *Table {
	t := New(Options{})
	r := &Registration{Identity: Identity{Cluster: "C", Name: "a", Addr: "127.0.0.1:10911"}, Session: 1, Topics: map[string]protocol.TopicConfig{}}
	for i := range topics {
		name := fmt.Sprint("topic-", i)
		r.Topics[name] = protocol.TopicConfig{TopicName: name, ReadQueueNums: 8, WriteQueueNums: 8, Perm: 6}
	}
	t.Register(r)
	return t
}

func TestAskingForARouteAllocatesNothing(t *testing.T) {
	table := fullTable(100)
	table.Route("topic-7", "")
	if n := testing.AllocsPerRun(100, func() { table.Route("topic-7", "") }); n > 0 {
		t.Errorf("%v allocations", n)
	}
}

func TestZonesFromClientsAreBounded(t *testing.T) {
	table := fullTable(2)
	for i := range 10 * maxZones {
		if _, ok := table.Route("topic-1", fmt.Sprint("zone", i)); !ok {
			t.Fatal("no route")
		}
	}
	if n := len(table.mu.replies); n > maxZones {
		t.Errorf("%d replies kept", n)
	}
}

func TestConcurrentUse(t *testing.T) {
	table := fullTable(10)
	var wg sync.WaitGroup
	for g := range 4 {
		wg.Go(func() {
			for i := range 300 {
				switch (g + i) % 4 {
				case 0:
					table.WipeWrite("a")
				case 1:
					table.AddWrite("a")
				case 2:
					table.ClusterInfo()
				}
				if _, ok := table.Route(fmt.Sprint("topic-", i%10), ""); !ok {
					t.Error("no route")
				}
			}
		})
	}
	wg.Wait()
}

func BenchmarkRoute(b *testing.B) {
	table := fullTable(10_000)
	b.ReportAllocs()
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			table.Route("topic-77", "")
		}
	})
}

func BenchmarkRegister(b *testing.B) {
	for _, topics := range []int{100, 10_000} {
		b.Run(fmt.Sprint("topics=", topics), func(b *testing.B) {
			table := fullTable(topics)
			r := &Registration{Identity: Identity{Cluster: "C", Name: "a", Addr: "127.0.0.1:10911"}, Session: 1, Topics: map[string]protocol.TopicConfig{}}
			for i := range topics {
				name := fmt.Sprint("topic-", i)
				r.Topics[name] = protocol.TopicConfig{TopicName: name, ReadQueueNums: 8, WriteQueueNums: 8, Perm: 6}
			}
			b.ReportAllocs()
			for b.Loop() {
				r.Version.Counter++
				table.Register(r)
			}
		})
	}
}
