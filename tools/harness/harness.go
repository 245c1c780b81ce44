// Package harness starts the product's programs as their users do, for the black-box tests of stock clients.
// It builds the binaries once per test run and gives every process its own ports and folder.
package harness

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

var build struct {
	sync.Once
	dir string
	err error
}

// Root is the top folder of the project.
func Root(t testing.TB) string {
	t.Helper()
	dir, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	for ; ; dir = filepath.Dir(dir) {
		if b, err := os.ReadFile(filepath.Join(dir, "go.mod")); err == nil && bytes.Contains(b, []byte("module github.com/seedmq/seedmq\n")) {
			return dir
		}
		if dir == filepath.Dir(dir) {
			t.Fatal("no go.mod of the product above the test")
		}
	}
}

// Bin is the folder with the freshly built programs.
func Bin(t testing.TB) string {
	t.Helper()
	root := Root(t)
	build.Do(func() {
		build.dir, build.err = os.MkdirTemp("", "seedmq-bin")
		if build.err != nil {
			return
		}
		cmd := exec.Command("go", "build", "-o", build.dir+"/", "./bin/...")
		cmd.Dir = root
		if out, err := cmd.CombinedOutput(); err != nil {
			build.err = fmt.Errorf("go build ./bin/...: %w\n%s", err, out)
		}
	})
	if build.err != nil {
		t.Fatal(build.err)
	}
	return build.dir
}

// Cleanup removes the built programs; call it at the end of TestMain.
func Cleanup() {
	if build.dir != "" {
		os.RemoveAll(build.dir)
	}
}

// Ports finds a base port such that base-2 (fast port), base, base+1 (HA) are free now.
func Ports(t testing.TB) int {
	t.Helper()
	for range 50 {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		base := l.Addr().(*net.TCPAddr).Port
		l.Close()
		if base < 2000 || base > 65000 {
			continue
		}
		free := true
		for _, p := range []int{base - 2, base, base + 1} {
			l, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", p))
			if err != nil {
				free = false
				break
			}
			l.Close()
		}
		if free {
			return base
		}
	}
	t.Fatal("no three free ports side by side")
	return 0
}

// Process is a program under test. Its output is kept and printed when the test fails.
type Process struct {
	Name string
	cmd  *exec.Cmd
	out  syncBuffer
	done chan struct{}
	err  error
}

type syncBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (s *syncBuffer) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.Write(p)
}

func (s *syncBuffer) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.String()
}

// Start runs a program until the end of the test, or until Stop or Kill.
func Start(t testing.TB, name string, argv ...string) *Process {
	t.Helper()
	return StartEnv(t, nil, name, argv...)
}

// StartEnv is Start with additional environment entries.
func StartEnv(t testing.TB, env []string, name string, argv ...string) *Process {
	t.Helper()
	p := &Process{Name: name, done: make(chan struct{})}
	p.cmd = exec.Command(argv[0], argv[1:]...)
	p.cmd.Env = append(os.Environ(), env...)
	p.cmd.Stdout, p.cmd.Stderr = &p.out, &p.out
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := p.cmd.Start(); err != nil {
		t.Fatalf("start %s: %v", name, err)
	}
	go func() {
		p.err = p.cmd.Wait()
		close(p.done)
	}()
	t.Cleanup(func() {
		p.Kill()
		if t.Failed() {
			t.Logf("output of %s:\n%s", name, tail(p.out.String(), 60))
		}
	})
	return p
}

func tail(s string, n int) string {
	lines := strings.Split(s, "\n")
	if len(lines) > n {
		lines = lines[len(lines)-n:]
	}
	return strings.Join(lines, "\n")
}

// Output is what the program has printed so far.
func (p *Process) Output() string { return p.out.String() }

// Kill ends the process with SIGKILL and waits for it.
func (p *Process) Kill() {
	p.cmd.Process.Kill()
	<-p.done
}

// Stop sends SIGTERM and waits at most d; it reports the exit error.
func (p *Process) Stop(t testing.TB, d time.Duration) error {
	t.Helper()
	p.cmd.Process.Signal(syscall.SIGTERM)
	select {
	case <-p.done:
		return p.err
	case <-time.After(d):
		t.Fatalf("%s still runs %v after SIGTERM", p.Name, d)
		return nil
	}
}

// Ended waits at most d for the process to end by itself.
func (p *Process) Ended(d time.Duration) bool {
	select {
	case <-p.done:
		return true
	case <-time.After(d):
		return false
	}
}

// Pid is the process id.
func (p *Process) Pid() int { return p.cmd.Process.Pid }

// WaitPort waits until something listens on the loopback port, or the process ends.
func (p *Process) WaitPort(t testing.TB, port int) {
	t.Helper()
	deadline := time.Now().Add(60 * time.Second)
	for time.Now().Before(deadline) {
		c, err := net.DialTimeout("tcp", fmt.Sprintf("127.0.0.1:%d", port), time.Second)
		if err == nil {
			c.Close()
			return
		}
		select {
		case <-p.done:
			t.Fatalf("%s ended before it listened on %d: %v\n%s", p.Name, port, p.err, tail(p.out.String(), 60))
		case <-time.After(20 * time.Millisecond):
		}
	}
	t.Fatalf("%s does not listen on %d\n%s", p.Name, port, tail(p.out.String(), 60))
}

// Eventually polls cond until it returns "" and fails with its last reason after d.
func Eventually(t testing.TB, d time.Duration, cond func() string) {
	t.Helper()
	deadline := time.Now().Add(d)
	for {
		why := cond()
		if why == "" {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("not within %v: %s", d, why)
		}
		time.Sleep(50 * time.Millisecond)
	}
}

// Server is a NameServer and a broker, ours or not.
type Server struct {
	Namesrv string // host:port
	Broker  string // host:port
	Data    string
	Proc    *Process
}

// FastRetryConf are broker.conf lines that make delays and retries quick: every level is one second.
const FastRetryConf = "messageDelayLevel=1s 1s 1s 1s 1s 1s 1s 1s 1s 1s 1s 1s 1s 1s 1s 1s 1s 1s\n"

// MQServer starts mqserver on free ports with extra configuration lines.
func MQServer(t testing.TB, conf string) *Server {
	t.Helper()
	s := &Server{Data: t.TempDir()}
	ns, br := Ports(t), Ports(t)
	s.Namesrv, s.Broker = addr(ns), addr(br)
	args := []string{filepath.Join(Bin(t), "mqserver"), "--data", s.Data, "--namesrv-port", fmt.Sprint(ns), "--broker-port", fmt.Sprint(br)}
	if conf != "" {
		f := filepath.Join(t.TempDir(), "broker.conf")
		if err := os.WriteFile(f, []byte(conf), 0o600); err != nil {
			t.Fatal(err)
		}
		args = append(args, "--config", f)
	}
	s.Proc = Start(t, "mqserver", args...)
	s.Proc.WaitPort(t, ns)
	s.Proc.WaitPort(t, br)
	s.waitRoute(t)
	return s
}

func addr(port int) string { return fmt.Sprintf("127.0.0.1:%d", port) }

// waitRoute waits until the broker is known to the NameServer.
func (s *Server) waitRoute(t testing.TB) {
	t.Helper()
	Eventually(t, 60*time.Second, func() string {
		out, _ := Admin(t, s, "clusterList")
		if strings.Contains(out, s.Broker) {
			return ""
		}
		return "clusterList does not show the broker:\n" + out
	})
}

// Admin runs our mqadmin against s.
func Admin(t testing.TB, s *Server, args ...string) (string, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	args = append(args, "-n", s.Namesrv)
	cmd := exec.CommandContext(ctx, filepath.Join(Bin(t), "mqadmin"), args...)
	cmd.Dir = os.TempDir() // some commands write files where they are
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// MustAdmin is Admin that fails the test unless the output has want in it.
func MustAdmin(t testing.TB, s *Server, want string, args ...string) string {
	t.Helper()
	out, err := Admin(t, s, args...)
	if err != nil || !strings.Contains(out, want) {
		t.Fatalf("mqadmin %s: %v, want %q in\n%s", strings.Join(args, " "), err, want, out)
	}
	return out
}

// CreateTopic makes a topic with queues queues and waits for its route.
func CreateTopic(t testing.TB, s *Server, topic string, queues int) {
	t.Helper()
	q := fmt.Sprint(queues)
	MustAdmin(t, s, "success", "updateTopic", "-b", s.Broker, "-t", topic, "-r", q, "-w", q)
	Eventually(t, 10*time.Second, func() string {
		out, _ := Admin(t, s, "topicRoute", "-t", topic)
		if strings.Contains(out, `"queueDatas"`) {
			return ""
		}
		return out
	})
}

// Namesrv starts our mqnamesrv.
func Namesrv(t testing.TB) *Server {
	t.Helper()
	port := Ports(t)
	dir := t.TempDir()
	f := filepath.Join(dir, "namesrv.conf")
	conf := fmt.Sprintf("listenPort=%d\nbindAddress=127.0.0.1\nkvConfigPath=%s/kv.json\nconfigStorePath=%s/namesrv.properties\n", port, dir, dir)
	if err := os.WriteFile(f, []byte(conf), 0o600); err != nil {
		t.Fatal(err)
	}
	s := &Server{Namesrv: addr(port), Data: dir}
	s.Proc = Start(t, "mqnamesrv", filepath.Join(Bin(t), "mqnamesrv"), "-c", f)
	s.Proc.WaitPort(t, port)
	return s
}

// RestartNamesrv starts a NameServer of Namesrv that has ended again, on the same port.
func (s *Server) RestartNamesrv(t testing.TB) {
	t.Helper()
	s.Proc = Start(t, s.Proc.Name, s.Proc.cmd.Args...)
	_, port, _ := net.SplitHostPort(s.Namesrv)
	n, err := strconv.Atoi(port)
	if err != nil {
		t.Fatal(err)
	}
	s.Proc.WaitPort(t, n)
}

// BrokerConf is the configuration of a broker in dir, for ours and for Java alike.
func BrokerConf(dir, namesrv string, port int, extra string) string {
	return fmt.Sprintf(`brokerClusterName=DefaultCluster
brokerName=broker-a
brokerId=0
namesrvAddr=%s
brokerIP1=127.0.0.1
bindAddress=127.0.0.1
listenPort=%d
haListenPort=%d
storePathRootDir=%s/store
storePathCommitLog=%s/store/commitlog
mappedFileSizeCommitLog=134217728
brokerRole=ASYNC_MASTER
flushDiskType=ASYNC_FLUSH
%s`, namesrv, port, port+1, dir, dir, extra)
}

// Broker starts our mqbroker on dir, registered with namesrv.
func Broker(t testing.TB, dir, namesrv, extra string) *Server {
	t.Helper()
	s, port := startBroker(t, dir, namesrv, extra)
	s.Proc.WaitPort(t, port)
	s.waitRoute(t)
	return s
}

func startBroker(t testing.TB, dir, namesrv, extra string) (s *Server, port int) {
	t.Helper()
	port = Ports(t)
	f := filepath.Join(t.TempDir(), "broker.conf")
	if err := os.WriteFile(f, []byte(BrokerConf(dir, namesrv, port, extra)), 0o600); err != nil {
		t.Fatal(err)
	}
	s = &Server{Namesrv: namesrv, Broker: addr(port), Data: dir}
	s.Proc = Start(t, "mqbroker", filepath.Join(Bin(t), "mqbroker"), "-c", f)
	return s, port
}

// Lines splits a reader into lines.
func Lines(r io.Reader) []string {
	var out []string
	sc := bufio.NewScanner(r)
	sc.Buffer(nil, 1<<20)
	for sc.Scan() {
		out = append(out, sc.Text())
	}
	return out
}
