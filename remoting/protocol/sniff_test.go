package protocol

import "testing"

func TestSniffProtocol(t *testing.T) {
	for first, want := range map[string]string{
		"":                                 "nothing",
		"GET / HTTP/1.1\r\n":               "HTTP/1",
		"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n": "HTTP/2",
		"\x16\x03\x01\x02\x00\x01\x00\x01": "TLS",
		"AMQP\x00\x00\x09\x01":             "AMQP",
		"*1\r\n$4\r\nPING\r\n":             "Redis",
		"PING\r\n":                         "Redis",
		"\x10\x10\x00\x04MQTT\x04\x02":     "MQTT",
		"SSH-2.0-OpenSSH_9.6\r\n":          "SSH",
		"PROXY TCP4 1.2.3.4":               "PROXY protocol",
		"\r\n\r\n\x00\r\nQUIT\n\x21\x11":   "PROXY protocol",
		"\x00\x00\x00\x2d\x00\x00\x00\x00\x00\x00\x00\x00": "ZooKeeper",
		"ruok":                             "ZooKeeper command",
		"\x00\x00\x00\x08\x04\xd2\x16\x2f": "PostgreSQL",
		"\x00\x00\x00\x54\x00\x03\x00\x00user\x00":             "PostgreSQL",
		"\x4a\x00\x00\x00\x0a8.0.36\x00":                       "MySQL",
		"\x00\x00\x00\x1a\x00\x12\x00\x03\x00\x00\x00\x01\x00": "Kafka",
		"hello\r\n":                        "text",
		"{\"a\":1}":                        "JSON text",
		"\xff\xfe\xfd\xfc\xfb\xfa\xf9\xf8": "unknown",
	} {
		if got := SniffProtocol([]byte(first)); got != want {
			t.Errorf("%q: %s, want %s", first, got, want)
		}
	}
}

func TestSniffKnowsItsOwn(t *testing.T) {
	for _, r := range recordedFrames(t) {
		if got := SniffProtocol(r.Raw); got != "RocketMQ" {
			t.Fatalf("%v: %s", &r, got)
		}
	}
}
