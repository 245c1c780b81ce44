package harness

import (
	"context"
	"fmt"
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
	run(t, 2*time.Minute, src, "javac", "-nowarn", "-cp", lib+"/*", "-d", classes, filepath.Join(src, "Scenario.java"))
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

// JavaAdmin runs Apache's mqadmin against s and returns its output, standard error included.
func JavaAdmin(t testing.TB, s *Server, args ...string) string {
	t.Helper()
	home := filepath.Join(os.TempDir(), "seedmq-java-admin")
	if err := os.MkdirAll(home, 0o700); err != nil {
		t.Fatal(err)
	}
	args = append(args, "-n", s.Namesrv)
	argv := javaArgs(JavaLib(t, Java5), home, "128m", "org.apache.rocketmq.tools.command.MQAdminStartup", args...)
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
	cmd.Dir = home // some commands write files where they are
	out, err := cmd.CombinedOutput()
	if err != nil && ctx.Err() != nil {
		t.Fatalf("mqadmin %v: %v\n%s", args, ctx.Err(), out)
	}
	return string(out)
}
