package protocol

import (
	"encoding/binary"
	"errors"
	"strings"
	"testing"
)

// jsonFrame wraps header text and body into a frame without its length word.
func jsonFrame(header, body string) []byte {
	b := binary.BigEndian.AppendUint32(nil, uint32(len(header)))
	return append(append(b, header...), body...)
}

func TestFrameLength(t *testing.T) {
	for _, c := range []struct {
		word string
		max  int
		want int
	}{
		{"\x00\x00\x00\x04", 100, 8},
		{"\x00\x00\x00\x60", 100, 100},
		{"\x00\x00\x00\x61", 100, -1},
		{"\x00\x00\x00\x03", 100, -1},
		{"\x00\x00\x00\x00", 100, -1},
		{"\xff\xff\xff\xff", 100, -1},
		{"\x7f\xff\xff\xff", MaxFrameLength, -1},
		{"GET ", MaxFrameLength, -1},
		{"\x00\x00\x00", 100, -1},
	} {
		n, err := FrameLength([]byte(c.word), c.max)
		if c.want < 0 {
			if !isFrameError(err) {
				t.Errorf("%q: %d, %v", c.word, n, err)
			}
		} else if n != c.want || err != nil {
			t.Errorf("%q: %d, %v, want %d", c.word, n, err, c.want)
		}
	}
}

func TestDecodeFrameRefuses(t *testing.T) {
	for name, c := range map[string]struct {
		frame []byte
		want  string
	}{
		"no header length":    {[]byte{0, 0, 0}, "no room"},
		"header beyond frame": {[]byte{0, 0, 0, 9, '{', '}'}, "longer than its frame"},
		"unknown serializer":  {[]byte{7, 0, 0, 2, '{', '}'}, "unknown serialize type"},
		"empty header":        {[]byte{0, 0, 0, 0}, "no object"},
		"binary too short":    {append([]byte{1, 0, 0, 3}, 0, 1, 2), "too short"},
	} {
		var c2 Command
		if err := DecodeFrame(c.frame, &c2); !isFrameError(err) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestJSONHeaderForms(t *testing.T) {
	for name, header := range map[string]string{
		"compact":          `{"code":11,"extFields":{"a":"1","b":"x"},"flag":2,"language":"CPP","opaque":-5,"remark":"r","version":401}`,
		"white space":      "\t{ \"code\" : 11 , \"extFields\" : { \"a\" : \"1\" ,\n \"b\":\"x\" } , \"flag\":2,\"language\":\"CPP\",\"opaque\":-5,\"remark\":\"r\",\"version\":401 }\n",
		"other order":      `{"version":401,"remark":"r","opaque":-5,"language":"CPP","flag":2,"extFields":{"b":"x","a":"1"},"code":11}`,
		"numbers in ext":   `{"code":11,"extFields":{"a":1,"b":"x"},"flag":2,"language":"CPP","opaque":-5,"remark":"r","version":401}`,
		"null field":       `{"code":11,"extFields":{"a":"1","b":"x","c":null},"flag":2,"language":"CPP","opaque":-5,"remark":"r","version":401}`,
		"unknown keys":     `{"code":11,"x":{"y":[1,{"z":"}"}]},"extFields":{"a":"1","b":"x"},"z":null,"flag":2,"language":"CPP","opaque":-5,"remark":"r","version":401,"w":true}`,
		"quoted numbers":   `{"code":"11","extFields":{"a":"1","b":"x"},"flag":"2","language":"CPP","opaque":"-5","remark":"r","version":"401"}`,
		"escapes":          `{"code":11,"extFields":{"\u0061":"\u0031","b":"\u0078"},"flag":2,"language":"CPP","opaque":-5,"remark":"\u0072","version":401}`,
		"single quotes":    `{'code':11,'extFields':{'a':'1','b':'x'},'flag':2,'language':'CPP','opaque':-5,'remark':'r','version':401}`,
		"field twice":      `{"code":11,"extFields":{"a":"0","b":"x","a":"1"},"flag":2,"language":"CPP","opaque":-5,"remark":"r","version":401}`,
		"extFields twice":  `{"code":11,"extFields":{"q":"0"},"extFields":{"a":"1","b":"x"},"flag":2,"language":"CPP","opaque":-5,"remark":"r","version":401}`,
		"trailing commas":  `{"code":11,"extFields":{"a":"1","b":"x",},"flag":2,"language":"CPP","opaque":-5,"remark":"r","version":401,}`,
		"space in between": `{"code":11,"extFields":{"a":"1", "b":"x"},"flag":2,"language":"CPP","opaque":-5,"remark":"r","version":401}`,
	} {
		var c Command
		if err := DecodeFrame(jsonFrame(header, "body"), &c); err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		want := Command{
			Code: 11, Flag: 2, Language: LanguageCPP, Opaque: -5, Remark: "r", Version: 401, Body: []byte("body"),
			Ext: ExtFields{{"a", "1"}, {"b", "x"}},
		}
		if err := sameCommand(&want, &c); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestJSONHeaderRefuses(t *testing.T) {
	for _, header := range []string{
		``, `[]`, `{`, `{"code"`, `{"code":`, `{"code":1`, `{"code":1,`, `{"code":1}x`, `{code:1}`, `{"code":x}`,
		`{"code":2147483648}`, `{"code":1.5}`, `{"code":99999999999999999999}`, `{"code":1e3}`, `{"opaque":-2147483649}`,
		`{"extFields":[]}`, `{"extFields":"x"}`, `{"extFields":{"a"}}`, `{"extFields":{"a":"b}`, `{"extFields":{"a":"b"`,
		`{"extFields":{"a":"\q"}}`, `{"extFields":{"a":"\u12"}}`, `{"extFields":{"a":"\`, `{"extFields":{"a":"b""c":"d"}}`,
		`{"extFields":{"a":"b" "c":"d"}}`, `{"x":` + strings.Repeat("[", 1000) + strings.Repeat("]", 1000) + `}`,
	} {
		var c Command
		if err := DecodeFrame(jsonFrame(header, ""), &c); !isFrameError(err) {
			t.Errorf("%.60s: %v", header, err)
		}
	}
}

func TestTooManyFieldsAreRefused(t *testing.T) {
	for _, separator := range []string{",", ", "} {
		header := `{"extFields":{"":""` + strings.Repeat(separator+`"":""`, MaxExtFields) + `}}`
		var c Command
		if err := DecodeFrame(jsonFrame(header, ""), &c); !isFrameError(err) {
			t.Errorf("separator %q: %v", separator, err)
		}
	}
	many := make(ExtFields, MaxExtFields+1)
	for i := range many {
		many[i].Key = "k"
	}
	var c Command
	frame := AppendFrame(nil, &Command{Serialize: SerializeRocketMQ, Ext: many})
	if err := DecodeFrame(frame[4:], &c); !isFrameError(err) {
		t.Error(err)
	}
}

func TestJSONStringsUnescape(t *testing.T) {
	for in, want := range map[string]string{
		`\"\\\/\b\f\n\r\t`:   "\"\\/\b\f\n\r\t",
		`\u00e9\u4e2d`:       "é中",
		`\ud83d\ude00!`:      "😀!",
		`\ud83d!`:            "\uFFFD!",
		`\ud83d\u0041`:       "\uFFFDA",
		`\u0001k\u0002`:      "\x01k\x02",
		`\x41\v\0\'`:         "A\v\x00'",
		"raw\nnewline\x01":   "raw\nnewline\x01",
		"日本語 plain":          "日本語 plain",
		`0123456\u0037`:      "01234567",
		`01234567\n01234567`: "01234567\n01234567",
		`\u007f\u007F\u0080`: "\x7f\x7f\u0080",
	} {
		var c Command
		if err := DecodeFrame(jsonFrame(`{"remark":"`+in+`","extFields":{"k":"`+in+`"}}`, ""), &c); err != nil {
			t.Errorf("%s: %v", in, err)
			continue
		}
		if v, _ := c.Ext.Get("k"); c.Remark != want || v != want {
			t.Errorf("%s: %q and %q, want %q", in, c.Remark, v, want)
		}
	}
}

// Strings of one decode stay apart although escaped ones share a buffer that grows.
func TestEscapedStringsDoNotOverlap(t *testing.T) {
	want := Command{Remark: "\x01" + strings.Repeat("r", 500)}
	for i := range 40 {
		want.Ext = append(want.Ext, ExtField{strings.Repeat("\x02", i+1), strings.Repeat("\n", 50*i)})
	}
	frame := AppendFrame(nil, &want)
	var c Command
	for range 3 {
		if err := DecodeFrame(frame[4:], &c); err != nil {
			t.Fatal(err)
		}
		if err := sameCommand(&want, &c); err != nil {
			t.Fatal(err)
		}
	}
}

func TestUnknownLanguages(t *testing.T) {
	var c Command
	if err := DecodeFrame(jsonFrame(`{"language":"COBOL"}`, ""), &c); err != nil || c.Language != LanguageUnknown {
		t.Errorf("%v, %v", c.Language, err)
	}
	frame := AppendFrame(nil, &Command{Serialize: SerializeRocketMQ})
	frame[10] = 77
	if err := DecodeFrame(frame[4:], &c); err != nil || c.Language != LanguageUnknown {
		t.Errorf("%v, %v", c.Language, err)
	}
	for _, s := range []SerializeType{SerializeJSON, SerializeRocketMQ} {
		c.Serialize = s
		var back Command
		if err := DecodeFrame(AppendFrame(nil, &c)[4:], &back); err != nil || back.Language != LanguageOther {
			t.Errorf("%v, %v", back.Language, err)
		}
	}
}

// Request codes beyond 16 bits survive the binary header, reply codes in the same range stay what they are.
func TestBinaryHeaderWrapsCodes(t *testing.T) {
	for code := range requestNames {
		for _, flag := range []int32{0, FlagOneway, FlagResponse} {
			if flag == FlagResponse && code > 32767 {
				continue
			}
			frame := AppendFrame(nil, &Command{Code: code, Flag: flag, Serialize: SerializeRocketMQ})
			var c Command
			if err := DecodeFrame(frame[4:], &c); err != nil || c.Code != code {
				t.Errorf("code %d became %d, %v", code, c.Code, err)
			}
		}
	}
	if got := int16(binary.BigEndian.Uint16(AppendFrame(nil, &Command{Code: 200050, Serialize: SerializeRocketMQ})[8:])); got != 3442 {
		t.Errorf("200050 is written as %d, want 3442", got)
	}
	frame := AppendFrame(nil, &Command{Code: 3442, Flag: FlagResponse, Serialize: SerializeRocketMQ})
	var c Command
	if err := DecodeFrame(frame[4:], &c); err != nil || c.Code != 3442 {
		t.Errorf("reply code 3442 became %d, %v", c.Code, err)
	}
}

func TestBinaryHeaderRefuses(t *testing.T) {
	good := AppendFrame(nil, &Command{Serialize: SerializeRocketMQ, Remark: "rem", Ext: ExtFields{{"key", "value"}}})[4:]
	for i := range len(good) - 4 { // every cut of the header
		cut := append([]byte(nil), good[:4+i]...)
		binary.BigEndian.PutUint32(cut, 1<<24|uint32(i))
		var c Command
		if err := DecodeFrame(cut, &c); !isFrameError(err) {
			t.Errorf("cut to %d bytes: %v", i, err)
		}
	}
	for name, at := range map[string]int{"remark": 4 + 13, "fields": 4 + 20, "key": 4 + 24, "value": 4 + 29} {
		bad := append([]byte(nil), good...)
		bad[at] = 0x7F
		var c Command
		if err := DecodeFrame(bad, &c); !isFrameError(err) {
			t.Errorf("%s length 0x7F…: %v", name, err)
		}
		bad[at] = 0xFF
		if err := DecodeFrame(bad, &c); !isFrameError(err) {
			t.Errorf("negative %s length: %v", name, err)
		}
	}
}

func TestCloneIsIndependent(t *testing.T) {
	for _, fields := range []int{0, 3, inlineExt, inlineExt + 1} {
		want := Command{Code: 1, Remark: "remark \x01", Body: []byte("body")}
		for range fields {
			want.Ext = append(want.Ext, ExtField{"key", "value\n"})
		}
		frame := AppendFrame(nil, &want)
		var c Command
		if err := DecodeFrame(frame[4:], &c); err != nil {
			t.Fatal(err)
		}
		n := c.Clone()
		for i := range frame {
			frame[i] = 'X'
		}
		if err := DecodeFrame(jsonFrame(`{"remark":"\u0041\u0042\u0043\u0044","extFields":{"z":"\u0041\u0042"}}`, "other"), &c); err != nil {
			t.Fatal(err)
		}
		want.Language, n.Language = 0, 0
		if err := sameCommand(&want, n); err != nil {
			t.Errorf("%d fields: %v", fields, err)
		}
	}
	if n := (&Command{}).Clone(); n.Ext != nil || n.Body != nil {
		t.Errorf("%+v", n)
	}
}

func TestNewRequest(t *testing.T) {
	c := NewRequest(ReqGetMinOffset, &GetMinOffsetRequestHeader{Topic: "T", QueueID: 7}, nil)
	var back Command
	if err := DecodeFrame(AppendFrame(nil, c)[4:], &back); err != nil {
		t.Fatal(err)
	}
	if back.Version != 513 || back.Language != LanguageGo || back.IsResponse() || back.IsOneway() {
		t.Errorf("%+v", back)
	}
	if q, _ := back.Ext.Get("queueId"); q != "7" {
		t.Errorf("%q", back.Ext)
	}
}

func TestFieldErrorsNameTheField(t *testing.T) {
	full := ExtFields{{"topic", "T"}, {"queueId", "3"}, {"timestamp", "5"}}
	var h SearchOffsetByTimestampRequestHeader
	if err := h.DecodeExt(full); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		ext    ExtFields
		field  string
		reason string
	}{
		"missing":      {ExtFields{{"topic", "T"}, {"timestamp", "5"}}, "queueId", "missing"},
		"empty number": {ExtFields{{"topic", "T"}, {"queueId", ""}, {"timestamp", "5"}}, "queueId", "missing"},
		"word":         {ExtFields{{"topic", "T"}, {"queueId", "x"}, {"timestamp", "5"}}, "queueId", "not a 32-bit integer"},
		"too big":      {ExtFields{{"topic", "T"}, {"queueId", "2147483648"}, {"timestamp", "5"}}, "queueId", "not a 32-bit integer"},
		"64 bits":      {ExtFields{{"topic", "T"}, {"queueId", "1"}, {"timestamp", "9223372036854775808"}}, "timestamp", "not a 64-bit integer"},
		"no topic":     {ExtFields{{"queueId", "1"}, {"timestamp", "1"}}, "topic", "missing"},
	} {
		err := h.DecodeExt(c.ext)
		var fe *FieldError
		if !errors.As(err, &fe) || fe.Field != c.field || fe.Reason != c.reason || !strings.Contains(err.Error(), c.field) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestHeaderOddities(t *testing.T) {
	var d DeleteSubscriptionGroupRequestHeader
	if err := d.DecodeExt(ExtFields{{"groupName", "g"}, {"removeOffset", "TRUE"}}); err != nil || !d.CleanOffset.Or(false) {
		t.Errorf("4.9's removeOffset: %+v, %v", d, err)
	}
	if err := d.DecodeExt(ExtFields{{"groupName", "g"}, {"cleanOffset", "yes"}}); err != nil || d.CleanOffset != Some(false) {
		t.Errorf("a bool that is no bool is false, as in Java: %+v, %v", d, err)
	}
	var all GetAllTopicConfigRequestHeader
	if err := all.DecodeExt(nil); err != nil {
		t.Errorf("4.9 sends no header: %v", err)
	}
	var p PullMessageRequestHeader
	if err := p.DecodeExt(ExtFields{
		{"consumerGroup", "g"}, {"topic", "T"}, {"queueId", "0"}, {"queueOffset", "-1"}, {"maxMsgNums", "32"}, {"sysFlag", "3"},
		{"maxMsgBytes", ""}, {"future", "x"},
	}); err != nil || p.MaxMsgBytes.OK || p.QueueOffset != -1 {
		t.Errorf("%+v, %v", p, err)
	}
	w := AppendFrame(nil, &Command{Header: &SendMessageV2RequestHeader{Topic: "T"}})
	for _, absent := range []string{`"i":`, `"j":`, `"k":`, `"n":`} {
		if strings.Contains(string(w), absent) {
			t.Errorf("field %s is written although unset: %s", absent, w[8:])
		}
	}
}

func TestParseInt(t *testing.T) {
	for s, want := range map[string]int64{
		"0": 0, "-0": 0, "+7": 7, "-1": -1, "007": 7, "9223372036854775807": 1<<63 - 1, "-9223372036854775808": -1 << 63,
		"00000000000000000000000000012": 12, "00000000000000000000000": 0,
	} {
		if n, ok := parseInt64(s); !ok || n != want {
			t.Errorf("%s: %d, %v", s, n, ok)
		}
	}
	for _, s := range []string{"", "-", "+", "1 ", " 1", "1.0", "0x1", "9223372036854775808", "-9223372036854775809", "99999999999999999999", "--1", "１"} {
		if n, ok := parseInt64(s); ok {
			t.Errorf("%q reads as %d", s, n)
		}
	}
	if n, ok := parseInt32("-2147483648"); !ok || n != -1<<31 {
		t.Error(n, ok)
	}
	if _, ok := parseInt32("2147483648"); ok {
		t.Error("33 bits")
	}
}
