package protocol

import "unsafe"

// inlineExt is how many fields a clone holds without a slice of its own: the most that a send header has.
const inlineExt = 20

// Clone returns a copy that shares nothing with c, except Header, which decoders leave nil. All its text and its body
// lie in one allocation beside the Command.
func (c *Command) Clone() *Command {
	size := len(c.Remark) + len(c.Body)
	for i := range c.Ext {
		size += len(c.Ext[i].Key) + len(c.Ext[i].Value)
	}
	box := &struct {
		Command
		ext [inlineExt]ExtField
	}{Command: *c}
	n := &box.Command
	n.scratch, n.form = nil, jsonForm{}
	if len(c.Ext) > inlineExt {
		n.Ext = make(ExtFields, len(c.Ext))
	} else if c.Ext != nil {
		n.Ext = box.ext[:len(c.Ext):inlineExt]
	}
	buf := make([]byte, 0, size)
	text := func(s string) string {
		if s == "" {
			return ""
		}
		at := len(buf)
		buf = append(buf, s...)
		return unsafe.String(&buf[at], len(s))
	}
	n.Remark = text(c.Remark)
	for i := range c.Ext {
		n.Ext[i] = ExtField{Key: text(c.Ext[i].Key), Value: text(c.Ext[i].Value)}
	}
	if c.Body != nil {
		at := len(buf)
		buf = append(buf, c.Body...)
		n.Body = buf[at:len(buf):len(buf)]
	}
	return n
}

// NewRequest returns a request in the JSON encoding with language and version filled in. h may be nil. The sender sets
// Opaque, and FlagOneway where no reply is wanted.
func NewRequest(code int32, h HeaderEncoder, body []byte) *Command {
	return &Command{Code: code, Language: LanguageGo, Version: CurrentVersion, Header: h, Body: body}
}
