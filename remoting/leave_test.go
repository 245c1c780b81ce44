package remoting

import (
	"bytes"
	"context"
	"io"
	"net"
	"sync/atomic"
	"testing"

	"github.com/seedmq/seedmq/remoting/protocol"
)

// gateMux echoes, and holds up the read goroutine at codeSilent until its channel is closed.
func gateMux() (Handler, chan struct{}) {
	gate := make(chan struct{})
	return mux(Route{Code: codeEcho, Handle: echo}, Route{Code: codeSilent, Handle: func(Conn, *protocol.Command) { <-gate }}), gate
}

// leave makes the connection of p leave netpoll: while its handler is held up by gate, p sends until it is told to stop.
// It returns how many echo replies are to come, with opaques from 0. What p sends after that is in tail.
func (e *env) leave(p *testPeer, gate chan struct{}, tail []byte) (n int32) {
	e.t.Helper()
	body := make([]byte, 64<<10)
	all := onewayRequest(codeSilent, 0, nil)
	for ; int(n)*len(body) < 2*brakeAt; n++ {
		all = append(all, request(codeEcho, n, body)...)
	}
	go p.Write(append(all, tail...))
	eventually(e.t, "the peer is told to stop", e.link().slow.Load)
	close(gate)
	return n
}

func netpollEnv(t *testing.T) (*env, *testPeer, chan struct{}) {
	checkLeaks(t)
	h, gate := gateMux()
	e := newEnv(t, h, func(*ServerOptions) {})
	return e, e.dial(), gate
}

func (e *env) link() *netpollLink { return e.s.core.list()[0].link.(*netpollLink) }

func (l *netpollLink) hasLeft() bool {
	l.fdMu.RLock()
	defer l.fdMu.RUnlock()
	return l.gone
}

// A connection that leaves netpoll keeps its replies, the calls that wait on it, and half frames; and works on.
func TestLeaveNetpoll(t *testing.T) {
	e, p, gate := netpollEnv(t)
	p.send(request(codeEcho, 1000, nil))
	p.recv()
	c, l := e.s.Conns()[0], e.link()
	result := make(chan error, 1)
	go func() {
		r, err := c.Invoke(context.Background(), protocol.NewRequest(codeEcho, nil, []byte("ping")))
		if err == nil && string(r.Body) != "pong" {
			err = io.ErrUnexpectedEOF
		}
		result <- err
	}()
	ping := p.recv()
	half := request(codeEcho, 9999, []byte("in two parts"))
	n := e.leave(p, gate, half[:len(half)/2])
	for i := range n {
		if r := p.recv(); r.Opaque != i {
			t.Fatalf("reply %d has opaque %d", i, r.Opaque)
		}
	}
	eventually(t, "the connection leaves", l.hasLeft)
	p.send(half[len(half)/2:])
	if r := p.recv(); string(r.Body) != "in two parts" {
		t.Errorf("reply %q", r.Body)
	}
	pong := &protocol.Command{Opaque: ping.Opaque, Flag: protocol.FlagResponse, Body: []byte("pong")}
	p.send(protocol.AppendFrame(nil, pong))
	if err := <-result; err != nil {
		t.Errorf("call that waited: %v", err)
	}
	if e.s.Conns()[0] != c {
		t.Error("the connection is another one")
	}
}

// What a peer that closed its sending side still has to get is sent by a connection that has left.
func TestLeaveThenHalfClose(t *testing.T) {
	e, p, gate := netpollEnv(t)
	eventually(t, "connection", func() bool { return len(e.s.Conns()) == 1 })
	l := e.link()
	n := e.leave(p, gate, nil)
	eventually(t, "the connection leaves", l.hasLeft)
	p.Conn.(*net.TCPConn).CloseWrite()
	for i := range n {
		if r := p.recv(); r.Opaque != i {
			t.Fatalf("reply %d has opaque %d", i, r.Opaque)
		}
	}
	p.wantClosed()
	eventually(t, "end", func() bool { return e.s.Stats().Conns == 0 })
}

// A connection that has left ends like any other, whoever ends it and whether or not it has been told to be slow.
func TestLeaveThenClose(t *testing.T) {
	for name, end := range map[string]func(e *env, p *testPeer){
		"peer":    func(_ *env, p *testPeer) { p.Close() },
		"handler": func(e *env, _ *testPeer) { e.s.Conns()[0].Close(ClosedByHandler) },
		"abort":   func(e *env, _ *testPeer) { e.s.Conns()[0].Close(ClosedSlowPeer) },
		"server":  func(e *env, _ *testPeer) { e.s.Close(context.Background()) },
	} {
		t.Run(name, func(t *testing.T) {
			e, p, gate := netpollEnv(t)
			eventually(t, "connection", func() bool { return len(e.s.Conns()) == 1 })
			l := e.link()
			n := e.leave(p, gate, nil)
			for range n {
				p.recv()
			}
			eventually(t, "the connection leaves", l.hasLeft)
			end(e, p)
			eventually(t, "end", func() bool { return e.s.Stats().Conns == 0 })
		})
	}
}

// While it leaves, pollers and peer go on: nothing is lost or comes twice. Many connections do it at once.
func TestLeaveUnderLoad(t *testing.T) {
	const conns, n, size = 8, 400, 32 << 10
	var whole atomic.Int32
	h := handlerFunc{burst: func(c Conn, reqs []*protocol.Command) {
		next, _ := c.Value().(int32)
		for _, r := range reqs {
			if r.Opaque != next || len(r.Body) != size || !bytes.Equal(r.Body[:8], bytes.Repeat([]byte{byte(next)}, 8)) {
				next = -1 << 20
			}
			next++
		}
		c.SetValue(next)
		if next == n {
			whole.Add(1)
		}
	}}
	checkLeaks(t)
	e := newEnv(t, h, func(*ServerOptions) {})
	for range conns {
		p := e.dial()
		go func() {
			for i := range int32(n) {
				if _, err := p.Write(onewayRequest(codeSilent, i, bytes.Repeat([]byte{byte(i)}, size))); err != nil {
					return
				}
			}
		}()
	}
	eventually(t, "all came whole", func() bool { return whole.Load() == conns })
}
