package bench

import (
	"bufio"
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"strconv"
	"sync/atomic"

	"github.com/seedmq/seedmq/remoting/protocol"
)

const bufferSize = 256 << 10

// conn is one connection: one goroutine may write and one may read.
type conn struct {
	net.Conn
	r   *bufio.Reader
	w   *bufio.Writer
	buf []byte // the frame read last
}

func dial(ctx context.Context, addr string) (*conn, error) {
	var d net.Dialer
	c, err := d.DialContext(ctx, "tcp", addr)
	if err != nil {
		return nil, err
	}
	return &conn{Conn: c, r: bufio.NewReaderSize(c, bufferSize), w: bufio.NewWriterSize(c, bufferSize)}, nil
}

// reply is what the tool looks at in an answer. header and body are valid until the next read.
type reply struct {
	code   protocol.ResponseCode
	slot   int
	header []byte
	frame  []byte // without its length word
	body   []byte
}

// read reads one frame. isReply is false for a request of the broker's, which the tool does not answer.
func (c *conn) read() (r reply, isReply bool, err error) {
	var word [4]byte
	if _, err = io.ReadFull(c.r, word[:]); err != nil {
		return r, false, err
	}
	n, err := protocol.FrameLength(word[:], protocol.MaxFrameLength*8)
	if err != nil {
		return r, false, err
	}
	n -= len(word)
	if cap(c.buf) < n {
		c.buf = make([]byte, n+n/4)
	}
	c.buf = c.buf[:n]
	if _, err = io.ReadFull(c.r, c.buf); err != nil {
		return r, false, err
	}
	return scanReply(c.buf)
}

// scanReply reads only code, opaque and flag out of a header.
func scanReply(frame []byte) (r reply, isReply bool, err error) {
	if len(frame) < 4 {
		return r, false, io.ErrUnexpectedEOF
	}
	word := binary.BigEndian.Uint32(frame)
	hl := int(word & protocol.MaxHeaderLength)
	if 4+hl > len(frame) {
		return r, false, io.ErrUnexpectedEOF
	}
	r.frame, r.header, r.body = frame, frame[4:4+hl], frame[4+hl:]
	var opaque, flag int64
	if protocol.SerializeType(word>>24) == protocol.SerializeRocketMQ && hl >= 13 {
		r.code = int32(int16(binary.BigEndian.Uint16(r.header)))
		opaque, flag = int64(int32(binary.BigEndian.Uint32(r.header[5:]))), int64(binary.BigEndian.Uint32(r.header[9:]))
	} else {
		code, ok1 := scanInt(r.header, `"code":`)
		var ok2, ok3 bool
		opaque, ok2 = scanInt(r.header, `"opaque":`)
		flag, ok3 = scanInt(r.header, `"flag":`)
		if !ok1 || !ok2 || !ok3 {
			return r, false, fmt.Errorf("a header without code, flag or opaque: %.200q", r.header)
		}
		r.code = protocol.ResponseCode(code)
	}
	r.slot = int(opaque) - opaqueBase
	return r, int32(flag)&protocol.FlagResponse != 0, nil
}

// scanInt finds a number in a JSON header. The keys it is asked for come before any text of others that could hold them, as all
// brokers write them.
func scanInt(b []byte, key string) (int64, bool) {
	i := bytes.Index(b, []byte(key))
	if i < 0 {
		return 0, false
	}
	i += len(key)
	j := i
	for j < len(b) && (b[j] == '-' || b[j] >= '0' && b[j] <= '9') {
		j++
	}
	n, err := strconv.ParseInt(string(b[i:j]), 10, 64)
	return n, err == nil
}

// remark decodes the whole frame, for an error's text.
func (r *reply) remark() string {
	var cmd protocol.Command
	if err := protocol.DecodeFrame(r.frame, &cmd); err != nil {
		return err.Error()
	}
	return string([]byte(cmd.Remark)) // the frame is read into again
}

// pullHeader decodes the offsets of a pull's answer.
func (r *reply) pullHeader(cmd *protocol.Command) (h protocol.PullMessageResponseHeader, err error) {
	if err = protocol.DecodeFrame(r.frame, cmd); err == nil {
		err = h.DecodeExt(cmd.Ext)
	}
	return h, err
}

// direct is a transport for the set-up: one connection for each request, no pool, no retries.
type direct struct{ opaque atomic.Int32 }

// Invoke sends a request on a connection of its own and waits for the answer.
func (d *direct) Invoke(ctx context.Context, addr string, cmd *protocol.Command) (*protocol.Command, error) {
	c, err := dial(ctx, addr)
	if err != nil {
		return nil, err
	}
	defer c.Close()
	stop := context.AfterFunc(ctx, func() { _ = c.Close() })
	defer stop()
	cmd.Opaque = opaqueBase + d.opaque.Add(1)
	if _, err := c.Write(protocol.AppendFrame(nil, cmd)); err != nil {
		return nil, err
	}
	for {
		r, isReply, err := c.read()
		if err != nil {
			return nil, err
		}
		if !isReply || r.slot != int(cmd.Opaque)-opaqueBase {
			continue
		}
		out := new(protocol.Command)
		return out, protocol.DecodeFrame(c.buf, out)
	}
}
