package broker

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"time"

	"github.com/seedmq/seedmq/broker/delay"
	"github.com/seedmq/seedmq/broker/retention"
	"github.com/seedmq/seedmq/conf/clock"
	"github.com/seedmq/seedmq/remoting"
	"github.com/seedmq/seedmq/remoting/protocol"
	"github.com/seedmq/seedmq/store"
	"github.com/seedmq/seedmq/store/configfile"
)

const (
	closeTimeout = 5 * time.Second // when Close's context has no deadline
	expirePeriod = 5 * time.Second // of looking for silent clients and locks
	logEvery     = 10 * time.Second
)

// Start opens the store, reads the tables, binds the ports and begins to serve. When it fails, everything that it had started is
// closed again.
func (b *Broker) Start() error {
	err := b.start()
	if err != nil {
		ctx, cancel := context.WithTimeout(context.Background(), closeTimeout)
		defer cancel()
		return errors.Join(err, b.Close(ctx))
	}
	return nil
}

// start goes upwards: what is used by others comes first.
func (b *Broker) start() error {
	if err := b.openStore(); err != nil { // locks the directory, before any other file is read
		return err
	}
	if err := b.loadTables(); err != nil {
		return err
	}
	if err := b.makeServer(); err != nil {
		return err
	}
	if err := b.server.Listen(); err != nil { // clients wait until Serve
		return err
	}
	ctx, cancel := context.WithTimeout(context.Background(), closeTimeout)
	defer cancel()
	if err := b.setSelf(ctx, b.Addr().Port()); err != nil {
		return err
	}
	b.sender.ids = newUniqIDs(b.Self(), b.clk.Now().UnixNano())
	b.makeDelay()
	b.makeTimer()
	if err := b.makePop(); err != nil {
		return err
	}
	b.makeTxn()
	if err := b.makeRegistrar(); err != nil {
		return err
	}
	b.live.Store(true)
	if err := b.startParts(); err != nil {
		return err
	}
	if err := b.server.Serve(); err != nil {
		return err
	}
	b.log.Infof("broker %s listens on %s, clients are told %s", b.o.Broker.BrokerName, b.Addr(), b.Self())
	if b.registrar != nil {
		return b.registrar.Start() // last: now clients may come
	}
	return nil
}

func (b *Broker) startParts() error {
	b.held.Start()
	for _, start := range []func() error{b.cold.start, b.stats.Start, b.delay.Start, b.startTimer, b.startPop, b.startTxn, b.startJobs} {
		if err := start(); err != nil {
			return err
		}
	}
	return nil
}

func (b *Broker) startJobs() error {
	save := clock.Span(max(100, b.o.Broker.FlushConsumerOffsetInterval), time.Millisecond)
	b.retention = retention.New(retention.Options{Store: b.store, Topics: b.topics.Limited, Clock: b.clk, Log: b.log})
	return errors.Join(
		b.jobs.Go("retention", b.retention.Run),
		b.job("save-tables", save, b.saveTables),
		b.job("expire", expirePeriod, func() {
			b.clients.Expire()
			b.sweepFilters()
			b.tellWaiters(b.locks.expire())
		}))
}

// saveTables writes the consumer offsets, and what could not be written before of the other tables.
func (b *Broker) saveTables() {
	b.txn.Publish()
	if err := errors.Join(b.savePop(), b.offsets.Save(), b.topics.Save(), b.groups.Save(), b.filterData.Save(), b.modes.Save()); err != nil {
		b.log.Limited(b.clk, "save-tables", logEvery).Errorf("tables are not saved, next try in %d ms: %v", b.o.Broker.FlushConsumerOffsetInterval, err)
	}
}

// Close stops the broker: it leaves the NameServers, ends held pulls, answers what is in flight, stops the jobs, saves the tables and
// closes the store. It goes through all steps whatever fails, and returns all errors. Without a deadline in ctx it takes 5 s at
// most for what can be waited for. Later calls return what the first did.
func (b *Broker) Close(ctx context.Context) error {
	b.closing.Do(func() { b.closed = b.close(ctx) })
	return b.closed
}

func (b *Broker) close(ctx context.Context) error {
	if _, ok := ctx.Deadline(); !ok {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, closeTimeout)
		defer cancel()
	}
	var errs []error
	note := func(what string, err error) {
		if err != nil {
			errs = append(errs, fmt.Errorf("close %s: %w", what, err))
		}
	}
	if b.registrar != nil { // 1. no new clients; an unreachable NameServer is no failure of ours
		if err := b.registrar.Close(ctx); err != nil {
			b.log.Warnf("leaving the NameServers: %v", err)
		}
		note("connections to NameServers", b.outer.Close())
	}
	b.popWaits.Close()
	b.popNotices.Close()
	b.held.Close() // 2. held pulls are answered, so that nothing in flight waits for a message
	if b.server != nil {
		note("server", b.server.Close(ctx)) // 3. the rest is answered
	}
	if b.mux != nil {
		note("handlers", b.mux.Close(ctx))
	}
	b.cold.close()
	b.jobs.Close() // 4. nobody changes the tables any more
	b.stats.Close()
	if b.delay != nil {
		note("delay", b.delay.Close())
	}
	if b.pop != nil {
		note("pop", b.pop.Close())
	}
	if b.timer != nil {
		note("timer", b.timer.Close())
	}
	if b.txn != nil {
		b.txn.Close()
	}
	if b.store != nil {
		note("tables", errors.Join(b.offsets.Save(), b.topics.Save(), b.groups.Save(), b.filterData.Save(), b.modes.Save())) // 5. only with the directory's lock
		note("store", b.store.Close())
	}
	return errors.Join(errs...)
}

// openStore opens the data directory.
func (b *Broker) openStore() error {
	c := &b.o.Store
	ratio := func(percent int) float64 { return float64(percent) / 100 }
	ms := func(n int) time.Duration { return clock.Span(n, time.Millisecond) }
	s, err := store.Open(store.Options{
		Root: c.StorePathRootDir, CommitLogDir: c.StorePathCommitLog, CommitLogFileSize: int64(c.MappedFileSizeCommitLog),
		QueueFileUnits: c.MappedFileSizeConsumeQueue / queueUnitSize, BatchFileUnits: c.MapperFileSizeBatchConsumeQueue / batchUnitSize,
		BatchTopic: b.isBatchTopic, Light: c.EnableLmq && c.EnableMultiDispatch, MaxMessageSize: c.MaxMessageSize,
		SyncFlush: c.FlushDiskType == "SYNC_FLUSH", SyncFlushTimeout: ms(c.SyncFlushTimeout), FlushInterval: ms(c.FlushIntervalCommitLog),
		FileReservedTime: clock.Span(c.FileReservedTime, time.Hour), DeleteWhen: c.DeleteWhen,
		IndexEnabled: c.MessageIndexEnable, IndexSlots: c.MaxHashSlotNum, IndexEntries: c.MaxIndexNum,
		DiskMaxUsedRatio: ratio(c.DiskMaxUsedSpaceRatio), DiskForcibleRatio: ratio(c.DiskSpaceCleanForciblyRatio),
		DiskWarningRatio: ratio(c.DiskSpaceWarningLevelRatio), KeepUnexpired: !c.CleanFileForciblyEnable, CheckCRCOnRecover: c.CheckCRCOnRecover, DelayLevels: b.levels.All(),
		OnArrival: b.arrived, NotOurs: b.dropPopJournal, Clock: b.clk, Log: b.log, FS: b.o.FS})
	if err != nil {
		return err
	}
	b.store = s
	return nil
}

// Sizes of units in consume queue files.
const (
	queueUnitSize = 20
	batchUnitSize = 46
)

// loadTables reads config/. Damage that took both a table and its backup is logged, and the broker starts without the table.
func (b *Broker) loadTables() error {
	for _, load := range []func() error{b.topics.Load, b.groups.Load, b.offsets.Load, b.filterData.Load, b.modes.Load} {
		if err := load(); errors.Is(err, configfile.ErrCorrupt) {
			b.log.Errorf("starting without a table, what can be told from the store is made anew: %v", err)
		} else if err != nil {
			return err
		}
	}
	b.clampOffsets()
	b.warnStaticTopics()
	return b.adoptTopics()
}

// clampOffsets takes consumer offsets back to what the log proves.
func (b *Broker) clampOffsets() {
	n := b.offsets.Clamp(func(topic string, queueID int32) int64 {
		_, end, _ := b.store.QueueRange(topic, queueID)
		return end
	})
	if n > 0 {
		b.log.Warnf("%d consumer offsets were behind the ends of their queues, and stand there now: the log has lost its last messages", n)
	}
}

// adoptTopics makes topics that the store has queues of but the table has not, as after the loss of topics.json.
func (b *Broker) adoptTopics() error {
	for _, name := range b.store.Topics() {
		if b.topics.Get(name) != nil || protocol.IsLMQ(name) {
			continue
		}
		queues := int32(1)
		for _, id := range b.store.Queues(name) {
			queues = max(queues, id+1)
		}
		if _, err := b.adoptTopic(name, queues); err != nil {
			return err
		}
		b.log.Warnf("topic %s is not in topics.json but has messages: it is made with %d queues", name, queues)
	}
	return nil
}

// makeServer builds the table of handlers and the server in front of it.
func (b *Broker) makeServer() error {
	routes, err := b.routes()
	if err != nil {
		return err
	}
	b.sender.stored = func(topic string, n int, size int64) { b.stats.AddPut(b.stats.Topic(topic), int64(n), size) }
	b.puller.pulled = func(group, topic string, n int, size int64) {
		b.stats.AddGet(b.stats.Group(topic, group), int64(n), size)
	}
	b.mux, err = remoting.NewMux(remoting.MuxOptions{Routes: routes, Pools: b.pools(), Clock: b.clk, Logger: b.log, OnClosed: b.connClosed})
	if err != nil {
		return err
	}
	o, err := remoting.ServerOptionsFrom(b.o.Server)
	if err != nil {
		return err
	}
	o.Clock, o.Logger, o.FastPort = b.clk, b.log, true
	b.server, err = remoting.NewServer(o, b.mux)
	return err
}

// makeDelay makes the service that brings delayed messages back.
func (b *Broker) makeDelay() {
	b.delay = delay.New(delay.Options{Levels: b.levels, Source: b.store, Sink: delay.NewStoreSink(b.store), FS: b.o.FS,
		Path: b.config("delayOffset.json"), Clock: b.clk, Log: b.log,
		PersistEvery: clock.Span(b.o.Store.FlushDelayOffsetInterval, time.Millisecond),
		Flushed:      func() int64 { return b.store.Status().FlushedPhys },
		Route:        b.queueNow,
		Delivered: func(m *store.Message) {
			b.stats.AddPut(b.stats.Topic(m.Topic), 1, int64(len(m.Body)+len(m.Properties)))
		}})
}

// queueNow is the queue for a message that was meant for queueID when it was put aside: another one when the topic shrank meanwhile.
func (b *Broker) queueNow(topic string, queueID int32) int32 {
	if e := b.topics.Get(topic); e != nil && queueID >= e.MaxQueues() {
		return b.anyQueue(e)
	}
	return queueID
}

// ownAddress is brokerIP1 when the configuration has none: the address bound to, or else the first IPv4 address of this host.
func ownAddress(bind string) (string, error) {
	if ip, err := netip.ParseAddr(bind); err == nil && !ip.IsUnspecified() {
		return ip.String(), nil
	}
	addrs, err := net.InterfaceAddrs()
	if err != nil {
		return "", fmt.Errorf("broker: brokerIP1 is not set and the local addresses cannot be listed: %w", err)
	}
	for _, a := range addrs {
		if n, ok := a.(*net.IPNet); ok && n.IP.To4() != nil && !n.IP.IsLoopback() && !n.IP.IsLinkLocalUnicast() {
			return n.IP.String(), nil
		}
	}
	return netip.AddrFrom4([4]byte{127, 0, 0, 1}).String(), nil
}
