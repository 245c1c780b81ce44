package remoting

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"math/big"
	"net"
	"time"

	"github.com/seedmq/seedmq/conf/clock"
)

// tlsLink is TLS over another link's connection.
type tlsLink struct {
	netLink
	under link
}

// buffered counts what TLS has not taken yet as well.
func (l *tlsLink) buffered() int { return l.netLink.buffered() + l.under.buffered() }

func (l *tlsLink) close(abort bool) { l.under.close(abort) }

// serveTLS runs the rest of a connection as TLS over nc, in the goroutine that read its first byte.
func (c *conn) serveTLS(under link, nc net.Conn) {
	tc := tls.Server(nc, c.core.tls)
	in := newNetInput(tc)
	l := &tlsLink{netLink: netLink{nc: tc, in: in}, under: under}
	c.tls.Store(l)
	if err := c.handshake(tc); err != nil {
		c.core.log.Limited(c.core.clk, "handshake", time.Second).Warnf("TLS handshake with %v: %v", c.RemoteAddr(), err)
		c.Close(ClosedBadFrame)
		return
	}
	c.pre = prefacePlain
	c.core.open(c)
	c.readLoop(in)
	c.awaitSent()
	c.Close(ClosedByPeer)
}

func (c *conn) handshake(tc *tls.Conn) error {
	c.due(&c.readDue, c.core.lim.HandshakeTimeout)
	defer c.undue(&c.readDue)
	return tc.Handshake()
}

// peeked is a net.Conn whose first bytes were read already.
type peeked struct {
	net.Conn
	in input
}

func (p peeked) Read(b []byte) (int, error) {
	if n := min(p.in.Len(), len(b)); n > 0 {
		s, err := p.in.Next(n)
		copy(b, s)
		p.in.Release()
		return n, err
	}
	return p.Conn.Read(b)
}

// SelfSignedConfig returns a TLS configuration with a new certificate that nobody has signed, valid for ten years and
// for the hosts given. It encrypts, but a client that verifies refuses it.
func SelfSignedConfig(clk clock.Clock, hosts ...string) (*tls.Config, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	serial, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 120))
	if err != nil {
		return nil, err
	}
	now := clk.Now()
	cert := &x509.Certificate{
		SerialNumber: serial,
		Subject:      pkix.Name{CommonName: "seedmq"},
		NotBefore:    now.Add(-24 * time.Hour),
		NotAfter:     now.AddDate(10, 0, 0),
		KeyUsage:     x509.KeyUsageDigitalSignature,
		ExtKeyUsage:  []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
	for _, h := range hosts {
		if ip := net.ParseIP(h); ip != nil {
			cert.IPAddresses = append(cert.IPAddresses, ip)
		} else {
			cert.DNSNames = append(cert.DNSNames, h)
		}
	}
	der, err := x509.CreateCertificate(rand.Reader, cert, cert, &key.PublicKey, key)
	if err != nil {
		return nil, err
	}
	return &tls.Config{
		Certificates: []tls.Certificate{{Certificate: [][]byte{der}, PrivateKey: key}},
		MinVersion:   tls.VersionTLS12,
	}, nil
}
