package store

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
)

// scanBuffer is how much a scanner reads at once.
const scanBuffer = 1 << 20

// scanner reads the log in order, past its readers' end too: what it yields is not yet known to be valid.
type scanner struct {
	l    *commitLog
	buf  []byte
	have []byte // part of buf that is filled
	pos  int64  // position of have[0]
}

// bytes returns want bytes from pos, or fewer if the file ends before; at most to limit. The slice is valid until the
// next call.
func (sc *scanner) bytes(pos int64, want int, limit int64) ([]byte, error) {
	f := sc.l.fileOf(pos)
	if f == nil {
		return nil, fmt.Errorf("position %d: %w", pos, ErrNotFound)
	}
	limit = min(limit, f.End())
	want = int(min(int64(want), limit-pos))
	if off := pos - sc.pos; off >= 0 && off+int64(want) <= int64(len(sc.have)) {
		return sc.have[off : off+int64(want)], nil
	}
	if size := max(want, scanBuffer); len(sc.buf) < size {
		sc.buf = make([]byte, size)
	}
	n := min(int64(len(sc.buf)), limit-pos)
	sc.have = sc.buf[:0]
	if !f.Acquire() {
		return nil, fmt.Errorf("position %d: %w", pos, ErrNotFound)
	}
	defer f.Release()
	if err := f.ReadAt(sc.buf[:n], pos-f.Start()); err != nil {
		return nil, err
	}
	sc.have, sc.pos = sc.buf[:n], pos
	return sc.have[:want], nil
}

// forget drops what was read ahead; needed when the log was changed.
func (sc *scanner) forget() { sc.have = nil }

// errBlank says that the rest of the file is filler.
var errBlank = errors.New("store: end of file mark")

// How closely a scanner looks at records.
type scanMode struct {
	crc  bool // compare the body's checksum
	torn bool // look for lost sectors
}

// record reads and parses the record at pos. errBlank at a filler; an error that wraps ErrCorrupt when there is no
// record; others are those of the disk.
func (sc *scanner) record(pos, limit int64, mode scanMode, r *record) ([]byte, error) {
	b, err := sc.bytes(pos, minRecord, limit)
	if err != nil {
		return nil, err
	}
	if len(b) < blankSize {
		return nil, fmt.Errorf("%w: %d bytes left", ErrCorrupt, len(b))
	}
	size, magic := int32(binary.BigEndian.Uint32(b)), binary.BigEndian.Uint32(b[posMagic:])
	if magic == magicBlank && int64(size) == sc.l.fileOf(pos).End()-pos {
		return nil, errBlank
	}
	if !isMagic(magic) || size < minRecord || int64(size) > limit-pos {
		return nil, fmt.Errorf("%w: magic %08x, size %d at %d", ErrCorrupt, magic, size, pos)
	}
	if b, err = sc.bytes(pos, int(size), limit); err != nil {
		return nil, err
	}
	if err := parseRecord(b, r); err != nil {
		return nil, fmt.Errorf("at %d: %w", pos, err)
	}
	if r.phys != pos {
		return nil, fmt.Errorf("%w: the record at %d was stored at %d", ErrCorrupt, pos, r.phys)
	}
	if mode.crc {
		err = r.checkCRC()
	}
	if mode.torn && err == nil {
		err = r.checkTorn()
	}
	if err != nil {
		return nil, fmt.Errorf("at %d: %w", pos, err)
	}
	return b, nil
}

// find returns the position of the next valid record at or after pos within the file that pos lies in, not older than
// notBefore; ok is false when there is none. The CRC is always checked: this is a search in noise.
func (sc *scanner) find(pos, limit, notBefore int64) (at int64, ok bool, err error) {
	f := sc.l.fileOf(pos)
	if f == nil {
		return 0, false, nil
	}
	limit = min(limit, f.End())
	pattern := []byte{0xDA, 0xA3, 0x20} // how both magics begin
	var r record
	for pos+minRecord <= limit {
		b, err := sc.bytes(pos, scanBuffer, limit)
		if err != nil {
			return 0, false, err
		}
		i := bytes.Index(b[posMagic:], pattern)
		if i < 0 {
			pos += int64(len(b) - posMagic - len(pattern) + 1)
			continue
		}
		pos += int64(i)
		switch _, err := sc.record(pos, limit, scanMode{crc: true, torn: true}, &r); {
		case err == nil && r.storeTime >= notBefore:
			return pos, true, nil
		case err != nil && !errors.Is(err, ErrCorrupt) && err != errBlank:
			return 0, false, err
		}
		pos++
	}
	return 0, false, nil
}
