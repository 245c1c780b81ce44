package store

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"math/bits"
	"net/netip"

	"github.com/seedmq/seedmq/remoting/protocol"
	"github.com/seedmq/seedmq/store/consumequeue"
)

// A record of the commit log, big-endian. On disk, do not change. Hosts are 4 or 16 address bytes and a port of 4
// bytes; sysFlag says which, and what follows a long host moves by 12.
//
//	 0 i32 total size          28 i64 physical offset       64 store host
//	 4 i32 magic               36 i32 sysFlag               72 i32 reconsume times
//	 8 i32 CRC-32 of the body  40 i64 born time, ms         76 i64 prepared transaction offset
//	12 i32 queue id            48 born host                 84 i32 body length, body
//	16 i32 flag                56 i64 store time, ms           i8 (V2: i16) topic length, topic
//	20 i64 queue offset                                        i16 properties length, properties
const (
	magicV1    = 0xDAA320A7
	magicV2    = 0xDAA320AB
	magicBlank = 0xCBD43194

	posMagic       = 4
	posCRC         = 8
	posQueueID     = 12
	posQueueOffset = 20
	posPhys        = 28
	posSysFlag     = 36
	posBornHost    = 48
	posStoreTime   = 56 // with a short born host

	longHost = 12 // what an IPv6 host adds

	// blankSize is the header of the filler at a file's end: i32 bytes left in the file, i32 magicBlank.
	blankSize = 8
	// minRecord is a V1 record with short hosts, no body, no properties and a topic of one byte.
	minRecord = 92
	// headSize covers all that stands before the body, with long hosts.
	headSize = 88 + 2*longHost

	crcMask       = 0x7FFFFFFF
	maxTopicV1    = 127
	maxTopic      = 255
	maxPort       = 65535
	maxProperties = 32767
)

// queued says that records of this transaction type get a queue offset and a place in a queue.
func queued(sysFlag int32) bool {
	t := sysFlag & protocol.SysFlagTransactionMask
	return t == protocol.SysFlagTransactionNot || t == protocol.SysFlagTransactionCommit
}

// indexed says that the keys of records of this transaction type are indexed.
func indexed(sysFlag int32) bool {
	return sysFlag&protocol.SysFlagTransactionMask != protocol.SysFlagTransactionRollback
}

func shortHost(a netip.AddrPort) bool { return !a.Addr().IsValid() || a.Addr().Unmap().Is4() }

func appendHost(dst []byte, a netip.AddrPort) []byte {
	switch addr := a.Addr().Unmap(); {
	case !addr.IsValid():
		dst = append(dst, 0, 0, 0, 0)
	case addr.Is4():
		b := addr.As4()
		dst = append(dst, b[:]...)
	default:
		b := addr.As16()
		dst = append(dst, b[:]...)
	}
	return binary.BigEndian.AppendUint32(dst, uint32(a.Port()))
}

// encodedRecord says where the append finds the fields that it fills in.
type encodedRecord struct {
	size      int
	storeTime int // offset of the store time
}

// appendRecord encodes m with all but queue offset, physical offset and store time. Sizes were checked by checkMessage.
func appendRecord(dst []byte, m *Message, storeHost netip.AddrPort) ([]byte, encodedRecord) {
	at := len(dst)
	flag := m.SysFlag &^ (protocol.SysFlagBornHostV6 | protocol.SysFlagStoreHostV6)
	e := encodedRecord{storeTime: posStoreTime}
	if !shortHost(m.BornHost) {
		flag |= protocol.SysFlagBornHostV6
		e.storeTime += longHost
	}
	if !shortHost(storeHost) {
		flag |= protocol.SysFlagStoreHostV6
	}
	e.size = recordSize(m, flag)
	magic := uint32(magicV1)
	if len(m.Topic) > maxTopicV1 {
		magic = magicV2
	}
	be := binary.BigEndian
	dst = be.AppendUint32(dst, uint32(e.size))
	dst = be.AppendUint32(dst, magic)
	dst = be.AppendUint32(dst, crc32.ChecksumIEEE(m.Body)&crcMask)
	dst = be.AppendUint32(dst, uint32(m.QueueID))
	dst = be.AppendUint32(dst, uint32(m.Flag))
	dst = append(dst, make([]byte, 16)...) // queue offset, physical offset
	dst = be.AppendUint32(dst, uint32(flag))
	dst = be.AppendUint64(dst, uint64(m.BornTimestamp))
	dst = appendHost(dst, m.BornHost)
	dst = append(dst, make([]byte, 8)...) // store time
	dst = appendHost(dst, storeHost)
	dst = be.AppendUint32(dst, uint32(m.ReconsumeTimes))
	dst = be.AppendUint64(dst, uint64(m.PreparedTransactionOffset))
	dst = be.AppendUint32(dst, uint32(len(m.Body)))
	dst = append(dst, m.Body...)
	if magic == magicV1 {
		dst = append(dst, byte(len(m.Topic)))
	} else {
		dst = be.AppendUint16(dst, uint16(len(m.Topic)))
	}
	dst = append(dst, m.Topic...)
	dst = be.AppendUint16(dst, uint16(len(m.Properties)))
	dst = append(dst, m.Properties...)
	if len(dst)-at != e.size {
		panic("store: record size") // our bug: the layout and recordSize disagree
	}
	return dst, e
}

func recordSize(m *Message, sysFlag int32) int {
	n := 91 + len(m.Body) + len(m.Topic) + len(m.Properties)
	if sysFlag&protocol.SysFlagBornHostV6 != 0 {
		n += longHost
	}
	if sysFlag&protocol.SysFlagStoreHostV6 != 0 {
		n += longHost
	}
	if len(m.Topic) > maxTopicV1 {
		n++
	}
	return n
}

// patchRecord fills in what the append decides.
func patchRecord(rec []byte, storeTimePos int, queueOffset, phys, storeTime int64) {
	binary.BigEndian.PutUint64(rec[posQueueOffset:], uint64(queueOffset))
	binary.BigEndian.PutUint64(rec[posPhys:], uint64(phys))
	binary.BigEndian.PutUint64(rec[storeTimePos:], uint64(storeTime))
}

func putBlank(dst []byte, left int64) {
	binary.BigEndian.PutUint32(dst, uint32(left))
	binary.BigEndian.PutUint32(dst[posMagic:], magicBlank)
}

// record is a stored record's fields; topic, body and properties alias the bytes that it was read from.
type record struct {
	size        int32
	magic       uint32
	crc         uint32
	queueID     int32
	queueOffset int64
	phys        int64
	sysFlag     int32
	storeTime   int64
	body        []byte
	topic       []byte
	properties  []byte
}

// head is what the first bytes of a record say.
func recordHead(b []byte) (size int32, magic uint32, phys int64) {
	return int32(binary.BigEndian.Uint32(b)), binary.BigEndian.Uint32(b[posMagic:]), int64(binary.BigEndian.Uint64(b[posPhys:]))
}

func recordSysFlag(b []byte) int32 { return int32(binary.BigEndian.Uint32(b[posSysFlag:])) }

func isMagic(m uint32) bool { return m == magicV1 || m == magicV2 }

// isRecord says that b begins with a record of this size that was stored at phys: a quick check, not of its content.
func isRecord(b []byte, size int32, phys int64) bool {
	if len(b) < minRecord || int(size) > len(b) {
		return false
	}
	s, magic, p := recordHead(b)
	return s == size && isMagic(magic) && p == phys
}

// parseRecord reads the record at the beginning of b and checks that its parts add up to its size. The error wraps
// ErrCorrupt; b may be longer than the record.
func parseRecord(b []byte, r *record) error {
	if len(b) < minRecord {
		return fmt.Errorf("%w: record of %d bytes", ErrCorrupt, len(b))
	}
	size, magic, phys := recordHead(b)
	if !isMagic(magic) {
		return fmt.Errorf("%w: magic %08x", ErrCorrupt, magic)
	}
	if size < minRecord || int(size) > len(b) {
		return fmt.Errorf("%w: record size %d, %d bytes there", ErrCorrupt, size, len(b))
	}
	b = b[:size]
	be := binary.BigEndian
	r.size, r.magic, r.phys = size, magic, phys
	r.crc = be.Uint32(b[posCRC:])
	r.queueID = int32(be.Uint32(b[posQueueID:]))
	r.queueOffset = int64(be.Uint64(b[posQueueOffset:]))
	r.sysFlag = int32(be.Uint32(b[posSysFlag:]))
	if int(size) < minRecord+longHost*bits.OnesCount32(uint32(r.sysFlag&(protocol.SysFlagBornHostV6|protocol.SysFlagStoreHostV6))) {
		return fmt.Errorf("%w: record of %d bytes with sysFlag %x", ErrCorrupt, size, r.sysFlag)
	}
	at := posStoreTime
	if r.sysFlag&protocol.SysFlagBornHostV6 != 0 {
		at += longHost
	}
	bornPort := be.Uint32(b[at-4:])
	r.storeTime = int64(be.Uint64(b[at:]))
	at += 16
	if r.sysFlag&protocol.SysFlagStoreHostV6 != 0 {
		at += longHost
	}
	if bornPort > maxPort || be.Uint32(b[at-4:]) > maxPort || r.queueID < 0 || r.queueOffset < 0 || r.queueOffset > consumequeue.MaxOffset || r.storeTime < 0 {
		return fmt.Errorf("%w: a field of a record has a value that cannot be", ErrCorrupt)
	}
	return r.parseTail(b, at+12) // over reconsume times and prepared offset
}

// parseTail reads body, topic and properties, which must fill b to its end.
func (r *record) parseTail(b []byte, at int) error {
	be := binary.BigEndian
	take := func(width int) ([]byte, bool) {
		if len(b)-at < width {
			return nil, false
		}
		var n int
		switch width {
		case 1:
			n = int(int8(b[at]))
		case 2:
			n = int(int16(be.Uint16(b[at:])))
		default:
			n = int(int32(be.Uint32(b[at:])))
		}
		at += width
		if n < 0 || n > len(b)-at {
			return nil, false
		}
		at += n
		return b[at-n : at : at], true
	}
	topicWidth := 1
	if r.magic == magicV2 {
		topicWidth = 2
	}
	var ok1, ok2, ok3 bool
	if r.body, ok1 = take(4); ok1 {
		if r.topic, ok2 = take(topicWidth); ok2 {
			r.properties, ok3 = take(2)
		}
	}
	if !ok3 || at != len(b) {
		return fmt.Errorf("%w: the parts of a record do not add up to its %d bytes", ErrCorrupt, len(b))
	}
	if !consumequeue.TopicFits(alias(r.topic)) {
		return fmt.Errorf("%w: topic %q of a record cannot name a folder", ErrCorrupt, r.topic)
	}
	return nil
}

// diskSector is the least that a disk writes or loses as a whole.
const diskSector = 512

// checkTorn finds what the body's checksum and the sizes cannot: sectors of topic and properties that never reached the
// disk and read as zeros. A lost sector that has any of the other fields spoils magic, sizes or position.
func (r *record) checkTorn() error {
	p := r.properties
	if bytes.IndexByte(r.topic, 0) >= 0 || len(p) > 0 && p[len(p)-1] == 0 {
		return fmt.Errorf("%w: zeros in topic or properties", ErrCorrupt)
	}
	for at := diskSector - int((r.phys+int64(r.size)-int64(len(p)))%diskSector); at+diskSector <= len(p); at += diskSector {
		if bytes.Count(p[at:at+diskSector], []byte{0}) == diskSector {
			return fmt.Errorf("%w: a sector of zeros in the properties", ErrCorrupt)
		}
	}
	return nil
}

// checkCRC compares the body with its checksum.
func (r *record) checkCRC() error {
	if got := crc32.ChecksumIEEE(r.body) & crcMask; got != r.crc&crcMask && len(r.body) > 0 {
		return fmt.Errorf("%w: CRC %08x of a body whose record says %08x", ErrCorrupt, got, r.crc)
	}
	return nil
}
