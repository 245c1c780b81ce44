package sql

import (
	"errors"
	"strings"
	"testing"
)

// FuzzCompile: no panic on any text and any properties; an error is an *Error whose place is in the text; Match says the same twice
// and not both a condition and its NOT.
func FuzzCompile(f *testing.F) {
	for _, s := range []string{"a > 5", "(TAGS is not null and TAGS in ('even')) and a between 2 and 7 and region = 'south'", "a >>> 3 and", "a not contains 'x' or not b = TRUE",
		"a NOT IN ('it''s', '价') -- x\n AND 5. <> .5e-3", "/* */ - - a < 7L", "((a = b) is null) = c", "a\x00'", "a = '", "NULL", "a startswith '' and 1e5 = a"} {
		f.Add(s, "a\x015\x02TAGS\x01even\x02region\x01south")
		f.Add(s, "a\x011e309\x02b\x01\x02\x01\x02c")
	}
	f.Fuzz(func(t *testing.T, text, properties string) {
		e, err := Compile(text)
		if err != nil {
			var place *Error
			if !errors.As(err, &place) || place.Line < 1 || place.Line > 1+strings.Count(text, "\n") || place.Column < 1 || place.Column > len(text)+1 {
				t.Fatalf("%q: %v", text, err)
			}
			return
		}
		got := e.Match([]byte(properties))
		if e.Match([]byte(properties)) != got {
			t.Fatalf("%q: twice on %q", text, properties)
		}
		opposite, err := Compile("NOT (" + text + ")")
		if err != nil {
			if len(text) < 400 && !strings.Contains(text, "--") { // a comment may begin or end by what is put around
				t.Fatalf("NOT (%q): %v", text, err)
			}
			return
		}
		if got && opposite.Match([]byte(properties)) {
			t.Fatalf("%q and its opposite match %q", text, properties)
		}
	})
}

// FuzzNumber: what is read as a number is never out of the order of the floats.
func FuzzNumber(f *testing.F) {
	for _, s := range []string{"5", "-5.5", " 1e400", "1e-400", "NaN", "-Infinity", "0e99999999999", ".5d", "9223372036854775808", "00000000000000000000000001", "1.7976931348623159e308"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, s []byte) {
		n, ok := parseNumber(s)
		if !ok {
			return
		}
		if n.compare(n) != 0 || n.compare(number{f: n.float()}) != 0 && !n.whole {
			t.Fatalf("%q is not equal to itself", s)
		}
	})
}
