package broker_test

import (
	"bufio"
	"compress/gzip"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/seedmq/seedmq/broker"
	"github.com/seedmq/seedmq/broker/brokertest"
	"github.com/seedmq/seedmq/conf/clock"
	"github.com/seedmq/seedmq/remoting"
	"github.com/seedmq/seedmq/remoting/protocol"
)

// clientRequest is a request of a stock Go or Java client to Apache RocketMQ 5.5.0, as it was on the wire, and what came back
// (testdata/clients.jsonl.gz). Reply is nil for one-way requests and for pulls that were still held at the end.
type clientRequest struct {
	File  string `json:"file"`
	Conn  string `json:"conn"`
	Code  int32  `json:"code"`
	Raw   []byte `json:"raw"`
	Reply *struct {
		Code   int32             `json:"code"`
		Remark string            `json:"remark"`
		Ext    map[string]string `json:"ext"`
		Body   string            `json:"body"`
	} `json:"reply"`
}

func clientRequests(t *testing.T) map[string][]clientRequest {
	t.Helper()
	f, err := os.Open("testdata/clients.jsonl.gz")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	files, n := map[string][]clientRequest{}, 0
	lines := bufio.NewScanner(z)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var r clientRequest
		if err := json.Unmarshal(lines.Bytes(), &r); err != nil {
			t.Fatal(err)
		}
		files[r.File] = append(files[r.File], r)
		n++
	}
	if err := lines.Err(); err != nil || n < 500 {
		t.Fatal(n, err)
	}
	return files
}

// TestClientConversations plays what stock clients sent and compares our answers with Apache's: codes, and which fields there are.
// Positions depend on what was in the store before, so only their presence is compared.
func TestClientConversations(t *testing.T) {
	files := clientRequests(t)
	for _, name := range slices.Sorted(maps.Keys(files)) {
		t.Run(name, func(t *testing.T) { replayClient(t, files[name]) })
	}
}

type replay struct {
	t     *testing.T
	b     *brokertest.Broker
	conns map[string]*brokertest.Client
	held  sync.WaitGroup

	mu  sync.Mutex
	sql []string // bodies of what SQL filters selected
}

func replayClient(t *testing.T, reqs []clientRequest) {
	r := &replay{t: t, conns: map[string]*brokertest.Client{}}
	cmds := make([]*protocol.Command, len(reqs))
	for i := range reqs {
		cmds[i] = &protocol.Command{}
		if err := protocol.DecodeFrame(reqs[i].Raw[4:], cmds[i]); err != nil {
			t.Fatal(err)
		}
	}
	r.b = brokertest.Start(t, func(o *broker.Options) {
		o.Broker.BrokerClusterName, o.Broker.BrokerName, o.Broker.TraceTopicEnable = "GoldenCluster", "broker-g", true
		o.Clock = recordedClock(cmds)
		o.Broker.TraceOn = reqs[0].File != "java-push-consumer-retry" // recorded after mqadmin had switched it off
	})
	r.makeTopics(cmds)
	for i := range reqs {
		r.play(i, &reqs[i], cmds[i])
	}
	r.held.Wait()
	if slices.Sort(r.sql); reqs[0].File == "java-sql92" && !slices.Equal(r.sql, []string{"sql 4", "sql 6"}) {
		t.Errorf("the filter selects %q, Apache's selects sql 4 and sql 6", r.sql)
	}
}

// found notes the messages that a pull with a filter brought.
func (r *replay) found(req *clientRequest, got *protocol.Command) {
	if req.File != "java-sql92" {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, m := range brokertest.Messages(r.t, got.Body) {
		r.sql = append(r.sql, string(m.Body))
	}
}

// makeTopics makes the topics that the conversation finds there.
func (r *replay) makeTopics(cmds []*protocol.Command) {
	admin := brokertest.Dial(r.t, r.b.Addr())
	for _, cmd := range cmds {
		name, ok := cmd.Ext.Get("topic")
		if !ok {
			name, ok = cmd.Ext.Get("b")
		}
		if !ok || protocol.CheckTopic(name) != nil || protocol.IsSystemTopic(name) || protocol.IsRetryTopic(name) {
			continue
		}
		if r := admin.Call(protocol.ReqGetMaxOffset, &protocol.GetMaxOffsetRequestHeader{Topic: name}, nil); r.Code != protocol.RespSuccess {
			admin.Send(name, 0, "", "")
		}
		h := brokertest.SendHeader(name, 0, "")
		h.DefaultTopicQueueNums = 8
		admin.Must(protocol.ReqSendMessageV2, h, []byte("from before"), nil)
	}
}

func (r *replay) client(name string) *brokertest.Client {
	c := r.conns[name]
	if c == nil {
		c = brokertest.Dial(r.t, r.b.Addr())
		r.conns[name] = c
	}
	return c
}

func (r *replay) play(i int, req *clientRequest, cmd *protocol.Command) {
	conn := r.client(req.Conn).Conn
	what := fmt.Sprintf("request %d, code %d on %s", i, req.Code, req.Conn)
	if cmd.IsOneway() {
		if err := conn.Oneway(cmd); err != nil {
			r.t.Fatalf("%s: %v", what, err)
		}
		return
	}
	if req.Code == protocol.ReqPullMessage || req.Code == protocol.ReqLitePullMessage {
		for j := range cmd.Ext {
			if cmd.Ext[j].Key == "suspendTimeoutMillis" {
				cmd.Ext[j].Value = "20"
			}
		}
		r.held.Go(func() { r.compare(what, req, r.invoke(what, conn, cmd)) })
		return
	}
	r.compare(what, req, r.invoke(what, conn, cmd))
}

func (r *replay) invoke(what string, conn remoting.Conn, cmd *protocol.Command) *protocol.Command {
	ctx, cancel := context.WithTimeout(context.Background(), brokertest.Wait)
	defer cancel()
	got, err := conn.Invoke(ctx, cmd)
	if err != nil {
		r.t.Errorf("%s: %v", what, err)
		return nil
	}
	return got
}

// compare says where our answer differs in meaning.
func (r *replay) compare(what string, req *clientRequest, got *protocol.Command) {
	if got == nil {
		return
	}
	var ph protocol.PullMessageResponseHeader
	switch req.Code {
	case protocol.ReqPullMessage, protocol.ReqLitePullMessage:
		r.found(req, got)
		if !slices.Contains([]int32{0, 19, 20, 21, 24, 25}, got.Code) || got.Code < 22 && ph.DecodeExt(got.Ext) != nil {
			r.t.Errorf("%s: code %d %s, fields %v", what, got.Code, got.Remark, got.Ext)
		}
		return
	case protocol.ReqQueryConsumerOffset: // what is stored differs
		if got.Code != 0 && got.Code != protocol.RespQueryNotFound {
			r.t.Errorf("%s: code %d %s", what, got.Code, got.Remark)
		}
		return
	case protocol.ReqConsumerSendMsgBack: // names a log position of Apache's store
		return
	}
	if req.Reply == nil {
		return
	}
	if got.Code != req.Reply.Code {
		r.t.Errorf("%s: code %d %q, Apache says %d %q", what, got.Code, got.Remark, req.Reply.Code, req.Reply.Remark)
		return
	}
	ours := map[string]string{}
	for _, f := range got.Ext {
		ours[f.Key] = f.Value
	}
	for key, want := range req.Reply.Ext {
		have, ok := ours[key]
		same := have == want || key == "recallHandle" && sameHandle(r.t, have, want) || slices.Contains([]string{"msgId", "queueOffset", "offset", "queueId"}, key)
		if !ok || !same {
			r.t.Errorf("%s: field %s is %q, Apache says %q", what, key, have, want)
		}
	}
	if (len(got.Body) > 0) != (req.Reply.Body != "") {
		r.t.Errorf("%s: body %q, Apache says %q", what, got.Body, req.Reply.Body)
	}
}

// sameHandle says that two recall handles are for the same message, due at about the same time: the recording's clock ran a little
// differently.
func sameHandle(t *testing.T, ours, theirs string) bool {
	t.Helper()
	a, err := protocol.ParseRecallHandle(ours)
	if err != nil {
		t.Errorf("handle %q: %v", ours, err)
		return false
	}
	b, err := protocol.ParseRecallHandle(theirs)
	if err != nil {
		t.Fatal(err)
	}
	apart := a.DeliverMs - b.DeliverMs
	a.DeliverMs, b.DeliverMs = 0, 0
	return a == b && apart%1000 == 0 && max(apart, -apart) <= 5000
}

// shifted is the system's clock as it would have been at another time.
type shifted struct {
	clock.Real
	by time.Duration
}

func (c shifted) Now() time.Time { return c.Real.Now().Add(c.by) }

// recordedClock stands where the recording's stood at its first send, so that times in requests mean what they meant.
func recordedClock(cmds []*protocol.Command) clock.Clock {
	for _, cmd := range cmds {
		text, ok := cmd.Ext.Get("bornTimestamp")
		if !ok && cmd.Code == protocol.ReqSendMessageV2 {
			text, _ = cmd.Ext.Get("g")
		}
		if born, err := strconv.ParseInt(text, 10, 64); err == nil {
			return shifted{by: time.UnixMilli(born).Sub(clock.Real{}.Now())}
		}
	}
	return clock.Real{}
}

// TestHeldPullIsFast bounds, generously, the way from a send to the pull that it wakes.
func TestHeldPullIsFast(t *testing.T) {
	b := brokertest.Start(t)
	c, producer := brokertest.Dial(t, b.Addr()), brokertest.Dial(t, b.Addr())
	producer.Send("T", 0, "", "first")
	var times []time.Duration
	for off := int64(1); off <= 50; off++ {
		h := pullHeader("T", 0, off)
		h.SysFlag |= protocol.PullFlagSuspend
		h.SuspendTimeoutMillis = 10_000
		done := make(chan pulled, 1)
		go func() { done <- pull(t, c, h) }()
		brokertest.Until(t, "the pull is held", func() error {
			if b.Held() != 1 {
				return fmt.Errorf("%d are held", b.Held())
			}
			return nil
		})
		begin := time.Now()
		producer.Send("T", 0, "", "m")
		<-done
		times = append(times, time.Since(begin))
	}
	slices.Sort(times)
	if half := times[len(times)/2]; half > 50*time.Millisecond {
		t.Errorf("half of the messages took more than %v", half)
	}
}
