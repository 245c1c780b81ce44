package mqadmin

import (
	"maps"
	"strings"
	"testing"
	"time"
)

func sampleOptions() []option {
	return []option{
		{short: "h", long: "help"}, {short: "n", long: "namesrvAddr", arg: true},
		{short: "t", long: "topic", arg: true, required: true}, {short: "l", long: "list"}, {short: "a", long: "all"},
		{short: "bn", long: "brokerName", arg: true}, {short: "cf", long: "checkFrom", arg: true}, {short: "p", long: "print msg", arg: true},
		{long: "attributes", arg: true}, {long: "output", short: "o", arg: true, hidden: true},
	}
}

// TestParseSpellings: every spelling that commons-cli accepts.
func TestParseSpellings(t *testing.T) {
	for _, c := range []struct {
		args string
		want values
	}{
		{"-t T", values{"t": "T"}}, {"-tT", values{"t": "T"}}, {"-t=T", values{"t": "T"}}, {"--topic T", values{"t": "T"}},
		{"--topic=T", values{"t": "T"}}, {"-topic T", values{"t": "T"}}, {"-topic=T", values{"t": "T"}}, {"--top T", values{"t": "T"}},
		{"-topicTT", values{"t": "TT"}}, {"-l -t T", values{"l": "", "t": "T"}}, {"-la -t T", values{"l": "", "a": "", "t": "T"}},
		{"-latT", values{"l": "", "a": "", "t": "T"}}, {"-bn b -t T", values{"bn": "b", "t": "T"}}, {"-cf 12 -t T", values{"cf": "12", "t": "T"}},
		{"-t -1", values{"t": "-1"}}, {"-t -x", values{"t": "-x"}}, {"stray -t T words", values{"t": "T"}}, {"-t T -- -l", values{"t": "T"}},
		{`-t "T"`, values{"t": "T"}}, {"--attributes +k=v -t T", values{"attributes": "+k=v", "t": "T"}}, {"-t T -o json", values{"t": "T", "o": "json"}},
		{"-t T -t U", values{"t": "U"}},
	} {
		got, err := parse(sampleOptions(), strings.Fields(c.args))
		if err != nil || !maps.Equal(got, c.want) {
			t.Errorf("%s: got %v, %v, want %v", c.args, got, err, c.want)
		}
	}
}

func TestParseMistakes(t *testing.T) {
	group := append(targetOptions("Broker address", "which cluster"), option{short: "t", arg: true, required: true, help: "topic"})
	for _, c := range []struct {
		opts       []option
		args, want string
	}{
		{sampleOptions(), "", "Missing required option: t"}, {sampleOptions(), "-t", "Missing argument for option: t"},
		{sampleOptions(), "-t -l", "Missing argument for option: t"}, {sampleOptions(), "-zz", "Unrecognized option: -zz"},
		{sampleOptions(), "-t T --list=x", "Unrecognized option: --list=x"}, {sampleOptions(), "-t T -l=x", "Unrecognized option: -l=x"},
		{sampleOptions(), "-t T --a", "Ambiguous option: '--a'  (could be: 'all', 'attributes')"},
		{group, "", "Missing required options: [-b Broker address, -c which cluster], t"},
		{group, "-t T", "Missing required option: [-b Broker address, -c which cluster]"},
		{group, "-b x -c y -t T", "The option 'c' was specified but an option from this group has already been selected: 'b'"},
	} {
		if _, err := parse(c.opts, strings.Fields(c.args)); err == nil || err.Error() != c.want {
			t.Errorf("%s: %v, want %s", c.args, err, c.want)
		}
	}
}

// FuzzParse: no command line panics, and what is accepted has the required option.
func FuzzParse(f *testing.F) {
	for _, s := range []string{"-t T", "-latT -x", "--topic=", "-", "--", "-=", "-t=\"", "--a -bn b -1", "-\xff -t x"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, line string) {
		v, err := parse(sampleOptions(), strings.Split(line, " "))
		if err == nil && !v.has("t") {
			t.Fatalf("%q: accepted without -t: %v", line, v)
		}
	})
}

func TestNumbersAndTimes(t *testing.T) {
	v := values{"a": " 12 ", "b": "x", "c": "3000000000", "d": "TRUE", "e": "yes"}
	if n, err := v.int64("a", 0); n != 12 || err != nil {
		t.Error(n, err)
	}
	if n, err := v.int64("none", 7); n != 7 || err != nil {
		t.Error(n, err)
	}
	if _, err := v.int64("b", 0); err == nil || exceptionText(err) != `java.lang.NumberFormatException: For input string: "x"` {
		t.Error(err)
	}
	if _, err := v.int32("c", 0); err == nil {
		t.Error("3000000000 taken for an int")
	}
	if !v.isTrue("d", false) || v.isTrue("e", true) || !v.isTrue("none", true) {
		t.Error("booleans")
	}
	zone := time.FixedZone("", 3600)
	for s, want := range map[string]int64{"1796049902941": 1796049902941, "-1": -1, "1970-01-01#01:00:01:007": 1007} {
		if ms, err := parseTime(s, zone); ms != want || err != nil {
			t.Errorf("%s: %d, %v, want %d", s, ms, err, want)
		}
	}
	for _, s := range []string{"", "now", "1970-01-01#01:00:01", "1970-01-01#01:00:01:1000", "1970-13-01#01:00:01:000"} {
		if _, err := parseTime(s, zone); err == nil {
			t.Errorf("%q taken for a time", s)
		}
	}
}

func TestJavaNumbers(t *testing.T) {
	for f, want := range map[float64]string{0: "0.0", 12.5: "12.5", 1e7: "1.0E7", 9999999: "9999999.0", 0.001: "0.001", 0.0001: "1.0E-4", 1.25e10: "1.25E10", -3: "-3.0"} {
		if got := javaDouble(f); got != want {
			t.Errorf("javaDouble(%g) = %s, want %s", f, got, want)
		}
	}
	for _, c := range []struct {
		f    float64
		prec int
		want string
	}{{0.125, 2, "0.13"}, {1.005, 2, "1.01"}, {9.999, 2, "10.00"}, {0, 2, "0.00"}, {-0.5, 0, "-1"}, {2, 4, "2.0000"}, {1e10, 1, "10000000000.0"}, {99.95, 1, "100.0"}} {
		if got := javaFixed(c.f, c.prec); got != c.want {
			t.Errorf("javaFixed(%g, %d) = %s, want %s", c.f, c.prec, got, c.want)
		}
	}
}

func TestJavaJSON(t *testing.T) {
	got, err := javaJSON(map[string]any{"a": map[string]string{"0": "x", "b": "<y>"}, "c": []int{}, "d": map[string]int{}, "e": []any{1, "z"}})
	want := "{\n\t\"a\":{\n\t\t0:\"x\",\n\t\t\"b\":\"<y>\"\n\t},\n\t\"c\":[\n\t\t\n\t],\n\t\"d\":{},\n\t\"e\":[\n\t\t1,\n\t\t\"z\"\n\t]\n}"
	if err != nil || got != want {
		t.Errorf("%v\n got %q\nwant %q", err, got, want)
	}
}

func TestCharsets(t *testing.T) {
	for charset, in := range map[string]string{"UTF-8": "hé", "iso-8859-1": "h\xe9", "UTF-16": "\xfe\xff\x00h\x00\xe9", "UTF_16LE": "h\x00\xe9\x00"} {
		if got, err := decodeText([]byte(in), charset); got != "hé" || err != nil {
			t.Errorf("%s: %q, %v", charset, got, err)
		}
	}
	if got, _ := decodeText([]byte("a\xff"), ""); got != "a\uFFFD" {
		t.Errorf("%q", got)
	}
	if _, err := decodeText(nil, "EBCDIC"); err == nil {
		t.Error("EBCDIC accepted")
	}
}
