package protocol

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"net/netip"
)

// Magic codes of a stored record.
const (
	MagicV1    int32 = -626843481 // 0xDAA320A7: topic length in 1 byte
	MagicV2    int32 = -626843477 // 0xDAA320AB: topic length in 2 bytes, since 5.1.0
	MagicBlank int32 = -875286124 // 0xCBD43194: padding up to the end of the file
)

// Offsets of a record's fields that no flag moves. See StoreTimestampPos and StoreHostPos for those behind the born host.
const (
	PosTotalSize      = 0
	PosMagic          = 4
	PosBodyCRC        = 8
	PosQueueID        = 12
	PosFlag           = 16
	PosQueueOffset    = 20
	PosPhysicalOffset = 28
	PosSysFlag        = 36
	PosBornTimestamp  = 40
	PosBornHost       = 48

	// RecordOverheadV1 is the size of a record with IPv4 hosts and empty body, topic and properties.
	RecordOverheadV1 = 91
	// BlankRecordSize is what is written of a blank record; the rest of the file belongs to it too.
	BlankRecordSize = 8

	ipv6Extra      = 12 // bytes that an IPv6 host takes more than an IPv4 one
	maxTopicV1     = 127
	minRecordSize  = RecordOverheadV1
	recordCRCBytes = 20 // __CRC32# \x01 ten digits \x02
)

// StoreTimestampPos is the offset of STORETIMESTAMP in a record with that sysFlag.
func StoreTimestampPos(sysFlag int32) int {
	if sysFlag&SysFlagBornHostV6 != 0 {
		return 56 + ipv6Extra
	}
	return 56
}

// StoreHostPos is the offset of STOREHOSTADDRESS in a record with that sysFlag.
func StoreHostPos(sysFlag int32) int { return StoreTimestampPos(sysFlag) + 8 }

// PatchRecord sets what is known only under the append lock: queue offset, position and store time.
func PatchRecord(rec []byte, queueOffset, physicalOffset, storeTimestamp int64) {
	sysFlag := int32(binary.BigEndian.Uint32(rec[PosSysFlag:]))
	binary.BigEndian.PutUint64(rec[PosQueueOffset:], uint64(queueOffset))
	binary.BigEndian.PutUint64(rec[PosPhysicalOffset:], uint64(physicalOffset))
	binary.BigEndian.PutUint64(rec[StoreTimestampPos(sysFlag):], uint64(storeTimestamp))
}

// BodyCRC is the checksum that a record holds of its body as stored.
func BodyCRC(body []byte) int32 { return int32(crc32.ChecksumIEEE(body) & 0x7FFFFFFF) }

// ErrBlankRecord is what DecodeMessage returns for a blank record; the size it returns is that of the padding.
var ErrBlankRecord = errors.New("blank record: end of file")

// RecordError says why bytes are not a stored record.
type RecordError struct {
	Reason string
	At     int   // offset in the record
	Got    int64 // the number that is wrong, where there is one
	Limit  int64
}

func (e *RecordError) Error() string {
	s := fmt.Sprintf("message record: %s at byte %d", e.Reason, e.At)
	if e.Got != 0 || e.Limit != 0 {
		s += fmt.Sprintf(": got %d, limit %d", e.Got, e.Limit)
	}
	return s
}

// MessageView is a decoded record. Body, Topic and Properties alias the bytes it was decoded from.
type MessageView struct {
	Size                      int32
	Magic                     int32
	BodyCRC                   int32
	QueueID                   int32
	Flag                      int32
	QueueOffset               int64
	PhysicalOffset            int64
	SysFlag                   int32
	BornTimestamp             int64 // ms
	BornHost                  netip.AddrPort
	StoreTimestamp            int64 // ms
	StoreHost                 netip.AddrPort
	ReconsumeTimes            int32
	PreparedTransactionOffset int64
	Body                      []byte // as stored: perhaps compressed (see SysFlag); nil when empty
	Topic                     string
	Properties                string
}

// OffsetMsgID is the id of the message: its store host and position.
func (v *MessageView) OffsetMsgID() string { return OffsetMsgID(v.StoreHost, v.PhysicalOffset) }

// Property returns a property's value, which aliases the record.
func (v *MessageView) Property(name string) (string, bool) { return Property(v.Properties, name) }

// CheckBody reports a body whose checksum is not the one in the record, as a *RecordError.
func (v *MessageView) CheckBody() error {
	if got := BodyCRC(v.Body); got != v.BodyCRC {
		return &RecordError{Reason: "body checksum differs", At: PosBodyCRC, Got: int64(got), Limit: int64(v.BodyCRC)}
	}
	return nil
}

// DecodeMessage decodes the record that b begins with and returns its size. Every length is checked, and they must add
// up to the record's size exactly; the body's checksum is not looked at (see CheckBody). The error is ErrBlankRecord or
// a *RecordError, and v is then undefined.
func DecodeMessage(b []byte, v *MessageView) (size int, err error) {
	if len(b) < BlankRecordSize {
		return 0, &RecordError{Reason: "record is cut", Got: int64(len(b)), Limit: BlankRecordSize}
	}
	v.Size = int32(binary.BigEndian.Uint32(b))
	v.Magic = int32(binary.BigEndian.Uint32(b[PosMagic:]))
	switch v.Magic {
	case MagicV1, MagicV2:
	case MagicBlank:
		if v.Size < BlankRecordSize {
			return 0, &RecordError{Reason: "blank record is too small", Got: int64(v.Size), Limit: BlankRecordSize}
		}
		return int(v.Size), ErrBlankRecord
	default:
		return 0, &RecordError{Reason: "unknown magic", At: PosMagic, Got: int64(v.Magic)}
	}
	size = int(v.Size)
	if size < minRecordSize {
		return 0, &RecordError{Reason: "size is too small", Got: int64(size), Limit: minRecordSize}
	}
	if size > len(b) {
		return 0, &RecordError{Reason: "record is cut", Got: int64(size), Limit: int64(len(b))}
	}
	b = b[:size]
	at, err := v.decodeFixed(b)
	if err == nil {
		err = v.decodeVariable(b, at)
	}
	return size, err
}

// decodeFixed reads up to the prepared transaction offset and returns the offset behind it.
func (v *MessageView) decodeFixed(b []byte) (at int, err error) {
	v.BodyCRC = int32(binary.BigEndian.Uint32(b[PosBodyCRC:]))
	v.QueueID = int32(binary.BigEndian.Uint32(b[PosQueueID:]))
	v.Flag = int32(binary.BigEndian.Uint32(b[PosFlag:]))
	v.QueueOffset = int64(binary.BigEndian.Uint64(b[PosQueueOffset:]))
	v.PhysicalOffset = int64(binary.BigEndian.Uint64(b[PosPhysicalOffset:]))
	v.SysFlag = int32(binary.BigEndian.Uint32(b[PosSysFlag:]))
	v.BornTimestamp = int64(binary.BigEndian.Uint64(b[PosBornTimestamp:]))
	fixed := minRecordSize
	for _, bit := range [...]int32{SysFlagBornHostV6, SysFlagStoreHostV6} {
		if v.SysFlag&bit != 0 {
			fixed += ipv6Extra
		}
	}
	if len(b) < fixed {
		return 0, &RecordError{Reason: "size is too small for IPv6 hosts", Got: int64(len(b)), Limit: int64(fixed)}
	}
	if v.BornHost, at, err = hostAt(b, PosBornHost, v.SysFlag&SysFlagBornHostV6 != 0); err != nil {
		return 0, err
	}
	v.StoreTimestamp = int64(binary.BigEndian.Uint64(b[at:]))
	if v.StoreHost, at, err = hostAt(b, at+8, v.SysFlag&SysFlagStoreHostV6 != 0); err != nil {
		return 0, err
	}
	v.ReconsumeTimes = int32(binary.BigEndian.Uint32(b[at:]))
	v.PreparedTransactionOffset = int64(binary.BigEndian.Uint64(b[at+4:]))
	return at + 12, nil
}

// hostAt reads address and port and returns the offset behind them.
func hostAt(b []byte, at int, v6 bool) (netip.AddrPort, int, error) {
	var addr netip.Addr
	if v6 {
		addr = netip.AddrFrom16([16]byte(b[at:]))
		at += 16
	} else {
		addr = netip.AddrFrom4([4]byte(b[at:]))
		at += 4
	}
	port := binary.BigEndian.Uint32(b[at:])
	if port > 65535 {
		return netip.AddrPort{}, at, &RecordError{Reason: "port is too big", At: at, Got: int64(port), Limit: 65535}
	}
	return netip.AddrPortFrom(addr, uint16(port)), at + 4, nil
}

// decodeVariable reads body, topic and properties, which must end where the record does.
func (v *MessageView) decodeVariable(b []byte, at int) error {
	n := int64(int32(binary.BigEndian.Uint32(b[at:])))
	at += 4
	if n < 0 || n > int64(len(b)-at) {
		return &RecordError{Reason: "body length", At: at - 4, Got: n, Limit: int64(len(b) - at)}
	}
	v.Body = nil
	if n > 0 {
		v.Body = b[at : at+int(n) : at+int(n)]
	}
	at += int(n)

	topicLenBytes := 1
	if v.Magic == MagicV2 {
		topicLenBytes = 2
	}
	if len(b)-at < topicLenBytes {
		return &RecordError{Reason: "no room for the topic", At: at}
	}
	topicLen := int(int8(b[at]))
	if v.Magic == MagicV2 {
		topicLen = int(int16(binary.BigEndian.Uint16(b[at:])))
	}
	at += topicLenBytes
	if topicLen <= 0 || topicLen+2 > len(b)-at {
		return &RecordError{Reason: "topic length", At: at - topicLenBytes, Got: int64(topicLen), Limit: int64(len(b) - at - 2)}
	}
	v.Topic = aliasBytes(b[at : at+topicLen])
	at += topicLen

	propsLen := int(int16(binary.BigEndian.Uint16(b[at:])))
	at += 2
	if propsLen < 0 || propsLen != len(b)-at {
		return &RecordError{Reason: "properties length", At: at - 2, Got: int64(propsLen), Limit: int64(len(b) - at)}
	}
	v.Properties = aliasBytes(b[at:])
	return nil
}
