package broker

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"github.com/seedmq/seedmq/broker/assign"
	"github.com/seedmq/seedmq/broker/clients"
	"github.com/seedmq/seedmq/broker/delay"
	"github.com/seedmq/seedmq/broker/filter"
	"github.com/seedmq/seedmq/broker/filterdata"
	"github.com/seedmq/seedmq/broker/group"
	"github.com/seedmq/seedmq/broker/longpoll"
	"github.com/seedmq/seedmq/broker/offset"
	"github.com/seedmq/seedmq/broker/outer"
	"github.com/seedmq/seedmq/broker/pop"
	"github.com/seedmq/seedmq/broker/retention"
	"github.com/seedmq/seedmq/broker/stats"
	"github.com/seedmq/seedmq/broker/timer"
	"github.com/seedmq/seedmq/broker/topic"
	"github.com/seedmq/seedmq/broker/txn"
	"github.com/seedmq/seedmq/conf"
	"github.com/seedmq/seedmq/conf/clock"
	"github.com/seedmq/seedmq/conf/run"
	"github.com/seedmq/seedmq/conf/xlog"
	"github.com/seedmq/seedmq/remoting"
	"github.com/seedmq/seedmq/store"
	"github.com/seedmq/seedmq/store/fs"
)

// Options are what a broker is made of.
type Options struct {
	Broker conf.Broker
	Store  conf.Store
	Server conf.Server
	Clock  clock.Clock  // nil: the system's
	Log    *xlog.Logger // nil: none
	FS     fs.FS        // of the store and the tables; nil: the system's
}

// Broker is one broker process: a store, its tables, and the servers in front of it.
//
// New makes the parts that need no files, Start the others; after Start no field changes.
type Broker struct {
	o   Options
	log *xlog.Logger
	clk clock.Clock

	current    atomic.Pointer[settings]
	settingsMu sync.Mutex
	turn       atomic.Uint32 // queues picked for senders that name none
	live       atomic.Bool   // everything that arrivals go to is there

	admin   adminState
	levels  *delay.Levels
	topics  *topic.Table
	groups  *group.Table
	offsets *offset.Table
	clients *clients.Registry

	popWaits, popNotices *pop.WaitRoom

	filters    *filter.Compiler
	filterData *filterdata.Table

	modes  *assign.Modes
	shared *topicQueues
	// followers are members that are made to follow a reset.
	followers followers
	questions questions
	locks     *queueLocks
	held      *longpoll.Table
	cold      *coldReads
	stats     *stats.Stats

	store     *store.Store
	delay     *delay.Service
	timer     *timer.Service // nil: timerWheelEnable is off
	txn       *txn.Service
	pop       *pop.Service // nil as timer
	retention *retention.Keeper
	expired   atomic.Int64 // messages that pulls passed over, see message.ttl.ms
	resumed   resumed
	replying  atomic.Int64 // replies that wait for their requesters
	sender    *sender
	puller    *puller
	popper    *popper
	mux       *remoting.Mux
	server    *remoting.Server
	registrar *outer.Registrar // nil without NameServers
	outer     *remoting.Client // its connections
	jobs      *run.Group

	closing sync.Once
	closed  error
}

// New checks the options and makes a broker that stands still: no file, socket or goroutine yet.
func New(o Options) (*Broker, error) {
	if o.Clock == nil {
		o.Clock = clock.Real{}
	}
	if o.FS == nil {
		o.FS = fs.OS{}
	}
	levels, err := delay.ParseLevels(o.Store.MessageDelayLevel)
	if err != nil {
		return nil, err
	}
	if o.Broker.BrokerIP1 == "" {
		if o.Broker.BrokerIP1, err = ownAddress(o.Server.BindAddress); err != nil {
			return nil, err
		}
	}
	b := &Broker{o: o, log: o.Log, clk: o.Clock, levels: levels, jobs: run.NewGroup()}
	first := &settings{Broker: o.Broker, Store: o.Store}
	first.derive()
	b.current.Store(first)
	b.makeTables()
	b.UseConfig(conf.NewLive(conf.BrokerProcess{Broker: o.Broker, Store: o.Store, Server: o.Server}))
	b.sender = newSender(b, levels)
	b.puller = &puller{b: b}
	b.popper = &popper{b: b}
	return b, nil
}

func (b *Broker) config(name string) string {
	return filepath.Join(b.o.Store.StorePathRootDir, "config", name)
}

// makeTables makes the tables, empty but for what is built in.
func (b *Broker) makeTables() {
	c, disk := &b.o.Broker, b.o.FS
	b.topics = topic.New(topic.Options{FS: disk, Path: b.config("topics.json"), Clock: b.clk, Log: b.log, OnChange: b.topicsChanged,
		Settings: topic.Settings{
			ClusterName: c.BrokerClusterName, BrokerName: c.BrokerName, AutoCreate: c.AutoCreateTopicEnable,
			DefaultQueues: int32(c.DefaultTopicQueueNums), ClusterTopic: c.ClusterTopicEnable, BrokerTopic: c.BrokerTopicEnable,
			TraceTopic: c.TraceTopicEnable, TraceTopicName: c.MsgTraceTopicName, ReviveQueues: int32(c.ReviveQueueNum),
			ScheduleQueues: b.levels.Max(), TimerTopic: b.o.Store.TimerWheelEnable, Light: b.o.Store.EnableLmq}})
	b.groups = group.New(group.Options{FS: disk, Path: b.config("subscriptionGroup.json"), Clock: b.clk, Log: b.log,
		AutoCreate: c.AutoCreateSubscriptionGroup, AutoSystem: c.EnableCreateSysGroup, Light: b.o.Store.EnableLmq})
	b.offsets = offset.New(offset.Options{FS: disk, Path: b.config("consumerOffset.json"), LightPath: b.lightOffsets(), Clock: b.clk, Log: b.log})
	b.filters = filter.NewCompiler()
	b.filterData = filterdata.New(filterdata.Options{FS: disk, Path: b.config("consumerFilter.json"), Clock: b.clk, Log: b.log})
	b.clients = clients.New(clients.Options{Timeout: clock.Span(c.ChannelExpiredTimeout, time.Millisecond),
		Notify: b.notifyEnabled, Compile: b.filters.Compile, Conflict: b.conflicts, Clock: b.clk, Log: b.log})
	b.modes = assign.NewModes(disk, b.config("messageRequestMode.json"))
	b.shared = newTopicQueues(b)
	b.locks = newQueueLocks(b.clk)
	b.held = longpoll.New(longpoll.Options{Clock: b.clk})
	b.popWaits, b.popNotices = pop.NewWaitRoom(b.clk, b.popLimits), pop.NewWaitRoom(b.clk, b.popLimits)
	b.cold = newColdReads()
	b.stats = stats.New(stats.Options{Cluster: c.BrokerClusterName, Clock: b.clk})
}

// topicsChanged hears of every change of the topic table.
func (b *Broker) topicsChanged(names []string) {
	for _, name := range names {
		if b.topics.Get(name) == nil {
			b.held.WakeAll(name)
			b.popWaits.WakeAll(name)
			if b.pop != nil {
				b.pop.Forget(name, "")
			}
		}
	}
	if b.registrar != nil {
		b.registrar.TopicsChanged()
	}
}

// notifyEnabled says whether a group's members are told of changes.
func (b *Broker) notifyEnabled(name string) bool {
	if !b.settings().NotifyConsumerIdsChangedEnable {
		return false
	}
	g := b.groups.Get(name)
	return g == nil || g.Config.NotifyConsumerIDsChangedEnable
}

// arrived is called by the store's dispatcher for all messages, in log order, once they can be read.
func (b *Broker) arrived(batch []store.Arrival) {
	if !b.live.Load() {
		return // the store recovers: nobody waits yet, and the delay service looks for itself when it starts
	}
	b.held.Arrive(batch)
	b.popWaits.Arrive(batch)
	b.popNotices.Arrive(batch)
	b.delay.Notify(batch)
	if b.timer != nil {
		b.timer.Notify(batch)
	}
	b.txn.Notify(batch)
}

// connClosed hears of the end of every connection.
func (b *Broker) connClosed(c remoting.Conn, _ remoting.CloseReason) {
	n, free := b.locks.release(c.ID())
	if n > 0 {
		b.log.Infof("connection %s ended: the %d queues that it had locked are free", c.RemoteAddr(), n)
	}
	b.clients.Closed(c) // tells the members that are left, who then find the queues free
	b.tellWaiters(free)
}

// Addr is the address that the broker listens on; valid after Start.
func (b *Broker) Addr() netip.AddrPort {
	a, err := netip.ParseAddrPort(b.server.Addr().String())
	if err != nil {
		return netip.AddrPort{}
	}
	return netip.AddrPortFrom(a.Addr().Unmap(), a.Port())
}

// FastAddr is the address of the second port; valid after Start.
func (b *Broker) FastAddr() netip.AddrPort {
	a, err := netip.ParseAddrPort(b.server.FastAddr().String())
	if err != nil {
		return netip.AddrPort{}
	}
	return netip.AddrPortFrom(a.Addr().Unmap(), a.Port())
}

// Held is the number of pulls that wait for messages.
func (b *Broker) Held() int { return b.held.Len() }

// Self is brokerIP1:port, the address that clients are told; valid after Start.
func (b *Broker) Self() netip.AddrPort { return b.settings().self }

// setSelf notes the address that clients are told. brokerIP1 may be a host name; message ids need the address behind it.
func (b *Broker) setSelf(ctx context.Context, port uint16) error {
	name := b.o.Broker.BrokerIP1
	ip, err := netip.ParseAddr(name)
	if err != nil {
		found, err := net.DefaultResolver.LookupNetIP(ctx, "ip", name)
		if err != nil {
			return fmt.Errorf("broker: brokerIP1 %q is neither an address nor the name of one: %w", name, err)
		}
		ip = found[0]
		for _, a := range found {
			if a.Unmap().Is4() {
				ip = a
				break
			}
		}
	}
	b.change(func(s *settings) { s.self = netip.AddrPortFrom(ip.Unmap(), port) })
	return nil
}

// job runs fn every period until Close.
func (b *Broker) job(name string, period time.Duration, fn func()) error {
	return b.jobs.Go(name, func(ctx context.Context) {
		t := b.clk.NewTimer(period)
		defer t.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-t.C():
			}
			fn()
			t.Reset(period)
		}
	})
}
