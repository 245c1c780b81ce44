package remoting

import (
	"cmp"
	"context"
	"errors"
	"io"
	"math"
	"net"
	"sync"
	"sync/atomic"
	"syscall"
)

var errTooManyConns = errors.New("remoting: too many connections, or closing")

// netLink is any net.Conn. Only TCP can write without waiting; output of others (TLS, pipes) always goes through the
// connection's drain goroutine.
type netLink struct {
	nc   net.Conn
	in   *netInput
	once sync.Once
	try  *tryWriter // nil if nc cannot
}

// tryWriter writes to a socket what it takes now.
type tryWriter struct {
	raw syscall.RawConn
	b   []byte
	n   int
	err error
	do  func(fd uintptr) bool // t.once, kept so that a write does not allocate
}

func newTryWriter(nc net.Conn) *tryWriter {
	tcp, ok := nc.(*net.TCPConn)
	if !ok {
		return nil
	}
	raw, err := tcp.SyscallConn()
	if err != nil {
		return nil
	}
	t := &tryWriter{raw: raw}
	t.do = t.once
	return t
}

func (t *tryWriter) once(fd uintptr) bool {
	t.n, t.err = writeFD(int(fd), t.b)
	return true // never wait
}

func (t *tryWriter) write(b []byte) (int, error) {
	t.b = b
	err := t.raw.Write(t.do)
	t.b = nil
	if errors.Is(err, net.ErrClosed) {
		return 0, ErrClosed
	}
	return t.n, cmp.Or(err, t.err)
}

// serveNet starts c on nc with a goroutine of its own.
func serveNet(c *conn, nc net.Conn, server bool) error {
	in := newNetInput(nc)
	l := &netLink{nc: nc, in: in, try: newTryWriter(nc)}
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
			c.awaitSent() // a peer that only closed its sending side still gets its replies
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
			c.serveTLS(l, peeked{l.nc, l.in})
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
		if c.read(in, math.MaxInt) != nil {
			return
		}
	}
}

func (l *netLink) tryWrite(b []byte) (int, error) {
	if l.try == nil {
		return 0, nil
	}
	return l.try.write(b)
}

func (l *netLink) write(b []byte) error {
	_, err := l.nc.Write(b)
	if errors.Is(err, net.ErrClosed) || errors.Is(err, io.ErrClosedPipe) {
		return ErrClosed
	}
	return err
}

// brake does nothing: input that is not served stays with the system, which tells the peer.
func (l *netLink) brake(bool) {}

func (l *netLink) buffered() int { return int(l.in.size.Load()) }

func (l *netLink) close(bool) { l.once.Do(func() { l.nc.Close() }) }

// netInput buffers a reader. It grows with what has arrived and no further.
type netInput struct {
	src  io.Reader
	buf  []byte
	r, w int          // unread bytes are buf[r:w]
	free int          // buf[:free] was released
	full bool         // the last read filled the buffer
	size atomic.Int64 // w-r, for the monitor
}

const (
	netInputMin  = 4 << 10
	netInputRead = 64 << 10  // how far an empty buffer grows when reads fill it
	netInputKept = 256 << 10 // a drained buffer above this is dropped
)

func newNetInput(src io.Reader) *netInput { return &netInput{src: src} }

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
		k, err := in.src.Read(in.buf[in.w:])
		in.w += k
		in.full = in.w == len(in.buf)
		in.size.Store(int64(in.w - in.r))
		if err != nil && in.w-in.r < n {
			return err
		}
	}
	return nil
}

// room makes space behind w. Bytes that are in use (taken but not released) keep their place. The buffer doubles, up to
// netInputRead, while reads fill it, and beyond that only for what is unread.
func (in *netInput) room() {
	unread := in.buf[in.r:in.w]
	size := max(netInputMin, 2*len(unread))
	if in.full {
		size = max(size, min(2*len(in.buf), netInputRead))
	}
	switch {
	case in.w < len(in.buf) && (in.w > 0 || size <= len(in.buf)):
	case in.free == in.r && size <= len(in.buf):
		in.w = copy(in.buf, unread)
		in.r, in.free = 0, 0
	default:
		buf := make([]byte, size)
		in.w = copy(buf, unread)
		in.buf, in.r, in.free = buf, 0, 0
	}
	in.full = false
}
