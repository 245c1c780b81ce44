package remoting

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"os"
	"time"

	"github.com/seedmq/seedmq/conf"
	"github.com/seedmq/seedmq/conf/clock"
)

// ServerOptionsFrom turns a server's configuration into options, and reads the certificate files that it names. The caller adds
// clock, logger and second port. With files there is no self-signed certificate, whatever tls.test.mode.enable says.
func ServerOptionsFrom(c conf.Server) (ServerOptions, error) {
	o := ServerOptions{BindAddress: c.BindAddress, Port: c.ListenPort, SelfSigned: c.TLSTestMode}
	o.SndBuf, o.RcvBuf = c.ServerSocketSndBufSize, c.ServerSocketRcvBufSize
	o.Limits.MaxFrame = c.FrameMaxLength
	o.Limits.IdleTimeout = clock.Span(c.ServerChannelMaxIdleTimeSeconds, time.Second)
	switch c.TLSServerMode {
	case "disabled":
		o.TLSMode = TLSDisabled
		return o, nil
	case "enforcing":
		o.TLSMode = TLSEnforcing
	}
	if c.TLSServerCertPath == "" && c.TLSServerKeyPath == "" {
		return o, nil
	}
	cert, err := tls.LoadX509KeyPair(c.TLSServerCertPath, c.TLSServerKeyPath)
	if err != nil {
		return o, fmt.Errorf("tls.server.certPath, tls.server.keyPath: %w", err)
	}
	o.TLS = &tls.Config{Certificates: []tls.Certificate{cert}, MinVersion: tls.VersionTLS12}
	return o, clientAuth(o.TLS, c)
}

// clientAuth says whether clients must show a certificate, and which.
func clientAuth(t *tls.Config, c conf.Server) error {
	switch c.TLSServerNeedClientAuth {
	case "optional":
		t.ClientAuth = tls.RequestClientCert
	case "require":
		t.ClientAuth = tls.RequireAnyClientCert
	default:
		return nil
	}
	if !c.TLSServerAuthClient {
		return nil
	}
	pem, err := os.ReadFile(c.TLSServerTrustCertPath)
	if err != nil {
		return fmt.Errorf("tls.server.trustCertPath: %w", err)
	}
	t.ClientCAs = x509.NewCertPool()
	if !t.ClientCAs.AppendCertsFromPEM(pem) {
		return fmt.Errorf("tls.server.trustCertPath: %s has no certificate", c.TLSServerTrustCertPath)
	}
	if t.ClientAuth == tls.RequestClientCert {
		t.ClientAuth = tls.VerifyClientCertIfGiven
	} else {
		t.ClientAuth = tls.RequireAndVerifyClientCert
	}
	return nil
}
