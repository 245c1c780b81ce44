// Package namesrv is a NameServer: brokers register with it, clients ask it for routes. NameServers share nothing.
//
// The state is in namesrv/route (brokers and topics, in memory only) and in kvConfig (order configuration and the like, on
// disk). This package owns the server, the connections' sessions and the job that drops silent brokers.
//
// Handlers run inline on the connection's read goroutine, so that what one broker says is handled in the order it was said;
// only those that write files run on a pool. All methods of Server are safe for concurrent use.
package namesrv

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"github.com/seedmq/seedmq/conf"
	"github.com/seedmq/seedmq/conf/clock"
	"github.com/seedmq/seedmq/conf/run"
	"github.com/seedmq/seedmq/conf/xlog"
	"github.com/seedmq/seedmq/namesrv/route"
	"github.com/seedmq/seedmq/remoting"
	"github.com/seedmq/seedmq/store/fs"
)

// Options make a Server.
type Options struct {
	Conf   conf.Namesrv
	Server conf.Server
	// Live, when set, is where configuration comes from, instead of Conf and Server: updates reach its file.
	Live *conf.Live[conf.NamesrvProcess]
	// ListenAddr, "host:port", overrides bindAddress and listenPort; port 0 takes a free one.
	ListenAddr string
	Clock      clock.Clock  // nil: the system's
	Log        *xlog.Logger // nil: none
	FS         fs.FS        // nil: the system's; for kvConfigPath
}

// Server is one NameServer. New, Start, Close, in this order.
type Server struct {
	o     Options
	live  *conf.Live[conf.NamesrvProcess]
	table *route.Table
	kv    *kvConfig
	mux   *remoting.Mux
	srv   *remoting.Server
	tell  *notifier
	jobs  *run.Group

	started  time.Time
	sessions sessions
	closing  atomic.Bool
}

// New checks the options. It opens no socket and starts no goroutine.
func New(o Options) (*Server, error) {
	if o.Clock == nil {
		o.Clock = clock.Real{}
	}
	if o.FS == nil {
		o.FS = fs.OS{}
	}
	if o.Live == nil {
		o.Live = conf.NewLive(conf.NamesrvProcess{Namesrv: o.Conf, Server: o.Server})
	}
	s := &Server{o: o, live: o.Live, jobs: run.NewGroup()}
	s.sessions.conns = map[route.Session]remoting.Conn{}
	s.kv = newKVConfig(o.FS, o.Live.Get().Namesrv.KvConfigPath)
	s.table = route.New(route.Options{Config: tableConfig(o.Live.Get()), Clock: o.Clock, Log: o.Log, Order: s.kv.orderConf})
	s.tell = newNotifier(o.Clock, o.Log)
	if err := s.makeServer(); err != nil {
		return nil, err
	}
	o.Live.Watch(func(_, now *conf.NamesrvProcess) { s.table.SetConfig(tableConfig(now)) })
	return s, nil
}

func tableConfig(p *conf.NamesrvProcess) route.Config {
	return route.Config{SupportActingMaster: p.Namesrv.SupportActingMaster, DeleteMissing: p.Namesrv.DeleteTopicWithBrokerRegistration,
		OrderConf: p.Namesrv.OrderMessageEnable}
}

func (s *Server) makeServer() error {
	var err error
	s.mux, err = remoting.NewMux(remoting.MuxOptions{Routes: s.routes(), Pools: pools, Clock: s.o.Clock, Logger: s.o.Log,
		OnOpened: s.opened, OnClosed: s.closed})
	if err != nil {
		return fmt.Errorf("namesrv: %w", err)
	}
	c := s.live.Get().Server
	if s.o.ListenAddr != "" {
		host, port, err := net.SplitHostPort(s.o.ListenAddr)
		if err != nil {
			return fmt.Errorf("namesrv: listen address: %w", err)
		}
		n, err := net.LookupPort("tcp", port)
		if err != nil {
			return fmt.Errorf("namesrv: listen address: %w", err)
		}
		c.BindAddress, c.ListenPort = host, n
	}
	so, err := remoting.ServerOptionsFrom(c)
	if err != nil {
		return fmt.Errorf("namesrv: %w", err)
	}
	so.Clock, so.Logger = s.o.Clock, s.o.Log
	if s.srv, err = remoting.NewServer(so, s.mux); err != nil {
		return fmt.Errorf("namesrv: %w", err)
	}
	return nil
}

// Start reads the KV configuration, binds the port and begins to serve. When it fails everything is closed again.
func (s *Server) Start() error {
	if err := s.start(); err != nil {
		ctx, cancel := context.WithTimeout(context.Background(), closeTimeout)
		defer cancel()
		return errors.Join(fmt.Errorf("namesrv: start: %w", err), s.Close(ctx))
	}
	return nil
}

// closeTimeout bounds the clean-up after a failed start.
const closeTimeout = 5 * time.Second

func (s *Server) start() error {
	if err := s.kv.load(s.o.Log); err != nil {
		return err
	}
	if err := s.srv.Listen(); err != nil {
		return err
	}
	s.started = s.o.Clock.Now()
	if err := s.jobs.Go("expire brokers", s.expireLoop); err != nil {
		return err
	}
	return s.srv.Serve()
}

// Addr is the address that the server listens on, nil before Start.
func (s *Server) Addr() net.Addr { return s.srv.Addr() }

// Close stops the server: no new connections, an answer to what is in flight, then the end of all connections and goroutines.
// It goes through all steps and returns all errors. It may be called more than once.
func (s *Server) Close(ctx context.Context) error {
	s.closing.Store(true)
	err := s.srv.Close(ctx)
	if e := s.mux.Close(ctx); e != nil {
		err = errors.Join(err, e)
	}
	s.jobs.Close()
	return errors.Join(err, s.tell.Close())
}

// expireLoop drops brokers that fell silent, and their connections.
func (s *Server) expireLoop(ctx context.Context) {
	period := clock.Span(max(s.live.Get().Namesrv.ScanNotActiveBrokerInterval, 100), time.Millisecond)
	t := s.o.Clock.NewTimer(period)
	defer t.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-t.C():
		}
		s.expire()
		t.Reset(period)
	}
}

func (s *Server) expire() {
	closing, notices := s.table.Expire()
	for _, id := range closing {
		if c := s.sessions.conn(id); c != nil {
			c.Close(remoting.ClosedIdle)
		}
	}
	s.notify(notices...)
}

// opened numbers the connection: it is the session of the brokers that register over it.
func (s *Server) opened(c remoting.Conn) { c.SetValue(s.sessions.add(c)) }

// closed removes the brokers of the connection at once. While the whole server stops it does not: that is no news of brokers.
func (s *Server) closed(c remoting.Conn, _ remoting.CloseReason) {
	id := sessionOf(c)
	s.sessions.remove(id)
	if !s.closing.Load() {
		s.notify(s.table.CloseSession(id)...)
	}
}

func sessionOf(c remoting.Conn) route.Session {
	id, _ := c.Value().(route.Session)
	return id
}

// notify tells brokers that the smallest id of their group changed, where that is switched on.
func (s *Server) notify(notices ...*route.Notice) {
	if !s.live.Get().Namesrv.NotifyMinBrokerIDChanged {
		return
	}
	for _, n := range notices {
		if n != nil {
			s.tell.send(n)
		}
	}
}

// sessions are the open connections by number, counted up as they open.
type sessions struct {
	mu    sync.Mutex
	last  route.Session
	conns map[route.Session]remoting.Conn
}

func (s *sessions) add(c remoting.Conn) route.Session {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.last++
	s.conns[s.last] = c
	return s.last
}

func (s *sessions) remove(id route.Session) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.conns, id)
}

func (s *sessions) conn(id route.Session) remoting.Conn {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.conns[id]
}
