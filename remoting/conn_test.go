package remoting

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/seedmq/seedmq/remoting/protocol"
)

func TestRoundTrip(t *testing.T) {
	eachTransport(t, echoMux, nil, func(t *testing.T, e *env) {
		cl := e.client(nil)
		for _, size := range []int{0, 1, 2047, 2048, 70_000, 3 << 20} {
			body := bytes.Repeat([]byte{'x'}, size)
			r, err := cl.Invoke(context.Background(), e.addr(), protocol.NewRequest(codeEcho, nil, body))
			if err != nil {
				t.Fatalf("size %d: %v", size, err)
			}
			if !bytes.Equal(r.Body, body) || r.Code != 0 || !r.IsResponse() || r.Language != protocol.LanguageGo ||
				r.Version != protocol.CurrentVersion {
				t.Fatalf("size %d: reply code %d, flag %d, language %v, version %d, %d bytes", size, r.Code, r.Flag, r.Language, r.Version, len(r.Body))
			}
		}
	})
}

// A pipeline of requests is answered completely, and each read is one burst.
func TestBursts(t *testing.T) {
	eachTransport(t, echoMux, nil, func(t *testing.T, e *env) {
		const n = 5000
		p := e.dial()
		go func() {
			var b []byte
			for i := range n {
				b = append(b, request(codeEcho, int32(i), fmt.Appendf(nil, "body %d", i))...)
			}
			p.Write(b)
		}()
		for i := range n {
			r := p.recv()
			if want := fmt.Sprintf("body %d", i); r.Opaque != int32(i) || string(r.Body) != want {
				t.Fatalf("reply %d: opaque %d, body %q, want %q", i, r.Opaque, r.Body, want)
			}
		}
		st := e.s.Stats()
		if st.Requests != n || st.Bursts >= n/4 || st.Bursts < n/BurstMax {
			t.Errorf("%d requests in %d bursts, want %d in few", st.Requests, st.Bursts, n)
		}
		eventually(t, "nothing in flight", func() bool { return e.s.Stats().InFlight == 0 })
	})
}

func TestByteByByte(t *testing.T) {
	eachTransport(t, echoMux, nil, func(t *testing.T, e *env) {
		p := e.dial()
		frame := request(codeEcho, 7, []byte("slowly"))
		for round := range 2 {
			for i := range frame {
				p.send(frame[i : i+1])
			}
			if r := p.recv(); string(r.Body) != "slowly" {
				t.Fatalf("round %d: %q", round, r.Body)
			}
		}
		// whole frames with the beginning of the next one
		p.send(append(append([]byte{}, frame...), frame[:13]...))
		p.recv()
		p.send(frame[13:])
		p.recv()
	})
}

func TestGarbage(t *testing.T) {
	bad := request(codeEcho, 1, nil)
	badSerialize := append([]byte{}, bad...)
	badSerialize[4] = 9
	longHeader := append([]byte{}, bad...)
	binary.BigEndian.PutUint32(longHeader[4:], uint32(len(bad)))
	tests := []struct{ name, bytes, log string }{
		{"http", "GET / HTTP/1.1\r\nHost: x\r\n\r\n", "looks like HTTP/1.1"},
		{"http post, like a PROXY header", "POST / HTTP/1.1\r\n\r\n", "looks like HTTP/1.1"},
		{"http2", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", "looks like HTTP/2"},
		{"ssh", "SSH-2.0-OpenSSH_9.6\r\n", "looks like SSH"},
		{"amqp", "AMQP\x00\x00\x09\x01", "looks like AMQP"},
		{"redis", "*1\r\n$4\r\nPING\r\n", "looks like Redis"},
		{"tls without certificate", "\x16\x03\x01\x00\xa5\x01\x00\x00", "looks like TLS"},
		{"broken PROXY v1", "PROXY TCP4 nobody 1.2.3.4 1 2\r\n", "looks like a broken PROXY header"},
		{"broken PROXY v2", proxyV2Signature + "\x31\x11\x00\x0c............", "looks like a broken PROXY header"},
		{"zeros", "\x00\x00\x00\x00\x00\x00\x00\x00", "length is too small"},
		{"over the limit", "\x01\x00\x00\x00\x00\x00\x00\x10", "length is too big"},
		{"negative", "\xff\xff\xff\xf0\x00\x00\x00\x10", "length is too big|length is too small"},
		{"serialize type", string(badSerialize), "unknown serialize type"},
		{"header length", string(longHeader), "header is longer than its frame"},
		{"json", "\x00\x00\x00\x0a\x00\x00\x00\x06{\"code", "frame: "},
	}
	for _, tr := range transports[:2] {
		for _, tt := range tests {
			t.Run(tr.name+"/"+tt.name, func(t *testing.T) {
				checkLeaks(t)
				e := newEnv(t, echoMux(), func(o *ServerOptions) { o.Transport = tr.t })
				p := e.dial()
				p.send([]byte(tt.bytes))
				p.wantClosed()
				good := e.dial()
				good.send(request(codeEcho, 1, []byte("x")))
				good.recv()
				found := false
				for _, want := range strings.Split(tt.log, "|") {
					found = found || strings.Contains(e.log.String(), want)
				}
				if !found || strings.Count(e.log.String(), "\n") != 1 {
					t.Errorf("log is %q, want one line with %q", e.log, tt.log)
				}
				if st := e.s.Stats(); st.BadFrames != 1 {
					t.Errorf("%d bad frames counted, want 1", st.BadFrames)
				}
			})
		}
	}
}

// What strangers send cannot fill the log.
func TestGarbageLogIsLimited(t *testing.T) {
	eachTransport(t, echoMux, func(o *ServerOptions) { o.Clock = newFakeClock() }, func(t *testing.T, e *env) {
		for range 20 {
			p := e.dial()
			p.send([]byte("GET / HTTP/1.1\r\n\r\n"))
			p.wantClosed()
		}
		if n := strings.Count(e.log.String(), "\n"); n != 1 || e.s.Stats().BadFrames != 20 {
			t.Errorf("%d log lines for %d bad frames:\n%s", n, e.s.Stats().BadFrames, e.log)
		}
	})
}

// Good frames before a bad one are answered.
func TestGarbageAfterFrames(t *testing.T) {
	eachTransport(t, echoMux, nil, func(t *testing.T, e *env) {
		p := e.dial()
		p.send(append(request(codeEcho, 5, []byte("ok")), "\xff\xff\xff\xff"...))
		if r := p.recv(); r.Opaque != 5 {
			t.Errorf("opaque %d", r.Opaque)
		}
		p.wantClosed()
	})
}

func TestOneway(t *testing.T) {
	var got atomic.Int32
	h := func() Handler {
		got.Store(0)
		return mux(Route{Code: codeEcho, Handle: echo}, Route{Code: codeSilent, Handle: func(c Conn, req *protocol.Command) {
			got.Add(1)
			c.Reply(req, &Reply{Body: []byte("never sent")})
			b := c.BeginReply()
			b.Buf = append(b.Buf, make([]byte, 5000)...)
			b.Send(req, &Reply{})
		}})
	}
	eachTransport(t, h, nil, func(t *testing.T, e *env) {
		p := e.dial()
		p.send(onewayRequest(codeSilent, 1, nil))
		p.send(onewayRequest(9999, 2, nil)) // no route: not even an error
		p.send(request(codeEcho, 3, nil))
		if r := p.recv(); r.Opaque != 3 {
			t.Errorf("a one-way request was answered: opaque %d", r.Opaque)
		}
		if err := e.client(nil).Oneway(context.Background(), e.addr(), protocol.NewRequest(codeSilent, nil, nil)); err != nil {
			t.Fatal(err)
		}
		eventually(t, "two one-way requests", func() bool { return got.Load() == 2 })
		eventually(t, "nothing in flight", func() bool { return e.s.Stats().InFlight == 0 })
	})
}

// Replies may come from any goroutine, also while others reply and bursts run.
func TestReplyFromOtherGoroutines(t *testing.T) {
	h := func() Handler {
		return mux(Route{Code: codeEcho, Handle: func(c Conn, req *protocol.Command) {
			cl := req.Clone()
			go func() {
				if cl.Opaque%3 == 0 {
					b := c.BeginReply()
					b.Buf = append(b.Buf, cl.Body...)
					b.Send(cl, &Reply{})
					return
				}
				echo(c, cl)
			}()
		}})
	}
	eachTransport(t, h, nil, func(t *testing.T, e *env) {
		cl := e.client(nil)
		var wg sync.WaitGroup
		for i := range 8 {
			wg.Add(1)
			go func() {
				defer wg.Done()
				for j := range 200 {
					body := bytes.Repeat([]byte{byte(i)}, j*40)
					r, err := cl.Invoke(context.Background(), e.addr(), protocol.NewRequest(codeEcho, nil, body))
					if err != nil || !bytes.Equal(r.Body, body) {
						t.Errorf("call %d/%d: %v", i, j, err)
						return
					}
				}
			}()
		}
		wg.Wait()
	})
}

// A reply that reaches a connection after its end is dropped.
func TestReplyAfterClose(t *testing.T) {
	conns := make(chan Conn, 1)
	reqs := make(chan *protocol.Command, 1)
	h := func() Handler {
		return mux(Route{Code: codeEcho, Handle: func(c Conn, req *protocol.Command) {
			conns <- c
			reqs <- req.Clone()
		}})
	}
	eachTransport(t, h, nil, func(t *testing.T, e *env) {
		p := e.dial()
		p.send(request(codeEcho, 1, nil))
		c, req := <-conns, <-reqs
		p.Close()
		<-c.Done()
		c.Reply(req, &Reply{})
		b := c.BeginReply()
		b.Grow(1 << 20)
		b.Buf = b.Buf[:4096]
		b.Send(req, &Reply{})
		if err := c.Oneway(protocol.NewRequest(1, nil, nil)); err != ErrClosed {
			t.Errorf("Oneway: %v, want ErrClosed", err)
		}
		if _, err := c.Invoke(context.Background(), protocol.NewRequest(1, nil, nil)); err != ErrClosed {
			t.Errorf("Invoke: %v, want ErrClosed", err)
		}
		if n := e.s.core.outTotal.Load(); n != 0 {
			t.Errorf("%d bytes of output counted", n)
		}
	})
}

func TestBodyBuffer(t *testing.T) {
	want := func(n int) []byte {
		b := make([]byte, n)
		for i := range b {
			b[i] = byte(i * 7)
		}
		return b
	}
	h := func() Handler {
		return mux(Route{Code: codeBig, Handle: func(c Conn, req *protocol.Command) {
			n := int(binary.BigEndian.Uint32(req.Body))
			b := c.BeginReply()
			switch req.Opaque % 4 {
			case 0:
				b.Grow(n)
				b.Buf = append(b.Buf, want(n)...)
			case 1: // outgrows its memory by itself
				b.Buf = append(b.Buf, want(n)...)
			case 2: // piece by piece
				for _, x := range want(n) {
					b.Buf = append(b.Buf, x)
				}
			case 3:
				b.Drop()
				b = c.BeginReply()
				b.Buf = append(b.Buf, want(n)[:n/2]...)
				b.Grow(n)
				b.Buf = append(b.Buf, want(n)[n/2:]...)
			}
			ext := protocol.ExtFields{{Key: "k", Value: "v"}}
			if n%2 == 1 { // a header that the head room cannot hold
				ext = protocol.ExtFields{{Key: "k", Value: strings.Repeat("v", 2000)}}
			}
			b.Send(req, &Reply{Code: 19, Remark: "r", Ext: ext})
		}})
	}
	eachTransport(t, h, nil, func(t *testing.T, e *env) {
		p := e.dial()
		for _, n := range []int{0, 1, 2000, 2048, 2049, 65_000, 65_536, 70_001, 300_000, 5 << 20} {
			for opaque := range int32(4) {
				p.send(request(codeBig, opaque, binary.BigEndian.AppendUint32(nil, uint32(n))))
				r := p.recv()
				v, _ := r.Ext.Get("k")
				if r.Code != 19 || r.Remark != "r" || r.Opaque != opaque || !strings.HasPrefix(v, "v") || !bytes.Equal(r.Body, want(n)) {
					t.Fatalf("size %d, way %d: code %d, %d bytes", n, opaque, r.Code, len(r.Body))
				}
			}
		}
	})
}

// A reply beyond the frame limit becomes an error, since sending it would cost the client its connection.
func TestReplyTooBig(t *testing.T) {
	h := func() Handler {
		return mux(Route{Code: codeBig, Handle: func(c Conn, req *protocol.Command) {
			if req.Opaque == 1 {
				c.Reply(req, &Reply{Body: make([]byte, 1<<20)})
				return
			}
			b := c.BeginReply()
			b.Buf = append(b.Buf, make([]byte, 1<<20)...)
			b.Send(req, &Reply{})
		}})
	}
	eachTransport(t, h, func(o *ServerOptions) { o.Limits.MaxFrame = 1 << 20 }, func(t *testing.T, e *env) {
		p := e.dial()
		for opaque := int32(1); opaque <= 2; opaque++ {
			p.send(request(codeBig, opaque, nil))
			if r := p.recv(); r.Code != protocol.RespSystemError || r.Opaque != opaque {
				t.Errorf("code %d, opaque %d", r.Code, r.Opaque)
			}
		}
	})
}

func TestConnFacts(t *testing.T) {
	type seen struct {
		c      Conn
		reason chan CloseReason
	}
	var s seen
	h := func() Handler {
		s.reason = make(chan CloseReason, 2)
		return handlerFunc{
			opened: func(c Conn) { c.SetValue("mine") },
			closed: func(_ Conn, r CloseReason) { s.reason <- r },
			burst: func(c Conn, reqs []*protocol.Command) {
				s.c = c
				if reqs[0].Opaque == 2 {
					c.Reply(reqs[0], &Reply{})
					c.Close(ClosedByHandler)
					return
				}
				c.Reply(reqs[0], &Reply{Remark: c.RemoteAddr().String() + " " + c.LocalAddr().String() + " " + c.Value().(string)})
			},
		}
	}
	eachTransport(t, h, nil, func(t *testing.T, e *env) {
		p := e.dial()
		p.send(request(codeAddr, 1, nil))
		if r, want := p.recv(), p.LocalAddr().String()+" "+p.RemoteAddr().String()+" mine"; r.Remark != want {
			t.Errorf("got %q, want %q", r.Remark, want)
		}
		p.Close()
		if r := <-s.reason; r != ClosedByPeer {
			t.Errorf("closed %v, want by peer", r)
		}
		q := e.dial()
		q.send(request(codeAddr, 2, nil))
		if r := q.recv(); r.Opaque != 2 {
			t.Errorf("opaque %d", r.Opaque)
		}
		if r := <-s.reason; r != ClosedByHandler {
			t.Errorf("closed %v, want by handler", r)
		}
		select {
		case r := <-s.reason:
			t.Errorf("Closed was called again: %v", r)
		default:
		}
	})
}

// A connection that never shows a frame is not told to the handler.
func TestSilentConnIsNotOpened(t *testing.T) {
	h := func() Handler {
		return handlerFunc{
			opened: func(Conn) { t.Error("opened") },
			closed: func(Conn, CloseReason) { t.Error("closed") },
		}
	}
	eachTransport(t, h, nil, func(t *testing.T, e *env) {
		c, err := net.Dial("tcp", e.addr())
		if err != nil {
			t.Fatal(err)
		}
		eventually(t, "connection", func() bool { return e.s.Stats().Conns == 1 })
		c.Close()
		eventually(t, "no connection", func() bool { return e.s.Stats().Conns == 0 })
	})
}

// A peer that closes its sending side at once still gets its replies.
func TestHalfClose(t *testing.T) {
	for _, tr := range transports[:2] {
		t.Run(tr.name, func(t *testing.T) {
			checkLeaks(t)
			e := newEnv(t, echoMux(), func(o *ServerOptions) { o.Transport = tr.t })
			p := e.dial()
			p.send(request(codeEcho, 1, []byte("bye")))
			p.Conn.(*net.TCPConn).CloseWrite()
			if r := p.recv(); string(r.Body) != "bye" {
				t.Errorf("got %q", r.Body)
			}
			p.wantClosed()
		})
	}
}

func TestPipe(t *testing.T) {
	checkLeaks(t)
	p, err := NewPipe(echoMux(), mux(Route{Code: codeSilent, Handle: echo}), Common{})
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	r, err := p.Client.Invoke(ctx, protocol.NewRequest(codeEcho, nil, []byte("down")))
	if err != nil || string(r.Body) != "down" {
		t.Fatal(r, err)
	}
	r, err = p.Server.Invoke(ctx, protocol.NewRequest(codeSilent, nil, []byte("up")))
	if err != nil || string(r.Body) != "up" {
		t.Fatal(r, err)
	}
	p.Server.Close(ClosedByHandler)
	<-p.Client.Done()
	if _, err := p.Client.Invoke(ctx, protocol.NewRequest(codeEcho, nil, nil)); err != ErrClosed {
		t.Errorf("Invoke on a closed pipe: %v", err)
	}
}

func TestReplyBatch(t *testing.T) {
	type held struct {
		c   Conn
		req *protocol.Command
	}
	waiting := make(chan held, 100)
	h := func() Handler {
		return mux(Route{Code: codeEcho, Handle: func(c Conn, req *protocol.Command) { waiting <- held{c, req.Clone()} }})
	}
	eachTransport(t, h, nil, func(t *testing.T, e *env) {
		a, b := e.dial(), e.dial()
		for i := range int32(10) {
			a.send(request(codeEcho, i, nil))
			b.send(request(codeEcho, i, nil))
		}
		var batch ReplyBatch
		for range 2 {
			for range 10 {
				w := <-waiting
				batch.Reply(w.c, w.req, &Reply{})
			}
			batch.Flush()
		}
		for range 10 {
			a.recv()
			b.recv()
		}
		eventually(t, "nothing in flight", func() bool { return e.s.Stats().InFlight == 0 })
	})
}
