package remoting

import (
	"context"
	"errors"
	"math"
	"net"
	"os"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/cloudwego/netpoll"
)

var (
	errBacklog = errors.New("remoting: input comes faster than it is served")
	errLeft    = errors.New("remoting: the connection goes on without netpoll")
)

// netpollLink is a socket served by netpoll. Of netpoll it uses the poller and the input buffer. Output goes straight to
// the socket; where it has to wait for room, it goes through a net.Conn on the same socket, made when first needed.
//
// netpoll reads on whatever the handler does, and has no way to be told not to. So a connection that sends faster than it
// is served, and one that speaks TLS, leaves netpoll and is read through that net.Conn from then on (see leave), where the
// sender waits when its reader does. A handler that is slow meanwhile is what brake is for.
//
// The socket is wrapped here rather than by netpoll's own listener because that closes its descriptor twice, and so may
// close somebody else's. netpoll's timeouts must not be used on a connection that is wrapped so (it would name the peer,
// whom it does not know, and panic): the monitor closes connections that wait for too long.
type netpollLink struct {
	nc netpoll.Connection
	fd int
	in atomic.Pointer[netInput] // what is read into since the connection left netpoll

	left func() // what goes on when netpoll has let go; set, and called, by the goroutine that reads

	fdMu   sync.RWMutex // read: fd is used; write: it is about to be closed, or a field below changes
	fdDead bool
	closed bool
	gone   bool         // netpoll does not read any more
	tcp    *net.TCPConn // for waiting; nil until needed
	slow   atomic.Bool  // the peer is told to send nothing; set under fdMu
}

// serveNetpoll starts c on a connected TCP socket, which it takes over. After an error c is finished or will be.
func serveNetpoll(c *conn, tcp *net.TCPConn, server bool) error {
	fd, err := dupSocket(tcp)
	tcp.Close()
	if err != nil {
		return err
	}
	nc, err := pollers.connect(fd)
	if err != nil {
		return err // netpoll has closed fd
	}
	l := &netpollLink{nc: nc, fd: fd}
	c.link = l
	in := nc.Reader()
	nc.AddCloseCallback(func(netpoll.Connection) error { // runs before netpoll's own, which closes fd
		if l.left != nil {
			pollers.sync()
			l.left()
		}
		l.kill()
		c.finish()
		return nil
	})
	if !server {
		c.pre = prefacePlain
		c.core.open(c)
	}
	if !c.core.add(c) {
		nc.Close()
		return errTooManyConns
	}
	nc.SetOnRequest(func(context.Context, netpoll.Connection) error {
		if c.readPoll(in, l) != nil {
			nc.Close() // input that is not taken would be offered for ever
		}
		return nil
	})
	if !nc.IsActive() { // the peer went before the callbacks stood
		nc.Close()
	}
	return nil
}

func dupSocket(tcp *net.TCPConn) (fd int, err error) {
	raw, err := tcp.SyscallConn()
	if err != nil {
		return -1, err
	}
	cerr := raw.Control(func(old uintptr) { fd, err = dup(int(old)) })
	return fd, errors.Join(err, cerr)
}

func dup(old int) (fd int, err error) {
	syscall.ForkLock.RLock()
	defer syscall.ForkLock.RUnlock()
	if fd, err = syscall.Dup(old); err == nil {
		syscall.CloseOnExec(fd)
	}
	return fd, err
}

// readPoll serves what netpoll has read. It runs once at a time for a connection. After an error the caller closes
// netpoll's connection, which is how one that is to go on without netpoll leaves it, too.
func (c *conn) readPoll(in input, l *netpollLink) error {
	if c.pre < prefacePlain {
		next, err := c.preface(in)
		if err != nil || next == nextWait {
			return err
		}
		if next == nextTLS {
			return l.leave(func(nc net.Conn) { c.serveTLS(l, nc) })
		}
		c.core.open(c)
	}
	err := c.read(in, leaveAt)
	if err != errBacklog {
		return err
	}
	err = l.leave(func(nc net.Conn) {
		own := newNetInput(nc)
		l.in.Store(own)
		c.readLoop(own)
		c.awaitSent()
	})
	if err == errLeft || errors.Is(err, ErrClosed) {
		return err
	}
	c.core.log.Limited(c.core.clk, "leave", time.Second).Warnf("input of %v cannot be slowed down: %v", c.RemoteAddr(), err)
	return c.read(in, math.MaxInt)
}

// leave lets goOn serve the rest of the connection, which begins with what netpoll has read and nobody took, when netpoll
// has let go of the socket. On success it returns errLeft, which the caller must return to netpoll.
func (l *netpollLink) leave(goOn func(net.Conn)) error {
	tcp, err := l.waiting()
	if err != nil {
		return err
	}
	l.left = func() {
		l.fdMu.Lock()
		l.gone = true
		l.fdMu.Unlock()
		l.brake(false)
		goOn(peeked{tcp, l.nc.Reader()})
	}
	return errLeft
}

// waiting returns the socket as a net.Conn of its own.
func (l *netpollLink) waiting() (*net.TCPConn, error) {
	l.fdMu.Lock()
	defer l.fdMu.Unlock()
	if l.closed || l.fdDead {
		return nil, ErrClosed
	}
	if l.tcp != nil {
		return l.tcp, nil
	}
	fd, err := dup(l.fd)
	if err != nil {
		return nil, err
	}
	f := os.NewFile(uintptr(fd), "")
	defer f.Close()
	nc, err := net.FileConn(f)
	if err != nil {
		return nil, err
	}
	l.tcp = nc.(*net.TCPConn)
	return l.tcp, nil
}

func (l *netpollLink) brake(on bool) {
	if !on && !l.slow.Load() {
		return
	}
	l.fdMu.Lock()
	defer l.fdMu.Unlock()
	if !l.fdDead && !(on && l.gone) {
		l.slow.Store(on)
		setWindow(l.fd, !on)
	}
}

func (l *netpollLink) tryWrite(b []byte) (int, error) {
	l.fdMu.RLock()
	defer l.fdMu.RUnlock()
	if l.fdDead {
		return 0, ErrClosed
	}
	return writeFD(l.fd, b)
}

// writeFD writes to a socket that does not block; 0 without an error means that it takes nothing now.
func writeFD(fd int, b []byte) (int, error) {
	for {
		n, err := syscall.Write(fd, b)
		switch err {
		case nil:
			return n, nil
		case syscall.EAGAIN:
			return 0, nil
		case syscall.EINTR:
		default:
			return 0, err
		}
	}
}

func (l *netpollLink) write(b []byte) error {
	tcp, err := l.waiting()
	if err != nil {
		return err
	}
	_, err = tcp.Write(b)
	if errors.Is(err, net.ErrClosed) {
		return ErrClosed
	}
	return err
}

func (l *netpollLink) buffered() int {
	n := l.nc.Reader().Len()
	if in := l.in.Load(); in != nil {
		n += int(in.size.Load())
	}
	return n
}

func (l *netpollLink) close(abort bool) {
	l.fdMu.Lock()
	l.closed = true
	if abort && !l.fdDead {
		// netpoll's Close takes effect only when the running handler ends, and reads on until then.
		syscall.Shutdown(l.fd, syscall.SHUT_RDWR)
	}
	if l.tcp != nil {
		l.tcp.Close()
	}
	l.fdMu.Unlock()
	l.nc.Close()
}

// kill keeps the descriptor from being used after it is closed.
func (l *netpollLink) kill() {
	l.fdMu.Lock()
	defer l.fdMu.Unlock()
	l.fdDead = true
	if l.tcp != nil {
		l.tcp.Close()
	}
}
