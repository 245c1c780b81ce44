package bench

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"strconv"

	"github.com/seedmq/seedmq/remoting/protocol"
)

// Numbers that change from request to request are patched into encoded frames, so they always have the same number of digits.
const (
	opaqueBase = 1_000_000_000 // + slot
	timeDigits = 13            // ms since 1970, until the year 2286
	keyDigits  = 12
	idDigits   = 32
	stampSize  = 16 // bytes at the head of a body: time, and the run's number
)

// template is an encoded request and where its changing parts are.
type template struct {
	buf    []byte
	binary bool
	opaque int   // position of the opaque: 10 digits, or 4 bytes in the binary header
	born   int   // of the birth time, -1 without
	keys   []int // of the digits of KEYS
	ids    []int // of the hex digits of UNIQ_KEY
	bodies []int // of the message bodies
}

// Markers stand in a template's frame where the changing parts go. No other part of a frame looks like them.
const (
	bornMark = 9_111_222_333_444
	keyMark  = "k99887766554"
	idMark   = "FEEDFACEFEEDFACEFEEDFACEFEEDFACE"
)

func newTemplate(cmd *protocol.Command, binaryHeader bool) *template {
	if binaryHeader {
		cmd.Serialize = protocol.SerializeRocketMQ
	}
	cmd.Opaque = opaqueBase
	t := &template{buf: protocol.AppendFrame(nil, cmd), binary: binaryHeader, born: -1}
	if binaryHeader {
		t.opaque = 8 + 2 + 1 + 2 // lengths, code, language, version
	} else {
		const key = `"opaque":`
		t.opaque = mustIndex(t.buf, key+strconv.Itoa(opaqueBase)) + len(key)
	}
	t.keys, t.ids = indexAll(t.buf, keyMark), indexAll(t.buf, idMark)
	return t
}

func mustIndex(b []byte, s string) int {
	i := bytes.Index(b, []byte(s))
	if i < 0 {
		panic(fmt.Sprintf("bench: %q is not in the frame", s))
	}
	return i
}

func indexAll(b []byte, s string) []int {
	var out []int
	for at := 0; ; {
		i := bytes.Index(b[at:], []byte(s))
		if i < 0 {
			return out
		}
		out = append(out, at+i)
		at += i + len(s)
	}
}

// sendTemplate is a send of one message, or of a batch.
func sendTemplate(c *Config, topic string, queue int32) *template {
	body := make([]byte, c.Size)
	for i := range body {
		body[i] = 'a' + byte(i%26)
	}
	h := &protocol.SendMessageV2RequestHeader{
		ProducerGroup: "mqbench", Topic: topic, DefaultTopic: protocol.DefaultTopic, DefaultTopicQueueNums: 4, QueueID: queue, BornTimestamp: bornMark,
		ReconsumeTimes: protocol.Some(int32(0)), UnitMode: protocol.Some(false), Batch: protocol.Some(c.Batch > 1), BrokerName: "mqbench",
	}
	var cmd *protocol.Command
	if c.Batch > 1 {
		cmd = protocol.NewRequest(protocol.ReqSendBatchMessage, h, batchBody(c, body))
	} else {
		h.Properties = properties(c, 0)
		cmd = protocol.NewRequest(protocol.ReqSendMessageV2, h, body)
	}
	if c.OneWay {
		cmd.Flag |= protocol.FlagOneway
	}
	t := newTemplate(cmd, c.Binary)
	t.born = mustIndex(t.buf, strconv.Itoa(bornMark))
	t.bodies = bodyPositions(len(t.buf)-len(cmd.Body), cmd.Body, c)
	return t
}

func properties(c *Config, n int) string {
	var p []byte
	if c.Keys > 0 {
		p = protocol.AppendProperty(p, protocol.PropertyKeys, keyMark)
	}
	if c.UniqueKey {
		p = protocol.AppendProperty(p, protocol.PropertyUniqKey, idMark)
	}
	p = protocol.AppendProperty(p, protocol.PropertyWait, "true")
	if len(c.Tags) > 0 {
		p = protocol.AppendProperty(p, protocol.PropertyTags, c.Tags[n%len(c.Tags)])
	}
	return string(p)
}

func batchBody(c *Config, body []byte) []byte {
	var out []byte
	for n := range c.Batch {
		out = protocol.AppendBatchEntry(out, &protocol.BatchEntry{Body: body, Properties: properties(c, n)})
	}
	return out
}

// bodyPositions finds the messages' bodies in a frame whose body begins at start.
func bodyPositions(start int, body []byte, c *Config) []int {
	if c.Batch == 1 {
		return []int{start}
	}
	const bodyAt = 20 // size, magic, checksum, flag, body length
	var out []int
	for at := 0; at < len(body); at += int(binary.BigEndian.Uint32(body[at:])) {
		out = append(out, start+at+bodyAt)
	}
	return out
}

func (t *template) setOpaque(slot int) {
	if t.binary {
		binary.BigEndian.PutUint32(t.buf[t.opaque:], uint32(opaqueBase+slot))
		return
	}
	putDigits(t.buf[t.opaque:t.opaque+10], int64(opaqueBase+slot))
}

func (t *template) setBorn(ms int64) { putDigits(t.buf[t.born:t.born+timeDigits], ms) }

// setMessage gives the i-th message of the frame its unique id and key, made of n.
func (t *template) setMessage(i int, n int64, keys int) {
	if i < len(t.ids) {
		const hexDigits = "0123456789ABCDEF"
		b := t.buf[t.ids[i] : t.ids[i]+idDigits]
		for k, v := idDigits-1, uint64(n); k >= idDigits-16; k, v = k-1, v>>4 {
			b[k] = hexDigits[v&15]
		}
	}
	if i < len(t.keys) && keys > 0 {
		putDigits(t.buf[t.keys[i]+1:t.keys[i]+keyDigits], n%int64(keys))
	}
}

// putDigits writes n in decimal, right-aligned, with leading zeros.
func putDigits(b []byte, n int64) {
	for i := len(b) - 1; i >= 0; i-- {
		b[i] = '0' + byte(n%10)
		n /= 10
	}
}
