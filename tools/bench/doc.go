// Package bench is the load tool behind mqbench: it keeps a fixed window of requests in flight on each connection, with frames that are
// encoded once and patched, and replies that are scanned and not decoded, so that the broker and not the client is measured.
//
//	send     as many messages as the broker takes, or a fixed rate
//	consume  pulls what is stored, by any number of groups
//	e2e      sends at a fixed rate and measures until a long-polling pull has each message
//
// A reply whose code is not success counts as an error, by code, and never as a message; a run with errors fails.
//
// Goroutines: a run starts a fixed number, a reader and a writer for each connection, and waits for all of them before it returns. Workers
// own their connection, their frames and their histogram; they share only atomic counters.
package bench
