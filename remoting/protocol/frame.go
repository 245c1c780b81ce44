package protocol

import (
	"encoding/binary"
	"fmt"
	"sync"
)

const (
	// MaxFrameLength is the default limit of a whole frame in bytes, its length word included.
	MaxFrameLength = 16777216
	// MaxHeaderLength is what the 24 bits of a frame's second word allow.
	MaxHeaderLength = 1<<24 - 1
	// MaxExtFields limits the custom fields of one header, so that a header of tiny fields cannot cost many times its size.
	MaxExtFields = 4096

	frameLengthBytes  = 4 // the length word
	headerLengthBytes = 4 // the word of serialize type and header length
)

// FrameError says why bytes are not a frame. The connection they came from must be closed: what follows them
// cannot be found.
type FrameError struct {
	Reason string
	Got    int64 // the number that is wrong, where there is one
	Limit  int64 // what it had to be at most (or at least), where there is one
	At     int   // offset in the header, for syntax errors
}

func (e *FrameError) Error() string {
	s := "frame: " + e.Reason
	if e.Got != 0 || e.Limit != 0 {
		s += fmt.Sprintf(": got %d, limit %d", e.Got, e.Limit)
	}
	if e.At > 0 {
		s += fmt.Sprintf(" at header byte %d", e.At)
	}
	return s
}

// FrameLength reads a frame's length word, the first 4 bytes of first, and returns the length of the whole frame,
// the word included. It is a *FrameError if that exceeds max or is too short for a header; nothing needs to be
// allocated before this check.
func FrameLength(first []byte, max int) (int, error) {
	if len(first) < frameLengthBytes {
		return 0, &FrameError{Reason: "length word is cut", Got: int64(len(first)), Limit: frameLengthBytes}
	}
	n := int64(int32(binary.BigEndian.Uint32(first)))
	switch {
	case n < headerLengthBytes:
		return 0, &FrameError{Reason: "length is too small", Got: n, Limit: headerLengthBytes}
	case n+frameLengthBytes > int64(max):
		return 0, &FrameError{Reason: "length is too big", Got: n + frameLengthBytes, Limit: int64(max)}
	}
	return int(n) + frameLengthBytes, nil
}

// DecodeFrame decodes one frame into c, reusing its Ext. frame is a whole frame without its 4-byte length word: it
// begins with the word of serialize type and header length, as frame[4:] of what AppendFrame writes.
//
// c aliases frame. An empty body is nil. The error is a *FrameError, and c is then undefined. Ext fields are not
// limited to known ones, and fields that are null are left out.
func DecodeFrame(frame []byte, c *Command) error { return DecodeFrameAfter(frame, c, nil) }

// DecodeFrameAfter is DecodeFrame for one of many frames of one peer: what its header has in common with that of before,
// which is nil or was decoded from the frame before, is not parsed again. c aliases what before aliases, too.
func DecodeFrameAfter(frame []byte, c, before *Command) error {
	if len(frame) < headerLengthBytes {
		return &FrameError{Reason: "no room for the header length", Got: int64(len(frame)), Limit: headerLengthBytes}
	}
	word := binary.BigEndian.Uint32(frame)
	headerLen, rest := int(word&MaxHeaderLength), frame[headerLengthBytes:]
	if headerLen > len(rest) {
		return &FrameError{Reason: "header is longer than its frame", Got: int64(headerLen), Limit: int64(len(rest))}
	}
	c.reset()
	header := rest[:headerLen]
	if len(rest) > headerLen {
		c.Body = rest[headerLen:]
	}
	switch c.Serialize = SerializeType(word >> 24); c.Serialize {
	case SerializeJSON:
		if before != nil && c.decodeLike(header, before) {
			return nil
		}
		return decodeJSONHeader(header, c)
	case SerializeRocketMQ:
		return decodeBinaryHeader(header, c)
	}
	return &FrameError{Reason: "unknown serialize type", Got: int64(word >> 24), Limit: int64(SerializeRocketMQ)}
}

// maxKeptScratch bounds the buffer for escaped strings that a reused Command keeps.
const maxKeptScratch = 64 << 10

// reset clears c for the next decode and keeps its buffers.
func (c *Command) reset() {
	scratch := c.scratch[:0]
	if cap(scratch) > maxKeptScratch {
		scratch = nil
	}
	*c = Command{Ext: c.Ext[:0], scratch: scratch, form: jsonForm{spans: c.form.spans[:0]}}
}

var extWriters = sync.Pool{New: func() any { return new(ExtWriter) }}

// AppendFrame appends the whole frame of c, length word included, in the encoding that c.Serialize says. Header's
// fields come before those of Ext. It does not check limits: compare the result with MaxFrameLength where it matters.
func AppendFrame(dst []byte, c *Command) []byte {
	start := len(dst)
	w := extWriters.Get().(*ExtWriter)
	w.buf, w.n, w.binary = append(dst, 0, 0, 0, 0, 0, 0, 0, 0), 0, c.Serialize == SerializeRocketMQ
	if w.binary {
		w.binaryHeader(c)
	} else {
		w.jsonHeader(c)
	}
	dst = w.buf
	w.buf = nil
	extWriters.Put(w)
	headerLen := len(dst) - start - frameLengthBytes - headerLengthBytes
	dst = append(dst, c.Body...)
	serialize := uint32(SerializeJSON)
	if c.Serialize == SerializeRocketMQ {
		serialize = uint32(SerializeRocketMQ)
	}
	binary.BigEndian.PutUint32(dst[start:], uint32(len(dst)-start-frameLengthBytes))
	binary.BigEndian.PutUint32(dst[start+frameLengthBytes:], serialize<<24|uint32(headerLen))
	return dst
}
