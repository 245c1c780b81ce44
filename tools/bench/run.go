package bench

import (
	"context"
	"fmt"
	"io"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/seedmq/seedmq/client/admin"
	"github.com/seedmq/seedmq/conf/clock"
	"github.com/seedmq/seedmq/remoting/protocol"
)

// run is one run of the tool.
type run struct {
	cfg     Config
	clock   clock.Clock
	out     io.Writer // progress lines
	admin   *admin.Client
	brokers []string
	meter   *meter
	stamp   uint64 // tells this run's messages from others'

	ids      atomic.Int64
	taken    atomic.Int64 // messages out of cfg.Messages
	paced    atomic.Int64 // messages out of cfg.Rate
	received atomic.Int64 // e2e
	started  time.Time    // set once, by begin, before any worker starts
	base     atomic.Pointer[snapshot]
	stopLoad context.CancelFunc
}

// Run does what cfg says and returns what came of it. Progress lines go to out. The error is about the set-up; failures of requests are in the Result.
func Run(ctx context.Context, cfg Config, clk clock.Clock, out io.Writer) (*Result, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	r := &run{cfg: cfg, clock: clk, out: out, stamp: uint64(clk.Now().UnixNano())}
	r.ids.Store(clk.Now().UnixNano())
	r.admin = admin.New(new(direct), admin.Options{NameServers: cfg.NameServers, Clock: clk})
	if err := r.setUp(ctx); err != nil {
		return nil, err
	}
	r.meter = newMeter(cfg.Conns)
	load, cancel := context.WithTimeout(ctx, cfg.Warmup+cfg.Duration)
	defer cancel()
	r.stopLoad = cancel

	done := make(chan struct{})
	var wg sync.WaitGroup
	wg.Add(1)
	go func() {
		defer wg.Done()
		r.watch(done)
	}()
	var err error
	switch cfg.Mode {
	case "send":
		err = r.send(load)
	case "consume":
		err = r.consume(load)
	case "e2e":
		err = r.e2e(load)
	}
	end := r.clock.Now()
	close(done)
	wg.Wait()
	if err != nil {
		return nil, err
	}
	return r.result(end), nil
}

// setUp finds the brokers and makes topics and groups.
func (r *run) setUp(ctx context.Context) error {
	r.brokers = r.cfg.Brokers
	if len(r.brokers) == 0 {
		var err error
		if r.brokers, err = r.admin.Masters(ctx, r.cfg.Cluster); err != nil {
			return fmt.Errorf("find the brokers: %w", err)
		}
	}
	if len(r.brokers) == 0 {
		return fmt.Errorf("find the brokers: %w", admin.ErrNoBroker)
	}
	if !r.cfg.Create {
		return nil
	}
	var g errgroup.Group
	g.SetLimit(16)
	for _, broker := range r.brokers {
		for i := range r.cfg.Topics {
			g.Go(func() error { return r.createTopic(ctx, broker, r.cfg.topic(i)) })
		}
		for i := range r.cfg.Groups {
			g.Go(func() error { return r.createGroup(ctx, broker, r.cfg.group(i)) })
		}
	}
	return g.Wait()
}

func (r *run) createTopic(ctx context.Context, broker, topic string) error {
	t := &protocol.TopicConfig{TopicName: topic, ReadQueueNums: int32(r.cfg.Queues), WriteQueueNums: int32(r.cfg.Queues),
		Perm: protocol.PermRead | protocol.PermWrite, TopicFilterType: "SINGLE_TAG"}
	if err := r.admin.UpdateTopic(ctx, broker, t, ""); err != nil {
		return fmt.Errorf("create topic %s: %w", topic, err)
	}
	return nil
}

func (r *run) createGroup(ctx context.Context, broker, group string) error {
	if r.cfg.Mode == "send" {
		return nil
	}
	g := &protocol.SubscriptionGroupConfig{GroupName: group, ConsumeEnable: true, ConsumeFromMinEnable: true, ConsumeBroadcastEnable: true,
		RetryQueueNums: 1, RetryMaxTimes: 16, WhichBrokerWhenConsumeSlowly: 1, NotifyConsumerIDsChangedEnable: true, ConsumeTimeoutMinute: 15}
	if err := r.admin.UpdateGroup(ctx, broker, g); err != nil {
		return fmt.Errorf("create group %s: %w", group, err)
	}
	return nil
}

// begin marks the start of the load. Workers start after it.
func (r *run) begin() {
	r.started = r.clock.Now()
	if r.cfg.Warmup == 0 {
		r.base.Store(r.meter.snapshot(r.started))
	}
}

func (r *run) nextID() int64 { return r.ids.Add(1) }

// spent reports whether cfg.Messages are used up, and takes one request's out of them.
func (r *run) spent() bool {
	return r.cfg.Messages > 0 && r.taken.Add(int64(r.cfg.Batch)) > r.cfg.Messages
}

// spentBy takes n received messages out of cfg.Messages and ends the run when there are none left.
func (r *run) spentBy(n int64) bool {
	if r.cfg.Mode != "consume" || r.cfg.Messages <= 0 || r.taken.Add(n) < r.cfg.Messages {
		return false
	}
	r.stopLoad()
	return true
}

// pace waits until the next request is due. What is buffered goes out before a wait.
func (r *run) pace(ctx context.Context, c *conn) bool {
	if r.cfg.Rate == 0 {
		return true
	}
	n := r.paced.Add(int64(r.cfg.Batch)) - int64(r.cfg.Batch)
	due := r.started.Add(time.Duration(float64(n) / r.cfg.Rate * float64(time.Second)))
	d := due.Sub(r.clock.Now())
	if d <= 0 {
		return true
	}
	if err := c.w.Flush(); err != nil {
		r.meter.broken("connection", 1, err.Error())
		return false
	}
	t := r.clock.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C():
		return true
	case <-ctx.Done():
		return false
	}
}

// send runs the senders.
func (r *run) send(ctx context.Context) error {
	senders, err := r.newSenders(ctx, r.meter.lanes)
	if err != nil {
		return err
	}
	r.begin()
	sendAll(ctx, senders)
	return nil
}

func (r *run) newSenders(ctx context.Context, lanes []*lane) ([]*sender, error) {
	var out []*sender
	for i := range r.cfg.Conns {
		var l *lane
		if lanes != nil {
			l = lanes[i]
		}
		s, err := r.newSender(ctx, i, l)
		if err != nil {
			for _, s := range out {
				_ = s.c.Close()
			}
			return nil, err
		}
		out = append(out, s)
	}
	return out, nil
}

func sendAll(ctx context.Context, senders []*sender) {
	var wg sync.WaitGroup
	for _, s := range senders {
		wg.Add(1)
		go func() {
			defer wg.Done()
			s.work(ctx)
		}()
	}
	wg.Wait()
}

// e2e sends while consumers that follow the ends of the queues take the messages.
func (r *run) e2e(ctx context.Context) error {
	r.cfg.Follow, r.cfg.FromEnd = true, true
	pulling, stop := context.WithCancel(context.WithoutCancel(ctx))
	defer stop()
	all, err := r.cursors(ctx)
	if err != nil {
		return err
	}
	pullers, err := r.newPullers(ctx, all, r.meter.lanes)
	if err != nil {
		return err
	}
	senders, err := r.newSenders(ctx, nil)
	if err != nil {
		closeAll(pullers)
		return err
	}
	var wg sync.WaitGroup
	wg.Add(1)
	go func() {
		defer wg.Done()
		workAll(pulling, pullers)
	}()
	r.begin()
	sendAll(ctx, senders)
	var sent int64
	for _, s := range senders {
		sent += s.sent.Load()
	}
	want := sent*int64(r.cfg.Groups) - r.meter.errorTotal()*int64(r.cfg.Groups)
	r.awaitArrival(want)
	stop()
	wg.Wait()
	if missing := want - r.received.Load(); missing > 0 {
		r.meter.broken("never arrived", missing, fmt.Sprintf("of %d messages", want))
	}
	return nil
}

// awaitArrival waits until want messages have arrived, or for drainTimeout.
func (r *run) awaitArrival(want int64) {
	limit := r.clock.NewTimer(drainTimeout)
	defer limit.Stop()
	look := r.clock.NewTimer(0)
	defer look.Stop()
	for r.received.Load() < want {
		select {
		case <-limit.C():
			return
		case <-look.C():
			look.Reset(time.Millisecond)
		}
	}
}

// watch prints a line for each interval and takes the snapshot that ends the warm-up.
func (r *run) watch(done <-chan struct{}) {
	every := r.cfg.Interval
	if every <= 0 && r.cfg.Warmup <= 0 {
		<-done
		return
	}
	if every <= 0 || r.cfg.Warmup > 0 && r.cfg.Warmup < every {
		every = r.cfg.Warmup
	}
	last := r.meter.snapshot(r.clock.Now())
	begin := last.at
	for {
		t := r.clock.NewTimer(every)
		select {
		case <-t.C():
		case <-done:
			t.Stop()
			return
		}
		now := r.meter.snapshot(r.clock.Now())
		warm := r.base.Load() == nil
		if r.cfg.Warmup > 0 && warm && now.at.Sub(begin) >= r.cfg.Warmup {
			r.base.Store(now)
		}
		if r.cfg.Interval > 0 {
			every = r.cfg.Interval
			fmt.Fprintln(r.out, intervalLine(now.at.Sub(begin), last, now, warm))
		}
		last = now
	}
}
