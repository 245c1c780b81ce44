package remoting

import (
	"context"
	"fmt"
	"runtime/debug"
	"slices"
	"strconv"
	"sync/atomic"

	"github.com/seedmq/seedmq/conf/clock"
	"github.com/seedmq/seedmq/conf/run"
	"github.com/seedmq/seedmq/conf/xlog"
	"github.com/seedmq/seedmq/remoting/protocol"
)

// HandleFunc handles one request. It replies itself, now or later.
type HandleFunc func(c Conn, req *protocol.Command)

// Middleware wraps the handler of every route. It runs where the handler runs, before it; to refuse a request it
// replies and does not call next. For Batched routes next only says "go on": the batch is handled afterwards.
type Middleware func(next HandleFunc) HandleFunc

// MuxOptions configure a Mux.
type MuxOptions struct {
	Routes []Route
	// Pools are the worker pools that Pooled routes name.
	Pools map[string]PoolOptions
	// Middleware is applied in order: the first sees a request first.
	Middleware []Middleware
	// MaxWaitingBytes bounds the size of all requests in the pools, waiting or running; more are answered SYSTEM_BUSY.
	// Default 256 MiB.
	MaxWaitingBytes int
	Clock           clock.Clock
	Logger          *xlog.Logger
	// OnOpened and OnClosed tell of connections; both may be nil.
	OnOpened func(c Conn)
	OnClosed func(c Conn, reason CloseReason)
}

// Mux is the Handler that finds each request's route in a table. It is safe for concurrent use; the table does not change.
type Mux struct {
	o      MuxOptions
	routes map[protocol.RequestCode]*route
	pools  map[string]*pool
	group  *run.Group
	wrap   func(HandleFunc) HandleFunc

	waiting atomic.Int64 // bytes of requests in all pools
	panics  atomic.Int64
}

// route is a Route with its middleware.
type route struct {
	Route
	pool *pool
}

var _ Handler = (*Mux)(nil)

// NewMux checks the table and starts no goroutine yet. It is an error if a code appears twice, a pool is missing, or a
// route lacks its handler.
func NewMux(o MuxOptions) (*Mux, error) {
	if o.Clock == nil {
		o.Clock = clock.Real{}
	}
	if o.MaxWaitingBytes == 0 {
		o.MaxWaitingBytes = 256 << 20
	}
	m := &Mux{o: o, routes: make(map[protocol.RequestCode]*route, len(o.Routes)), pools: map[string]*pool{}, group: run.NewGroup()}
	m.wrap = func(h HandleFunc) HandleFunc {
		for _, mw := range slices.Backward(o.Middleware) {
			h = mw(h)
		}
		return h
	}
	for name, po := range o.Pools {
		if po.Size <= 0 || po.Queue <= 0 {
			return nil, fmt.Errorf("remoting: pool %s: size %d and queue %d must be positive", name, po.Size, po.Queue)
		}
		m.pools[name] = newPool(m, name, po)
	}
	for _, r := range o.Routes {
		if err := m.addRoute(r); err != nil {
			return nil, err
		}
	}
	return m, nil
}

func (m *Mux) addRoute(r Route) error {
	if m.routes[r.Code] != nil {
		return fmt.Errorf("remoting: request code %d is in the table twice", r.Code)
	}
	rt := &route{Route: r}
	if r.Mode == Batched {
		if r.HandleBatch == nil || r.BatchKey == "" {
			return fmt.Errorf("remoting: request code %d: a batched route needs HandleBatch and BatchKey", r.Code)
		}
	} else {
		if r.Handle == nil {
			return fmt.Errorf("remoting: request code %d has no handler", r.Code)
		}
		rt.Handle = m.wrap(r.Handle)
	}
	if r.Mode == Pooled {
		if rt.pool = m.pools[r.Pool]; rt.pool == nil {
			return fmt.Errorf("remoting: request code %d: no pool %q", r.Code, r.Pool)
		}
	}
	m.routes[r.Code] = rt
	return nil
}

// Opened tells MuxOptions.OnOpened.
func (m *Mux) Opened(c Conn) {
	if m.o.OnOpened != nil {
		m.o.OnOpened(c)
	}
}

// Closed tells MuxOptions.OnClosed.
func (m *Mux) Closed(c Conn, reason CloseReason) {
	if m.o.OnClosed != nil {
		m.o.OnClosed(c, reason)
	}
}

// ServeBurst gives each request to its route. A panic costs only the request, or batch, that caused it.
func (m *Mux) ServeBurst(c Conn, reqs []*protocol.Command) {
	fast := onFastPort(c)
	for len(reqs) > 0 {
		reqs = m.serveSome(c, fast, reqs)
	}
}

// serveSome serves requests in order and returns those that are left after a panic.
func (m *Mux) serveSome(c Conn, fast bool, reqs []*protocol.Command) (rest []*protocol.Command) {
	at, n := 0, 0 // what is being served: reqs[at : at+n]
	defer func() {
		if p := recover(); p != nil {
			m.panicked(c, reqs[at:at+n], p)
			rest = reqs[at+n:]
		}
	}()
	for ; at < len(reqs); at += n {
		n = 1
		req := reqs[at]
		rt := m.routes[req.Code]
		switch {
		case rt == nil || fast && rt.MainPortOnly:
			c.Reply(req, notSupported(req.Code))
		case rt.Mode == Inline:
			rt.Handle(c, req)
		case rt.Mode == Pooled:
			if busy := rt.pool.put(c, rt, req); busy != nil {
				c.Reply(req, busy)
			}
		default:
			for at+n < len(reqs) && m.sameBatch(rt, reqs[at+n].Code, fast) {
				n++
			}
			m.serveBatch(c, rt, reqs[at:at+n])
		}
	}
	return nil
}

func (m *Mux) sameBatch(rt *route, code protocol.RequestCode, fast bool) bool {
	if code == rt.Code {
		return true
	}
	next := m.routes[code]
	return next != nil && next.Mode == Batched && next.BatchKey == rt.BatchKey && !(fast && next.MainPortOnly)
}

func (m *Mux) serveBatch(c Conn, rt *route, reqs []*protocol.Command) {
	if len(m.o.Middleware) > 0 {
		ok := false
		check := m.wrap(func(Conn, *protocol.Command) { ok = true })
		pass := make([]*protocol.Command, 0, len(reqs))
		for _, r := range reqs {
			ok = false
			check(c, r)
			if ok {
				pass = append(pass, r)
			}
		}
		if reqs = pass; len(reqs) == 0 {
			return
		}
	}
	rt.HandleBatch(c, reqs)
}

// panicked answers the requests whose handler panicked. Some may have been answered before; a second reply does no harm.
func (m *Mux) panicked(c Conn, reqs []*protocol.Command, p any) {
	m.panics.Add(1)
	code := int32(-1)
	if len(reqs) > 0 {
		code = reqs[0].Code
	}
	m.o.Logger.Errorf("handler of request %d panicked: %v\n%s", code, p, debug.Stack())
	for _, r := range reqs {
		c.Reply(r, &Reply{Code: protocol.RespSystemError, Remark: "internal error: the handler of request " +
			strconv.Itoa(int(r.Code)) + " panicked, see the log"})
	}
}

// Panics is how many handlers panicked.
func (m *Mux) Panics() int64 { return m.panics.Load() }

// Close refuses new pooled requests with SYSTEM_BUSY, lets those that wait finish, and ends the workers. It is ctx's
// error if that takes too long; what still waits then is dropped.
func (m *Mux) Close(ctx context.Context) error {
	for _, p := range m.pools {
		p.close()
	}
	var err error
	for _, p := range m.pools {
		select {
		case <-p.idle:
		case <-ctx.Done():
			err = ctx.Err()
			p.drop()
		}
	}
	if err != nil {
		go m.group.Close()
		return err
	}
	m.group.Close()
	return nil
}

// onFastPort reports whether c came in by the second port.
func onFastPort(c Conn) bool {
	f, ok := c.(interface{ OnFastPort() bool })
	return ok && f.OnFastPort()
}

// notSupported is the reply to a code that nobody handles, with Java's remark.
func notSupported(code protocol.RequestCode) *Reply {
	return &Reply{Code: protocol.RespRequestCodeNotSupported,
		Remark: " request type " + strconv.Itoa(int(code)) + " not supported"}
}
