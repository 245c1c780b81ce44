package protocol

import (
	"bytes"
	"encoding/json"
	"net/netip"
	"testing"
)

// sendFrame is a SEND_MESSAGE_V2 frame as encoding/json lays it out: keys of the header in the order of a struct, the
// separators of the properties escaped.
func sendFrame(tb testing.TB, bodySize int) []byte {
	tb.Helper()
	header, err := json.Marshal(struct {
		Code     int               `json:"code"`
		Flag     int               `json:"flag"`
		Language string            `json:"language"`
		Opaque   int32             `json:"opaque"`
		SerType  string            `json:"serializeTypeCurrentRPC"`
		Version  int               `json:"version"`
		Ext      map[string]string `json:"extFields"`
	}{310, 0, "JAVA", 1000000000, "JSON", 453, map[string]string{
		"a": "mqload", "b": "BenchTopic", "c": "TBW102", "d": "4", "e": "3", "f": "0", "g": "1796047506585", "h": "0",
		"i": "KEYS\x01k\x02TAGS\x01a\x02WAIT\x01true", "j": "0", "k": "false", "l": "0", "m": "false", "n": "b",
	}})
	if err != nil {
		tb.Fatal(err)
	}
	f := []byte{0, 0, 0, 0, 0, 0, byte(len(header) >> 8), byte(len(header))}
	f = append(f, header...)
	f = append(f, bytes.Repeat([]byte("x"), bodySize)...)
	n := len(f) - 4
	f[2], f[3] = byte(n>>8), byte(n)
	return f
}

var sendReply = Command{
	Code: RespSuccess, Language: LanguageGo, Version: CurrentVersion, Opaque: 1000000063, Flag: FlagResponse,
	Header: &SendMessageResponseHeader{
		MsgID: "7F00000100002A9F00000000000000EB", QueueID: 3, QueueOffset: 123456,
		TransactionID: "7F0000012A9F18B4AAC2000000000001", MsgRegion: "DefaultRegion", TraceOn: "true",
	},
}

func TestSendPathDoesNotAllocate(t *testing.T) {
	frame := sendFrame(t, 1024)
	var c Command
	var h SendMessageV2RequestHeader
	decode := func() {
		if err := DecodeFrame(frame[4:], &c); err != nil {
			t.Fatal(err)
		}
		if err := h.DecodeExt(c.Ext); err != nil {
			t.Fatal(err)
		}
	}
	decode() // sizes the buffers
	if n := testing.AllocsPerRun(1000, decode); n > 0 {
		t.Errorf("decoding a send allocates %v times", n)
	}
	if h.Properties != "KEYS\x01k\x02TAGS\x01a\x02WAIT\x01true" || h.Topic != "BenchTopic" || len(c.Body) != 1024 {
		t.Errorf("%+v", h)
	}
	dst := make([]byte, 0, 4096)
	if n := testing.AllocsPerRun(1000, func() { AppendFrame(dst, &sendReply) }); n > 0 {
		t.Errorf("encoding a reply allocates %v times", n)
	}
}

// The headers of the hot paths decode without allocating, from both encodings.
func TestHotHeadersDoNotAllocate(t *testing.T) {
	for _, h := range []Header{
		&SendMessageRequestHeader{Topic: "T"}, &SendMessageV2RequestHeader{Topic: "T"},
		&PullMessageRequestHeader{Topic: "T", Subscription: "a || b"}, &PullMessageResponseHeader{MaxOffset: 1 << 40},
		&AckMessageRequestHeader{ExtraInfo: "1 2 3"}, &PopMessageRequestHeader{}, &QueryConsumerOffsetRequestHeader{},
		&UpdateConsumerOffsetRequestHeader{CommitOffset: -1}, &ChangeMessageInvisibleTimeRequestHeader{},
	} {
		for _, s := range []SerializeType{SerializeJSON, SerializeRocketMQ} {
			frame := AppendFrame(nil, &Command{Serialize: s, Header: h})
			var c Command
			run := func() {
				if err := DecodeFrame(frame[4:], &c); err != nil {
					t.Fatal(err)
				}
				if err := h.DecodeExt(c.Ext); err != nil {
					t.Fatal(err)
				}
			}
			run()
			if n := testing.AllocsPerRun(200, run); n > 0 {
				t.Errorf("%T, encoding %d: %v allocations", h, s, n)
			}
		}
	}
}

func TestRecordsDoNotAllocate(t *testing.T) {
	f := benchRecord()
	dst := AppendRecord(nil, &f)
	var v MessageView
	var p PropertyView
	if n := testing.AllocsPerRun(200, func() {
		AppendRecord(dst[:0], &f)
		PatchRecord(dst, 1, 2, 3)
		if _, err := DecodeMessage(dst, &v); err != nil {
			t.Fatal(err)
		}
		p.Parse(v.Properties)
		p.EachKey(func(string) bool { return true })
	}); n > 0 {
		t.Errorf("%v allocations", n)
	}
}

func benchRecord() RecordFields {
	return RecordFields{
		QueueID: 3, BornTimestamp: 1796047506585, BornHost: netip.MustParseAddrPort("127.0.0.1:1234"),
		StoreHost: netip.MustParseAddrPort("127.0.0.1:10911"), Body: bytes.Repeat([]byte("x"), 1024), Topic: "BenchTopic",
		Properties:     "KEYS\x01k\x02TAGS\x01a\x02WAIT\x01true",
		PropertiesTail: []byte("UNIQ_KEY\x017F0000012A9F18B4AAC2000000000001\x02CLUSTER\x01DefaultCluster\x02"),
	}
}

func BenchmarkDecodeSend(b *testing.B) {
	frame := sendFrame(b, 1024)
	var c Command
	var h SendMessageV2RequestHeader
	b.ReportAllocs()
	for b.Loop() {
		if err := DecodeFrame(frame[4:], &c); err != nil {
			b.Fatal(err)
		}
		if err := h.DecodeExt(c.Ext); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkDecodeNextSend is of a send that differs from the one before as those of a client do.
func BenchmarkDecodeNextSend(b *testing.B) {
	first := sendFrame(b, 1024)
	second := bytes.Clone(first)
	at := bytes.Index(second, []byte(`"opaque":`)) + len(`"opaque":`)
	second[at] ^= 1
	var before, c Command
	var h SendMessageV2RequestHeader
	if err := DecodeFrame(first[4:], &before); err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		if err := DecodeFrameAfter(second[4:], &c, &before); err != nil {
			b.Fatal(err)
		}
		if err := h.DecodeExt(c.Ext); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkDecodeSendBinary(b *testing.B) {
	var c Command
	var h SendMessageV2RequestHeader
	json := sendFrame(b, 1024)
	if err := DecodeFrame(json[4:], &c); err != nil {
		b.Fatal(err)
	}
	c.Serialize = SerializeRocketMQ
	frame := AppendFrame(nil, c.Clone())
	b.ReportAllocs()
	for b.Loop() {
		if err := DecodeFrame(frame[4:], &c); err != nil {
			b.Fatal(err)
		}
		if err := h.DecodeExt(c.Ext); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkAppendSendReply(b *testing.B) {
	dst := make([]byte, 0, 4096)
	b.ReportAllocs()
	for b.Loop() {
		AppendFrame(dst, &sendReply)
	}
}

func BenchmarkAppendRecord(b *testing.B) {
	f := benchRecord()
	dst := make([]byte, 0, 4096)
	b.ReportAllocs()
	for b.Loop() {
		AppendRecord(dst, &f)
	}
}

func BenchmarkDecodeMessage(b *testing.B) {
	f := benchRecord()
	rec := AppendRecord(nil, &f)
	var v MessageView
	b.ReportAllocs()
	for b.Loop() {
		if _, err := DecodeMessage(rec, &v); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkParsePropertyView(b *testing.B) {
	f := benchRecord()
	props := f.Properties + "\x02" + string(f.PropertiesTail)
	var p PropertyView
	b.ReportAllocs()
	for b.Loop() {
		p.Parse(props)
	}
}
