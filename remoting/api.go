package remoting

import (
	"context"
	"net/netip"

	"github.com/seedmq/seedmq/remoting/protocol"
)

// BurstMax is how many requests one ServeBurst call gets at most, unless Limits.BurstRequests says otherwise.
const BurstMax = 512

// Handler is what a server does with the requests of one read.
type Handler interface {
	// ServeBurst handles, in order, all complete requests that one read of c brought (at most BurstMax).
	// It runs on the connection's read goroutine, one call at a time per connection, and must not block.
	// reqs and all they alias are valid only until it returns. Replies that it writes are gathered and leave in one flush.
	ServeBurst(c Conn, reqs []*protocol.Command)
	// Opened and Closed tell of a connection's life. Closed comes exactly once, after the last ServeBurst.
	Opened(c Conn)
	Closed(c Conn, reason CloseReason)
}

// Reply is an answer to a request. The server fills in opaque, flag, language, version. It and all it points to may be
// used again as soon as Conn.Reply or BodyBuffer.Send has returned.
type Reply struct {
	Code   protocol.ResponseCode
	Remark string
	Header protocol.HeaderEncoder // may be nil
	Ext    protocol.ExtFields     // may be nil; written after Header
	Body   []byte                 // copied before Reply returns
}

// Conn is one live connection, on either side. All methods may be called from any goroutine.
type Conn interface {
	// ID is unique in the process and never reused.
	ID() uint64
	// RemoteAddr is the peer, or what a PROXY protocol header said of it.
	RemoteAddr() netip.AddrPort
	LocalAddr() netip.AddrPort
	// Reply answers req, which may be a clone. It does nothing for a one-way request or on a closed connection. It never
	// waits for the peer. During ServeBurst replies are gathered; otherwise each leaves at once: see ReplyBatch.
	Reply(req *protocol.Command, r *Reply)
	// BeginReply starts a reply whose body the caller appends in place, so that bodies are copied once:
	//   b := c.BeginReply(); b.Buf = append(b.Buf, record...); b.Send(req, &Reply{...}) // r.Body must be nil
	// Each BeginReply needs exactly one Send or Drop.
	BeginReply() *BodyBuffer
	// Oneway sends a request that wants no reply.
	Oneway(cmd *protocol.Command) error
	// Invoke sends a request to the peer and waits for its reply, which the caller owns. It must not be called during
	// ServeBurst of the same connection, whose goroutine is the one that would read the reply.
	Invoke(ctx context.Context, cmd *protocol.Command) (*protocol.Command, error)
	// Value and SetValue hold one value of the handler's own.
	Value() any
	SetValue(v any)
	Close(reason CloseReason)
	// Done is closed when the connection is.
	Done() <-chan struct{}
}

// CloseReason says why a connection ended; logs and statistics show it.
type CloseReason uint8

// Close reasons.
const (
	ClosedByPeer CloseReason = iota
	ClosedIdle
	ClosedBadFrame
	ClosedSlowPeer
	ClosedOverload
	ClosedShutdown
	ClosedByHandler
	ClosedIOError
)

// Mode says where the handler of a request code runs.
type Mode uint8

const (
	// Inline handlers run on the connection's read goroutine, must not block, and may use the request only until they return.
	Inline Mode = iota
	// Pooled handlers run on a bounded pool with a clone of the request, and may block.
	Pooled
	// Batched handlers get all consecutive requests of one read that name the same Route.Batch, otherwise as Inline.
	Batched
)

// Route is the table row of a request code.
type Route struct {
	Code protocol.RequestCode
	Mode Mode
	Pool string // Pooled: name of the pool (see Pools)
	// Handle serves Inline and Pooled routes. It replies itself, now or later, from any goroutine.
	Handle func(c Conn, req *protocol.Command)
	// HandleBatch serves Batched routes; routes with the same BatchKey are gathered together.
	HandleBatch func(c Conn, reqs []*protocol.Command)
	BatchKey    string
	// MainPortOnly routes answer code 3 on the second port (listenPort-2).
	MainPortOnly bool
}
