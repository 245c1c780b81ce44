package broker

import (
	"context"
	"net/netip"
	"runtime"
	"strconv"
	"testing"

	"github.com/seedmq/seedmq/conf"
	"github.com/seedmq/seedmq/remoting"
	"github.com/seedmq/seedmq/remoting/protocol"
)

// countingConn encodes replies as a connection does and throws them away.
type countingConn struct {
	remoting.Conn
	value   any
	buf     []byte
	cmd     protocol.Command
	replies int
	bad     *remoting.Reply
}

func (c *countingConn) ID() uint64                 { return 1 }
func (c *countingConn) Value() any                 { return c.value }
func (c *countingConn) SetValue(v any)             { c.value = v }
func (c *countingConn) RemoteAddr() netip.AddrPort { return netip.MustParseAddrPort("192.0.2.1:1") }
func (c *countingConn) Reply(req *protocol.Command, r *remoting.Reply) {
	c.cmd = protocol.Command{Code: r.Code, Header: r.Header, Remark: r.Remark, Opaque: req.Opaque}
	c.buf = protocol.AppendFrame(c.buf[:0], &c.cmd)
	c.replies++
	if r.Code != 0 {
		c.bad = r
	}
}

// startQuiet runs a broker without a connection to it.
func startQuiet(t testing.TB, edit ...func(*Options)) *Broker {
	t.Helper()
	dir := t.TempDir()
	p := conf.DefaultBrokerProcess(conf.Env{Home: dir})
	p.Store.StorePathRootDir, p.Store.StorePathCommitLog = dir, ""
	p.Store.MaxHashSlotNum, p.Store.MaxIndexNum = 1000, 4000
	p.Broker.NamesrvAddr, p.Broker.BrokerName = "", "quiet"
	p.Server.BindAddress, p.Server.ListenPort = "127.0.0.1", 0
	o := Options{Broker: p.Broker, Store: p.Store, Server: p.Server}
	for _, e := range edit {
		e(&o)
	}
	b, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	if err := b.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := b.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return b
}

// sendFrames are n sends as they come off the wire, decoded into commands that alias them.
func sendFrames(t testing.TB, n, size int, props string) []*protocol.Command {
	t.Helper()
	reqs := make([]*protocol.Command, n)
	for i := range reqs {
		h := &protocol.SendMessageV2RequestHeader{ProducerGroup: "P", Topic: "BenchmarkTest", DefaultTopic: "TBW102", DefaultTopicQueueNums: 4,
			QueueID: int32(i % 8), BornTimestamp: 1_700_000_000_000, Properties: props}
		cmd := protocol.NewRequest(protocol.ReqSendMessageV2, h, make([]byte, size))
		cmd.Opaque = int32(i)
		frame := protocol.AppendFrame(nil, cmd)
		reqs[i] = &protocol.Command{}
		if err := protocol.DecodeFrame(frame[4:], reqs[i]); err != nil {
			t.Fatal(err)
		}
	}
	return reqs
}

// batchFrames are n batches of 16 messages as they come off the wire.
func batchFrames(t testing.TB, n, size int) []*protocol.Command {
	t.Helper()
	var body []byte
	for range batchOf {
		body = protocol.AppendBatchEntry(body, &protocol.BatchEntry{Body: make([]byte, size), Properties: "UNIQ_KEY\x01AC1D00010000000000001234567890AB\x02"})
	}
	reqs := make([]*protocol.Command, n)
	for i := range reqs {
		h := &protocol.SendMessageV2RequestHeader{ProducerGroup: "P", Topic: "BenchmarkTest", DefaultTopic: "TBW102", DefaultTopicQueueNums: 4,
			QueueID: int32(i % 8), BornTimestamp: 1_700_000_000_000, Batch: protocol.Some(true)}
		cmd := protocol.NewRequest(protocol.ReqSendBatchMessage, h, body)
		cmd.Opaque = int32(i)
		reqs[i] = &protocol.Command{}
		if err := protocol.DecodeFrame(protocol.AppendFrame(nil, cmd)[4:], reqs[i]); err != nil {
			t.Fatal(err)
		}
	}
	return reqs
}

const batchOf = 16

// A burst of batches as large as bursts become costs no memory either.
func TestSendOfBatchesDoesNotAllocate(t *testing.T) {
	if raceEnabled {
		t.Skip("pools forget under the race detector")
	}
	b := startQuiet(t)
	c := &countingConn{}
	reqs := batchFrames(t, 64, 1024)
	var before, after runtime.MemStats
	const rounds = 20
	b.sender.serve(c, reqs)
	runtime.ReadMemStats(&before)
	for range rounds {
		b.sender.serve(c, reqs)
	}
	runtime.ReadMemStats(&after)
	if c.bad != nil {
		t.Fatal(c.bad.Code, c.bad.Remark)
	}
	// A collection may empty the pools once, and the store's goroutines allocate too.
	if per := (after.TotalAlloc - before.TotalAlloc) / rounds / uint64(len(reqs)*batchOf); per > 700 {
		t.Errorf("%d bytes allocated per message", per)
	}
}

// TestSendDoesNotAllocate is the hot path's budget: nothing per message.
func TestSendDoesNotAllocate(t *testing.T) {
	if raceEnabled {
		t.Skip("pools forget under the race detector")
	}
	b := startQuiet(t)
	for _, props := range []string{"KEYS\x01k\x02TAGS\x01a\x02WAIT\x01true", "UNIQ_KEY\x01AC1D00010000000000001234567890AB\x02TAGS\x01a\x02"} {
		c := &countingConn{}
		reqs := sendFrames(t, 64, 1024, props)
		per := testing.AllocsPerRun(200, func() { b.sender.serve(c, reqs) }) / float64(len(reqs))
		if c.bad != nil {
			t.Fatal(c.bad.Code, c.bad.Remark)
		}
		// The store's own goroutines allocate now and then, and the count is of the whole process.
		if per > 0.1 {
			t.Errorf("%.2f allocations per message with properties %q", per, props)
		}
	}
}

func BenchmarkSend(b *testing.B) {
	for _, burst := range []int{1, 16, 64} {
		b.Run("burst="+strconv.Itoa(burst), func(b *testing.B) {
			br := startQuiet(b)
			c := &countingConn{}
			reqs := sendFrames(b, burst, 1024, "KEYS\x01k\x02TAGS\x01a\x02WAIT\x01true")
			b.ReportAllocs()
			for b.Loop() {
				br.sender.serve(c, reqs)
			}
			if c.bad != nil {
				b.Fatal(c.bad.Code, c.bad.Remark)
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*burst), "ns/message")
		})
	}
}

func BenchmarkSendBatch(b *testing.B) {
	for _, burst := range []int{1, 8, 64} {
		b.Run("burst="+strconv.Itoa(burst), func(b *testing.B) {
			br := startQuiet(b)
			c := &countingConn{}
			reqs := batchFrames(b, burst, 1024)
			b.ReportAllocs()
			for b.Loop() {
				br.sender.serve(c, reqs)
			}
			if c.bad != nil {
				b.Fatal(c.bad.Code, c.bad.Remark)
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*burst*batchOf), "ns/message")
		})
	}
}
