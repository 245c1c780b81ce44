package remoting

import (
	"context"
	"io"
	"runtime"
	"sync"
	"syscall"

	"github.com/cloudwego/netpoll"
)

// coresPerPoller is netpoll's own rule.
const coresPerPoller = 20

// netpoll writes what peers do wrong to stderr; what matters of it is logged here. A goroutine of its own costs a burst
// less than one of netpoll's pool.
func init() {
	pollers.n = runtime.GOMAXPROCS(0)/coresPerPoller + 1
	_ = netpoll.Configure(netpoll.Config{
		PollerNum:    pollers.n,
		Runner:       func(_ context.Context, serve func()) { go func() { growStack(); serve() }() },
		LoggerOutput: io.Discard,
		LoadBalance:  netpoll.RoundRobin,
	})
}

// pollers are netpoll's, which live as long as the process and are shared by all servers and clients in it.
var pollers pollerSet

// pollerSet makes all connections of netpoll, and can tell when every poller has ended what it was doing.
type pollerSet struct {
	n     int
	mu    sync.Mutex
	bells []bell // one on each poller
}

// bell is a socket pair: one end is with a poller, which sends to rang when something was written to the other.
type bell struct {
	w    int
	rang chan struct{}
}

// connect gives a socket to netpoll, which closes it if that fails.
func (p *pollerSet) connect(fd int) (netpoll.Connection, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.bells) == 0 {
		if err := p.hangLocked(); err != nil {
			syscall.Close(fd)
			return nil, err
		}
	}
	return netpoll.NewFDConnection(fd)
}

// hangLocked gives each poller a bell: netpoll deals connections out to its pollers in turn, and there is nobody else
// who makes any.
func (p *pollerSet) hangLocked() error {
	var bells []bell
	for range p.n {
		b, err := newBell()
		if err != nil {
			for _, b := range bells {
				syscall.Close(b.w)
			}
			return err
		}
		bells = append(bells, b)
	}
	p.bells = bells
	return nil
}

func newBell() (bell, error) {
	syscall.ForkLock.RLock()
	fds, err := syscall.Socketpair(syscall.AF_UNIX, syscall.SOCK_STREAM, 0)
	if err == nil {
		syscall.CloseOnExec(fds[0])
		syscall.CloseOnExec(fds[1])
	}
	syscall.ForkLock.RUnlock()
	if err != nil {
		return bell{}, err
	}
	nc, err := netpoll.NewFDConnection(fds[0])
	if err != nil {
		syscall.Close(fds[1])
		return bell{}, err
	}
	b := bell{w: fds[1], rang: make(chan struct{}, 1)}
	nc.SetOnRequest(func(context.Context, netpoll.Connection) error {
		in := nc.Reader()
		in.Skip(in.Len())
		in.Release()
		b.rang <- struct{}{}
		return nil
	})
	return b, nil
}

// sync waits until each poller has begun to look for events after sync was called. When it returns, no poller touches a
// connection that had been taken from it before.
func (p *pollerSet) sync() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, b := range p.bells {
		if n, _ := syscall.Write(b.w, []byte{1}); n == 1 {
			<-b.rang
		}
	}
}

// growStack makes the goroutine's stack as large as serving a burst needs, at once and while there is nothing on it. Left to
// itself it would be doubled and copied several times on the way down: a tenth of a broker's work when it serves pulls.
//
//go:noinline
func growStack() byte {
	var room [14 << 10]byte
	return room[pollers.n&1023] // an index that the compiler does not know keeps room alive
}
