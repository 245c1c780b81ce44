package remoting

import (
	"bytes"
	"context"
	"errors"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/seedmq/seedmq/remoting/protocol"
)

// bigMux answers codeBig with 64 KiB and echoes the rest.
func bigMux() Handler {
	body := bytes.Repeat([]byte{'b'}, 64<<10)
	return mux(Route{Code: codeEcho, Handle: echo}, Route{Code: codeBig, Handle: func(c Conn, req *protocol.Command) {
		b := c.BeginReply()
		b.Grow(len(body))
		b.Buf = append(b.Buf, body...)
		b.Send(req, &Reply{})
	}})
}

// flood sends requests until the connection ends and counts them.
func flood(p *testPeer, frame []byte, n *atomic.Int64) {
	many := bytes.Repeat(frame, 64)
	for {
		if _, err := p.Write(many); err != nil {
			return
		}
		n.Add(64)
	}
}

// A peer that sends and never reads is closed when its output passes the bound or stands still for too long; until
// then memory stays bounded, and others are served.
func TestPeerThatNeverReads(t *testing.T) {
	clk := newFakeClock()
	eachTransport(t, bigMux, func(o *ServerOptions) {
		clk = newFakeClock()
		o.Clock = clk
		o.Limits.OutHighWater = 1 << 20
		o.SndBuf = 64 << 10
	}, func(t *testing.T, e *env) {
		p := e.dial()
		var sent atomic.Int64
		done := make(chan struct{})
		go func() {
			defer close(done)
			flood(p, request(codeBig, 1, nil), &sent)
		}()
		eventually(t, "output waits", func() bool { return e.s.Stats().OutBytes > 1<<20 })
		good := e.dial()
		for i := range int32(20) {
			good.send(request(codeEcho, i, []byte("x")))
			good.recv()
		}
		if out := e.s.Stats().OutBytes; out > 64<<20 {
			t.Errorf("%d bytes of output wait", out)
		}
		clk.until(t, "the peer is closed", func() bool { return e.s.Stats().ClosedSlow+e.s.Stats().ClosedOver == 1 })
		<-done
		eventually(t, "its output is gone", func() bool { return e.s.Stats().OutBytes == 0 })
		good.send(request(codeEcho, 1, nil))
		good.recv()
	})
}

// Replies that were made elsewhere can pass MaxOut although input is not parsed any more.
func TestMaxOut(t *testing.T) {
	h := func() Handler {
		return mux(Route{Code: codeBig, Handle: func(c Conn, req *protocol.Command) {
			cl := req.Clone()
			go func() {
				for range 10_000 {
					c.Reply(cl, &Reply{Body: make([]byte, 32<<10)})
				}
			}()
		}})
	}
	eachTransport(t, h, func(o *ServerOptions) { o.Limits.MaxOut = 8 << 20 }, func(t *testing.T, e *env) {
		p := e.dial()
		p.send(request(codeBig, 1, nil))
		eventually(t, "the peer is closed", func() bool { return e.s.Stats().ClosedSlow == 1 })
		if out := e.s.Stats().OutBytes; out > 9<<20 {
			t.Errorf("%d bytes of output wait", out)
		}
	})
}

// A slow reader gets everything.
func TestSlowReader(t *testing.T) {
	eachTransport(t, bigMux, func(o *ServerOptions) {
		o.SndBuf = 16 << 10
		o.Limits.OutHighWater = 256 << 10
	}, func(t *testing.T, e *env) {
		const n = 100
		p := e.dial()
		go p.send(bytes.Repeat(request(codeBig, 1, nil), n))
		for i := range n {
			if i%10 == 0 {
				eventually(t, "room is used up, or all is sent", func() bool {
					st := e.s.Stats()
					return st.OutBytes > 0 || st.InFlight == 0
				})
			}
			if r := p.recv(); len(r.Body) != 64<<10 {
				t.Fatalf("reply %d has %d bytes", i, len(r.Body))
			}
		}
	})
}

// A peer that sends without end while its handler hangs is told to stop. It stays connected, others are served, and
// when the handler goes on nothing is lost.
func TestFloodWhileHandlerHangs(t *testing.T) {
	var release chan struct{}
	h := func() Handler {
		release = make(chan struct{})
		wait := release
		return mux(Route{Code: codeEcho, Handle: echo}, Route{Code: codeSilent, Handle: func(Conn, *protocol.Command) { <-wait }})
	}
	eachTransport(t, h, nil, func(t *testing.T, e *env) {
		p, good := e.dial(), e.dial()
		var sent atomic.Int64
		done := make(chan struct{})
		go func() {
			defer close(done)
			flood(p, request(codeSilent, 1, make([]byte, 8<<10)), &sent)
		}()
		eventually(t, "sender blocked", func() bool {
			good.send(request(codeEcho, 1, nil))
			good.recv()
			n := sent.Load()
			<-time.After(50 * time.Millisecond)
			return sent.Load() == n && n > 0
		})
		if n := e.buffered(); n > e.s.core.lim.MaxIn {
			t.Errorf("%d bytes of input are buffered", n)
		}
		before := sent.Load()
		close(release)
		eventually(t, "sender goes on", func() bool { return sent.Load() > before+10_000 })
		if st := e.s.Stats(); st.Conns != 2 {
			t.Errorf("%+v", st)
		}
		p.Close()
		<-done
	})
}

// A peer that sends faster than its handler works is slowed down: every request is served, in order, memory stays
// bounded, and others are served meanwhile.
func TestFloodOfSlowHandler(t *testing.T) {
	const n, each = 3000, 64
	var served, wrong atomic.Int64
	h := func() Handler {
		served.Store(0)
		return mux(Route{Code: codeEcho, Handle: echo}, Route{Code: codeSilent, Handle: func(_ Conn, req *protocol.Command) {
			k := served.Add(1)
			if int64(req.Opaque) != k-1 || len(req.Body) != 16<<10 || req.Body[k%16384] != byte(k-1) {
				wrong.Add(1)
			}
			if k%each == 0 {
				<-time.After(2 * time.Millisecond)
			}
		}})
	}
	eachTransport(t, h, nil, func(t *testing.T, e *env) {
		p, good := e.dial(), e.dial()
		go func() {
			for i := range int32(n) {
				if _, err := p.Write(onewayRequest(codeSilent, i, bytes.Repeat([]byte{byte(i)}, 16<<10))); err != nil {
					return
				}
			}
		}()
		most := 0
		eventually(t, "all are served", func() bool {
			good.send(request(codeEcho, 1, nil))
			good.recv()
			most = max(most, e.buffered())
			return served.Load() == n
		})
		if wrong.Load() != 0 || most > e.s.core.lim.MaxIn || e.s.Stats().Conns != 2 {
			t.Errorf("%d requests out of order or damaged, %d bytes buffered, %+v", wrong.Load(), most, e.s.Stats())
		}
		p.send(request(codeEcho, 5, []byte("still there")))
		if r := p.recv(); r.Opaque != 5 || string(r.Body) != "still there" {
			t.Errorf("reply %+v", r)
		}
	})
}

func TestMaxInTotal(t *testing.T) {
	clk := newFakeClock()
	eachTransport(t, echoMux, func(o *ServerOptions) {
		clk = newFakeClock()
		o.Clock, o.Limits.MaxInTotal = clk, 100_000
	}, func(t *testing.T, e *env) {
		frame := request(codeEcho, 1, make([]byte, 200_000))
		small, big := e.dial(), e.dial()
		small.send(frame[:45_000])
		big.send(frame[:90_000])
		eventually(t, "input is there", func() bool { return e.buffered() == 135_000 })
		clk.until(t, "one is closed", func() bool { return e.s.Stats().ClosedOver == 1 })
		big.wantClosed()
		small.send(frame[45_000:])
		small.recv()
	})
}

// buffered is the input of all connections that is not parsed yet.
func (e *env) buffered() (n int) {
	for _, c := range e.s.core.list() {
		n += c.out().buffered()
	}
	return n
}

// A frame that has begun must go on; nothing is allocated for what its length only promises.
func TestHalfFrame(t *testing.T) {
	clk := newFakeClock()
	eachTransport(t, echoMux, func(o *ServerOptions) {
		clk = newFakeClock()
		o.Clock = clk
	}, func(t *testing.T, e *env) {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		peers := []*testPeer{}
		for range 20 {
			p := e.dial()
			p.send([]byte("\x00\xff\xff\xf0\x00\x00"))
			peers = append(peers, p)
		}
		eventually(t, "all wait", func() bool { return e.buffered() == 20*6 && e.s.core.watched.Load() == 20 })
		runtime.ReadMemStats(&after)
		if n := after.TotalAlloc - before.TotalAlloc; n > 20*256<<10 {
			t.Errorf("20 half frames of 16 MiB allocated %d bytes", n)
		}
		size := 0xfffff0
		clk.pass(t, e.s.core, 30*time.Second+time.Duration(size/bytesASecond)*time.Second-time.Second)
		if n := e.s.Stats().Conns; n != 20 {
			t.Fatalf("%d connections left before the time is up", n)
		}
		clk.until(t, "all are closed", func() bool { return e.s.Stats().Conns == 0 })
		for _, p := range peers {
			p.wantClosed()
		}
		if !strings.Contains(e.log.String(), "the rest of a frame does not come") {
			t.Errorf("log: %q", e.log)
		}
	})
}

func TestIdleClose(t *testing.T) {
	clk := newFakeClock()
	reasons := make(chan CloseReason, 2)
	h := func() Handler {
		return handlerFunc{burst: func(c Conn, r []*protocol.Command) { echo(c, r[0]) }, closed: func(_ Conn, r CloseReason) { reasons <- r }}
	}
	eachTransport(t, h, func(o *ServerOptions) {
		clk = newFakeClock()
		o.Clock = clk
		o.Limits.IdleTimeout = 10 * time.Second
	}, func(t *testing.T, e *env) {
		idle, lively := e.dial(), e.dial()
		idle.send(request(codeEcho, 1, nil))
		idle.recv()
		for range 9 {
			lively.send(request(codeEcho, 1, nil))
			lively.recv()
			clk.pass(t, e.s.core, time.Second)
		}
		if n := e.s.Stats().ClosedIdle; n != 0 {
			t.Fatalf("%d closed too early", n)
		}
		lively.send(request(codeEcho, 1, nil))
		lively.recv()
		clk.until(t, "the idle one is closed", func() bool { return e.s.Stats().ClosedIdle == 1 })
		idle.wantClosed()
		if r := <-reasons; r != ClosedIdle {
			t.Errorf("closed %v", r)
		}
		lively.send(request(codeEcho, 2, nil))
		lively.recv()
		lively.Close()
		<-reasons
	})
}

func TestMaxInFlight(t *testing.T) {
	clk := newFakeClock()
	var mu sync.Mutex
	var held []func()
	h := func() Handler {
		held = nil
		return mux(Route{Code: codeSilent, Handle: func(c Conn, req *protocol.Command) {
			cl := req.Clone()
			mu.Lock()
			held = append(held, func() { c.Reply(cl, &Reply{}) })
			mu.Unlock()
		}})
	}
	eachTransport(t, h, func(o *ServerOptions) {
		clk = newFakeClock()
		o.Clock = clk
		o.Limits.MaxInFlight, o.Limits.MaxInFlightTotal = 10, 15
		o.Limits.IdleTimeout = -1
	}, func(t *testing.T, e *env) {
		a, b := e.dial(), e.dial()
		for i := range int32(11) {
			a.send(request(codeSilent, i, nil))
			eventually(t, "request", func() bool { return e.s.Stats().Requests == int64(i)+1 })
		}
		r := a.recv()
		if r.Code != protocol.RespSystemBusy || r.Opaque != 10 || !strings.Contains(r.Remark, "connection has 11 requests in flight of 10; wait for replies") {
			t.Errorf("code %d, opaque %d, remark %q", r.Code, r.Opaque, r.Remark)
		}
		for i := range int32(6) {
			b.send(request(codeSilent, i, nil))
			eventually(t, "request", func() bool { return e.s.Stats().Requests == int64(i)+12 })
		}
		if r := b.recv(); r.Code != protocol.RespSystemBusy || !strings.Contains(r.Remark, "16 requests in flight of 15 on all connections; try again in a moment") {
			t.Errorf("code %d, remark %q", r.Code, r.Remark)
		}
		// What is never answered does not count for ever.
		clk.pass(t, e.s.core, inFlightEpoch)
		clk.pass(t, e.s.core, inFlightEpoch)
		if n := e.s.Stats().InFlight; n != 0 {
			t.Errorf("%d in flight after two epochs", n)
		}
		a.send(request(codeSilent, 100, nil))
		eventually(t, "request is held", func() bool {
			mu.Lock()
			defer mu.Unlock()
			return len(held) == 16
		})
		for _, reply := range held {
			reply()
		}
		for range 11 {
			a.recv()
		}
		eventually(t, "nothing in flight", func() bool { return e.s.Stats().InFlight == 0 })
	})
}

// What a handler never answers stops counting after an epoch.
func TestInFlightFloor(t *testing.T) {
	c := newConn(newCoreForTest(t, Common{}), addrPort(nil), addrPort(nil))
	c.mu.inFlight = 7
	c.newEpoch()
	if c.mu.inFlightFloor != 0 {
		t.Errorf("floor %d after the first epoch", c.mu.inFlightFloor)
	}
	c.newEpoch()
	if c.mu.inFlightFloor != 7 {
		t.Errorf("floor %d after an epoch without replies, want 7", c.mu.inFlightFloor)
	}
	c.mu.inFlight = 9
	c.answeredLocked()
	c.newEpoch()
	c.newEpoch()
	if c.mu.inFlightFloor != 8 {
		t.Errorf("floor %d, want 8", c.mu.inFlightFloor)
	}
}

func newCoreForTest(t testing.TB, o Common) *core {
	o.fill()
	k := newCore(&o, nil)
	t.Cleanup(func() { k.stopNow() })
	return k
}

func TestMaxConns(t *testing.T) {
	eachTransport(t, echoMux, func(o *ServerOptions) { o.Limits.MaxConns = 1 }, func(t *testing.T, e *env) {
		a := e.dial()
		a.send(request(codeEcho, 1, nil))
		a.recv()
		b := e.dial()
		b.Write(request(codeEcho, 1, nil))
		b.wantClosed()
		eventually(t, "log line", func() bool { return strings.Contains(e.log.String(), "too many connections") })
		a.Close()
		eventually(t, "room", func() bool { return e.s.Stats().Conns == 0 })
		c := e.dial()
		c.send(request(codeEcho, 1, nil))
		c.recv()
	})
}

func TestMaxPending(t *testing.T) {
	eachTransport(t, func() Handler { return mux(Route{Code: codeSilent, Handle: func(Conn, *protocol.Command) {}}) }, nil,
		func(t *testing.T, e *env) {
			cl := e.client(func(o *ClientOptions) { o.Limits.MaxPending = 2; o.Limits.MaxFrame = 1 << 20; o.KeepOnTimeout = true })
			c, err := cl.Conn(context.Background(), e.addr())
			if err != nil {
				t.Fatal(err)
			}
			errs := make(chan error, 2)
			ctx, cancel := context.WithCancel(context.Background())
			for range 2 {
				go func() {
					_, err := c.Invoke(ctx, protocol.NewRequest(codeSilent, nil, nil))
					errs <- err
				}()
			}
			own := c.(*conn)
			eventually(t, "two pending", func() bool { return own.pending.len() == 2 })
			if _, err := c.Invoke(ctx, protocol.NewRequest(codeSilent, nil, nil)); err != ErrTooManyPending {
				t.Errorf("third call: %v", err)
			}
			cancel()
			for range 2 {
				if err := <-errs; !errors.Is(err, ErrTimeout) || !errors.Is(err, context.Canceled) {
					t.Errorf("cancelled call: %v", err)
				}
			}
			if _, err := c.Invoke(context.Background(), protocol.NewRequest(codeSilent, nil, make([]byte, 1<<20))); err != ErrFrameTooBig {
				t.Errorf("big call: %v", err)
			}
			if n := own.pending.len(); n != 0 {
				t.Errorf("%d calls are left", n)
			}
		})
}
