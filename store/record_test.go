package store

import (
	"bytes"
	"errors"
	"net/netip"
	"strings"
	"testing"

	"github.com/seedmq/seedmq/remoting/protocol"
	"github.com/seedmq/seedmq/store/consumequeue"
)

var (
	host4 = netip.MustParseAddrPort("10.1.2.3:4567")
	host6 = netip.MustParseAddrPort("[2001:db8::9]:80")
)

// sampleMessages cover both versions, all widths of hosts, and what may be empty.
func sampleMessages() map[string]Message {
	return map[string]Message{
		"plain":      {Topic: "T", QueueID: 3, Flag: -7, BornTimestamp: 123, BornHost: host4, StoreHost: host4, Body: []byte("body"), Properties: []byte("KEYS\x01a b\x02TAGS\x01t\x02")},
		"v2 topic":   {Topic: strings.Repeat("t", 128), BornHost: host4, StoreHost: host4, Body: []byte("x")},
		"v1 longest": {Topic: strings.Repeat("t", 127), BornHost: host4, StoreHost: host4, Body: []byte("x")},
		"born v6":    {Topic: "T", BornHost: host6, StoreHost: host4, Body: []byte("x"), ReconsumeTimes: 2, PreparedTransactionOffset: 99},
		"store v6":   {Topic: "T", BornHost: host4, StoreHost: host6, SysFlag: protocol.SysFlagBornHostV6, Body: []byte("x")},
		"both v6":    {Topic: "T", BornHost: host6, StoreHost: host6, SysFlag: protocol.SysFlagTransactionCommit},
		"no hosts":   {Topic: "T", Body: []byte{}},
		"v4 in v6":   {Topic: "T", BornHost: netip.MustParseAddrPort("[::ffff:1.2.3.4]:5"), StoreHost: host4},
	}
}

func TestRecordIsWhatTheProtocolReads(t *testing.T) {
	for name, m := range sampleMessages() {
		t.Run(name, func(t *testing.T) {
			b, e := appendRecord([]byte("before"), &m, m.StoreHost)
			b = b[len("before"):]
			patchRecord(b, e.storeTime, 5, 1<<40, 1700000000123)
			var v protocol.MessageView
			n, err := protocol.DecodeMessage(b, &v)
			if err != nil || n != len(b) || n != e.size {
				t.Fatalf("decode: %d of %d, %v", n, len(b), err)
			}
			if v.Topic != m.Topic || !bytes.Equal(v.Body, m.Body) || v.Properties != string(m.Properties) || v.QueueID != m.QueueID || v.Flag != m.Flag {
				t.Fatalf("content: %+v", v)
			}
			if v.QueueOffset != 5 || v.PhysicalOffset != 1<<40 || v.StoreTimestamp != 1700000000123 || v.BornTimestamp != m.BornTimestamp {
				t.Fatalf("positions and times: %+v", v)
			}
			if m.BornHost.IsValid() && (v.BornHost.Addr() != m.BornHost.Addr().Unmap() || v.StoreHost != m.StoreHost || v.BornHost.Port() != m.BornHost.Port()) {
				t.Fatalf("hosts %v, %v", v.BornHost, v.StoreHost)
			}
			if v.ReconsumeTimes != m.ReconsumeTimes || v.PreparedTransactionOffset != m.PreparedTransactionOffset || v.CheckBody() != nil {
				t.Fatalf("rest: %+v", v)
			}
			var r record
			if err := parseRecord(b, &r); err != nil || r.checkCRC() != nil {
				t.Fatal(err)
			}
			if string(r.topic) != m.Topic || r.storeTime != 1700000000123 || r.phys != 1<<40 || r.queueOffset != 5 || r.queueID != m.QueueID || recordStoreTime(b) != r.storeTime {
				t.Fatalf("record %+v", r)
			}
		})
	}
}

// TestRecordThatNoQueueCanHold: a topic that names no folder and an offset that names no file are damage, found before
// a queue is made for them.
func TestRecordThatNoQueueCanHold(t *testing.T) {
	for _, c := range []struct {
		topic  string
		offset int64
		ok     bool
	}{
		{"T", 7, true}, {"T", consumequeue.MaxOffset, true}, {"T", consumequeue.MaxOffset + 1, false}, {"T", -1, false},
		{".", 7, false}, {"..", 7, false}, {"a/b", 7, false}, {"a\\b", 7, false}, {"a\x00", 7, false}, {"...", 7, true},
	} {
		m := Message{Topic: c.topic, BornHost: host4, StoreHost: host4, Body: []byte("x")}
		b, e := appendRecord(nil, &m, m.StoreHost)
		patchRecord(b, e.storeTime, c.offset, 0, 1)
		var r record
		if err := parseRecord(b, &r); (err == nil) != c.ok || err != nil && !errors.Is(err, ErrCorrupt) {
			t.Errorf("topic %q, offset %d: %v", c.topic, c.offset, err)
		}
	}
}

func TestFillerIsARecord(t *testing.T) {
	for _, n := range []int{minRecord, minRecord + 3, int(fillerSize), int(2*fillerSize) - 1} {
		b := appendFiller(nil, n, 77, 88)
		var v protocol.MessageView
		if size, err := protocol.DecodeMessage(b, &v); err != nil || size != n || v.PhysicalOffset != 77 || v.CheckBody() != nil || queued(v.SysFlag) || indexed(v.SysFlag) {
			t.Fatalf("%d: %d, %v, %+v", n, size, err, v)
		}
		var r record
		if err := parseRecord(b, &r); err != nil || !isFiller(&r) || r.checkCRC() != nil || r.checkTorn() != nil {
			t.Fatalf("%d: %v, %+v", n, err, r)
		}
	}
}

func TestIndexHashes(t *testing.T) {
	table := newQueueTable(func(string) bool { return false })
	for _, topic := range []string{"T", "Тема", "\U0001F600"} {
		q := table.get(topic, 0)
		got := appendKeyHashes(nil, q, "uniq", "a  bb é\U0001F600 a", "tag")
		var want []int32
		for _, k := range []string{"uniq", "a", "bb", "é\U0001F600", "a", "T#tag"} {
			want = append(want, indexHash(protocol.JavaHash(topic+"#"+k)))
		}
		if len(got) != len(want) {
			t.Fatalf("%s: %v, want %v", topic, got, want)
		}
		for i := range got {
			if got[i] != want[i] || got[i] < 0 {
				t.Errorf("%s key %d: %d, want %d", topic, i, got[i], want[i])
			}
		}
	}
	if indexHash(-1<<31) != 0 || indexHash(-5) != 5 {
		t.Error("absolute value")
	}
}

// FuzzParseRecord: never panics; what it accepts adds up, and the protocol's decoder accepts it too.
func FuzzParseRecord(f *testing.F) {
	for _, m := range sampleMessages() {
		b, e := appendRecord(nil, &m, m.StoreHost)
		patchRecord(b, e.storeTime, 1, 2, 3)
		f.Add(b)
	}
	f.Add(make([]byte, 200))
	f.Fuzz(func(t *testing.T, b []byte) {
		var r record
		if err := parseRecord(b, &r); err != nil {
			if !errors.Is(err, ErrCorrupt) {
				t.Fatalf("error of another class: %v", err)
			}
			return
		}
		if int(r.size) > len(b) || len(r.body)+len(r.topic)+len(r.properties)+91 > int(r.size) {
			t.Fatalf("parts of %d bytes do not add up: %+v", r.size, r)
		}
		var v protocol.MessageView
		if n, err := protocol.DecodeMessage(b, &v); err != nil || n != int(r.size) {
			t.Fatalf("the protocol's decoder: %d, %v", n, err)
		}
	})
}
