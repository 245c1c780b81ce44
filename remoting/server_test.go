package remoting

import (
	"context"
	"crypto/tls"
	"encoding/binary"
	"net"
	"net/netip"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/seedmq/seedmq/conf/clock"
	"github.com/seedmq/seedmq/remoting/protocol"
)

// Close answers what is in flight, refuses new requests of clients that know GO_AWAY, and serves the others.
func TestShutdownInFlight(t *testing.T) {
	held := make(chan func(), 1)
	h := func() Handler {
		return mux(Route{Code: codeEcho, Handle: echo}, Route{Code: codeSilent, Handle: func(c Conn, req *protocol.Command) {
			cl := req.Clone()
			held <- func() { c.Reply(cl, &Reply{Remark: "late"}) }
		}})
	}
	eachTransport(t, h, func(o *ServerOptions) { o.Clock = newFakeClock() }, func(t *testing.T, e *env) {
		p := e.dial()
		p.send(request(codeSilent, 1, nil))
		answer := <-held
		closed := make(chan error, 1)
		go func() {
			ctx, cancel := context.WithTimeout(context.Background(), patience)
			defer cancel()
			closed <- e.s.Close(ctx)
		}()
		eventually(t, "draining", func() bool { return e.s.core.draining.Load() })
		if c, err := net.Dial("tcp", e.addr()); err == nil {
			c.Close()
			t.Error("a closing server accepts")
		}
		p.send(request(codeEcho, 2, nil))
		if r := p.recv(); r.Code != protocol.RespGoAway || r.Opaque != 2 {
			t.Errorf("new client: code %d, opaque %d", r.Code, r.Opaque)
		}
		old := protocol.NewRequest(codeEcho, nil, nil)
		old.Opaque, old.Version = 3, goAwayAfter
		p.send(protocol.AppendFrame(nil, old))
		if r := p.recv(); r.Code != 0 || r.Opaque != 3 {
			t.Errorf("old client: code %d, opaque %d", r.Code, r.Opaque)
		}
		select {
		case err := <-closed:
			t.Fatalf("Close did not wait: %v", err)
		default:
		}
		answer()
		if r := p.recv(); r.Remark != "late" {
			t.Errorf("remark %q", r.Remark)
		}
		if err := <-closed; err != nil {
			t.Error(err)
		}
		p.wantClosed()
		if err := e.s.Close(context.Background()); err != nil {
			t.Errorf("second Close: %v", err)
		}
	})
}

// A request that is never answered does not hold up Close for ever.
func TestShutdownNeverAnswered(t *testing.T) {
	h := func() Handler { return mux(Route{Code: codeSilent, Handle: func(Conn, *protocol.Command) {}}) }
	eachTransport(t, h, nil, func(t *testing.T, e *env) {
		p := e.dial()
		p.send(request(codeSilent, 1, nil))
		eventually(t, "request", func() bool { return e.s.Stats().InFlight == 1 })
		if err := e.s.Close(context.Background()); err != nil {
			t.Error(err)
		}
		p.wantClosed()
	})
}

// A handler that hangs makes Close fail at its deadline, not hang.
func TestShutdownHungHandler(t *testing.T) {
	var release chan struct{}
	h := func() Handler {
		release = make(chan struct{})
		wait := release
		return mux(Route{Code: codeSilent, Handle: func(Conn, *protocol.Command) { <-wait }})
	}
	eachTransport(t, h, nil, func(t *testing.T, e *env) {
		p := e.dial()
		p.send(request(codeSilent, 1, nil))
		eventually(t, "request", func() bool { return e.s.Stats().InFlight == 1 })
		ctx, cancel := context.WithTimeout(context.Background(), 50*time.Millisecond)
		defer cancel()
		if err := e.s.Close(ctx); err != context.DeadlineExceeded {
			t.Errorf("Close: %v", err)
		}
		close(release)
	})
}

// A peer that takes no output does not hold up Close.
func TestShutdownSlowPeer(t *testing.T) {
	eachTransport(t, bigMux, func(o *ServerOptions) { o.SndBuf = 16 << 10 }, func(t *testing.T, e *env) {
		p := e.dial()
		var sent atomic.Int64
		go flood(p, request(codeBig, 1, nil), &sent)
		eventually(t, "output waits", func() bool { return e.s.Stats().OutBytes > 1<<20 })
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		if err := e.s.Close(ctx); err != nil {
			t.Error(err)
		}
	})
}

func TestTLSModes(t *testing.T) {
	const plain, secure = "plain", "tls"
	for _, tt := range []struct {
		name    string
		mode    TLSMode
		cert    bool
		refused string
	}{
		{"permissive", TLSPermissive, true, ""},
		{"enforcing", TLSEnforcing, true, plain},
		{"disabled", TLSDisabled, true, secure},
		{"no certificate", TLSPermissive, false, secure},
	} {
		for _, tr := range transports[:2] {
			t.Run(tt.name+"/"+tr.name, func(t *testing.T) {
				checkLeaks(t)
				e := newEnv(t, echoMux(), func(o *ServerOptions) { o.Transport, o.TLSMode, o.SelfSigned = tr.t, tt.mode, tt.cert })
				for _, kind := range []string{plain, secure} {
					cl := NewClient(ClientOptions{InvokeTimeout: patience, TLS: map[string]*tls.Config{
						secure: {InsecureSkipVerify: true}}[kind]})
					_, err := cl.Invoke(context.Background(), e.addr(), protocol.NewRequest(codeEcho, nil, nil))
					cl.Close()
					if refused := err != nil; refused != (kind == tt.refused) {
						t.Errorf("%s: %v", kind, err)
					}
				}
			})
		}
	}
}

func TestTLSVerified(t *testing.T) {
	checkLeaks(t)
	cfg, err := SelfSignedConfig(clock.Real{}, "127.0.0.1", "localhost")
	if err != nil {
		t.Fatal(err)
	}
	e := newEnv(t, echoMux(), func(o *ServerOptions) { o.TLS = cfg })
	cl := e.client(func(o *ClientOptions) { o.TLS = &tls.Config{} })
	if _, err := cl.Invoke(context.Background(), e.addr(), protocol.NewRequest(codeEcho, nil, nil)); err == nil {
		t.Error("a client that verifies accepts a self-signed certificate")
	}
}

// A TLS handshake that does not go on is ended.
func TestTLSHandshakeTimeout(t *testing.T) {
	for _, tr := range transports[2:] {
		t.Run(tr.name, func(t *testing.T) {
			checkLeaks(t)
			clk := newFakeClock()
			e := newEnv(t, echoMux(), func(o *ServerOptions) { o.Transport, o.SelfSigned, o.Clock = tr.t, true, clk })
			p := e.dial()
			p.send([]byte{recordHandshake, 3})
			eventually(t, "handshake", func() bool { return e.s.core.watched.Load() == 1 })
			clk.until(t, "end", func() bool { return e.s.Stats().Conns == 0 })
			p.wantClosed()
		})
	}
}

func TestServerRefusesBadOptions(t *testing.T) {
	for name, o := range map[string]ServerOptions{
		"port":            {Port: 70000},
		"fast port":       {Port: 2, FastPort: true},
		"no certificate":  {TLSMode: TLSEnforcing},
		"negative port":   {Port: -1},
		"no handler ever": {},
	} {
		h := echoMux()
		if name == "no handler ever" {
			h = nil
		}
		if _, err := NewServer(o, h); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

func TestListenErrors(t *testing.T) {
	checkLeaks(t)
	e := newEnv(t, echoMux(), func(*ServerOptions) {})
	_, port, _ := net.SplitHostPort(e.addr())
	n, _ := net.LookupPort("tcp", port)
	s, err := NewServer(ServerOptions{BindAddress: "127.0.0.1", Port: n}, echoMux())
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Serve(); err == nil {
		t.Error("two servers on one port")
	}
	if err := s.Close(context.Background()); err != nil {
		t.Error(err)
	}
	if err := s.Serve(); err != ErrClosed {
		t.Errorf("Serve after Close: %v", err)
	}
}

func proxyV2(cmd, family byte, addrs ...byte) []byte {
	b := append([]byte(proxyV2Signature), 0x20|cmd, family)
	b = binary.BigEndian.AppendUint16(b, uint16(len(addrs)))
	return append(b, addrs...)
}

func TestProxyHeader(t *testing.T) {
	v4 := []byte{10, 1, 2, 3, 10, 0, 0, 9, 0x1f, 0x90, 0x2a, 0x9f}
	v6 := append(append(netip.MustParseAddr("2001:db8::7").AsSlice(), make([]byte, 16)...), 0x1f, 0x90, 0, 1)
	tests := []struct {
		name   string
		header string
		want   string // "" = the socket's
	}{
		{"v1 tcp4", "PROXY TCP4 10.1.2.3 10.0.0.9 8080 10911\r\n", "10.1.2.3:8080"},
		{"v1 tcp6", "PROXY TCP6 2001:db8::7 ::1 8080 10911\r\n", "[2001:db8::7]:8080"},
		{"v1 unknown", "PROXY UNKNOWN\r\n", ""},
		{"v1 unknown, more", "PROXY UNKNOWN ffff::1 ffff::2 1 2\r\n", ""},
		{"v2 tcp4", string(proxyV2(1, 0x11, v4...)), "10.1.2.3:8080"},
		{"v2 tcp4 with TLVs", string(proxyV2(1, 0x11, append(v4, 4, 0, 1, 'x')...)), "10.1.2.3:8080"},
		{"v2 tcp6", string(proxyV2(1, 0x21, v6...)), "[2001:db8::7]:8080"},
		{"v2 local", string(proxyV2(0, 0)), ""},
		{"v2 unix", string(proxyV2(1, 0x31, make([]byte, 216)...)), ""},
	}
	h := func() Handler {
		return mux(Route{Code: codeAddr, Handle: func(c Conn, r *protocol.Command) { c.Reply(r, &Reply{Remark: c.RemoteAddr().String()}) }})
	}
	eachTransport(t, h, nil, func(t *testing.T, e *env) {
		for _, tt := range tests {
			for _, cut := range []int{0, 1, len(tt.header) / 2, len(tt.header) - 1, len(tt.header)} {
				raw, err := net.Dial("tcp", e.addr())
				if err != nil {
					t.Fatal(err)
				}
				defer raw.Close()
				raw.SetDeadline(time.Now().Add(patience))
				if cut > 0 && cut < len(tt.header) {
					raw.Write([]byte(tt.header[:cut]))
					eventually(t, "half a header", func() bool { return e.s.core.watched.Load() > 0 })
					raw.Write([]byte(tt.header[cut:]))
				} else if cut > 0 {
					raw.Write([]byte(tt.header))
				}
				p := e.over(raw)
				p.send(request(codeAddr, 1, nil))
				want := tt.want
				if cut == 0 || want == "" {
					want = raw.LocalAddr().String()
				}
				if r := p.recv(); r.Remark != want {
					t.Errorf("%s, cut at %d: %q, want %q", tt.name, cut, r.Remark, want)
				}
				raw.Close()
				eventually(t, "end", func() bool { return e.s.Stats().Conns == 0 })
			}
		}
	})
}

func TestFastPort(t *testing.T) {
	h := func() Handler {
		return mux(Route{Code: codeEcho, Handle: echo}, Route{Code: codeMain, Handle: echo, MainPortOnly: true},
			Route{Code: codeBatchA, Mode: Batched, BatchKey: "k", HandleBatch: func(c Conn, r []*protocol.Command) { echo(c, r[0]) }},
			Route{Code: codeBatchB, Mode: Batched, BatchKey: "k", MainPortOnly: true, HandleBatch: func(c Conn, r []*protocol.Command) { echo(c, r[0]) }})
	}
	eachTransport(t, h, func(o *ServerOptions) { o.FastPort = true }, func(t *testing.T, e *env) {
		main, fast := e.dial(), e.dialAddr(e.s.FastAddr().String())
		for _, tt := range []struct {
			p          *testPeer
			code, want int32
		}{
			{main, codeEcho, 0}, {main, codeMain, 0}, {fast, codeEcho, 0},
			{fast, codeMain, protocol.RespRequestCodeNotSupported}, {fast, codeBatchB, protocol.RespRequestCodeNotSupported},
		} {
			tt.p.send(request(tt.code, 1, nil))
			if r := tt.p.recv(); r.Code != tt.want {
				t.Errorf("code %d: reply %d %q, want %d", tt.code, r.Code, r.Remark, tt.want)
			}
		}
		fast.send(append(request(codeBatchA, 1, nil), request(codeBatchB, 2, nil)...))
		if a, b := fast.recv(), fast.recv(); a.Code != 0 || b.Code != protocol.RespRequestCodeNotSupported {
			t.Errorf("codes %d, %d", a.Code, b.Code)
		}
	})
}

// The fast port is two below a fixed port.
func TestFastPortNumber(t *testing.T) {
	checkLeaks(t)
	for try := range 20 {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		port := l.Addr().(*net.TCPAddr).Port
		l.Close()
		s, err := NewServer(ServerOptions{BindAddress: "127.0.0.1", Port: port, FastPort: true}, echoMux())
		if err != nil {
			t.Fatal(err)
		}
		err = s.Serve()
		defer s.Close(context.Background())
		if err != nil && try < 19 {
			continue // somebody else has one of the two
		}
		if err != nil {
			t.Fatal(err)
		}
		if got := s.FastAddr().(*net.TCPAddr).Port; got != port-2 {
			t.Errorf("fast port %d for %d", got, port)
		}
		return
	}
}

func TestServerConns(t *testing.T) {
	var opened, closed atomic.Int32
	h := func() Handler {
		m, err := NewMux(MuxOptions{
			Routes:   []Route{{Code: codeEcho, Handle: echo}},
			OnOpened: func(Conn) { opened.Add(1) },
			OnClosed: func(Conn, CloseReason) { closed.Add(1) },
		})
		if err != nil {
			t.Fatal(err)
		}
		opened.Store(0)
		closed.Store(0)
		return m
	}
	eachTransport(t, h, nil, func(t *testing.T, e *env) {
		p := e.dial()
		p.send(request(codeEcho, 1, nil))
		p.recv()
		conns := e.s.Conns()
		if len(conns) != 1 || conns[0].RemoteAddr().String() != p.LocalAddr().String() || opened.Load() != 1 {
			t.Fatalf("%d connections, %d opened", len(conns), opened.Load())
		}
		conns[0].Close(ClosedByHandler)
		p.wantClosed()
		eventually(t, "closed", func() bool { return closed.Load() == 1 })
	})
}

func TestCloseReasonNames(t *testing.T) {
	if s := ClosedSlowPeer.String() + "/" + CloseReason(99).String(); !strings.HasPrefix(s, "slow peer/") {
		t.Error(s)
	}
}
