package remoting

import (
	"crypto/tls"
	"time"

	"github.com/seedmq/seedmq/conf/clock"
	"github.com/seedmq/seedmq/conf/xlog"
	"github.com/seedmq/seedmq/remoting/protocol"
)

// Limits bound what peers can make this process hold and for how long. A zero field takes its default.
type Limits struct {
	// MaxFrame is the largest whole frame, in either direction, in bytes. Default protocol.MaxFrameLength.
	MaxFrame int
	// MaxConns is how many connections a server holds; more are closed at once. Default 100,000.
	MaxConns int
	// BurstRequests and BurstBytes bound one ServeBurst call. Defaults BurstMax and 1 MiB.
	BurstRequests int
	BurstBytes    int

	// IdleTimeout closes a connection that neither read nor wrote for so long. Default 120 s; negative: never.
	IdleTimeout time.Duration
	// ReadTimeout is how long the rest of a frame that has begun may take, plus one second for each 64 KiB of it. Default 30 s.
	ReadTimeout time.Duration
	// WriteTimeout is how long a peer may take for 256 KiB of waiting output before it counts as slow. Default 15 s.
	WriteTimeout time.Duration
	// HandshakeTimeout bounds PROXY header and TLS handshake. Default 10 s.
	HandshakeTimeout time.Duration

	// OutHighWater is the waiting output of one connection above which its input is not parsed. Default 4 MiB.
	OutHighWater int
	// MaxOut and MaxOutTotal bound waiting output of one connection and of all. Beyond them the connection is closed
	// as ClosedSlowPeer. Defaults 64 MiB and 1 GiB.
	MaxOut      int
	MaxOutTotal int
	// MaxIn and MaxInTotal bound input that has arrived but is not parsed, of one connection and of all. Beyond them the
	// connection (of all: the biggest) is closed as ClosedOverload. A peer that only sends fast is slowed down long before.
	// Defaults 32 MiB (at least twice MaxFrame) and 1 GiB.
	MaxIn      int
	MaxInTotal int

	// MaxInFlight and MaxInFlightTotal bound requests that are not answered yet, of one connection and of all; more are
	// answered SYSTEM_BUSY. Defaults 65,536 and 1,048,576.
	MaxInFlight      int
	MaxInFlightTotal int
	// MaxPending bounds our own requests that wait for a reply, per connection. Default 65,535.
	MaxPending int
}

const (
	burstBytes    = 1 << 20
	bytesASecond  = 64 << 10 // slowest transfer of a frame that is still waited for
	drainPiece    = 256 << 10
	leaveAt       = 1 << 20 // input that has come while a burst was served, above which a connection leaves netpoll
	brakeAt       = 2 << 20 // the same while it is still being served, above which the peer is told to stop
	monitorPeriod = 100 * time.Millisecond
	watchPeriod   = 2 * time.Millisecond // while there is something to watch
	watchPerConn  = 5 * time.Microsecond // that much longer for each connection, since all are looked at
	idlePeriod    = time.Second
	inFlightEpoch = 60 * time.Second
	drainQuiet    = 300 * time.Millisecond
)

func orInt(p *int, def int) {
	if *p == 0 {
		*p = def
	}
}

func orTime(p *time.Duration, def time.Duration) {
	if *p == 0 {
		*p = def
	}
}

func (l *Limits) fill() {
	orInt(&l.MaxFrame, protocol.MaxFrameLength)
	orInt(&l.MaxConns, 100_000)
	orInt(&l.BurstRequests, BurstMax)
	orInt(&l.BurstBytes, burstBytes)
	orTime(&l.IdleTimeout, 120*time.Second)
	orTime(&l.ReadTimeout, 30*time.Second)
	orTime(&l.WriteTimeout, 15*time.Second)
	orTime(&l.HandshakeTimeout, 10*time.Second)
	orInt(&l.OutHighWater, 4<<20)
	orInt(&l.MaxOut, 64<<20)
	orInt(&l.MaxOutTotal, 1<<30)
	orInt(&l.MaxIn, max(32<<20, 2*l.MaxFrame))
	orInt(&l.MaxInTotal, 1<<30)
	orInt(&l.MaxInFlight, 65_536)
	orInt(&l.MaxInFlightTotal, 1<<20)
	orInt(&l.MaxPending, 65_535)
}

// TLSMode says what a server's ports accept. It is Java's tls.server.mode.
type TLSMode uint8

// TLS modes.
const (
	TLSPermissive TLSMode = iota // plain and TLS
	TLSDisabled                  // plain only
	TLSEnforcing                 // TLS only
)

// Transport is the way bytes move.
type Transport uint8

// Transports.
const (
	TransportNetpoll Transport = iota // event driven; TLS connections still take a goroutine each
	TransportNet                      // net.Conn, one goroutine per connection
)

// Common is what servers, clients and pipes share. The zero value works.
type Common struct {
	Limits Limits
	// Version, Language and Serialize go into replies. Defaults protocol.CurrentVersion, Go, JSON.
	Version   int32
	Language  protocol.Language
	Serialize protocol.SerializeType
	Clock     clock.Clock  // default clock.Real
	Logger    *xlog.Logger // default: drops everything
	Transport Transport
	// SndBuf and RcvBuf set SO_SNDBUF and SO_RCVBUF in bytes; 0 leaves them to the system.
	SndBuf, RcvBuf int
}

func (o *Common) fill() {
	o.Limits.fill()
	if o.Version == 0 {
		o.Version = protocol.CurrentVersion
	}
	if o.Language == protocol.LanguageJava {
		o.Language = protocol.LanguageGo
	}
	if o.Clock == nil {
		o.Clock = clock.Real{}
	}
}

// ServerOptions configure a Server.
type ServerOptions struct {
	Common
	// BindAddress is the host to listen on. Default: all addresses.
	BindAddress string
	// Port to listen on; 0 takes a free one.
	Port int
	// FastPort also listens on Port-2 (with Port 0: on a free one); MainPortOnly routes are refused there.
	FastPort bool
	TLSMode  TLSMode
	// TLS is the server's configuration. Where it is nil, TLS needs SelfSigned.
	TLS *tls.Config
	// SelfSigned makes a certificate in memory when TLS is nil, as Java's tls.test.mode.enable does.
	SelfSigned bool
}

// ClientOptions configure a Client.
type ClientOptions struct {
	Common
	// ConnectTimeout bounds a dial, TLS handshake included. Default 3 s.
	ConnectTimeout time.Duration
	// InvokeTimeout applies to calls whose context has no deadline. Default 3 s.
	InvokeTimeout time.Duration
	// TLS, when set, is used for every connection.
	TLS *tls.Config
	// KeepOnTimeout keeps a connection open when a call on it timed out. Java closes it (clientCloseSocketIfTimeout).
	KeepOnTimeout bool
	// Handler serves requests that servers send. Default: each is answered code 3.
	Handler Handler
}
