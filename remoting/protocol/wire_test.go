package protocol

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"
)

// recorded is a frame of a conversation with Apache RocketMQ 5.5.0 (testdata/wire.jsonl.gz).
type recorded struct {
	File       string            `json:"file"`
	Seq        int               `json:"seq"`
	Code       int32             `json:"code"`
	ReqCode    *int32            `json:"reqCode"` // of a reply
	Flag       int32             `json:"flag"`
	Opaque     int32             `json:"opaque"`
	Language   string            `json:"language"`
	Version    int32             `json:"version"`
	Remark     string            `json:"remark"`
	Serializer string            `json:"serializer"`
	ExtFields  map[string]string `json:"extFields"`
	BodyLen    int               `json:"bodyLen"`
	Raw        []byte            `json:"raw"`
}

func (r *recorded) String() string { return fmt.Sprintf("%s #%d code %d", r.File, r.Seq, r.Code) }

// request is the code of the request that a frame is or answers.
func (r *recorded) request() int32 {
	if r.ReqCode != nil {
		return *r.ReqCode
	}
	return r.Code
}

func (r *recorded) isReply() bool { return r.Flag&FlagResponse != 0 }

func recordedFrames(tb testing.TB) []recorded {
	tb.Helper()
	f, err := os.Open("testdata/wire.jsonl.gz")
	if err != nil {
		tb.Fatal(err)
	}
	defer f.Close()
	zr, err := gzip.NewReader(f)
	if err != nil {
		tb.Fatal(err)
	}
	var all []recorded
	lines := bufio.NewScanner(zr)
	lines.Buffer(nil, 16<<20)
	for lines.Scan() {
		var r recorded
		if err := json.Unmarshal(lines.Bytes(), &r); err != nil {
			tb.Fatal(err)
		}
		all = append(all, r)
	}
	if err := lines.Err(); err != nil || len(all) < 2000 {
		tb.Fatalf("%d frames, %v", len(all), err)
	}
	return all
}

func mustDecode(t *testing.T, r *recorded) *Command {
	t.Helper()
	n, err := FrameLength(r.Raw, MaxFrameLength)
	if err != nil || n != len(r.Raw) {
		t.Fatalf("%v: length %d of %d, %v", r, n, len(r.Raw), err)
	}
	c := new(Command)
	if err := DecodeFrame(r.Raw[4:], c); err != nil {
		t.Fatalf("%v: %v", r, err)
	}
	return c
}

func extMap(e ExtFields) map[string]string {
	m := map[string]string{}
	for _, f := range e {
		m[f.Key] = f.Value
	}
	return m
}

// sameCommand reports the first difference in meaning between two frames.
func sameCommand(a, b *Command) error {
	type scalars struct {
		Code, Version, Opaque, Flag int32
		Language                    Language
		Remark                      string
	}
	sa := scalars{a.Code, a.Version, a.Opaque, a.Flag, a.Language, a.Remark}
	if sb := (scalars{b.Code, b.Version, b.Opaque, b.Flag, b.Language, b.Remark}); sa != sb {
		return fmt.Errorf("%+v and %+v", sa, sb)
	}
	if ma, mb := extMap(a.Ext), extMap(b.Ext); !reflect.DeepEqual(ma, mb) {
		return fmt.Errorf("fields %q and %q", ma, mb)
	}
	if !bytes.Equal(a.Body, b.Body) {
		return fmt.Errorf("bodies of %d and %d bytes", len(a.Body), len(b.Body))
	}
	return nil
}

func TestRecordedFramesKeepTheirMeaning(t *testing.T) {
	for _, r := range recordedFrames(t) {
		c := mustDecode(t, &r)
		want := &Command{
			Code: r.Code, Version: r.Version, Opaque: r.Opaque, Flag: r.Flag,
			Language: LanguageByName(r.Language), Remark: r.Remark, Body: r.Raw[len(r.Raw)-r.BodyLen:],
		}
		for k, v := range r.ExtFields {
			want.Ext = append(want.Ext, ExtField{k, v})
		}
		if err := sameCommand(c, want); err != nil {
			t.Fatalf("%v: %v", &r, err)
		}
		if (r.Serializer == "ROCKETMQ") != (c.Serialize == SerializeRocketMQ) {
			t.Fatalf("%v: serializer %d", &r, c.Serialize)
		}
		for _, s := range []SerializeType{SerializeJSON, SerializeRocketMQ} {
			again := c.Clone()
			again.Serialize = s
			frame := AppendFrame(nil, again)
			var back Command
			if err := DecodeFrame(frame[4:], &back); err != nil {
				t.Fatalf("%v: encoding %d: %v", &r, s, err)
			}
			if err := sameCommand(c, &back); err != nil {
				t.Fatalf("%v: encoding %d: %v", &r, s, err)
			}
		}
	}
}

// typedHeader returns the header of a recorded frame, nil if the frame has none.
func typedHeader(r *recorded, c *Command) Header {
	switch {
	case !r.isReply():
		return NewRequestHeader(r.Code)
	case r.Code == RespSuccess && len(c.Ext) > 0:
		return NewResponseHeader(r.request())
	case r.request() == ReqPullMessage && r.Code >= RespPullNotFound && r.Code <= RespPullOffsetMoved:
		return NewResponseHeader(r.request())
	}
	return nil
}

func TestRecordedHeadersAreTyped(t *testing.T) {
	typed := 0
	for _, r := range recordedFrames(t) {
		c := mustDecode(t, &r)
		h := typedHeader(&r, c)
		if h == nil {
			continue
		}
		typed++
		if err := h.DecodeExt(c.Ext); err != nil {
			t.Errorf("%v: %v in %q", &r, err, c.Ext)
			continue
		}
		for _, s := range []SerializeType{SerializeJSON, SerializeRocketMQ} {
			frame := AppendFrame(nil, &Command{Code: c.Code, Serialize: s, Header: h})
			var back Command
			if err := DecodeFrame(frame[4:], &back); err != nil {
				t.Fatalf("%v: %v", &r, err)
			}
			again := reflect.New(reflect.TypeOf(h).Elem()).Interface().(Header)
			if err := again.DecodeExt(back.Ext); err != nil || !reflect.DeepEqual(h, again) {
				t.Errorf("%v: %+v became %+v, %v", &r, h, again, err)
			}
			for _, f := range back.Ext {
				if got, ok := c.Ext.Get(f.Key); ok && got != f.Value {
					t.Errorf("%v: field %s was %q, became %q", &r, f.Key, got, f.Value)
				}
			}
		}
	}
	if typed < 1500 {
		t.Errorf("only %d typed headers", typed)
	}
}

func TestRecordedBodiesKeepTheirMeaning(t *testing.T) {
	seen := map[string]int{}
	for _, r := range recordedFrames(t) {
		c := mustDecode(t, &r)
		var body any
		switch {
		case len(c.Body) == 0, c.Body[0] != '{' && c.Body[0] != '[':
			continue
		case !r.isReply():
			body = NewRequestBody(r.Code)
		case r.Code == RespSuccess:
			body = NewResponseBody(r.request())
		}
		if body == nil {
			seen[fmt.Sprintf("untyped %d reply %v", r.request(), r.isReply())]++
			continue
		}
		seen["typed"]++
		if err := UnmarshalFast(c.Body, body); err != nil {
			t.Errorf("%v: %v", &r, err)
			continue
		}
		out, err := MarshalFast(body)
		if err != nil {
			t.Errorf("%v: %v", &r, err)
			continue
		}
		if diff := jsonDiff("", anyJSON(t, c.Body), anyJSON(t, out)); diff != "" {
			t.Errorf("%v %T: %s\n%s\n%s", &r, body, diff, clip(string(c.Body)), clip(string(out)))
		}
	}
	t.Log(seen)
	if seen["typed"] < 650 {
		t.Errorf("only %d typed bodies", seen["typed"])
	}
}

func anyJSON(t *testing.T, b []byte) any {
	t.Helper()
	strict, err := NormalizeJSON(b)
	if err != nil {
		t.Fatalf("%v: %.200s", err, b)
	}
	dec := json.NewDecoder(bytes.NewReader(strict))
	dec.UseNumber()
	var v any
	if err := dec.Decode(&v); err != nil {
		t.Fatal(err)
	}
	return v
}

// derivedKeys are what Java prints besides what it reads.
var derivedKeys = []string{"consumeTimeStampStr", "maxTimeStampStr", "minTimeStampStr"}

// jsonDiff says where got lacks or changes something of want. What got has in addition must be empty.
func jsonDiff(path string, want, got any) string {
	switch w := want.(type) {
	case map[string]any:
		g, ok := got.(map[string]any)
		if !ok {
			return fmt.Sprintf("%s: %T became %T", path, want, got)
		}
		w, g = canonicalKeys(w), canonicalKeys(g)
		for k, v := range w {
			if slices.Contains(derivedKeys, k) {
				continue
			}
			if gv, ok := g[k]; !ok && !emptyJSON(v) {
				return path + "." + k + ": lost"
			} else if d := jsonDiff(path+"."+k, v, gv); ok && d != "" {
				return d
			}
		}
		for k, v := range g {
			if _, ok := w[k]; !ok && !emptyJSON(v) {
				return fmt.Sprintf("%s.%s: added as %v", path, k, v)
			}
		}
		return ""
	case []any:
		g, _ := got.([]any)
		if len(w) != len(g) {
			return fmt.Sprintf("%s: %d elements became %d", path, len(w), len(g))
		}
		for i := range w {
			if d := jsonDiff(fmt.Sprintf("%s[%d]", path, i), w[i], g[i]); d != "" {
				return d
			}
		}
		return ""
	case json.Number:
		wf, _ := w.Float64()
		n, _ := got.(json.Number)
		if gf, err := n.Float64(); err != nil || wf != gf {
			return fmt.Sprintf("%s: %v became %v", path, want, got)
		}
		return ""
	case string:
		if n, ok := got.(json.Number); ok && string(n) == w { // Go's codeSet
			return ""
		}
	}
	if !reflect.DeepEqual(want, got) {
		return fmt.Sprintf("%s: %v became %v", path, want, got)
	}
	return ""
}

// canonicalKeys rewrites keys that are queues in one order of members.
func canonicalKeys(m map[string]any) map[string]any {
	out := make(map[string]any, len(m))
	for k, v := range m {
		var q MessageQueue
		if strings.HasPrefix(k, "{") && UnmarshalFast([]byte(k), &q) == nil {
			k = q.String()
		}
		if k == "dropped" { // Go's spelling
			k = "droped"
		}
		out[k] = v
	}
	return out
}

func emptyJSON(v any) bool {
	switch t := v.(type) {
	case nil:
		return true
	case string:
		return t == ""
	case bool:
		return !t
	case json.Number:
		f, _ := t.Float64()
		return f == 0
	case []any:
		return len(t) == 0
	case map[string]any:
		for _, e := range t {
			if !emptyJSON(e) {
				return false
			}
		}
		return true
	}
	return false
}

// Every recorded message decodes, has the right checksum, and is written again to the very same bytes.
func TestRecordedMessagesAreByteIdentical(t *testing.T) {
	messages, batches := 0, 0
	for _, r := range recordedFrames(t) {
		c := mustDecode(t, &r)
		switch {
		case !r.isReply() && r.Code == ReqSendBatchMessage:
			batches++
			checkBatch(t, &r, c.Body)
		case !r.isReply() && r.Code == ReqCheckTransactionState,
			r.isReply() && r.Code == RespSuccess && slices.Contains(
				[]int32{ReqPullMessage, ReqLitePullMessage, ReqPopMessage, ReqQueryMessage, ReqViewMessageByID}, r.request()):
			messages += checkMessages(t, &r, c.Body)
		}
	}
	if messages < 100 || batches < 4 {
		t.Errorf("only %d messages and %d batches", messages, batches)
	}
}

func checkMessages(t *testing.T, r *recorded, b []byte) (n int) {
	t.Helper()
	for len(b) > 0 {
		var v MessageView
		size, err := DecodeMessage(b, &v)
		if err == nil {
			err = v.CheckBody()
		}
		if err != nil {
			t.Fatalf("%v: message %d: %v", r, n, err)
		}
		f := FieldsOf(&v)
		if got := AppendRecord(nil, &f); !bytes.Equal(got, b[:size]) || RecordSize(&f) != size {
			t.Fatalf("%v: message %d is written differently:\n%x\n%x", r, n, b[:size], got)
		}
		if err := CheckProperties(v.Properties); err != nil {
			t.Fatalf("%v: %v: %q", r, err, v.Properties)
		}
		b = b[size:]
		n++
	}
	return n
}

func checkBatch(t *testing.T, r *recorded, body []byte) {
	t.Helper()
	var e BatchEntry
	var again []byte
	br := NewBatchReader(body)
	for br.Next(&e) {
		again = AppendBatchEntry(again, &e)
	}
	if br.Err() != nil || !bytes.Equal(again, body) || br.Count() == 0 {
		t.Fatalf("%v: batch of %d: %v", r, br.Count(), br.Err())
	}
}

func TestRecordedRegisterBodies(t *testing.T) {
	n := 0
	for _, r := range recordedFrames(t) {
		if r.isReply() || r.Code != ReqRegisterBroker {
			continue
		}
		n++
		c := mustDecode(t, &r)
		var h RegisterBrokerRequestHeader
		if err := h.DecodeExt(c.Ext); err != nil {
			t.Fatal(err)
		}
		if err := CheckRegisterCRC(c.Body, h.BodyCRC32.Or(0)); err != nil {
			t.Errorf("%v: %v", &r, err)
		}
		if err := CheckRegisterCRC(append([]byte(" "), c.Body...), h.BodyCRC32.Or(0)); h.BodyCRC32.Or(0) != 0 && err == nil {
			t.Errorf("%v: a changed body passes", &r)
		}
		b, err := DecodeRegisterBrokerBody(c.Body, h.Compressed.Or(false), c.Version)
		if err != nil {
			t.Fatal(err)
		}
		z, err := b.Encode(true)
		if err != nil {
			t.Fatal(err)
		}
		for _, announced := range []bool{true, false} {
			back, err := DecodeRegisterBrokerBody(z, announced, c.Version)
			if err != nil {
				t.Fatal(err)
			}
			if len(back.TopicConfigSerializeWrapper.TopicConfigTable) != len(b.TopicConfigSerializeWrapper.TopicConfigTable) {
				t.Errorf("%v: topics are lost in the compressed form", &r)
			}
		}
	}
	if n < 5 {
		t.Errorf("only %d register requests", n)
	}
}

func TestRecordedTimerCheckpoints(t *testing.T) {
	n := 0
	for _, r := range recordedFrames(t) {
		if !r.isReply() || r.request() != ReqGetTimerCheckPoint || r.BodyLen == 0 {
			continue
		}
		n++
		c := mustDecode(t, &r)
		var cp TimerCheckpoint
		if err := cp.Decode(c.Body); err != nil || !bytes.Equal(cp.Append(nil)[:len(c.Body)], c.Body) {
			t.Errorf("%v: %+v, %v", &r, cp, err)
		}
	}
	if n == 0 {
		t.Error("no checkpoint recorded")
	}
	if err := new(TimerCheckpoint).Decode(make([]byte, 33)); err == nil {
		t.Error("33 bytes decode")
	}
}

func isFrameError(err error) bool {
	var fe *FrameError
	return errors.As(err, &fe)
}
