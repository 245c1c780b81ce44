package protocol

import (
	"encoding/binary"
	"math"
	"math/bits"
)

// decodeJSONHeader reads the JSON header encoding in one pass: any key order, any white space, unknown keys skipped,
// null left out, numbers and bools among extFields kept as their text. Strings are aliases of h, except those with
// escapes, which are unescaped into c.scratch.
func decodeJSONHeader(h []byte, c *Command) error {
	c.form.begin(h)
	r := jsonReader{b: h, s: aliasBytes(h), scratch: c.scratch}
	err := r.header(c)
	c.scratch = r.scratch
	c.form.end(c, err)
	return err
}

// jsonReader scans one JSON text. b and s are the same bytes: b for looking, s for cutting strings out.
type jsonReader struct {
	b       []byte
	s       string
	i       int
	scratch []byte
}

func (r *jsonReader) errorf(reason string) error {
	return &FrameError{Reason: "JSON header: " + reason, At: r.i}
}

func (r *jsonReader) space() {
	for r.i < len(r.b) && r.b[r.i] <= ' ' {
		r.i++
	}
}

// peek returns the next byte that is not white space, 0 at the end.
func (r *jsonReader) peek() byte {
	if r.i < len(r.b) && r.b[r.i] > ' ' {
		return r.b[r.i]
	}
	r.space()
	if r.i < len(r.b) {
		return r.b[r.i]
	}
	return 0
}

// take skips white space and the byte c; false if another byte stands there.
func (r *jsonReader) take(c byte) bool {
	if r.peek() != c {
		return false
	}
	r.i++
	return true
}

func (r *jsonReader) header(c *Command) error {
	c.Language = LanguageUnknown
	if !r.take('{') {
		return r.errorf("no object")
	}
	more := !r.take('}')
	for more {
		key, err := r.key()
		if err == nil {
			err = r.member(key, c)
		}
		if err == nil {
			more, err = r.next()
		}
		if err != nil {
			return err
		}
	}
	if r.peek() != 0 || r.i < len(r.b) {
		return r.errorf("bytes behind the object")
	}
	return nil
}

// key reads a member's name and the colon.
func (r *jsonReader) key() (string, error) {
	if i := r.i; i < len(r.b) && r.b[i] == '"' { // the usual form, without white space
		end := stringEnd(r.b, i+1, '"')
		if end+1 < len(r.b) && r.b[end] == '"' && r.b[end+1] == ':' {
			r.i = end + 2
			return r.s[i+1 : end], nil
		}
	}
	if q := r.peek(); q != '"' && q != '\'' {
		return "", r.errorf("no quoted name")
	}
	key, err := r.str()
	if err != nil {
		return "", err
	}
	if !r.take(':') {
		return "", r.errorf("no colon")
	}
	return key, nil
}

// next reads what follows a member: a comma (more) or the closing brace.
func (r *jsonReader) next() (more bool, err error) {
	switch r.peek() {
	case ',':
		r.i++
		if r.peek() == '}' { // a trailing comma, as fastjson tolerates
			r.i++
			return false, nil
		}
		return true, nil
	case '}':
		r.i++
		return false, nil
	}
	return false, r.errorf("neither comma nor brace")
}

// member reads the value of a top-level key.
func (r *jsonReader) member(key string, c *Command) (err error) {
	switch key {
	case "code":
		c.Code, err = r.int32()
	case "flag":
		c.Flag, err = r.int32()
	case "opaque":
		from := r.i
		c.Opaque, err = r.int32()
		c.form.opaque(from, r.i)
	case "version":
		c.Version, err = r.int32()
	case "language":
		var name string
		name, _, err = r.scalar()
		c.Language = LanguageByName(name)
	case "remark":
		c.Remark, _, err = r.scalar()
	case "extFields":
		err = r.extFields(c)
	default:
		err = r.skip(0)
	}
	return err
}

func (r *jsonReader) extFields(c *Command) error {
	c.Ext = c.Ext[:0]
	if !r.take('{') {
		_, null, err := r.scalar()
		if err == nil && !null {
			err = r.errorf("extFields is no object")
		}
		return err
	}
	if r.take('}') {
		return nil
	}
	for {
		if done, err := r.compactFields(c); done || err != nil {
			return err
		}
		key, err := r.key()
		if err != nil {
			return err
		}
		if len(c.Ext) == MaxExtFields {
			return &FrameError{Reason: "too many header fields", Got: MaxExtFields + 1, Limit: MaxExtFields}
		}
		value, null, err := r.scalar()
		if err != nil {
			return err
		}
		if !null {
			c.Ext = append(c.Ext, ExtField{Key: key, Value: value})
		}
		more, err := r.next()
		if !more {
			return err
		}
	}
}

// scalar reads a string, or anything else as its text; null says that it was null.
func (r *jsonReader) scalar() (text string, null bool, err error) {
	switch q := r.peek(); q {
	case '"', '\'':
		text, err = r.str()
		return text, false, err
	}
	from := r.i
	if err := r.skip(0); err != nil {
		return "", false, err
	}
	text = r.s[from:r.i]
	return text, text == "null", nil
}

// int32 reads a number, a quoted one too. null is 0.
func (r *jsonReader) int32() (int32, error) {
	r.peek()
	i, b := r.i, r.b
	neg := false
	if i < len(b) && b[i] == '-' {
		neg = true
		i++
	}
	var n int64
	from := i
	for i < len(b) && b[i]-'0' <= 9 && i-from < 11 {
		n = n*10 + int64(b[i]-'0')
		i++
	}
	if i == from {
		return r.oddInt32()
	}
	if neg {
		n = -n
	}
	if n < math.MinInt32 || n > math.MaxInt32 || i < len(b) && (b[i]-'0' <= 9 || b[i] == '.' || b[i]|0x20 == 'e') {
		return 0, r.errorf("not a 32-bit integer")
	}
	r.i = i
	return int32(n), nil
}

// oddInt32 reads the forms of an integer that no current client writes.
func (r *jsonReader) oddInt32() (int32, error) {
	at := r.i
	text, null, err := r.scalar()
	if err != nil || null {
		return 0, err
	}
	n, ok := parseInt(text, 32)
	if !ok {
		r.i = at
		return 0, r.errorf("not a 32-bit integer")
	}
	return int32(n), nil
}

const (
	onesMask   = 0x0101010101010101
	highMask   = 0x8080808080808080
	backslants = '\\' * onesMask
	quotes     = '"' * onesMask
)

// zeroBytes has the high bit set of the lowest byte of x that is zero (and perhaps of higher ones).
func zeroBytes(x uint64) uint64 { return (x - onesMask) &^ x & highMask }

// compactFields reads fields of the form "key":"value" without white space around them, as all known clients write
// them. It stops in front of the first field of another form, which is left to the general reader; done says
// that the object's end was read.
func (r *jsonReader) compactFields(c *Command) (done bool, err error) {
	b, s, i := r.b, r.s, r.i
	for i < len(b) && b[i] == '"' && len(c.Ext) < MaxExtFields {
		keyEnd := i + 2
		if !isLetterKey(b[i:]) {
			keyEnd = stringEnd(b, i+1, '"')
			if keyEnd+3 >= len(b) || b[keyEnd] != '"' || b[keyEnd+1] != ':' || b[keyEnd+2] != '"' {
				return false, nil
			}
		}
		from := keyEnd + 3
		end := from
		if from+8 > len(b) {
			end = stringEnd(b, from, '"')
		} else if p := b[from : from+8]; p[1] == '"' && p[0] != '"' && p[0] != '\\' { // a digit, most likely
			end++
		} else if x := binary.LittleEndian.Uint64(p); zeroBytes(x^quotes)|zeroBytes(x^backslants) != 0 {
			end += bits.TrailingZeros64(zeroBytes(x^quotes)|zeroBytes(x^backslants)) >> 3
		} else {
			end = stringEnd(b, from+8, '"')
		}
		if end >= len(b) {
			return false, nil
		}
		value := s[from:end]
		if b[end] == '"' {
			r.i = end + 1
		} else if value, err = r.escaped(from, end, '"'); err != nil {
			return false, err
		}
		c.Ext = append(c.Ext, ExtField{Key: s[i+1 : keyEnd], Value: value})
		c.form.value(from, r.i-1)
		if i = r.i; i+1 < len(b) && b[i] == ',' && b[i+1] == '"' {
			i++
			r.i = i
			continue
		}
		more, err := r.next()
		if !more {
			return true, err
		}
		i = r.i
	}
	return false, nil
}

// isLetterKey reports whether b begins with a key of one byte, its colon and the opening quote of its value.
func isLetterKey(b []byte) bool {
	const mask, form = 0xFF_FF_FF_00_FF, 0x22_3A_22_00_22 // "?":"
	if len(b) < 8 {
		return false
	}
	return binary.LittleEndian.Uint64(b)&mask == form && b[1] != '"' && b[1] != '\\'
}

// stringEnd returns the index of the first quote or backslash at or behind i, len(b) if there is none.
func stringEnd(b []byte, i int, quote byte) int {
	wantQuote := uint64(quote) * onesMask
	for i+8 <= len(b) {
		x := binary.LittleEndian.Uint64(b[i:])
		if hit := zeroBytes(x^wantQuote) | zeroBytes(x^backslants); hit != 0 {
			return i + bits.TrailingZeros64(hit)>>3
		}
		i += 8
	}
	for i < len(b) && b[i] != quote && b[i] != '\\' {
		i++
	}
	return i
}

// str reads the string whose opening quote stands at r.i. Raw control characters are tolerated.
func (r *jsonReader) str() (string, error) {
	quote, from := r.b[r.i], r.i+1
	end := stringEnd(r.b, from, quote)
	if end >= len(r.b) {
		r.i = end
		return "", r.errorf("string does not end")
	}
	if r.b[end] == '\\' {
		return r.escaped(from, end, quote)
	}
	r.i = end + 1
	return r.s[from:end], nil
}
