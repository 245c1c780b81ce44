package bin_test

import (
	"bufio"
	"bytes"
	"debug/elf"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// binDir has the programs, built once as the Makefile builds them.
var binDir string

func TestMain(m *testing.M) {
	dir, err := os.MkdirTemp("", "seedmq-programs")
	if err != nil {
		panic(err)
	}
	build := exec.Command("go", "build", "-ldflags", "-X github.com/seedmq/seedmq/bin/internal/proc.Version=v9.9.9-test", "-o", dir+"/", "./...")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		fmt.Printf("go build: %v\n%s", err, out)
		os.Exit(1)
	}
	binDir = dir
	code := m.Run()
	os.RemoveAll(dir)
	os.Exit(code)
}

// process is a started program with what it has printed.
type process struct {
	t    *testing.T
	cmd  *exec.Cmd
	mu   sync.Mutex
	out  bytes.Buffer // stdout
	err  bytes.Buffer // stderr
	line chan struct{}
	done chan error
}

// environ is the test's environment without what the programs read, with a home of its own.
func environ(t *testing.T) []string {
	env := []string{"HOME=" + t.TempDir()}
	for _, e := range os.Environ() {
		if k, _, _ := strings.Cut(e, "="); k != "HOME" && k != "NAMESRV_ADDR" && k != "ROCKETMQ_HOME" {
			env = append(env, e)
		}
	}
	return env
}

func launch(t *testing.T, name string, args ...string) *process {
	t.Helper()
	p := &process{t: t, cmd: exec.Command(filepath.Join(binDir, name), args...), line: make(chan struct{}, 1), done: make(chan error, 1)}
	p.cmd.Env, p.cmd.Dir = environ(t), t.TempDir()
	stdout, err1 := p.cmd.StdoutPipe()
	stderr, err2 := p.cmd.StderrPipe()
	if err := errors.Join(err1, err2, p.cmd.Start()); err != nil {
		t.Fatal(err)
	}
	var readers sync.WaitGroup
	readers.Go(func() { p.read(bufio.NewScanner(stdout), &p.out) })
	readers.Go(func() { p.read(bufio.NewScanner(stderr), &p.err) })
	go func() {
		readers.Wait()
		p.done <- p.cmd.Wait()
	}()
	t.Cleanup(func() {
		p.cmd.Process.Kill()
		if t.Failed() {
			t.Logf("%s printed\n%s\n%s", name, p.stdout(), p.stderr())
		}
	})
	return p
}

func (p *process) read(lines *bufio.Scanner, into *bytes.Buffer) {
	for lines.Scan() {
		p.mu.Lock()
		fmt.Fprintln(into, lines.Text())
		p.mu.Unlock()
		select {
		case p.line <- struct{}{}:
		default:
		}
	}
}

func (p *process) stdout() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.out.String()
}

func (p *process) stderr() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.err.String()
}

// waitFor waits until text is in what of returns.
func (p *process) waitFor(of func() string, text string) {
	p.t.Helper()
	late := time.After(20 * time.Second)
	for !strings.Contains(of(), text) {
		select {
		case <-p.line:
		case err := <-p.done:
			p.done <- err
			if !strings.Contains(of(), text) {
				p.t.Fatalf("ended (%v) before it printed %q", err, text)
			}
		case <-late:
			p.t.Fatalf("did not print %q", text)
		}
	}
}

// waitMore waits for a further line.
func (p *process) waitMore() {
	p.t.Helper()
	select {
	case <-p.line:
	case err := <-p.done:
		p.done <- err
		p.t.Fatalf("ended: %v", err)
	case <-time.After(20 * time.Second):
		p.t.Fatal("prints nothing more")
	}
}

// stop sends SIGTERM and wants exit status 0 within five seconds.
func (p *process) stop() {
	p.t.Helper()
	if err := p.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		p.t.Fatal(err)
	}
	select {
	case err := <-p.done:
		if err != nil {
			p.t.Fatalf("after SIGTERM: %v", err)
		}
	case <-time.After(5 * time.Second):
		p.t.Fatal("still runs 5 s after SIGTERM")
	}
}

// execute runs a program to its end.
func execute(t *testing.T, name string, args ...string) (status int, stdout, stderr string) {
	t.Helper()
	cmd := exec.Command(filepath.Join(binDir, name), args...)
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr, cmd.Env, cmd.Dir = &out, &errs, environ(t), t.TempDir()
	kill := time.AfterFunc(20*time.Second, func() { cmd.Process.Kill() })
	defer kill.Stop()
	err := cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	return cmd.ProcessState.ExitCode(), out.String(), errs.String()
}

func writeFile(t *testing.T, name, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// ownPlace are configuration lines that keep a server away from others: any port, loopback, a folder of its own.
func ownPlace(t *testing.T) string {
	dir := t.TempDir()
	return fmt.Sprintf("\nlistenPort=0\nbindAddress=127.0.0.1\nstorePathRootDir=%s/store\n", dir)
}

func TestEverySampleFileStarts(t *testing.T) {
	files, err := filepath.Glob("../conf/*.conf")
	if err != nil || len(files) < 3 {
		t.Fatalf("samples: %v, %v", files, err)
	}
	for _, sample := range files {
		t.Run(filepath.Base(sample), func(t *testing.T) {
			t.Parallel()
			text, err := os.ReadFile(sample)
			if err != nil {
				t.Fatal(err)
			}
			program, place := "mqbroker", ownPlace(t)
			if strings.HasPrefix(filepath.Base(sample), "namesrv") {
				program = "mqnamesrv"
				place = "\nlistenPort=0\nbindAddress=127.0.0.1\n"
			}
			p := launch(t, program, "-c", writeFile(t, "sample.conf", string(text)+place))
			p.waitFor(p.stdout, "boot success")
			for line := range strings.SplitSeq(p.stderr(), "\n") {
				if strings.Contains(line, "level=warn") && !strings.Contains(line, "given again") {
					t.Errorf("a sample file must not warn: %s", line)
				}
			}
			p.stop()
		})
	}
}

func TestBootLines(t *testing.T) {
	ns := launch(t, "mqnamesrv", "-c", writeFile(t, "ns.conf", "listenPort=0\nbindAddress=127.0.0.1\n"))
	ns.waitFor(ns.stdout, "boot success")
	m := regexp.MustCompile(`(?m)\Aload config properties file OK, \S+/ns\.conf\nThe Name Server boot success\. serializeType=JSON, address (127\.0\.0\.1:\d+)\n\z`).FindStringSubmatch(ns.stdout())
	if m == nil {
		t.Fatalf("mqnamesrv prints %q", ns.stdout())
	}
	b := launch(t, "mqbroker", "-n", m[1], "-c", writeFile(t, "b.conf", "brokerName=broker-a\nbrokerIP1=192.0.2.10\nnamesrvAddr=203.0.113.1:1\n"+ownPlace(t)))
	b.waitFor(b.stdout, "boot success")
	want := regexp.MustCompile(`\AThe broker\[broker-a, 192\.0\.2\.10:\d+\] boot success\. serializeType=JSON and name server is ` + regexp.QuoteMeta(m[1]) + `\n\z`)
	if !want.MatchString(b.stdout()) {
		t.Errorf("mqbroker prints %q", b.stdout())
	}
	b.stop()
	ns.stop()
}

func TestExitStatus(t *testing.T) {
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	_, port, _ := net.SplitHostPort(taken.Addr().String())
	file := func(text string) string { return writeFile(t, "x.conf", text) }
	for _, tt := range []struct {
		args   string
		status int
		want   string // in stdout or stderr
	}{
		{"mqbroker -h", 0, "usage: mqbroker"},
		{"mqnamesrv --help", 0, "usage: mqnamesrv"},
		{"mqserver -h", 0, "--namesrv-port <arg>"},
		{"mqbroker --version", 0, "mqbroker v9.9.9-test"},
		{"mqnamesrv --nope", 1, "Unrecognized option: --nope"},
		{"mqbroker --logLevel loud", 1, "loud"},
		{"mqbroker -c /does/not/exist", 255, "no such file"},
		{"mqnamesrv -c " + file("a=\\u12"), 255, "malformed escape"},
		{"mqbroker -n localhost", 253, "The Name Server Address[localhost] illegal"},
		{"mqbroker -c " + file("brokerRole=SLAVE"), 253, "Slave's brokerId must be > 0"},
		{"mqbroker -c " + file("enableDLegerCommitLog=true"), 253, "enableDLegerCommitLog"},
		{"mqbroker -c " + file("authenticationEnabled=true"), 253, "authenticationEnabled"},
		{"mqnamesrv -c " + file("bindAddress=127.0.0.1\nlistenPort="+port), 255, "address already in use"},
		{"mqserver --namesrv-port " + port, 255, "choose one with --namesrv-port"},
		{"mqserver --namesrv-port 0 --broker-port " + port, 255, "choose one with --broker-port"},
	} {
		words := strings.Fields(tt.args)
		status, stdout, stderr := execute(t, words[0], words[1:]...)
		if status != tt.status || !strings.Contains(stdout+stderr, tt.want) {
			t.Errorf("%s: status %d, want %d and %q in\n%s%s", tt.args, status, tt.status, tt.want, stdout, stderr)
		}
	}
}

func TestPrintItems(t *testing.T) {
	conf := writeFile(t, "b.conf", "brokerName=b1\nfileReservedTime=24\n")
	_, all, _ := execute(t, "mqbroker", "-p", "-n", "127.0.0.1:1", "-c", conf)
	_, some, _ := execute(t, "mqbroker", "-m", "-c", conf)
	item := regexp.MustCompile(`(?m)^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d INFO main - (\S+)=(.*)$`)
	values := map[string]string{}
	for _, m := range item.FindAllStringSubmatch(all, -1) {
		values[m[1]] = m[2]
	}
	if values["brokerName"] != "b1" || values["fileReservedTime"] != "24" || values["namesrvAddr"] != "" || values["listenPort"] != "10911" {
		t.Errorf("-p prints\n%s", all)
	}
	if n := len(item.FindAllString(some, -1)); n == 0 || n >= len(values) || strings.Contains(some, "traceOn") {
		t.Errorf("-m prints\n%s", some)
	}
}

func TestHangupReloads(t *testing.T) {
	path := writeFile(t, "b.conf", "traceOn=true\nbrokerName=b1\n"+ownPlace(t))
	p := launch(t, "mqbroker", "-c", path)
	p.waitFor(p.stdout, "boot success")
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	text = []byte(strings.NewReplacer("traceOn=true", "traceOn=false", "b1", "b2").Replace(string(text)))
	if err := os.WriteFile(path, text, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := p.cmd.Process.Signal(syscall.SIGHUP); err != nil {
		t.Fatal(err)
	}
	p.waitFor(p.stderr, `traceOn changed from \"true\" to \"false\"`)
	p.waitFor(p.stderr, `brokerName is \"b2\" in the file, and stays \"b1\" until a restart`)
	p.stop()
	if !strings.Contains(p.stderr(), "stopping: terminated") {
		t.Error("the log does not say why the program ends")
	}
}

// TestMqserverKeepsItsPromise runs the commands that mqserver prints, as a user would.
func TestMqserverKeepsItsPromise(t *testing.T) {
	dir := t.TempDir()
	p := launch(t, "mqserver", "--data", filepath.Join(dir, "data"), "--namesrv-port", "0", "--broker-port", "0")
	p.waitFor(p.stdout, "Ctrl-C")
	_, try, ok := strings.Cut(p.stdout(), "Try:\n")
	if !ok {
		t.Fatalf("prints\n%s", p.stdout())
	}
	commands := strings.Split(strings.TrimSpace(strings.Split(try, "\n\n")[0]), "\n")
	if len(commands) != 3 {
		t.Fatalf("commands %q", commands)
	}
	for i, want := range []string{"SEND_OK", "BODY: hello, world", "broker-a"} {
		cmd := exec.Command("sh", "-c", commands[i])
		cmd.Dir, cmd.Env = p.cmd.Dir, environ(t)
		out, err := cmd.CombinedOutput()
		if err != nil || !strings.Contains(string(out), want) {
			t.Errorf("%s: %v, want %q in\n%s", commands[i], err, want, out)
		}
	}
	for _, name := range []string{"commitlog", "config", "lock"} {
		if _, err := os.Stat(filepath.Join(dir, "data", name)); err != nil {
			t.Error(err)
		}
	}
	if p.stderr() != "" {
		t.Errorf("not quiet: %s", p.stderr())
	}
	p.stop()
	if _, err := os.Stat(filepath.Join(dir, "data", "abort")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("after a clean stop abort is still there: %v", err)
	}
}

// mqstore refuses a store that a broker has, finds one that was killed repairable, and repairs it.
func TestMqstoreBesideBroker(t *testing.T) {
	data := filepath.Join(t.TempDir(), "data")
	p := launch(t, "mqserver", "--data", data, "--namesrv-port", "0", "--broker-port", "0")
	p.waitFor(p.stdout, "Ctrl-C")
	_, try, _ := strings.Cut(p.stdout(), "Try:\n")
	send := exec.Command("sh", "-c", strings.Split(strings.TrimSpace(try), "\n")[0])
	send.Dir, send.Env = p.cmd.Dir, environ(t)
	if out, err := send.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	mqstore := func(wantCode int, want string, args ...string) {
		t.Helper()
		cmd := exec.Command(filepath.Join(binDir, "mqstore"), args...)
		out, _ := cmd.CombinedOutput()
		if code := cmd.ProcessState.ExitCode(); code != wantCode || !strings.Contains(string(out), want) {
			t.Errorf("mqstore %s: exit code %d, want %d and %q\n%s", args, code, wantCode, want, out)
		}
	}
	mqstore(3, "locked by another process", "check", data)
	mqstore(0, "hello, world", "print", "--bodies", filepath.Join(data, "commitlog"))
	if err := p.cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	<-p.done
	mqstore(1, "not closed", "check", data)
	mqstore(3, "say --yes", "rebuild", data)
	mqstore(0, "the log goes from 0 to", "rebuild", data, "--yes")
	mqstore(0, "nothing to do", "check", data)
	mqstore(0, "v9.9.9-test", "--version")
}

func TestDefaultDataFolder(t *testing.T) {
	p := launch(t, "mqserver", "--namesrv-port", "0", "--broker-port", "0")
	p.waitFor(p.stdout, "Ctrl-C")
	if _, err := os.Stat(filepath.Join(p.cmd.Dir, "mqdata", "commitlog")); err != nil {
		t.Error(err)
	}
	p.stop()
}

func TestConfigFileOfMqserver(t *testing.T) {
	conf := writeFile(t, "x.conf", "brokerName=other\nlistenPort=1\nbrokerIP1=127.0.0.9\n")
	p := launch(t, "mqserver", "--config", conf, "--namesrv-port", "0", "--broker-port", "0")
	p.waitFor(p.stdout, "Ctrl-C")
	if !regexp.MustCompile(`broker      127\.0\.0\.9:\d{4,}, other of DefaultCluster`).MatchString(p.stdout()) {
		t.Errorf("prints\n%s", p.stdout())
	}
	p.stop()
}

func TestProgramsAreStatic(t *testing.T) {
	for _, name := range []string{"mqserver", "mqnamesrv", "mqbroker", "mqadmin", "mqbench", "mqstore"} {
		f, err := elf.Open(filepath.Join(binDir, name))
		if err != nil {
			t.Fatal(err)
		}
		for _, s := range f.Progs {
			if s.Type == elf.PT_INTERP {
				t.Errorf("%s needs a dynamic linker", name)
			}
		}
		f.Close()
	}
}

// TestNameServersAreExchanged: a broker moves from one NameServer to another on SIGHUP, without a restart.
func TestNameServersAreExchanged(t *testing.T) {
	address := func(p *process) string {
		p.waitFor(p.stdout, "boot success")
		_, a, _ := strings.Cut(strings.TrimSpace(p.stdout()), "address ")
		return a
	}
	start := func() *process {
		return launch(t, "mqnamesrv", "-c", writeFile(t, "ns.conf", "listenPort=0\nbindAddress=127.0.0.1\n"))
	}
	one, two := start(), start()
	place := ownPlace(t)
	path := writeFile(t, "b.conf", "brokerName=moving\nnamesrvAddr="+address(one)+place)
	b := launch(t, "mqbroker", "-c", path)
	one.waitFor(one.stderr, "broker moving[0]")
	if err := os.WriteFile(path, []byte("brokerName=moving\nnamesrvAddr="+address(two)+place), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := b.cmd.Process.Signal(syscall.SIGHUP); err != nil {
		t.Fatal(err)
	}
	two.waitFor(two.stderr, "broker moving[0]")
	b.stop()
	one.stop()
	two.stop()
}
