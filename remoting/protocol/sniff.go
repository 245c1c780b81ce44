package protocol

import "bytes"

// sniffed pairs the first bytes of other protocols with the name that a log line gives them.
var sniffed = []struct {
	name   string
	prefix string
}{
	{"HTTP/2", "PRI * HTTP/2"},
	{"HTTP/1", "GET "}, {"HTTP/1", "POST "}, {"HTTP/1", "PUT "}, {"HTTP/1", "HEAD "}, {"HTTP/1", "DELETE "},
	{"HTTP/1", "OPTIONS "}, {"HTTP/1", "CONNECT "}, {"HTTP/1", "PATCH "}, {"HTTP/1", "TRACE "}, {"HTTP/1", "HTTP/1."},
	{"AMQP", "AMQP"},
	{"PROXY protocol", "PROXY "}, {"PROXY protocol", "\r\n\r\n\x00\r\nQUIT\n"},
	{"SSH", "SSH-"},
	{"RTSP or SIP", "REGISTER "}, {"RTSP or SIP", "INVITE "},
	{"PostgreSQL", "\x00\x00\x00\x08\x04\xd2\x16\x2f"},
	{"ZooKeeper command", "ruok"}, {"ZooKeeper command", "stat\n"}, {"ZooKeeper command", "mntr"},
	{"memcached", "stats\r\n"}, {"memcached", "version\r\n"},
	{"NATS or STOMP", "CONNECT"}, {"STOMP", "STOMP"},
	{"SMTP", "EHLO "}, {"SMTP", "HELO "},
}

// SniffProtocol names the protocol whose first bytes these are: "RocketMQ", the name of another one, or "unknown".
// It is for log lines about connections that are refused, and guesses.
func SniffProtocol(first []byte) string {
	if len(first) == 0 {
		return "nothing"
	}
	for _, s := range sniffed {
		if bytes.HasPrefix(first, []byte(s.prefix)) {
			return s.name
		}
	}
	if name := sniffBinary(first); name != "" {
		return name
	}
	switch c := first[0]; {
	case c == '*' && len(first) > 1 && first[1]-'0' <= 9, bytes.HasPrefix(first, []byte("PING\r\n")):
		return "Redis"
	case c == '{' || c == '[':
		return "JSON text"
	}
	for _, c := range first {
		if c < ' ' && c != '\r' && c != '\n' && c != '\t' || c >= 0x7F {
			return "unknown"
		}
	}
	return "text"
}

// sniffBinary knows protocols by the shape of their first bytes.
func sniffBinary(b []byte) string {
	switch {
	case b[0] == 0x16 && len(b) > 2 && b[1] == 3 && b[2] <= 4:
		return "TLS"
	case b[0] == 0x10 && len(b) > 7 && (bytes.Contains(b[:8], []byte("MQTT")) || bytes.Contains(b, []byte("MQIsdp"))):
		return "MQTT"
	case len(b) < 8:
		return ""
	}
	word := func(i int) uint32 {
		return uint32(b[i])<<24 | uint32(b[i+1])<<16 | uint32(b[i+2])<<8 | uint32(b[i+3])
	}
	length, second := word(0), word(4)
	switch {
	case length >= 24 && length < 1<<16 && second == 0 && len(b) >= 12 && word(8) == 0:
		return "ZooKeeper"
	case second == 196608: // 3.0
		return "PostgreSQL"
	case length <= MaxFrameLength && second>>24 <= uint32(SerializeRocketMQ) && second&MaxHeaderLength <= length && second != 0:
		return sniffFrame(b, second)
	case length > 8 && length < 1<<20 && second>>16 < 100 && second&0xFFFF < 20:
		return "Kafka"
	case b[3] == 0 && b[0] > 0 && b[4] == 10:
		return "MySQL"
	}
	return ""
}

// sniffFrame looks at what follows the two length words.
func sniffFrame(b []byte, second uint32) string {
	if second>>24 == uint32(SerializeJSON) && len(b) > 8 && b[8] != '{' && b[8] > ' ' {
		return ""
	}
	return "RocketMQ"
}
