package remoting

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/seedmq/seedmq/remoting/protocol"
)

func silentMux() Handler {
	return mux(Route{Code: codeEcho, Handle: echo}, Route{Code: codeSilent, Handle: func(Conn, *protocol.Command) {}})
}

// closedPort is an address that nobody listens on.
func closedPort(t *testing.T) string {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

func TestClientConnectError(t *testing.T) {
	checkLeaks(t)
	cl := NewClient(ClientOptions{})
	defer cl.Close()
	addr := closedPort(t)
	for _, call := range []func() error{
		func() error {
			_, err := cl.Invoke(context.Background(), addr, protocol.NewRequest(codeEcho, nil, nil))
			return err
		},
		func() error {
			return cl.Oneway(context.Background(), addr, protocol.NewRequest(codeEcho, nil, nil))
		},
		func() error { _, err := cl.Conn(context.Background(), addr); return err },
	} {
		err := call()
		var ce *ConnectError
		if !errors.As(err, &ce) || !errors.Is(err, ErrConnect) || ce.Addr != addr {
			t.Errorf("error %v, want a ConnectError", err)
		}
	}
	if _, err := cl.Invoke(context.Background(), "no port", protocol.NewRequest(codeEcho, nil, nil)); !errors.Is(err, ErrConnect) {
		t.Errorf("bad address: %v", err)
	}
}

func TestClientTLSToPlainServer(t *testing.T) {
	checkLeaks(t)
	e := newEnv(t, echoMux(), func(*ServerOptions) {})
	cl := e.client(func(o *ClientOptions) { o.TLS = &tls.Config{InsecureSkipVerify: true} })
	if _, err := cl.Conn(context.Background(), e.addr()); !errors.Is(err, ErrConnect) {
		t.Errorf("error %v, want a ConnectError", err)
	}
}

// A timeout closes the connection, as in Java, unless told otherwise; the next call dials again.
func TestClientTimeout(t *testing.T) {
	eachTransport(t, silentMux, nil, func(t *testing.T, e *env) {
		for _, keep := range []bool{false, true} {
			cl := e.client(func(o *ClientOptions) { o.KeepOnTimeout = keep })
			first, err := cl.Conn(context.Background(), e.addr())
			if err != nil {
				t.Fatal(err)
			}
			ctx, cancel := context.WithTimeout(context.Background(), 20*time.Millisecond)
			_, err = cl.Invoke(ctx, e.addr(), protocol.NewRequest(codeSilent, nil, nil))
			cancel()
			var te *TimeoutError
			if !errors.As(err, &te) || !errors.Is(err, ErrTimeout) || !errors.Is(err, context.DeadlineExceeded) || te.Code != codeSilent {
				t.Fatalf("error %v, want a TimeoutError", err)
			}
			if _, err := cl.Invoke(context.Background(), e.addr(), protocol.NewRequest(codeEcho, nil, nil)); err != nil {
				t.Fatal(err)
			}
			second, err := cl.Conn(context.Background(), e.addr())
			if err != nil {
				t.Fatal(err)
			}
			if same := first.ID() == second.ID(); same != keep {
				t.Errorf("keep %v: same connection afterwards: %v", keep, same)
			}
		}
	})
}

// InvokeTimeout applies where the context has no deadline, and a late reply is dropped.
func TestClientDefaultTimeoutAndLateReply(t *testing.T) {
	held := make(chan func(), 1)
	h := func() Handler {
		return mux(Route{Code: codeEcho, Handle: echo}, Route{Code: codeSilent, Handle: func(c Conn, r *protocol.Command) {
			cl := r.Clone()
			held <- func() { c.Reply(cl, &Reply{}) }
		}})
	}
	eachTransport(t, h, nil, func(t *testing.T, e *env) {
		cl := e.client(func(o *ClientOptions) { o.InvokeTimeout, o.KeepOnTimeout = 500*time.Millisecond, true })
		if _, err := cl.Invoke(context.Background(), e.addr(), protocol.NewRequest(codeSilent, nil, nil)); !errors.Is(err, ErrTimeout) {
			t.Fatal(err)
		}
		(<-held)()
		eventually(t, "late reply", func() bool { return cl.Stats().Unmatched == 1 })
	})
}

// Calls that wait fail at once when the connection ends, and the client dials again.
func TestClientConnectionLost(t *testing.T) {
	eachTransport(t, silentMux, nil, func(t *testing.T, e *env) {
		cl := e.client(nil)
		errs := make(chan error, 10)
		for range cap(errs) {
			go func() {
				_, err := cl.Invoke(context.Background(), e.addr(), protocol.NewRequest(codeSilent, nil, nil))
				errs <- err
			}()
		}
		eventually(t, "calls", func() bool { return e.s.Stats().Requests == int64(cap(errs)) })
		if n := len(e.s.Conns()); n != 1 {
			t.Errorf("%d connections to one address", n)
		}
		e.s.Conns()[0].Close(ClosedByHandler)
		for range cap(errs) {
			if err := <-errs; !errors.Is(err, ErrClosed) {
				t.Errorf("error %v, want ErrClosed", err)
			}
		}
		if r, err := cl.Invoke(context.Background(), e.addr(), protocol.NewRequest(codeEcho, nil, []byte("again"))); err != nil || string(r.Body) != "again" {
			t.Errorf("after the loss: %v", err)
		}
	})
}

// After GO_AWAY the call is made once more, on a new connection.
func TestClientGoAway(t *testing.T) {
	var calls atomic.Int32
	h := func() Handler {
		calls.Store(0)
		return mux(Route{Code: codeEcho, Handle: func(c Conn, r *protocol.Command) {
			if calls.Add(1) == 1 {
				c.Reply(r, &Reply{Code: protocol.RespGoAway})
				return
			}
			echo(c, r)
		}})
	}
	eachTransport(t, h, nil, func(t *testing.T, e *env) {
		cl := e.client(nil)
		first, err := cl.Conn(context.Background(), e.addr())
		if err != nil {
			t.Fatal(err)
		}
		r, err := cl.Invoke(context.Background(), e.addr(), protocol.NewRequest(codeEcho, nil, []byte("x")))
		if err != nil || r.Code != 0 {
			t.Fatal(r, err)
		}
		second, err := cl.Conn(context.Background(), e.addr())
		if err != nil || first.ID() == second.ID() {
			t.Errorf("the old connection is still in use: %v", err)
		}
	})
}

// A server calls its client on the client's own connection, both ways at once.
func TestServerCallsClient(t *testing.T) {
	conns := make(chan Conn, 1)
	h := func() Handler {
		return mux(Route{Code: codeEcho, Handle: func(c Conn, r *protocol.Command) {
			echo(c, r)
			select {
			case conns <- c:
			default:
			}
		}})
	}
	oneway := make(chan string, 1)
	eachTransport(t, h, nil, func(t *testing.T, e *env) {
		cl := e.client(func(o *ClientOptions) {
			o.Handler = mux(Route{Code: codeSilent, Handle: echo}, Route{Code: codeMain, Handle: func(_ Conn, r *protocol.Command) { oneway <- string(r.Body) }})
		})
		if _, err := cl.Invoke(context.Background(), e.addr(), protocol.NewRequest(codeEcho, nil, nil)); err != nil {
			t.Fatal(err)
		}
		c := <-conns
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		var wg sync.WaitGroup
		for range 4 {
			wg.Add(2)
			go func() {
				defer wg.Done()
				for range 50 {
					if r, err := c.Invoke(ctx, protocol.NewRequest(codeSilent, nil, []byte("up"))); err != nil || string(r.Body) != "up" {
						t.Errorf("server's call: %v", err)
						return
					}
				}
			}()
			go func() {
				defer wg.Done()
				for range 50 {
					if r, err := cl.Invoke(ctx, e.addr(), protocol.NewRequest(codeEcho, nil, []byte("down"))); err != nil || string(r.Body) != "down" {
						t.Errorf("client's call: %v", err)
						return
					}
				}
			}()
		}
		wg.Wait()
		if err := c.Oneway(protocol.NewRequest(codeMain, nil, []byte("hi"))); err != nil || <-oneway != "hi" {
			t.Error(err)
		}
		for len(conns) > 0 {
			<-conns
		}
		// A client without a handler answers that it knows nothing.
		bare := e.client(nil)
		if _, err := bare.Invoke(ctx, e.addr(), protocol.NewRequest(codeEcho, nil, nil)); err != nil {
			t.Fatal(err)
		}
		r, err := (<-conns).Invoke(ctx, protocol.NewRequest(codeSilent, nil, nil))
		if err != nil || r.Code != protocol.RespRequestCodeNotSupported || r.Remark != " request type 1002 not supported" {
			t.Errorf("bare client: %+v, %v", r, err)
		}
	})
}

func TestClientAsync(t *testing.T) {
	eachTransport(t, echoMux, nil, func(t *testing.T, e *env) {
		cl := e.client(nil)
		got := make(chan string, 1)
		err := cl.InvokeAsync(context.Background(), e.addr(), protocol.NewRequest(codeEcho, nil, []byte("a")), func(r *protocol.Command, err error) {
			if err != nil {
				t.Error(err)
				r = &protocol.Command{}
			}
			got <- string(r.Body)
		})
		if err != nil || <-got != "a" {
			t.Error(err)
		}
	})
}

func TestClientDisconnectAndClose(t *testing.T) {
	eachTransport(t, silentMux, nil, func(t *testing.T, e *env) {
		cl := e.client(nil)
		c, err := cl.Conn(context.Background(), e.addr())
		if err != nil {
			t.Fatal(err)
		}
		cl.Disconnect(e.addr())
		cl.Disconnect("nobody:1")
		<-c.Done()
		errs := make(chan error, 1)
		go func() {
			_, err := cl.Invoke(context.Background(), e.addr(), protocol.NewRequest(codeSilent, nil, nil))
			errs <- err
		}()
		eventually(t, "call", func() bool { return e.s.Stats().Requests == 1 })
		cl.Close()
		cl.Close()
		if err := <-errs; !errors.Is(err, ErrClosed) {
			t.Errorf("waiting call: %v", err)
		}
		if _, err := cl.Invoke(context.Background(), e.addr(), protocol.NewRequest(codeEcho, nil, nil)); err != ErrClosed {
			t.Errorf("call after Close: %v", err)
		}
		if err := cl.InvokeAsync(context.Background(), e.addr(), protocol.NewRequest(codeEcho, nil, nil), nil); err != ErrClosed {
			t.Errorf("async call after Close: %v", err)
		}
	})
}

// Many callers, one dial; a caller whose context ends does not spoil it for the others.
func TestClientSharesDial(t *testing.T) {
	checkLeaks(t)
	e := newEnv(t, echoMux(), func(*ServerOptions) {})
	cl := e.client(nil)
	var wg sync.WaitGroup
	for i := range 50 {
		wg.Add(1)
		go func() {
			defer wg.Done()
			ctx, cancel := context.WithTimeout(context.Background(), patience)
			if i%5 == 0 {
				cancel()
			}
			defer cancel()
			if _, err := cl.Invoke(ctx, e.addr(), protocol.NewRequest(codeEcho, nil, nil)); err != nil && i%5 != 0 {
				t.Error(err)
			}
		}()
	}
	wg.Wait()
	if n := len(e.s.Conns()); n != 1 {
		t.Errorf("%d connections", n)
	}
}
