package remoting

import (
	"context"
	"errors"
	"io"
	"net"
	"sync"
	"sync/atomic"
)

var errTooManyConns = errors.New("remoting: too many connections, or closing")

// netLink is any net.Conn. Its output always goes through the connection's drain goroutine, since a net.Conn cannot
// write without waiting.
type netLink struct {
	nc   net.Conn
	in   *netInput
	once sync.Once
}

// serveNet starts c on nc with a goroutine of its own.
func serveNet(c *conn, nc net.Conn, server bool) error {
	in := newNetInput(nc)
	l := &netLink{nc: nc, in: in}
	c.link = l
	if !server {
		c.pre = prefacePlain
		c.core.open(c)
	}
	if !c.core.add(c) {
		nc.Close()
		c.finish()
		return errTooManyConns
	}
	err := c.core.group.Go("read", func(context.Context) {
		defer c.finish()
		defer l.close(true)
		if !server || c.netPreface(in, l) {
			c.readLoop(in)
		}
	})
	if err != nil {
		nc.Close()
		c.finish()
	}
	return err
}

// netPreface is preface for a blocking transport. It is true when frames are to be read from in.
func (c *conn) netPreface(in *netInput, l *netLink) bool {
	for {
		next, err := c.preface(in)
		switch {
		case err != nil:
			return false
		case next == nextTLS:
			c.serveTLS(l)
			return false
		case next == nextFrames:
			c.core.open(c)
			return true
		}
	}
}

// readLoop serves in until it ends.
func (c *conn) readLoop(in *netInput) {
	for {
		if _, err := in.Peek(1); err != nil {
			return
		}
		if c.read(in) != nil {
			return
		}
	}
}

func (l *netLink) tryWrite([]byte) (int, error) { return 0, nil }

func (l *netLink) write(b []byte) error {
	_, err := l.nc.Write(b)
	if errors.Is(err, net.ErrClosed) || errors.Is(err, io.ErrClosedPipe) {
		return ErrClosed
	}
	return err
}

func (l *netLink) buffered() int { return int(l.in.size.Load()) }

func (l *netLink) close(bool) { l.once.Do(func() { l.nc.Close() }) }

// netInput buffers a net.Conn for reading. It grows with what has arrived and no further.
type netInput struct {
	nc   net.Conn
	buf  []byte
	r, w int          // unread bytes are buf[r:w]
	free int          // buf[:free] was released
	size atomic.Int64 // w-r, for the monitor
}

const (
	netInputMin  = 4 << 10
	netInputKept = 256 << 10 // a drained buffer above this is dropped
)

func newNetInput(nc net.Conn) *netInput { return &netInput{nc: nc} }

func (in *netInput) Len() int { return in.w - in.r }

func (in *netInput) Peek(n int) ([]byte, error) {
	if err := in.fill(n); err != nil {
		return nil, err
	}
	return in.buf[in.r : in.r+n], nil
}

func (in *netInput) Next(n int) ([]byte, error) {
	if err := in.fill(n); err != nil {
		return nil, err
	}
	p := in.buf[in.r : in.r+n : in.r+n]
	in.r += n
	in.size.Store(int64(in.w - in.r))
	return p, nil
}

// Release says that what Next returned is not used any more.
func (in *netInput) Release() error {
	if in.free = in.r; in.r == in.w {
		in.r, in.w, in.free = 0, 0, 0
		if len(in.buf) > netInputKept {
			in.buf = nil
		}
	}
	return nil
}

// fill waits until n bytes are unread.
func (in *netInput) fill(n int) error {
	for in.w-in.r < n {
		in.room()
		k, err := in.nc.Read(in.buf[in.w:])
		in.w += k
		in.size.Store(int64(in.w - in.r))
		if err != nil && in.w-in.r < n {
			return err
		}
	}
	return nil
}

// room makes space behind w. Bytes that are in use (taken but not released) keep their place.
func (in *netInput) room() {
	if in.w < len(in.buf) {
		return
	}
	unread := in.buf[in.r:in.w]
	if in.free == in.r && in.r >= len(in.buf)/2 && in.r > 0 {
		in.w = copy(in.buf, unread)
		in.r, in.free = 0, 0
		return
	}
	buf := make([]byte, max(netInputMin, 2*len(unread)))
	in.w = copy(buf, unread)
	in.buf, in.r, in.free = buf, 0, 0
}
