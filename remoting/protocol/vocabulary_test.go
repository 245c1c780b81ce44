package protocol

import (
	"errors"
	"go/ast"
	"go/parser"
	"go/token"
	"net/netip"
	"strconv"
	"strings"
	"testing"
)

// Every request code constant has one number of its own and a name.
func TestRequestCodesAreNamedAndUnique(t *testing.T) {
	file, err := parser.ParseFile(token.NewFileSet(), "codes_request.go", nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	byNumber := map[int32]string{}
	ast.Inspect(file, func(n ast.Node) bool {
		spec, ok := n.(*ast.ValueSpec)
		if !ok || !strings.HasPrefix(spec.Names[0].Name, "Req") {
			return true
		}
		lit, ok := spec.Values[0].(*ast.BasicLit)
		if !ok {
			t.Fatalf("%s is no literal", spec.Names[0].Name)
		}
		v, err := strconv.Atoi(lit.Value)
		if err != nil {
			t.Fatal(err)
		}
		name := spec.Names[0].Name
		if other, twice := byNumber[int32(v)]; twice {
			t.Errorf("%s and %s are both %d", name, other, v)
		}
		byNumber[int32(v)] = name
		if RequestName(int32(v)) == "" {
			t.Errorf("%s (%d) has no name", name, v)
		}
		return false
	})
	if len(byNumber) != len(requestNames) || len(byNumber) < 170 {
		t.Errorf("%d constants, %d names", len(byNumber), len(requestNames))
	}
	names := map[string]int32{}
	for code, name := range requestNames {
		if other, twice := names[name]; twice {
			t.Errorf("%d and %d are both %s", code, other, name)
		}
		names[name] = code
	}
	if RequestName(-1) != "" || ResponseName(-1) != "" || ResponseName(RespPullNotFound) != "PULL_NOT_FOUND" {
		t.Error("names of unknown codes")
	}
}

func TestVersionNames(t *testing.T) {
	for ordinal, name := range map[int32]string{
		0: "V3_0_0_SNAPSHOT", 15: "V3_0_0_FINAL", 28: "V3_0_7_SNAPSHOT", 37: "V3_0_11", 62: "V3_1_8_SNAPSHOT", 121: "V3_4_9",
		232: "V4_1_0_SNAPSHOT", 317: "V4_5_2", 373: "V4_8_0", 399: "V4_9_3", 401: "V4_9_4", 409: "V4_9_8", 413: "V5_0_0",
		433: "V5_1_0", 441: "V5_1_4", 453: "V5_2_0", 473: "V5_3_0", 475: "V5_3_1", 477: "V5_3_2", 479: "V5_3_3",
		493: "V5_4_0", 513: "V5_5_0", 515: "V5_5_1", 611: "V5_9_9", 612: "HIGHER_VERSION",
	} {
		if got := VersionName(ordinal); got != name {
			t.Errorf("%d is %s, want %s", ordinal, got, name)
		}
	}
	for i := range int32(versionHigher + 1) {
		if back, ok := VersionByName(VersionName(i)); !ok || back != i {
			t.Errorf("%d is %s is %d", i, VersionName(i), back)
		}
	}
	if VersionName(9999) != "HIGHER_VERSION" || VersionName(-1) != "" {
		t.Error("beyond the table")
	}
	for _, bad := range []string{"", "V5", "V5_5_0_", "V5_5_10", "V3_3_0", "V9_0_0", "5_5_0", "V05_5_0"} {
		if n, ok := VersionByName(bad); ok {
			t.Errorf("%q is %d", bad, n)
		}
	}
}

func TestLanguages(t *testing.T) {
	for i := Language(0); i <= LanguageNodeJS; i++ {
		if LanguageByName(i.String()) != i {
			t.Errorf("%d is %s", i, i)
		}
	}
	if LanguageByName("java") != LanguageUnknown || LanguageUnknown.String() != "OTHER" {
		t.Error("unknown names")
	}
}

func TestJavaHash(t *testing.T) {
	for s, want := range map[string]int32{
		"": 0, "a": 97, "TagA": 2598919, "polygenelubricants": -2147483648, "中文": 646394, "😀": 1772899, "é": 233,
	} {
		if got := JavaHash(s); got != want {
			t.Errorf("%q: %d, want %d", s, got, want)
		}
	}
	if TagsCode("polygenelubricants") != -2147483648 || TagsCode("") != 0 {
		t.Error("TagsCode")
	}
}

func TestPermString(t *testing.T) {
	for perm, want := range map[int32]string{0: "---", 2: "-W-", 4: "R--", 6: "RW-", 7: "RWX", 1: "--X", 15: "RWX"} {
		if got := PermString(perm); got != want {
			t.Errorf("%d: %s, want %s", perm, got, want)
		}
	}
	if !PermReadable(4) || PermReadable(2) || !PermWritable(6) || PermWritable(5) {
		t.Error("perm bits")
	}
	if got := WithTransactionType(0x301|SysFlagTransactionPrepared, SysFlagTransactionCommit); got != 0x309 || TransactionType(got) != 8 {
		t.Errorf("%#x", got)
	}
}

func TestCheckNames(t *testing.T) {
	for name, want := range map[string]string{
		"T": "", "a-b_c%d|E9": "", strings.Repeat("t", 127): "", "%RETRY%" + strings.Repeat("g", 248): "",
		"":                                 "The specified topic is blank.",
		"  ":                               "The specified topic is blank.",
		"bad name!":                        "The specified topic: bad name!, contains illegal characters, allowing only ^[%|a-zA-Z0-9_-]+$",
		"../../etc":                        "The specified topic: ../../etc, contains illegal characters, allowing only ^[%|a-zA-Z0-9_-]+$",
		"tópico":                           "The specified topic: tópico, contains illegal characters, allowing only ^[%|a-zA-Z0-9_-]+$",
		strings.Repeat("t", 128):           "The specified topic is longer than topic max length.",
		"%DLQ%" + strings.Repeat("g", 251): "The specified topic is longer than topic max length.",
	} {
		checkName(t, name, CheckTopic(name), want)
	}
	for name, want := range map[string]string{
		strings.Repeat("g", 120): "", "G": "",
		"":                       "The specified group is blank.",
		"bad group!":             "The specified group: bad group!, contains illegal characters, allowing only ^[%|a-zA-Z0-9_-]+$",
		strings.Repeat("g", 121): "The specified group is longer than group max length 120.",
	} {
		checkName(t, name, CheckGroup(name), want)
	}
}

func checkName(t *testing.T, name string, err error, want string) {
	t.Helper()
	got := ""
	if err != nil {
		got = err.Error()
		if ne := (*NameError)(nil); !errors.As(err, &ne) {
			t.Errorf("%q: %T", name, err)
		}
	}
	if got != want {
		t.Errorf("%q: %q, want %q", name, got, want)
	}
}

func TestSystemNames(t *testing.T) {
	for _, n := range append(SystemTopics(), "rmq_sys_wheel_timer", ReviveTopicPrefix+"c") {
		if !IsSystemTopic(n) {
			t.Errorf("%s is a system topic", n)
		}
	}
	if IsSystemTopic("T") || IsSystemTopic("%RETRY%G") || !IsForbiddenTopic(TopicSchedule) || IsForbiddenTopic(DefaultTopic) {
		t.Error("topics")
	}
	if !IsSystemGroup("CID_RMQ_SYS_TRANS") || !IsSystemGroup(GroupTools) || IsSystemGroup("G") {
		t.Error("groups")
	}
	if g, ok := GroupOfRetryTopic(RetryTopic("G")); g != "G" || !ok || !IsRetryTopic("%RETRY%G") || !IsDLQTopic(DLQTopic("G")) {
		t.Error("retry and dead-letter topics")
	}
	if _, ok := GroupOfDLQTopic("T"); ok {
		t.Error("T is no dead-letter topic")
	}
	if PopRetryTopicV1("g", "t") != "%RETRY%g_t" || PopRetryTopicV2("g", "t") != "%RETRY%g+t" || !IsLMQ("%LMQ%q") {
		t.Error("pop retry topics")
	}
}

func TestOffsetMsgID(t *testing.T) {
	for id, c := range map[string]struct {
		host string
		phys int64
	}{
		"7F00000100002A9F00000000000000EB":                         {"127.0.0.1:10911", 0xEB},
		"20010DB8000000000000000000000001000000507FFFFFFFFFFFFFFF": {"[2001:db8::1]:80", 1<<63 - 1},
	} {
		host := netip.MustParseAddrPort(c.host)
		if got := OffsetMsgID(host, c.phys); got != id {
			t.Errorf("%s: %s, want %s", c.host, got, id)
		}
		for _, s := range []string{id, strings.ToLower(id)} {
			if h, p, err := ParseOffsetMsgID(s); err != nil || h != host || p != c.phys {
				t.Errorf("%s: %v %d %v", s, h, p, err)
			}
		}
	}
	for _, bad := range []string{
		"", "7F", strings.Repeat("G", 32), strings.Repeat("0", 33), "7F000001000FFFFF00000000000000EB",
		"7F00000100002A9FFF000000000000EB", strings.Repeat("é", 16),
	} {
		var ie *IDError
		if _, _, err := ParseOffsetMsgID(bad); !errors.As(err, &ie) {
			t.Errorf("%q: %v", bad, err)
		}
	}
	if got := OffsetMsgID(netip.AddrPort{}, 1); got != "00000000000000000000000000000001" {
		t.Errorf("no address: %s", got)
	}
}

func TestProperties(t *testing.T) {
	// An entry without separator, name or value is skipped; the last separator may be missing; further \x01 stay.
	const s = "a\x011\x02b\x02\x01x\x02c\x01\x02\x02d\x012\x013\x02a\x019"
	var got []string
	EachProperty(s, func(n, v string) bool {
		got = append(got, n+"="+v)
		return true
	})
	if strings.Join(got, " ") != "a=1 d=2\x013 a=9" {
		t.Errorf("%q", got)
	}
	n := 0
	EachProperty([]byte(s), func(string, string) bool { n++; return false })
	if n != 1 {
		t.Errorf("went on after false: %d", n)
	}
	if v, ok := Property(s, "a"); v != "9" || !ok {
		t.Errorf("the last one counts: %q %v", v, ok)
	}
	if _, ok := Property([]byte(s), "b"); ok {
		t.Error("b has no value")
	}
	p := ParseProperties(s)
	if len(p) != 2 || string(p.Encode()) != "a\x019\x02d\x012\x013\x02" || Properties(nil).Encode() != nil {
		t.Errorf("%q", p)
	}
	for _, c := range []struct {
		name, value string
		ok          bool
	}{{"a", "b", true}, {"", "b", false}, {"a", "", false}, {"a\x01", "b", false}, {"a", "b\x02", false}} {
		if err := CheckProperty(c.name, c.value); (err == nil) != c.ok {
			t.Errorf("%q=%q: %v", c.name, c.value, err)
		}
	}
	for s, ok := range map[string]bool{
		"": true, "a\x01b": true, "a\x01b\x02": true, "a\x01b\x02\x02": false, "a": false, "a\x01": false,
		"k\x01" + strings.Repeat("v", MaxPropertiesLength-2): true, "k\x01" + strings.Repeat("v", MaxPropertiesLength-1): false,
	} {
		if err := CheckProperties(s); (err == nil) != ok {
			t.Errorf("%.20q of %d bytes: %v", s, len(s), err)
		}
	}
}

func TestPropertyView(t *testing.T) {
	// Every property that the view keeps, by name.
	var v PropertyView
	kept := 0
	for _, name := range allPropertyNames(t) {
		v.Parse(name + "\x01value of " + name + "\x02")
		if slot := v.slot(name); slot != nil {
			kept++
			if *slot != "value of "+name {
				t.Errorf("%s: %q", name, *slot)
			}
		}
		if v.Count != 1 || v.Skipped != 0 || v.MissingTrailingSeparator {
			t.Errorf("%s: %+v", name, v)
		}
	}
	if kept < 38 {
		t.Errorf("only %d kept", kept)
	}
	v.Parse("KEYS\x01k1  k2\x02TAGS\x01old\x02x\x02TAGS\x01TagA\x02DELAY\x013\x02WAIT\x01false")
	var keys []string
	v.EachKey(func(k string) bool { keys = append(keys, k); return true })
	if strings.Join(keys, ",") != "k1,k2" || v.TagsCode() != 2598919 || v.DelayLevel() != 3 || v.WaitsForStore() || v.Skipped != 1 || !v.MissingTrailingSeparator {
		t.Errorf("%q %+v", keys, v)
	}
	v.EachKey(func(k string) bool { keys = append(keys, k); return false })
	if len(keys) != 3 {
		t.Error("went on after false")
	}
	v.Parse("")
	if v != (PropertyView{}) || !v.WaitsForStore() || v.DelayLevel() != 0 {
		t.Errorf("%+v", v)
	}
}

// allPropertyNames reads the constants of property_keys.go.
func allPropertyNames(t *testing.T) []string {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), "property_keys.go", nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	ast.Inspect(file, func(n ast.Node) bool {
		if spec, ok := n.(*ast.ValueSpec); ok && strings.HasPrefix(spec.Names[0].Name, "Property") {
			name, err := strconv.Unquote(spec.Values[0].(*ast.BasicLit).Value)
			if err != nil {
				t.Fatal(err)
			}
			names = append(names, name)
		}
		return true
	})
	return names
}
