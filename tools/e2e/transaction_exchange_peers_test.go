//go:build peers

package e2e

import (
	"context"
	"fmt"
	"maps"
	"strings"
	"testing"
	"time"

	rocketmq "github.com/apache/rocketmq-client-go/v2"
	"github.com/apache/rocketmq-client-go/v2/primitive"
	"github.com/apache/rocketmq-client-go/v2/producer"

	"github.com/seedmq/seedmq/tools/harness"
)

// holdListener does not decide about messages "hold N …" before turn N. It counts checks as "turn body".
type holdListener struct {
	txnListener
	turn int
}

func (l *holdListener) CheckLocalTransaction(m *primitive.MessageExt) primitive.LocalTransactionState {
	l.mu.Lock()
	defer l.mu.Unlock()
	body := string(m.Body)
	l.checks[fmt.Sprint(l.turn, " ", body)]++
	var until int
	if _, err := fmt.Sscanf(body, "hold %d", &until); err != nil || l.turn < until {
		return primitive.UnkonwnState
	}
	if strings.HasSuffix(body, "drop") {
		return primitive.RollbackMessageState
	}
	return primitive.CommitMessageState
}

// txnExchange is a store with transactions that goes from broker to broker.
type txnExchange struct {
	t *testing.T
	l *holdListener
	p rocketmq.TransactionProducer
	s *harness.Server
}

const txnTopic = "TxnExchange"

// turn is the beginning of a broker's time with the store: a producer of the same group comes and sends.
func (x *txnExchange) turn(n int, s *harness.Server, bodies ...string) {
	x.t.Helper()
	if x.p != nil {
		x.p.Shutdown()
	}
	x.s = s
	x.l.mu.Lock()
	x.l.turn = n
	x.l.mu.Unlock()
	if n == 1 {
		harness.CreateTopic(x.t, s, txnTopic, 1)
	}
	var err error
	x.p, err = rocketmq.NewTransactionProducer(x.l, producer.WithNsResolver(primitive.NewPassthroughResolver([]string{s.Namesrv})),
		producer.WithGroupName("TxnExchangeProducer"), producer.WithInstanceName(fmt.Sprint("exchange", n)), producer.WithRetry(0))
	if err == nil {
		err = x.p.Start()
	}
	if err != nil {
		x.t.Fatal(err)
	}
	for _, body := range bodies {
		r, err := x.p.SendMessageInTransaction(context.Background(), primitive.NewMessage(txnTopic, []byte(body)))
		if err != nil || r.Status != primitive.SendOK {
			x.t.Fatalf("%s: %v %v", body, r, err)
		}
	}
}

// asked waits until a producer was asked about a message n times in this turn.
func (x *txnExchange) asked(body string, n int) {
	x.t.Helper()
	key := fmt.Sprint(x.l.turn, " ", body)
	harness.Eventually(x.t, 100*time.Second, func() string { // the client's heartbeat comes every 30 s
		if got := x.l.count(key); got < n {
			return fmt.Sprintf("%s: asked %d times of %d", key, got, n)
		}
		return ""
	})
}

// stored waits until the topic has these messages, and sees that it has each once and no others.
func (x *txnExchange) stored(bodies ...string) {
	x.t.Helper()
	want := map[string]int{}
	for _, b := range bodies {
		want[b] = 1
	}
	harness.Eventually(x.t, 30*time.Second, func() string {
		got := map[string]int{}
		for _, m := range mustDial(x.t, x.s.Broker).readAll(x.t, txnTopic, 0, 0) {
			got[string(m.Body)]++
		}
		if !maps.Equal(got, want) {
			return fmt.Sprintf("stored %v, want %v", got, want)
		}
		return ""
	})
}

// Open transactions go from our broker to Apache's and back, after clean stops and after kills: each is asked about by whoever has the
// store, and what has ended is asked about by nobody, and stored once.
func TestTransactionsExchange(t *testing.T) {
	// Java writes its marks after 3 s, and would ask again, and store again, meanwhile.
	const conf = "transactionTimeOut=1000\ntransactionCheckInterval=1000\ntransactionCheckMax=1000\ntransactionOpBatchInterval=50\n"
	dir, ns := t.TempDir(), harness.Namesrv(t)
	ours := func() *harness.Server { return harness.Broker(t, dir, ns.Namesrv, conf) }
	java := func() *harness.Server { return harness.JavaBrokerOf(t, harness.Java5, dir, ns.Namesrv, conf) }
	x := &txnExchange{t: t, l: &holdListener{txnListener: txnListener{checks: map[string]int{}}}}

	x.turn(1, ours(), "commit 1", "rollback 1", "hold 2", "hold 2 drop", "hold 3", "hold 4 drop")
	x.asked("hold 3", 2)
	x.stored("commit 1")
	stop(t, x.s)

	t.Log("Java goes on with what we have closed")
	x.turn(2, java(), "commit 2", "rollback 2", "hold 3 too")
	x.asked("hold 2 drop", 1)
	x.asked("hold 3 too", 2)
	x.stored("commit 1", "commit 2", "hold 2")
	time.Sleep(2 * time.Second) // until it has written its marks
	x.s.Proc.Kill()

	t.Log("we go on with what Java left when it was killed")
	x.turn(3, ours(), "commit 3")
	x.asked("hold 4 drop", 1)
	x.stored("commit 1", "commit 2", "hold 2", "commit 3", "hold 3", "hold 3 too")
	x.s.Proc.Kill()

	t.Log("Java goes on with what we left when we were killed")
	x.turn(4, java(), "commit 4")
	x.asked("hold 4 drop", 1)
	x.stored("commit 1", "commit 2", "hold 2", "commit 3", "hold 3", "hold 3 too", "commit 4")
	x.p.Shutdown()
	x.l.mu.Lock()
	defer x.l.mu.Unlock()
	for key, n := range x.l.checks {
		turn, body, _ := strings.Cut(key, " ")
		if strings.HasPrefix(body, "commit") || strings.HasPrefix(body, "rollback") || body[:4] == "hold" && turn > body[5:6] {
			t.Errorf("asked %d times in turn %s about %q, which had ended", n, turn, body)
		}
	}
}
