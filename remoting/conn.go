package remoting

import (
	"context"
	"net/netip"
	"sync"
	"sync/atomic"

	"github.com/seedmq/seedmq/remoting/protocol"
)

// lastConnID is the one thing that all servers and clients of a process share, so that Conn.ID is unique in it.
var lastConnID atomic.Uint64

// link is the byte side of a connection: what a transport must offer. Only the flusher of conn calls tryWrite and
// write, one at a time; close may come from anywhere.
type link interface {
	// tryWrite sends what the peer takes now and does not wait: n < len(b) without an error means "not now".
	tryWrite(b []byte) (n int, err error)
	// write sends all of b, which must not change even after an error. It waits for the peer until the link is closed.
	write(b []byte) error
	// buffered is the input in bytes that arrived and was not taken yet.
	buffered() int
	// brake tells the peer to send nothing, or to send again, where what it sends is read whether it is served or not.
	// It may come from anywhere, also after close.
	brake(on bool)
	// close ends the connection: at once, also under a running ServeBurst, if abort. The transport calls
	// conn.finish exactly once when no read runs any more.
	close(abort bool)
}

type connState uint8

const (
	stateOpen    connState = iota
	stateClosing           // nothing more is taken in or queued; what is queued is tried once
	stateDead
)

// conn is one connection on either side, on any transport.
//
// Reads: one goroutine at a time runs read (reader.go). Writes: replies from any goroutine are appended to mu.q; one
// goroutine at a time, the flusher (mu.flushing), takes them out and writes them, outside the lock. While mu.corked is
// above zero nobody flushes. Lock order: mu before nothing; pending.mu before nothing.
type conn struct {
	core *core
	link link
	tls  atomic.Pointer[tlsLink] // goes before link once set
	id   uint64
	fast bool // accepted on the second port

	local  netip.AddrPort
	remote atomic.Pointer[netip.AddrPort]
	value  atomic.Pointer[any]
	active atomic.Int64 // core.now of the last read or write
	// When the monitor closes the connection because input or room for output is waited for; milliseconds, 0: never.
	readDue, writeDue atomic.Int64
	done              chan struct{}
	opened            bool // Handler.Opened was called; set and read by the goroutine that reads, or ends, the connection

	pre     prefaceState
	pending pending

	mu struct {
		sync.Mutex
		state    connState
		reason   CloseReason
		aborted  bool // output is given up
		linger   bool // closing: whoever writes the last output closes the link
		corked   int
		flushing bool
		q        []chunk
		spare    []chunk
		bytes    int // in q and in the flusher's hands
		counted  int // of bytes, what core.outTotal has
		room     chan struct{}
		cmd      protocol.Command // scratch, so that replies do not allocate
		hdr      []byte           // scratch of sendBody

		inFlight        int // requests without reply; some are never answered
		inFlightFloor   int // the least of the last epoch: what is never answered, and does not count
		inFlightMin     int // the least of this epoch so far
		inFlightCounted int // what core.inFlight has of this connection
	}
}

var _ Conn = (*conn)(nil)

func newConn(k *core, local, remote netip.AddrPort) *conn {
	c := &conn{core: k, id: lastConnID.Add(1), local: local, done: make(chan struct{})}
	c.remote.Store(&remote)
	c.active.Store(k.now.Load())
	return c
}

func (c *conn) ID() uint64                 { return c.id }
func (c *conn) RemoteAddr() netip.AddrPort { return *c.remote.Load() }
func (c *conn) LocalAddr() netip.AddrPort  { return c.local }
func (c *conn) Done() <-chan struct{}      { return c.done }
func (c *conn) OnFastPort() bool           { return c.fast }

func (c *conn) Value() any {
	if p := c.value.Load(); p != nil {
		return *p
	}
	return nil
}

func (c *conn) SetValue(v any) { c.value.Store(&v) }

// out is the link that output goes to.
func (c *conn) out() link {
	if t := c.tls.Load(); t != nil {
		return t
	}
	return c.link
}

// Reply answers req.
func (c *conn) Reply(req *protocol.Command, r *Reply) {
	if req.IsOneway() {
		return
	}
	c.mu.Lock()
	if c.mu.state != stateOpen {
		c.mu.Unlock()
		return
	}
	c.answeredLocked()
	ch := c.tailLocked(len(r.Body))
	before := len(ch.b)
	cmd := c.replyLocked(req, r)
	cmd.Body = r.Body
	ch.b = protocol.AppendFrame(ch.b, cmd)
	if len(ch.b)-before > c.core.lim.MaxFrame {
		ch.b = ch.b[:before]
		cmd.Code, cmd.Header, cmd.Ext, cmd.Body = protocol.RespSystemError, nil, nil, nil
		cmd.Remark = "the reply exceeds the frame limit"
		ch.b = protocol.AppendFrame(ch.b, cmd)
	}
	c.mu.cmd = protocol.Command{}
	ch.own.mem = ch.b[:cap(ch.b)]
	c.queuedLocked(len(ch.b) - before)
}

// replyLocked fills the scratch command with everything but the body.
func (c *conn) replyLocked(req *protocol.Command, r *Reply) *protocol.Command {
	k, cmd := c.core, &c.mu.cmd
	cmd.Code, cmd.Remark, cmd.Header, cmd.Ext = r.Code, r.Remark, r.Header, r.Ext
	cmd.Opaque, cmd.Flag = req.Opaque, protocol.FlagResponse
	cmd.Language, cmd.Version, cmd.Serialize = k.language, k.version, k.serialize
	return cmd
}

// BeginReply starts a reply whose body is appended in place.
func (c *conn) BeginReply() *BodyBuffer {
	b := getBuf(0, headRoom)
	b.c = c
	return b
}

// sendBody queues header and body of b.
func (c *conn) sendBody(b *BodyBuffer, req *protocol.Command, r *Reply) {
	body := b.Buf
	if len(body) < 2048 || len(body)+headRoom > c.core.lim.MaxFrame {
		full := *r // small bodies go with the other replies; too big ones get their error there
		full.Body = body
		c.Reply(req, &full)
		putBuf(b)
		return
	}
	c.mu.Lock()
	if req.IsOneway() || c.mu.state != stateOpen {
		c.mu.Unlock()
		putBuf(b)
		return
	}
	c.answeredLocked()
	cmd := c.replyLocked(req, r)
	hdr := protocol.AppendFrame(c.mu.hdr[:0], cmd)
	c.mu.cmd, c.mu.hdr = protocol.Command{}, hdr
	addFrameLength(hdr, len(body))
	if b.inPlace() && len(hdr) <= headRoom {
		at := headRoom - len(hdr)
		copy(b.mem[at:], hdr)
		c.mu.q = append(c.mu.q, chunk{b: b.mem[at : headRoom+len(body)], own: b})
	} else {
		ch := c.tailLocked(len(hdr))
		ch.b = append(ch.b, hdr...)
		ch.own.mem = ch.b[:cap(ch.b)]
		c.mu.q = append(c.mu.q, chunk{b: body, own: b})
	}
	c.queuedLocked(len(hdr) + len(body))
}

// Oneway sends a request that wants no reply.
func (c *conn) Oneway(cmd *protocol.Command) error {
	return c.request(cmd, c.pending.nextOpaque(), protocol.FlagOneway)
}

// request queues cmd as a request of ours.
func (c *conn) request(req *protocol.Command, opaque, flag int32) error {
	c.mu.Lock()
	if c.mu.state != stateOpen {
		c.mu.Unlock()
		return ErrClosed
	}
	ch := c.tailLocked(len(req.Body))
	before := len(ch.b)
	cmd := &c.mu.cmd
	cmd.Code, cmd.Language, cmd.Version, cmd.Remark, cmd.Serialize = req.Code, req.Language, req.Version, req.Remark, req.Serialize
	cmd.Ext, cmd.Header, cmd.Body = req.Ext, req.Header, req.Body
	cmd.Opaque, cmd.Flag = opaque, flag
	ch.b = protocol.AppendFrame(ch.b, cmd)
	c.mu.cmd = protocol.Command{}
	n := len(ch.b) - before
	if n > c.core.lim.MaxFrame {
		ch.b = ch.b[:before]
	}
	ch.own.mem = ch.b[:cap(ch.b)]
	if n > c.core.lim.MaxFrame {
		c.mu.Unlock()
		return ErrFrameTooBig
	}
	c.queuedLocked(n)
	return nil
}

// Invoke sends a request and waits for its reply.
func (c *conn) Invoke(ctx context.Context, cmd *protocol.Command) (*protocol.Command, error) {
	call := &call{ch: make(chan *protocol.Command, 1)}
	opaque, err := c.pending.add(call)
	if err != nil {
		return nil, err
	}
	begin := c.core.clk.Now()
	if err := c.request(cmd, opaque, 0); err != nil {
		c.pending.take(opaque)
		return nil, err
	}
	select {
	case r := <-call.ch:
		if r == nil {
			return nil, ErrClosed
		}
		return r, nil
	case <-ctx.Done():
		if c.pending.take(opaque) == nil { // the reply is on its way into call.ch, or the connection ended
			if r := <-call.ch; r != nil {
				return r, nil
			}
			return nil, ErrClosed
		}
		return nil, &TimeoutError{Addr: c.RemoteAddr().String(), Code: cmd.Code, Wait: c.core.clk.Now().Sub(begin), Err: ctx.Err()}
	}
}

// Close ends the connection. Only the first reason counts. Output that waits is still sent, unless the reason is that
// this does not work or does not matter; the connection is closed when that is done.
func (c *conn) Close(reason CloseReason) {
	abort := reason == ClosedSlowPeer || reason == ClosedOverload || reason == ClosedIOError
	c.mu.Lock()
	if c.mu.state != stateOpen {
		aborted := c.mu.aborted
		c.mu.aborted = aborted || abort
		c.mu.Unlock()
		if abort && !aborted {
			c.out().close(true)
		}
		return
	}
	c.mu.state, c.mu.reason, c.mu.aborted = stateClosing, reason, abort
	c.mu.linger = !abort && (c.mu.corked > 0 || c.mu.bytes > 0)
	linger, corked := c.mu.linger, c.mu.corked > 0
	c.wakeReaderLocked()
	c.mu.Unlock()
	if !linger {
		c.out().close(abort)
	} else if !corked {
		c.flush()
	}
}

// finish is the end, called once by the transport when no read runs any more.
func (c *conn) finish() {
	c.mu.Lock()
	if c.mu.state == stateOpen {
		c.mu.reason = ClosedByPeer
	}
	c.mu.state = stateDead
	reason := c.mu.reason
	for i := range c.mu.q {
		c.mu.q[i].free()
	}
	c.mu.q, c.mu.bytes = nil, 0
	c.wakeReaderLocked()
	c.mu.inFlight, c.mu.inFlightFloor = 0, 0
	c.countLocked()
	c.mu.Unlock()
	c.pending.failAll()
	close(c.done)
	if c.opened {
		c.core.handler.Closed(c, reason)
	}
	c.core.remove(c, reason)
}
