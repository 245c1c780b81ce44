package remoting

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/seedmq/seedmq/conf"
	"github.com/seedmq/seedmq/conf/clock"
)

// pemFiles writes a certificate with its key, and returns their paths.
func pemFiles(t *testing.T) (cert, key string) {
	t.Helper()
	c, err := SelfSignedConfig(clock.Real{}, "localhost")
	if err != nil {
		t.Fatal(err)
	}
	der, err := x509.MarshalPKCS8PrivateKey(c.Certificates[0].PrivateKey)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	cert, key = filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem")
	for path, block := range map[string]*pem.Block{
		cert: {Type: "CERTIFICATE", Bytes: c.Certificates[0].Certificate[0]},
		key:  {Type: "PRIVATE KEY", Bytes: der},
	} {
		if err := os.WriteFile(path, pem.EncodeToMemory(block), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return cert, key
}

func TestServerOptionsFrom(t *testing.T) {
	cert, key := pemFiles(t)
	for name, tt := range map[string]struct {
		edit func(c *conf.Server)
		want func(o *ServerOptions) bool
		err  string
	}{
		"defaults": {func(c *conf.Server) {}, func(o *ServerOptions) bool {
			return o.TLSMode == TLSPermissive && o.SelfSigned && o.TLS == nil && o.BindAddress == "0.0.0.0" &&
				o.Limits.IdleTimeout == 120*time.Second && o.Limits.MaxFrame == 16<<20
		}, ""},
		"disabled":  {func(c *conf.Server) { c.TLSServerMode, c.TLSServerCertPath = "disabled", "/none" }, func(o *ServerOptions) bool { return o.TLSMode == TLSDisabled && o.TLS == nil }, ""},
		"enforcing": {func(c *conf.Server) { c.TLSServerMode = "enforcing" }, func(o *ServerOptions) bool { return o.TLSMode == TLSEnforcing }, ""},
		"files": {func(c *conf.Server) { c.TLSServerCertPath, c.TLSServerKeyPath = cert, key }, func(o *ServerOptions) bool {
			return len(o.TLS.Certificates) == 1 && o.TLS.ClientAuth == tls.NoClientCert
		}, ""},
		"no key": {func(c *conf.Server) { c.TLSServerCertPath = cert }, nil, "tls.server.keyPath"},
		"client certificates": {func(c *conf.Server) {
			c.TLSServerCertPath, c.TLSServerKeyPath, c.TLSServerNeedClientAuth = cert, key, "require"
			c.TLSServerAuthClient, c.TLSServerTrustCertPath = true, cert
		}, func(o *ServerOptions) bool {
			return o.TLS.ClientAuth == tls.RequireAndVerifyClientCert && o.TLS.ClientCAs != nil
		}, ""},
		"optional, unchecked": {func(c *conf.Server) {
			c.TLSServerCertPath, c.TLSServerKeyPath, c.TLSServerNeedClientAuth = cert, key, "optional"
		}, func(o *ServerOptions) bool { return o.TLS.ClientAuth == tls.RequestClientCert }, ""},
		"trust file without certificates": {func(c *conf.Server) {
			c.TLSServerCertPath, c.TLSServerKeyPath, c.TLSServerNeedClientAuth = cert, key, "require"
			c.TLSServerAuthClient, c.TLSServerTrustCertPath = true, key
		}, nil, "has no certificate"},
	} {
		c := conf.DefaultServer(conf.Env{})
		tt.edit(&c)
		o, err := ServerOptionsFrom(c)
		switch {
		case tt.err != "":
			if err == nil || !strings.Contains(err.Error(), tt.err) {
				t.Errorf("%s: error %v, want %q", name, err, tt.err)
			}
		case err != nil || !tt.want(&o):
			t.Errorf("%s: %+v, %v", name, o, err)
		}
	}
}
