package remoting

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strconv"
	"sync"
	"time"
)

// Server accepts connections and hands their requests to one Handler.
//
// NewServer checks, Listen binds, Serve accepts in goroutines of the server's own, Close ends all of them.
type Server struct {
	opts ServerOptions
	core *core

	mu struct {
		sync.Mutex
		main, fast net.Listener
		serving    bool
		closed     bool
	}
}

// NewServer checks o and returns a server that does not listen yet.
func NewServer(o ServerOptions, h Handler) (*Server, error) {
	o.fill()
	if h == nil {
		return nil, errors.New("remoting: a server needs a handler")
	}
	if o.Port < 0 || o.Port > 65535 || o.FastPort && o.Port != 0 && o.Port < 3 {
		return nil, fmt.Errorf("remoting: listen port %d: out of range", o.Port)
	}
	if o.TLS == nil && o.SelfSigned && o.TLSMode != TLSDisabled {
		cfg, err := SelfSignedConfig(o.Clock)
		if err != nil {
			return nil, fmt.Errorf("remoting: self-signed certificate: %w", err)
		}
		o.TLS = cfg
	}
	if o.TLSMode == TLSEnforcing && o.TLS == nil {
		return nil, errors.New("remoting: TLS is enforced, but there is no certificate")
	}
	s := &Server{opts: o, core: newCore(&o.Common, h)}
	s.core.tls, s.core.tlsMode = o.TLS, o.TLSMode
	return s, nil
}

// Listen binds the ports. Connections wait until Serve.
func (s *Server) Listen() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.mu.closed {
		return ErrClosed
	}
	main, err := s.bind(s.opts.Port)
	if err != nil {
		return err
	}
	if s.opts.FastPort {
		port := 0
		if s.opts.Port != 0 {
			port = s.opts.Port - 2
		}
		if s.mu.fast, err = s.bind(port); err != nil {
			main.Close()
			return err
		}
	}
	s.mu.main = main
	return nil
}

func (s *Server) bind(port int) (net.Listener, error) {
	l, err := net.Listen("tcp", net.JoinHostPort(s.opts.BindAddress, strconv.Itoa(port)))
	if err != nil {
		return nil, fmt.Errorf("remoting: listen: %w", err)
	}
	return l, nil
}

// Serve starts to accept, listening first if Listen was not called. It does not wait.
func (s *Server) Serve() error {
	if s.Addr() == nil {
		if err := s.Listen(); err != nil {
			return err
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.mu.closed || s.mu.serving {
		return ErrClosed
	}
	s.mu.serving = true
	for _, l := range []net.Listener{s.mu.main, s.mu.fast} {
		if l == nil {
			continue
		}
		fast := l == s.mu.fast
		if err := s.core.group.Go("accept", func(ctx context.Context) { s.accept(ctx, l, fast) }); err != nil {
			return err
		}
	}
	return nil
}

// Addr is the main port's address, nil before Listen.
func (s *Server) Addr() net.Addr {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.mu.main == nil {
		return nil
	}
	return s.mu.main.Addr()
}

// FastAddr is the second port's address, nil if there is none.
func (s *Server) FastAddr() net.Addr {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.mu.fast == nil {
		return nil
	}
	return s.mu.fast.Addr()
}

// Stats returns counters.
func (s *Server) Stats() Stats { return s.core.snapshot() }

// Conns returns the connections that are open now, those that have not shown a frame yet included.
func (s *Server) Conns() []Conn {
	list := s.core.list()
	conns := make([]Conn, len(list))
	for i, c := range list {
		conns[i] = c
	}
	return conns
}

func (s *Server) accept(ctx context.Context, l net.Listener, fast bool) {
	const longest = time.Second
	wait := time.Duration(0)
	for {
		nc, err := l.Accept()
		if err == nil {
			wait = 0
			s.start(nc, fast)
			continue
		}
		if errors.Is(err, net.ErrClosed) || ctx.Err() != nil {
			return
		}
		wait = min(max(2*wait, 5*time.Millisecond), longest) // most likely out of file descriptors
		s.core.log.Limited(s.core.clk, "accept", time.Second).Errorf("accept on %v: %v", l.Addr(), err)
		t := s.core.clk.NewTimer(wait)
		select {
		case <-t.C():
		case <-ctx.Done():
			t.Stop()
			return
		}
	}
}

// start serves an accepted connection.
func (s *Server) start(nc net.Conn, fast bool) {
	c := newConn(s.core, addrPort(nc.LocalAddr()), addrPort(nc.RemoteAddr()))
	c.fast = fast
	if err := serve(c, nc, s.opts.Transport, true); err != nil {
		s.core.log.Limited(s.core.clk, "start", time.Second).Warnf("refusing connection of %v: %v", c.RemoteAddr(), err)
	}
}

// serve starts c on nc with the transport asked for, where that is possible.
func serve(c *conn, nc net.Conn, t Transport, server bool) error {
	tcp, ok := nc.(*net.TCPConn)
	if !ok {
		return serveNet(c, nc, server)
	}
	k := c.core
	if k.sndBuf > 0 {
		tcp.SetWriteBuffer(k.sndBuf)
	}
	if k.rcvBuf > 0 {
		tcp.SetReadBuffer(k.rcvBuf)
	}
	if t == TransportNet {
		return serveNet(c, tcp, server)
	}
	return serveNetpoll(c, tcp, server)
}

// Close stops accepting, answers new requests GO_AWAY (from clients that know it), waits until what is in flight is
// answered or until nothing moves any more, then closes all connections and waits for their goroutines. It is ctx's
// error if a handler did not return in time. Handlers must not be closed before Close returns, but what they hold back
// on purpose, such as long polls, should be answered before or while it runs. A second call does nothing.
func (s *Server) Close(ctx context.Context) error {
	s.mu.Lock()
	closed := s.mu.closed
	s.mu.closed = true
	main, fast := s.mu.main, s.mu.fast
	s.mu.Unlock()
	if closed {
		return nil
	}
	for _, l := range []net.Listener{main, fast} {
		if l != nil {
			l.Close()
		}
	}
	return s.core.stop(ctx)
}
