package protocol

import (
	"encoding/binary"
	"math"
)

// binaryFixed is the length of a binary header without remark and fields.
const binaryFixed = 21

// Request codes beyond 16 bits are cut by the binary header. The table has two blocks of them; cut, they fall into
// a range that no other request uses.
const (
	wrapDistance = 3 << 16
	wrappedFirst = 200050 - wrapDistance
	wrappedLast  = 200151 - wrapDistance
)

// unwrapCode undoes what the 16-bit code field did to a big request code.
func unwrapCode(code int32) int32 {
	if code >= wrappedFirst && code <= wrappedLast {
		if full := code + wrapDistance; RequestName(full) != "" {
			return full
		}
	}
	return code
}

// decodeBinaryHeader reads the ROCKETMQ header encoding.
func decodeBinaryHeader(h []byte, c *Command) error {
	if len(h) < binaryFixed {
		return &FrameError{Reason: "binary header is too short", Got: int64(len(h)), Limit: binaryFixed}
	}
	code := int32(int16(binary.BigEndian.Uint16(h)))
	c.Language = Language(h[2])
	if int(c.Language) >= len(languageNames) {
		c.Language = LanguageUnknown
	}
	c.Version = int32(int16(binary.BigEndian.Uint16(h[3:])))
	c.Opaque = int32(binary.BigEndian.Uint32(h[5:]))
	c.Flag = int32(binary.BigEndian.Uint32(h[9:]))
	if !c.IsResponse() {
		code = unwrapCode(code)
	}
	c.Code = code
	r := binaryReader{s: aliasBytes(h), i: 13}
	c.Remark = r.long("remark")
	ext := r.long("ext fields")
	if r.err != nil {
		return r.err
	}
	if r.i != len(h) {
		return &FrameError{Reason: "binary header has bytes behind its fields", Got: int64(len(h)), Limit: int64(r.i)}
	}
	return decodeBinaryFields(ext, len(h)-len(ext), c)
}

// decodeBinaryFields reads the map of custom fields. base is its offset in the header, for errors.
func decodeBinaryFields(ext string, base int, c *Command) error {
	r := binaryReader{s: ext, base: base}
	for r.i < len(ext) {
		key := r.short("field name")
		value := r.long("field value")
		if r.err != nil {
			return r.err
		}
		if key == "" {
			continue
		}
		if len(c.Ext) == MaxExtFields {
			return &FrameError{Reason: "too many header fields", Got: MaxExtFields + 1, Limit: MaxExtFields}
		}
		c.Ext = append(c.Ext, ExtField{Key: key, Value: value})
	}
	return nil
}

// binaryReader cuts length-prefixed strings; the first error sticks.
type binaryReader struct {
	s    string
	i    int
	base int
	err  error
}

// long reads a string with a 32-bit length.
func (r *binaryReader) long(what string) string {
	if r.err == nil && len(r.s)-r.i < 4 {
		r.err = &FrameError{Reason: "binary header ends in the length of the " + what, At: r.base + r.i}
	}
	if r.err != nil {
		return ""
	}
	b := r.s[r.i : r.i+4]
	n := int64(int32(uint32(b[0])<<24 | uint32(b[1])<<16 | uint32(b[2])<<8 | uint32(b[3])))
	r.i += 4
	return r.take(what, n)
}

// short reads a string with a 16-bit length.
func (r *binaryReader) short(what string) string {
	if r.err == nil && len(r.s)-r.i < 2 {
		r.err = &FrameError{Reason: "binary header ends in the length of the " + what, At: r.base + r.i}
	}
	if r.err != nil {
		return ""
	}
	n := int64(int16(uint16(r.s[r.i])<<8 | uint16(r.s[r.i+1])))
	r.i += 2
	return r.take(what, n)
}

func (r *binaryReader) take(what string, n int64) string {
	if n < 0 || n > int64(len(r.s)-r.i) {
		r.err = &FrameError{Reason: what + " is longer than the header", Got: n, Limit: int64(len(r.s) - r.i), At: r.base + r.i}
		return ""
	}
	s := r.s[r.i : r.i+int(n)]
	r.i += int(n)
	return s
}

// binaryHeader appends the ROCKETMQ header of c. Codes and versions beyond 16 bits are cut, as the format demands.
func (w *ExtWriter) binaryHeader(c *Command) {
	language := c.Language
	if language == LanguageUnknown {
		language = LanguageOther
	}
	version := min(c.Version, math.MaxInt16)
	w.buf = binary.BigEndian.AppendUint16(w.buf, uint16(c.Code))
	w.buf = append(w.buf, byte(language))
	w.buf = binary.BigEndian.AppendUint16(w.buf, uint16(version))
	w.buf = binary.BigEndian.AppendUint32(w.buf, uint32(c.Opaque))
	w.buf = binary.BigEndian.AppendUint32(w.buf, uint32(c.Flag))
	w.buf = binary.BigEndian.AppendUint32(w.buf, uint32(len(c.Remark)))
	w.buf = append(w.buf, c.Remark...)
	at := len(w.buf)
	w.buf = append(w.buf, 0, 0, 0, 0)
	if c.Header != nil {
		c.Header.EncodeExt(w)
	}
	w.fields(c.Ext)
	binary.BigEndian.PutUint32(w.buf[at:], uint32(len(w.buf)-at-4))
}
