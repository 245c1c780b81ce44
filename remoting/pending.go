package remoting

import (
	"sync"

	"github.com/seedmq/seedmq/remoting/protocol"
)

// call waits for one reply. ch gets the reply, or nil when the connection ended, exactly once unless the caller took
// the call back before. It has room for one, so that the sender never waits.
type call struct{ ch chan *protocol.Command }

// pending are a connection's own requests that wait for a reply.
type pending struct {
	mu     sync.Mutex
	calls  map[int32]*call
	last   int32
	closed bool
	max    int
}

func (p *pending) nextOpaque() int32 {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.last++
	return p.last
}

// add registers a call under a fresh opaque.
func (p *pending) add(c *call) (int32, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return 0, ErrClosed
	}
	if p.max > 0 && len(p.calls) >= p.max {
		return 0, ErrTooManyPending
	}
	if p.calls == nil {
		p.calls = map[int32]*call{}
	}
	for p.last++; p.calls[p.last] != nil; p.last++ { // after 2^32 calls an old one may still wait
	}
	p.calls[p.last] = c
	return p.last, nil
}

// take removes a call; nil if it is not there (any more).
func (p *pending) take(opaque int32) *call {
	p.mu.Lock()
	defer p.mu.Unlock()
	c := p.calls[opaque]
	delete(p.calls, opaque)
	return c
}

// deliver hands a reply, which aliases a read buffer, to its call. A reply that nobody waits for is dropped.
func (p *pending) deliver(r *protocol.Command) bool {
	c := p.take(r.Opaque)
	if c == nil {
		return false
	}
	c.ch <- r.Clone()
	return true
}

// failAll ends all calls and refuses new ones.
func (p *pending) failAll() {
	p.mu.Lock()
	calls := p.calls
	p.calls, p.closed = nil, true
	p.mu.Unlock()
	for _, c := range calls {
		c.ch <- nil
	}
}

func (p *pending) len() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.calls)
}
