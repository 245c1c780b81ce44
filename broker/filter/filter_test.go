package filter

import (
	"errors"
	"net/netip"
	"slices"
	"testing"

	"github.com/seedmq/seedmq/broker/filter/sql"
	"github.com/seedmq/seedmq/remoting/protocol"
	"github.com/seedmq/seedmq/store"
)

func TestParse(t *testing.T) {
	for _, c := range []struct {
		expr string
		tags []string
		all  bool
	}{
		{"", nil, true}, {"*", nil, true}, {" * ", nil, true},
		{"a", []string{"a"}, false}, {"a||b", []string{"a", "b"}, false}, {" a || b ||", []string{"a", "b"}, false},
		{"||", nil, false}, {"a|b", []string{"a|b"}, false},
	} {
		if tags, all := Parse(c.expr); !slices.Equal(tags, c.tags) || all != c.all {
			t.Errorf("%q: got %q, %v", c.expr, tags, all)
		}
	}
}

func record(topic, props string, v6 bool) []byte {
	host := netip.MustParseAddrPort("192.0.2.1:10911")
	m := protocol.RecordFields{Topic: topic, Properties: props, Body: []byte("body"), BornHost: host, StoreHost: host}
	if v6 {
		m.BornHost = netip.MustParseAddrPort("[2001:db8::1]:10911")
	}
	return protocol.AppendRecord(nil, &m)
}

func TestExactTag(t *testing.T) {
	f, err := Compile("Aa || x", "")
	if err != nil {
		t.Fatal(err)
	}
	if protocol.TagsCode("Aa") != protocol.TagsCode("BB") {
		t.Fatal("the pair does not collide")
	}
	long := string(make([]byte, 200))
	for _, c := range []struct {
		tag         string
		rec         []byte
		code, exact bool
	}{
		{"Aa", record("T", "KEYS\x01k\x02TAGS\x01Aa\x02", false), true, true},
		{"BB", record("T", "KEYS\x01k\x02TAGS\x01BB\x02", false), true, false},
		{"x", record("T", "TAGS\x01x", true), true, true}, // IPv6, no last separator
		{"x", record(long, "a\x01b\x02TAGS\x01x\x02", false), true, true},
		{"y", record("T", "TAGS\x01y\x02XTAGS\x01Aa\x02TAGS2\x01Aa\x02", false), false, false},
		{"", record("T", "", false), false, false},
		{"Aa", record("T", "TAGS\x01Aa\x02", false)[:60], true, false},
	} {
		if got := f.MatchTagsCode(protocol.TagsCode(c.tag)); got != c.code {
			t.Errorf("%q: code matches: %v", c.tag, got)
		}
		if got := f.MatchRecord(c.rec); got != c.exact {
			t.Errorf("%q in %q: record matches: %v", c.tag, c.rec, got)
		}
	}
}

func TestAllNeedsNoFilter(t *testing.T) {
	if f, err := Compile("*", protocol.ExpressionTag); f != nil || err != nil {
		t.Fatal(f, err)
	}
	if _, err := Compile("a > 5", "SQL93"); !errors.Is(err, ErrUnsupported) {
		t.Fatal(err)
	}
}

func TestSQL(t *testing.T) {
	c := NewCompiler()
	f, err := c.Compile("a > 5 AND TAGS = 'x'", protocol.ExpressionSQL92)
	if err != nil {
		t.Fatal(err)
	}
	for _, x := range []struct {
		rec  []byte
		want bool
	}{
		{record("T", "a\x015.5\x02TAGS\x01x\x02", false), true},
		{record("T", "a\x015\x02TAGS\x01x\x02", false), false},
		{record("T", "TAGS\x01x\x02a\x016", true), true},
		{record("T", "", false), false},
		{record("T", "a\x016\x02TAGS\x01x\x02", false)[:80], false},
	} {
		if !f.MatchTagsCode(0) || f.MatchRecord(x.rec) != x.want {
			t.Errorf("%q: not %v", x.rec, x.want)
		}
	}
	rec := record("T", "KEYS\x01k\x02TAGS\x01x\x02a\x015.5\x02", false)
	if n := testing.AllocsPerRun(100, func() { f.MatchRecord(rec) }); n > 0 {
		t.Errorf("%v allocations", n)
	}
	var e *sql.Error
	if _, err := c.Compile("a >", protocol.ExpressionSQL92); !errors.As(err, &e) || e.Column != 4 {
		t.Error(err)
	}
}

func TestRetry(t *testing.T) {
	wanted, _ := Compile("a > 5", protocol.ExpressionSQL92)
	tags, _ := Compile("x", "TAG")
	f := &Retry{Wanted: func(topic string) store.Filter { return map[string]store.Filter{"SQL": wanted, "TAG": tags}[topic] }}
	for props, want := range map[string]bool{
		"RETRY_TOPIC\x01SQL\x02a\x016\x02": true, "RETRY_TOPIC\x01SQL\x02a\x014\x02": false, "RETRY_TOPIC\x01TAG\x02TAGS\x01y\x02": true,
		"RETRY_TOPIC\x01other\x02": true, "a\x014\x02": true,
	} {
		if got := f.MatchRecord(record("%RETRY%g", props, false)); got != want || !f.MatchTagsCode(1) {
			t.Errorf("%q: %v", props, got)
		}
	}
}

func TestMatchDoesNotAllocate(t *testing.T) {
	f, _ := Compile("a||b", "TAG")
	rec := record("T", "KEYS\x01k\x02TAGS\x01b\x02", false)
	if n := testing.AllocsPerRun(100, func() { f.MatchTagsCode(98); f.MatchRecord(rec) }); n > 0 {
		t.Fatalf("%v allocations", n)
	}
}

// FuzzRecordTag: no panic, and what is found is what the full decoder finds.
func FuzzRecordTag(f *testing.F) {
	f.Add(record("T", "KEYS\x01k\x02TAGS\x01b\x02", false))
	f.Add(record("T", "TAGS\x01b\x02TAGS\x01c", true))
	f.Add([]byte{1, 2, 3})
	f.Fuzz(func(t *testing.T, rec []byte) {
		tag, ok := recordTag(rec)
		var v protocol.MessageView
		if _, err := protocol.DecodeMessage(rec, &v); err != nil {
			return
		}
		var view protocol.PropertyView
		view.Parse(string(v.Properties))
		if ok != (view.Tags != "") || string(tag) != view.Tags {
			t.Fatalf("tag %q (%v), the decoder says %q", tag, ok, view.Tags)
		}
	})
}
