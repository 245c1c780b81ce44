package mqadmin

import (
	"fmt"
	"strings"
	"unicode/utf16"
)

// decodeText reads a message body in one of the character sets that need no table. Bytes that do not belong there become U+FFFD.
func decodeText(b []byte, charset string) (string, error) {
	switch strings.ToUpper(strings.ReplaceAll(charset, "_", "-")) {
	case "UTF-8", "UTF8", "US-ASCII", "ASCII", "":
		return strings.ToValidUTF8(string(b), "\uFFFD"), nil
	case "ISO-8859-1", "LATIN1":
		r := make([]rune, len(b))
		for i, c := range b {
			r[i] = rune(c)
		}
		return string(r), nil
	case "UTF-16", "UTF-16BE":
		return utf16Text(b, 0), nil
	case "UTF-16LE":
		return utf16Text(b, 1), nil
	}
	return "", &javaError{class: "java.nio.charset.UnsupportedCharsetException", text: fmt.Sprintf("%s (known: UTF-8, ISO-8859-1, UTF-16, UTF-16LE)", charset)}
}

// utf16Text reads pairs of bytes, the high one at position high.
func utf16Text(b []byte, high int) string {
	if len(b) >= 2 && b[0] == 0xFE && b[1] == 0xFF {
		b, high = b[2:], 0
	} else if len(b) >= 2 && b[0] == 0xFF && b[1] == 0xFE {
		b, high = b[2:], 1
	}
	units := make([]uint16, 0, len(b)/2)
	for i := 0; i+1 < len(b); i += 2 {
		units = append(units, uint16(b[i+high])<<8|uint16(b[i+1-high]))
	}
	return string(utf16.Decode(units))
}
