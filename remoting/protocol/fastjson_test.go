package protocol

import (
	"encoding/json"
	"errors"
	"math"
	"reflect"
	"strings"
	"testing"
)

func TestNormalizeJSON(t *testing.T) {
	for in, want := range map[string]string{
		`{"a":1}`:                      `{"a":1}`,
		" { \"a\" : 1 } ":              " { \"a\" : 1 } ", // strict already: as it is
		`{0:"a",1:"b"}`:                `{"0":"a","1":"b"}`,
		`{-1:2}`:                       `{"-1":2}`,
		`{a:1,_b$c:2,名:3}`:             `{"a":1,"_b$c":2,"名":3}`,
		`{'a':'b"c'}`:                  `{"a":"b\"c"}`,
		`{"a":[1,2,],}`:                `{"a":[1,2]}`,
		`{,"a":1,,"b":2}`:              `{"a":1,"b":2}`,
		"// x\n{\"a\":/* y */1}// end": `{"a":1}`,
		"{\"a\":\"x\ny\tz\"}":          `{"a":"x\ny\tz"}`,
		`{"a":"\x41\v\0\'"}`:           `{"a":"A\u000B\u0000'"}`,
		`{a:NaN,b:-Infinity,c:undefined,d:Infinity}`:        `{"a":null,"b":null,"c":null,"d":null}`,
		`{a:+1,b:.5,c:1.,d:5L,e:1.0E10,f:2.5D}`:             `{"a":1,"b":0.5,"c":1,"d":5,"e":1.0E10,"f":2.5}`,
		`{{"brokerName":"b","queueId":0,"topic":"t"}:5}`:    `{"{\"brokerName\":\"b\",\"queueId\":0,\"topic\":\"t\"}":5}`,
		`{ { "topic" : "t" , queueId : 0 } : {"x":{0:1}} }`: `{"{\"topic\":\"t\",\"queueId\":0}":{"x":{"0":1}}}`,
		`{{"a":1}:{{"b":2}:3}}`:                             `{"{\"a\":1}":{"{\"b\":2}":3}}`,
		`{[1,{}]:2}`:                                        `{"[1,{}]":2}`,
		"\xEF\xBB\xBF{a:1}":                                 `{"a":1}`,
		`{null:1,true:2}`:                                   `{"null":1,"true":2}`,
	} {
		got, err := NormalizeJSON([]byte(in))
		if err != nil || string(got) != want {
			t.Errorf("%s: %s, %v, want %s", in, got, err, want)
		}
		if err == nil && !json.Valid(got) {
			t.Errorf("%s: not strict: %s", in, got)
		}
	}
	for _, in := range []string{
		``, `{`, `}`, `{a}`, `{a:}`, `{a:1`, `{a:1 b:2}`, `[1 2]`, `[1`, `{a:x}`, `{'a:1}`, `{a:'x`, `{a:"\q"}`, `{a:1}{`, `{:1}`, `/*`, `{a:1}/`,
		`{a:--1}`, `{a:1x}`, `{{{"a":1}:2}:3}`, strings.Repeat("[", 200) + strings.Repeat("]", 200) + ",", `{a:.}`, `{a:+}`,
		strings.Repeat("{a:", 200),
	} {
		var se *SyntaxError
		if got, err := NormalizeJSON([]byte(in)); !errors.As(err, &se) {
			t.Errorf("%.40s: %s, %v", in, got, err)
		}
	}
}

func TestMarshalFast(t *testing.T) {
	type inner struct {
		B int `json:"b"`
	}
	type nested struct {
		inner
		Z     string             `json:"z"`
		A     []int              `json:"a"`
		M     map[int64]string   `json:"m"`
		Nil   map[string]int     `json:"nil"`
		F     float64            `json:"f"`
		P     *int               `json:"p,omitempty"`
		Self  *nested            `json:"self,omitempty"`
		Any   any                `json:"any"`
		Lang  Language           `json:"lang"`
		Bytes []byte             `json:"bytes"`
		Raw   json.RawMessage    `json:"raw"`
		U     uint8              `json:"u"`
		Skip  string             `json:"-"`
		Float map[string]float32 `json:"float"`
		plain int
	}
	one := 1
	v := nested{
		inner: inner{2}, Z: "<é\n>", M: map[int64]string{10: "x", 2: "y", -1: "z"}, F: 3, P: &one, Self: &nested{}, Any: []any{"s", nil, true},
		Lang: LanguageGo, Bytes: []byte{5}, Raw: json.RawMessage(`{"r":1}`), U: 255, Float: map[string]float32{"h": 0.5},
	}
	got, err := MarshalFast(v)
	const empty = `{"a":[],"any":null,"b":0,"bytes":"","f":0.0,"float":{},"lang":"JAVA","m":{},"nil":{},"raw":null,"u":0,"z":""}`
	const want = `{"a":[],"any":["s",null,true],"b":2,"bytes":"BQ==","f":3.0,"float":{"h":0.5},"lang":"GO","m":{"-1":"z","2":"y","10":"x"},` +
		`"nil":{},"p":1,"raw":{"r":1},"self":` + empty + `,"u":255,"z":"<é\n>"}`
	if err != nil || string(got) != want {
		t.Errorf("%s\n%s\n%v", got, want, err)
	}
	for _, bad := range []any{map[bool]int{}, make(chan int), struct{ F func() }{}} {
		if b, err := MarshalFast(bad); err == nil {
			t.Errorf("%T is written as %s", bad, b)
		}
	}
	if b, err := MarshalFast(nil); string(b) != "null" || err != nil {
		t.Errorf("%s, %v", b, err)
	}
}

func TestJavaDoubles(t *testing.T) {
	for f, want := range map[float64]string{
		0: "0.0", 1: "1.0", -2.5: "-2.5", 1e10: "1.0E10", 12345678: "1.2345678E7", 9999999: "9999999.0", 0.001: "0.001", 0.0001: "1.0E-4",
		math.Inf(1): "null", 1.5e-300: "1.5E-300",
	} {
		if got := string(appendJavaDouble(nil, f)); got != want {
			t.Errorf("%v: %s, want %s", f, got, want)
		}
	}
	if got := string(appendJavaDouble(nil, math.NaN())); got != "null" {
		t.Error(got)
	}
}

const javaReset = `{"offsetTable":{{"brokerName":"b","queueId":0,"topic":"T"}:5,{"brokerName":"b","queueId":1,"topic":"T"}:7}}`

func TestMessageQueueMapForms(t *testing.T) {
	want := MessageQueueMap[int64]{{"b", 0, "T"}: 5, {"b", 1, "T"}: 7}
	for name, in := range map[string]string{
		"Java":            javaReset,
		"Java, spaces":    `{ "offsetTable" : { { "brokerName":"b", "queueId":0, "topic":"T" } : 5 , {"topic":"T","queueId":1,"brokerName":"b"}:7 } }`,
		"string keys":     `{"offsetTable":{"{\"brokerName\":\"b\",\"queueId\":0,\"topic\":\"T\"}":5,"{\"brokerName\":\"b\",\"queueId\":1,\"topic\":\"T\"}":7}}`,
		"pairs":           `{"offsetTable":[[{"topic":"T","brokerName":"b","queueId":0},5],[{"topic":"T","brokerName":"b","queueId":1},7]]}`,
		"C++":             `{"offsetTable":[{"brokerName":"b","offset":5,"queueId":0,"topic":"T"},{"brokerName":"b","offset":7,"queueId":1,"topic":"T"}]}`,
		"bare and single": `{offsetTable:{{brokerName:'b',queueId:0,topic:'T'}:5,{brokerName:'b',queueId:1,topic:'T'}:7}}`,
	} {
		var b ResetOffsetBody
		if err := UnmarshalFast([]byte(in), &b); err != nil || !reflect.DeepEqual(b.OffsetTable, want) {
			t.Errorf("%s: %v, %v", name, b, err)
		}
	}
	b := ResetOffsetBody{OffsetTable: want}
	if got, err := MarshalFast(b); string(got) != javaReset || err != nil {
		t.Errorf("%s, %v", got, err)
	}
	if got, err := MarshalFast(&b); string(got) != javaReset || err != nil {
		t.Errorf("%s, %v", got, err)
	}
	if got, err := b.MarshalCPP(); string(got) != `{"offsetTable":[{"brokerName":"b","offset":5,"queueId":0,"topic":"T"},{"brokerName":"b","offset":7,"queueId":1,"topic":"T"}]}` || err != nil {
		t.Errorf("%s, %v", got, err)
	}
	if got, err := b.MarshalPairs(); string(got) != `{"offsetTable":[[{"brokerName":"b","queueId":0,"topic":"T"},5],[{"brokerName":"b","queueId":1,"topic":"T"},7]]}` || err != nil {
		t.Errorf("%s, %v", got, err)
	}
	strict, err := json.Marshal(b)
	if err != nil {
		t.Fatal(err)
	}
	var back ResetOffsetBody
	if err := json.Unmarshal(strict, &back); err != nil || !reflect.DeepEqual(back, b) {
		t.Errorf("json.Marshal: %s, %v", strict, err)
	}
	if got, err := MarshalFast(ResetOffsetBody{}); string(got) != `{"offsetTable":{}}` || err != nil {
		t.Errorf("%s, %v", got, err)
	}
	for _, in := range []string{`{"offsetTable":{}}`, `{"offsetTable":null}`, `{}`, `{"offsetTable":[]}`} {
		var e ResetOffsetBody
		if err := UnmarshalFast([]byte(in), &e); err != nil || len(e.OffsetTable) != 0 {
			t.Errorf("%s: %v, %v", in, e, err)
		}
	}
	for _, in := range []string{`{"offsetTable":{"x":1}}`, `{"offsetTable":5}`, `{"offsetTable":[[1,2]]}`, `{"offsetTable":{{"topic":"T"}:"x"}}`} {
		var e ResetOffsetBody
		if err := UnmarshalFast([]byte(in), &e); err == nil {
			t.Errorf("%s: %v", in, e)
		}
	}
}

func TestQueuesAreSortedAsInJava(t *testing.T) {
	m := MessageQueueMap[int]{{"b", 1, "B"}: 0, {"a", 2, "B"}: 0, {"z", 0, "A"}: 0, {"a", 10, "B"}: 0}
	got := m.SortedQueues()
	want := []MessageQueue{{"z", 0, "A"}, {"a", 2, "B"}, {"a", 10, "B"}, {"b", 1, "B"}}
	if !reflect.DeepEqual(got, want) {
		t.Error(got)
	}
	if s := want[0].String(); s != "MessageQueue [topic=A, brokerName=z, queueId=0]" {
		t.Error(s)
	}
}

func TestReferencesAreResolved(t *testing.T) {
	var w struct {
		A, B, C, D, E, F DataVersion
		L                []DataVersion
		M                map[string]DataVersion
	}
	in := `{"a":{"counter":1,"stateVersion":2,"timestamp":3},"b":{"$ref":"$.a"},l:[{"$ref":"$.a"},{"counter":9}],
		"c":{"$ref":"$.l[1]"},"d":{"$ref":"$.nowhere.x"},"e":{"$ref":".."},"m":{"k":{"counter":7}},"f":{"$ref":"$.m['k']"}}`
	if err := UnmarshalFast([]byte(in), &w); err != nil {
		t.Fatal(err)
	}
	if w.B != (DataVersion{1, 2, 3}) || w.L[0] != w.B || w.C.Counter != 9 || w.D != (DataVersion{}) || w.E != w.D || w.F.Counter != 7 {
		t.Errorf("%+v", w)
	}
	// Cycles and bombs end.
	for _, in := range []string{
		`{"a":{"$ref":"$"}}`, `{"a":{"$ref":"$.a"}}`, `{"a":{"$ref":"$.b"},"b":{"$ref":"$.a"}}`, `{"$ref":"$"}`, `{"a":{"$ref":"$.a["}}`,
		`{"a":{"x":[` + strings.Repeat(`{"$ref":"$.b"},`, 5000) + `0]},"b":[` + strings.Repeat("1,", 200) + `1]}`,
	} {
		var v any
		if err := UnmarshalFast([]byte(in), &v); err != nil {
			t.Errorf("%.40s: %v", in, err)
		}
	}
}

func TestUnmarshalFastReportsErrors(t *testing.T) {
	var h HeartbeatData
	for _, in := range []string{``, `{`, `{"clientID":[5]}`, `{"consumerDataSet":{}}`, `{"$ref":"$.a"`} {
		if err := UnmarshalFast([]byte(in), &h); err == nil {
			t.Errorf("%s decodes", in)
		}
	}
}
