package broker_test

import (
	"fmt"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/seedmq/seedmq/broker"
	"github.com/seedmq/seedmq/broker/brokertest"
	"github.com/seedmq/seedmq/remoting/protocol"
	"github.com/seedmq/seedmq/store/fs"
)

// onMem runs a broker on a file system in memory whose faults the test decides.
func onMem(t *testing.T, flush string, hook func(fs.Op) fs.Fault) *brokertest.Broker {
	t.Helper()
	mem := fs.NewMem(nil)
	b := brokertest.StartIn(t, "/store", func(o *broker.Options) {
		o.FS, o.Store.FlushDiskType = mem, flush
	})
	b.Broken = true
	mem.SetHook(hook)
	return b
}

func send(c *brokertest.Client, body string) *protocol.Command {
	return c.Call(protocol.ReqSendMessageV2, brokertest.SendHeader("BenchmarkTest", 0, "WAIT\x01true\x02"), []byte(body))
}

// TestDiskErrorIsSaid: after a write error messages are refused with the reason, and reads go on.
func TestDiskErrorIsSaid(t *testing.T) {
	var broken atomic.Bool
	b := onMem(t, "ASYNC_FLUSH", func(op fs.Op) fs.Fault {
		if broken.Load() && op.Kind == fs.OpWrite && strings.Contains(op.Name, "commitlog") {
			return fs.Fault{Err: syscall.EIO}
		}
		return fs.Fault{}
	})
	c := brokertest.Dial(t, b.Addr())
	if r := send(c, "before"); r.Code != protocol.RespSuccess {
		t.Fatal(r.Code, r.Remark)
	}
	stored(t, c, "BenchmarkTest", 0, 1)
	broken.Store(true)
	for range 2 { // the second finds the store read-only
		if r := send(c, "lost"); r.Code != protocol.RespServiceNotAvailable || !strings.Contains(r.Remark, "input/output error") {
			t.Fatalf("code %d %q", r.Code, r.Remark)
		}
	}
	if ms := stored(t, c, "BenchmarkTest", 0, 1); len(ms) != 1 || string(ms[0].Body) != "before" {
		t.Fatal("reads stopped", ms)
	}
}

// TestFailedSyncIsNotAcknowledged: under sync flush nothing is acknowledged once a sync failed.
func TestFailedSyncIsNotAcknowledged(t *testing.T) {
	var broken atomic.Bool
	b := onMem(t, "SYNC_FLUSH", func(op fs.Op) fs.Fault {
		if broken.Load() && op.Kind == fs.OpSync && strings.Contains(op.Name, "commitlog") {
			return fs.Fault{Err: syscall.EIO}
		}
		return fs.Fault{}
	})
	c := brokertest.Dial(t, b.Addr())
	if r := send(c, "before"); r.Code != protocol.RespSuccess {
		t.Fatal(r.Code, r.Remark)
	}
	broken.Store(true)
	if r := send(c, "unsafe"); r.Code == protocol.RespSuccess {
		t.Fatal("acknowledged although the sync failed")
	}
	broken.Store(false)
	brokertest.Until(t, "the store is read-only", func() error {
		if r := send(c, "after"); r.Code != protocol.RespServiceNotAvailable {
			return fmt.Errorf("code %d %s", r.Code, r.Remark)
		}
		return nil
	})
}

// TestTopicThatCannotBeSavedIsNotMade: the sender is told, for a topic that is gone after a restart loses its messages.
func TestTopicThatCannotBeSavedIsNotMade(t *testing.T) {
	b := onMem(t, "ASYNC_FLUSH", func(op fs.Op) fs.Fault {
		if op.Kind == fs.OpWrite && strings.Contains(op.Name, "topics.json") {
			return fs.Fault{Err: syscall.ENOSPC}
		}
		return fs.Fault{}
	})
	c := brokertest.Dial(t, b.Addr())
	r := c.Call(protocol.ReqSendMessageV2, brokertest.SendHeader("New", 0, ""), nil)
	if r.Code != protocol.RespSystemError || !strings.Contains(r.Remark, "no space left") {
		t.Fatalf("code %d %q", r.Code, r.Remark)
	}
}
