//go:build crash

package crash

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/seedmq/seedmq/remoting/protocol"
)

const (
	purgeTopic     = "Purged"
	bystanderTopic = "Bystander"
	purgeRounds    = 8
)

// purges is what purges of purgeTopic confirmed: where each queue begins.
type purges struct {
	first  map[int32]int64
	count  int
	doubt  bool // the last one got no answer
	failed error
}

// run purges again and again until the server is gone.
func (p *purges) run(ctx context.Context, addr string, rng *rand.Rand) {
	cl := newClient()
	defer cl.Close()
	for ctx.Err() == nil {
		h := &protocol.PurgeTopicRequestHeader{Topic: purgeTopic}
		if rng.IntN(2) == 0 {
			h.QueueID = protocol.Some(int32(rng.IntN(queues)))
		}
		p.doubt = true
		call, cancel := context.WithTimeout(ctx, 5*time.Second)
		r, err := cl.Invoke(call, addr, protocol.NewRequest(protocol.ReqPurgeTopic, h, nil))
		cancel()
		if err != nil {
			return // killed
		}
		p.doubt = false
		var body protocol.PurgeTopicResponseBody
		if err := protocol.UnmarshalFast(r.Body, &body); err != nil || r.Code != protocol.RespSuccess {
			p.failed = fmt.Errorf("purge: code %d %s, %w", r.Code, r.Remark, err)
			return
		}
		p.count++
		for _, q := range body.Queues {
			p.first[q.QueueID] = q.MinOffset
		}
		select {
		case <-ctx.Done():
		case <-time.After(time.Duration(rng.IntN(20)) * time.Millisecond):
		}
	}
}

// check compares the queues with what was confirmed and acknowledged: no purged message, and no other one missing.
func (p *purges) check(t *testing.T, s *server, book *Book) (messages int) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	cl := newClient()
	defer cl.Close()
	got, err := ReadAll(ctx, s.addr(), purgeTopic, queues)
	if err != nil {
		t.Fatal(err)
	}
	for q := range int32(queues) {
		first, end, err := queueRange(ctx, cl, s.addr(), purgeTopic, q)
		if err != nil {
			t.Fatal(err)
		}
		if first < p.first[q] || first > p.first[q] && !p.doubt {
			t.Errorf("queue %d begins at %d, confirmed was %d (the last purge was cut off: %v)", q, first, p.first[q], p.doubt)
		}
		p.first[q] = first
		for at, body := range book.acked {
			switch {
			case at.Queue != q:
			case at.Offset >= end:
				t.Errorf("acknowledged at %v, but the queue ends at %d", at, end)
			case at.Offset >= first && got[at].Body != body:
				t.Errorf("acknowledged at %v: %.40q, there is %.40q", at, body, got[at].Body)
			case at.Offset < first && got[at].Body != "":
				t.Errorf("purged at %v, there is %.40q", at, got[at].Body)
			}
		}
	}
	p.doubt = false
	return len(got)
}

// A purge that was confirmed stays through kill -9, also when the queues are made again from the log, takes nothing that came behind it,
// and nothing of another topic.
func TestKillWhilePurging(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	rng := rand.New(rand.NewPCG(seed, 0))
	data := t.TempDir()
	s := newServer(t, data, smallFiles)
	book, bystander := NewBook(), NewBook()
	p := &purges{first: map[int32]int64{}}
	left, n := 0, rounds(purgeRounds)
	for round := range n + 1 {
		s.start()
		if round == 0 {
			s.createTopicNamed(purgeTopic)
			s.createTopicNamed(bystanderTopic)
		} else {
			left += p.check(t, s, book)
			s.checkTopic(bystander, bystanderTopic)
		}
		if t.Failed() {
			t.Fatalf("round %d, server:\n%s", round, logOf(s.proc.Output()))
		}
		if round == n {
			break
		}
		ctx, cancel := context.WithCancel(context.Background())
		done := make(chan struct{}, 3)
		parts := []func(){
			func() { Load(ctx, book, s.addr(), purgeTopic, queues, 2, 4, fmt.Sprintf("p%d", round)) },
			func() { Load(ctx, bystander, s.addr(), bystanderTopic, queues, 1, 4, fmt.Sprintf("b%d", round)) },
			func() { p.run(ctx, s.addr(), rand.New(rand.NewPCG(seed, uint64(round)))) },
		}
		for _, part := range parts {
			go func() { part(); done <- struct{}{} }()
		}
		time.Sleep(time.Duration(50+rng.IntN(250)) * time.Millisecond)
		s.proc.Kill()
		cancel()
		for range parts {
			<-done
		}
		if p.failed != nil {
			t.Fatal(p.failed)
		}
		if round%3 == 2 {
			if err := os.RemoveAll(filepath.Join(data, "consumequeue")); err != nil {
				t.Fatal(err)
			}
		}
	}
	t.Logf("%d rounds, %d messages and %d purges confirmed, %d messages left after them", n, book.Acked(), p.count, left)
	if p.count < n || book.Acked() < 10*n {
		t.Errorf("too little happened: %d purges, %d messages", p.count, book.Acked())
	}
}
