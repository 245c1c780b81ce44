package remoting

import (
	"context"
	"crypto/tls"
	"net/netip"
	"sync"
	"sync/atomic"
	"time"

	"github.com/seedmq/seedmq/conf/clock"
	"github.com/seedmq/seedmq/conf/run"
	"github.com/seedmq/seedmq/conf/xlog"
	"github.com/seedmq/seedmq/remoting/protocol"
)

// Stats are counters of a server or client since its start, and gauges.
type Stats struct {
	Conns      int   // open now
	InFlight   int64 // requests without reply now; those of more than an epoch ago, which never get one, are left out
	OutBytes   int64 // output now that waits for slow peers
	Requests   int64
	Bursts     int64 // ServeBurst calls; Requests/Bursts says how well reads gather
	Refused    int64 // answered SYSTEM_BUSY or GO_AWAY before the handler
	BadFrames  int64
	Panics     int64 // of the handler, outside Mux
	Unmatched  int64 // replies that nobody waited for
	ClosedIdle int64
	ClosedSlow int64
	ClosedOver int64 // overload
}

type counters struct {
	requests, bursts, refused, badFrames, panics, unmatched atomic.Int64
	closed                                                  [8]atomic.Int64 // by reason
}

// core is what the connections of one server or client share. It owns the monitor and every drain and reader goroutine.
type core struct {
	lim       Limits
	clk       clock.Clock
	log       *xlog.Logger
	handler   Handler
	version   int32
	language  protocol.Language
	serialize protocol.SerializeType
	sndBuf    int
	rcvBuf    int
	tlsMode   TLSMode
	tls       *tls.Config // of a server; nil: no TLS
	group     *run.Group

	now      atomic.Int64 // milliseconds, as of the last tick of the monitor
	outTotal atomic.Int64
	inFlight atomic.Int64
	watched  atomic.Int32 // how many times somebody waits, or a handler runs: the monitor then looks
	resting  atomic.Bool  // the monitor looks seldom
	wake     chan struct{}
	draining atomic.Bool
	stats    counters
	moved    chan struct{} // while draining: something was answered, sent or closed

	mu struct {
		sync.Mutex
		conns  map[*conn]struct{}
		closed bool
	}
}

func newCore(o *Common, h Handler) *core {
	k := &core{lim: o.Limits, clk: o.Clock, log: o.Logger, handler: h, version: o.Version, language: o.Language,
		serialize: o.Serialize, sndBuf: o.SndBuf, rcvBuf: o.RcvBuf, group: run.NewGroup(), moved: make(chan struct{}, 1),
		wake: make(chan struct{}, 1)}
	if h == nil {
		k.handler = noHandler{}
	}
	k.mu.conns = map[*conn]struct{}{}
	k.now.Store(clock.Millis(k.clk))
	k.resting.Store(true)
	k.group.Go("remoting-monitor", k.monitor) // cannot fail: the group is new
	return k
}

// add registers a connection; false when there are too many or the core is closed.
func (k *core) add(c *conn) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.mu.closed || len(k.mu.conns) >= k.lim.MaxConns {
		return false
	}
	c.pending.max = k.lim.MaxPending
	k.mu.conns[c] = struct{}{}
	return true
}

func (k *core) remove(c *conn, reason CloseReason) {
	k.stats.closed[reason].Add(1)
	k.mu.Lock()
	delete(k.mu.conns, c)
	k.mu.Unlock()
	k.progress()
}

// progress tells a Close that waits.
func (k *core) progress() {
	if k.draining.Load() {
		select {
		case k.moved <- struct{}{}:
		default:
		}
	}
}

func (k *core) list() []*conn {
	k.mu.Lock()
	defer k.mu.Unlock()
	all := make([]*conn, 0, len(k.mu.conns))
	for c := range k.mu.conns {
		all = append(all, c)
	}
	return all
}

func (k *core) count() int {
	k.mu.Lock()
	defer k.mu.Unlock()
	return len(k.mu.conns)
}

func (k *core) snapshot() Stats {
	s := &k.stats
	return Stats{Conns: k.count(), InFlight: k.inFlight.Load(), OutBytes: k.outTotal.Load(), Requests: s.requests.Load(),
		Bursts: s.bursts.Load(), Refused: s.refused.Load(), BadFrames: s.badFrames.Load(), Panics: s.panics.Load(),
		Unmatched: s.unmatched.Load(), ClosedIdle: s.closed[ClosedIdle].Load(), ClosedSlow: s.closed[ClosedSlowPeer].Load(),
		ClosedOver: s.closed[ClosedOverload].Load()}
}

// monitor closes connections that are idle, that keep somebody waiting for too long, or whose input grows without being
// parsed although the peer was told to stop.
func (k *core) monitor(ctx context.Context) {
	t := k.clk.NewTimer(monitorPeriod)
	defer t.Stop()
	var conns []*conn
	lastIdle, lastEpoch, bursts := k.clk.Now(), k.clk.Now(), int64(0)
	for {
		select {
		case <-ctx.Done():
			return
		case <-k.wake:
		case <-t.C():
		}
		now := k.clk.Now()
		k.now.Store(now.UnixMilli())
		idle := now.Sub(lastIdle) >= idlePeriod
		if idle || k.watched.Load() > 0 {
			conns = k.watch(conns[:0], now.UnixMilli())
		}
		if idle {
			lastIdle = now
			k.closeIdle(conns, now)
			if now.Sub(lastEpoch) >= inFlightEpoch {
				lastEpoch = now
				for _, c := range conns {
					c.newEpoch()
				}
			}
		}
		period := monitorPeriod
		if n := k.stats.bursts.Load(); n != bursts || k.watched.Load() > 0 {
			period, bursts = min(period, watchPeriod+watchPerConn*time.Duration(len(conns))), n
		}
		k.resting.Store(period == monitorPeriod)
		clear(conns)
		t.Reset(period)
	}
}

// wakeMonitor makes a monitor that rests look more often. It is called when a handler begins.
func (k *core) wakeMonitor() {
	if k.resting.Load() && k.resting.CompareAndSwap(true, false) {
		select {
		case k.wake <- struct{}{}:
		default: // it is about to look
		}
	}
}

// watch lists the connections into buf and enforces what was promised to them by due, and MaxIn and MaxInTotal. Before it
// comes to that it slows down peers that send while they are not served.
func (k *core) watch(buf []*conn, now int64) []*conn {
	k.mu.Lock()
	for c := range k.mu.conns {
		buf = append(buf, c)
	}
	k.mu.Unlock()
	total, most, mostBytes := 0, (*conn)(nil), 0
	for _, c := range buf {
		if at := c.writeDue.Load(); at != 0 && at < now {
			k.log.Limited(k.clk, "slow", time.Second).Warnf("closing connection of %v: it takes no output", c.RemoteAddr())
			c.Close(ClosedSlowPeer)
		}
		if at := c.readDue.Load(); at != 0 && at < now {
			k.log.Limited(k.clk, "half", time.Second).Warnf("closing connection of %v: the rest of a frame does not come", c.RemoteAddr())
			c.Close(ClosedBadFrame)
		}
		n := c.out().buffered()
		c.link.brake(n > brakeAt && c.readDue.Load() == 0)
		total += n
		if n > mostBytes {
			most, mostBytes = c, n
		}
		if n > k.lim.MaxIn {
			k.overload(c, n)
		}
	}
	if total > k.lim.MaxInTotal && most != nil {
		k.overload(most, mostBytes)
	}
	return buf
}

func (k *core) overload(c *conn, n int) {
	k.log.Limited(k.clk, "overload", time.Second).Warnf(
		"closing connection of %v: %d bytes of input wait to be served", c.RemoteAddr(), n)
	c.Close(ClosedOverload)
}

func (k *core) closeIdle(conns []*conn, now time.Time) {
	if k.lim.IdleTimeout < 0 {
		return
	}
	limit := now.Add(-k.lim.IdleTimeout).UnixMilli()
	for _, c := range conns {
		waits := c.readDue.Load() != 0 || c.writeDue.Load() != 0 // has a limit of its own
		if !waits && c.active.Load() < limit {
			c.Close(ClosedIdle)
		}
	}
}

// stop ends all connections: it waits until what is in flight is answered and sent, or nothing moves any more, or ctx
// ends; then it closes them and waits for their goroutines.
func (k *core) stop(ctx context.Context) error {
	k.draining.Store(true)
	k.waitAnswered(ctx)
	return k.closeAll(ctx)
}

// stopNow is stop without waiting for what is in flight.
func (k *core) stopNow() error {
	k.draining.Store(true)
	return k.closeAll(context.Background())
}

func (k *core) closeAll(ctx context.Context) error {
	k.mu.Lock()
	k.mu.closed = true
	k.mu.Unlock()
	for _, c := range k.list() {
		c.Close(ClosedShutdown)
	}
	quiet := k.clk.NewTimer(drainQuiet)
	defer quiet.Stop()
	for k.count() > 0 && ctx.Err() == nil {
		select {
		case <-k.moved:
		case <-quiet.C(): // peers that take nothing are not waited for
			k.abortAll()
		case <-ctx.Done():
		}
		quiet.Reset(drainQuiet)
	}
	k.abortAll()
	if err := ctx.Err(); err != nil && k.count() > 0 {
		go k.group.Close() // a handler hangs; its goroutine ends when it does
		return err
	}
	k.group.Close()
	return nil
}

func (k *core) abortAll() {
	for _, c := range k.list() {
		c.out().close(true)
	}
}

func (k *core) waitAnswered(ctx context.Context) {
	quiet := k.clk.NewTimer(drainQuiet)
	defer quiet.Stop()
	for k.unfinished() {
		select {
		case <-k.moved:
			quiet.Reset(drainQuiet)
		case <-quiet.C():
			return
		case <-ctx.Done():
			return
		}
	}
}

// unfinished reports whether a connection has requests in flight or output that waits.
func (k *core) unfinished() bool {
	for _, c := range k.list() {
		c.mu.Lock()
		b := c.mu.state == stateOpen && (c.mu.inFlight > c.mu.inFlightFloor || c.mu.bytes > 0 || c.mu.corked > 0)
		c.mu.Unlock()
		if b {
			return true
		}
	}
	return false
}

// open starts a connection whose peer is known to speak the protocol.
func (k *core) open(c *conn) {
	c.opened = true
	k.handler.Opened(c)
}

func addrPort(a interface{ String() string }) netip.AddrPort {
	if a == nil {
		return netip.AddrPort{}
	}
	if t, ok := a.(interface{ AddrPort() netip.AddrPort }); ok {
		ap := t.AddrPort()
		return netip.AddrPortFrom(ap.Addr().Unmap(), ap.Port())
	}
	ap, _ := netip.ParseAddrPort(a.String())
	return ap
}

// noHandler answers every request that it is not supported.
type noHandler struct{}

func (noHandler) ServeBurst(c Conn, reqs []*protocol.Command) {
	for _, r := range reqs {
		c.Reply(r, notSupported(r.Code))
	}
}
func (noHandler) Opened(Conn)              {}
func (noHandler) Closed(Conn, CloseReason) {}
