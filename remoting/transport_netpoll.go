package remoting

import (
	"context"
	"errors"
	"io"
	"net"
	"sync"
	"syscall"

	"github.com/cloudwego/netpoll"
)

// netpoll writes what peers do wrong to stderr; what matters of it is logged here.
func init() {
	_ = netpoll.Configure(netpoll.Config{LoggerOutput: io.Discard, LoadBalance: netpoll.RoundRobin})
}

// netpollLink is a socket served by netpoll. Of netpoll it uses the poller, the input buffer and the waiting for room;
// output normally goes straight to the socket, which saves netpoll's buffer, and never waits.
//
// The socket is wrapped here rather than by netpoll's own listener because that closes its descriptor twice, and so may
// close somebody else's. netpoll's timeouts must not be used on a connection that is wrapped so (it would name the peer,
// whom it does not know, and panic): the monitor closes connections that wait for too long.
type netpollLink struct {
	nc netpoll.Connection
	fd int

	fdMu   sync.RWMutex // read: fd is used; write: it is about to be closed
	fdDead bool
	wMu    sync.Mutex // held while output is written
	dead   bool
}

// serveNetpoll starts c on a connected TCP socket, which it takes over. After an error c is finished or will be.
func serveNetpoll(c *conn, tcp *net.TCPConn, server bool) error {
	fd, err := dupSocket(tcp)
	tcp.Close()
	if err != nil {
		return err
	}
	nc, err := netpoll.NewFDConnection(fd)
	if err != nil {
		return err // netpoll has closed fd
	}
	l := &netpollLink{nc: nc, fd: fd}
	c.link = l
	in := nc.Reader()
	nc.AddCloseCallback(func(netpoll.Connection) error { // runs before netpoll's own, which closes fd
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
	cerr := raw.Control(func(old uintptr) {
		syscall.ForkLock.RLock()
		defer syscall.ForkLock.RUnlock()
		if fd, err = syscall.Dup(int(old)); err == nil {
			syscall.CloseOnExec(fd)
		}
	})
	return fd, errors.Join(err, cerr)
}

// readPoll serves what netpoll has read. It runs once at a time for a connection.
func (c *conn) readPoll(in input, l *netpollLink) error {
	if c.pre < prefacePlain {
		next, err := c.preface(in)
		if err != nil || next == nextWait {
			return err
		}
		if next == nextTLS {
			return c.serveTLS(l)
		}
		c.core.open(c)
	}
	return c.read(in)
}

func (l *netpollLink) tryWrite(b []byte) (int, error) {
	l.wMu.Lock()
	defer l.wMu.Unlock()
	if l.dead {
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
	l.wMu.Lock()
	defer l.wMu.Unlock()
	if l.dead {
		return ErrClosed
	}
	w := l.nc.Writer()
	if _, err := w.WriteBinary(b); err != nil {
		return err
	}
	err := w.Flush()
	if errors.Is(err, netpoll.ErrConnClosed) {
		return ErrClosed
	}
	return err
}

func (l *netpollLink) buffered() int { return l.nc.Reader().Len() }

func (l *netpollLink) close(abort bool) {
	if abort {
		// netpoll's Close takes effect only when the running handler ends, and reads on until then.
		l.fdMu.RLock()
		if !l.fdDead {
			syscall.Shutdown(l.fd, syscall.SHUT_RDWR)
		}
		l.fdMu.RUnlock()
	}
	l.nc.Close()
}

// kill keeps the descriptor from being used after it is closed.
func (l *netpollLink) kill() {
	l.fdMu.Lock()
	l.fdDead = true
	l.fdMu.Unlock()
	l.wMu.Lock()
	l.dead = true
	l.wMu.Unlock()
}
