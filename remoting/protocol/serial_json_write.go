package protocol

import (
	"strconv"
	"unicode/utf8"
)

// jsonHeader appends the JSON header of c. null fields are left out. Java writes the keys in alphabetical order, other
// clients in others; here the fields of every header come first, so that who looks for code and opaque alone need not
// look through the ext fields.
func (w *ExtWriter) jsonHeader(c *Command) {
	w.buf = append(w.buf, `{"code":`...)
	w.buf = appendInt(w.buf, int64(c.Code))
	if c.Flag == FlagResponse && c.Language == LanguageGo {
		w.buf = append(w.buf, `,"flag":1,"language":"GO","opaque":`...)
	} else {
		w.buf = append(w.buf, `,"flag":`...)
		w.buf = appendInt(w.buf, int64(c.Flag))
		w.buf = append(w.buf, `,"language":"`...)
		w.buf = append(w.buf, c.Language.String()...)
		w.buf = append(w.buf, `","opaque":`...)
	}
	w.buf = appendInt(w.buf, int64(c.Opaque))
	w.buf = append(w.buf, `,"serializeTypeCurrentRPC":"JSON","version":`...)
	w.buf = appendInt(w.buf, int64(c.Version))
	if c.Remark != "" {
		w.buf = append(w.buf, `,"remark":"`...)
		w.buf = appendJSONText(w.buf, c.Remark)
		w.buf = append(w.buf, '"')
	}
	if c.Header != nil || len(c.Ext) > 0 {
		w.buf = append(w.buf, `,"extFields":{`...)
		if c.Header != nil {
			c.Header.EncodeExt(w)
		}
		w.fields(c.Ext)
		w.buf = append(w.buf, '}')
	}
	w.buf = append(w.buf, '}')
}

// appendInt appends a decimal number. Many have one digit.
func appendInt(dst []byte, n int64) []byte {
	if uint64(n) < 10 {
		return append(dst, byte('0'+n))
	}
	return strconv.AppendInt(dst, n, 10)
}

// jsonPlain marks the bytes that stand for themselves inside a JSON string. Bytes of UTF-8 sequences are written raw, as Java does.
var jsonPlain = func() (t [256]bool) {
	for i := range t {
		t[i] = i >= 0x20 && i != '"' && i != '\\' && i != 0x7F
	}
	return t
}()

// appendJSONText appends s escaped for a JSON string, without the quotes. Invalid UTF-8 is passed through.
func appendJSONText(dst []byte, s string) []byte {
	from := 0
	for i := 0; i < len(s); i++ {
		if jsonPlain[s[i]] {
			continue
		}
		dst = append(dst, s[from:i]...)
		from = i + 1
		switch c := s[i]; c {
		case '"', '\\':
			dst = append(dst, '\\', c)
		case '\n':
			dst = append(dst, '\\', 'n')
		case '\r':
			dst = append(dst, '\\', 'r')
		case '\t':
			dst = append(dst, '\\', 't')
		default:
			dst = append(dst, '\\', 'u', '0', '0', upperHex[c>>4], upperHex[c&15])
		}
	}
	return append(dst, s[from:]...)
}

// appendRune appends r in UTF-8; a lone surrogate becomes U+FFFD.
func appendRune(dst []byte, r rune) []byte { return utf8.AppendRune(dst, r) }
