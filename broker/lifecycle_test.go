package broker_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/seedmq/seedmq/broker"
	"github.com/seedmq/seedmq/broker/brokertest"
	"github.com/seedmq/seedmq/remoting/protocol"
	"github.com/seedmq/seedmq/store"
)

func TestCloseAnswersHeldPulls(t *testing.T) {
	b := brokertest.Start(t)
	c := brokertest.Dial(t, b.Addr())
	c.Send("T", 0, "", "m")
	h := pullHeader("T", 0, 1)
	h.SysFlag |= protocol.PullFlagSuspend
	h.SuspendTimeoutMillis = 60_000
	done := make(chan pulled, 1)
	go func() { done <- pull(t, c, h) }()
	brokertest.Until(t, "the pull is held", func() error {
		if b.Held() == 0 {
			return errors.New("nothing is held")
		}
		return nil
	})
	begin := time.Now()
	b.Stop(t)
	if got := <-done; got.code != protocol.RespPullNotFound {
		t.Fatalf("%v", got)
	}
	if d := time.Since(begin); d > 5*time.Second {
		t.Fatalf("took %v", d)
	}
	b.Stop(t) // a second time does nothing
}

// TestNothingAcknowledgedIsLostByClose sends until the broker is gone, then counts.
func TestNothingAcknowledgedIsLostByClose(t *testing.T) {
	dir := t.TempDir()
	b := brokertest.StartIn(t, dir)
	c := brokertest.Dial(t, b.Addr())
	var acked atomic.Int64
	for range 4 {
		go func() {
			for {
				r, err := c.Conn.Invoke(t.Context(), protocol.NewRequest(protocol.ReqSendMessageV2, brokertest.SendHeader("T", 0, ""), []byte("m")))
				if err != nil || r.Code != protocol.RespSuccess {
					return
				}
				acked.Add(1)
			}
		}()
	}
	brokertest.Until(t, "some are sent", func() error {
		if n := acked.Load(); n < 200 {
			return fmt.Errorf("%d are sent", n)
		}
		return nil
	})
	b.Stop(t)
	n := int(acked.Load())
	b = brokertest.StartIn(t, dir)
	if got := len(stored(t, brokertest.Dial(t, b.Addr()), "T", 0, n)); got < n {
		t.Fatalf("%d of %d are there", got, n)
	}
	if strings.Contains(b.Log(), "abnormal") {
		t.Errorf("the stop was not clean:\n%s", b.Log())
	}
}

func TestDirectoryIsLocked(t *testing.T) {
	dir := t.TempDir()
	brokertest.StartIn(t, dir)
	second, err := broker.New(brokertest.Options(dir))
	if err != nil {
		t.Fatal(err)
	}
	if err := second.Start(); !errors.Is(err, store.ErrLocked) {
		t.Fatal(err)
	}
	if err := second.Close(context.Background()); err != nil {
		t.Fatal(err)
	}
}

func TestPortInUse(t *testing.T) {
	b := brokertest.Start(t)
	o := brokertest.Options(t.TempDir())
	o.Server.ListenPort = int(b.Addr().Port())
	second, err := broker.New(o)
	if err != nil {
		t.Fatal(err)
	}
	if err := second.Start(); err == nil || !strings.Contains(err.Error(), "listen") {
		t.Fatal(err)
	}
	o.Server.ListenPort = 0 // the directory is free again
	third, err := broker.New(o)
	if err != nil {
		t.Fatal(err)
	}
	if err := third.Start(); err != nil {
		t.Fatal(err)
	}
	if err := third.Close(context.Background()); err != nil {
		t.Fatal(err)
	}
}

// TestStartsWithoutItsTables: topics.json and its backup are noise; topics that have messages come back.
func TestStartsWithoutItsTables(t *testing.T) {
	dir := t.TempDir()
	b := brokertest.StartIn(t, dir)
	c := brokertest.Dial(t, b.Addr())
	c.Send("Lost", 3, "", "m")
	stored(t, c, "Lost", 3, 1)
	b.Stop(t)
	for _, name := range []string{"topics.json", "topics.json.bak", "consumerOffset.json", "subscriptionGroup.json"} {
		if err := os.WriteFile(filepath.Join(dir, "config", name), []byte("\x00\x17{{"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	b = brokertest.StartIn(t, dir)
	c = brokertest.Dial(t, b.Addr())
	if m := stored(t, c, "Lost", 3, 1)[0]; string(m.Body) != "m" {
		t.Fatalf("%+v", m)
	}
	if !strings.Contains(b.Log(), "topic Lost is not in topics.json") {
		t.Errorf("log:\n%s", b.Log())
	}
}

func TestBadOptions(t *testing.T) {
	o := brokertest.Options(t.TempDir())
	o.Store.MessageDelayLevel = "1s 5x"
	if _, err := broker.New(o); err == nil || !strings.Contains(err.Error(), "messageDelayLevel") {
		t.Fatal(err)
	}
	o = brokertest.Options(t.TempDir())
	o.Broker.BrokerIP1 = "no such name.invalid"
	b, err := broker.New(o)
	if err != nil {
		t.Fatal(err)
	}
	if err := b.Start(); err == nil || !strings.Contains(err.Error(), "brokerIP1") {
		t.Fatal(err)
	}
}

func TestBrokerIP1MayBeAName(t *testing.T) {
	b := brokertest.Start(t, func(o *broker.Options) { o.Broker.BrokerIP1 = "localhost" })
	if !b.Self().Addr().IsLoopback() || b.Self().Port() != b.Addr().Port() {
		t.Fatal(b.Self())
	}
}
