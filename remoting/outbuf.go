package remoting

import (
	"sync"

	"github.com/seedmq/seedmq/remoting/protocol"
)

// headRoom is what a BodyBuffer keeps free before the body, so that most reply headers fit there.
const headRoom = 512

// The sizes that buffers are pooled in.
var bufSizes = [...]int{64 << 10, 256 << 10, 1 << 20, 4 << 20}

// maxPooled is the largest buffer that is kept.
const maxPooled = 8 << 20

var bufPools [len(bufSizes)]sync.Pool

// BodyBuffer is a reply body being built: append to Buf, then Send or Drop exactly once.
// It belongs to one goroutine until then, and must not be touched afterwards.
type BodyBuffer struct {
	Buf []byte

	c   replier
	mem []byte // whole memory; Buf starts headRoom into it as long as it did not outgrow it
}

// replier is the connection a BodyBuffer belongs to.
type replier interface {
	sendBody(b *BodyBuffer, req *protocol.Command, r *Reply)
}

// NewBodyBuffer returns a buffer for implementations of Conn outside this package, such as a test's fake: send gets
// the finished reply, whose Body is what was appended.
func NewBodyBuffer(send func(req *protocol.Command, r *Reply)) *BodyBuffer {
	b := getBuf(0, headRoom)
	b.c = replyFunc(send)
	return b
}

type replyFunc func(req *protocol.Command, r *Reply)

func (f replyFunc) sendBody(b *BodyBuffer, req *protocol.Command, r *Reply) {
	full := *r
	full.Body = append([]byte(nil), b.Buf...)
	f(req, &full)
	putBuf(b)
}

// Grow makes room for n more bytes without copying them again later. Call it when the size is known.
func (b *BodyBuffer) Grow(n int) {
	if cap(b.Buf)-len(b.Buf) >= n {
		return
	}
	big := getBuf(len(b.Buf)+n, headRoom)
	big.Buf = append(big.Buf, b.Buf...)
	b.mem, big.mem, b.Buf, big.Buf = big.mem, b.mem, big.Buf, nil
	putBuf(big)
}

// Send completes the reply with r (whose Body must be nil) and hands Buf over.
func (b *BodyBuffer) Send(req *protocol.Command, r *Reply) {
	if c := b.c; c != nil {
		b.c = nil
		c.sendBody(b, req, r)
	}
}

// Drop gives the buffer back unsent.
func (b *BodyBuffer) Drop() {
	if b.c != nil {
		b.c = nil
		putBuf(b)
	}
}

// inPlace reports whether Buf still lies behind its head room.
func (b *BodyBuffer) inPlace() bool {
	return cap(b.Buf) > 0 && cap(b.mem) > headRoom && &b.Buf[:1][0] == &b.mem[:headRoom+1][headRoom]
}

// getBuf returns a buffer for at least n bytes behind head bytes of room.
func getBuf(n, head int) *BodyBuffer {
	for i := range bufSizes {
		if n+head > bufSizes[i] {
			continue
		}
		b, _ := bufPools[i].Get().(*BodyBuffer)
		if b == nil {
			b = &BodyBuffer{mem: make([]byte, bufSizes[i])}
		}
		b.Buf = b.mem[head:head]
		return b
	}
	b := &BodyBuffer{mem: make([]byte, n+head)}
	b.Buf = b.mem[head:head]
	return b
}

// putBuf keeps the memory of b for the next getBuf.
func putBuf(b *BodyBuffer) {
	size := cap(b.mem)
	b.Buf, b.c = nil, nil
	if size > maxPooled {
		return
	}
	b.mem = b.mem[:size]
	for i := len(bufSizes) - 1; i >= 0; i-- {
		if size >= bufSizes[i] {
			bufPools[i].Put(b)
			return
		}
	}
}

// chunk is a piece of output: b is what is still to be sent, own is its memory.
type chunk struct {
	b    []byte
	own  *BodyBuffer
	more bool // further frames may be appended
}

// smallChunk is how far a chunk that gathers frames is filled before the next one begins.
const smallChunk = 60 << 10

func (ch *chunk) free() {
	if ch.own != nil {
		putBuf(ch.own)
	}
	*ch = chunk{}
}
