// Package instance holds what every client of a cluster needs below its own business: the NameServer list with fail-over, calls with a
// time limit and typed failures, and message ids.
//
// An Instance starts no goroutine and owns no connection: the transport is the caller's. It is safe for concurrent use.
package instance

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/seedmq/seedmq/remoting/protocol"
)

// Invoker sends a request to addr (host:port) and waits for the reply, which the caller owns. remoting's client is one.
type Invoker interface {
	Invoke(ctx context.Context, addr string, cmd *protocol.Command) (*protocol.Command, error)
}

// ConnectError says that no reply came because addr could not be reached, or the connection broke.
type ConnectError struct {
	Addr string // "" when there was no server to ask
	Err  error
}

func (e *ConnectError) Error() string {
	if e.Addr == "" {
		return "no server to connect to: " + e.Err.Error()
	}
	return "connect to " + e.Addr + ": " + e.Err.Error()
}

func (e *ConnectError) Unwrap() error { return e.Err }

// TimeoutError says that addr did not answer in time. The request may have been carried out.
type TimeoutError struct {
	Addr  string
	After time.Duration
}

func (e *TimeoutError) Error() string {
	return fmt.Sprintf("no answer from %s within %v", e.Addr, e.After)
}

// ErrNoNameServer is wrapped by a ConnectError when the NameServer list is empty.
var ErrNoNameServer = errors.New("the NameServer list is empty")

// Instance calls the servers of one cluster.
type Instance struct {
	inv Invoker

	mu struct {
		sync.Mutex
		servers []string
		current int // index of the NameServer that answered last
	}
}

// New returns an Instance that asks these NameServers (host:port).
func New(inv Invoker, nameServers []string) *Instance {
	i := &Instance{inv: inv}
	i.mu.servers = slices.Clone(nameServers)
	return i
}

// NameServers returns the list, in the order given.
func (i *Instance) NameServers() []string {
	i.mu.Lock()
	defer i.mu.Unlock()
	return slices.Clone(i.mu.servers)
}

// Invoke asks addr, and fails with a *ConnectError, a *TimeoutError, or the context's error when ctx itself ended.
// timeout is this call's own limit. A reply is returned whatever its code.
func (i *Instance) Invoke(ctx context.Context, addr string, cmd *protocol.Command, timeout time.Duration) (*protocol.Command, error) {
	limited, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	reply, err := i.inv.Invoke(limited, addr, cmd)
	switch {
	case err == nil:
		return reply, nil
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case limited.Err() != nil || errors.Is(err, context.DeadlineExceeded):
		return nil, &TimeoutError{Addr: addr, After: timeout}
	}
	return nil, &ConnectError{Addr: addr, Err: err}
}

// InvokeNameServer asks the NameServer that answered last, and the others, in turn, while there is no answer.
// It returns who answered. The error is that of the last one asked.
func (i *Instance) InvokeNameServer(ctx context.Context, cmd *protocol.Command, timeout time.Duration) (reply *protocol.Command, addr string, err error) {
	servers, first := i.snapshot()
	if len(servers) == 0 {
		return nil, "", &ConnectError{Err: ErrNoNameServer}
	}
	for n := range servers {
		at := (first + n) % len(servers)
		addr = servers[at]
		reply, err = i.Invoke(ctx, addr, cmd, timeout)
		if err == nil {
			i.stick(at)
			return reply, addr, nil
		}
		if ctx.Err() != nil {
			break
		}
	}
	return nil, addr, err
}

func (i *Instance) snapshot() ([]string, int) {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.mu.servers, i.mu.current
}

func (i *Instance) stick(at int) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.mu.current = at
}

// SplitAddrs reads a list of addresses separated by semicolons (or commas), and drops blanks and empty entries.
func SplitAddrs(list string) []string {
	var out []string
	for _, a := range strings.FieldsFunc(list, func(r rune) bool { return r == ';' || r == ',' }) {
		if a = strings.TrimSpace(a); a != "" {
			out = append(out, a)
		}
	}
	return out
}
