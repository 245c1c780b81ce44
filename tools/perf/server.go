package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/seedmq/seedmq/client/admin"
	"github.com/seedmq/seedmq/conf/clock"
	"github.com/seedmq/seedmq/remoting/protocol"
	"github.com/seedmq/seedmq/tools/bench"
)

// server is a NameServer and a broker over a data folder that outlives them.
type server struct {
	bin, dir, conf  string
	name            string // of the broker
	nsPort, port    int
	namesrv, broker *process
	admin           *admin.Client
}

// newServer makes the folder and the configuration. Nothing runs yet.
func newServer(bin, root, name, extra string) (*server, error) {
	s := &server{bin: bin, name: name, dir: filepath.Join(root, name)}
	if err := os.MkdirAll(s.dir, 0o755); err != nil {
		return nil, err
	}
	var err error
	if s.nsPort, err = freePort(); err != nil {
		return nil, err
	}
	if s.port, err = freePort(); err != nil {
		return nil, err
	}
	s.admin = bench.Admin([]string{loopback(s.nsPort)}, clock.Real{})
	s.conf = filepath.Join(s.dir, "broker.conf")
	err = os.WriteFile(filepath.Join(s.dir, "namesrv.conf"), fmt.Appendf(nil, "listenPort=%d\nbindAddress=127.0.0.1\nkvConfigPath=%s/kv.json\n", s.nsPort, s.dir), 0o644)
	return s, errors.Join(err, os.WriteFile(s.conf, fmt.Appendf(nil, `brokerClusterName=Perf
brokerName=%s
brokerId=0
namesrvAddr=127.0.0.1:%d
brokerIP1=127.0.0.1
bindAddress=127.0.0.1
listenPort=%d
haListenPort=%d
storePathRootDir=%s/store
storePathCommitLog=%s/store/commitlog
brokerRole=ASYNC_MASTER
%s
`, name, s.nsPort, s.port, s.port+1, s.dir, s.dir, extra), 0o644))
}

func (s *server) addr() string { return loopback(s.port) }

// start starts what does not run, and returns how long it took until the broker was known to the NameServer.
func (s *server) start(ctx context.Context) (time.Duration, error) {
	if s.namesrv == nil {
		var err error
		if s.namesrv, err = start(s.dir, "namesrv", nil, filepath.Join(s.bin, "mqnamesrv"), "-c", filepath.Join(s.dir, "namesrv.conf")); err != nil {
			return 0, err
		}
		if err := s.namesrv.listening(ctx, s.nsPort); err != nil {
			return 0, err
		}
	}
	began := time.Now()
	var err error
	if s.broker, err = start(s.dir, "broker", nil, filepath.Join(s.bin, "mqbroker"), "-c", s.conf); err != nil {
		return 0, err
	}
	if err := s.broker.listening(ctx, s.port); err != nil {
		return 0, err
	}
	err = s.broker.until(ctx, "register", func() bool { return s.registered(ctx) })
	return time.Since(began), err
}

func (s *server) registered(ctx context.Context) bool {
	info, err := s.admin.Cluster(ctx)
	return err == nil && len(info.BrokerAddrTable) > 0
}

// stopBroker is a clean stop of the broker alone.
func (s *server) stopBroker() (time.Duration, error) {
	d, err := s.broker.stop()
	if err == nil {
		err = s.forget()
	}
	return d, err
}

// killBroker is kill -9.
func (s *server) killBroker() error {
	s.broker.kill()
	return s.forget()
}

// forget stops the NameServer too, so that the next start is seen to register.
func (s *server) forget() error {
	s.namesrv.kill()
	s.namesrv = nil
	return nil
}

// close ends what runs and removes all data.
func (s *server) close() {
	for _, p := range []*process{s.broker, s.namesrv} {
		if p != nil {
			p.kill()
		}
	}
	if err := os.RemoveAll(s.dir); err != nil {
		fmt.Fprintln(os.Stderr, "perf:", err)
	}
}

const topicsAtOnce = 500

// createTopics makes n topics (see topicName) with 8 queues each.
func (s *server) createTopics(ctx context.Context, prefix string, n int) error {
	for from := 0; from < n; from += topicsAtOnce {
		var list []protocol.TopicConfig
		for i := from; i < min(from+topicsAtOnce, n); i++ {
			t := protocol.NewTopicConfig(topicName(prefix, i))
			t.ReadQueueNums, t.WriteQueueNums = queues, queues
			list = append(list, t)
		}
		if err := s.admin.UpdateTopics(ctx, s.addr(), list); err != nil {
			return fmt.Errorf("create topics: %w", err)
		}
	}
	return nil
}

// storeFiles lists the files of the store.
func (s *server) storeFiles() ([]string, error) {
	var out []string
	err := filepath.WalkDir(filepath.Join(s.dir, "store"), func(path string, d os.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() && !strings.HasSuffix(path, "lock") {
			out = append(out, path)
		}
		return err
	})
	return out, err
}
