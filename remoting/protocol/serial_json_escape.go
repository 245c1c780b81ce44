package protocol

import (
	"unicode/utf16"
	"unsafe"
)

// maxJSONDepth bounds the nesting of JSON values that are skipped or normalised.
const maxJSONDepth = 128

// escaped reads the rest of a string that begins at from and has its first backslash at i. The result lies in r.scratch.
func (r *jsonReader) escaped(from, i int, quote byte) (string, error) {
	b := r.b
	start := len(r.scratch)
	dst := append(r.scratch, b[from:i]...)
	for i < len(b) {
		if b[i] == quote {
			r.i = i + 1
			r.scratch = dst
			return unsafe.String(unsafe.SliceData(dst[start:]), len(dst)-start), nil
		}
		var ok bool
		if dst, i, ok = unescape(dst, b, i); !ok {
			r.i = i
			return "", r.errorf("bad escape")
		}
		end := stringEnd(b, i, quote)
		dst = append(dst, b[i:end]...)
		i = end
	}
	r.i = i
	return "", r.errorf("string does not end")
}

// simpleEscapes maps the byte after a backslash to what it stands for; 0 where there is no such escape.
var simpleEscapes = [256]byte{
	'"': '"', '\'': '\'', '\\': '\\', '/': '/', 'b': '\b', 'f': '\f', 'n': '\n', 'r': '\r', 't': '\t', 'v': '\v',
}

// unescape appends what the escape at b[i] stands for and returns the index behind it.
func unescape(dst, b []byte, i int) ([]byte, int, bool) {
	if i+1 >= len(b) {
		return dst, i, false
	}
	if c := simpleEscapes[b[i+1]]; c != 0 {
		return append(dst, c), i + 2, true
	}
	switch b[i+1] {
	case 'u':
		if i+6 <= len(b) && b[i+2] == '0' && b[i+3] == '0' && b[i+4]-'0' < 8 && hexDigit[b[i+5]] < 16 { // ASCII
			return append(dst, (b[i+4]-'0')<<4|hexDigit[b[i+5]]), i + 6, true
		}
		r, ok := hexRune(b, i+2, 4)
		if !ok {
			return dst, i, false
		}
		i += 6
		if r < 0x80 {
			return append(dst, byte(r)), i, true
		}
		if utf16.IsSurrogate(r) && i+1 < len(b) && b[i] == '\\' && b[i+1] == 'u' {
			if low, ok := hexRune(b, i+2, 4); ok {
				if pair := utf16.DecodeRune(r, low); pair != '\uFFFD' {
					return appendRune(dst, pair), i + 6, true
				}
			}
		}
		return appendRune(dst, r), i, true
	case 'x': // fastjson's own
		r, ok := hexRune(b, i+2, 2)
		return appendRune(dst, r), i + 4, ok
	case '0':
		return append(dst, 0), i + 2, true
	}
	return dst, i, false
}

// hexDigit is the value of a hexadecimal digit, 0xFF for any other byte.
var hexDigit = func() (t [256]byte) {
	for i := range t {
		t[i] = 0xFF
	}
	for i := byte(0); i < 10; i++ {
		t['0'+i] = i
	}
	for i := byte(0); i < 6; i++ {
		t['a'+i], t['A'+i] = 10+i, 10+i
	}
	return t
}()

// hexRune reads n hexadecimal digits at b[i].
func hexRune(b []byte, i, n int) (rune, bool) {
	if i+n > len(b) {
		return 0, false
	}
	var r rune
	for _, c := range b[i : i+n] {
		d := hexDigit[c]
		if d == 0xFF {
			return 0, false
		}
		r = r<<4 | rune(d)
	}
	return r, true
}

// skip passes over any value, nested ones too.
func (r *jsonReader) skip(depth int) error {
	switch c := r.peek(); c {
	case 0:
		return r.errorf("value is missing")
	case '"', '\'':
		_, err := r.str()
		return err
	case '{', '[':
		return r.skipNested(depth)
	}
	from := r.i
	for r.i < len(r.b) {
		switch c := r.b[r.i]; {
		case c == ',' || c == '}' || c == ']' || c <= ' ':
			if r.i == from {
				return r.errorf("value is missing")
			}
			return nil
		case c == '"' || c == ':' || c == '{' || c == '[':
			return r.errorf("unexpected character")
		}
		r.i++
	}
	return nil
}

// skipNested passes over an object or array.
func (r *jsonReader) skipNested(depth int) error {
	if depth >= maxJSONDepth {
		return r.errorf("nested too deep")
	}
	object := r.b[r.i] == '{'
	end := byte(']')
	if object {
		end = '}'
	}
	r.i++
	if r.take(end) {
		return nil
	}
	for {
		if object {
			if err := r.skip(depth + 1); err != nil { // the name
				return err
			}
			if !r.take(':') {
				return r.errorf("no colon")
			}
		}
		if err := r.skip(depth + 1); err != nil {
			return err
		}
		if r.take(end) {
			return nil
		}
		if !r.take(',') {
			return r.errorf("neither comma nor end")
		}
	}
}
