package protocol

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"unicode/utf8"
)

// SyntaxError says why a text is not JSON, not even in fastjson's dialect.
type SyntaxError struct {
	Reason string
	At     int // byte offset
}

func (e *SyntaxError) Error() string { return fmt.Sprintf("JSON: %s at byte %d", e.Reason, e.At) }

// UnmarshalFast decodes JSON as Java's fastjson reads it into v, a pointer, by v's json tags. Strict JSON takes the direct
// way; any other text is normalised first (see NormalizeJSON), and values of the wrong kind are mended where fastjson does so
// (see coerceJSON). Unknown keys are ignored, null leaves a field as it is.
func UnmarshalFast(b []byte, v any) error {
	if bytes.Contains(b, []byte(`"$ref"`)) {
		resolved, err := resolveRefs(b)
		if err != nil {
			return err
		}
		b = resolved
	}
	err := json.Unmarshal(b, v)
	if syntax := (*json.SyntaxError)(nil); errors.As(err, &syntax) {
		if b, err = NormalizeJSON(b); err != nil {
			return err
		}
		err = json.Unmarshal(b, v)
	}
	if kind := (*json.UnmarshalTypeError)(nil); errors.As(err, &kind) {
		mended, mendErr := coerceJSON(b, reflect.TypeOf(v))
		if mendErr != nil {
			return err
		}
		return json.Unmarshal(mended, v)
	}
	return err
}

// NormalizeJSON turns fastjson's dialect into strict JSON without white space; strict JSON is returned as it is. It
// quotes bare keys, turns object keys into string keys that hold the object's text, and reads single quotes, raw control
// characters and fastjson's escapes in strings, comments, and superfluous commas. NaN, Infinity and undefined become null.
// The error is a *SyntaxError.
func NormalizeJSON(b []byte) ([]byte, error) {
	if json.Valid(b) {
		return b, nil
	}
	n := normalizer{b: b, out: make([]byte, 0, len(b)+len(b)/8)}
	if bytes.HasPrefix(b, []byte("\xEF\xBB\xBF")) {
		n.i = 3
	}
	if err := n.value(0); err != nil {
		return nil, err
	}
	if n.peek() != 0 || n.i < len(b) {
		return nil, n.errorf("bytes behind the value")
	}
	return n.out, nil
}

type normalizer struct {
	b     []byte
	i     int
	out   []byte
	text  []byte // scratch for strings
	inKey bool   // inside an object that is a key; such keys do not nest, for each level would double its escapes
}

func (n *normalizer) errorf(reason string) error { return &SyntaxError{Reason: reason, At: n.i} }

// peek skips white space and comments and returns the next byte, 0 at the end.
func (n *normalizer) peek() byte {
	for n.i < len(n.b) {
		switch c := n.b[n.i]; {
		case c <= ' ':
			n.i++
		case c == '/' && n.i+1 < len(n.b) && n.b[n.i+1] == '/':
			end := bytes.IndexByte(n.b[n.i:], '\n')
			if end < 0 {
				n.i = len(n.b)
				return 0
			}
			n.i += end + 1
		case c == '/' && n.i+1 < len(n.b) && n.b[n.i+1] == '*':
			end := bytes.Index(n.b[n.i+2:], []byte("*/"))
			if end < 0 {
				return c // an unclosed comment is no token of any kind
			}
			n.i += end + 4
		default:
			return c
		}
	}
	return 0
}

func (n *normalizer) value(depth int) error {
	if depth > maxJSONDepth {
		return n.errorf("nested too deep")
	}
	switch c := n.peek(); {
	case c == '{':
		return n.object(depth)
	case c == '[':
		return n.array(depth)
	case c == '"' || c == '\'':
		return n.str()
	case c == '-' || c == '+' || c == '.' || c-'0' <= 9:
		return n.number()
	case isWordByte(c):
		return n.literal()
	}
	return n.errorf("no value")
}

func (n *normalizer) object(depth int) error {
	n.i++
	n.out = append(n.out, '{')
	for first := true; ; {
		switch n.peek() {
		case '}':
			n.i++
			n.out = append(n.out, '}')
			return nil
		case ',':
			n.i++
			continue
		case 0:
			return n.errorf("object does not end")
		}
		if !first {
			n.out = append(n.out, ',')
		}
		first = false
		if err := n.key(depth); err != nil {
			return err
		}
		if n.peek() != ':' {
			return n.errorf("no colon")
		}
		n.i++
		n.out = append(n.out, ':')
		if err := n.value(depth + 1); err != nil {
			return err
		}
		if c := n.peek(); c != ',' && c != '}' {
			return n.errorf("neither comma nor brace")
		}
	}
}

func (n *normalizer) array(depth int) error {
	n.i++
	n.out = append(n.out, '[')
	for first := true; ; {
		switch n.peek() {
		case ']':
			n.i++
			n.out = append(n.out, ']')
			return nil
		case ',':
			n.i++
			continue
		case 0:
			return n.errorf("array does not end")
		}
		if !first {
			n.out = append(n.out, ',')
		}
		first = false
		if err := n.value(depth + 1); err != nil {
			return err
		}
		if c := n.peek(); c != ',' && c != ']' {
			return n.errorf("neither comma nor bracket")
		}
	}
}

// key writes any kind of key as a string.
func (n *normalizer) key(depth int) error {
	c := n.peek()
	switch {
	case c == '"' || c == '\'':
		return n.str()
	case c == '{' || c == '[':
		return n.objectKey(depth)
	case c == '-' || c == '+' || isWordByte(c):
		from := n.i
		n.i++
		for n.i < len(n.b) && (isWordByte(n.b[n.i]) || n.b[n.i] == '.' || n.b[n.i] == '-') {
			n.i++
		}
		n.out = append(n.out, '"')
		n.out = append(n.out, n.b[from:n.i]...)
		n.out = append(n.out, '"')
		return nil
	}
	return n.errorf("no key")
}

func (n *normalizer) objectKey(depth int) error {
	if n.inKey {
		return n.errorf("object key inside an object key")
	}
	n.inKey = true
	at := len(n.out)
	err := n.value(depth + 1)
	n.inKey = false
	if err != nil {
		return err
	}
	text := bytes.Clone(n.out[at:])
	n.out = append(n.out[:at], '"')
	n.out = appendJSONText(n.out, aliasBytes(text))
	n.out = append(n.out, '"')
	return nil
}

func (n *normalizer) str() error {
	quote := n.b[n.i]
	from := n.i
	n.text = n.text[:0]
	for i := n.i + 1; i < len(n.b); {
		switch c := n.b[i]; c {
		case quote:
			n.i = i + 1
			n.out = append(n.out, '"')
			n.out = appendJSONText(n.out, aliasBytes(n.text))
			n.out = append(n.out, '"')
			return nil
		case '\\':
			var ok bool
			if n.text, i, ok = unescape(n.text, n.b, i); !ok {
				n.i = i
				return n.errorf("bad escape")
			}
		default:
			n.text = append(n.text, c)
			i++
		}
	}
	n.i = from
	return n.errorf("string does not end")
}

// number copies a number and mends what JSON does not allow: a plus sign, a bare dot, a type letter at the end.
func (n *normalizer) number() error {
	from := n.i
	for n.i < len(n.b) {
		c := n.b[n.i]
		if c-'0' > 9 && c != '-' && c != '+' && c != '.' && !isWordByte(c) {
			break
		}
		n.i++
	}
	token := n.b[from:n.i]
	if json.Valid(token) {
		n.out = append(n.out, token...)
		return nil
	}
	token = bytes.TrimPrefix(token, []byte("+"))
	switch string(token) {
	case "-Infinity", "Infinity":
		n.out = append(n.out, "null"...)
		return nil
	}
	token = bytes.TrimRight(token, "LSBFD")
	if len(token) > 1 && token[0] == '.' {
		token = append([]byte("0"), token...)
	}
	token = bytes.TrimSuffix(token, []byte("."))
	if len(token) == 0 || !json.Valid(token) {
		n.i = from
		return n.errorf("bad number")
	}
	n.out = append(n.out, token...)
	return nil
}

func (n *normalizer) literal() error {
	from := n.i
	for n.i < len(n.b) && isWordByte(n.b[n.i]) {
		n.i++
	}
	switch word := string(n.b[from:n.i]); word {
	case "true", "false", "null":
		n.out = append(n.out, word...)
	case "NaN", "Infinity", "undefined":
		n.out = append(n.out, "null"...)
	default:
		n.i = from
		return n.errorf("unknown word")
	}
	return nil
}

// isWordByte reports whether c may stand in a bare key.
func isWordByte(c byte) bool {
	return c|0x20 >= 'a' && c|0x20 <= 'z' || c-'0' <= 9 || c == '_' || c == '$' || c >= utf8.RuneSelf
}
