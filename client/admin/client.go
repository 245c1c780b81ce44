// Package admin is what tools use to look at and change a cluster: one method per operation, on any transport that carries frames.
//
// A Client owns nothing but its settings and the memory of which NameServer answered last: no goroutine, no connection, no cache.
// The transport is the caller's. All methods are safe for concurrent use, take a context that bounds them, and fail with
//
//	*Error         a server refused: code, remark, its address, the request's code
//	*ConnectError  a server could not be reached
//	*TimeoutError  a server did not answer in Options.Timeout (the request may have been carried out)
//	ctx.Err()      the caller gave up
//
// Methods that take addr talk to that one broker; the others find servers by the NameServers. Values that methods return belong to the caller.
package admin

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"os"
	"time"

	"github.com/seedmq/seedmq/client/internal/instance"
	"github.com/seedmq/seedmq/conf/clock"
	"github.com/seedmq/seedmq/remoting/protocol"
)

// Time limits of one request. Statistics walk many queues, hence the longer ones.
const (
	DefaultTimeout           = 5 * time.Second
	consumeStatsTimeout      = 15 * time.Second
	brokerConsumeStatTimeout = 50 * time.Second
)

// Options are the settings of a Client.
type Options struct {
	// NameServers are host:port addresses, asked in turn until one answers.
	NameServers []string
	// Timeout bounds each request. Default 5 s.
	Timeout time.Duration
	// Clock tells the time. Default: the system's.
	Clock clock.Clock
}

// Invoker carries requests to servers; remoting's client is one.
type Invoker = instance.Invoker

// Message is a stored message with its body decompressed.
type Message = instance.Message

// Failures of the transport.
type (
	ConnectError = instance.ConnectError
	TimeoutError = instance.TimeoutError
)

// Error is a server's refusal.
type Error struct {
	Code    protocol.ResponseCode
	Remark  string
	Addr    string               // who refused
	Request protocol.RequestCode // what was asked
}

func (e *Error) Error() string {
	return fmt.Sprintf("%s refused request %d: code %d: %s", e.Addr, e.Request, e.Code, e.Remark)
}

// IsCode reports whether err is a server's refusal with this code.
func IsCode(err error, code protocol.ResponseCode) bool {
	e, ok := asError(err)
	return ok && e.Code == code
}

// Client asks the servers of one cluster. Make one with New.
type Client struct {
	net     *instance.Instance
	timeout time.Duration
	clock   clock.Clock
	ids     *instance.IDMaker
}

// New returns a Client. It contacts nobody.
func New(inv Invoker, o Options) *Client {
	if o.Timeout <= 0 {
		o.Timeout = DefaultTimeout
	}
	if o.Clock == nil {
		o.Clock = clock.Real{}
	}
	seed := uint32(o.Clock.Now().UnixNano())
	return &Client{
		net: instance.New(inv, o.NameServers), timeout: o.Timeout, clock: o.Clock,
		ids: instance.NewIDMaker(localAddr(), os.Getpid(), seed, o.Clock.Now),
	}
}

// NameServers returns the addresses given to New.
func (c *Client) NameServers() []string { return c.net.NameServers() }

// SplitAddrs reads addresses separated by semicolons.
func SplitAddrs(list string) []string { return instance.SplitAddrs(list) }

// localAddr is an address of this host to put into message ids: the first IPv4 one that leaves the host.
func localAddr() netip.Addr {
	addrs, err := net.InterfaceAddrs()
	if err != nil {
		return netip.AddrFrom4([4]byte{127, 0, 0, 1}) // an id needs no true address, only a likely unique one
	}
	for _, a := range addrs {
		if n, ok := a.(*net.IPNet); ok {
			if ip, ok := netip.AddrFromSlice(n.IP); ok && ip.Unmap().Is4() && !ip.IsLoopback() {
				return ip.Unmap()
			}
		}
	}
	return netip.AddrFrom4([4]byte{127, 0, 0, 1})
}

// request is one thing to ask.
type request struct {
	code    protocol.RequestCode
	header  protocol.HeaderEncoder // nil: none
	ext     protocol.ExtFields     // more header fields
	body    []byte
	timeout time.Duration // 0: the client's
}

func (r *request) command() *protocol.Command {
	cmd := protocol.NewRequest(r.code, r.header, r.body)
	cmd.Ext = r.ext
	return cmd
}

func (c *Client) limit(r *request) time.Duration {
	if r.timeout > 0 {
		return r.timeout
	}
	return c.timeout
}

// broker asks one server and takes any code but success for an error.
func (c *Client) broker(ctx context.Context, addr string, r request) (*protocol.Command, error) {
	reply, err := c.net.Invoke(ctx, addr, r.command(), c.limit(&r))
	if err != nil {
		return nil, err
	}
	return reply, refusal(reply, addr, r.code)
}

// nameServer asks one of the NameServers.
func (c *Client) nameServer(ctx context.Context, r request) (*protocol.Command, error) {
	reply, addr, err := c.net.InvokeNameServer(ctx, r.command(), c.limit(&r))
	if err != nil {
		return nil, err
	}
	return reply, refusal(reply, addr, r.code)
}

// eachNameServer asks all NameServers, since they share nothing, and returns the first error, after all were asked.
func (c *Client) eachNameServer(ctx context.Context, r request) error {
	servers := c.NameServers()
	if len(servers) == 0 {
		return &ConnectError{Err: instance.ErrNoNameServer}
	}
	var first error
	for _, addr := range servers {
		if _, err := c.broker(ctx, addr, r); err != nil && first == nil {
			first = err
		}
	}
	return first
}

func refusal(reply *protocol.Command, addr string, code protocol.RequestCode) error {
	if reply.Code == protocol.RespSuccess {
		return nil
	}
	return &Error{Code: reply.Code, Remark: reply.Remark, Addr: addr, Request: code}
}

// decode reads a JSON body in fastjson's dialect.
func decode[T any](reply *protocol.Command, err error) (*T, error) {
	if err != nil {
		return nil, err
	}
	if len(reply.Body) == 0 { // some clients say success and why they have nothing: "json marshal error: ..."
		return nil, fmt.Errorf("reply without a body: %s", reply.Remark)
	}
	v := new(T)
	if err := protocol.UnmarshalFast(reply.Body, v); err != nil {
		return nil, fmt.Errorf("reply body: %w", err)
	}
	return v, nil
}

// ErrNoNameServer is wrapped by the *ConnectError of a Client without NameServers.
var ErrNoNameServer = instance.ErrNoNameServer
