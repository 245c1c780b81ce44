package broker

import (
	"encoding/binary"
	"encoding/hex"
	"net/netip"
	"os"
	"sync/atomic"
	"time"

	"github.com/seedmq/seedmq/remoting/protocol"
)

// uniqIDLen is the length of a made UNIQ_KEY in hex digits.
const uniqIDLen = 32

// uniqIDs makes client ids (UNIQ_KEY) for messages that come without one, laid out as Java's MessageClientIDSetter does: address 4,
// process id 2, a number of this instance 4, milliseconds since the month began 4, counter 2. Safe for concurrent use.
type uniqIDs struct {
	prefix  [20]byte // hex digits of address, process id and instance
	counter atomic.Uint32
	month   atomic.Pointer[month]
}

// month is the span that the time part of ids counts in.
type month struct{ begin, end int64 } // ms

func newUniqIDs(self netip.AddrPort, seed int64) *uniqIDs {
	var raw [10]byte
	if a := self.Addr().Unmap(); a.Is4() {
		b := a.As4()
		copy(raw[:], b[:])
	}
	binary.BigEndian.PutUint16(raw[4:], uint16(os.Getpid()))
	binary.BigEndian.PutUint32(raw[6:], uint32(seed))
	u := &uniqIDs{}
	hex.Encode(u.prefix[:], raw[:])
	upper(u.prefix[:])
	return u
}

// next writes an id made at now into dst.
func (u *uniqIDs) next(dst *[uniqIDLen]byte, now time.Time) {
	ms := now.UnixMilli()
	m := u.month.Load()
	if m == nil || ms < m.begin || ms >= m.end {
		first := time.Date(now.Year(), now.Month(), 1, 0, 0, 0, 0, now.Location())
		m = &month{first.UnixMilli(), first.AddDate(0, 1, 0).UnixMilli()}
		u.month.Store(m)
	}
	v := uint64(uint32(ms-m.begin))<<16 | uint64(uint16(u.counter.Add(1)))
	protocol.AppendHex(dst[:16], v) // of which the first four digits are zeros
	copy(dst[:], u.prefix[:])
}

func upper(b []byte) {
	for i, c := range b {
		if c >= 'a' && c <= 'f' {
			b[i] = c - 'a' + 'A'
		}
	}
}
