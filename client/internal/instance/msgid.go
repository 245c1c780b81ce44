package instance

import (
	"encoding/binary"
	"encoding/hex"
	"net/netip"
	"strings"
	"sync"
	"time"
)

// IDMaker makes the ids that clients give to their messages (property UNIQ_KEY): address, process id, a value that tells makers
// in one process apart, milliseconds since the first of the month, and a counter; 32 upper-case hex digits for an IPv4 address, 56 for an IPv6 one.
// It is safe for concurrent use.
type IDMaker struct {
	prefix []byte
	now    func() time.Time

	mu struct {
		sync.Mutex
		monthStart, monthEnd time.Time
		counter              uint16
	}
}

// NewIDMaker returns a maker for this host. seed tells apart makers of one process.
func NewIDMaker(host netip.Addr, pid int, seed uint32, now func() time.Time) *IDMaker {
	host = host.Unmap()
	prefix := host.AsSlice()
	if len(prefix) == 0 {
		prefix = []byte{127, 0, 0, 1}
	}
	prefix = binary.BigEndian.AppendUint16(prefix, uint16(pid))
	prefix = binary.BigEndian.AppendUint32(prefix, seed)
	return &IDMaker{prefix: prefix, now: now}
}

// Next returns an id that this maker has not returned before within 65,536 ids of a millisecond.
func (m *IDMaker) Next() string {
	ms, n := m.stamp()
	b := binary.BigEndian.AppendUint32(append(make([]byte, 0, 28), m.prefix...), ms)
	b = binary.BigEndian.AppendUint16(b, n)
	return strings.ToUpper(hex.EncodeToString(b))
}

func (m *IDMaker) stamp() (ms uint32, n uint16) {
	now := m.now()
	m.mu.Lock()
	defer m.mu.Unlock()
	if !now.Before(m.mu.monthEnd) || now.Before(m.mu.monthStart) {
		y, mon, _ := now.Date()
		m.mu.monthStart = time.Date(y, mon, 1, 0, 0, 0, 0, now.Location())
		m.mu.monthEnd = m.mu.monthStart.AddDate(0, 1, 0)
	}
	n = m.mu.counter
	m.mu.counter++
	return uint32(now.Sub(m.mu.monthStart).Milliseconds()), n
}
