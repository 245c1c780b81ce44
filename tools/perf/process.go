package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

const (
	startLimit = 2 * time.Minute
	stopLimit  = 30 * time.Second
	pollEvery  = time.Millisecond

	quietPeriod = 2 * time.Second
	quietLimit  = 3 * time.Minute
)

// process is a program that was started. What it prints is kept for the case that it fails.
type process struct {
	name string
	cmd  *exec.Cmd
	log  *os.File
	done chan struct{}
	err  error // of Wait; read after done
}

// start runs argv with its output in a file of dir. It is killed when this program dies.
func start(dir, name string, env []string, argv ...string) (*process, error) {
	log, err := os.OpenFile(filepath.Join(dir, name+".log"), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o644)
	if err != nil {
		return nil, err
	}
	p := &process{name: name, cmd: exec.Command(argv[0], argv[1:]...), log: log, done: make(chan struct{})}
	p.cmd.Stdout, p.cmd.Stderr, p.cmd.Dir = log, log, dir
	p.cmd.Env = append(os.Environ(), env...)
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := p.cmd.Start(); err != nil {
		return nil, errors.Join(err, log.Close())
	}
	go func() {
		p.err = p.cmd.Wait()
		log.Close()
		close(p.done)
	}()
	return p, nil
}

// listening waits until the process accepts connections on a port of 127.0.0.1.
func (p *process) listening(ctx context.Context, port int) error {
	return p.until(ctx, "listen on "+strconv.Itoa(port), func() bool {
		c, err := net.DialTimeout("tcp", loopback(port), time.Second)
		if err == nil {
			c.Close()
		}
		return err == nil
	})
}

// until polls, and gives up when the process ends or after a while.
func (p *process) until(ctx context.Context, what string, ok func() bool) error {
	ctx, cancel := context.WithTimeout(ctx, startLimit)
	defer cancel()
	for !ok() {
		select {
		case <-p.done:
			return fmt.Errorf("%s ended (%w) before it could %s:\n%s", p.name, p.err, what, p.tail())
		case <-ctx.Done():
			return fmt.Errorf("%s does not %s: %w\n%s", p.name, what, ctx.Err(), p.tail())
		case <-time.After(pollEvery):
		}
	}
	return nil
}

func (p *process) tail() string {
	b, err := os.ReadFile(p.log.Name())
	if err != nil {
		return err.Error()
	}
	return string(b[max(0, len(b)-2000):])
}

// stop sends SIGTERM and returns how long the process took to end.
func (p *process) stop() (time.Duration, error) {
	began := time.Now()
	if err := p.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		return 0, err
	}
	select {
	case <-p.done:
		if p.err != nil {
			return 0, fmt.Errorf("%s: %w\n%s", p.name, p.err, p.tail())
		}
		return time.Since(began), nil
	case <-time.After(stopLimit):
		p.kill()
		return 0, fmt.Errorf("%s still runs %v after SIGTERM", p.name, stopLimit)
	}
}

// kill ends the process with SIGKILL. It may have ended already.
func (p *process) kill() {
	p.cmd.Process.Kill() // fails only when it has ended
	<-p.done
}

// resident is the memory of the process that is in RAM, in bytes.
func (p *process) resident() (int64, error) {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", p.cmd.Process.Pid))
	if err != nil {
		return 0, err
	}
	for l := range bytes.Lines(b) {
		if f := strings.Fields(string(l)); len(f) == 3 && f[0] == "VmRSS:" {
			kb, err := strconv.ParseInt(f[1], 10, 64)
			return kb << 10, err
		}
	}
	return 0, fmt.Errorf("%s: no VmRSS: %w", p.name, io.ErrUnexpectedEOF)
}

// quiet waits until the process has used next to no processor time for a while, but not longer than quietLimit: work that it
// does in the background, such as making files, is none of what is measured next.
func (p *process) quiet(ctx context.Context) error {
	limit := time.Now().Add(quietLimit)
	for before := time.Duration(-time.Hour); ; {
		used, err := p.processorTime()
		if err != nil || used-before < quietPeriod/20 || time.Now().After(limit) {
			return err
		}
		before = used
		if err := settle(ctx, quietPeriod); err != nil {
			return err
		}
	}
}

func (p *process) processorTime() (time.Duration, error) {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", p.cmd.Process.Pid))
	if err != nil {
		return 0, err
	}
	f := strings.Fields(string(b[bytes.LastIndexByte(b, ')')+1:]))
	if len(f) < 13 {
		return 0, fmt.Errorf("%s: stat: %w", p.name, io.ErrUnexpectedEOF)
	}
	user, err1 := strconv.ParseInt(f[11], 10, 64)
	system, err2 := strconv.ParseInt(f[12], 10, 64)
	return time.Duration(user+system) * (time.Second / 100), errors.Join(err1, err2)
}

func loopback(port int) string { return net.JoinHostPort("127.0.0.1", strconv.Itoa(port)) }

// freePort returns p such that p-2 to p+1 are free now: a broker takes the fast port and the one for slaves too.
func freePort() (int, error) {
	for range 100 {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return 0, err
		}
		p := l.Addr().(*net.TCPAddr).Port
		l.Close()
		if p > 2000 && p < 65000 && isFree(p-2) && isFree(p) && isFree(p+1) {
			return p, nil
		}
	}
	return 0, errors.New("no free ports side by side")
}

func isFree(port int) bool {
	l, err := net.Listen("tcp", loopback(port))
	if err != nil {
		return false
	}
	l.Close()
	return true
}
