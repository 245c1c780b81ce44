package broker_test

import (
	"archive/tar"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/seedmq/seedmq/broker"
	"github.com/seedmq/seedmq/broker/brokertest"
	"github.com/seedmq/seedmq/remoting/protocol"
)

// goldenGroup popped in the stores of store/testdata; its name has as many characters as there may be.
var goldenGroup = "GoldenPop_" + strings.Repeat("abcdefghij", 11)

func unpackGolden(t *testing.T, name string) string {
	t.Helper()
	f, err := os.Open(filepath.Join("..", "store", "testdata", name+".tar.gz"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	for r := tar.NewReader(z); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			return dir
		}
		if err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(dir, strings.TrimPrefix(strings.TrimPrefix(h.Name, "./"), name+"/"))
		if h.Typeflag != tar.TypeReg {
			continue
		}
		text, err := io.ReadAll(r)
		if err == nil {
			err = errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, text, 0o644))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

// TestPopOfGoldenStores goes on with what Apache RocketMQ 5.5.0 left: its check points and acks agree, so nothing comes back, and what
// is popped anew of its messages does.
func TestPopOfGoldenStores(t *testing.T) {
	for _, name := range []string{"a-clean", "b-kill9"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := brokertest.StartIn(t, unpackGolden(t, name), func(o *broker.Options) {
				o.Broker.BrokerClusterName, o.Broker.BrokerName = "GoldenCluster", "broker-g"
				o.Store.MappedFileSizeCommitLog, o.Store.MappedFileSizeConsumeQueue, o.Store.MappedFileSizeTimerLog = 262_144, 6000, 52_000
			})
			c := newPopClient(t, b, "GoldenPop", goldenGroup)
			const revive = "rmq_sys_REVIVE_LOG_GoldenCluster"
			brokertest.Until(t, "the revive topic is done", func() error {
				for queue, want := range map[int32]int64{0: 8, 2: 1} {
					var h protocol.QueryConsumerOffsetResponseHeader
					c.Must(protocol.ReqQueryConsumerOffset, &protocol.QueryConsumerOffsetRequestHeader{ConsumerGroup: "CID_RMQ_SYS_REVIVE_GROUP", Topic: revive, QueueID: queue}, nil, &h)
					if h.Offset != want {
						return fmt.Errorf("queue %d at %d, want %d", queue, h.Offset, want)
					}
				}
				return nil
			})
			if list, _, r := c.pop(c.header(-1, time.Minute)); len(list) != 0 {
				t.Fatalf("%d messages come back, %d %s", len(list), r.Code, r.Remark)
			}
			c.group = "New" + goldenGroup[3:]
			list := c.popAll(6, time.Second)
			again := map[string]bool{}
			h := c.header(-1, time.Minute)
			h.PollTime = 10_000
			brokertest.Until(t, "what a new group popped", func() error {
				more, _, _ := c.pop(h)
				for i := range more {
					again[string(more[i].Body)] = true
					if more[i].ReconsumeTimes != 1 || more[i].Topic != "GoldenPop" {
						t.Fatalf("%+v", more[i].MessageView)
					}
				}
				if len(again) != len(list) {
					return fmt.Errorf("%d came back", len(again))
				}
				return nil
			})
		})
	}
}
