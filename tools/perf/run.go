package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"time"
)

const defaultTime = 5 * time.Second

// options are the command line.
type options struct {
	dir, shared, bin string
	only             *regexp.Regexp
	size             float64
	rounds           int
	secs             time.Duration
}

// env is what rows have in common.
type env struct {
	*options
	peers // empty without the shared folder
}

// row measures one thing, or a few that need the same preparation.
type row struct {
	name string
	run  func(ctx context.Context, e *env) ([]line, error)
}

func rows() []row {
	return []row{
		{"throughput", throughput}, {"throughput-sync", throughputSync}, {"e2e", endToEnd},
		{"idle", idle}, {"topics", manyTopics}, {"queues", manyQueues}, {"big", bigStore},
		{"cold", coldConsumer}, {"connections", connections}, {"stop", stops},
		{"transactions", transactions}, {"pop", pops}, {"sql", sqlFilter}, {"timers", timers},
	}
}

// run prints the table and returns how many bars were missed.
func run(ctx context.Context, o *options) (missed int, err error) {
	dir, err := os.MkdirTemp(o.dir, "seedmq-perf-")
	if err != nil {
		return 0, err
	}
	defer os.RemoveAll(dir)
	o.dir = dir
	e := &env{options: o}
	if e.bin == "" {
		if e.bin, err = build(ctx, dir); err != nil {
			return 0, err
		}
	}
	if e.peers, err = findPeers(ctx, o.shared, dir); err != nil {
		return 0, err
	}
	fmt.Println(machine())
	fmt.Println()
	printHead(os.Stdout)
	for _, r := range rows() {
		if !o.only.MatchString(r.name) {
			continue
		}
		lines, err := r.run(ctx, e)
		if err != nil {
			return missed, fmt.Errorf("%s: %w", r.name, err)
		}
		for _, l := range lines {
			if l.print(os.Stdout); l.met == miss {
				missed++
			}
		}
	}
	return missed, nil
}

// build makes our programs from the module in the working directory.
func build(ctx context.Context, dir string) (string, error) {
	bin := filepath.Join(dir, "bin")
	if err := os.Mkdir(bin, 0o755); err != nil {
		return "", err
	}
	out, err := exec.CommandContext(ctx, "go", "build", "-o", bin+"/", "./bin/mqbroker", "./bin/mqnamesrv").CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("go build: %w\n%s", err, out)
	}
	return bin, nil
}

// scaled is n times the size asked for, at least 1.
func (e *env) scaled(n int) int { return max(1, int(float64(n)*e.size)) }

// with runs fn on a fresh server, and removes it.
func (e *env) with(ctx context.Context, extra string, fn func(s *server, started time.Duration) error) error {
	s, err := newServer(e.bin, e.dir, "ours", extra)
	if err != nil {
		return err
	}
	defer s.close()
	took, err := s.start(ctx)
	if err != nil {
		return err
	}
	if err = fn(s, took); err != nil && s.broker != nil {
		err = fmt.Errorf("%w\nthe broker said:\n%s", err, s.broker.tail())
	}
	return err
}
