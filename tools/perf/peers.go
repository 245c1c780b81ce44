package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
)

// peers are what ours is measured beside, where the shared folder has it; "" is not there.
type peers struct {
	limit string // the floor under any broker
	load  string // the load generator for throughput, the same for all
	java  string // script that runs Apache RocketMQ
}

// findPeers builds what the shared folder has.
func findPeers(ctx context.Context, shared, dir string) (peers, error) {
	var p peers
	if _, err := os.Stat(filepath.Join(shared, "limit")); shared == "" || errors.Is(err, os.ErrNotExist) {
		return p, nil
	}
	for name, to := range map[string]*string{"limit": &p.limit, "mqload": &p.load} {
		*to = filepath.Join(dir, name)
		cmd := exec.CommandContext(ctx, "go", "build", "-buildvcs=false", "-o", *to, ".")
		cmd.Dir = filepath.Join(shared, name)
		if out, err := cmd.CombinedOutput(); err != nil {
			return peers{}, fmt.Errorf("build %s: %w\n%s", name, err, out)
		}
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

// contest is the servers that the throughput rows go to in turn.
type contest struct {
	e     *env
	ours  *server
	java  *server  // nil: not there
	limit *process // nil: not there
	ports map[string]int
}

// newPair starts ours, and Java's where it is there, with the same lines in their configurations.
func newPair(ctx context.Context, e *env, conf string) (c *contest, err error) {
	c = &contest{e: e, ports: map[string]int{}}
	defer func() {
		if err != nil {
			c.close()
		}
	}()
	if c.ours, err = newServer(e.bin, e.dir, "ours", conf); err != nil {
		return c, err
	}
	if _, err = c.ours.start(ctx); err != nil {
		return c, err
	}
	c.ports["ours"] = c.ours.port
	if e.java == "" {
		return c, nil
	}
	if c.java, err = newServer("", e.dir, "java", conf); err != nil {
		return c, err
	}
	if err = c.startJava(ctx); err == nil {
		c.ports["java"] = c.java.port
	}
	return c, err
}

// newContest is a pair and the limit.
func newContest(ctx context.Context, e *env, flush string) (*contest, error) {
	c, err := newPair(ctx, e, "flushDiskType="+flush)
	if err == nil && e.limit != "" {
		if err = c.startLimit(ctx, flush); err != nil {
			c.close()
		}
	}
	return c, err
}

func (c *contest) startJava(ctx context.Context) (err error) {
	s := c.java
	home := []string{"RMQ_HOME=" + s.dir}
	if s.namesrv, err = start(s.dir, "namesrv", home, c.e.java, "namesrv", "-c", filepath.Join(s.dir, "namesrv.conf")); err != nil {
		return err
	}
	if err := s.namesrv.listening(ctx, s.nsPort); err != nil {
		return err
	}
	if s.broker, err = start(s.dir, "broker", home, c.e.java, "broker", "-c", s.conf); err != nil {
		return err
	}
	return s.broker.listening(ctx, s.port)
}

func (c *contest) startLimit(ctx context.Context, flush string) error {
	port, err := freePort()
	if err != nil {
		return err
	}
	argv := []string{c.e.limit, "-addr", loopback(port), "-file", filepath.Join(c.e.dir, "ring")}
	if flush == "SYNC_FLUSH" {
		argv = append(argv, "-sync")
	}
	if c.limit, err = start(c.e.dir, "limit", nil, argv...); err != nil {
		return err
	}
	c.ports["limit"] = port
	return c.limit.listening(ctx, port)
}

func (c *contest) close() {
	for _, s := range []*server{c.ours, c.java} {
		if s != nil {
			s.close()
		}
	}
	if c.limit != nil {
		c.limit.kill()
	}
}

// load runs the shared generator against one server. Its last line is key=value pairs; it fails when there were errors,
// which its line tells too.
func (c *contest) load(ctx context.Context, who, mode string, args ...string) (figures, error) {
	argv := append([]string{mode, "-addr", loopback(c.ports[who]), "-secs", strconv.Itoa(max(1, int(c.e.secs.Seconds())))}, args...)
	out, err := exec.CommandContext(ctx, c.e.peers.load, argv...).Output()
	lines := strings.Split(strings.TrimSpace(string(out)), "\n")
	f := figures{}
	found := 0
	for _, field := range strings.Fields(lines[len(lines)-1]) {
		key, value, _ := strings.Cut(field, "=")
		to := map[string]*float64{"rate": &f.rate, "p50_ms": &f.p50, "p99_ms": &f.p99}[key]
		if to == nil {
			if key == "errors" {
				f.errors, _ = strconv.ParseInt(value, 10, 64) // found counts what matters
			}
			continue
		}
		if *to, err = strconv.ParseFloat(value, 64); err != nil {
			return f, fmt.Errorf("mqload %s: %q: %w", mode, field, err)
		}
		found++
	}
	if found < 3 {
		return f, fmt.Errorf("mqload %s against %s: %w: %q", mode, who, err, out)
	}
	return f, nil
}
