package modeltest

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/seedmq/seedmq/broker"
	"github.com/seedmq/seedmq/broker/brokertest"
	"github.com/seedmq/seedmq/conf/clock"
	"github.com/seedmq/seedmq/conf/xlog"
	"github.com/seedmq/seedmq/remoting"
	"github.com/seedmq/seedmq/remoting/protocol"
	"github.com/seedmq/seedmq/store/fs"
)

const (
	root          = "/store"
	producerGroup = "P"
	consumerGroup = "G"
	queues        = 2
	maxChecks     = 4
)

// topics of the run; all kinds of messages go to all of them.
var topics = []string{"A", "B"}

// purgedTopic gets messages too; it is read by nobody, and purged now and then.
const purgedTopic = "C"

// allTopics are both.
var allTopics = append([]string{purgedTopic}, topics...)

// world is a broker under test and what clients did with it.
type world struct {
	seed  uint64
	rng   *rand.Rand
	sync  bool // flush
	power bool // kills are power failures

	clk    *clock.Fake
	disk   *fs.Mem
	killed atomic.Bool // the disk has stopped
	broker *broker.Broker
	log    *tail
	trace  []string

	producer *wire
	members  [2]*wire // of the consumer group

	model
}

// tail keeps the end of the broker's log.
type tail struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *tail) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.b.Len() > 64<<10 {
		l.b.Next(32 << 10)
	}
	return l.b.Write(p)
}

func (l *tail) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

func newWorld(seed uint64) *world {
	rng := rand.New(rand.NewPCG(seed, 5))
	w := &world{seed: seed, rng: rng, log: &tail{}, clk: clock.NewFake(time.Date(2024, 5, 6, 7, 8, 9, 123e6, time.UTC)), model: newModel()}
	w.sync = rng.IntN(3) > 0
	w.power = w.sync && rng.IntN(2) == 0
	w.disk = fs.NewMem(w.clk.Now)
	return w
}

func (w *world) note(format string, a ...any) {
	w.trace = append(w.trace, w.clk.Now().Format("15:04:05.000 ")+fmt.Sprintf(format, a...))
}

// report is what a failure shows.
func (w *world) report(err error, all bool) string {
	trace := w.trace
	if !all && len(trace) > 60 {
		trace = trace[len(trace)-60:]
	}
	return fmt.Sprintf("seed %d (sync flush %v, power failures %v): %v\nagain: SEEDMQ_MODEL_SEED=%d go test -v -count=1 ./broker/modeltest\n%s\nbroker's log:\n%s",
		w.seed, w.sync, w.power, err, w.seed, strings.Join(trace, "\n"), w.log)
}

func (w *world) options() (broker.Options, error) {
	o := brokertest.Options(root)
	o.FS, o.Clock = w.disk, w.clk
	o.Store.MappedFileSizeCommitLog, o.Store.MappedFileSizeConsumeQueue, o.Store.MaxMessageSize = 1<<20, 20*200, 32<<10
	o.Store.MappedFileSizeTimerLog = 64 << 10
	o.Store.FlushDiskType = "ASYNC_FLUSH"
	if w.sync {
		o.Store.FlushDiskType = "SYNC_FLUSH"
	}
	o.Broker.TransactionTimeOut, o.Broker.TransactionCheckInterval, o.Broker.TransactionCheckMax = 6000, 10_000, maxChecks
	var err error
	o.Log, err = xlog.New(w.log, "info")
	return o, err
}

// start runs the broker on the present disk, with all its clients.
func (w *world) start() error {
	w.killed.Store(false)
	o, err := w.options()
	if err != nil {
		return err
	}
	if w.broker, err = broker.New(o); err != nil {
		return err
	}
	if err := w.broker.Start(); err != nil {
		return fmt.Errorf("start: %w", err)
	}
	w.producer, w.members = nil, [2]*wire{}
	if err := w.beat(); err != nil {
		return fmt.Errorf("first heartbeats: %w", err)
	}
	return nil
}

// stop closes the broker, or what is left of it.
func (w *world) stop() error {
	for _, c := range []*wire{w.producer, w.members[0], w.members[1]} {
		if c != nil {
			c.Close(remoting.ClosedByPeer)
		}
	}
	closed := make(chan error, 1)
	go func() {
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		closed <- w.broker.Close(ctx)
	}()
	nudge := time.NewTicker(5 * time.Millisecond)
	defer nudge.Stop()
	for {
		select {
		case err := <-closed:
			return err
		case <-nudge.C:
			w.clk.Advance(100 * time.Millisecond) // whatever it waits for on its clock
		}
	}
}

// arm lets the disk stop in the middle of what comes, after n operations.
func (w *world) arm(n int64) {
	at, short := w.disk.Ops()+n, w.rng.IntN(5)
	w.note("the disk will stop after %d operations", n)
	w.disk.SetHook(func(op fs.Op) fs.Fault {
		if op.N < at {
			return fs.Fault{}
		}
		w.killed.Store(true)
		return fs.Fault{Kill: true, Short: op.Len * short / 4}
	})
}

// kill ends the broker without a word and starts another one on what the disk has.
func (w *world) kill() error {
	w.note("kill")
	w.killed.Store(true)
	w.disk.Kill()
	_ = w.stop() // it cannot write any more
	if w.power {
		w.disk = w.disk.Crash(w.rng.Uint64())
	} else {
		w.disk = w.disk.Reboot()
	}
	w.crashed()
	if err := w.start(); err != nil {
		return err
	}
	return w.restarted()
}

// restart stops the broker in order.
func (w *world) restart() error {
	w.note("clean restart")
	if err := w.stop(); err != nil {
		return fmt.Errorf("clean stop: %w", err)
	}
	w.disk = w.disk.Reboot()
	w.stoppedClean()
	if err := w.start(); err != nil {
		return err
	}
	return w.restarted()
}

// beat sends the heartbeats, on new connections where the old ones have ended.
func (w *world) beat() error {
	h := w.broker.Handler()
	for i := range w.members {
		if w.members[i] == nil || w.members[i].closed() {
			w.members[i] = dial(h)
		}
		d := protocol.ConsumerData{GroupName: consumerGroup, ConsumeType: protocol.ConsumePassively, MessageModel: protocol.ModelClustering}
		for _, t := range append([]string{protocol.RetryTopic(consumerGroup)}, topics...) {
			d.SubscriptionDataSet = append(d.SubscriptionDataSet, protocol.SubscriptionData{Topic: t, SubString: "*", SubVersion: 1})
		}
		if err := w.heartbeat(w.members[i], &protocol.HeartbeatData{ConsumerDataSet: []protocol.ConsumerData{d}}); err != nil {
			return err
		}
	}
	if w.producer == nil || w.producer.closed() {
		w.producer = dial(h)
	}
	return w.heartbeat(w.producer, &protocol.HeartbeatData{ProducerDataSet: []protocol.ProducerData{{GroupName: producerGroup}}})
}

func (w *world) heartbeat(c *wire, d *protocol.HeartbeatData) error {
	d.ClientID = fmt.Sprint("client-", c.id)
	body, err := protocol.MarshalFast(d)
	if err != nil {
		return err
	}
	_, err = w.must(c, protocol.ReqHeartBeat, nil, body)
	return err
}

// call sends one request and returns the reply, whatever its code.
func (w *world) call(c *wire, code protocol.RequestCode, h protocol.HeaderEncoder, body []byte) (*protocol.Command, error) {
	got, err := c.burst(w.clk, w.killed.Load, request(code, h, body))
	return got[0], err
}

func request(code protocol.RequestCode, h protocol.HeaderEncoder, body []byte) *protocol.Command {
	req := protocol.NewRequest(code, h, body)
	req.Language, req.Version = protocol.LanguageJava, protocol.CurrentVersion // a client that goes to a moved offset at once
	return req
}

// must is call for what has to succeed. An error of a broker that is being killed is errDead.
func (w *world) must(c *wire, code protocol.RequestCode, h protocol.HeaderEncoder, body []byte) (*protocol.Command, error) {
	r, err := w.call(c, code, h, body)
	switch {
	case err != nil:
		return nil, err
	case r.Code != protocol.RespSuccess && w.killed.Load():
		return nil, errDead
	case r.Code != protocol.RespSuccess:
		return nil, fmt.Errorf("request %d: code %d %s", code, r.Code, r.Remark)
	}
	return r, nil
}

// settle gives the broker's goroutines a moment for what was asked of them, and those that look every now and then one look: to them, a
// clock that jumps before is one that stood still.
func (w *world) settle() {
	w.advance(lookEvery)
	for range 4 {
		time.Sleep(500 * time.Microsecond)
	}
}

// advance moves the clock and waits, not for long, until those that it woke sleep again.
func (w *world) advance(d time.Duration) {
	asleep := w.clk.Timers()
	w.clk.Advance(d)
	for n := 0; n < 25 && w.clk.Timers() < asleep && !w.killed.Load(); n++ {
		time.Sleep(200 * time.Microsecond)
	}
}

// lookEvery is the longest that something of the broker's, asked for by a client, waits for the next look.
const lookEvery = 210 * time.Millisecond

// pass lets time go by, in steps short enough for heartbeats.
func (w *world) pass(d time.Duration) error {
	w.note("%v pass", d)
	for d > 0 {
		w.settle()
		step := min(d, 50*time.Second)
		w.advance(step)
		d -= step
		if err := w.beat(); err != nil {
			return err
		}
	}
	return nil
}

func (w *world) now() int64 { return w.clk.Now().UnixMilli() }
