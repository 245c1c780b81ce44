package admin

import (
	"fmt"
	"slices"
	"strings"
)

// parseProperties reads the key=value lines of a configuration body: comments and blank lines skipped, backslash escapes and continuation lines resolved.
func parseProperties(b []byte) map[string]string {
	out := map[string]string{}
	lines := strings.Split(string(b), "\n")
	for i := 0; i < len(lines); i++ {
		line := strings.TrimLeft(strings.TrimSuffix(lines[i], "\r"), " \t\f")
		if line == "" || line[0] == '#' || line[0] == '!' {
			continue
		}
		for endsInBackslash(line) && i+1 < len(lines) {
			i++
			line = line[:len(line)-1] + strings.TrimLeft(strings.TrimSuffix(lines[i], "\r"), " \t\f")
		}
		at := keyEnd(line)
		value := strings.TrimLeft(line[at:], " \t\f")
		if value != "" && (value[0] == '=' || value[0] == ':') {
			value = strings.TrimLeft(value[1:], " \t\f")
		}
		out[unescape(line[:at])] = unescape(value)
	}
	return out
}

// endsInBackslash reports an odd number of backslashes at the end of a line: the line goes on.
func endsInBackslash(s string) bool {
	return (len(s)-len(strings.TrimRight(s, `\`)))%2 == 1
}

func keyEnd(s string) int {
	for i := 0; i < len(s); i++ {
		switch s[i] {
		case '\\':
			i++
		case '=', ':', ' ', '\t', '\f':
			return i
		}
	}
	return len(s)
}

func unescape(s string) string {
	if !strings.Contains(s, `\`) {
		return s
	}
	var out strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] != '\\' || i+1 == len(s) {
			out.WriteByte(s[i])
			continue
		}
		i++
		switch s[i] {
		case 'n':
			out.WriteByte('\n')
		case 't':
			out.WriteByte('\t')
		case 'r':
			out.WriteByte('\r')
		case 'u':
			var r rune
			if i+4 < len(s) {
				if _, err := fmt.Sscanf(s[i+1:i+5], "%04x", &r); err == nil {
					out.WriteRune(r)
					i += 4
					continue
				}
			}
			out.WriteByte('u')
		default:
			out.WriteByte(s[i])
		}
	}
	return out.String()
}

// formatProperties writes key=value lines, sorted. A line break in a key or value would smuggle in another key, and is refused.
func formatProperties(kv map[string]string) ([]byte, error) {
	keys := make([]string, 0, len(kv))
	for k, v := range kv {
		if k == "" || strings.ContainsAny(k, "\r\n") || strings.ContainsAny(v, "\r\n") {
			return nil, fmt.Errorf("configuration key %q: empty, or a line break in it or in its value", k)
		}
		keys = append(keys, k)
	}
	slices.Sort(keys)
	var b []byte
	for _, k := range keys {
		b = append(append(append(append(b, k...), '='), kv[k]...), '\n')
	}
	return b, nil
}
