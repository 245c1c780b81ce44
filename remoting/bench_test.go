package remoting

import (
	"bufio"
	"encoding/binary"
	"fmt"
	"net"
	"runtime"
	"testing"
	"time"

	"github.com/seedmq/seedmq/remoting/protocol"
)

// sendFrame is a send request as producers make them.
func sendFrame(opaque int32, body []byte) []byte {
	c := protocol.NewRequest(310, nil, body)
	c.Opaque = opaque
	for _, f := range [][2]string{{"a", "group"}, {"b", "BenchTopic"}, {"c", "TBW102"}, {"d", "4"}, {"e", "1"}, {"f", "0"},
		{"g", "1700000000000"}, {"h", "0"}, {"i", "KEYS\x01k\x02TAGS\x01a\x02WAIT\x01true"}, {"j", "0"}, {"k", "false"}, {"l", "0"}, {"m", "false"}, {"n", "b"}} {
		c.Ext = append(c.Ext, protocol.ExtField{Key: f[0], Value: f[1]})
	}
	return protocol.AppendFrame(nil, c)
}

// sendMux answers sends in batches, as a broker does.
func sendMux() Handler {
	ext := protocol.ExtFields{{Key: "msgId", Value: "7F00000100002A9F0000000000000000"}, {Key: "queueId", Value: "0"}, {Key: "queueOffset", Value: "1"}}
	return mux(Route{Code: 310, Mode: Batched, BatchKey: "send", HandleBatch: func(c Conn, reqs []*protocol.Command) {
		r := Reply{Ext: ext}
		for _, req := range reqs {
			c.Reply(req, &r)
		}
	}})
}

// pump keeps window requests in flight on one connection until n are answered. It allocates nothing per request.
func pump(c net.Conn, n, window int) error {
	var burst []byte
	for i := range window {
		burst = append(burst, sendFrame(int32(1e9)+int32(i), make([]byte, 1024))...)
	}
	size := len(burst) / window
	r := bufio.NewReaderSize(c, 256<<10)
	for sent, got := 0, 0; got < n; {
		if k := min(window-(sent-got), n-sent); k > 0 {
			if _, err := c.Write(burst[:k*size]); err != nil {
				return err
			}
			sent += k
		}
		for first := true; got < sent && (first || r.Buffered() >= 4); first = false {
			l, err := r.Peek(4)
			if err != nil {
				return err
			}
			if _, err := r.Discard(4 + int(binary.BigEndian.Uint32(l))); err != nil {
				return err
			}
			got++
		}
	}
	return nil
}

// BenchmarkSend is a send request there and its reply back over loopback; the client is raw bytes.
func BenchmarkSend(b *testing.B) {
	for _, tr := range transports[:2] {
		for _, window := range []int{1, 64} {
			b.Run(fmt.Sprintf("%s/window=%d", tr.name, window), func(b *testing.B) {
				e := newEnv(b, sendMux(), func(o *ServerOptions) { o.Transport = tr.t })
				c, err := net.Dial("tcp", e.addr())
				if err != nil {
					b.Fatal(err)
				}
				defer c.Close()
				b.ReportAllocs()
				b.SetBytes(1024)
				b.ResetTimer()
				if err := pump(c, b.N, window); err != nil {
					b.Fatal(err)
				}
			})
		}
	}
}

// BenchmarkInvoke is a call of our client to our server.
func BenchmarkInvoke(b *testing.B) {
	e := newEnv(b, echoMux(), func(*ServerOptions) {})
	cl := e.client(nil)
	req := protocol.NewRequest(codeEcho, nil, make([]byte, 1024))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := cl.Invoke(b.Context(), e.addr(), req); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkBody is a reply of 38 KiB, as to a pull of 32 messages, without a socket.
func BenchmarkBody(b *testing.B) {
	c, body, req := newConn(newCoreForTest(b, Common{}), addrPort(nil), addrPort(nil)), make([]byte, 38<<10), &protocol.Command{}
	c.link = discard{}
	b.ReportAllocs()
	b.SetBytes(int64(len(body)))
	for b.Loop() {
		buf := c.BeginReply()
		buf.Buf = append(buf.Buf, body...)
		buf.Send(req, &Reply{})
	}
}

type discard struct{}

func (discard) tryWrite(b []byte) (int, error) { return len(b), nil }
func (discard) write(b []byte) error           { return nil }
func (discard) brake(bool)                     {}
func (discard) buffered() int                  { return 0 }
func (discard) close(bool)                     {}

// The path of a request in server code allocates nothing: cutting, decoding, batching, replying, writing.
func TestSendAllocatesNothing(t *testing.T) {
	if raceEnabled {
		t.Skip("the race detector allocates")
	}
	e := newEnv(t, sendMux(), func(*ServerOptions) {})
	c, err := net.Dial("tcp", e.addr())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	c.SetDeadline(time.Now().Add(patience))
	if err := pump(c, 20_000, 64); err != nil { // fill the pools
		t.Fatal(err)
	}
	const n = 50_000
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	if err := pump(c, n, 64); err != nil {
		t.Fatal(err)
	}
	runtime.ReadMemStats(&after)
	// What is left belongs to pump's own buffers, to pools that a collection emptied, and to netpoll, which starts a
	// goroutine for each time that input arrives on an empty connection.
	if per := float64(after.Mallocs-before.Mallocs) / n; per > 0.2 {
		t.Errorf("%.3f allocations per request", per)
	}
}
