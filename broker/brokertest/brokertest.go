// Package brokertest runs a broker inside a test: its store in a temporary directory, its ports chosen by the system.
package brokertest

import (
	"context"
	"net/netip"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/seedmq/seedmq/broker"
	"github.com/seedmq/seedmq/conf"
	"github.com/seedmq/seedmq/conf/xlog"
	"github.com/seedmq/seedmq/remoting"
	"github.com/seedmq/seedmq/remoting/protocol"
)

// Wait bounds everything that a test waits for.
const Wait = 15 * time.Second

// Broker is a running broker.
type Broker struct {
	*broker.Broker
	Options broker.Options
	// Broken says that the test broke the disk, so that Stop may fail.
	Broken bool
	log    *log
}

// Options are those of a small broker in dir, listening on a free port of the loopback.
func Options(dir string) broker.Options {
	p := conf.DefaultBrokerProcess(conf.Env{Home: dir})
	p.Store.StorePathRootDir = dir
	p.Store.StorePathCommitLog = ""
	p.Store.MappedFileSizeCommitLog = 16 << 20
	p.Store.MappedFileSizeConsumeQueue = 20 * 3000
	p.Store.MaxHashSlotNum, p.Store.MaxIndexNum = 1000, 4000
	p.Store.DiskMaxUsedSpaceRatio, p.Store.DiskSpaceCleanForciblyRatio, p.Store.DiskSpaceWarningLevelRatio = 95, 97, 99
	p.Broker.BrokerClusterName, p.Broker.BrokerName, p.Broker.NamesrvAddr = "TestCluster", "test-broker", ""
	p.Server.BindAddress, p.Server.ListenPort = "127.0.0.1", 0
	return broker.Options{Broker: p.Broker, Store: p.Store, Server: p.Server}
}

// Start runs a broker until the test ends. edit may change its options.
func Start(t testing.TB, edit ...func(*broker.Options)) *Broker {
	t.Helper()
	return StartIn(t, t.TempDir(), edit...)
}

// StartIn is Start with the store in dir.
func StartIn(t testing.TB, dir string, edit ...func(*broker.Options)) *Broker {
	t.Helper()
	b := &Broker{Options: Options(dir), log: &log{}}
	l, err := xlog.New(b.log, "info")
	if err != nil {
		t.Fatal(err)
	}
	b.Options.Log = l
	for _, e := range edit {
		e(&b.Options)
	}
	if b.Broker, err = broker.New(b.Options); err != nil {
		t.Fatal(err)
	}
	if err := b.Broker.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { b.Stop(t) })
	return b
}

// Stop closes the broker; it may be called before the test's end.
func (b *Broker) Stop(t testing.TB) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), Wait)
	defer cancel()
	if err := b.Close(ctx); err != nil && !b.Broken {
		t.Errorf("close broker: %v", err)
	}
	if t.Failed() {
		t.Logf("broker's log:\n%s", b.Log())
	}
}

// Log is what the broker logged.
func (b *Broker) Log() string { return b.log.String() }

type log struct {
	mu   sync.Mutex
	text strings.Builder
}

func (l *log) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

func (l *log) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

// Client is one connection to a broker.
type Client struct {
	t      testing.TB
	Conn   remoting.Conn
	Pushes chan *protocol.Command // requests that the broker sent
}

// Dial connects to addr until the test ends.
func Dial(t testing.TB, addr netip.AddrPort) *Client {
	t.Helper()
	c := &Client{t: t, Pushes: make(chan *protocol.Command, 1000)}
	r := remoting.NewClient(remoting.ClientOptions{Handler: pushes(c.Pushes)})
	t.Cleanup(func() { r.Close() })
	var err error
	if c.Conn, err = r.Conn(context.Background(), addr.String()); err != nil {
		t.Fatal(err)
	}
	return c
}

// With is the same client for another test, as inside of Fuzz.
func (c *Client) With(t testing.TB) *Client { return &Client{t: t, Conn: c.Conn, Pushes: c.Pushes} }

type pushes chan *protocol.Command

func (p pushes) ServeBurst(_ remoting.Conn, reqs []*protocol.Command) {
	for _, r := range reqs {
		p <- r.Clone()
	}
}
func (pushes) Opened(remoting.Conn)                       {}
func (pushes) Closed(remoting.Conn, remoting.CloseReason) {}

// Call sends a request and returns the reply, whatever its code.
func (c *Client) Call(code protocol.RequestCode, h protocol.HeaderEncoder, body []byte) *protocol.Command {
	c.t.Helper()
	return c.Do(protocol.NewRequest(code, h, body))
}

// Do sends cmd and returns the reply, whatever its code.
func (c *Client) Do(cmd *protocol.Command) *protocol.Command {
	c.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), Wait)
	defer cancel()
	r, err := c.Conn.Invoke(ctx, cmd)
	if err != nil {
		c.t.Fatalf("request %d: %v", cmd.Code, err)
	}
	return r
}

// Burst sends requests in one go and returns the replies in the order of the requests, whatever the order they came in.
func (c *Client) Burst(reqs ...*protocol.Command) []*protocol.Command {
	c.t.Helper()
	replies := make([]*protocol.Command, len(reqs))
	errs := make([]error, len(reqs))
	ctx, cancel := context.WithTimeout(context.Background(), Wait)
	defer cancel()
	var wg sync.WaitGroup
	for i, req := range reqs {
		wg.Go(func() { replies[i], errs[i] = c.Conn.Invoke(ctx, req) })
	}
	wg.Wait()
	for i, err := range errs {
		if err != nil {
			c.t.Fatalf("request %d of %d: %v", i, len(reqs), err)
		}
	}
	return replies
}

// Must is Call that fails the test unless the reply is a success, and decodes its header into out unless that is nil.
func (c *Client) Must(code protocol.RequestCode, h protocol.HeaderEncoder, body []byte, out protocol.HeaderDecoder) *protocol.Command {
	c.t.Helper()
	r := c.Call(code, h, body)
	if r.Code != protocol.RespSuccess {
		c.t.Fatalf("request %d: code %d, %s", code, r.Code, r.Remark)
	}
	if out != nil {
		if err := out.DecodeExt(r.Ext); err != nil {
			c.t.Fatalf("request %d: reply: %v", code, err)
		}
	}
	return r
}

// ID is the client id that Heartbeat uses.
func (c *Client) ID() string { return "client-" + strconv.FormatUint(c.Conn.ID(), 10) }

// Heartbeat registers the client as a push consumer of a group and returns the reply, a success.
func (c *Client) Heartbeat(group string, subs ...protocol.SubscriptionData) *protocol.Command {
	c.t.Helper()
	body, err := protocol.MarshalFast(&protocol.HeartbeatData{ClientID: c.ID(), ConsumerDataSet: []protocol.ConsumerData{{GroupName: group,
		ConsumeType: protocol.ConsumePassively, MessageModel: protocol.ModelClustering, SubscriptionDataSet: subs}}})
	if err != nil {
		c.t.Fatal(err)
	}
	return c.Must(protocol.ReqHeartBeat, nil, body, nil)
}

// Push waits for the next request from the broker.
func (c *Client) Push() *protocol.Command {
	c.t.Helper()
	select {
	case p := <-c.Pushes:
		return p
	case <-time.After(Wait):
		c.t.Fatal("the broker pushed nothing")
		return nil
	}
}

// Until waits until ok gives no error; it fails the test with the last one.
func Until(t testing.TB, what string, ok func() error) {
	t.Helper()
	deadline := time.Now().Add(Wait)
	for {
		err := ok()
		if err == nil {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("%s: %v", what, err)
		}
		time.Sleep(time.Millisecond)
	}
}

// SendHeader is the header of an ordinary send.
func SendHeader(topic string, queue int32, props string) *protocol.SendMessageV2RequestHeader {
	return &protocol.SendMessageV2RequestHeader{ProducerGroup: "P", Topic: topic, DefaultTopic: protocol.DefaultTopic, DefaultTopicQueueNums: 4,
		QueueID: queue, BornTimestamp: 1_700_000_000_000, Properties: props}
}

// Send sends one message and returns the reply's header.
func (c *Client) Send(topic string, queue int32, props, body string) protocol.SendMessageResponseHeader {
	c.t.Helper()
	var h protocol.SendMessageResponseHeader
	c.Must(protocol.ReqSendMessageV2, SendHeader(topic, queue, props), []byte(body), &h)
	return h
}

// Messages decodes the records of a pull's reply.
func Messages(t testing.TB, body []byte) []protocol.MessageView {
	t.Helper()
	var out []protocol.MessageView
	for len(body) > 0 {
		var v protocol.MessageView
		n, err := protocol.DecodeMessage(body, &v)
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, v)
		body = body[n:]
	}
	return out
}
