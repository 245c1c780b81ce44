package filter

import (
	"bytes"
	"encoding/binary"

	"github.com/seedmq/seedmq/remoting/protocol"
)

// Positions in a stored record, see protocol.DecodeMessage.
const (
	recMagicAt   = 4
	recSysFlagAt = 36
	recFixed     = 40 + 8 + 8 // up to the born host's port, IPv4
)

// recordTag finds the value of TAGS in a stored record.
func recordTag(rec []byte) ([]byte, bool) {
	props, ok := properties(rec)
	if !ok {
		return nil, false
	}
	return property(props, protocol.PropertyTags)
}

// properties finds the property string of a stored record without decoding the rest.
func properties(rec []byte) ([]byte, bool) {
	if len(rec) < recFixed {
		return nil, false
	}
	at := recFixed
	sys := binary.BigEndian.Uint32(rec[recSysFlagAt:])
	if sys&uint32(protocol.SysFlagBornHostV6) != 0 {
		at += 12
	}
	at += 8 // store time
	at += 8 // store host
	if sys&uint32(protocol.SysFlagStoreHostV6) != 0 {
		at += 12
	}
	at += 4 + 8 // reconsume times, prepared transaction offset
	if len(rec) < at+4 {
		return nil, false
	}
	body := int(int32(binary.BigEndian.Uint32(rec[at:])))
	at += 4 + max(0, body)
	if body < 0 || len(rec) < at+2 {
		return nil, false
	}
	if int32(binary.BigEndian.Uint32(rec[recMagicAt:])) == protocol.MagicV2 {
		at += 2 + int(binary.BigEndian.Uint16(rec[at:]))
	} else {
		at += 1 + int(rec[at])
	}
	if len(rec) < at+2 {
		return nil, false
	}
	n := int(binary.BigEndian.Uint16(rec[at:]))
	at += 2
	if len(rec) < at+n {
		return nil, false
	}
	return rec[at : at+n], true
}

// property finds a value in an encoded property string; the last of several wins, as in Java's map.
func property(props []byte, name string) (val []byte, ok bool) {
	for len(props) > 0 {
		pair, rest := props, []byte(nil)
		if end := bytes.IndexByte(props, 2); end >= 0 {
			pair, rest = props[:end], props[end+1:]
		}
		if len(pair) > len(name)+1 && pair[len(name)] == 1 && string(pair[:len(name)]) == name {
			val, ok = pair[len(name)+1:], true
		}
		props = rest
	}
	return val, ok
}
