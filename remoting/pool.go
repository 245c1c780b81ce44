package remoting

import (
	"context"
	"sync"
	"time"

	"github.com/seedmq/seedmq/remoting/protocol"
)

// PoolOptions describe a worker pool.
type PoolOptions struct {
	Size  int // workers; they are started when there is work for them
	Queue int // requests that may wait
	// MaxPerConn bounds what one connection may have waiting. Default Queue.
	MaxPerConn int
	// Key is the configuration key that raises Queue, for the remark of a refusal.
	Key string
}

// PoolStats are a pool's gauges and counters.
type PoolStats struct {
	Name     string
	Size     int
	Capacity int // of the queue
	Running  int // workers at work
	Waiting  int
	HeadWait time.Duration // how long the first in the queue has waited
	Done     int64
	Refused  int64
}

// task is a request that waits for a worker.
type task struct {
	c     Conn
	route *route
	req   *protocol.Command
	size  int
	at    time.Time
}

// pool is a bounded queue with workers.
type pool struct {
	m    *Mux
	name string
	o    PoolOptions
	idle chan struct{} // closed when the pool is closed and nothing waits or runs

	mu struct {
		sync.Mutex
		ring    []task // grows up to o.Queue
		head, n int
		perConn map[uint64]int // waiting, by connection
		running int
		parked  int // workers that wait and were not woken
		woken   int // signals on their way; put has counted these workers as running
		closed  bool
		done    int64
		refused int64
	}
	work sync.Cond
}

func newPool(m *Mux, name string, o PoolOptions) *pool {
	if o.MaxPerConn <= 0 {
		o.MaxPerConn = o.Queue
	}
	p := &pool{m: m, name: name, o: o, idle: make(chan struct{})}
	p.mu.perConn = map[uint64]int{}
	p.work.L = &p.mu
	return p
}

// put queues a clone of req, or returns the reply that refuses it.
func (p *pool) put(c Conn, rt *route, req *protocol.Command) *Reply {
	size := len(req.Body) + 512
	p.mu.Lock()
	if busy := p.fullLocked(c, size); busy != nil {
		p.mu.refused++
		p.mu.Unlock()
		return busy
	}
	p.pushLocked(task{c: c, route: rt, req: req.Clone(), size: size, at: p.m.o.Clock.Now()})
	p.m.waiting.Add(int64(size))
	start := false
	if p.mu.parked > 0 {
		p.mu.parked--
		p.mu.running++
		p.mu.woken++
		p.work.Signal()
	} else if start = p.mu.running < p.o.Size; start {
		p.mu.running++
	}
	p.mu.Unlock()
	if start && p.m.group.Go("pool "+p.name, p.run) != nil {
		p.mu.Lock()
		p.mu.running--
		p.mu.Unlock()
	}
	return nil
}

func (p *pool) fullLocked(c Conn, size int) *Reply {
	switch {
	case p.mu.closed:
		return busyReply("pool %s is shutting down; try again elsewhere", p.name)
	case p.mu.n >= p.o.Queue:
		return busyReply("pool %s has %d waiting of %d; raise %s", p.name, p.mu.n, p.o.Queue, p.o.Key)
	case p.mu.perConn[c.ID()] >= p.o.MaxPerConn:
		return busyReply("pool %s has %d waiting of %d of this connection; wait for replies", p.name, p.mu.perConn[c.ID()], p.o.MaxPerConn)
	}
	if n := p.m.waiting.Load(); n+int64(size) > int64(p.m.o.MaxWaitingBytes) {
		return busyReply("requests of %d bytes wait for workers, of %d (pool %s); try again in a moment", n, p.m.o.MaxWaitingBytes, p.name)
	}
	return nil
}

func (p *pool) pushLocked(t task) {
	if p.mu.n == len(p.mu.ring) {
		ring := make([]task, min(max(16, 2*p.mu.n), p.o.Queue))
		for i := range p.mu.n {
			ring[i] = p.mu.ring[(p.mu.head+i)%len(p.mu.ring)]
		}
		p.mu.ring, p.mu.head = ring, 0
	}
	p.mu.ring[(p.mu.head+p.mu.n)%len(p.mu.ring)] = t
	p.mu.n++
	p.mu.perConn[t.c.ID()]++
}

func (p *pool) popLocked() task {
	t := p.mu.ring[p.mu.head]
	p.mu.ring[p.mu.head] = task{}
	p.mu.head = (p.mu.head + 1) % len(p.mu.ring)
	p.mu.n--
	if id := t.c.ID(); p.mu.perConn[id] > 1 {
		p.mu.perConn[id]--
	} else {
		delete(p.mu.perConn, id)
	}
	return t
}

// run is one worker.
func (p *pool) run(context.Context) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for {
		for p.mu.n == 0 && !p.mu.closed {
			p.mu.parked++
			p.mu.running--
			p.work.Wait()
			if p.mu.woken > 0 {
				p.mu.woken--
			} else { // close woke it
				p.mu.parked--
				p.mu.running++
			}
		}
		if p.mu.n == 0 {
			p.mu.running--
			p.endLocked()
			return
		}
		t := p.popLocked()
		p.mu.Unlock()
		p.do(t)
		p.m.waiting.Add(int64(-t.size))
		p.mu.Lock()
		p.mu.done++
	}
}

func (p *pool) do(t task) {
	defer func() {
		if r := recover(); r != nil {
			p.m.panicked(t.c, []*protocol.Command{t.req}, r)
		}
	}()
	select {
	case <-t.c.Done():
		return // nobody would get the reply
	default:
	}
	t.route.Handle(t.c, t.req)
}

func (p *pool) close() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.mu.closed {
		p.mu.closed = true
		p.endLocked()
	}
	p.work.Broadcast()
}

// endLocked closes idle when nothing is left.
func (p *pool) endLocked() {
	if p.mu.closed && p.mu.n == 0 && p.mu.running == 0 {
		select {
		case <-p.idle:
		default:
			close(p.idle)
		}
	}
}

// drop forgets what waits.
func (p *pool) drop() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for p.mu.n > 0 {
		p.m.waiting.Add(int64(-p.popLocked().size))
	}
	p.endLocked()
}

// PoolStats returns the state of every pool.
func (m *Mux) PoolStats() []PoolStats {
	all := make([]PoolStats, 0, len(m.pools))
	for _, p := range m.pools {
		all = append(all, p.stats())
	}
	return all
}

func (p *pool) stats() PoolStats {
	now := p.m.o.Clock.Now()
	p.mu.Lock()
	defer p.mu.Unlock()
	s := PoolStats{Name: p.name, Size: p.o.Size, Capacity: p.o.Queue, Running: p.mu.running, Waiting: p.mu.n,
		Done: p.mu.done, Refused: p.mu.refused}
	if p.mu.n > 0 {
		s.HeadWait = now.Sub(p.mu.ring[p.mu.head].at)
	}
	return s
}
