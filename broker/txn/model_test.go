package txn

import (
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/seedmq/seedmq/remoting/protocol"
	"github.com/seedmq/seedmq/store"
)

var modelSeed = flag.Uint64("txn.seed", 0, "run TestModel with this seed only")

// modelTx is what the model knows of one transaction.
type modelTx struct {
	name    string
	records []store.AppendResult // known to the producer: the first, and those it was asked by
	outcome Outcome              // accepted
	sealed  int64                // log position after the outcome was accepted
	twice   bool                 // a power cut kept the message but not its mark: it may come again
}

// model compares a service, which is killed and loses the end of its log now and then, with what producers were told.
type model struct {
	*rig
	rnd  *rand.Rand
	txs  []*modelTx
	seen int
}

func TestModel(t *testing.T) {
	if *modelSeed != 0 {
		runModel(t, *modelSeed)
		return
	}
	for seed := uint64(1); seed <= 60; seed++ {
		runModel(t, seed)
		if t.Failed() {
			t.Fatalf("again: go test ./broker/txn -run TestModel -txn.seed %d", seed)
		}
	}
}

func runModel(t *testing.T, seed uint64) {
	m := &model{rig: newRig(t), rnd: rand.New(rand.NewPCG(seed, 1))}
	m.set.MaxChecks = 4
	zero := int64(0)
	m.flushed.Store(&zero)
	m.start()
	for range 120 {
		m.step()
		m.check()
	}
	m.drain()
	m.s.Close()
	m.s = nil
}

func (m *model) step() {
	switch n := m.rnd.IntN(20); {
	case n < 7:
		var props []string
		if m.rnd.IntN(4) == 0 {
			props = []string{protocol.PropertyCheckImmunityTime, fmt.Sprint(m.rnd.IntN(90))}
		}
		name := fmt.Sprint("m", len(m.txs))
		m.txs = append(m.txs, &modelTx{name: name, records: []store.AppendResult{m.half(name, props...)}})
	case n < 13:
		m.endOne()
	case n < 16:
		m.advance(time.Duration(m.rnd.IntN(20_000)) * time.Millisecond)
	case n < 17:
		m.save()
	case n < 18:
		at := m.fakeStore.end
		m.flushed.Store(&at)
	case n < 19:
		m.kill(m.rnd.IntN(2) * m.rnd.IntN(5))
	default:
		m.stop()
		at := m.fakeStore.end // a store that is closed in order flushes
		m.flushed.Store(&at)
		m.start()
	}
}

// endOne is a producer's word on a transaction, by any record that it knows of.
func (m *model) endOne() {
	if len(m.txs) == 0 {
		return
	}
	tx := m.txs[max(0, len(m.txs)-1-m.rnd.IntN(8))]
	o := Commit + Outcome(m.rnd.IntN(2))
	err := m.rig.end(tx.records[m.rnd.IntN(len(tx.records))], o, m.rnd.IntN(2) == 0)
	switch {
	case err == nil && tx.outcome == 0:
		tx.outcome, tx.sealed = o, m.fakeStore.end
	case err == nil && tx.outcome != o:
		m.t.Errorf("%s: %v was accepted, it was %v before", tx.name, o, tx.outcome)
	case err != nil && !errors.Is(err, ErrEnded) && !errors.Is(err, ErrTooLate):
		m.t.Errorf("%s: %v", tx.name, err)
	case errors.Is(err, ErrEnded) && tx.outcome == 0 && m.count(protocol.TopicTransCheckMaxTime, 0)[tx.name] == 0:
		m.t.Errorf("%s: %v, but it is open", tx.name, err)
	}
}

// kill ends the service and takes up to n records that were not flushed.
func (m *model) kill(n int) {
	m.s.g.Close()
	before := m.count("T", 2)
	for ; n > 0 && len(m.at) > 0 && m.at[len(m.at)-1] >= *m.flushed.Load(); n-- {
		m.cut(1)
	}
	after := m.count("T", 2)
	m.txs = slices.DeleteFunc(m.txs, func(tx *modelTx) bool {
		tx.records = slices.DeleteFunc(tx.records, func(r store.AppendResult) bool { return r.PhysicalOffset >= m.fakeStore.end })
		if tx.outcome != 0 && tx.sealed > m.fakeStore.end {
			tx.outcome = 0
			tx.twice = tx.twice || after[tx.name] > 0
		}
		return len(tx.records) == 0
	})
	for name, n := range before {
		if after[name] < n-1 {
			m.t.Errorf("%s: %d deliveries at once", name, n)
		}
	}
	m.start()
}

// count is how often each message is in a queue.
func (m *model) count(topic string, queueID int32) map[string]int {
	n := map[string]int{}
	for _, v := range m.records2(topic, queueID) {
		n[string(v.Body)]++
	}
	return n
}

// check compares what was delivered with what producers were told, and learns of new checks.
func (m *model) check() {
	m.t.Helper()
	delivered := m.count("T", 2)
	for _, tx := range m.txs {
		n := delivered[tx.name]
		want := tx.outcome == Commit
		if want && n == 0 || !want && !tx.twice && n > 0 || n > 1 && !tx.twice {
			m.t.Fatalf("%s was %v and is delivered %d times", tx.name, tx.outcome, n)
		}
	}
	asks := m.asksNow()
	for _, a := range asks[m.seen:] {
		for _, tx := range m.txs {
			if tx.name != a.name {
				continue
			}
			if tx.outcome != 0 {
				m.t.Fatalf("%s was %v, but its producer is asked", tx.name, tx.outcome)
			}
			tx.records = append(tx.records, a.at)
		}
	}
	m.seen = len(asks)
}

// drain lets time go by until nothing is open: every transaction was ended or given up.
func (m *model) drain() {
	m.t.Helper()
	for range 12 {
		m.advance(40 * time.Second)
		m.check()
	}
	if n := m.s.Open(); n != 0 {
		m.t.Fatalf("%d transactions stay open", n)
	}
	m.s.mu.Lock()
	q := m.s.mu.queues[0]
	if q != nil && (q.head != q.tail || len(q.ops) != 0 || len(q.claims) != 0 || len(q.copies) != 0 || len(q.done.words) > 64) {
		m.t.Errorf("the queue is not drained: %+v", q)
	}
	m.s.mu.Unlock()
	givenUp := m.count(protocol.TopicTransCheckMaxTime, 0)
	for _, tx := range m.txs {
		if n := givenUp[tx.name]; (n == 0) == (tx.outcome == 0) && !tx.twice {
			m.t.Errorf("%s was %v and is given up %d times", tx.name, tx.outcome, n)
		}
	}
}
