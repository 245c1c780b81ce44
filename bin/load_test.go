package bin_test

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var progress = regexp.MustCompile(`(?m)^ +[\d.]+s +[1-9]\d* msg/s`)

// loaded starts a sender and a consumer against namesrv, and waits until both have done something. It also opens
// a connection to each of addrs with half a frame on it.
func loaded(t *testing.T, namesrv string, addrs ...string) {
	t.Helper()
	for _, command := range []string{"send --conns 2 --rate 20000", "consume --follow"} {
		args := append(strings.Fields(command), "-n", namesrv, "-d", "20s", "-t", "Load", "-i", "200ms")
		load := launch(t, "mqbench", args...)
		for !progress.MatchString(load.stdout() + load.stderr()) {
			load.waitMore()
		}
	}
	for _, addr := range addrs {
		c, err := net.Dial("tcp", addr)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { c.Close() })
		if _, err := c.Write([]byte("\x00\x00\x01\x00\x00\x00\x00\x50{\"co")); err != nil {
			t.Fatal(err)
		}
	}
}

// cleanlyStopped stops p, and wants no sign of an unclean stop in its store.
func cleanlyStopped(p *process, store string) {
	p.t.Helper()
	p.stop()
	if _, err := os.Stat(filepath.Join(store, "abort")); err == nil {
		p.t.Error("abort is still there")
	}
	if out := p.stdout() + p.stderr(); strings.Contains(out, "panic") || strings.Contains(out, "level=error") {
		p.t.Errorf("printed\n%s", out)
	}
}

func TestMqserverStopsUnderLoad(t *testing.T) {
	data := t.TempDir()
	p := launch(t, "mqserver", "--data", data, "--namesrv-port", "0", "--broker-port", "0")
	p.waitFor(p.stdout, "Ctrl-C")
	addrs := regexp.MustCompile(`127\.0\.0\.1:\d+`).FindAllString(p.stdout(), 2)
	loaded(t, addrs[0], addrs...)
	cleanlyStopped(p, data)
}

// TestRolesStopUnderLoad: the NameServer goes first, which the load does not notice.
func TestRolesStopUnderLoad(t *testing.T) {
	ns := launch(t, "mqnamesrv", "-c", writeFile(t, "ns.conf", "listenPort=0\nbindAddress=127.0.0.1\n"))
	ns.waitFor(ns.stdout, "boot success")
	_, namesrv, _ := strings.Cut(strings.TrimSpace(ns.stdout()), "address ")
	store := t.TempDir()
	b := launch(t, "mqbroker", "-n", namesrv, "-c", writeFile(t, "b.conf",
		fmt.Sprintf("brokerName=broker-a\nbrokerIP1=127.0.0.1\nlistenPort=0\nbindAddress=127.0.0.1\nstorePathRootDir=%s\n", store)))
	ns.waitFor(ns.stderr, "registered")
	b.waitFor(b.stdout, "boot success")
	addr := regexp.MustCompile(`127\.0\.0\.1:\d+`).FindString(b.stdout())
	loaded(t, namesrv, namesrv, addr)
	ns.stop()
	cleanlyStopped(b, store)
}
