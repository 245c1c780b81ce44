package protocol

import (
	"encoding/binary"
	"math/bits"
)

// Headers that a peer sends one after the other differ in a few values. jsonForm remembers where the values of a header
// were, so that of the next one only those that differ are parsed.

// jsonForm is the form of a header that was decoded. It aliases the header.
type jsonForm struct {
	text  []byte
	spans []jsonSpan // of the values of all ext fields, and of the opaque number, in the order of the text
	num   int        // which one is the opaque number's; -1 when there is none, or more than one
	ok    bool       // spans are all of the header that can differ from one request to the next
}

// jsonSpan is where a value stands in the text, quotes not included.
type jsonSpan struct{ from, end int32 }

const (
	noNumber    = -1
	manyNumbers = -2
)

func (f *jsonForm) begin(h []byte) { f.text, f.spans, f.num, f.ok = h, f.spans[:0], noNumber, false }

func (f *jsonForm) value(from, end int) {
	f.spans = append(f.spans, jsonSpan{int32(from), int32(end)})
}

func (f *jsonForm) opaque(from, end int) {
	if f.num == noNumber {
		f.num = len(f.spans)
	} else {
		f.num = manyNumbers
	}
	f.value(from, end)
}

// end says whether the form is of use: every ext field has its span, and the opaque number has one, of digits alone.
func (f *jsonForm) end(c *Command, err error) {
	f.ok = err == nil && f.num >= 0 && len(f.spans) == len(c.Ext)+1 && isDigits(f.text[f.spans[f.num].from:f.spans[f.num].end])
}

func isDigits(b []byte) bool {
	for _, c := range b {
		if c-'0' > 9 {
			return false
		}
	}
	return len(b) > 0
}

// decodeLike decodes a header that differs from that of before in nothing but values. False says that it does not, or
// that it is not known; c is then as before.
func (c *Command) decodeLike(h []byte, before *Command) bool {
	if !before.form.ok {
		return false
	}
	c.Ext = append(c.Ext, before.Ext...)
	c.form.spans = append(c.form.spans, before.form.spans...)
	c.Opaque = before.Opaque
	r := likeReader{jsonReader: jsonReader{b: h, s: aliasBytes(h), scratch: c.scratch}, c: c, form: &before.form}
	if !r.read() {
		c.Ext, c.Opaque, c.form.spans = c.Ext[:0], 0, c.form.spans[:0]
		return false
	}
	c.Code, c.Language, c.Version, c.Flag, c.Remark = before.Code, before.Language, before.Version, before.Flag, before.Remark
	c.scratch, c.form.text, c.form.num, c.form.ok = r.scratch, h, before.form.num, true
	return true
}

// likeReader goes through a header and through the one before side by side: r.i is the place in this one, at in the
// other. c begins as a copy of the command before, and gets the values that differ.
type likeReader struct {
	jsonReader
	c     *Command
	form  *jsonForm // of the header before
	at    int
	next  int // span of form
	shift int // of the spans from next on, beyond those of form
}

func (r *likeReader) read() bool {
	f := r.form
	for {
		n := commonPrefix(r.b[r.i:], f.text[r.at:])
		r.i, r.at = r.i+n, r.at+n
		for r.next < len(f.spans) && int(f.spans[r.next].end) < r.at {
			r.next++
		}
		if r.next == len(f.spans) {
			return r.i == len(r.b) && r.at == len(f.text)
		}
		s := f.spans[r.next]
		same := r.at - int(s.from)
		if same < 0 || !r.value(s, r.i-same, same) {
			return false
		}
		r.at = int(s.end)
		r.next++
	}
}

// value reads one that stands at from and differs from the one at s behind its first same bytes.
func (r *likeReader) value(s jsonSpan, from, same int) bool {
	r.i = from
	if r.next == r.form.num {
		if from == len(r.b) || r.b[from]-'0' > 9 {
			return false
		}
		n, err := r.int32()
		if err != nil {
			return false
		}
		r.c.Opaque = n
	} else if !r.text(s, from, same) {
		return false
	}
	spans := r.c.form.spans[r.next:]
	spans[0] = jsonSpan{int32(from), int32(r.i)}
	if shift := int32(r.i) - s.end; int(shift) != r.shift {
		for i := range spans[1:] {
			before := r.form.spans[r.next+1+i]
			spans[1+i] = jsonSpan{before.from + shift, before.end + shift}
		}
		r.shift = int(shift)
	}
	return true
}

// text reads a string up to its closing quote.
func (r *likeReader) text(s jsonSpan, from, same int) bool {
	i := r.next
	if i > r.form.num {
		i--
	}
	field := &r.c.Ext[i]
	if int(s.end-s.from) != len(field.Value) {
		same = 0 // there are escapes, perhaps among those
	}
	end := stringEnd(r.b, from+same, '"')
	if end >= len(r.b) {
		return false
	}
	if r.b[end] == '"' {
		field.Value, r.i = r.s[from:end], end
		return true
	}
	value, err := r.escaped(from, end, '"')
	if err != nil {
		return false
	}
	field.Value = value
	r.i-- // to the quote
	return true
}

// commonPrefix is how many first bytes a and b have in common.
func commonPrefix(a, b []byte) int {
	n, i := min(len(a), len(b)), 0
	for ; i+8 <= n; i += 8 {
		if x := binary.LittleEndian.Uint64(a[i:]) ^ binary.LittleEndian.Uint64(b[i:]); x != 0 {
			return i + bits.TrailingZeros64(x)>>3
		}
	}
	for i < n && a[i] == b[i] {
		i++
	}
	return i
}
