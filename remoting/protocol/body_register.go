package protocol

import (
	"bytes"
	"compress/zlib"
	"encoding/binary"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// RegisterBrokerBody is the body of REGISTER_BROKER.
type RegisterBrokerBody struct {
	FilterServerList            []string           `json:"filterServerList"`
	TopicConfigSerializeWrapper TopicConfigWrapper `json:"topicConfigSerializeWrapper"`
}

// Bounds of a compressed register body, once inflated. The text of many like topics shrinks to a thirtieth or so; a
// stream that claims much more is a bomb.
const (
	maxRegisterRatio = 256
	maxRegisterSlack = 1 << 20
	maxRegisterItem  = 16 << 20
)

// RegisterError says why a register body is refused.
type RegisterError struct {
	Reason string
	Err    error // what is beneath, or nil
}

func (e *RegisterError) Error() string {
	if e.Err != nil {
		return "register body: " + e.Reason + ": " + e.Err.Error()
	}
	return "register body: " + e.Reason
}

func (e *RegisterError) Unwrap() error { return e.Err }

// CheckRegisterCRC compares a register body, exactly as sent, with the header's bodyCrc32; 0 means unchecked.
// The error is a *RegisterError whose Reason is Java's remark.
func CheckRegisterCRC(body []byte, crc int32) error {
	if crc != 0 && BodyCRC(body) != crc {
		return &RegisterError{Reason: "crc32 not match"}
	}
	return nil
}

// DecodeRegisterBrokerBody reads the body of a REGISTER_BROKER request of a broker of the given version. A body that
// is a zlib stream is inflated even where the header says it is not: Java brokers announce it wrongly. The error is a
// *RegisterError.
func DecodeRegisterBrokerBody(body []byte, compressed bool, version int32) (*RegisterBrokerBody, error) {
	b := &RegisterBrokerBody{}
	switch {
	case len(body) == 0:
		return b, nil
	case version < VersionV3_0_11:
		if err := UnmarshalFast(body, &b.TopicConfigSerializeWrapper); err != nil {
			return nil, &RegisterError{Reason: "not JSON", Err: err}
		}
		return b, nil
	case !compressed && body[0] != 0x78: // the first byte of every zlib stream with a 32 KiB window
		if err := UnmarshalFast(body, b); err != nil {
			return nil, &RegisterError{Reason: "not JSON", Err: err}
		}
		return b, nil
	}
	zr, err := zlib.NewReader(bytes.NewReader(body))
	if err != nil {
		return nil, &RegisterError{Reason: "not a zlib stream", Err: err}
	}
	r := registerReader{r: io.LimitReader(zr, maxRegisterSlack+maxRegisterRatio*int64(len(body)))}
	r.body(b, version)
	if r.err != nil {
		return nil, r.err
	}
	return b, nil
}

// registerReader reads the parts of an inflated register body; the first error sticks.
type registerReader struct {
	r   io.Reader
	buf bytes.Buffer
	err error
}

func (r *registerReader) body(b *RegisterBrokerBody, version int32) {
	w := &b.TopicConfigSerializeWrapper
	r.json("data version", &w.DataVersion)
	n := r.count("topic count")
	w.TopicConfigTable = make(map[string]TopicConfig, min(n, 1024))
	for i := 0; i < n && r.err == nil; i++ {
		c, ok := parseTopicText(r.item("topic"))
		if r.err == nil && !ok {
			r.err = &RegisterError{Reason: "malformed topic " + strconv.Quote(clip(r.buf.String()))}
		}
		w.TopicConfigTable[c.TopicName] = c
	}
	r.json("filter servers", &b.FilterServerList)
	if version < VersionV5_0_0 {
		return
	}
	n = r.count("mapping count")
	w.TopicQueueMappingInfoMap = make(map[string]*TopicQueueMappingInfo, min(n, 1024))
	for i := 0; i < n && r.err == nil; i++ {
		m := &TopicQueueMappingInfo{}
		r.json("mapping", m)
		w.TopicQueueMappingInfoMap[m.Topic] = m
	}
}

func (r *registerReader) count(what string) int {
	var b [4]byte
	if r.err != nil {
		return 0
	}
	if _, err := io.ReadFull(r.r, b[:]); err != nil {
		r.err = &RegisterError{Reason: what, Err: err}
		return 0
	}
	n := int32(binary.BigEndian.Uint32(b[:]))
	if n < 0 {
		r.err = &RegisterError{Reason: fmt.Sprintf("%s is %d", what, n)}
		return 0
	}
	return int(n)
}

// item reads a text with its length; it lies in r.buf until the next call.
func (r *registerReader) item(what string) string {
	n := r.count(what + " length")
	if r.err == nil && n > maxRegisterItem {
		r.err = &RegisterError{Reason: fmt.Sprintf("%s of %d bytes", what, n)}
	}
	r.buf.Reset()
	if r.err != nil {
		return ""
	}
	if _, err := io.CopyN(&r.buf, r.r, int64(n)); err != nil { // grows as bytes arrive, not as the length claims
		r.err = &RegisterError{Reason: what, Err: err}
		return ""
	}
	return r.buf.String()
}

func (r *registerReader) json(what string, v any) {
	text := r.item(what)
	if r.err != nil {
		return
	}
	if err := UnmarshalFast([]byte(text), v); err != nil {
		r.err = &RegisterError{Reason: what, Err: err}
	}
}

func clip(s string) string {
	if len(s) > 128 {
		return s[:128]
	}
	return s
}

// topicText is the form that a topic has in a compressed register body. System flag and order are lost in it.
func topicText(c TopicConfig) (string, error) {
	attributes := []byte("{}")
	if len(c.Attributes) > 0 {
		var err error
		if attributes, err = MarshalFast(c.Attributes); err != nil {
			return "", err
		}
	}
	if bytes.IndexByte(attributes, ' ') >= 0 {
		return "", &RegisterError{Reason: "attributes of topic " + c.TopicName + " hold a blank"}
	}
	return fmt.Sprintf("%s %d %d %d %s %s", c.TopicName, c.ReadQueueNums, c.WriteQueueNums, c.Perm, c.TopicFilterType, attributes), nil
}

func parseTopicText(s string) (TopicConfig, bool) {
	c := NewTopicConfig("")
	parts := strings.Split(s, " ")
	if len(parts) < 5 || parts[0] == "" {
		return c, false
	}
	c.TopicName, c.TopicFilterType = parts[0], parts[4]
	for i, p := range [...]*int32{&c.ReadQueueNums, &c.WriteQueueNums, &c.Perm} {
		n, ok := parseInt32(parts[i+1])
		if !ok {
			return c, false
		}
		*p = n
	}
	if len(parts) == 5 || parts[5] == "" {
		return c, true
	}
	attributes := map[string]string{}
	if UnmarshalFast([]byte(parts[5]), &attributes) == nil && attributes != nil {
		c.Attributes = attributes
	}
	return c, true
}

// Encode writes the body; compressed ones carry static topics, as readers of V5_0_0 and later expect.
func (b *RegisterBrokerBody) Encode(compressed bool) ([]byte, error) {
	if !compressed {
		return MarshalFast(b)
	}
	var out bytes.Buffer
	zw, err := zlib.NewWriterLevel(&out, zlib.BestCompression)
	if err != nil {
		return nil, err
	}
	w := registerWriter{w: zw}
	w.body(b)
	if w.err != nil {
		return nil, w.err
	}
	if err := zw.Close(); err != nil {
		return nil, err
	}
	return out.Bytes(), nil
}

type registerWriter struct {
	w   io.Writer
	err error
}

func (w *registerWriter) body(b *RegisterBrokerBody) {
	t := &b.TopicConfigSerializeWrapper
	w.json(t.DataVersion)
	w.count(len(t.TopicConfigTable))
	for _, name := range slices.Sorted(maps.Keys(t.TopicConfigTable)) {
		text, err := topicText(t.TopicConfigTable[name])
		if err != nil && w.err == nil {
			w.err = err
		}
		w.item([]byte(text))
	}
	w.json(b.FilterServerList)
	w.count(len(t.TopicQueueMappingInfoMap))
	for _, name := range slices.Sorted(maps.Keys(t.TopicQueueMappingInfoMap)) {
		w.json(t.TopicQueueMappingInfoMap[name])
	}
}

func (w *registerWriter) count(n int) {
	var b [4]byte
	binary.BigEndian.PutUint32(b[:], uint32(n))
	w.bytes(b[:])
}

func (w *registerWriter) item(b []byte) {
	w.count(len(b))
	w.bytes(b)
}

func (w *registerWriter) json(v any) {
	b, err := MarshalFast(v)
	if err != nil && w.err == nil {
		w.err = err
	}
	w.item(b)
}

func (w *registerWriter) bytes(b []byte) {
	if w.err == nil {
		_, w.err = w.w.Write(b)
	}
}
