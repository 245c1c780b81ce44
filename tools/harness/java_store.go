package harness

import (
	"os"
	"path/filepath"
	"testing"
	"time"
)

// quietLogback is what a broker of 4.9 wants to find; it logs to standard output.
const quietLogback = `<configuration>
  <appender name="out" class="ch.qos.logback.core.ConsoleAppender"><encoder><pattern>%d{HH:mm:ss.SSS} %-5level %logger{10} %msg%n</pattern></encoder></appender>
  <root level="WARN"><appender-ref ref="out"/></root>
</configuration>
`

// JavaBrokerOf is JavaBroker of a release: Java5 or Java4Broker.
func JavaBrokerOf(t testing.TB, release, dir, namesrv, extra string) *Server {
	t.Helper()
	s, port := startJavaBroker(t, release, dir, namesrv, extra)
	s.Proc.WaitPort(t, port)
	s.waitRoute(t)
	return s
}

func startJavaBroker(t testing.TB, release, dir, namesrv, extra string) (s *Server, port int) {
	t.Helper()
	port = Ports(t)
	home := t.TempDir()
	f := filepath.Join(home, "broker.conf")
	if err := os.MkdirAll(filepath.Join(home, "conf"), 0o700); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{f: BrokerConf(dir, namesrv, port, extra), filepath.Join(home, "conf", "logback_broker.xml"): quietLogback} {
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	s = &Server{Namesrv: namesrv, Broker: addr(port), Data: dir}
	s.Proc = Start(t, "Java broker "+release, javaArgs(JavaLib(t, release), home, "1g", "org.apache.rocketmq.broker.BrokerStartup", "-c", f)...)
	return s, port
}

// JavaBrokerRefused starts Apache's broker on a folder that it must not take, and returns what it printed.
func JavaBrokerRefused(t testing.TB, release, dir, namesrv, extra string) string {
	t.Helper()
	s, _ := startJavaBroker(t, release, dir, namesrv, extra)
	return s.refused(t, time.Minute)
}

// BrokerRefused starts our broker on a folder that it must not take, and returns what it printed.
func BrokerRefused(t testing.TB, dir, namesrv, extra string) string {
	t.Helper()
	s, _ := startBroker(t, dir, namesrv, extra)
	return s.refused(t, 30*time.Second)
}

func (s *Server) refused(t testing.TB, d time.Duration) string {
	t.Helper()
	if !s.Proc.Ended(d) {
		t.Fatalf("%s runs on a folder that another one has\n%s", s.Proc.Name, tail(s.Proc.Output(), 60))
	}
	return s.Proc.Output()
}
