package main

import (
	"bufio"
	"context"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/seedmq/seedmq/remoting/protocol"
)

func TestTable(t *testing.T) {
	var b strings.Builder
	printHead(&b)
	l := line{work: "sends", ours: perSecond(1234567), bar: "≥ 1", met: judge(false)}
	l.print(&b)
	want := "| work | ours | Java | limit | ours/Java | ours/limit | bar | met |\n|---|---|---|---|---|---|---|---|\n| sends | 1,234,567/s |  |  |  |  | ≥ 1 | **no** |\n"
	if b.String() != want {
		t.Errorf("got\n%swant\n%s", b.String(), want)
	}
}

func TestFigures(t *testing.T) {
	for in, want := range map[float64]string{999: "999/s", 1000: "1,000/s", 0: ""} {
		if got := perSecond(in); got != want {
			t.Errorf("perSecond(%v) = %q, want %q", in, got, want)
		}
	}
	if got := median([]float64{9, 1, 5}); got != 5 {
		t.Errorf("median %v", got)
	}
	sorted := []int64{1e6, 2e6, 3e6, 4e6}
	if quantile(sorted, .5) != 2 || quantile(sorted, .99) != 3 || quantile(nil, .5) != 0 {
		t.Errorf("quantiles %v %v", quantile(sorted, .5), quantile(sorted, .99))
	}
}

// taker answers sends, each third with a refusal, and notes topics and queues.
type taker struct {
	t    *testing.T
	mu   sync.Mutex
	seen map[string]int
	sent int
}

func (s *taker) serve(c net.Conn) {
	r := bufio.NewReader(c)
	var buf []byte
	for {
		header, body, err := readFrame(r, &buf)
		if err != nil {
			return
		}
		var cmd protocol.Command
		frame := append([]byte{byte(len(header) >> 24), byte(len(header) >> 16), byte(len(header) >> 8), byte(len(header))}, header...)
		if err := protocol.DecodeFrame(append(frame, body...), &cmd); err != nil {
			s.t.Error(err)
			return
		}
		var h protocol.SendMessageV2RequestHeader
		if err := h.DecodeExt(cmd.Ext); err != nil {
			s.t.Error(err)
			return
		}
		s.mu.Lock()
		s.seen[h.Topic+"/"+string('0'+rune(h.QueueID))]++
		s.sent++
		code := protocol.RespSuccess
		if s.sent%3 == 0 {
			code = protocol.RespSystemBusy
		}
		s.mu.Unlock()
		reply := protocol.Command{Code: protocol.RequestCode(code), Opaque: cmd.Opaque, Flag: protocol.FlagResponse, Language: protocol.LanguageGo}
		if _, err := c.Write(protocol.AppendFrame(nil, &reply)); err != nil {
			return
		}
	}
}

func TestSendingGoesThroughAllQueuesAndCountsRefusals(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	s := &taker{t: t, seen: map[string]int{}}
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go s.serve(c)
		}
	}()
	load := sending{addr: l.Addr().String(), conns: 2, window: 4, prefix: "p", topics: 3, time: 10 * time.Second, messages: 48, uniqueKeys: true}
	f, err := load.run(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	if f.errors != 16 || f.refusal == "" || f.p99 <= 0 {
		t.Errorf("%+v, want 16 errors and a p99", f)
	}
	if len(s.seen) != 3*queues {
		t.Errorf("%d queues were used, want %d: %v", len(s.seen), 3*queues, s.seen)
	}
	for q, n := range s.seen {
		if n != 2 {
			t.Errorf("%s got %d messages, want 2", q, n)
		}
	}
}
