// Package broker serves clients from a store: requests in, records and replies out.
//
// # What is where
//
//	broker.go      Options, New, Start, Close: wiring and order
//	settings.go    the configuration that requests look at, as an immutable snapshot
//	handlers.go    the table: request code → handler, one row each; nothing else registers
//	handler_*.go   the handlers, one file per capability; each offers its rows by a method ...Routes
//	errors.go      the only place where errors become response codes
//	pools.go       the bounded pools of handlers that may block, and the one policy for overload
//	topic, group, offset, clients, longpoll, filter, delay, stats, outer
//	               state with rules of its own; they know nothing of requests
//
// # Concurrency
//
// Inline and Batched handlers run on a connection's read goroutine, one burst at a time, and never wait: not for a disk, a lock
// that is held during I/O, or a peer. What may wait is Pooled. Everything a handler keeps of a request is cloned, for requests
// alias the read buffer. Per-connection state (see session) belongs to the read goroutine alone.
package broker
