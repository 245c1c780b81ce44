package protocol

import (
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"net/netip"
)

// IDError says why a text is no message id.
type IDError struct {
	ID     string
	Reason string
}

func (e *IDError) Error() string {
	id := e.ID
	if len(id) > 64 {
		id = id[:64] + "..."
	}
	return fmt.Sprintf("message id %q: %s", id, e.Reason)
}

const upperHex = "0123456789ABCDEF"

// hexPairs are the digits of all bytes.
var hexPairs = func() (t [256][2]byte) {
	for i := range t {
		t[i] = [2]byte{upperHex[i>>4], upperHex[i&15]}
	}
	return t
}()

// AppendHex appends v as 16 upper-case hexadecimal digits.
func AppendHex(dst []byte, v uint64) []byte {
	var b [16]byte
	for i := 0; i < len(b); i += 2 {
		p := hexPairs[byte(v>>(56-4*i))]
		b[i], b[i+1] = p[0], p[1]
	}
	return append(dst, b[:]...)
}

// OffsetMsgID is the id that a broker gives to a stored message: address, port and CommitLog position in
// upper-case hex, 32 digits for IPv4 and 56 for IPv6.
func OffsetMsgID(host netip.AddrPort, phys int64) string {
	return string(AppendOffsetMsgID(make([]byte, 0, 56), host, phys))
}

// AppendOffsetMsgID appends the digits of OffsetMsgID.
func AppendOffsetMsgID(dst []byte, host netip.AddrPort, phys int64) []byte {
	var raw [28]byte
	b := appendHost(raw[:0], host)
	b = binary.BigEndian.AppendUint64(b, uint64(phys))
	for _, c := range b {
		dst = append(dst, hexPairs[c][:]...)
	}
	return dst
}

// ParseOffsetMsgID is the inverse of OffsetMsgID; it reads either case. The error is an *IDError.
// A client id (UNIQ_KEY) has the same length and parses too: what it then says is meaningless.
func ParseOffsetMsgID(id string) (netip.AddrPort, int64, error) {
	if len(id) != 32 && len(id) != 56 {
		return netip.AddrPort{}, 0, &IDError{ID: id, Reason: "neither 32 nor 56 digits long"}
	}
	var raw [28]byte
	n, err := hex.Decode(raw[:], []byte(id))
	if err != nil {
		return netip.AddrPort{}, 0, &IDError{ID: id, Reason: "not hexadecimal"}
	}
	b := raw[:n]
	port := binary.BigEndian.Uint32(b[n-12:])
	if port > 65535 {
		return netip.AddrPort{}, 0, &IDError{ID: id, Reason: fmt.Sprintf("port %d is beyond 65535", port)}
	}
	addr, _ := netip.AddrFromSlice(b[:n-12])
	phys := int64(binary.BigEndian.Uint64(b[n-8:]))
	if phys < 0 {
		return netip.AddrPort{}, 0, &IDError{ID: id, Reason: "negative offset"}
	}
	return netip.AddrPortFrom(addr, uint16(port)), phys, nil
}

// appendHost appends address (4 or 16 bytes) and port (4 bytes). An IPv4-mapped IPv6 address is written as IPv4,
// an invalid one as 0.0.0.0.
func appendHost(dst []byte, host netip.AddrPort) []byte {
	a := host.Addr().Unmap()
	if a.Is6() {
		b := a.As16()
		dst = append(dst, b[:]...)
	} else {
		var b [4]byte
		if a.Is4() {
			b = a.As4()
		}
		dst = append(dst, b[:]...)
	}
	return binary.BigEndian.AppendUint32(dst, uint32(host.Port()))
}
