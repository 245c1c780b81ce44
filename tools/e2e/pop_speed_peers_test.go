//go:build peers

package e2e

import (
	"bufio"
	"encoding/binary"
	"fmt"
	"io"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/seedmq/seedmq/remoting/protocol"
	"github.com/seedmq/seedmq/tools/harness"
)

// BenchmarkPopAck pops and acknowledges one by one, as the stock client does, with several consumers; beside Java in one run:
//
//	go test -tags peers -run xxx -bench PopAck -benchtime 40000x ./...
func BenchmarkPopAck(b *testing.B) {
	for _, java := range []bool{false, true} {
		b.Run(map[bool]string{false: "ours", true: "java"}[java], func(b *testing.B) {
			ns := harness.Namesrv(b)
			start := harness.Broker
			if java {
				start = harness.JavaBroker
			}
			s := start(b, b.TempDir(), ns.Namesrv, "")
			harness.CreateTopic(b, s, "PopSpeed", 8)
			fill(b, s, "PopSpeed", 8, b.N)
			b.ResetTimer()
			begin := time.Now()
			popAndAck(b, s, "PopSpeed", 6, b.N)
			b.ReportMetric(float64(b.N)/time.Since(begin).Seconds(), "msg/s")
			b.StopTimer()
		})
	}
}

// pipe writes many requests at once and reads as many replies.
type pipe struct {
	*wire
	in  *bufio.Reader
	bad int
}

func newPipe(t testing.TB, s *harness.Server) *pipe {
	w := mustDial(t, s.Broker)
	if err := w.conn.SetDeadline(time.Now().Add(5 * time.Minute)); err != nil {
		t.Fatal(err)
	}
	return &pipe{wire: w, in: bufio.NewReaderSize(w.conn, 1<<20)}
}

func (p *pipe) add(code protocol.RequestCode, h protocol.HeaderEncoder, body []byte) {
	p.opaque++
	cmd := protocol.NewRequest(int32(code), h, body)
	cmd.Opaque = p.opaque
	p.out = protocol.AppendFrame(p.out, cmd)
}

func (p *pipe) flush(replies int) (last *protocol.Command, err error) {
	if _, err := p.conn.Write(p.out); err != nil {
		return nil, err
	}
	p.out = p.out[:0]
	for range replies {
		var word [4]byte
		if _, err := io.ReadFull(p.in, word[:]); err != nil {
			return nil, err
		}
		frame := make([]byte, binary.BigEndian.Uint32(word[:]))
		if _, err := io.ReadFull(p.in, frame); err != nil {
			return nil, err
		}
		last = new(protocol.Command)
		if err := protocol.DecodeFrame(frame, last); err != nil {
			return nil, err
		}
	}
	return last, nil
}

func fill(t testing.TB, s *harness.Server, topic string, queues, n int) {
	p := newPipe(t, s)
	body := []byte(strings.Repeat("x", 100))
	for at := 0; at < n; {
		k := min(100, n-at)
		for i := range k {
			p.add(protocol.ReqSendMessageV2, &protocol.SendMessageV2RequestHeader{ProducerGroup: "P", Topic: topic, DefaultTopic: protocol.DefaultTopic,
				DefaultTopicQueueNums: 4, QueueID: int32((at + i) % queues), BornTimestamp: time.Now().UnixMilli(), ReconsumeTimes: protocol.Some(int32(0)),
				UnitMode: protocol.Some(false), Batch: protocol.Some(false)}, body)
		}
		last, err := p.flush(k)
		if err != nil || last.Code != 0 {
			t.Fatal(err, last)
		}
		at += k
	}
}

func popAndAck(t testing.TB, s *harness.Server, topic string, consumers, n int) {
	var left atomic.Int64
	left.Store(int64(n))
	begin := time.Now()
	var wg sync.WaitGroup
	for range consumers {
		p := newPipe(t, s)
		wg.Go(func() {
			for left.Load() > 0 && time.Since(begin) < time.Minute {
				p.add(protocol.ReqPopMessage, &protocol.PopMessageRequestHeader{ConsumerGroup: "Speed", Topic: topic, QueueID: -1, MaxMsgNums: 32, InvisibleTime: 60_000,
					PollTime: 100, BornTime: time.Now().UnixMilli(), ExpType: "TAG", Exp: "*", Order: protocol.Some(false)}, nil)
				reply, err := p.flush(1)
				if err != nil {
					t.Error(err)
					return
				}
				var h protocol.PopMessageResponseHeader
				if err := h.DecodeExt(reply.Ext); err != nil || reply.Code != 0 {
					continue
				}
				left.Add(-int64(p.acks(&h, topic)))
			}
		})
	}
	wg.Wait()
	if n := left.Load(); n > 0 {
		t.Errorf("%d messages were not popped in a minute", n)
	}
}

// acks acknowledges what a pop gave, one by one.
func (p *pipe) acks(h *protocol.PopMessageResponseHeader, topic string) (n int) {
	start := map[string]string{}
	for _, e := range strings.Split(h.StartOffsetInfo, ";") {
		f := strings.Fields(e)
		start[f[1]] = f[2]
	}
	for _, e := range strings.Split(h.MsgOffsetInfo, ";") {
		f := strings.Fields(e)
		for _, o := range strings.Split(f[2], ",") {
			var off int64
			var q int32
			fmt.Sscan(o, &off)
			fmt.Sscan(f[1], &q)
			p.add(protocol.ReqAckMessage, &protocol.AckMessageRequestHeader{ConsumerGroup: "Speed", Topic: topic, QueueID: q, Offset: off,
				ExtraInfo: fmt.Sprintf("%s %d %d %d 0 %s %d %d", start[f[1]], h.PopTime, h.InvisibleTime, h.ReviveQid, popBroker, q, off)}, nil)
			n++
		}
	}
	if last, err := p.flush(n); err != nil || last.Code != 0 {
		p.bad++
	}
	return n
}
