package remoting

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"sync"
	"time"

	"github.com/seedmq/seedmq/remoting/protocol"
)

// Client keeps one connection per address, dialed when it is needed and again after it ended. Safe for concurrent use.
type Client struct {
	o    ClientOptions
	core *core

	mu struct {
		sync.Mutex
		peers  map[string]*peer
		closed bool
	}
}

// peer is the connection to one address, or the dial that will bring it.
type peer struct {
	ready chan struct{} // closed when c or err is set
	c     *conn
	err   error
}

// NewClient returns a client without connections.
func NewClient(o ClientOptions) *Client {
	o.Common.fill()
	orTime(&o.ConnectTimeout, 3*time.Second)
	orTime(&o.InvokeTimeout, 3*time.Second)
	cl := &Client{o: o, core: newCore(&o.Common, o.Handler)}
	cl.mu.peers = map[string]*peer{}
	return cl
}

// Invoke sends cmd to addr ("host:port") and waits for the reply, which the caller owns. The error is a *ConnectError
// (nothing was sent), a *TimeoutError, ErrClosed, ErrFrameTooBig or ErrTooManyPending. A reply with an error code is no
// error here. After GO_AWAY the call is made again once, on a new connection.
func (cl *Client) Invoke(ctx context.Context, addr string, cmd *protocol.Command) (*protocol.Command, error) {
	ctx, cancel := cl.deadline(ctx)
	defer cancel()
	r, c, err := cl.invoke(ctx, addr, cmd)
	if err == nil && r.Code == protocol.RespGoAway {
		cl.retire(addr, c)
		if again, _, err := cl.invoke(ctx, addr, cmd); err == nil {
			return again, nil
		}
	}
	return r, err
}

func (cl *Client) deadline(ctx context.Context) (context.Context, context.CancelFunc) {
	if _, ok := ctx.Deadline(); ok {
		return ctx, func() {}
	}
	return context.WithTimeout(ctx, cl.o.InvokeTimeout)
}

func (cl *Client) invoke(ctx context.Context, addr string, cmd *protocol.Command) (*protocol.Command, *conn, error) {
	c, err := cl.conn(ctx, addr)
	if err != nil {
		return nil, nil, err
	}
	r, err := c.Invoke(ctx, cmd)
	if err != nil {
		if errors.Is(err, ErrTimeout) && !cl.o.KeepOnTimeout && !errors.Is(err, context.Canceled) {
			cl.retire(addr, c)
			c.Close(ClosedByHandler)
		}
		return nil, c, err
	}
	return r, c, nil
}

// InvokeAsync is Invoke in a goroutine of the client's: done is called exactly once, unless InvokeAsync returns an error.
func (cl *Client) InvokeAsync(ctx context.Context, addr string, cmd *protocol.Command, done func(*protocol.Command, error)) error {
	if cl.core.group.Go("invoke", func(context.Context) { done(cl.Invoke(ctx, addr, cmd)) }) != nil {
		return ErrClosed
	}
	return nil
}

// Oneway sends cmd to addr and wants no reply. nil says only that it was queued for sending.
func (cl *Client) Oneway(ctx context.Context, addr string, cmd *protocol.Command) error {
	ctx, cancel := cl.deadline(ctx)
	defer cancel()
	c, err := cl.conn(ctx, addr)
	if err != nil {
		return err
	}
	return c.Oneway(cmd)
}

// Conn returns the connection to addr, dialing if there is none.
func (cl *Client) Conn(ctx context.Context, addr string) (Conn, error) {
	ctx, cancel := cl.deadline(ctx)
	defer cancel()
	return cl.conn(ctx, addr)
}

// Disconnect closes the connection to addr, if there is one.
func (cl *Client) Disconnect(addr string) {
	cl.mu.Lock()
	p := cl.mu.peers[addr]
	delete(cl.mu.peers, addr)
	cl.mu.Unlock()
	if p == nil {
		return
	}
	select {
	case <-p.ready:
		if p.c != nil {
			p.c.Close(ClosedByHandler)
		}
	default: // still dialing: whoever dials keeps it for the one call
	}
}

// Stats returns counters.
func (cl *Client) Stats() Stats { return cl.core.snapshot() }

// conn finds or makes the connection. Only one caller dials; the others wait, as long as their contexts allow.
func (cl *Client) conn(ctx context.Context, addr string) (*conn, error) {
	for {
		cl.mu.Lock()
		if cl.mu.closed {
			cl.mu.Unlock()
			return nil, ErrClosed
		}
		p := cl.mu.peers[addr]
		if p == nil || p.ended() {
			p = &peer{ready: make(chan struct{})}
			cl.mu.peers[addr] = p
			if err := cl.core.group.Go("dial", func(ctx context.Context) { cl.dial(ctx, addr, p) }); err != nil {
				cl.mu.Unlock()
				return nil, ErrClosed
			}
		}
		cl.mu.Unlock()
		select {
		case <-p.ready:
		case <-ctx.Done():
			return nil, &ConnectError{Addr: addr, Err: ctx.Err()}
		}
		if p.err != nil {
			return nil, p.err
		}
		if !p.ended() {
			return p.c, nil
		}
		if ctx.Err() != nil {
			return nil, &ConnectError{Addr: addr, Err: ctx.Err()}
		}
	}
}

// ended reports whether the peer's connection is known to be gone.
func (p *peer) ended() bool {
	select {
	case <-p.ready:
		return p.c == nil || p.c.closing()
	default:
		return false
	}
}

// retire takes a connection out of use for new calls. It ends when the peer closes it, or idle.
func (cl *Client) retire(addr string, c *conn) {
	cl.mu.Lock()
	defer cl.mu.Unlock()
	if p := cl.mu.peers[addr]; p != nil && p.c == c {
		delete(cl.mu.peers, addr)
	}
}

// dial fills p.
func (cl *Client) dial(ctx context.Context, addr string, p *peer) {
	p.c, p.err = cl.connect(ctx, addr)
	cl.mu.Lock()
	if p.err != nil && cl.mu.peers[addr] == p {
		delete(cl.mu.peers, addr)
	}
	close(p.ready) // under the lock, so that p.c is seen by retire
	cl.mu.Unlock()
}

func (cl *Client) connect(ctx context.Context, addr string) (*conn, error) {
	ctx, cancel := context.WithTimeout(ctx, cl.o.ConnectTimeout)
	defer cancel()
	nc, err := (&net.Dialer{}).DialContext(ctx, "tcp", addr)
	if err != nil {
		return nil, &ConnectError{Addr: addr, Err: err}
	}
	c := newConn(cl.core, addrPort(nc.LocalAddr()), addrPort(nc.RemoteAddr()))
	if cl.o.TLS != nil {
		cfg := cl.o.TLS
		if cfg.ServerName == "" && !cfg.InsecureSkipVerify {
			cfg = cfg.Clone()
			cfg.ServerName, _, _ = net.SplitHostPort(addr)
		}
		tc := tls.Client(nc, cfg)
		if err := tc.HandshakeContext(ctx); err != nil {
			nc.Close()
			return nil, &ConnectError{Addr: addr, Err: err}
		}
		nc = tc
	}
	if err := serve(c, nc, cl.o.Transport, false); err != nil {
		return nil, &ConnectError{Addr: addr, Err: err}
	}
	return c, nil
}

// Close ends all connections; calls that wait fail with ErrClosed. It waits for the client's goroutines.
func (cl *Client) Close() error {
	cl.mu.Lock()
	closed := cl.mu.closed
	cl.mu.closed = true
	cl.mu.Unlock()
	if closed {
		return nil
	}
	return cl.core.stopNow()
}
