package pop

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/seedmq/seedmq/conf/clock"
)

var seedFlag = flag.Uint64("pop.seed", 0, "seed of TestRandomLife; 0: a fixed few")

// life is a random run compared with what consumers know: which messages were acknowledged, and until when each is invisible.
type life struct {
	*bench
	rnd     *rand.Rand
	queues  int32
	sent    int
	acked   map[string]bool
	visible map[string]int64 // ms: not before
	open    []got
}

// receive checks what a pop gave.
func (l *life) receive(list []got, invisible int64) {
	now := clock.Millis(l.clk)
	for i := range list {
		name := string(list[i].Body)
		if l.acked[name] {
			l.t.Fatalf("message %s comes back after it was acknowledged", name)
		}
		if now < l.visible[name] {
			l.t.Fatalf("message %s is visible %d ms early", name, l.visible[name]-now)
		}
		l.visible[name] = now + invisible
		list[i].r.Handle.Invisible = invisible
		l.open = append(l.open, list[i])
	}
}

func (l *life) act() {
	switch n := l.rnd.IntN(100); {
	case n < 25:
		for range l.rnd.IntN(5) {
			l.store.send("T", l.rnd.Int32N(l.queues), "a", fmt.Sprint(l.sent))
			l.sent++
		}
	case n < 50:
		invisible := []time.Duration{time.Second, 4 * time.Second, 8 * time.Second, 30 * time.Second}[l.rnd.IntN(4)]
		l.receive(l.pop(invisible, l.queues), invisible.Milliseconds())
	case n < 75:
		l.ackSome()
	case n < 80:
		l.changeOne()
	case n < 96:
		l.step(time.Duration(l.rnd.IntN(3000)) * time.Millisecond)
	case n < 98:
		l.kill()
	case n < 99:
		if err := l.offsets.Save(); err != nil {
			l.t.Fatal(err)
		}
	default:
		l.stop()
		l.bench.open()
	}
}

func (l *life) ackSome() {
	for range l.rnd.IntN(6) {
		if len(l.open) == 0 {
			return
		}
		m := l.pick()
		if clock.Millis(l.clk) < m.r.Handle.PopTime+m.r.Handle.Invisible {
			if err := l.ack(m.r); err != nil {
				l.t.Fatalf("ack of %s in time: %v", m.Body, err)
			}
			l.acked[string(m.Body)] = true
		}
	}
}

// pick takes one of the open messages out.
func (l *life) pick() got {
	i := l.rnd.IntN(len(l.open))
	m := l.open[i]
	l.open[i] = l.open[len(l.open)-1]
	l.open = l.open[:len(l.open)-1]
	return m
}

func (l *life) changeOne() {
	if len(l.open) == 0 {
		return
	}
	m := l.pick()
	now := clock.Millis(l.clk)
	if now >= m.r.Handle.PopTime+m.r.Handle.Invisible {
		return
	}
	d := time.Duration(l.rnd.IntN(20_000)) * time.Millisecond
	r, err := l.change(m.r, d)
	if err != nil {
		l.t.Fatalf("change of %s in time: %v", m.Body, err)
	}
	m.r = r
	l.visible[string(m.Body)] = now + d.Milliseconds()
	l.open = append(l.open, m)
}

// drain acknowledges everything that is still there.
func (l *life) drain() {
	for range 100 {
		if len(l.acked) == l.sent {
			return
		}
		l.receive(l.pop(30*time.Second, l.queues), 30_000)
		for len(l.open) > 0 {
			m := l.pick()
			if clock.Millis(l.clk) < m.r.Handle.PopTime+m.r.Handle.Invisible {
				l.mustAck(m)
				l.acked[string(m.Body)] = true
			}
		}
		l.step(time.Second)
	}
	l.t.Fatalf("%d of %d messages were acknowledged, the others are lost", len(l.acked), l.sent)
}

func randomLife(t *testing.T, seed uint64, acts int) {
	l := &life{bench: newBench(t), rnd: rand.New(rand.NewPCG(seed, 1)), queues: 3, acked: map[string]bool{}, visible: map[string]int64{}}
	l.maxTimes = 1 << 30
	if seed%2 == 0 { // states come and go
		l.sweeping = sweeping{idleMs: 2000, every: 300}
		l.s.sweeping = l.sweeping
	}
	defer func() {
		if t.Failed() {
			t.Logf("again with -pop.seed=%d", seed)
		}
	}()
	for range acts {
		l.act()
	}
	l.drain()
	l.step(time.Minute)
	f := l.s.Figures()
	if l.sweeping.idleMs == 0 {
		f.Queues = 0
	}
	if f != (Figures{}) {
		t.Fatalf("left: %+v", f)
	}
	l.receive(l.pop(time.Second, l.queues), 1000)
}

// TestRandomLife: whatever happens, kills and stops included, nothing is lost, nothing comes early, and nothing comes back that was
// acknowledged in time.
func TestRandomLife(t *testing.T) {
	if *seedFlag != 0 {
		randomLife(t, *seedFlag, 2000)
		return
	}
	for seed := range uint64(30) {
		t.Run(fmt.Sprint(seed+1), func(t *testing.T) { randomLife(t, seed+1, 300) })
	}
}
