package conf

// Server holds the keys of NettyServerConfig, NettyClientConfig and of the TLS property file that mean something here.
type Server struct {
	// BindAddress: Listen address.
	BindAddress string `conf:"bindAddress" default:"0.0.0.0"`
	// ListenPort: Listen port; 10911 for a broker, 9876 for a NameServer. A broker also listens on this port minus 2.
	ListenPort int `conf:"listenPort" default:"$port" clamp:"0..65535" important:"true"`
	// ServerChannelMaxIdleTimeSeconds: Close a connection idle this long. Unit: s.
	ServerChannelMaxIdleTimeSeconds int `conf:"serverChannelMaxIdleTimeSeconds" default:"120"`
	// ServerSocketSndBufSize: SO_SNDBUF; 0 leaves the OS default. Unit: B.
	ServerSocketSndBufSize int `conf:"serverSocketSndBufSize" default:"0"`
	// ServerSocketRcvBufSize: SO_RCVBUF; 0 leaves the OS default. Unit: B.
	ServerSocketRcvBufSize int `conf:"serverSocketRcvBufSize" default:"0"`
	// FrameMaxLength: Largest frame, length words excluded; a longer one closes the connection. Unit: B.
	FrameMaxLength int `conf:"com.rocketmq.remoting.frameMaxLength" default:"16777216" clamp:"65536..268435456"`
	// TLSConfigFile: Property file whose tls.* keys are added to those of the configuration file. Unit: path.
	TLSConfigFile string `conf:"tls.config.file" default:""`
	// TLSServerMode: Whether the port takes plain connections only, both, or TLS only.
	TLSServerMode string `conf:"tls.server.mode" default:"permissive" enum:"disabled|permissive|enforcing"`
	// TLSTestMode: Without a certificate file, use a self-signed certificate made at start.
	TLSTestMode bool `conf:"tls.test.mode.enable" default:"true"`
	// TLSServerKeyPath: Server private key, PKCS#8 PEM. Unit: path.
	TLSServerKeyPath string `conf:"tls.server.keyPath" default:""`
	// TLSServerCertPath: Server certificate chain, PEM. Unit: path.
	TLSServerCertPath string `conf:"tls.server.certPath" default:""`
	// TLSServerNeedClientAuth: Client certificate policy.
	TLSServerNeedClientAuth string `conf:"tls.server.need.client.auth" default:"none" enum:"none|optional|require"`
	// TLSServerAuthClient: Verify client certificates against the trust file.
	TLSServerAuthClient bool `conf:"tls.server.authClient" default:"false"`
	// TLSServerTrustCertPath: CA file for client certificates, PEM. Unit: path.
	TLSServerTrustCertPath string `conf:"tls.server.trustCertPath" default:""`
}
