package protocol

import (
	"bytes"
	"encoding/binary"
	"errors"
	"net/netip"
	"strings"
	"testing"
)

func TestRecordForms(t *testing.T) {
	v4, v6 := netip.MustParseAddrPort("10.1.2.3:65535"), netip.MustParseAddrPort("[2001:db8::7]:1")
	mapped := netip.AddrPortFrom(netip.AddrFrom16(v4.Addr().As16()), v4.Port())
	for name, f := range map[string]RecordFields{
		"IPv4":            {BornHost: v4, StoreHost: v4, Topic: "T", Body: []byte("b")},
		"IPv6":            {BornHost: v6, StoreHost: v6, Topic: "T", Body: []byte("b")},
		"born IPv6":       {BornHost: v6, StoreHost: v4, Topic: "T"},
		"store IPv6":      {BornHost: v4, StoreHost: v6, Topic: "T"},
		"stale bits":      {BornHost: v4, StoreHost: v4, Topic: "T", SysFlag: SysFlagBornHostV6 | SysFlagStoreHostV6 | 0x301},
		"mapped IPv4":     {BornHost: mapped, StoreHost: mapped, Topic: "T"},
		"V2 by length":    {BornHost: v4, StoreHost: v4, Topic: strings.Repeat("t", 128)},
		"V2 by wish":      {Magic: MagicV2, BornHost: v4, StoreHost: v6, Topic: "T"},
		"longest V1":      {BornHost: v4, StoreHost: v4, Topic: strings.Repeat("t", 127)},
		"two properties":  {BornHost: v4, StoreHost: v4, Topic: "T", Properties: "a\x01b", PropertiesTail: []byte("c\x01d\x02")},
		"separator there": {BornHost: v4, StoreHost: v4, Topic: "T", Properties: "a\x01b\x02", PropertiesTail: []byte("c\x01d\x02")},
		"only tail":       {BornHost: v4, StoreHost: v4, Topic: "T", PropertiesTail: []byte("a\x01b\x02c\x01d\x02")},
	} {
		f.QueueID, f.Flag, f.ReconsumeTimes, f.PreparedTransactionOffset = 3, -4, 5, 6
		f.BornTimestamp, f.StoreTimestamp = 7, 8
		if err := CheckRecord(&f); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		rec := AppendRecord([]byte("before"), &f)[len("before"):]
		if len(rec) != RecordSize(&f) {
			t.Errorf("%s: %d bytes, RecordSize %d", name, len(rec), RecordSize(&f))
		}
		PatchRecord(rec, 1<<40, 1<<50, 1796047506585)
		var v MessageView
		size, err := DecodeMessage(append(rec, "behind"...), &v)
		if err != nil || size != len(rec) {
			t.Errorf("%s: %d, %v", name, size, err)
			continue
		}
		if v.QueueOffset != 1<<40 || v.PhysicalOffset != 1<<50 || v.StoreTimestamp != 1796047506585 || v.QueueID != 3 ||
			v.Flag != -4 || v.ReconsumeTimes != 5 || v.PreparedTransactionOffset != 6 || v.BornTimestamp != 7 {
			t.Errorf("%s: %+v", name, v)
		}
		unmap := func(a netip.AddrPort) netip.AddrPort { return netip.AddrPortFrom(a.Addr().Unmap(), a.Port()) }
		if v.BornHost != unmap(f.BornHost) || v.StoreHost != unmap(f.StoreHost) || v.Topic != f.Topic || !bytes.Equal(v.Body, f.Body) {
			t.Errorf("%s: %+v", name, v)
		}
		if len(f.PropertiesTail) > 0 && v.Properties != "a\x01b\x02c\x01d\x02" {
			t.Errorf("%s: %q", name, v.Properties)
		}
		if v.SysFlag&^(SysFlagBornHostV6|SysFlagStoreHostV6) != f.SysFlag&^(SysFlagBornHostV6|SysFlagStoreHostV6) {
			t.Errorf("%s: sysFlag %#x", name, v.SysFlag)
		}
		if h, p, err := ParseOffsetMsgID(v.OffsetMsgID()); err != nil || h != v.StoreHost || p != 1<<50 {
			t.Errorf("%s: id %s", name, v.OffsetMsgID())
		}
	}
}

// The offsets that others patch are those of the layout tables.
func TestRecordOffsets(t *testing.T) {
	for flag, want := range map[int32][2]int{
		0: {56, 64}, SysFlagBornHostV6: {68, 76}, SysFlagStoreHostV6: {56, 64}, SysFlagBornHostV6 | SysFlagStoreHostV6: {68, 76},
	} {
		if got := [2]int{StoreTimestampPos(flag), StoreHostPos(flag)}; got != want {
			t.Errorf("%#x: %v, want %v", flag, got, want)
		}
	}
}

func TestCheckRecordRefuses(t *testing.T) {
	for name, f := range map[string]RecordFields{
		"no topic":        {},
		"topic beyond V1": {Magic: MagicV1, Topic: strings.Repeat("t", 128)},
		"topic beyond V2": {Topic: strings.Repeat("t", 32768)},
		"properties":      {Topic: "T", Properties: strings.Repeat("p", MaxPropertiesLength), PropertiesTail: []byte("x")},
	} {
		var re *RecordError
		if err := CheckRecord(&f); !errors.As(err, &re) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestDecodeMessageIsStrict(t *testing.T) {
	f := benchRecord()
	rec := AppendRecord(nil, &f)
	var v MessageView
	for i := range rec { // every cut
		if _, err := DecodeMessage(rec[:i], &v); err == nil {
			t.Fatalf("%d of %d bytes decode", i, len(rec))
		}
	}
	bodyAt := 84
	topicAt := bodyAt + 4 + len(f.Body)
	propsAt := topicAt + 1 + len(f.Topic)
	for name, c := range map[string]struct {
		at    int
		bytes string
		want  string
	}{
		"size":            {0, "\x00\x00\x00\x10", "too small"},
		"negative size":   {0, "\xff\xff\xff\xff", "too small"},
		"magic":           {4, "\xda\xa3\x20\xaa", "magic"},
		"body":            {bodyAt, "\x7f", "body length"},
		"negative body":   {bodyAt, "\xff", "body length"},
		"shorter body":    {bodyAt + 3, "\xff", "length"},
		"topic":           {topicAt, "\x00", "topic length"},
		"negative topic":  {topicAt, "\x80", "topic length"},
		"longer topic":    {topicAt, "\x0b", "properties length"},
		"properties":      {propsAt, "\x7f", "properties length"},
		"negative props":  {propsAt, "\xff", "properties length"},
		"fewer props":     {propsAt + 1, "\x00", "properties length"},
		"IPv6 bit":        {PosSysFlag + 3, "\x10", ""},
		"port":            {PosBornHost + 4, "\x01", "port"},
		"V2 without room": {7, "\xab", ""},
	} {
		bad := bytes.Clone(rec)
		copy(bad[c.at:], c.bytes)
		var re *RecordError
		if _, err := DecodeMessage(bad, &v); !errors.As(err, &re) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := DecodeMessage(rec, &v); err != nil || v.CheckBody() != nil {
		t.Fatal(err)
	}
	rec[90] ^= 1
	var re *RecordError
	if _, err := DecodeMessage(rec, &v); err != nil || !errors.As(v.CheckBody(), &re) {
		t.Error("a changed body passes the checksum")
	}
}

func TestBlankRecord(t *testing.T) {
	b := AppendBlank(nil, 4096)
	if len(b) != BlankRecordSize || binary.BigEndian.Uint32(b[4:]) != 0xCBD43194 {
		t.Errorf("%x", b)
	}
	var v MessageView
	if n, err := DecodeMessage(b, &v); n != 4096 || !errors.Is(err, ErrBlankRecord) {
		t.Errorf("%d, %v", n, err)
	}
	if _, err := DecodeMessage(AppendBlank(nil, 7), &v); err == nil || errors.Is(err, ErrBlankRecord) {
		t.Errorf("blank of 7 bytes: %v", err)
	}
}

func TestSealedRecords(t *testing.T) {
	f := benchRecord()
	f.ReserveCRC = true
	for _, tail := range []string{"", "a\x01b\x02"} {
		f.PropertiesTail = []byte(tail)
		rec := AppendRecord(nil, &f)
		if len(rec) != RecordSize(&f) {
			t.Fatalf("%d bytes, want %d", len(rec), RecordSize(&f))
		}
		PatchRecord(rec, 1, 2, 3)
		SealRecord(rec)
		if sealed, intact := CheckSeal(rec); !sealed || !intact {
			t.Errorf("sealed %v, intact %v", sealed, intact)
		}
		var v MessageView
		if _, err := DecodeMessage(rec, &v); err != nil {
			t.Fatal(err)
		}
		crc, ok := v.Property(PropertyCRC32)
		if !ok || len(crc) != 10 || CheckProperties(v.Properties) != nil {
			t.Errorf("%q in %q", crc, v.Properties)
		}
		rec[PosQueueOffset+7]++
		if sealed, intact := CheckSeal(rec); !sealed || intact {
			t.Error("a changed record passes")
		}
	}
	plain := benchRecord()
	if sealed, _ := CheckSeal(AppendRecord(nil, &plain)); sealed {
		t.Error("a plain record is no sealed one")
	}
	var digits [10]byte
	if putRecordCRC(digits[:], 1234567); string(digits[:]) != "7654321000" {
		t.Errorf("%s: lowest digit first", digits)
	}
}

func TestBatchBodies(t *testing.T) {
	entries := []BatchEntry{{Flag: -1, Body: []byte("one"), Properties: "a\x01b\x02"}, {Body: []byte{}}, {Properties: "x\x01y\x02"}}
	var body []byte
	for i := range entries {
		body = AppendBatchEntry(body, &entries[i])
	}
	r := NewBatchReader(body)
	var e BatchEntry
	for i := range entries {
		if !r.Next(&e) || e.Flag != entries[i].Flag || string(e.Body) != string(entries[i].Body) || e.Properties != entries[i].Properties {
			t.Errorf("entry %d: %+v, %v", i, e, r.Err())
		}
	}
	if r.Next(&e) || r.Err() != nil || r.Count() != 3 {
		t.Errorf("%d, %v", r.Count(), r.Err())
	}
	if n, err := CountBatch(body); n != 3 || err != nil {
		t.Errorf("%d, %v", n, err)
	}
	for i := 1; i < len(body); i++ {
		n, err := CountBatch(body[:i])
		var be *BatchError
		if whole := i == 22+3+4 || i == 22+3+4+22; whole != (err == nil) || !whole && (!errors.As(err, &be) || be.Entry != n) {
			t.Errorf("cut to %d: %d, %v", i, n, err)
		}
	}
	if _, err := CountBatch(nil); err == nil {
		t.Error("an empty batch is none")
	}
	for at, b := range map[int]byte{0: 0x80, 3: 21, 16: 0x7F, 17: 0xFF, 23: 0x80, 24: 5} {
		bad := bytes.Clone(body)
		bad[at] = b
		if _, err := CountBatch(bad); err == nil {
			t.Errorf("byte %d as %#x passes", at, b)
		}
	}
}
