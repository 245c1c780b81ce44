package remoting

import (
	"context"
	"net"
	"net/netip"
)

// Pipe is a connection in memory between two handlers, with everything that a real one has except a socket.
type Pipe struct {
	// Client and Server are the two ends: what Client sends, the server's handler gets, and the other way round.
	Client, Server Conn

	client, server *core
}

// NewPipe connects a new server that runs h with a new client that runs peer (nil: every request is answered code 3).
// It is meant for tests of handlers. Close it.
func NewPipe(h, peer Handler, o Common) (*Pipe, error) {
	o.fill()
	p := &Pipe{client: newCore(&o, peer), server: newCore(&o, h)}
	a, b := net.Pipe()
	addr := netip.AddrPortFrom(netip.AddrFrom4([4]byte{127, 0, 0, 1}), 1)
	cc, sc := newConn(p.client, addr, addr), newConn(p.server, addr, addr)
	p.Client, p.Server = cc, sc
	err := serveNet(sc, b, false) // no preface: opened at once
	if err == nil {
		err = serveNet(cc, a, false)
	}
	if err != nil {
		p.Close()
		return nil, err
	}
	return p, nil
}

// Close ends both sides and waits for their goroutines.
func (p *Pipe) Close() error {
	err := p.client.stopNow()
	if serr := p.server.stop(context.Background()); err == nil {
		err = serr
	}
	return err
}
