package outer

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/seedmq/seedmq/conf/clock"
	"github.com/seedmq/seedmq/conf/run"
	"github.com/seedmq/seedmq/conf/xlog"
	"github.com/seedmq/seedmq/remoting/protocol"
)

// Conn is one connection to a NameServer. remoting.Conn is one.
type Conn interface {
	// Invoke sends a request and waits for its reply.
	Invoke(ctx context.Context, cmd *protocol.Command) (*protocol.Command, error)
	// Done is closed when the connection is.
	Done() <-chan struct{}
}

// Transport makes connections.
type Transport interface {
	// Connect returns a live connection to addr, an ip:port.
	Connect(ctx context.Context, addr string) (Conn, error)
	// Disconnect closes the connection.
	Disconnect(c Conn)
}

// Identity is what the broker says of itself.
type Identity struct {
	Cluster, Name string
	ID            int64  // 0: master
	Addr          string // host:port for clients
	HAAddr        string // host:port for slaves
}

// Options are what a Registrar is made of. Fields without a comment "may be nil" must be set.
type Options struct {
	Identity Identity
	// NameServers are host:port texts (see ParseNameServers).
	NameServers []string
	Transport   Transport
	// Topics is the topic table and its version at one moment. The map must not be changed afterwards.
	Topics func() (map[string]protocol.TopicConfig, protocol.DataVersion)
	// Permission is the broker-wide permission (brokerPermission). May be nil: read and write.
	Permission func() int32
	// Lookup resolves a host name. May be nil: net.DefaultResolver.
	Lookup func(ctx context.Context, host string) ([]netip.Addr, error)
	// Period of registration, clamped to 10 s .. 60 s; 0 is 30 s (registerNameServerPeriod).
	Period time.Duration
	// Timeout of one call; 0 is 24 s (registerBrokerTimeoutMills).
	Timeout time.Duration
	// ResolveEvery is the period of resolving names; 0 is 30 s.
	ResolveEvery time.Duration
	// Force registers every period, whatever the NameServer says of the data version (forceRegister).
	Force bool
	// Compress deflates the topic table (compressedRegister).
	Compress bool
	// Registered is told of each full registration that succeeded, with the NameServer's answer. May be nil.
	Registered func(nameServer string, h protocol.RegisterBrokerResponseHeader)
	Clock      clock.Clock
	Log        *xlog.Logger
}

const (
	minPeriod, defaultPeriod, maxPeriod = 10 * time.Second, 30 * time.Second, 60 * time.Second
	defaultTimeout                      = 24 * time.Second
	defaultResolveEvery                 = 30 * time.Second
	minBackoff, maxBackoff              = 200 * time.Millisecond, 5 * time.Second
	unregisterTimeout                   = 3 * time.Second
)

// ParseNameServers reads a namesrvAddr text: host:port entries separated by ';'. All mistakes are reported at once.
func ParseNameServers(text string) ([]string, error) {
	var list []string
	var errs []error
	for _, entry := range strings.Split(text, ";") {
		entry = strings.TrimSpace(entry)
		if entry == "" {
			continue
		}
		if _, _, err := splitHostPort(entry); err != nil {
			errs = append(errs, fmt.Errorf("namesrvAddr: %w", err))
			continue
		}
		if !slices.Contains(list, entry) {
			list = append(list, entry)
		}
	}
	return list, errors.Join(errs...)
}

// Registrar registers the broker. Create with New, then Start, then Close.
type Registrar struct {
	o    Options
	g    *run.Group
	wake chan struct{} // asks for resolving again

	bodies *bodies

	mu struct {
		sync.Mutex
		names []string
		peers map[string]*peer // by ip:port
	}
}

// New returns a registrar that stands still.
func New(o Options) *Registrar {
	if o.Period <= 0 {
		o.Period = defaultPeriod
	}
	o.Period = min(max(o.Period, minPeriod), maxPeriod)
	if o.Timeout <= 0 {
		o.Timeout = defaultTimeout
	}
	if o.ResolveEvery <= 0 {
		o.ResolveEvery = defaultResolveEvery
	}
	if o.Lookup == nil {
		o.Lookup = lookup
	}
	if o.Permission == nil {
		o.Permission = func() int32 { return protocol.PermRead | protocol.PermWrite }
	}
	r := &Registrar{o: o, g: run.NewGroup(), wake: make(chan struct{}, 1)}
	r.mu.peers = map[string]*peer{}
	r.mu.names = slices.Clone(o.NameServers)
	r.bodies = newBodies(&r.o)
	return r
}

// Start begins to register, in the background.
func (r *Registrar) Start() error { return r.g.Go("outer-resolve", r.resolveLoop) }

// TopicsChanged tells that the topic table, or the broker's permission, changed. It does not block.
func (r *Registrar) TopicsChanged() {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, p := range r.mu.peers {
		signal(p.changed)
	}
}

// SetNameServers replaces the list of NameServers; it takes effect at once.
func (r *Registrar) SetNameServers(list []string) {
	r.mu.Lock()
	r.mu.names = slices.Clone(list)
	r.mu.Unlock()
	signal(r.wake)
}

// State is how registration with one NameServer stands.
type State struct {
	NameServer string // ip:port
	Registered bool
	// Err is why not, nil before the first try.
	Err error
}

// States lists all NameServers, sorted.
func (r *Registrar) States() []State {
	r.mu.Lock()
	defer r.mu.Unlock()
	list := make([]State, 0, len(r.mu.peers))
	for _, p := range r.mu.peers {
		list = append(list, p.state())
	}
	slices.SortFunc(list, func(a, b State) int { return strings.Compare(a.NameServer, b.NameServer) })
	return list
}

// Close unregisters from all NameServers that know the broker, within a few seconds or until ctx ends, and stops.
func (r *Registrar) Close(ctx context.Context) error {
	r.g.Close() // also ends the peers' loops, through their contexts
	r.mu.Lock()
	peers := r.mu.peers
	r.mu.peers = map[string]*peer{}
	r.mu.Unlock()
	ctx, cancel := context.WithTimeout(ctx, unregisterTimeout)
	defer cancel()
	var wg sync.WaitGroup
	errs := make([]error, 0, len(peers))
	var mu sync.Mutex
	for _, p := range peers {
		wg.Go(func() {
			if err := p.leave(ctx); err != nil {
				mu.Lock()
				errs = append(errs, err)
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	return errors.Join(errs...)
}

// signal notes in c, which holds one note, that there is something to do.
func signal(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}
