package remoting

import (
	"context"
	"fmt"
	"net/netip"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/seedmq/seedmq/remoting/protocol"
)

// fakeConn records replies.
type fakeConn struct {
	id   uint64
	mu   sync.Mutex
	got  []string // "opaque:code:remark"
	done chan struct{}
}

func newFakeConn(id uint64) *fakeConn { return &fakeConn{id: id, done: make(chan struct{})} }

func (c *fakeConn) ID() uint64                 { return c.id }
func (c *fakeConn) RemoteAddr() netip.AddrPort { return netip.AddrPort{} }
func (c *fakeConn) LocalAddr() netip.AddrPort  { return netip.AddrPort{} }
func (c *fakeConn) Reply(req *protocol.Command, r *Reply) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.got = append(c.got, fmt.Sprintf("%d:%d:%s", req.Opaque, r.Code, r.Remark))
}
func (c *fakeConn) BeginReply() *BodyBuffer {
	return NewBodyBuffer(func(req *protocol.Command, r *Reply) { c.Reply(req, r) })
}
func (c *fakeConn) Oneway(*protocol.Command) error { return nil }
func (c *fakeConn) Invoke(context.Context, *protocol.Command) (*protocol.Command, error) {
	return nil, ErrClosed
}
func (c *fakeConn) Value() any            { return nil }
func (c *fakeConn) SetValue(any)          {}
func (c *fakeConn) Close(CloseReason)     {}
func (c *fakeConn) Done() <-chan struct{} { return c.done }

func (c *fakeConn) replies() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.got)
}

func burstOf(codes ...int32) (reqs []*protocol.Command) {
	for i, code := range codes {
		reqs = append(reqs, &protocol.Command{Code: code, Opaque: int32(i)})
	}
	return reqs
}

func TestMuxRefusesBadTables(t *testing.T) {
	h := func(Conn, *protocol.Command) {}
	hb := func(Conn, []*protocol.Command) {}
	pools := map[string]PoolOptions{"p": {Size: 1, Queue: 1}}
	for name, o := range map[string]MuxOptions{
		"code twice":      {Routes: []Route{{Code: 1, Handle: h}, {Code: 1, Handle: h}}},
		"no handler":      {Routes: []Route{{Code: 1}}},
		"no such pool":    {Routes: []Route{{Code: 1, Mode: Pooled, Pool: "q", Handle: h}}, Pools: pools},
		"batch, no key":   {Routes: []Route{{Code: 1, Mode: Batched, HandleBatch: hb}}},
		"batch, no batch": {Routes: []Route{{Code: 1, Mode: Batched, BatchKey: "k", Handle: h}}},
		"pool, no size":   {Pools: map[string]PoolOptions{"p": {Queue: 1}}},
	} {
		if _, err := NewMux(o); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
	if _, err := NewMux(MuxOptions{Routes: []Route{{Code: 1, Mode: Pooled, Pool: "p", Handle: h}}, Pools: pools}); err != nil {
		t.Error(err)
	}
}

// Consecutive requests of one batch key come together, in order; anything else between them parts them.
func TestMuxBatches(t *testing.T) {
	var got []string
	record := func(_ Conn, reqs []*protocol.Command) {
		s := ""
		for _, r := range reqs {
			s += fmt.Sprint(r.Opaque, " ")
		}
		got = append(got, strings.TrimSpace(s))
	}
	m := mux(
		Route{Code: codeBatchA, Mode: Batched, BatchKey: "send", HandleBatch: record},
		Route{Code: codeBatchB, Mode: Batched, BatchKey: "send", HandleBatch: record},
		Route{Code: codeBig, Mode: Batched, BatchKey: "other", HandleBatch: record},
		Route{Code: codeEcho, Handle: func(_ Conn, r *protocol.Command) { got = append(got, fmt.Sprint("one ", r.Opaque)) }},
	)
	m.ServeBurst(newFakeConn(1), burstOf(codeBatchA, codeBatchB, codeBatchA, codeEcho, codeBatchB, codeBig, codeBig, codeBatchA))
	want := []string{"0 1 2", "one 3", "4", "5 6", "7"}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

// A panic costs the request, or batch, that caused it; the rest of the burst is served.
func TestMuxPanics(t *testing.T) {
	m := mux(
		Route{Code: codeEcho, Handle: echo},
		Route{Code: codePanic, Handle: func(Conn, *protocol.Command) { panic("ouch") }},
		Route{Code: codeBatchA, Mode: Batched, BatchKey: "k", HandleBatch: func(Conn, []*protocol.Command) { panic("batch") }},
	)
	c := newFakeConn(1)
	m.ServeBurst(c, burstOf(codeEcho, codePanic, codeEcho, codeBatchA, codeBatchA, codeEcho, 77))
	got := c.replies()
	want := []string{"0:0:", "1:1:", "2:0:", "3:1:", "4:1:", "5:0:", "6:3: request type 77 not supported"}
	for i := range want {
		if i >= len(got) || !strings.HasPrefix(got[i], want[i]) {
			t.Fatalf("replies %q, want %q", got, want)
		}
	}
	if m.Panics() != 2 {
		t.Errorf("%d panics counted, want 2", m.Panics())
	}
}

func TestMuxPanicOnTheWire(t *testing.T) {
	h := func() Handler {
		return mux(Route{Code: codeEcho, Handle: echo}, Route{Code: codePanic, Handle: func(Conn, *protocol.Command) { panic("ouch") }})
	}
	eachTransport(t, h, nil, func(t *testing.T, e *env) {
		p := e.dial()
		p.send(append(request(codePanic, 1, nil), request(codeEcho, 2, nil)...))
		if r := p.recv(); r.Code != protocol.RespSystemError || r.Opaque != 1 {
			t.Errorf("code %d, opaque %d", r.Code, r.Opaque)
		}
		if r := p.recv(); r.Code != 0 || r.Opaque != 2 {
			t.Errorf("code %d, opaque %d", r.Code, r.Opaque)
		}
	})
}

// A handler without Mux that panics loses its connection only.
func TestHandlerPanic(t *testing.T) {
	h := func() Handler {
		return handlerFunc{burst: func(c Conn, reqs []*protocol.Command) {
			if reqs[0].Code == codePanic {
				panic("raw")
			}
			echo(c, reqs[0])
		}}
	}
	eachTransport(t, h, nil, func(t *testing.T, e *env) {
		p, q := e.dial(), e.dial()
		p.send(request(codePanic, 1, nil))
		p.wantClosed()
		q.send(request(codeEcho, 1, nil))
		q.recv()
		if n := e.s.Stats().Panics; n != 1 || !strings.Contains(e.log.String(), "raw") {
			t.Errorf("%d panics, log %q", n, e.log)
		}
	})
}

func TestMiddleware(t *testing.T) {
	var order []string
	step := func(name string) Middleware {
		return func(next HandleFunc) HandleFunc {
			return func(c Conn, r *protocol.Command) {
				order = append(order, fmt.Sprint(name, r.Opaque))
				if r.Opaque == 1 && name == "b" {
					c.Reply(r, &Reply{Code: protocol.RespNoPermission})
					return
				}
				next(c, r)
			}
		}
	}
	m, err := NewMux(MuxOptions{
		Routes: []Route{
			{Code: codeEcho, Handle: echo},
			{Code: codeBatchA, Mode: Batched, BatchKey: "k", HandleBatch: func(c Conn, reqs []*protocol.Command) {
				for _, r := range reqs {
					c.Reply(r, &Reply{Remark: fmt.Sprint("batch of ", len(reqs))})
				}
			}},
		},
		Middleware: []Middleware{step("a"), step("b")},
	})
	if err != nil {
		t.Fatal(err)
	}
	c := newFakeConn(1)
	m.ServeBurst(c, burstOf(codeEcho, codeEcho))
	if want := []string{"a0", "b0", "a1", "b1"}; !reflect.DeepEqual(order, want) {
		t.Errorf("order %q, want %q", order, want)
	}
	m.ServeBurst(c, burstOf(codeBatchA, codeBatchA, codeBatchA))
	want := []string{"0:0:", "1:16:", "1:16:", "0:0:batch of 2", "2:0:batch of 2"}
	if got := c.replies(); !reflect.DeepEqual(got, want) {
		t.Errorf("replies %q, want %q", got, want)
	}
}

func TestPool(t *testing.T) {
	checkLeaks(t)
	clk := newFakeClock()
	running, release := make(chan int32, 10), make(chan struct{})
	m, err := NewMux(MuxOptions{
		Routes: []Route{{Code: codePooled, Mode: Pooled, Pool: "send", Handle: func(c Conn, r *protocol.Command) {
			running <- r.Opaque
			<-release
			if r.Opaque == 3 {
				panic("in the pool")
			}
			c.Reply(r, &Reply{})
		}}},
		Pools: map[string]PoolOptions{"send": {Size: 2, Queue: 3, Key: "sendThreadPoolQueueCapacity"}},
		Clock: clk,
	})
	if err != nil {
		t.Fatal(err)
	}
	c := newFakeConn(1)
	reqs := burstOf(codePooled, codePooled, codePooled, codePooled, codePooled, codePooled)
	m.ServeBurst(c, reqs[:2])
	<-running
	<-running
	m.ServeBurst(c, reqs[2:])
	want := "5:2:[OVERLOAD]system busy, start flow control for a while: pool send has 3 waiting of 3; raise sendThreadPoolQueueCapacity"
	if got := c.replies(); len(got) != 1 || got[0] != want {
		t.Errorf("replies %q, want %q", got, want)
	}
	clk.Advance(40 * time.Millisecond)
	if s := m.PoolStats()[0]; s != (PoolStats{Name: "send", Size: 2, Capacity: 3, Running: 2, Waiting: 3, HeadWait: 40 * time.Millisecond, Refused: 1}) {
		t.Errorf("stats %+v", s)
	}
	reqs[2].Opaque = 99 // the pool has its own copy
	close(release)
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	if err := m.Close(ctx); err != nil {
		t.Fatal(err)
	}
	got := c.replies()
	slices.Sort(got)
	if len(got) != 6 || got[2] != "2:0:" || !strings.HasPrefix(got[3], "3:1:internal error") {
		t.Errorf("replies %q", got)
	}
	if s := m.PoolStats()[0]; s.Done != 5 || s.Waiting != 0 || s.Running != 0 || m.waiting.Load() != 0 {
		t.Errorf("stats %+v, %d bytes wait", s, m.waiting.Load())
	}
	m.ServeBurst(c, reqs[:1])
	if got := c.replies(); !strings.Contains(got[len(got)-1], "pool send is shutting down") {
		t.Errorf("after close: %q", got[len(got)-1])
	}
}

// Workers work side by side up to Size, again after they were idle, and one connection cannot take the whole queue.
func TestPoolWorkers(t *testing.T) {
	checkLeaks(t)
	running, release := make(chan struct{}, 10), make(chan struct{})
	m, err := NewMux(MuxOptions{
		Routes: []Route{{Code: codePooled, Mode: Pooled, Pool: "p", Handle: func(Conn, *protocol.Command) {
			running <- struct{}{}
			<-release
		}}},
		Pools:           map[string]PoolOptions{"p": {Size: 3, Queue: 100, MaxPerConn: 2}},
		MaxWaitingBytes: 6000,
	})
	if err != nil {
		t.Fatal(err)
	}
	a, b := newFakeConn(1), newFakeConn(2)
	for range 3 {
		m.ServeBurst(a, burstOf(codePooled, codePooled))
		m.ServeBurst(b, burstOf(codePooled))
		for range 3 {
			<-running
		}
		for range 3 {
			release <- struct{}{}
		}
		eventually(t, "idle", func() bool { return m.PoolStats()[0].Running == 0 })
	}
	for range 3 {
		m.ServeBurst(b, burstOf(codePooled))
		<-running
	}
	m.ServeBurst(a, burstOf(codePooled, codePooled, codePooled))
	if got := a.replies(); len(got) != 1 || !strings.Contains(got[0], "pool p has 2 waiting of 2 of this connection; wait for replies") {
		t.Errorf("replies %q", got)
	}
	big := burstOf(codePooled)
	big[0].Body = make([]byte, 4000)
	m.ServeBurst(b, big)
	if got := b.replies(); len(got) != 1 || !strings.Contains(got[0], "requests of 2560 bytes wait for workers, of 6000 (pool p); try again in a moment") {
		t.Errorf("replies %q", got)
	}
	close(a.done) // its two waiting requests need not be served
	close(release)
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	if err := m.Close(ctx); err != nil {
		t.Fatal(err)
	}
	if len(running) != 0 {
		t.Errorf("%d requests of a closed connection were served", len(running))
	}
}

func TestPoolCloseGivesUp(t *testing.T) {
	checkLeaks(t)
	release := make(chan struct{})
	m, err := NewMux(MuxOptions{
		Routes: []Route{{Code: codePooled, Mode: Pooled, Pool: "p", Handle: func(Conn, *protocol.Command) { <-release }}},
		Pools:  map[string]PoolOptions{"p": {Size: 1, Queue: 10}},
	})
	if err != nil {
		t.Fatal(err)
	}
	m.ServeBurst(newFakeConn(1), burstOf(codePooled, codePooled, codePooled))
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if err := m.Close(ctx); err != context.Canceled {
		t.Errorf("Close: %v", err)
	}
	if s := m.PoolStats()[0]; s.Waiting != 0 {
		t.Errorf("%d still wait", s.Waiting)
	}
	close(release)
}

func TestNewBodyBuffer(t *testing.T) {
	var got *Reply
	b := NewBodyBuffer(func(_ *protocol.Command, r *Reply) { got = r })
	b.Buf = append(b.Buf, "hello"...)
	b.Send(&protocol.Command{}, &Reply{Code: 5})
	b.Send(&protocol.Command{}, &Reply{Code: 6}) // nothing: it was sent
	if got.Code != 5 || string(got.Body) != "hello" {
		t.Errorf("code %d, body %q", got.Code, got.Body)
	}
}
