//go:build crash

package crash

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/seedmq/seedmq/remoting/protocol"
	"github.com/seedmq/seedmq/tools/harness"
)

// A service is one kind of use, which is killed in its middle.
type service interface {
	// load uses the broker at addr from several goroutines, until ctx ends or the connections break, and returns.
	load(ctx context.Context, addr string, round int)
	// judge says what is still to come, "" when all is as it should be. It fails the test when something is there that must not be.
	judge(ctx context.Context, addr string) string
	// size is how much was done.
	size() int
}

// serviceRounds is how often each service is killed; SERVICE_ROUNDS overrides it.
func serviceRounds() int {
	if n, err := strconv.Atoi(os.Getenv("SERVICE_ROUNDS")); err == nil {
		return n
	}
	return 20
}

// killService kills the broker in the middle of a service, again and again, and lets the service come to its end after the last start.
func killService(t *testing.T, conf string, topics []string, make func(s *server) service) {
	t.Helper()
	seed := uint64(time.Now().UnixNano())
	rng := rand.New(rand.NewPCG(seed, 0))
	s := newServer(t, t.TempDir(), smallFiles+conf)
	v := make(s)
	n := serviceRounds()
	for round := range n {
		s.start()
		if round == 0 {
			for _, name := range topics {
				s.createTopicNamed(name)
			}
		}
		during(v, s, round, func(ctx context.Context) {
			if round%5 == 4 {
				v.judge(ctx, s.addr())
			}
			time.Sleep(time.Duration(100+rng.IntN(400)) * time.Millisecond)
			s.proc.Kill()
		})
		if t.Failed() {
			t.Fatalf("round %d, seed %d\n%s", round, seed, s.proc.Output())
		}
	}
	s.start()
	during(v, s, n, func(ctx context.Context) {
		harness.Eventually(t, 30*time.Second, func() string { return v.judge(ctx, s.addr()) })
	})
	if t.Failed() {
		t.Fatalf("seed %d\n%s", seed, s.proc.Output())
	}
	t.Logf("%d kills, %d messages or requests", n, v.size())
	if v.size() < 5*n {
		t.Errorf("too little was done: %d", v.size())
	}
}

// during runs fn while the service is used.
func during(v service, s *server, round int, fn func(ctx context.Context)) {
	ctx, cancel := context.WithTimeout(context.Background(), 45*time.Second)
	done := make(chan struct{})
	go func() {
		defer close(done)
		v.load(ctx, s.addr(), round)
	}()
	fn(ctx)
	cancel()
	<-done
}

// many runs fn n times at once, until all return.
func many(n int, fn func(i int)) {
	var wg sync.WaitGroup
	for i := range n {
		wg.Go(func() { fn(i) })
	}
	wg.Wait()
}

// readTopic reads all queues of a topic.
func readTopic(ctx context.Context, p *Peer, topic string, queues int) (all []protocol.MessageView, err error) {
	for q := range int32(queues) {
		for at := int64(0); ; {
			ms, next, err := p.Pull(ctx, "crash-check", topic, q, at, "*", "TAG")
			if err != nil {
				return nil, fmt.Errorf("%s/%d at %d: %w", topic, q, at, err)
			}
			if len(ms) == 0 && next <= at {
				break
			}
			all, at = append(all, ms...), max(next, at)
		}
	}
	return all, nil
}

// book is a ledger with a lock, and the test that it belongs to.
type book struct {
	t  *testing.T
	mu sync.Mutex
	*Ledger
	often bool // repeats are no fault: a kill takes consumers back further than one life is long
}

func newBook(t *testing.T) book { return book{t: t, Ledger: NewLedger()} }

func (b *book) size() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return len(b.sent)
}

// judgeTopic compares a topic with the ledger.
func (b *book) judgeTopic(ctx context.Context, addr, topic string, queues int) string {
	p, err := Dial(ctx, addr, "judge", nil)
	if err != nil {
		return err.Error()
	}
	defer p.Close()
	b.mu.Lock() // what is sent meanwhile has to wait
	defer b.mu.Unlock()
	all, err := readTopic(ctx, p, topic, queues)
	if err != nil {
		return err.Error()
	}
	missing, twice, err := b.Judge(all)
	switch {
	case err != nil:
		b.t.Error(err)
		return ""
	case missing > 0:
		return fmt.Sprintf("%d of %d messages are missing", missing, len(b.due))
	case !b.often && twice > len(b.due)/100+5:
		b.t.Errorf("%d of %d messages came more than once", twice, len(b.due))
	}
	return ""
}
