// Package run owns goroutines: a Group starts them, refuses after Close, and waits for all of them.
package run

import (
	"context"
	"errors"
	"runtime/pprof"
	"sync"
)

// ErrClosed is returned by Go after Close.
var ErrClosed = errors.New("run: group is closed")

// Group is a set of goroutines with one end. Safe for concurrent use.
type Group struct {
	mu struct {
		sync.Mutex
		closed bool
	}
	wg     sync.WaitGroup
	ctx    context.Context
	cancel context.CancelFunc
}

// NewGroup returns an empty group.
func NewGroup() *Group {
	g := &Group{}
	g.ctx, g.cancel = context.WithCancel(context.Background())
	return g
}

// Go starts fn with a context that ends with Close. name labels it in profiles.
func (g *Group) Go(name string, fn func(ctx context.Context)) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.mu.closed {
		return ErrClosed
	}
	g.wg.Add(1)
	go func() {
		defer g.wg.Done()
		pprof.Do(g.ctx, pprof.Labels("part", name), fn)
	}()
	return nil
}

// Done is closed when Close was called.
func (g *Group) Done() <-chan struct{} { return g.ctx.Done() }

// Close cancels the context and waits until every goroutine ended. It may be called more than once.
func (g *Group) Close() {
	g.mu.Lock()
	g.mu.closed = true
	g.mu.Unlock()
	g.cancel()
	g.wg.Wait()
}
