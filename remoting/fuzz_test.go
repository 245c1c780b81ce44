package remoting

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"testing"

	"github.com/seedmq/seedmq/conf/clock"
	"github.com/seedmq/seedmq/remoting/protocol"
)

// chunks is a reader that gives a few bytes at a time: sizes come from the fuzzer.
type chunks struct {
	data  []byte
	sizes []byte
	at    int
}

func (c *chunks) Read(p []byte) (int, error) {
	if len(c.data) == 0 {
		return 0, io.EOF
	}
	n := len(c.data)
	if len(c.sizes) > 0 {
		n = int(c.sizes[c.at%len(c.sizes)]) + 1
		c.at++
	}
	n = copy(p, c.data[:min(n, len(c.data))])
	c.data = c.data[n:]
	return n, nil
}

// sink is a link that takes everything.
type sink struct{ got bytes.Buffer }

func (s *sink) tryWrite(b []byte) (int, error) { return s.got.Write(b) }
func (s *sink) write(b []byte) error           { s.got.Write(b); return nil }
func (s *sink) brake(bool)                     {}
func (s *sink) buffered() int                  { return 0 }
func (s *sink) close(bool)                     {}

// FuzzConn feeds any bytes, in any pieces, to a server's connection. It must not panic, must not hold more than a
// constant multiple of what came, and must answer exactly the whole frames at the front, in order.
func FuzzConn(f *testing.F) {
	echo1, echo2 := request(codeEcho, 1, []byte("a")), request(codeEcho, 2, make([]byte, 300))
	bin := protocol.NewRequest(codeEcho, nil, []byte("b"))
	bin.Serialize = protocol.SerializeRocketMQ
	f.Add(append(append(append([]byte{}, echo1...), echo2...), protocol.AppendFrame(nil, bin)...), []byte{6, 0, 200})
	f.Add(append([]byte("PROXY TCP4 1.2.3.4 5.6.7.8 9 10\r\n"), echo1...), []byte{3})
	f.Add(append(proxyV2(1, 0x11, make([]byte, 12)...), echo1...), []byte{15})
	f.Add([]byte("\x01\x00\x00\x00\x00\x00\x00\x10"), []byte{})
	f.Add([]byte("\x00\xff\xff\xf0\x00\x00\x00\x10{}"), []byte{1})
	f.Add([]byte("GET / HTTP/1.1\r\n\r\n"), []byte{0})
	f.Add([]byte("\x16\x03\x01"), []byte{0})
	var o Common
	o.fill()
	k := &core{lim: o.Limits, clk: clock.Real{}, handler: echoMux(), version: o.Version, language: o.Language, moved: make(chan struct{}, 1)}
	f.Fuzz(func(t *testing.T, data, sizes []byte) {
		c := newConn(k, addrPort(nil), addrPort(nil))
		out := &sink{}
		c.link = out
		in := newNetInput(&chunks{data: data, sizes: sizes})
		if c.fuzzPreface(in) {
			c.opened = true
			c.readLoop(in)
		}
		if limit := 4*len(data) + netInputKept; len(in.buf) > limit {
			t.Errorf("%d bytes of buffer for %d bytes of input", len(in.buf), len(data))
		}
		checkReplies(t, out.got.Bytes(), data)
	})
}

func (c *conn) fuzzPreface(in *netInput) bool {
	for {
		switch next, err := c.preface(in); {
		case err != nil || next == nextTLS:
			return false
		case next == nextFrames:
			return true
		}
	}
}

// checkReplies compares with a plain decoder.
func checkReplies(t *testing.T, replies, data []byte) {
	t.Helper()
	if _, n, err := parseProxy(data); err == nil {
		data = data[n:]
	}
	for n := 0; len(data) >= 4; n++ {
		size, err := protocol.FrameLength(data, protocol.MaxFrameLength)
		if err != nil || size > len(data) {
			break
		}
		var req, r protocol.Command
		if protocol.DecodeFrame(data[4:size], &req) != nil {
			break
		}
		data = data[size:]
		if req.IsResponse() || req.IsOneway() {
			continue
		}
		if len(replies) < 4 {
			t.Fatalf("no reply to request %d", n)
		}
		rsize := 4 + int(binary.BigEndian.Uint32(replies))
		if err := protocol.DecodeFrame(replies[4:rsize], &r); err != nil {
			t.Fatalf("reply %d: %v", n, err)
		}
		replies = replies[rsize:]
		if r.Opaque != req.Opaque || req.Code == codeEcho && !bytes.Equal(r.Body, req.Body) {
			t.Fatalf("reply %d: opaque %d, %d bytes; want %d, %d", n, r.Opaque, len(r.Body), req.Opaque, len(req.Body))
		}
	}
	if len(replies) > 0 {
		t.Fatalf("%d bytes of replies too many", len(replies))
	}
}

// FuzzProxyHeader: parseProxy never panics, asks for more only within bounds, and finds the same whatever follows.
func FuzzProxyHeader(f *testing.F) {
	f.Add([]byte("PROXY TCP4 10.1.2.3 10.0.0.9 8080 10911\r\n"))
	f.Add([]byte("PROXY UNKNOWN\r\n"))
	f.Add([]byte("PROXY TCP6 ::1 ::2 1"))
	f.Add(proxyV2(1, 0x11, make([]byte, 12)...))
	f.Add(proxyV2(1, 0x21, make([]byte, 36)...))
	f.Add(proxyV2(0, 0))
	f.Fuzz(func(t *testing.T, b []byte) {
		src, n, err := parseProxy(b)
		switch {
		case err == nil:
			if n <= 0 || n > len(b) || n > proxyV2Head+proxyV2Max {
				t.Fatalf("length %d of %d", n, len(b))
			}
			src2, n2, err := parseProxy(append(b[:n:n], "more"...))
			if src2 != src || n2 != n || err != nil {
				t.Fatalf("with more bytes: %v %d %v, want %v %d", src2, n2, err, src, n)
			}
		case errors.Is(err, errProxyMore):
			if n <= len(b) || n > proxyV2Head+proxyV2Max {
				t.Fatalf("asks for %d bytes, has %d", n, len(b))
			}
		}
	})
}
