package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// peers are what ours is measured beside.
type peers struct {
	limit string // program; "" when not there
	java  string // script that runs Apache RocketMQ; "" when not there
}

// findPeers builds what the shared folder has. Without it only ours is measured.
func findPeers(ctx context.Context, shared, dir string) (peers, error) {
	var p peers
	if shared == "" {
		return p, nil
	}
	src := filepath.Join(shared, "limit")
	if _, err := os.Stat(src); errors.Is(err, os.ErrNotExist) {
		return p, nil
	}
	p.limit = filepath.Join(dir, "limit")
	cmd := exec.CommandContext(ctx, "go", "build", "-buildvcs=false", "-o", p.limit, ".")
	cmd.Dir = src
	if out, err := cmd.CombinedOutput(); err != nil {
		return peers{}, fmt.Errorf("build limit: %w\n%s", err, out)
	}
	script, err := filepath.Abs(filepath.Join(shared, "java", "rocketmq.sh"))
	if err != nil {
		return peers{}, err
	}
	if _, err := exec.LookPath("java"); err != nil {
		return p, nil //nolint:nilerr // measured without
	}
	if out, err := exec.CommandContext(ctx, script, "setup").CombinedOutput(); err != nil {
		fmt.Fprintf(os.Stderr, "perf: without Java: %v\n%s", err, strings.TrimSpace(string(out)))
		return p, nil
	}
	p.java = script
	return p, nil
}

func throughput(ctx context.Context, e *env) ([]line, error)     { return nil, nil }
func throughputSync(ctx context.Context, e *env) ([]line, error) { return nil, nil }
