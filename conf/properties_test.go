package conf

import (
	"errors"
	"reflect"
	"testing"
)

func TestParseLatin1(t *testing.T) {
	tests := []struct {
		name, in string
		want     []Entry
	}{
		{"separators", "a=1\nb:2\nc 3\nd\t=\t4\ne  :  5\nf==6\n", []Entry{
			{"a", "1", 1, 1}, {"b", "2", 2, 2}, {"c", "3", 3, 3}, {"d", "4", 4, 4}, {"e", "5", 5, 5}, {"f", "=6", 6, 6}}},
		{"comments and blanks", "# x=1\n  ! y=2\n\n \t\f\na=1 # no comment\n", []Entry{{"a", "1 # no comment", 5, 5}}},
		{"trailing blanks stay", "a = 1  \r\nb=\tx\t", []Entry{{"a", "1  ", 1, 1}, {"b", "x\t", 2, 2}}},
		{"continuation", "a=1,\\\n   2,\\\r\n\t3\nb=4\\\\\nc=5", []Entry{{"a", "1,2,3", 1, 3}, {"b", `4\`, 4, 4}, {"c", "5", 5, 5}}},
		{"a continued line may start with #", "a=\\\n  # text", []Entry{{"a", "# text", 1, 2}}},
		{"a comment is not continued", "# a\\\nb=1", []Entry{{"b", "1", 2, 2}}},
		{"a blank line ends a continuation", "a=1\\\n\nb=2", []Entry{{"a", "1", 1, 2}, {"b", "2", 3, 3}}},
		{"backslash at the end", "a=1\\", []Entry{{"a", "1", 1, 1}}},
		{"escapes", `a\ b\:\=\#=\t\n\r\f\\\q\u0041\u00e9`, []Entry{{"a b:=#", "\t\n\r\f\\qAé", 1, 1}}},
		{"windows path loses its backslashes", `p=C:\store\x`, []Entry{{"p", "C:storex", 1, 1}}},
		{"surrogate pair", `a=\ud83d\ude00`, []Entry{{"a", "😀", 1, 1}}},
		{"one byte is one character", "a=\xc3\xa9", []Entry{{"a", "Ã©", 1, 1}}},
		{"key only", "a\nb=\n=c\n", []Entry{{"a", "", 1, 1}, {"b", "", 2, 2}, {"", "c", 3, 3}}},
		{"duplicates", "a=1\na=2", []Entry{{"a", "1", 1, 1}, {"a", "2", 2, 2}}},
		{"carriage returns", "a=1\rb=2\r\rc=3", []Entry{{"a", "1", 1, 1}, {"b", "2", 2, 2}, {"c", "3", 4, 4}}},
		{"byte order mark", "\xef\xbb\xbfa=1", []Entry{{"a", "1", 1, 1}}},
		{"XML comment", "\n<!--\n  Licensed to x http://y\n-->\na=1\n", []Entry{{"a", "1", 5, 5}}},
		{"empty", "", nil},
	}
	for _, tt := range tests {
		got, err := ParseLatin1([]byte(tt.in))
		if err != nil || !reflect.DeepEqual(got, tt.want) {
			t.Errorf("%s: got %v, %v\nwant %v", tt.name, got, err, tt.want)
		}
	}
}

func TestMalformedUnicodeEscape(t *testing.T) {
	for _, in := range []string{"ok=1\na=\\u12", `a=\u12g4`, `\u=1`} {
		_, err := ParseLatin1([]byte(in))
		var se *SyntaxError
		if !errors.As(err, &se) {
			t.Errorf("ParseLatin1(%q) = %v, want a *SyntaxError", in, err)
		}
	}
	_, err := ParseLatin1([]byte("ok=1\n\na=\\u12"))
	if se := (*SyntaxError)(nil); !errors.As(err, &se) || se.Line != 3 {
		t.Errorf("error %v, want line 3", err)
	}
}

func TestParseTextIsUTF8(t *testing.T) {
	got, err := ParseText([]byte("a=é中"))
	if want := []Entry{{"a", "é中", 1, 1}}; err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("got %v, %v, want %v", got, err, want)
	}
}

// FuzzParse: never panics; what formatEntry writes is read back as the same keys and values.
func FuzzParse(f *testing.F) {
	for _, s := range []string{"a=1\nb:2\\\n 3", `k\ x=\u0041\\`, "<!-- -->\na=\xff", "=\n!x\n#y\\\nz", "\\", "\\\n\\\nx"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, in []byte) {
		entries, err := ParseLatin1(in)
		if err != nil {
			return
		}
		last := 0
		for _, e := range entries {
			if e.Line <= last || e.Last < e.Line {
				t.Fatalf("entry %+v follows line %d", e, last)
			}
			last = e.Last
			line := formatEntry(e.Key, e.Value)
			for name, parse := range map[string]func([]byte) ([]Entry, error){"latin1": ParseLatin1, "text": ParseText} {
				back, err := parse([]byte(line))
				if err != nil || len(back) != 1 || back[0].Key != e.Key || back[0].Value != e.Value {
					t.Fatalf("%s: %+v written as %q reads as %v, %v", name, e, line, back, err)
				}
			}
		}
	})
}
