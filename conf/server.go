package conf

// Server holds the keys of NettyServerConfig and NettyClientConfig that mean something here.
type Server struct {
	// BindAddress: Listen address.
	BindAddress string `conf:"bindAddress" default:"0.0.0.0"`
	// ListenPort: Listen port. Start-up code sets 10911 (broker), 9876 (NameServer), 19876 (controller; its peer address wins), 10811 (container) before or after reading the file.
	ListenPort int `conf:"listenPort" default:"0"`
	// ServerOnewaySemaphoreValue: Outgoing one-way calls in flight.
	ServerOnewaySemaphoreValue int `conf:"serverOnewaySemaphoreValue" default:"256"`
	// ServerAsyncSemaphoreValue: Outgoing async calls in flight.
	ServerAsyncSemaphoreValue int `conf:"serverAsyncSemaphoreValue" default:"64"`
	// ServerChannelMaxIdleTimeSeconds: Close a connection idle this long. Unit: s.
	ServerChannelMaxIdleTimeSeconds int `conf:"serverChannelMaxIdleTimeSeconds" default:"120"`
	// ServerSocketSndBufSize: SO_SNDBUF; 0 leaves the OS default. Unit: B.
	ServerSocketSndBufSize int `conf:"serverSocketSndBufSize" default:"0"`
	// ServerSocketRcvBufSize: SO_RCVBUF; 0 leaves the OS default. Unit: B.
	ServerSocketRcvBufSize int `conf:"serverSocketRcvBufSize" default:"0"`
	// EnableShutdownGracefully: At shutdown answer GO_AWAY (1500) first and wait.
	EnableShutdownGracefully bool `conf:"enableShutdownGracefully" default:"false"`
	// ShutdownWaitTimeSeconds: That wait. Unit: s.
	ShutdownWaitTimeSeconds int `conf:"shutdownWaitTimeSeconds" default:"30"`
	// ClientOnewaySemaphoreValue: One-way calls in flight.
	ClientOnewaySemaphoreValue int `conf:"clientOnewaySemaphoreValue" default:"65535"`
	// ClientAsyncSemaphoreValue: Async calls in flight.
	ClientAsyncSemaphoreValue int `conf:"clientAsyncSemaphoreValue" default:"65535"`
	// ConnectTimeoutMillis: Connect timeout. Unit: ms.
	ConnectTimeoutMillis int `conf:"connectTimeoutMillis" default:"3000"`
	// ScanAvailableNameSrv: Probe NameServers and use only reachable ones.
	ScanAvailableNameSrv bool `conf:"scanAvailableNameSrv" default:"true"`
	// ClientChannelMaxIdleTimeSeconds: Close a connection idle this long. Unit: s.
	ClientChannelMaxIdleTimeSeconds int `conf:"clientChannelMaxIdleTimeSeconds" default:"120"`
	// ClientSocketSndBufSize: SO_SNDBUF; 0 leaves the OS default. Unit: B.
	ClientSocketSndBufSize int `conf:"clientSocketSndBufSize" default:"0"`
	// ClientSocketRcvBufSize: SO_RCVBUF; 0 leaves the OS default. Unit: B.
	ClientSocketRcvBufSize int `conf:"clientSocketRcvBufSize" default:"0"`
	// ClientCloseSocketIfTimeout: Close the connection when a call times out.
	ClientCloseSocketIfTimeout bool `conf:"clientCloseSocketIfTimeout" default:"true"`
	// UseTLS: Use TLS for outgoing connections; a broker process sets it to true when tls.server.mode is enforcing, else from -Dtls.enable.
	UseTLS bool `conf:"useTLS" default:"false"`
	// SocksProxyConfig: Map of address pattern to {"addr","username","password"} SOCKS5 proxies. Unit: JSON.
	SocksProxyConfig string `conf:"socksProxyConfig" default:"{}"`
	// EnableReconnectForGoAway: Reconnect after GO_AWAY.
	EnableReconnectForGoAway bool `conf:"enableReconnectForGoAway" default:"true"`
}
