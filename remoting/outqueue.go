package remoting

import (
	"context"
	"encoding/binary"
	"errors"
)

// addFrameLength adds n bytes of body to the length word of a frame that was encoded without it.
func addFrameLength(frame []byte, n int) {
	binary.BigEndian.PutUint32(frame, binary.BigEndian.Uint32(frame)+uint32(n))
}

// tailLocked returns the chunk that the next frame, with about n bytes of body, is appended to.
func (c *conn) tailLocked(n int) *chunk {
	if i := len(c.mu.q) - 1; i >= 0 && c.mu.q[i].more && len(c.mu.q[i].b)+n <= smallChunk {
		return &c.mu.q[i]
	}
	b := getBuf(n+headRoom, 0)
	c.mu.q = append(c.mu.q, chunk{b: b.Buf, own: b, more: true})
	return &c.mu.q[len(c.mu.q)-1]
}

// queuedLocked counts n new bytes of output, releases the lock, and sees to it that they leave.
func (c *conn) queuedLocked(n int) {
	c.mu.bytes += n
	lim, over := &c.core.lim, false
	if c.mu.flushing {
		c.countLocked()
		over = c.mu.bytes > lim.MaxOut ||
			c.mu.bytes > lim.OutHighWater/2 && c.core.outTotal.Load() > int64(lim.MaxOutTotal)
	}
	wait := c.mu.flushing || c.mu.corked > 0 && c.mu.bytes < burstBytes
	c.mu.Unlock()
	switch {
	case over:
		c.Close(ClosedSlowPeer)
	case !wait:
		c.flush()
	}
}

// countLocked brings the totals of the core up to date.
func (c *conn) countLocked() {
	if d := c.mu.bytes - c.mu.counted; d != 0 {
		c.mu.counted = c.mu.bytes
		c.core.outTotal.Add(int64(d))
	}
	c.countInFlightLocked()
	c.core.progress()
}

// countInFlightLocked brings the total of the core up to date and returns both numbers.
func (c *conn) countInFlightLocked() (own int, all int64) {
	own = c.mu.inFlight - c.mu.inFlightFloor
	if d := own - c.mu.inFlightCounted; d != 0 {
		c.mu.inFlightCounted = own
		return own, c.core.inFlight.Add(int64(d))
	}
	return own, c.core.inFlight.Load()
}

func (c *conn) wakeReaderLocked() {
	if c.mu.room != nil {
		close(c.mu.room)
		c.mu.room = nil
	}
}

// cork holds back output until the matching uncork.
func (c *conn) cork() {
	c.mu.Lock()
	c.mu.corked++
	c.mu.Unlock()
}

func (c *conn) uncork() {
	c.mu.Lock()
	if c.mu.corked--; c.mu.corked > 0 {
		c.mu.Unlock()
		return
	}
	c.flushLocked()
}

// flush writes what is queued, as far as the peer takes it now. The rest is left to a goroutine of this connection,
// so flush never waits for the peer. It does nothing if somebody flushes already: they take what is queued meanwhile.
func (c *conn) flush() {
	c.mu.Lock()
	c.flushLocked()
}

func (c *conn) flushLocked() {
	for !c.mu.flushing && len(c.mu.q) > 0 && c.mu.state != stateDead {
		c.mu.flushing = true
		batch := c.mu.q
		c.mu.q, c.mu.spare = c.mu.spare[:0], nil
		c.mu.Unlock()
		sent, rest, err := c.writeNow(batch)
		c.mu.Lock()
		c.sentLocked(sent)
		if err == nil && len(rest) > 0 {
			c.drainLocked(batch, rest)
			return
		}
		c.mu.flushing = false
		if err != nil {
			c.failLocked(err)
			return
		}
		c.mu.spare = batch[:0]
	}
	c.flushedLocked()
}

// flushedLocked is the end of a flusher's work. It releases the lock, and closes the link if that waited for this.
func (c *conn) flushedLocked() {
	c.countLocked()
	last := c.mu.linger && c.mu.corked == 0 && !c.mu.flushing && len(c.mu.q) == 0
	if last {
		c.mu.linger = false
	}
	c.mu.Unlock()
	if last {
		c.out().close(false)
	}
}

// writeNow sends chunks without waiting. rest is what the peer did not take.
func (c *conn) writeNow(batch []chunk) (sent int, rest []chunk, err error) {
	for i := range batch {
		n, err := c.out().tryWrite(batch[i].b)
		sent += n
		if err != nil {
			return sent, batch[i:], err
		}
		if n < len(batch[i].b) {
			batch[i].b, batch[i].more = batch[i].b[n:], false
			return sent, batch[i:], nil
		}
		batch[i].free()
	}
	return sent, nil, nil
}

func (c *conn) sentLocked(n int) {
	if c.mu.state == stateDead {
		return // finish has counted everything
	}
	c.mu.bytes -= n
	if n > 0 {
		c.active.Store(c.core.now.Load())
	}
	if c.mu.bytes <= c.core.lim.OutHighWater/2 {
		c.wakeReaderLocked()
	}
}

// failLocked ends the connection after a failed write and releases the lock. Chunks that were being written are left
// to the garbage collector: the transport may still look at them.
func (c *conn) failLocked(err error) {
	c.countLocked()
	c.mu.linger = false
	c.mu.aborted = true
	c.wakeReaderLocked()
	c.mu.Unlock()
	if errors.Is(err, ErrClosed) {
		c.Close(ClosedByPeer)
	} else {
		c.Close(ClosedIOError)
	}
	c.out().close(true)
}

// drainLocked starts the goroutine that waits for the peer, and releases the lock. mu.flushing stays set until it ends.
func (c *conn) drainLocked(batch, rest []chunk) {
	work := append([]chunk(nil), rest...)
	clear(batch)
	c.mu.spare = batch[:0]
	c.countLocked()
	c.mu.Unlock()
	if err := c.core.group.Go("drain", func(context.Context) { c.drain(work) }); err != nil {
		c.mu.Lock()
		c.mu.flushing = false
		c.failLocked(ErrClosed)
	}
}

// drain writes work and all that is queued meanwhile, waiting for the peer.
func (c *conn) drain(work []chunk) {
	for {
		for i := range work {
			if err := c.drainChunk(work[i].b); err != nil {
				c.mu.Lock()
				c.mu.flushing = false
				c.failLocked(err)
				return
			}
			work[i].free()
		}
		c.mu.Lock()
		if len(c.mu.q) == 0 || c.mu.state == stateDead {
			break
		}
		work, c.mu.q = append(work[:0], c.mu.q...), c.mu.q[:0]
		c.mu.Unlock()
	}
	c.mu.flushing = false
	c.flushedLocked()
}

func (c *conn) drainChunk(b []byte) error {
	for len(b) > 0 {
		n := min(len(b), drainPiece)
		c.due(&c.writeDue, c.core.lim.WriteTimeout)
		err := c.out().write(b[:n])
		c.undue(&c.writeDue)
		if err != nil {
			return err
		}
		b = b[n:]
		c.mu.Lock()
		c.sentLocked(n)
		c.countLocked()
		c.mu.Unlock()
	}
	return nil
}

// awaitSent waits until all output is written or given up.
func (c *conn) awaitSent() {
	for {
		c.mu.Lock()
		if c.mu.aborted || c.mu.state == stateDead || c.mu.bytes == 0 {
			c.mu.Unlock()
			return
		}
		if c.mu.room == nil {
			c.mu.room = make(chan struct{})
		}
		room := c.mu.room
		c.mu.Unlock()
		<-room
	}
}
