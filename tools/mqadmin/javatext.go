package mqadmin

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
)

// The texts below are those of Java's own conversions, because scripts compare them.

// javaDouble is Double.toString: a point always, and an exponent outside 10^-3 to 10^7.
func javaDouble(f float64) string {
	switch a := math.Abs(f); {
	case math.IsNaN(f):
		return "NaN"
	case math.IsInf(f, 0):
		return strings.Replace(strconv.FormatFloat(f, 'f', -1, 64), "Inf", "Infinity", 1)
	case a != 0 && (a < 1e-3 || a >= 1e7):
		m, e, _ := strings.Cut(strconv.FormatFloat(f, 'E', -1, 64), "E")
		if !strings.Contains(m, ".") {
			m += ".0"
		}
		n, _ := strconv.Atoi(e)
		return m + "E" + strconv.Itoa(n)
	}
	s := strconv.FormatFloat(f, 'f', -1, 64)
	if !strings.Contains(s, ".") {
		s += ".0"
	}
	return s
}

// javaFixed is String.format("%.<prec>f"): half up on the shortest decimal digits, where Go rounds the binary value.
func javaFixed(f float64, prec int) string {
	if math.IsNaN(f) || math.IsInf(f, 0) {
		return javaDouble(f)
	}
	s := strconv.FormatFloat(math.Abs(f), 'f', -1, 64)
	whole, frac, _ := strings.Cut(s, ".")
	up := len(frac) > prec && frac[prec] >= '5'
	frac = (frac + strings.Repeat("0", prec))[:prec]
	digits := []byte(whole + frac)
	for i := len(digits) - 1; up && i >= 0; i-- {
		if digits[i]++; digits[i] <= '9' {
			up = false
		} else {
			digits[i] = '0'
		}
	}
	s = string(digits)
	if up {
		s = "1" + s
	}
	if prec > 0 {
		s = s[:len(s)-prec] + "." + s[len(s)-prec:]
	}
	if f < 0 {
		s = "-" + s
	}
	return s
}

// cut keeps the first n characters.
func cut(s string, n int) string {
	if r := []rune(s); len(r) > n {
		return string(r[:n])
	}
	return s
}

// javaMap is HashMap.toString, except that the order is by key.
func javaMap(m map[string]string) string {
	keys := sortedKeys(m)
	for i, k := range keys {
		keys[i] = k + "=" + m[k]
	}
	return "{" + strings.Join(keys, ", ") + "}"
}

// javaBytes is Arrays.toString of a byte[]: decimal, with sign.
func javaBytes(b []byte) string {
	out := make([]byte, 0, 2+5*len(b))
	out = append(out, '[')
	for i, c := range b {
		if i > 0 {
			out = append(out, ", "...)
		}
		out = strconv.AppendInt(out, int64(int8(c)), 10)
	}
	return string(append(out, ']'))
}

// javaString is the text of a nullable string.
func javaString(s string) string {
	if s == "" {
		return "null"
	}
	return s
}

// dateTime and dateTimeMillis are the two date forms of the tables; 0 is "".
func (c *call) dateTime(ms int64) string {
	return time.UnixMilli(ms).In(c.env.Location).Format("2006-01-02 15:04:05")
}

func (c *call) dateTimeMillis(ms int64) string {
	return time.UnixMilli(ms).In(c.env.Location).Format("2006-01-02 15:04:05,000")
}

func sortedKeys[V any](m map[string]V) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}

func boolText(b bool) string { return fmt.Sprint(b) }
