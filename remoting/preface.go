package remoting

import (
	"errors"

	"github.com/seedmq/seedmq/remoting/protocol"
)

type nextStep uint8

const (
	nextWait nextStep = iota // more input is needed
	nextFrames
	nextTLS
)

// recordHandshake is the first byte of a TLS connection. No frame within the limit begins with it.
const recordHandshake = 0x16

// preface looks at the first bytes of an accepted connection: a PROXY header, then TLS or frames. An error has been
// logged, and the connection closed.
func (c *conn) preface(in input) (nextStep, error) {
	first, err := in.Peek(1)
	if err != nil {
		c.Close(ClosedByPeer)
		return nextWait, err
	}
	if c.pre == prefaceStart && (first[0] == proxyV1Prefix[0] || first[0] == proxyV2Signature[0]) {
		if err := c.proxyHeader(in); err != nil {
			return nextWait, c.badFrame(in, err)
		}
		c.pre = prefaceProxy
		return nextWait, nil
	}
	mode := c.core.tlsMode
	if first[0] == recordHandshake {
		if c.core.tls == nil || mode == TLSDisabled {
			return nextWait, c.badFrame(in, &protocol.FrameError{Reason: "TLS is off here"})
		}
		return nextTLS, nil
	}
	if mode == TLSEnforcing {
		return nextWait, c.badFrame(in, &protocol.FrameError{Reason: "only TLS connections are accepted here"})
	}
	c.pre = prefacePlain
	return nextFrames, nil
}

// proxyHeader takes a PROXY header and the client's address from it.
func (c *conn) proxyHeader(in input) error {
	c.due(&c.readDue, c.core.lim.HandshakeTimeout)
	defer c.undue(&c.readDue)
	for n := min(max(in.Len(), 1), proxyV1Max); ; {
		b, err := in.Peek(n)
		if err != nil {
			return err
		}
		src, size, err := parseProxy(b)
		switch {
		case err == nil:
			if _, err := in.Next(size); err != nil {
				return err
			}
			if src.IsValid() {
				c.remote.Store(&src)
			}
			return in.Release()
		case !errors.Is(err, errProxyMore):
			return &protocol.FrameError{Reason: "malformed PROXY header"}
		}
		n = max(size, min(in.Len(), proxyV1Max))
	}
}
