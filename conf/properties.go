package conf

import (
	"fmt"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// Entry is one key of a property text. Lines count from 1; a continued entry spans several.
type Entry struct {
	Key, Value string
	Line, Last int
}

// SyntaxError is the one thing that java.util.Properties refuses: a malformed \u escape.
type SyntaxError struct {
	Line int
	Text string
}

func (e *SyntaxError) Error() string {
	return fmt.Sprintf("line %d: malformed escape %q", e.Line, e.Text)
}

// ParseLatin1 reads a property file as java.util.Properties.load(InputStream) does: one byte is one character.
// Two things that Java stumbles over are skipped: a UTF-8 byte order mark and an XML comment before the first entry.
// Duplicate keys are all returned, in order; the last one counts.
func ParseLatin1(data []byte) ([]Entry, error) {
	data = []byte(strings.TrimPrefix(string(data), "\ufeff"))
	units := make([]uint16, len(data))
	for i, b := range data {
		units[i] = uint16(b)
	}
	return parseUnits(units)
}

// ParseText reads a property text that came as a request body: UTF-8, or Latin-1 where it is not valid UTF-8.
func ParseText(body []byte) ([]Entry, error) {
	if !utf8.Valid(body) {
		return ParseLatin1(body)
	}
	return parseUnits(utf16.Encode([]rune(string(body))))
}

func parseUnits(units []uint16) ([]Entry, error) {
	lines := naturalLines(units)
	var out []Entry
	for i := skipXMLComment(lines); i < len(lines); i++ {
		first := i
		line := trimBlanks(lines[i])
		if len(line) == 0 || line[0] == '#' || line[0] == '!' {
			continue
		}
		line = append([]uint16(nil), line...)
		for endsInBackslash(line) {
			line = line[:len(line)-1]
			if i+1 == len(lines) {
				break
			}
			i++
			line = append(line, trimBlanks(lines[i])...)
		}
		if len(line) == 0 {
			continue
		}
		e, err := parseEntry(line)
		if err != nil {
			err.Line = first + 1
			return nil, err
		}
		e.Line, e.Last = first+1, i+1
		out = append(out, e)
	}
	return out, nil
}

// naturalLines splits at \n, \r and \r\n; the terminators are not part of the lines.
func naturalLines(units []uint16) [][]uint16 {
	var lines [][]uint16
	start := 0
	for i := 0; i < len(units); i++ {
		if units[i] != '\n' && units[i] != '\r' {
			continue
		}
		lines = append(lines, units[start:i])
		if units[i] == '\r' && i+1 < len(units) && units[i+1] == '\n' {
			i++
		}
		start = i + 1
	}
	if start < len(units) {
		lines = append(lines, units[start:])
	}
	return lines
}

// skipXMLComment returns the index of the first line after a leading <!-- ... --> block, or 0.
func skipXMLComment(lines [][]uint16) int {
	open := false
	for i, l := range lines {
		text := string(utf16.Decode(trimBlanks(l)))
		switch {
		case !open && text == "":
			continue
		case !open && !strings.HasPrefix(text, "<!--"):
			return 0
		}
		open = true
		if strings.Contains(text, "-->") {
			return i + 1
		}
	}
	return 0
}

func parseEntry(line []uint16) (Entry, *SyntaxError) {
	keyEnd := 0
	for keyEnd < len(line) && !isSeparator(line[keyEnd]) && !isBlank(line[keyEnd]) {
		if line[keyEnd] == '\\' {
			keyEnd++
		}
		keyEnd++
	}
	keyEnd = min(keyEnd, len(line))
	rest := trimBlanks(line[keyEnd:])
	if len(rest) > 0 && isSeparator(rest[0]) {
		rest = trimBlanks(rest[1:])
	}
	key, err := unescape(line[:keyEnd])
	if err != nil {
		return Entry{}, err
	}
	value, err := unescape(rest)
	return Entry{Key: key, Value: value}, err
}

func unescape(in []uint16) (string, *SyntaxError) {
	out := make([]uint16, 0, len(in))
	for i := 0; i < len(in); i++ {
		c := in[i]
		if c != '\\' || i+1 == len(in) {
			if c != '\\' {
				out = append(out, c)
			}
			continue
		}
		i++
		switch c = in[i]; c {
		case 't':
			c = '\t'
		case 'n':
			c = '\n'
		case 'r':
			c = '\r'
		case 'f':
			c = '\f'
		case 'u':
			u, ok := hex4(in[i+1:])
			if !ok {
				return "", &SyntaxError{Text: string(utf16.Decode(in[i-1 : min(i+5, len(in))]))}
			}
			c = u
			i += 4
		}
		out = append(out, c)
	}
	return string(utf16.Decode(out)), nil
}

func hex4(in []uint16) (u uint16, ok bool) {
	if len(in) < 4 {
		return 0, false
	}
	for _, c := range in[:4] {
		switch {
		case c >= '0' && c <= '9':
			u = u<<4 | (c - '0')
		case c >= 'a' && c <= 'f':
			u = u<<4 | (c - 'a' + 10)
		case c >= 'A' && c <= 'F':
			u = u<<4 | (c - 'A' + 10)
		default:
			return 0, false
		}
	}
	return u, true
}

func endsInBackslash(line []uint16) bool {
	n := 0
	for n < len(line) && line[len(line)-1-n] == '\\' {
		n++
	}
	return n%2 == 1
}

func isBlank(c uint16) bool     { return c == ' ' || c == '\t' || c == '\f' }
func isSeparator(c uint16) bool { return c == '=' || c == ':' }

func trimBlanks(l []uint16) []uint16 {
	for len(l) > 0 && isBlank(l[0]) {
		l = l[1:]
	}
	return l
}

// formatEntry writes key=value so that ParseLatin1 and ParseText give the same strings back.
func formatEntry(key, value string) string {
	return escape(key, true) + "=" + escape(value, false)
}

func escape(s string, key bool) string {
	var b strings.Builder
	for i, u := range utf16.Encode([]rune(s)) {
		switch c := rune(u); {
		case c == '\\':
			b.WriteString(`\\`)
		case c == '\t':
			b.WriteString(`\t`)
		case c == '\n':
			b.WriteString(`\n`)
		case c == '\r':
			b.WriteString(`\r`)
		case c == '\f':
			b.WriteString(`\f`)
		case c == ' ' && (key || i == 0),
			key && (c == '=' || c == ':' || (i == 0 && (c == '#' || c == '!'))):
			b.WriteByte('\\')
			b.WriteRune(c)
		case c < 0x20 || c > 0x7e:
			fmt.Fprintf(&b, `\u%04X`, u)
		default:
			b.WriteRune(c)
		}
	}
	return b.String()
}
