package harness

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

// Java releases that the peers' tests run. 4.9.8 publishes its client and its store, but no broker.
const (
	Java5 = "5.5.0"
	Java4 = "4.9.8"
	// Java4Broker is the broker of 4.9.7 on the store, common, remoting and client of 4.9.8.
	Java4Broker = "4.9.8-broker"
)

var javaLib struct {
	sync.Mutex
	dirs map[string]string
}

// JavaLib fetches the jars of a release once, into the user's cache folder, compiles the scenarios against them,
// and returns a class path.
func JavaLib(t testing.TB, release string) string {
	t.Helper()
	javaLib.Lock()
	defer javaLib.Unlock()
	if cp := javaLib.dirs[release]; cp != "" {
		return cp
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(cache, "seedmq-peers", release)
	lib := filepath.Join(dir, "lib")
	src := filepath.Join(Root(t), "tools", "e2e", "java")
	if _, err := os.Stat(filepath.Join(dir, ".done")); err != nil {
		args := []string{"-q", "-B", "dependency:copy-dependencies", "-DoutputDirectory=" + lib}
		run(t, 15*time.Minute, src, "mvn", append(args, mavenChoice(release)...)...)
		if err := os.WriteFile(filepath.Join(dir, ".done"), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	classes, err := os.MkdirTemp("", "seedmq-classes")
	if err != nil {
		t.Fatal(err)
	}
	programs := []string{filepath.Join(src, "Scenario.java")}
	if release == Java5 {
		programs = append(programs, filepath.Join(src, "Admin.java"))
	}
	run(t, 2*time.Minute, src, "javac", append([]string{"-nowarn", "-cp", lib + "/*", "-d", classes}, programs...)...)
	cp := classes + ":" + lib + "/*"
	if javaLib.dirs == nil {
		javaLib.dirs = map[string]string{}
	}
	javaLib.dirs[release] = cp
	return cp
}

// mavenChoice chooses a release's jars in java/pom.xml.
func mavenChoice(release string) []string {
	switch release {
	case Java5:
		return []string{"-Drocketmq.version=" + Java5, "-Pservers"}
	case Java4Broker:
		return []string{"-Drocketmq.version=" + Java4, "-Pservers4"}
	}
	return []string{"-Drocketmq.version=" + release}
}

func run(t testing.TB, d time.Duration, dir, name string, args ...string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), d)
	defer cancel()
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir = dir
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%s %s: %v\n%s", name, strings.Join(args, " "), err, out)
	}
	return string(out)
}

// javaArgs is a java command line; home is a folder of its own for logs and defaults.
func javaArgs(cp, home, heap, class string, args ...string) []string {
	return append([]string{"java", "-Xmx" + heap, "-XX:MaxDirectMemorySize=1g", "-XX:TieredStopAtLevel=1", "-Duser.home=" + home, "-Drocketmq.home.dir=" + home,
		"-Drocketmq.client.logRoot=" + home, "--add-opens=java.base/java.nio=ALL-UNNAMED", "--add-opens=java.base/sun.nio.ch=ALL-UNNAMED",
		"--add-exports=java.base/jdk.internal.ref=ALL-UNNAMED", "-cp", cp, class}, args...)
}

// Scenario runs one scenario of Scenario.java with the client of a release; the topic must exist.
func Scenario(t testing.TB, release string, s *Server, name, topic string) {
	t.Helper()
	args := javaArgs(JavaLib(t, release), t.TempDir(), "256m", "Scenario", name, s.Namesrv, topic)
	ctx, cancel := context.WithTimeout(context.Background(), 4*time.Minute)
	defer cancel()
	out, err := exec.CommandContext(ctx, args[0], args[1:]...).CombinedOutput()
	if err != nil || !strings.Contains(string(out), "OK "+name) {
		t.Fatalf("client %s, scenario %s: %v\n%s", release, name, err, tail(string(out), 40))
	}
}

// JavaNamesrv starts Apache's NameServer.
func JavaNamesrv(t testing.TB) *Server {
	t.Helper()
	port, dir := Ports(t), t.TempDir()
	f := filepath.Join(dir, "namesrv.conf")
	if err := os.WriteFile(f, []byte(fmt.Sprintf("listenPort=%d\nbindAddress=127.0.0.1\nkvConfigPath=%s/kv.json\n", port, dir)), 0o600); err != nil {
		t.Fatal(err)
	}
	s := &Server{Namesrv: addr(port), Data: dir}
	s.Proc = Start(t, "Java NameServer", javaArgs(JavaLib(t, Java5), dir, "256m", "org.apache.rocketmq.namesrv.NamesrvStartup", "-c", f)...)
	s.Proc.WaitPort(t, port)
	return s
}

// JavaBroker starts Apache's broker on dir, registered with namesrv, with extra configuration lines.
func JavaBroker(t testing.TB, dir, namesrv, extra string) *Server {
	t.Helper()
	return JavaBrokerOf(t, Java5, dir, namesrv, extra)
}

// JavaAdmin is Apache's mqadmin in one JVM for the whole test.
type JavaAdmin struct {
	s   *Server
	in  io.WriteCloser
	out *bufio.Reader
}

// StartJavaAdmin starts it; it ends with the test.
func StartJavaAdmin(t testing.TB, s *Server) *JavaAdmin {
	t.Helper()
	home := t.TempDir()
	argv := javaArgs(JavaLib(t, Java5), home, "256m", "Admin")
	cmd := exec.Command(argv[0], argv[1:]...)
	cmd.Dir = home // some commands write files where they are
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		in.Close()
		cmd.Process.Kill()
		cmd.Wait()
	})
	return &JavaAdmin{s: s, in: in, out: bufio.NewReader(out)}
}

// Run runs one command and returns its output, standard error included.
func (a *JavaAdmin) Run(t testing.TB, args ...string) string {
	t.Helper()
	type answer struct {
		text string
		err  error
	}
	done := make(chan answer, 1)
	go func() {
		if _, err := io.WriteString(a.in, strings.Join(append(args, "-n", a.s.Namesrv), "\x01")+"\n"); err != nil {
			done <- answer{err: err}
			return
		}
		text, err := a.out.ReadString('\x02')
		if err == nil {
			_, err = a.out.ReadString('\n')
		}
		done <- answer{strings.TrimSuffix(text, "\n\x02"), err}
	}()
	select {
	case r := <-done:
		if r.err != nil {
			t.Fatalf("mqadmin %v: %v\n%s", args, r.err, r.text)
		}
		return r.text
	case <-time.After(time.Minute):
		t.Fatalf("mqadmin %v does not end", args)
		return ""
	}
}
