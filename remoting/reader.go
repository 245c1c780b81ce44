package remoting

import (
	"errors"
	"fmt"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"time"

	"github.com/seedmq/seedmq/remoting/protocol"
)

// input is the read side of a transport. Slices from Peek and Next are valid until Release. Peek and Next wait for n
// bytes when fewer are there, until the connection is closed: the monitor closes it when conn.readDue has passed.
type input interface {
	Len() int
	Peek(n int) ([]byte, error)
	Next(n int) ([]byte, error)
	Release() error
}

// burst is the memory of one ServeBurst call. Connections borrow one while they read.
type burst struct {
	cmds []*protocol.Command // all that were ever used here, for their buffers
	reqs []*protocol.Command // the requests of this burst
	used int
	last *protocol.Command // of this burst; nil when nothing was decoded yet
	head []byte            // a whole frame that was waited for and is first in the next burst
	need int               // length of the frame of which only a part is there; 0 if there is none
}

var bursts = sync.Pool{New: func() any { return &burst{} }}

// keptCommands is how many Commands a burst keeps for the next connection.
const keptCommands = BurstMax

func (b *burst) next() *protocol.Command {
	if b.used == len(b.cmds) {
		b.cmds = append(b.cmds, &protocol.Command{})
	}
	b.used++
	return b.cmds[b.used-1]
}

func (b *burst) reset() {
	b.reqs, b.used, b.need, b.last = b.reqs[:0], 0, 0, nil
}

func (b *burst) put() {
	b.reset()
	b.head = nil
	if len(b.cmds) <= keptCommands {
		bursts.Put(b)
	}
}

// read serves all input that is there and returns when none is left, or with errBacklog when more than most bytes have
// come meanwhile. It waits for the rest of a frame that has begun. After any other error, which it has logged, the
// connection is closed or to be closed.
func (c *conn) read(in input, most int) (err error) {
	b := bursts.Get().(*burst)
	defer b.put()
	defer func() {
		if p := recover(); p != nil {
			c.panicked(p)
			err = ErrClosed
		}
	}()
	for b.head != nil || in.Len() > 0 {
		if !c.waitRoom() {
			return ErrClosed
		}
		err := c.cut(in, b)
		if len(b.reqs) > 0 {
			c.serve(b.reqs)
		}
		idle, need := b.used == 0, b.need
		b.reset()
		if err != nil {
			return c.badFrame(in, err)
		}
		if idle {
			if err := c.await(in, b, need); err != nil {
				c.Close(ClosedByPeer)
				return err
			}
			continue
		}
		if err := in.Release(); err != nil {
			return err
		}
		if c.closing() {
			return ErrClosed
		}
		if in.Len() > most {
			return errBacklog
		}
	}
	return nil
}

// cut decodes the whole frames that are there, as far as one burst goes.
func (c *conn) cut(in input, b *burst) error {
	lim, size := &c.core.lim, 0
	for len(b.reqs) < lim.BurstRequests && size < lim.BurstBytes {
		frame := b.head
		b.head = nil
		if frame == nil {
			have := in.Len()
			if have < 4 {
				break
			}
			p, err := in.Peek(4)
			if err != nil {
				return err
			}
			n, err := protocol.FrameLength(p, lim.MaxFrame)
			if err != nil {
				return err
			}
			if n > have {
				b.need = n
				break
			}
			if frame, err = in.Next(n); err != nil {
				return err
			}
		}
		size += len(frame)
		cmd := b.next()
		if err := protocol.DecodeFrameAfter(frame[4:], cmd, b.last); err != nil {
			return err
		}
		b.last = cmd
		c.pre = prefaceDone
		if cmd.IsResponse() {
			if !c.pending.deliver(cmd) {
				c.core.stats.unmatched.Add(1)
			}
			continue
		}
		b.reqs = append(b.reqs, cmd)
	}
	return nil
}

// await waits for the rest of the frame at the front of in: its length word if need is 0, else all of its need bytes.
func (c *conn) await(in input, b *burst, need int) error {
	c.due(&c.readDue, c.core.lim.ReadTimeout+time.Duration(need/bytesASecond)*time.Second)
	defer c.undue(&c.readDue)
	if need == 0 {
		_, err := in.Peek(4)
		return err
	}
	var err error
	b.head, err = in.Next(need)
	return err
}

// due lets the monitor close the connection if undue is not called in time.
func (c *conn) due(at *atomic.Int64, d time.Duration) {
	at.Store(c.core.now.Load() + d.Milliseconds())
	c.core.watched.Add(1)
}

func (c *conn) undue(at *atomic.Int64) {
	at.Store(0)
	c.core.watched.Add(-1)
}

// serve hands a burst to the handler and flushes its replies.
func (c *conn) serve(reqs []*protocol.Command) {
	k := c.core
	c.active.Store(k.now.Load())
	k.stats.bursts.Add(1)
	k.stats.requests.Add(int64(len(reqs)))
	k.watched.Add(1)
	defer k.watched.Add(-1)
	k.wakeMonitor()
	c.cork()
	defer c.uncork()
	reqs = c.admit(reqs)
	if len(reqs) == 0 {
		return
	}
	k.handler.ServeBurst(c, reqs)
}

// panicked ends a connection whose handler, or anything else that its input led to, panicked.
func (c *conn) panicked(p any) {
	c.core.stats.panics.Add(1)
	c.core.log.Errorf("handler panicked, closing connection %d of %v: %v\n%s", c.id, c.RemoteAddr(), p, debug.Stack())
	c.Close(ClosedByHandler)
}

// admit counts the requests as in flight and answers those that are too many, or that come during shutdown.
func (c *conn) admit(reqs []*protocol.Command) []*protocol.Command {
	k, n := c.core, 0
	for _, r := range reqs {
		if !r.IsOneway() {
			n++
		}
	}
	c.mu.Lock()
	c.mu.inFlight += n
	own, all := c.countInFlightLocked()
	c.mu.Unlock()
	switch {
	case k.draining.Load():
		return c.refuse(reqs, goAway)
	case own > k.lim.MaxInFlight:
		return c.refuse(reqs, func(*protocol.Command) *Reply {
			return busyReply("connection has %d requests in flight of %d; wait for replies", own, k.lim.MaxInFlight)
		})
	case all > int64(k.lim.MaxInFlightTotal):
		return c.refuse(reqs, func(*protocol.Command) *Reply {
			return busyReply("%d requests in flight of %d on all connections; try again in a moment", all, k.lim.MaxInFlightTotal)
		})
	}
	return reqs
}

// goAwayAfter is the last version that does not know GO_AWAY: V5_3_1.
const goAwayAfter = 475

func goAway(r *protocol.Command) *Reply {
	if r.Version <= goAwayAfter {
		return nil
	}
	return &Reply{Code: protocol.RespGoAway, Remark: "the server is going away, please reconnect"}
}

// busyReply is the one answer to too much work. The text says what is full, and after a semicolon what to do.
func busyReply(format string, a ...any) *Reply {
	return &Reply{Code: protocol.RespSystemBusy,
		Remark: "[OVERLOAD]system busy, start flow control for a while: " + fmt.Sprintf(format, a...)}
}

// refuse answers the requests that why gives a reply for and returns the others. One-way requests go on.
func (c *conn) refuse(reqs []*protocol.Command, why func(*protocol.Command) *Reply) []*protocol.Command {
	rest := reqs[:0]
	for _, r := range reqs {
		if !r.IsOneway() {
			if reply := why(r); reply != nil {
				c.core.stats.refused.Add(1)
				c.Reply(r, reply)
				continue
			}
		}
		rest = append(rest, r)
	}
	return rest
}

func (c *conn) answeredLocked() {
	if c.mu.inFlight > 0 {
		c.mu.inFlight--
		c.mu.inFlightMin = min(c.mu.inFlightMin, c.mu.inFlight)
		c.mu.inFlightFloor = min(c.mu.inFlightFloor, c.mu.inFlight)
	}
}

// newEpoch takes requests that were never answered during the last epoch out of what counts as in flight.
func (c *conn) newEpoch() {
	c.mu.Lock()
	c.mu.inFlightFloor, c.mu.inFlightMin = c.mu.inFlightMin, c.mu.inFlight
	c.countInFlightLocked()
	c.mu.Unlock()
}

// waitRoom waits until little enough output waits. It is false when the connection ended.
func (c *conn) waitRoom() bool {
	for {
		c.mu.Lock()
		if c.mu.state != stateOpen {
			c.mu.Unlock()
			return false
		}
		if c.mu.bytes <= c.core.lim.OutHighWater {
			c.mu.Unlock()
			return true
		}
		if c.mu.room == nil {
			c.mu.room = make(chan struct{})
		}
		room := c.mu.room
		c.mu.Unlock()
		<-room
	}
}

func (c *conn) closing() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.mu.state != stateOpen
}

// badFrame closes the connection and says once in a while why.
func (c *conn) badFrame(in input, err error) error {
	var fe *protocol.FrameError
	if !errors.As(err, &fe) {
		c.Close(ClosedByPeer)
		return err
	}
	what := ""
	if c.pre != prefaceDone {
		if p, perr := in.Peek(min(in.Len(), 32)); perr == nil {
			what = sniff(p)
		}
	}
	k := c.core
	k.stats.badFrames.Add(1)
	l := k.log.Limited(k.clk, "badframe", time.Second)
	if what != "" {
		l.Warnf("closing connection of %v: not the remoting protocol, looks like %s", c.RemoteAddr(), what)
	} else {
		l.Warnf("closing connection of %v: %v", c.RemoteAddr(), err)
	}
	c.Close(ClosedBadFrame)
	return err
}
