package remoting

import (
	"bytes"
	"encoding/binary"
	"errors"
	"net/netip"
	"strconv"
	"strings"
)

const (
	proxyV1Prefix    = "PROXY "
	proxyV1Max       = 107 // with CR LF, by the specification
	proxyV2Signature = "\r\n\r\n\x00\r\nQUIT\n"
	proxyV2Head      = 16
	proxyV2Max       = 4096 // addresses and TLVs; the format allows 65535
)

var (
	errProxyMore = errors.New("remoting: PROXY header is not complete")
	errProxyBad  = errors.New("remoting: malformed PROXY header")
)

// parseProxy reads a PROXY protocol header, version 1 or 2, at the start of b. It returns the client's address,
// which is invalid if the header does not tell one (UNKNOWN, LOCAL, a Unix socket), and the header's length.
// It is errProxyMore if b ends too early to tell, and n is then how many bytes are needed at least.
func parseProxy(b []byte) (src netip.AddrPort, n int, err error) {
	switch {
	case hasOrStarts(b, proxyV1Prefix):
		return parseProxyV1(b)
	case hasOrStarts(b, proxyV2Signature):
		return parseProxyV2(b)
	}
	return src, 0, errProxyBad
}

// hasOrStarts reports whether b has the prefix, as far as b goes.
func hasOrStarts(b []byte, prefix string) bool {
	n := min(len(b), len(prefix))
	return n > 0 && string(b[:n]) == prefix[:n]
}

func parseProxyV1(b []byte) (src netip.AddrPort, n int, err error) {
	end := bytes.IndexByte(b[:min(len(b), proxyV1Max)], '\n')
	if end < 0 {
		if len(b) >= proxyV1Max {
			return src, 0, errProxyBad
		}
		return src, len(b) + 1, errProxyMore
	}
	line, ok := strings.CutSuffix(string(b[:end]), "\r")
	f := strings.Split(line, " ")
	switch {
	case !ok || len(f) < 2:
		return src, 0, errProxyBad
	case f[1] == "UNKNOWN":
		return src, end + 1, nil
	case f[1] != "TCP4" && f[1] != "TCP6" || len(f) != 6:
		return src, 0, errProxyBad
	}
	addr, err := netip.ParseAddr(f[2])
	port, perr := strconv.ParseUint(f[4], 10, 16)
	if err != nil || perr != nil || addr.Is4() != (f[1] == "TCP4") {
		return src, 0, errProxyBad
	}
	return netip.AddrPortFrom(addr, uint16(port)), end + 1, nil
}

func parseProxyV2(b []byte) (src netip.AddrPort, n int, err error) {
	if len(b) < proxyV2Head {
		return src, proxyV2Head, errProxyMore
	}
	size := int(binary.BigEndian.Uint16(b[14:]))
	if b[12]>>4 != 2 || b[12]&15 > 1 || size > proxyV2Max {
		return src, 0, errProxyBad
	}
	n = proxyV2Head + size
	if len(b) < n {
		return src, n, errProxyMore
	}
	if b[12]&15 == 0 { // LOCAL: the proxy itself, e.g. a health check
		return src, n, nil
	}
	a := b[proxyV2Head:n]
	switch b[13] >> 4 {
	case 1:
		if size < 12 {
			return src, 0, errProxyBad
		}
		return netip.AddrPortFrom(netip.AddrFrom4([4]byte(a[:4])), binary.BigEndian.Uint16(a[8:])), n, nil
	case 2:
		if size < 36 {
			return src, 0, errProxyBad
		}
		return netip.AddrPortFrom(netip.AddrFrom16([16]byte(a[:16])).Unmap(), binary.BigEndian.Uint16(a[32:])), n, nil
	}
	return src, n, nil
}
