package instance

import (
	"bytes"
	"compress/zlib"
	"errors"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/klauspost/compress/zstd"
	"github.com/pierrec/lz4/v4"

	"github.com/seedmq/seedmq/remoting/protocol"
)

func packed(t testing.TB, kind int32, body []byte) []byte {
	t.Helper()
	var b bytes.Buffer
	var err error
	switch kind {
	case protocol.SysFlagCompressionLZ4:
		w := lz4.NewWriter(&b)
		_, err = w.Write(body)
		err = errors.Join(err, w.Close())
	case protocol.SysFlagCompressionZstd:
		w, e := zstd.NewWriter(&b)
		if e != nil {
			t.Fatal(e)
		}
		_, err = w.Write(body)
		err = errors.Join(err, w.Close())
	default:
		w := zlib.NewWriter(&b)
		_, err = w.Write(body)
		err = errors.Join(err, w.Close())
	}
	if err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

var kinds = []int32{protocol.SysFlagCompressionLegacy, protocol.SysFlagCompressionZlib, protocol.SysFlagCompressionLZ4, protocol.SysFlagCompressionZstd}

func TestInflate(t *testing.T) {
	want := []byte(strings.Repeat("hello ", 1000))
	for _, k := range kinds {
		got, err := Inflate(protocol.SysFlagCompressed|k, packed(t, k, want))
		if err != nil || !bytes.Equal(got, want) {
			t.Errorf("kind %#x: %d bytes, %v", k, len(got), err)
		}
		if _, err := Inflate(protocol.SysFlagCompressed|k, []byte("this is not compressed")); err == nil {
			t.Errorf("kind %#x: damaged body accepted", k)
		}
	}
	if got, err := Inflate(0, want); err != nil || !bytes.Equal(got, want) {
		t.Error("plain body", err)
	}
	if _, err := Inflate(protocol.SysFlagCompressed|0x700, nil); err == nil {
		t.Error("unknown kind accepted")
	}
}

func TestInflateIsBounded(t *testing.T) {
	bomb := packed(t, protocol.SysFlagCompressionZstd, make([]byte, MaxBody+1))
	if out, err := Inflate(protocol.SysFlagCompressed|protocol.SysFlagCompressionZstd, bomb); err == nil {
		t.Errorf("%d bytes became %d", len(bomb), len(out))
	}
}

// record is a stored message with that body.
func record(t testing.TB, sysFlag int32, body []byte, props string) []byte {
	t.Helper()
	f := &protocol.RecordFields{Topic: "T", QueueID: 3, QueueOffset: 7, PhysicalOffset: 795, SysFlag: sysFlag, BornTimestamp: 5, StoreTimestamp: 6,
		BornHost: netip.MustParseAddrPort("192.0.2.9:45088"), StoreHost: netip.MustParseAddrPort("192.0.2.10:10911"), Body: body, Properties: props}
	if err := protocol.CheckRecord(f); err != nil {
		t.Fatal(err)
	}
	return protocol.AppendRecord(nil, f)
}

func TestDecodeMessages(t *testing.T) {
	first := record(t, protocol.SysFlagCompressed|protocol.SysFlagCompressionLZ4, packed(t, protocol.SysFlagCompressionLZ4, []byte("body")), "UNIQ_KEY\x01id\x02TAGS\x01a\x02")
	both := append(bytes.Clone(first), record(t, 0, []byte("two"), "")...)
	msgs, err := DecodeMessages(both)
	if err != nil || len(msgs) != 2 {
		t.Fatalf("%d messages, %v", len(msgs), err)
	}
	m := msgs[0]
	if string(m.Body) != "body" || m.ID() != "id" || m.Properties["TAGS"] != "a" || m.QueueOffset != 7 || m.QueueID != 3 || int(m.StoreSize) != len(first) {
		t.Errorf("%+v", m)
	}
	if msgs[1].ID() != "C000020A00002A9F000000000000031B" || msgs[1].ID() != msgs[1].OffsetID() {
		t.Errorf("id without UNIQ_KEY: %s", msgs[1].ID())
	}
	clear(both) // a message owns its bytes
	if m.Topic != "T" || m.Properties["UNIQ_KEY"] != "id" || string(msgs[1].Body) != "two" {
		t.Errorf("changed with the buffer: %+v", m)
	}
	if msgs, err := DecodeMessages(append(first, "garbage after it"...)); err == nil || len(msgs) != 1 {
		t.Errorf("%d messages before damage, %v", len(msgs), err)
	}
}

// FuzzDecodeMessages: no reply body panics, and what is decoded decodes again from the same prefix.
func FuzzDecodeMessages(f *testing.F) {
	f.Add(record(f, 0, []byte("two"), "KEYS\x01a b\x02"))
	for _, k := range kinds {
		f.Add(record(f, protocol.SysFlagCompressed|k, packed(f, k, []byte("body")), ""))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		msgs, _ := DecodeMessages(b)
		n := 0
		for _, m := range msgs {
			n += int(m.StoreSize)
		}
		if again, err := DecodeMessages(b[:n]); err != nil || len(again) != len(msgs) {
			t.Fatalf("%d messages, then %d, %v", len(msgs), len(again), err)
		}
	})
}

func TestIDs(t *testing.T) {
	now := time.Date(2026, 11, 30, 16, 0, 0, 5e6, time.UTC)
	m := NewIDMaker(netip.MustParseAddr("192.0.2.9"), 0x10234, 0xAABBCCDD, func() time.Time { return now })
	seen := map[string]bool{}
	for range 1000 {
		id := m.Next()
		if len(id) != 32 || seen[id] || !strings.HasPrefix(id, "C00002090234AABBCCDD") {
			t.Fatalf("id %s", id)
		}
		seen[id] = true
	}
	now = time.Date(2026, 12, 1, 0, 0, 0, 7e6, time.UTC) // the time part starts again with the month
	if id := m.Next(); !strings.HasSuffix(id, "0000000703E8") {
		t.Errorf("in the new month: %s", id)
	}
	if id := NewIDMaker(netip.MustParseAddr("2001:db8::1"), 1, 1, func() time.Time { return now }).Next(); len(id) != 56 {
		t.Errorf("IPv6: %s", id)
	}
}
