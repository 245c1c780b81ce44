package e2e

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	rocketmq "github.com/apache/rocketmq-client-go/v2"
	"github.com/apache/rocketmq-client-go/v2/primitive"
	"github.com/apache/rocketmq-client-go/v2/producer"

	"github.com/seedmq/seedmq/tools/harness"
)

// quickChecks are broker.conf lines that make checks of transactions quick.
const quickChecks = "transactionTimeOut=1000\ntransactionCheckInterval=1000\ntransactionCheckMax=3\n"

// txnListener decides by the message's body.
type txnListener struct {
	mu     sync.Mutex
	checks map[string]int
}

func (l *txnListener) ExecuteLocalTransaction(m *primitive.Message) primitive.LocalTransactionState {
	switch body := string(m.Body); {
	case strings.HasPrefix(body, "commit"):
		return primitive.CommitMessageState
	case strings.HasPrefix(body, "rollback"):
		return primitive.RollbackMessageState
	}
	return primitive.UnkonwnState
}

func (l *txnListener) CheckLocalTransaction(m *primitive.MessageExt) primitive.LocalTransactionState {
	l.mu.Lock()
	defer l.mu.Unlock()
	body := string(m.Body)
	l.checks[body]++
	switch {
	case strings.HasPrefix(body, "never"), strings.HasPrefix(body, "late") && l.checks[body] < 2:
		return primitive.UnkonwnState
	case strings.HasSuffix(body, "drop"):
		return primitive.RollbackMessageState
	}
	return primitive.CommitMessageState
}

func (l *txnListener) count(body string) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.checks[body]
}

func newTxnProducer(t *testing.T, s *harness.Server, group string, l primitive.TransactionListener) rocketmq.TransactionProducer {
	t.Helper()
	p, err := rocketmq.NewTransactionProducer(l, producer.WithNsResolver(primitive.NewPassthroughResolver([]string{s.Namesrv})),
		producer.WithGroupName(group), producer.WithInstanceName(t.Name()+group), producer.WithRetry(0))
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { p.Shutdown() })
	return p
}

// TestGoTransaction: the stock Go client commits, rolls back, is asked, and what it never decides is given up and listed.
func TestGoTransaction(t *testing.T) {
	s := harness.MQServer(t, harness.FastRetryConf+quickChecks)
	harness.CreateTopic(t, s, "GoTxn", 2)
	l := &txnListener{checks: map[string]int{}}
	p := newTxnProducer(t, s, "GoTxnProducer", l)
	var g got
	c := newPush(t, s, "GoTxnGroup", "c", "GoTxn", "TagA", g.handler(""))
	defer c.Shutdown()
	for _, body := range []string{"commit", "rollback", "checked", "checked drop", "late", "late drop", "never"} {
		r, err := p.SendMessageInTransaction(context.Background(), primitive.NewMessage("GoTxn", []byte(body)).WithTag("TagA"))
		if err != nil || r.Status != primitive.SendOK || r.TransactionID == "" {
			t.Fatalf("%s: %v %v", body, r, err)
		}
	}
	for _, body := range []string{"commit", "checked", "late"} {
		harness.Eventually(t, 45*time.Second, func() string {
			if g.count(body) == 0 {
				return fmt.Sprintf("%s is not received: %v", body, g.n)
			}
			return ""
		})
	}
	harness.Eventually(t, 45*time.Second, func() string {
		out, err := harness.Admin(t, s, "halfMessages", "-d")
		if err != nil || !strings.Contains(out, "never") && l.count("never") < 3 {
			return fmt.Sprint("given up: ", out, err)
		}
		if l.count("late drop") < 2 || !strings.Contains(out, "GoTxn ") {
			return fmt.Sprint(l.checks, out)
		}
		return ""
	})
	for body, n := range map[string]int{"commit": 0, "rollback": 0, "checked": 1, "checked drop": 1, "late": 2, "late drop": 2, "never": 3} {
		if got := l.count(body); got != n {
			t.Errorf("%s was checked %d times, want %d", body, got, n)
		}
	}
	if g.distinct("") != 3 || g.count("commit")+g.count("checked")+g.count("late") != 3 {
		t.Errorf("received %v", g.n)
	}
}
