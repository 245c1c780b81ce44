package harness

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"sync"
	"testing"
)

var compiled struct {
	sync.Mutex
	classes map[string]string // by release and source: a class path
	goPeer  string
}

// StartJava runs a program of tools/e2e/java, compiled against a release, until the test ends.
func StartJava(t testing.TB, release, class string, args ...string) *Process {
	t.Helper()
	lib := JavaLib(t, release)
	compiled.Lock()
	cp := compiled.classes[release+class]
	if cp == "" {
		dir, err := os.MkdirTemp("", "seedmq-classes")
		if err != nil {
			compiled.Unlock()
			t.Fatal(err)
		}
		src := filepath.Join(Root(t), "tools", "e2e", "java")
		out, err := exec.Command("javac", "-nowarn", "-cp", lib, "-d", dir, filepath.Join(src, class+".java")).CombinedOutput()
		if err != nil {
			compiled.Unlock()
			t.Fatalf("javac %s: %v\n%s", class, err, out)
		}
		cp = dir + ":" + lib
		if compiled.classes == nil {
			compiled.classes = map[string]string{}
		}
		compiled.classes[release+class] = cp
	}
	compiled.Unlock()
	return Start(t, class+" "+release, javaArgs(cp, t.TempDir(), "128m", class, args...)...)
}

// StartGoPeer runs tools/e2e/gopeer until the test ends.
func StartGoPeer(t testing.TB, args ...string) *Process {
	t.Helper()
	compiled.Lock()
	defer compiled.Unlock()
	if compiled.goPeer == "" {
		bin := filepath.Join(Bin(t), "gopeer")
		cmd := exec.Command("go", "build", "-o", bin, "./gopeer")
		cmd.Dir = filepath.Join(Root(t), "tools", "e2e")
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("go build ./gopeer: %v\n%s", err, out)
		}
		compiled.goPeer = bin
	}
	return Start(t, "gopeer", append([]string{compiled.goPeer}, args...)...)
}

// RestartBroker starts a broker of Broker that has ended again, on the same port and folder.
func (s *Server) RestartBroker(t testing.TB) {
	t.Helper()
	s.Proc = Start(t, s.Proc.Name, s.Proc.cmd.Args...)
	_, text, err := net.SplitHostPort(s.Broker)
	if err != nil {
		t.Fatal(err)
	}
	port, err := strconv.Atoi(text)
	if err != nil {
		t.Fatal(fmt.Errorf("port of %s: %w", s.Broker, err))
	}
	s.Proc.WaitPort(t, port)
	s.waitRoute(t)
}
