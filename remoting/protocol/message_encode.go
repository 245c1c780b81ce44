package protocol

import (
	"encoding/binary"
	"hash/crc32"
	"net/netip"
)

// RecordFields is what a record is made of. Size and the body's checksum are computed, the IPv6 bits of SysFlag are
// set from the hosts whatever they were before.
type RecordFields struct {
	// Magic is MagicV1 or MagicV2; 0 chooses V2 for topics longer than 127 bytes only, as Java does.
	Magic                     int32
	QueueID                   int32
	Flag                      int32
	QueueOffset               int64 // usually patched later, see PatchRecord
	PhysicalOffset            int64 // usually patched later
	SysFlag                   int32
	BornTimestamp             int64 // ms
	BornHost                  netip.AddrPort
	StoreTimestamp            int64 // ms, usually patched later
	StoreHost                 netip.AddrPort
	ReconsumeTimes            int32
	PreparedTransactionOffset int64
	Body                      []byte
	Topic                     string
	// Properties and PropertiesTail are written one after the other, with a separator between them where the first
	// lacks it: what the client sent and what the broker adds.
	Properties     string
	PropertiesTail []byte
	// ReserveCRC adds room for the property __CRC32#, which SealRecord fills in after the last patch.
	ReserveCRC bool
}

// FieldsOf returns the fields of a decoded record, for writing it again with changes. It aliases what v aliases.
func FieldsOf(v *MessageView) RecordFields {
	return RecordFields{
		Magic: v.Magic, QueueID: v.QueueID, Flag: v.Flag, QueueOffset: v.QueueOffset, PhysicalOffset: v.PhysicalOffset,
		SysFlag: v.SysFlag, BornTimestamp: v.BornTimestamp, BornHost: v.BornHost, StoreTimestamp: v.StoreTimestamp,
		StoreHost: v.StoreHost, ReconsumeTimes: v.ReconsumeTimes, PreparedTransactionOffset: v.PreparedTransactionOffset,
		Body: v.Body, Topic: v.Topic, Properties: v.Properties,
	}
}

func (m *RecordFields) magic() int32 {
	switch {
	case m.Magic != 0:
		return m.Magic
	case len(m.Topic) > maxTopicV1:
		return MagicV2
	}
	return MagicV1
}

// sysFlag is SysFlag with the IPv6 bits that fit the hosts.
func (m *RecordFields) sysFlag() int32 {
	f := m.SysFlag &^ (SysFlagBornHostV6 | SysFlagStoreHostV6)
	if m.BornHost.Addr().Unmap().Is6() {
		f |= SysFlagBornHostV6
	}
	if m.StoreHost.Addr().Unmap().Is6() {
		f |= SysFlagStoreHostV6
	}
	return f
}

// PropertiesSize is the length of the whole property string in bytes; it must not exceed MaxPropertiesLength.
func (m *RecordFields) PropertiesSize() int {
	n := len(m.Properties) + len(m.PropertiesTail)
	if m.ReserveCRC {
		n += recordCRCBytes
	}
	if m.needsSeparator() {
		n++
	}
	return n
}

// needsSeparator reports whether Properties lacks the separator before what follows it.
func (m *RecordFields) needsSeparator() bool {
	n := len(m.Properties)
	return n > 0 && m.Properties[n-1] != PropertySeparator && (len(m.PropertiesTail) > 0 || m.ReserveCRC)
}

// RecordSize is the number of bytes that AppendRecord appends.
func RecordSize(m *RecordFields) int {
	n := RecordOverheadV1 + len(m.Body) + len(m.Topic) + m.PropertiesSize()
	if m.magic() == MagicV2 {
		n++
	}
	f := m.sysFlag()
	if f&SysFlagBornHostV6 != 0 {
		n += ipv6Extra
	}
	if f&SysFlagStoreHostV6 != 0 {
		n += ipv6Extra
	}
	return n
}

// CheckRecord reports fields that a record cannot hold, as a *RecordError: a topic that is empty or longer than its
// magic allows, properties longer than MaxPropertiesLength.
func CheckRecord(m *RecordFields) error {
	limit := maxTopicV1
	if m.magic() == MagicV2 {
		limit = 32767
	}
	if len(m.Topic) == 0 || len(m.Topic) > limit {
		return &RecordError{Reason: "topic length", Got: int64(len(m.Topic)), Limit: int64(limit)}
	}
	if n := m.PropertiesSize(); n > MaxPropertiesLength {
		return &RecordError{Reason: "properties are too long", Got: int64(n), Limit: MaxPropertiesLength}
	}
	return nil
}

// AppendRecord appends the record of m, whose fields must have passed CheckRecord. It allocates only if dst is too small.
func AppendRecord(dst []byte, m *RecordFields) []byte {
	magic, sysFlag := m.magic(), m.sysFlag()
	be := binary.BigEndian
	dst = be.AppendUint32(dst, uint32(RecordSize(m)))
	dst = be.AppendUint32(dst, uint32(magic))
	dst = be.AppendUint32(dst, uint32(BodyCRC(m.Body)))
	dst = be.AppendUint32(dst, uint32(m.QueueID))
	dst = be.AppendUint32(dst, uint32(m.Flag))
	dst = be.AppendUint64(dst, uint64(m.QueueOffset))
	dst = be.AppendUint64(dst, uint64(m.PhysicalOffset))
	dst = be.AppendUint32(dst, uint32(sysFlag))
	dst = be.AppendUint64(dst, uint64(m.BornTimestamp))
	dst = appendHost(dst, m.BornHost)
	dst = be.AppendUint64(dst, uint64(m.StoreTimestamp))
	dst = appendHost(dst, m.StoreHost)
	dst = be.AppendUint32(dst, uint32(m.ReconsumeTimes))
	dst = be.AppendUint64(dst, uint64(m.PreparedTransactionOffset))
	dst = be.AppendUint32(dst, uint32(len(m.Body)))
	dst = append(dst, m.Body...)
	if magic == MagicV2 {
		dst = be.AppendUint16(dst, uint16(len(m.Topic)))
	} else {
		dst = append(dst, byte(len(m.Topic)))
	}
	dst = append(dst, m.Topic...)
	dst = be.AppendUint16(dst, uint16(m.PropertiesSize()))
	dst = append(dst, m.Properties...)
	if m.needsSeparator() {
		dst = append(dst, PropertySeparator)
	}
	dst = append(dst, m.PropertiesTail...)
	if m.ReserveCRC {
		dst = AppendProperty(dst, PropertyCRC32, "0000000000")
	}
	return dst
}

// SealRecord fills in the property __CRC32# of a record that was written with ReserveCRC. Nothing in the record may
// change after it.
func SealRecord(rec []byte) { putRecordCRC(rec[len(rec)-11:], recordCRC(rec)) }

// CheckSeal reports whether a record that ends in the property __CRC32# is intact. sealed is false for any other record.
func CheckSeal(rec []byte) (sealed, intact bool) {
	if len(rec) < minRecordSize+recordCRCBytes {
		return false, false
	}
	tail := rec[len(rec)-recordCRCBytes:]
	if string(tail[:len(PropertyCRC32)+1]) != PropertyCRC32+"\x01" {
		return false, false
	}
	var want [10]byte
	putRecordCRC(want[:], recordCRC(rec))
	return true, string(tail[9:19]) == string(want[:])
}

func recordCRC(rec []byte) uint32 {
	return crc32.ChecksumIEEE(rec[:len(rec)-recordCRCBytes]) & 0x7FFFFFFF
}

// putRecordCRC writes ten digits, the lowest first.
func putRecordCRC(dst []byte, crc uint32) {
	for i := range dst[:10] {
		dst[i] = '0' + byte(crc%10)
		crc /= 10
	}
}

// AppendBlank appends the head of a blank record that takes the remaining bytes of a file (at least BlankRecordSize).
func AppendBlank(dst []byte, remaining int32) []byte {
	magic := MagicBlank
	dst = binary.BigEndian.AppendUint32(dst, uint32(remaining))
	return binary.BigEndian.AppendUint32(dst, uint32(magic))
}
