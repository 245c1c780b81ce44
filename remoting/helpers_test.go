package remoting

import (
	"bufio"
	"bytes"
	"context"
	"crypto/tls"
	"encoding/binary"
	"io"
	"net"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/seedmq/seedmq/conf/clock"
	"github.com/seedmq/seedmq/conf/xlog"
	"github.com/seedmq/seedmq/remoting/protocol"
)

const patience = 20 * time.Second

// eventually waits until ok, and fails the test with what if that does not come.
func eventually(t testing.TB, what string, ok func() bool) {
	t.Helper()
	for end := time.Now().Add(patience); !ok(); {
		if time.Now().After(end) {
			t.Fatalf("never happened: %s", what)
		}
		<-time.After(50 * time.Microsecond)
	}
}

// transports are the ways that every test of a connection runs on.
var transports = []struct {
	name string
	t    Transport
	tls  bool
}{
	{"netpoll", TransportNetpoll, false},
	{"net", TransportNet, false},
	{"netpoll+tls", TransportNetpoll, true},
	{"net+tls", TransportNet, true},
}

// env is a server with a raw view on its wire.
type env struct {
	t   testing.TB
	s   *Server
	tls bool
	tr  Transport
	log *logBuffer
}

// logBuffer collects log lines.
type logBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *logBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *logBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

// eachTransport runs fn as a subtest for every transport, against a server with h; opt may change its options.
func eachTransport(t *testing.T, h func() Handler, opt func(*ServerOptions), fn func(t *testing.T, e *env)) {
	for _, tr := range transports {
		t.Run(tr.name, func(t *testing.T) {
			checkLeaks(t)
			e := newEnv(t, h(), func(o *ServerOptions) {
				o.Transport, o.SelfSigned = tr.t, tr.tls
				if opt != nil {
					opt(o)
				}
			})
			e.tls, e.tr = tr.tls, tr.t
			fn(t, e)
		})
	}
}

func newEnv(t testing.TB, h Handler, opt func(*ServerOptions)) *env {
	t.Helper()
	e := &env{t: t, log: &logBuffer{}}
	l, err := xlog.New(e.log, "debug")
	if err != nil {
		t.Fatal(err)
	}
	o := ServerOptions{Common: Common{Logger: l}, BindAddress: "127.0.0.1"}
	opt(&o)
	if e.s, err = NewServer(o, h); err != nil {
		t.Fatal(err)
	}
	if err := e.s.Serve(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		if err := e.s.Close(ctx); err != nil {
			t.Errorf("server close: %v", err)
		}
	})
	return e
}

func (e *env) addr() string { return e.s.Addr().String() }

// client returns a Client on the same transport.
func (e *env) client(opt func(*ClientOptions)) *Client {
	o := ClientOptions{Common: Common{Transport: e.tr}, InvokeTimeout: patience}
	if e.tls {
		o.TLS = &tls.Config{InsecureSkipVerify: true}
	}
	if opt != nil {
		opt(&o)
	}
	cl := NewClient(o)
	e.t.Cleanup(func() { cl.Close() })
	return cl
}

// peer is the other end, without any of our own code in it but the codec.
type testPeer struct {
	net.Conn
	t testing.TB
	r *bufio.Reader
}

func (e *env) dial() *testPeer { return e.dialAddr(e.addr()) }

func (e *env) dialAddr(addr string) *testPeer {
	e.t.Helper()
	c, err := net.Dial("tcp", addr)
	if err != nil {
		e.t.Fatal(err)
	}
	e.t.Cleanup(func() { c.Close() })
	return e.over(c)
}

// over speaks on an open connection.
func (e *env) over(c net.Conn) *testPeer {
	if e.tls {
		c = tls.Client(c, &tls.Config{InsecureSkipVerify: true})
	}
	c.SetDeadline(time.Now().Add(patience))
	return &testPeer{Conn: c, t: e.t, r: bufio.NewReader(c)}
}

func (p *testPeer) send(b []byte) {
	p.t.Helper()
	if _, err := p.Write(b); err != nil {
		p.t.Fatalf("peer write: %v", err)
	}
}

// recv reads one frame.
func (p *testPeer) recv() *protocol.Command {
	p.t.Helper()
	c, err := p.tryRecv()
	if err != nil {
		p.t.Fatalf("peer read: %v", err)
	}
	return c
}

func (p *testPeer) tryRecv() (*protocol.Command, error) {
	var l [4]byte
	if _, err := io.ReadFull(p.r, l[:]); err != nil {
		return nil, err
	}
	b := make([]byte, binary.BigEndian.Uint32(l[:]))
	if _, err := io.ReadFull(p.r, b); err != nil {
		return nil, err
	}
	c := &protocol.Command{}
	return c, protocol.DecodeFrame(b, c)
}

// wantClosed waits for the end of the connection.
func (p *testPeer) wantClosed() {
	p.t.Helper()
	n, err := io.Copy(io.Discard, p.r)
	if ne, ok := err.(net.Error); ok && ne.Timeout() {
		p.t.Fatalf("connection was not closed (%d bytes came): %v", n, err)
	}
}

// request encodes a request.
func request(code, opaque int32, body []byte) []byte {
	c := protocol.NewRequest(code, nil, body)
	c.Opaque = opaque
	return protocol.AppendFrame(nil, c)
}

func onewayRequest(code, opaque int32, body []byte) []byte {
	c := protocol.NewRequest(code, nil, body)
	c.Opaque, c.Flag = opaque, protocol.FlagOneway
	return protocol.AppendFrame(nil, c)
}

// Codes of the test handlers.
const (
	codeEcho   = 1001
	codeSilent = 1002
	codePanic  = 1003
	codePooled = 1004
	codeBatchA = 1005
	codeBatchB = 1006
	codeMain   = 1007
	codeBig    = 1008
	codeAddr   = 1009
)

func echo(c Conn, req *protocol.Command) { c.Reply(req, &Reply{Body: req.Body}) }

func echoMux() Handler {
	return mux(Route{Code: codeEcho, Handle: echo})
}

func mux(routes ...Route) *Mux {
	m, err := NewMux(MuxOptions{Routes: routes})
	if err != nil {
		panic(err)
	}
	return m
}

// handlerFunc is a Handler made of functions that may be nil.
type handlerFunc struct {
	burst  func(Conn, []*protocol.Command)
	opened func(Conn)
	closed func(Conn, CloseReason)
}

func (h handlerFunc) ServeBurst(c Conn, reqs []*protocol.Command) { h.burst(c, reqs) }
func (h handlerFunc) Opened(c Conn) {
	if h.opened != nil {
		h.opened(c)
	}
}
func (h handlerFunc) Closed(c Conn, r CloseReason) {
	if h.closed != nil {
		h.closed(c, r)
	}
}

// checkLeaks fails the test if goroutines of this package are left when it ends.
func checkLeaks(t *testing.T) {
	t.Cleanup(func() {
		end := time.Now().Add(patience)
		for {
			left := ownGoroutines()
			if len(left) == 0 {
				return
			}
			if time.Now().After(end) {
				t.Errorf("%d goroutines are left, the first:\n%s", len(left), left[0])
				return
			}
			<-time.After(time.Millisecond)
		}
	})
}

func ownGoroutines() (left []string) {
	buf := make([]byte, 4<<20)
	buf = buf[:runtime.Stack(buf, true)]
	for _, g := range strings.Split(string(buf), "\n\n") {
		if strings.Contains(g, "remoting.") && !strings.Contains(g, "testing.tRunner") && !strings.Contains(g, "testing.Main") {
			left = append(left, g)
		}
	}
	return left
}

// fakeClock runs a fake clock for tests of timeouts: step moves it while ok is not reached.
type fakeClock struct{ *clock.Fake }

func newFakeClock() fakeClock { return fakeClock{clock.NewFake(time.Unix(1e9, 0))} }

// until advances the clock in monitor periods until ok.
func (f fakeClock) until(t testing.TB, what string, ok func() bool) {
	t.Helper()
	eventually(t, what, func() bool {
		if ok() {
			return true
		}
		f.Advance(monitorPeriod)
		return false
	})
}

// pass advances the clock by d at once and waits until the monitor has seen it.
func (f fakeClock) pass(t testing.TB, k *core, d time.Duration) {
	t.Helper()
	eventually(t, "monitor waits", func() bool { return f.Timers() > 0 })
	f.Advance(d)
	want := f.Now().UnixMilli()
	eventually(t, "monitor tick", func() bool { return k.now.Load() == want && f.Timers() > 0 })
}
