package broker_test

import (
	"bufio"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/seedmq/seedmq/broker"
	"github.com/seedmq/seedmq/broker/brokertest"
	"github.com/seedmq/seedmq/remoting/protocol"
	"github.com/seedmq/seedmq/store/fs"
)

// quickChecks makes a broker ask after a moment.
func quickChecks(o *broker.Options) {
	o.Broker.TransactionTimeOut, o.Broker.TransactionCheckInterval, o.Broker.TransactionCheckMax = 50, 50, 1000
}

// produce registers the client as a producer of a group.
func produce(c *brokertest.Client, t testing.TB, group string) {
	t.Helper()
	body, err := protocol.MarshalFast(&protocol.HeartbeatData{ClientID: c.ID(), ProducerDataSet: []protocol.ProducerData{{GroupName: group}}})
	if err != nil {
		t.Fatal(err)
	}
	c.Must(protocol.ReqHeartBeat, nil, body, nil)
}

// half sends a half message and returns its place.
func half(t testing.TB, c *brokertest.Client, topic, body string, props ...string) (reply protocol.SendMessageResponseHeader, at int64) {
	t.Helper()
	p := "TRAN_MSG\x01true\x02PGROUP\x01P\x02UNIQ_KEY\x01U" + body + "\x02TAGS\x01TagA\x02" + strings.Join(props, "")
	h := brokertest.SendHeader(topic, 1, p)
	h.SysFlag = protocol.SysFlagTransactionPrepared
	c.Must(protocol.ReqSendMessageV2, h, []byte(body), &reply)
	_, at, err := protocol.ParseOffsetMsgID(reply.MsgID)
	if err != nil {
		t.Fatal(err)
	}
	return reply, at
}

func endHeader(offset, at int64, outcome int32, check bool) *protocol.EndTransactionRequestHeader {
	return &protocol.EndTransactionRequestHeader{ProducerGroup: "P", TranStateTableOffset: offset, CommitLogOffset: at, CommitOrRollback: outcome,
		FromTransactionCheck: protocol.Some(check)}
}

const (
	toCommit   = protocol.SysFlagTransactionCommit
	toRollback = protocol.SysFlagTransactionRollback
)

// answer ends the transaction that a check is about.
func answer(t testing.TB, c *brokertest.Client, push *protocol.Command, outcome int32) *protocol.Command {
	t.Helper()
	var h protocol.CheckTransactionStateRequestHeader
	if err := h.DecodeExt(push.Ext); err != nil {
		t.Fatal(err)
	}
	return c.Call(protocol.ReqEndTransaction, endHeader(h.TranStateTableOffset, h.CommitLogOffset, outcome, true), nil)
}

// TestTransaction follows a transaction through what is stored, asked and delivered.
func TestTransaction(t *testing.T) {
	b := brokertest.Start(t, quickChecks)
	c := brokertest.Dial(t, b.Addr())
	c.Send("T", 1, "", "makes the topic")
	reply, at := half(t, c, "T", "a", "REAL_TOPIC\x01Forged\x02")
	if reply.QueueID != 1 || reply.QueueOffset != 0 || reply.TransactionID != "Ua" {
		t.Errorf("reply %+v", reply)
	}
	rec := stored(t, c, protocol.TopicHalf, 0, 1)[0]
	p := protocol.ParseProperties(rec.Properties)
	want := map[string]string{"TRAN_MSG": "true", "PGROUP": "P", "UNIQ_KEY": "Ua", "__transactionId__": "Ua", "REAL_TOPIC": "T", "REAL_QID": "1", "TAGS": "TagA",
		"CLUSTER": "TestCluster", "MSG_REGION": "DefaultRegion", "TRACE_ON": "true"}
	if !maps.Equal(p, want) || rec.SysFlag != 0 {
		t.Errorf("half message has %v, want %v; sysFlag %d", p, want, rec.SysFlag)
	}
	produce(c, t, "P")
	push := c.Push()
	if push.Code != protocol.ReqCheckTransactionState || !push.IsOneway() {
		t.Fatalf("pushed %+v", push)
	}
	if r := answer(t, c, push, toCommit); r.Code != protocol.RespSuccess {
		t.Fatal(r.Code, r.Remark)
	}
	got := stored(t, c, "T", 1, 2)[1]
	p = protocol.ParseProperties(got.Properties)
	var h protocol.CheckTransactionStateRequestHeader
	if err := h.DecodeExt(push.Ext); err != nil {
		t.Fatal(err)
	}
	if string(got.Body) != "a" || got.SysFlag != toCommit || got.PreparedTransactionOffset != h.CommitLogOffset || p["REAL_TOPIC"] != "" || p["TRANSACTION_CHECK_TIMES"] == "" {
		t.Errorf("%+v", got)
	}
	// The first record ends nothing any more.
	if r := c.Call(protocol.ReqEndTransaction, endHeader(0, at, toRollback, false), nil); r.Code != protocol.RespSystemError || !strings.Contains(r.Remark, "has ended") {
		t.Error(r.Code, r.Remark)
	}
	stored(t, c, "T", 1, 2)
	b.Stop(t)
	text, err := os.ReadFile(b.Options.Store.StorePathRootDir + "/config/consumerOffset.json")
	if err != nil || !strings.Contains(string(text), "RMQ_SYS_TRANS_HALF_TOPIC@CID_RMQ_SYS_TRANS") || !strings.Contains(string(text), "RMQ_SYS_TRANS_OP_HALF_TOPIC@CID_RMQ_SYS_TRANS") {
		t.Errorf("no progress in %s, %v", text, err)
	}
}

// TestEndTransactionRefusals: what does not fit is refused with Java's code, and nothing is stored.
func TestEndTransactionRefusals(t *testing.T) {
	b := brokertest.Start(t)
	c := brokertest.Dial(t, b.Addr())
	plain := c.Send("T", 1, "", "plain")
	_, plainAt, _ := protocol.ParseOffsetMsgID(plain.MsgID)
	_, at := half(t, c, "T", "a")
	immune, immuneAt := half(t, c, "T", "b", "CHECK_IMMUNITY_TIME_IN_SECONDS\x010\x02")
	brokertest.Until(t, "immunity is over", func() error {
		r := c.Call(protocol.ReqEndTransaction, endHeader(immune.QueueOffset, immuneAt, toCommit, false), nil)
		if r.Code != protocol.RespIllegalOperation {
			return fmt.Errorf("code %d %s", r.Code, r.Remark)
		}
		return nil
	})
	for _, x := range []struct {
		what   string
		change func(h *protocol.EndTransactionRequestHeader)
		remark string
	}{
		{"other group", func(h *protocol.EndTransactionRequestHeader) { h.ProducerGroup = "Other" }, "The producer group wrong"},
		{"queue offset", func(h *protocol.EndTransactionRequestHeader) { h.TranStateTableOffset = 1 }, "The transaction state table offset wrong"},
		{"garbage position", func(h *protocol.EndTransactionRequestHeader) { h.CommitLogOffset += 3 }, "Find prepared transaction message failed"},
		{"negative position", func(h *protocol.EndTransactionRequestHeader) { h.CommitLogOffset = -1 }, "Find prepared transaction message failed"},
		{"position behind the end", func(h *protocol.EndTransactionRequestHeader) { h.CommitLogOffset = 1 << 40 }, "Find prepared transaction message failed"},
		{"no half message", func(h *protocol.EndTransactionRequestHeader) { h.CommitLogOffset = plainAt }, "not a half message"},
	} {
		for _, outcome := range []int32{toCommit, toRollback} {
			h := endHeader(0, at, outcome, false)
			x.change(h)
			if r := c.Call(protocol.ReqEndTransaction, h, nil); r.Code != protocol.RespSystemError || !strings.Contains(r.Remark, x.remark) {
				t.Errorf("%s: code %d %q, want 1 %q", x.what, r.Code, r.Remark, x.remark)
			}
		}
	}
	if r := c.Do(&protocol.Command{Code: protocol.ReqEndTransaction, Ext: protocol.ExtFields{{Key: "producerGroup", Value: "P"}, {Key: "commitLogOffset", Value: "x"}}}); r.Code != protocol.RespSystemError {
		t.Error(r.Code, r.Remark)
	}
	stored(t, c, "T", 1, 1)
	if _, max := offsets(c, protocol.TopicOpHalf); max != 0 {
		t.Errorf("%d op messages", max)
	}
	if r := c.Call(protocol.ReqEndTransaction, endHeader(0, at, 4, false), nil); r.Code != protocol.RespSystemError || !strings.HasPrefix(r.Remark, "commitOrRollback: 4 ") {
		t.Error(r.Code, r.Remark)
	}
	// All in one read: each has its own answer, unknown ones have none.
	for _, outcome := range []int32{0, 4, 99} {
		if err := c.Conn.Oneway(protocol.NewRequest(protocol.ReqEndTransaction, endHeader(0, at, outcome, false), nil)); err != nil {
			t.Fatal(err)
		}
	}
	if r := c.Call(protocol.ReqEndTransaction, endHeader(0, at, toCommit, false), nil); r.Code != protocol.RespSuccess {
		t.Error(r.Code, r.Remark)
	}
	stored(t, c, "T", 1, 2)
}

func offsets(c *brokertest.Client, topic string) (min, max int64) {
	var h protocol.GetMaxOffsetResponseHeader
	c.Must(protocol.ReqGetMaxOffset, &protocol.GetMaxOffsetRequestHeader{Topic: topic}, nil, &h)
	return 0, h.Offset
}

// TestCheckTimesChangeLive: a shorter time-out counts at once for what is open.
func TestCheckTimesChangeLive(t *testing.T) {
	b := brokertest.Start(t, func(o *broker.Options) { o.Broker.TransactionTimeOut = 3_600_000 })
	c := brokertest.Dial(t, b.Addr())
	produce(c, t, "P")
	half(t, c, "T", "a")
	stored(t, c, protocol.TopicHalf, 0, 1)
	c.Must(protocol.ReqUpdateBrokerConfig, nil, []byte("transactionTimeOut=1\n"), nil)
	if r := answer(t, c, c.Push(), toRollback); r.Code != protocol.RespSuccess {
		t.Error(r.Code, r.Remark)
	}
}

func TestRejectTransactions(t *testing.T) {
	b := brokertest.Start(t, func(o *broker.Options) { o.Broker.RejectTransactionMessage = true })
	c := brokertest.Dial(t, b.Addr())
	if r := c.Call(protocol.ReqSendMessageV2, brokertest.SendHeader("T", 0, "TRAN_MSG\x01true\x02PGROUP\x01P\x02"), []byte("x")); r.Code != protocol.RespNoPermission || !strings.Contains(r.Remark, "transaction message is forbidden") {
		t.Error(r.Code, r.Remark)
	}
}

// TestResumeCheck: a message that was given up is checked again, once; an open one at once; anything else is refused.
func TestResumeCheck(t *testing.T) {
	b := brokertest.Start(t, func(o *broker.Options) { quickChecks(o); o.Broker.TransactionCheckMax = 1 })
	c := brokertest.Dial(t, b.Addr())
	plain := c.Send("T", 1, "", "plain")
	half(t, c, "T", "a")
	lost := stored(t, c, protocol.TopicTransCheckMaxTime, 0, 1)[0]
	produce(c, t, "P")
	resume := func(id string) *protocol.Command {
		return c.Call(protocol.ReqResumeCheckHalfMessage, &protocol.ResumeCheckHalfMessageRequestHeader{Topic: "T", MsgID: id}, nil)
	}
	id := protocol.OffsetMsgID(b.Self(), lost.PhysicalOffset)
	for _, bad := range []string{"", "x", plain.MsgID, protocol.OffsetMsgID(b.Self(), 1<<40)} {
		if r := resume(bad); r.Code != protocol.RespSystemError || r.Remark == "" {
			t.Errorf("id %q: code %d %q", bad, r.Code, r.Remark)
		}
	}
	if r := resume(id); r.Code != protocol.RespSuccess {
		t.Fatal(r.Code, r.Remark)
	}
	if r := resume(id); r.Code != protocol.RespSystemError || !strings.Contains(r.Remark, "before") {
		t.Error(r.Code, r.Remark)
	}
	if r := answer(t, c, c.Push(), toCommit); r.Code != protocol.RespSuccess {
		t.Error(r.Code, r.Remark)
	}
	if got := stored(t, c, "T", 1, 2)[1]; string(got.Body) != "a" {
		t.Error(got)
	}
	// An open one, long before it is due.
	c.Must(protocol.ReqUpdateBrokerConfig, nil, []byte("transactionTimeOut=3600000\ntransactionCheckMax=15\n"), nil)
	reply, _ := half(t, c, "T", "b")
	brokertest.Until(t, "it is open", func() error {
		if r := resume(reply.MsgID); r.Code != protocol.RespSuccess {
			return fmt.Errorf("code %d %s", r.Code, r.Remark)
		}
		return nil
	})
	if r := answer(t, c, c.Push(), toRollback); r.Code != protocol.RespSuccess {
		t.Error(r.Code, r.Remark)
	}
	if r := resume(reply.MsgID); r.Code != protocol.RespSystemError || !strings.Contains(r.Remark, "has ended") {
		t.Error(r.Code, r.Remark)
	}
}

// TestTransactionsThroughPowerCuts: whatever a crash leaves of the disk, each transaction that was acknowledged gets its outcome, and no
// other.
func TestTransactionsThroughPowerCuts(t *testing.T) {
	mem := fs.NewMem(nil)
	want := map[string]int32{}
	for round := range 20 {
		disk := mem
		b := brokertest.StartIn(t, "/store", quickChecks, func(o *broker.Options) { o.FS, o.Store.FlushDiskType = disk, "SYNC_FLUSH" })
		b.Broken = true
		c := brokertest.Dial(t, b.Addr())
		if round == 0 {
			c.Must(protocol.ReqUpdateAndCreateTopic, &protocol.UpdateAndCreateTopicRequestHeader{Topic: "T", DefaultTopic: "TBW102", ReadQueueNums: 2, WriteQueueNums: 2, Perm: 6, TopicFilterType: "SINGLE_TAG"}, nil, nil)
		}
		produce(c, t, "P")
		for i := range 12 {
			body := fmt.Sprintf("%d-%d", round, i)
			outcome := []int32{toCommit, toRollback}[i%2]
			reply, at := half(t, c, "T", body, "WAIT\x01true\x02")
			want[body] = outcome
			if i%3 > 0 { // the others are left to checks
				c.Must(protocol.ReqEndTransaction, endHeader(reply.QueueOffset, at, outcome, false), nil, nil)
			}
		}
		if round%4 == 3 {
			decided(t, c, want)
		}
		mem = disk.Crash(uint64(round))
		b.Stop(t)
	}
}

// decided answers checks until every message that is to be committed is there, and nothing is open.
func decided(t *testing.T, c *brokertest.Client, want map[string]int32) {
	t.Helper()
	brokertest.Until(t, "all transactions have their outcome", func() error {
		for len(c.Pushes) > 0 {
			push := c.Push()
			m := brokertest.Messages(t, push.Body)[0]
			answer(t, c, push, want[string(m.Body)])
		}
		seen := map[string]bool{}
		_, max := queueEnd(c, "T", 1)
		if max > 0 {
			for _, m := range stored(t, c, "T", 1, int(max)) {
				seen[string(m.Body)] = true
			}
		}
		for body, outcome := range want {
			if seen[body] != (outcome == toCommit) {
				if outcome == toRollback {
					t.Fatalf("%s was rolled back, but is delivered", body)
				}
				return fmt.Errorf("%s is not delivered", body)
			}
		}
		return nil
	})
}

func queueEnd(c *brokertest.Client, topic string, queue int32) (min, max int64) {
	var h protocol.GetMaxOffsetResponseHeader
	c.Must(protocol.ReqGetMaxOffset, &protocol.GetMaxOffsetRequestHeader{Topic: topic, QueueID: queue}, nil, &h)
	return 0, h.Offset
}

// wireFrame is a frame between a stock client and Apache RocketMQ 5.5.0 (testdata/transactions.jsonl.gz).
type wireFrame struct {
	File    string `json:"file"`
	Conn    string `json:"conn"`
	Dir     string `json:"dir"`
	Code    int32  `json:"code"`
	ReqCode int32  `json:"reqCode"`
	Flag    int32  `json:"flag"`
	Opaque  int32  `json:"opaque"`
	Raw     []byte `json:"raw"`
}

func (f *wireFrame) command(t *testing.T) *protocol.Command {
	t.Helper()
	cmd := &protocol.Command{}
	if err := protocol.DecodeFrame(f.Raw[4:], cmd); err != nil {
		t.Fatal(err)
	}
	return cmd
}

func wireFrames(t *testing.T, file string) []wireFrame {
	t.Helper()
	f, err := os.Open("testdata/transactions.jsonl.gz")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	var out []wireFrame
	for lines := bufio.NewScanner(z); lines.Scan(); {
		var w wireFrame
		if err := json.Unmarshal(lines.Bytes(), &w); err != nil {
			t.Fatal(err)
		}
		if w.File == file {
			out = append(out, w)
		}
	}
	if len(out) < 10 {
		t.Fatal(file, len(out))
	}
	return out
}

// replyTo is the recorded reply to a frame, nil when there was none.
func replyTo(t *testing.T, frames []wireFrame, f *wireFrame) *protocol.Command {
	for i := range frames {
		if r := &frames[i]; r.Dir != f.Dir && r.Conn == f.Conn && r.Flag&1 == 1 && r.Opaque == f.Opaque {
			return r.command(t)
		}
	}
	return nil
}

// TestTransactionConversations plays what stock clients sent and compares our replies and checks with Apache's.
func TestTransactionConversations(t *testing.T) {
	for _, file := range []string{"java-transaction", "go-transaction"} {
		t.Run(file, func(t *testing.T) { replayTransactions(t, wireFrames(t, file)) })
	}
}

func replayTransactions(t *testing.T, frames []wireFrame) {
	b := brokertest.Start(t, quickChecks, func(o *broker.Options) {
		o.Broker.BrokerClusterName, o.Broker.BrokerName = "GoldenCluster", "broker-g"
		o.Broker.TransactionCheckInterval = 60_000 // one check
	})
	c := brokertest.Dial(t, b.Addr())
	topic := ""
	places := map[string]protocol.ExtFields{} // commit log offset of Apache's → ours, and the queue offset
	var asked protocol.ExtFields
	for i := range frames {
		f := &frames[i]
		cmd := f.command(t)
		switch {
		case f.Code == protocol.ReqCheckTransactionState:
			asked = compareCheck(t, b, cmd, c.Push())
			at, _ := cmd.Ext.Get("commitLogOffset")
			places[at] = asked
		case f.Dir != "c2s":
		case f.Code == protocol.ReqEndTransaction:
			at, _ := cmd.Ext.Get("commitLogOffset")
			place(cmd, places[at])
			outcome, _ := cmd.Ext.Get("commitOrRollback")
			compareEnd(t, c, cmd, replyTo(t, frames, f), outcome == "0")
		default:
			got := c.Do(cmd)
			want := replyTo(t, frames, f)
			if got.Code != want.Code || !slices.Equal(keysOf(got.Ext), keysOf(want.Ext)) {
				t.Errorf("request %d: code %d %v, Apache says %d %v", f.Code, got.Code, got.Ext, want.Code, want.Ext)
			}
			if id, ok := want.Ext.Get("msgId"); ok {
				topic = valueOf(cmd, "topic", "b")
				places[positionOf(t, id)] = protocol.ExtFields{{Key: "commitLogOffset", Value: positionOf(t, valueOf(got, "msgId"))}, {Key: "tranStateTableOffset", Value: valueOf(got, "queueOffset")}}
			}
		}
	}
	var bodies []string
	for q := range int32(4) {
		if _, max := queueEnd(c, topic, q); max > 0 {
			for _, m := range stored(t, c, topic, q, int(max)) {
				bodies = append(bodies, string(m.Body))
			}
		}
	}
	if slices.Sort(bodies); !slices.Equal(bodies, []string{"commit", "unknown"}) {
		t.Errorf("delivered %v", bodies)
	}
}

func keysOf(ext protocol.ExtFields) []string {
	var keys []string
	for _, f := range ext {
		keys = append(keys, f.Key)
	}
	slices.Sort(keys)
	return keys
}

func valueOf(cmd *protocol.Command, keys ...string) string {
	for _, k := range keys {
		if v, ok := cmd.Ext.Get(k); ok {
			return v
		}
	}
	return ""
}

func positionOf(t *testing.T, id string) string {
	t.Helper()
	_, at, err := protocol.ParseOffsetMsgID(id)
	if err != nil {
		t.Fatal(err)
	}
	return strconv.FormatInt(at, 10)
}

// place puts our offsets into a request.
func place(cmd *protocol.Command, ours protocol.ExtFields) {
	for i := range cmd.Ext {
		if v, ok := ours.Get(cmd.Ext[i].Key); ok {
			cmd.Ext[i].Value = v
		}
	}
}

// compareEnd ends a transaction. Apache answers nothing to an unknown outcome, which the next reply on the connection shows.
func compareEnd(t *testing.T, c *brokertest.Client, cmd, want *protocol.Command, unknown bool) {
	t.Helper()
	if cmd.IsOneway() || unknown {
		if err := c.Conn.Oneway(cmd); err != nil {
			t.Fatal(err)
		}
		if unknown && want != nil {
			t.Errorf("the recording has a reply: %+v", want)
		}
		return
	}
	if got := c.Do(cmd); got.Code != want.Code || len(got.Ext) != 0 {
		t.Errorf("end: code %d %s %v, Apache says %d", got.Code, got.Remark, got.Ext, want.Code)
	}
}

// compareCheck compares a check with Apache's: header fields, and the message but for places, times and hosts. What is ours beyond it
// is the property that names the first record.
func compareCheck(t *testing.T, b *brokertest.Broker, want, got *protocol.Command) protocol.ExtFields {
	t.Helper()
	if got.Code != want.Code || got.IsOneway() != want.IsOneway() || !slices.Equal(keysOf(got.Ext), keysOf(want.Ext)) {
		t.Errorf("check %+v, Apache's %+v", got, want)
	}
	for _, key := range []string{"bname", "topic", "msgId", "transactionId"} {
		if valueOf(got, key) != valueOf(want, key) {
			t.Errorf("check: %s is %q, Apache says %q", key, valueOf(got, key), valueOf(want, key))
		}
	}
	g, w := brokertest.Messages(t, got.Body)[0], brokertest.Messages(t, want.Body)[0]
	if at := strconv.FormatInt(g.PhysicalOffset, 10); at != valueOf(got, "commitLogOffset") || positionOf(t, valueOf(got, "offsetMsgId")) != at ||
		strconv.FormatInt(g.QueueOffset, 10) != valueOf(got, "tranStateTableOffset") {
		t.Errorf("check: the message says %d %d, the header %v", g.PhysicalOffset, g.QueueOffset, got.Ext)
	}
	gp, wp := protocol.ParseProperties(g.Properties), protocol.ParseProperties(w.Properties)
	delete(gp, protocol.PropertyTransactionPreparedOffset)
	if !maps.Equal(gp, wp) {
		t.Errorf("check: properties\n%v, Apache's\n%v", gp, wp)
	}
	if g.Topic != w.Topic || g.QueueID != w.QueueID || string(g.Body) != string(w.Body) || g.SysFlag != w.SysFlag || g.Flag != w.Flag ||
		g.PreparedTransactionOffset != w.PreparedTransactionOffset || g.BodyCRC != w.BodyCRC || g.BornTimestamp != w.BornTimestamp {
		t.Errorf("check: message %+v, Apache's %+v", g, w)
	}
	return got.Ext
}
