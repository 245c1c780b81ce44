package e2e

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/seedmq/seedmq/tools/harness"
)

// peer is one push consumer of a stock client in its own process (java/Peer.java, gopeer). Its arguments are key=value:
//
//	ns, group, instance, topic   as the client has them
//	mode=orderly                 an ordered consumer; else a concurrent one
//	work=MS                      how long a message takes
//	suspend=N                    the message at offset 3 of each N is refused twice
//	reconsume=N                  the most retries
//	heartbeat=MS                 Java only: its period
//	namespace, namespacev2, unit, unitmode, broker   what the client may be set to (broker: the broker assigns queues)
//
// It prints READY, a line for each message, and BYE when it has left its group: "M microseconds queue offset retries topic body", with S in
// the place of M when it refused the message. A body with "poison" is always refused.
type peer struct {
	*harness.Process
	name string
}

// took is one message that a peer took.
type took struct {
	by          string
	at          int64 // microseconds
	queue       int
	offset      int64
	retries     int
	topic, body string
	refused     bool
}

// startPeer starts a peer of a client: "go", or a release of Java's.
func startPeer(t testing.TB, client, name string, args ...string) *peer {
	t.Helper()
	args = append(args, "instance="+name)
	p := &peer{name: name}
	if client == "go" {
		p.Process = harness.StartGoPeer(t, args...)
	} else {
		p.Process = harness.StartJava(t, client, "Peer", args...)
	}
	return p
}

// ready waits until the peer has started.
func (p *peer) ready(t testing.TB) {
	t.Helper()
	harness.Eventually(t, 60*time.Second, func() string {
		if strings.Contains(p.Output(), "READY\n") {
			return ""
		}
		if p.Ended(0) {
			t.Fatalf("%s ended:\n%s", p.name, p.Output())
		}
		return p.name + " has not started"
	})
}

// taken is what the peer took so far.
func (p *peer) taken() (out []took) {
	text := p.Output()
	text = text[:strings.LastIndexByte(text, '\n')+1] // the last line may not be whole
	for line := range strings.Lines(text) {
		f := strings.SplitN(strings.TrimSpace(line), " ", 7)
		if len(f) != 7 || f[0] != "M" && f[0] != "S" {
			continue
		}
		m := took{by: p.name, topic: f[5], body: f[6], refused: f[0] == "S"}
		m.at, _ = strconv.ParseInt(f[1], 10, 64)
		m.queue, _ = strconv.Atoi(f[2])
		m.offset, _ = strconv.ParseInt(f[3], 10, 64)
		m.retries, _ = strconv.Atoi(f[4])
		out = append(out, m)
	}
	return out
}

// allTaken is what all peers took, in the order of time.
func allTaken(peers []*peer) (out []took) {
	for _, p := range peers {
		out = append(out, p.taken()...)
	}
	slices.SortStableFunc(out, func(a, b took) int { return cmp.Compare(a.at, b.at) })
	return out
}

// checkOrder reports the first message of each queue that came before one with a lower offset that nobody had taken yet: a gap or a swap.
// What was taken already may come again. It returns the next offset of each queue and how often messages came again.
func checkOrder(t testing.TB, all []took) (next map[int]int64, again int) {
	t.Helper()
	next = map[int]int64{}
	for i, m := range all {
		if m.refused {
			continue
		}
		switch n := next[m.queue]; {
		case m.offset > n:
			var before []string
			for _, b := range all[max(0, i-400):i] {
				if b.queue == m.queue && !b.refused {
					before = append(before, fmt.Sprintf("%s:%d", b.by, b.offset))
				}
			}
			t.Fatalf("queue %d: %s took offset %d when %d had not been taken; before: %v", m.queue, m.by, m.offset, n, before[max(0, len(before)-20):])
		case m.offset == n:
			next[m.queue] = n + 1
		default:
			again++
		}
	}
	return next, again
}
