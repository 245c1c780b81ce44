package remoting

import "bytes"

// prefaceState is how far the first bytes of a server's connection have been looked at.
type prefaceState uint8

const (
	prefaceStart prefaceState = iota // nothing seen
	prefaceProxy                     // a PROXY header was taken
	prefacePlain                     // frames begin
	prefaceDone                      // a whole frame was seen
)

// First bytes of other protocols, for the log line.
var signatures = []struct{ prefix, name string }{
	{"PRI * HTTP/2.0", "HTTP/2"},
	{"GET ", "HTTP/1.1"}, {"POST ", "HTTP/1.1"}, {"PUT ", "HTTP/1.1"}, {"HEAD ", "HTTP/1.1"}, {"DELETE ", "HTTP/1.1"},
	{"OPTIONS ", "HTTP/1.1"}, {"PATCH ", "HTTP/1.1"}, {"CONNECT ", "HTTP/1.1"}, {"TRACE ", "HTTP/1.1"},
	{"HTTP/", "an HTTP reply"},
	{"SSH-", "SSH"},
	{"AMQP", "AMQP"},
	{"MQTT", "MQTT"}, {"\x10", "MQTT"},
	{"\x16\x03", "TLS"},
	{"\x80", "SSL 2"},
	{"*", "Redis"},
	{"EHLO ", "SMTP"}, {"HELO ", "SMTP"},
	{"USER ", "FTP"},
	{"\x03\x00", "RDP"},
	{"\x05\x01", "SOCKS5"}, {"\x05\x02", "SOCKS5"}, {"\x04\x01", "SOCKS4"},
	{"\xffSMB", "SMB"},
	{"PROXY ", "a broken PROXY header"}, {proxyV2Signature, "a broken PROXY header"},
}

// sniff names the protocol that a connection's first bytes belong to; "" if none is known.
func sniff(first []byte) string {
	for _, s := range signatures {
		if bytes.HasPrefix(first, []byte(s.prefix)) {
			return s.name
		}
	}
	return ""
}
