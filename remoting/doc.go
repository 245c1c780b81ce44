// Package remoting moves commands between processes: a server, a client, and what both need of a connection, on netpoll
// or on any net.Conn. What a command means is the Handler's business; how it is encoded is package protocol's.
//
// # A request's way
//
// A transport (transport_*.go) brings bytes. conn.read (reader.go) cuts all whole frames of what is there, decodes them
// in place and calls Handler.ServeBurst once. Mux (mux.go) is the Handler that finds routes in a table: it runs them on
// the spot, in batches, or on bounded pools (pool.go). Replies are encoded straight into the connection's out queue
// (outqueue.go) and leave in one write when ServeBurst returns; later ones leave at once.
//
// # Who owns what
//
//   - Commands given to ServeBurst, and all their text and bodies, belong to the connection and die when it returns.
//     Pooled routes get clones. Replies to Invoke belong to the caller.
//   - A BodyBuffer belongs to one goroutine until Send or Drop.
//   - Goroutines: a server or client (core.go) owns its monitor, accept, dial, drain and, for net.Conn, read goroutines
//     through a run.Group, and waits for them in Close. netpoll's pollers live as long as the process; a connection that
//     left netpoll goes on in the goroutine that netpoll had lent it. Mux owns the pool workers; close it after the
//     server.
//
// # Concurrency
//
// One goroutine at a time reads a connection, and one at a time (the flusher) writes it; both roles move. Everything
// else of a connection is guarded by conn.mu, which is never held while bytes are moved or a handler runs, and no other
// lock is taken under it. core.mu guards the set of connections, Client.mu the addresses, pending.mu the calls, pool.mu
// a queue: each is taken alone, except that Client.mu may be held while a goroutine is started.
//
// # Bounds
//
// Nobody waits for a peer but goroutines of that peer's connection. What a peer can make this process hold is bounded
// by Limits. A peer that sends faster than it is served is slowed down: where the transport does not read before the
// handler is done that is TCP's business; where it does (netpoll) the connection leaves that transport between two
// bursts, and while a burst takes long the monitor shuts the peer's window. Only beyond that, and where a bound in time
// is passed, the monitor closes the connection. A frame's length is checked before anything waits or allocates for it.
package remoting
