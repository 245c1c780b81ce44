package protocol

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"reflect"
	"testing"
	"unicode/utf8"
)

// seedFrames adds recorded frames without their length word, the shortest of every request code and direction.
func seedFrames(f *testing.F, add func(c *Command, raw []byte)) {
	type kind struct {
		code  int32
		reply bool
	}
	best := map[kind][]byte{}
	for _, r := range recordedFrames(f) {
		k := kind{r.request(), r.isReply()}
		if old, ok := best[k]; (!ok || len(r.Raw) < len(old)) && len(r.Raw) < 4096 {
			best[k] = r.Raw
		}
	}
	for _, raw := range best {
		var c Command
		if err := DecodeFrame(raw[4:], &c); err != nil {
			f.Fatal(err)
		}
		add(&c, raw[4:])
	}
}

// checkDecoded is what holds for every frame that decodes: it is written and read back to the same meaning, and its
// typed header either decodes or says which field is wrong.
func checkDecoded(t *testing.T, c *Command) {
	t.Helper()
	for _, s := range []SerializeType{SerializeJSON, SerializeRocketMQ} {
		out := c.Clone()
		out.Serialize = s
		if s == SerializeRocketMQ && (int64(int16(out.Version)) != int64(out.Version) || int64(int16(out.Code)) != int64(out.Code) || binaryLossy(out)) {
			continue
		}
		var back Command
		if err := DecodeFrame(AppendFrame(nil, out)[4:], &back); err != nil {
			t.Fatalf("encoding %d: %v of %+v", s, err, c)
		}
		out.Language = back.Language // unknown ones become OTHER
		if err := sameCommand(out, &back); err != nil {
			t.Fatalf("encoding %d: %v", s, err)
		}
	}
	for _, h := range []Header{NewRequestHeader(c.Code), NewResponseHeader(c.Code)} {
		if h == nil {
			continue
		}
		if err := h.DecodeExt(c.Ext); err != nil {
			if fe := (*FieldError)(nil); !errors.As(err, &fe) || fe.Field == "" {
				t.Fatalf("%T: %v", h, err)
			}
		}
	}
}

// binaryLossy reports what the binary header cannot hold.
func binaryLossy(c *Command) bool {
	if !c.IsResponse() && unwrapCode(c.Code) != c.Code {
		return true
	}
	for _, e := range c.Ext {
		if e.Key == "" || len(e.Key) > maxBinaryKeyLength {
			return true
		}
	}
	return false
}

func FuzzFrame(f *testing.F) {
	seedFrames(f, func(_ *Command, raw []byte) { f.Add(raw) })
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, frame []byte) {
		before := bytes.Clone(frame)
		var c Command
		err := DecodeFrame(frame, &c)
		if !bytes.Equal(before, frame) {
			t.Fatal("decoding changed the frame")
		}
		if err != nil {
			if !isFrameError(err) {
				t.Fatalf("%T", err)
			}
			return
		}
		checkDecoded(t, &c)
		if n, err := FrameLength(frame, MaxFrameLength); err == nil && (n < 8 || n > MaxFrameLength) {
			t.Fatal(n)
		}
		SniffProtocol(frame)
	})
}

func FuzzJSONHeader(f *testing.F) {
	seedFrames(f, func(c *Command, _ []byte) {
		c.Serialize, c.Body = SerializeJSON, nil
		f.Add(AppendFrame(nil, c)[8:])
	})
	f.Add([]byte(`{"code":1,"extFields":{"a":1,'b':null,"c":"\u0041\ud83d\ude00"},"x":[{},[]],}`))
	f.Fuzz(func(t *testing.T, header []byte) {
		var c Command
		if err := decodeJSONHeader(header, &c); err != nil {
			if !isFrameError(err) {
				t.Fatalf("%T", err)
			}
			return
		}
		checkDecoded(t, &c)
	})
}

// Strict JSON that encoding/json reads as a header, we read to the same values.
func FuzzJSONHeaderAgainstStandard(f *testing.F) {
	seedFrames(f, func(c *Command, _ []byte) {
		c.Serialize, c.Body = SerializeJSON, nil
		f.Add(AppendFrame(nil, c)[8:])
	})
	f.Fuzz(func(t *testing.T, header []byte) {
		var members map[string]json.RawMessage
		if !utf8.Valid(header) || json.Unmarshal(header, &members) != nil || members == nil || bytes.Count(header, []byte(`"extFields"`)) > 1 {
			return
		}
		var want map[string]string
		if json.Unmarshal(members["extFields"], &want) != nil || !json.Valid(header) {
			return
		}
		var c Command
		if err := decodeJSONHeader(header, &c); err != nil {
			return // a number that does not fit, or too deep
		}
		for k, v := range want {
			got, ok := c.Ext.Get(k)
			if !ok && v != "" || got != v {
				t.Fatalf("field %q: %q, want %q", k, got, v)
			}
		}
	})
}

func FuzzBinaryHeader(f *testing.F) {
	seedFrames(f, func(c *Command, _ []byte) {
		c.Serialize, c.Body = SerializeRocketMQ, nil
		f.Add(AppendFrame(nil, c)[8:])
	})
	f.Fuzz(func(t *testing.T, header []byte) {
		var c Command
		if err := decodeBinaryHeader(header, &c); err != nil {
			if !isFrameError(err) {
				t.Fatalf("%T", err)
			}
			return
		}
		checkDecoded(t, &c)
	})
}

func FuzzMessage(f *testing.F) {
	rec := benchRecord()
	f.Add(AppendRecord(nil, &rec))
	rec.ReserveCRC = true
	f.Add(AppendRecord(nil, &rec))
	f.Add(AppendBlank(nil, 100))
	seedFrames(f, func(c *Command, _ []byte) {
		if len(c.Body) > 90 && c.Body[4] == 0xDA {
			f.Add(c.Body)
		}
	})
	f.Fuzz(func(t *testing.T, b []byte) {
		var v MessageView
		size, err := DecodeMessage(b, &v)
		if err != nil {
			if re := (*RecordError)(nil); !errors.As(err, &re) && !errors.Is(err, ErrBlankRecord) {
				t.Fatalf("%T", err)
			}
			return
		}
		if size > len(b) || size < minRecordSize {
			t.Fatalf("%d of %d bytes", size, len(b))
		}
		m := FieldsOf(&v)
		again := AppendRecord(nil, &m)
		var back MessageView
		n, err := DecodeMessage(again, &back)
		if err != nil || n != len(again) || back.Topic != v.Topic || back.Properties != v.Properties || !bytes.Equal(back.Body, v.Body) ||
			back.PhysicalOffset != v.PhysicalOffset || back.StoreTimestamp != v.StoreTimestamp || back.StoreHost.Port() != v.StoreHost.Port() {
			t.Fatalf("%v: %+v became %+v", err, v, back)
		}
		if id := v.OffsetMsgID(); v.PhysicalOffset >= 0 {
			if _, phys, err := ParseOffsetMsgID(id); err != nil || phys != v.PhysicalOffset {
				t.Fatalf("%s: %v", id, err)
			}
		}
		CheckSeal(b[:size])
		_ = v.CheckBody()
	})
}

func FuzzBatch(f *testing.F) {
	seedFrames(f, func(c *Command, _ []byte) {
		if c.Code == ReqSendBatchMessage {
			f.Add(c.Body)
		}
	})
	f.Add(AppendBatchEntry(nil, &BatchEntry{Body: []byte("x"), Properties: "a\x01b\x02"}))
	f.Fuzz(func(t *testing.T, body []byte) {
		n, err := CountBatch(body)
		if err != nil {
			if be := (*BatchError)(nil); !errors.As(err, &be) {
				t.Fatalf("%T", err)
			}
			return
		}
		var again []byte
		var e BatchEntry
		r := NewBatchReader(body)
		for r.Next(&e) {
			again = AppendBatchEntry(again, &e)
		}
		if r.Count() != n || len(again) != len(body) {
			t.Fatalf("%d entries of %d bytes, were %d of %d", r.Count(), len(again), n, len(body))
		}
	})
}

func FuzzProperties(f *testing.F) {
	for _, s := range []string{"", "a\x01b\x02", "a\x01b", "\x01\x02\x01", "KEYS\x01a b\x02TAGS\x01t\x02DELAY\x013", "a\x01b\x01c\x02a\x01d\x02"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		p := ParseProperties(s)
		back := ParseProperties(string(p.Encode()))
		if len(p) != len(back) {
			t.Fatalf("%q and %q", p, back)
		}
		var v PropertyView
		v.Parse(s)
		v.EachKey(func(string) bool { return true })
		for name, value := range p {
			if back[name] != value {
				t.Fatalf("%q: %q and %q", name, value, back[name])
			}
			if got, ok := Property([]byte(s), name); !ok || got != value {
				t.Fatalf("%q: %q, want %q", name, got, value)
			}
			if slot := v.slot(name); slot != nil && *slot != value && name != PropertyShardingKey && name != PropertyShardingKeyGo {
				t.Fatalf("%q: view %q, map %q", name, *slot, value)
			}
		}
		if CheckProperties(s) == nil && v.Skipped > 0 {
			t.Fatal("skipped entries pass")
		}
	})
}

func FuzzFastJSON(f *testing.F) {
	seedFrames(f, func(c *Command, _ []byte) {
		if len(c.Body) > 0 && c.Body[0] == '{' {
			f.Add(c.Body)
		}
	})
	f.Add([]byte(javaReset))
	f.Add([]byte(`{a:'x',0:[1,,2],/**/"$ref":"$.a",{x:1}:NaN}`))
	f.Fuzz(func(t *testing.T, b []byte) {
		strict, err := NormalizeJSON(b)
		if err != nil {
			if se := (*SyntaxError)(nil); !errors.As(err, &se) {
				t.Fatalf("%T", err)
			}
			return
		}
		if !json.Valid(strict) {
			t.Fatalf("not strict: %q from %q", strict, b)
		}
		if len(strict) > 16*len(b)+16 {
			t.Fatalf("%d bytes became %d", len(b), len(strict))
		}
		for _, v := range []any{new(HeartbeatData), new(ResetOffsetBody), new(ConsumerRunningInfo), new(TopicConfigAndQueueMapping), new(SubscriptionGroupWrapper)} {
			if UnmarshalFast(b, v) != nil {
				continue
			}
			out, err := MarshalFast(v)
			if err != nil {
				t.Fatal(err)
			}
			if err := UnmarshalFast(out, v); err != nil && !bytes.Contains(out, []byte("$ref")) {
				t.Fatalf("%T: %v in %q", v, err, out)
			}
		}
	})
}

func FuzzRegisterBody(f *testing.F) {
	for _, compressed := range []bool{false, true} {
		b, err := registerBody().Encode(compressed)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b, compressed, CurrentVersion)
	}
	f.Add(deflate(f, DataVersion{}.String(), 1, "T 1 1 6 SINGLE_TAG {}", "[]", 0), false, VersionV4_9_4)
	f.Fuzz(func(t *testing.T, body []byte, compressed bool, version int32) {
		got, err := DecodeRegisterBrokerBody(body, compressed, version)
		if err != nil {
			if re := (*RegisterError)(nil); !errors.As(err, &re) {
				t.Fatalf("%T", err)
			}
			return
		}
		if _, err := got.Encode(false); err != nil {
			t.Fatal(err)
		}
	})
}

// FuzzRegisterParts fuzzes what lies inside the zlib stream.
func FuzzRegisterParts(f *testing.F) {
	f.Add(DataVersion{}.String(), "T 1 1 6 SINGLE_TAG {}", "[]", `{"topic":"S"}`)
	f.Fuzz(func(t *testing.T, version, topic, servers, mapping string) {
		got, err := DecodeRegisterBrokerBody(deflate(t, version, 1, topic, servers, 1, mapping), true, CurrentVersion)
		if err == nil && len(got.TopicConfigSerializeWrapper.TopicConfigTable) != 1 {
			t.Fatalf("%+v", got)
		}
	})
}

func FuzzMessageID(f *testing.F) {
	f.Add("7F00000100002A9F00000000000000EB")
	f.Add("20010DB8000000000000000000000001000000507FFFFFFFFFFFFFFF")
	f.Fuzz(func(t *testing.T, id string) {
		host, phys, err := ParseOffsetMsgID(id)
		if err != nil {
			if ie := (*IDError)(nil); !errors.As(err, &ie) {
				t.Fatalf("%T", err)
			}
			return
		}
		if h, p, err := ParseOffsetMsgID(OffsetMsgID(host, phys)); err != nil || p != phys || h.Port() != host.Port() || h.Addr() != host.Addr().Unmap() {
			t.Fatalf("%s: %v %d %v", id, h, p, err)
		}
	})
}

func FuzzDataVersionAndNames(f *testing.F) {
	f.Add("%RETRY%G", "V5_5_0", `{"counter":1}`)
	f.Fuzz(func(t *testing.T, name, version, data string) {
		if CheckTopic(name) == nil && (bytes.ContainsAny([]byte(name), "./\\\x00") || len(name) > 255 || name == "") {
			t.Fatalf("%q passes", name)
		}
		if CheckGroup(name) == nil && (bytes.ContainsAny([]byte(name), "./\\\x00") || len(name) > 120 || name == "") {
			t.Fatalf("%q passes", name)
		}
		if n, ok := VersionByName(version); ok && VersionName(n) != version {
			t.Fatalf("%q is %d is %q", version, n, VersionName(n))
		}
		ParseDataVersion(data)
		TagsCode(name)
	})
}

// FuzzJSONHeaderAfter: a header is read the same whether another one was read before or not.
func FuzzJSONHeaderAfter(f *testing.F) {
	var headers [][]byte
	seedFrames(f, func(c *Command, _ []byte) {
		c.Serialize, c.Body = SerializeJSON, nil
		headers = append(headers, AppendFrame(nil, c)[8:])
	})
	for i := range headers {
		f.Add(headers[i], headers[(i+1)%len(headers)], headers[i])
	}
	send := func(opaque, text string) []byte {
		return []byte(`{"code":310,"extFields":{"a":"g","e":"` + text + `","i":"A\u0001` + text + `\u0002"},"flag":0,"opaque":` + opaque + `,"version":513}`)
	}
	for _, opaque := range []string{"1", "12", "123456789", "1234567890", "-1", "01", `"7"`, "null", "1.5", ""} {
		for _, text := range []string{"", "x", "xy", "yx", `\n`, `x\u4e2d\ud83d\ude00`, `x"`, `\`} {
			f.Add(send("1", "x"), send(opaque, text), send("12", text))
		}
	}
	f.Add([]byte(`{"extFields":{"a":"1"},"opaque":1,"extFields":{"b":"2"}}`), []byte(`{"extFields":{"a":"1"},"opaque":1,"extFields":{"b":"3"}}`), []byte{})
	f.Add([]byte(`{"opaque":1,"opaque":2,"extFields":{"a":null,"b":"2"}}`), []byte(`{"opaque":1,"opaque":3,"extFields":{"a":null,"b":"2"}}`), []byte{})
	f.Fuzz(func(t *testing.T, first, second, third []byte) {
		var before *Command
		for _, h := range [][]byte{first, second, third, second} {
			frame := append(binary.BigEndian.AppendUint32(nil, uint32(len(h))&MaxHeaderLength), h...)
			frame = append(frame, "body"...)
			got, want := &Command{}, &Command{}
			err, wantErr := DecodeFrameAfter(frame, got, before), DecodeFrame(frame, want)
			if (err == nil) != (wantErr == nil) {
				t.Fatalf("%q: %v, want %v", h, err, wantErr)
			}
			before = got
			if err != nil {
				before = nil
				continue
			}
			got, want = got.Clone(), want.Clone()
			if len(got.Ext) == 0 {
				got.Ext = nil
			}
			if len(want.Ext) == 0 {
				want.Ext = nil
			}
			if !reflect.DeepEqual(got, want) {
				t.Fatalf("%q:\n%+v, want\n%+v", h, got, want)
			}
		}
	})
}
