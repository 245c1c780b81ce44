// Package filter turns subscriptions into filters of stored messages: tags today.
//
// A compiled filter is immutable and safe for concurrent use.
package filter

import (
	"encoding/binary"
	"errors"
	"fmt"
	"strings"

	"github.com/seedmq/seedmq/remoting/protocol"
	"github.com/seedmq/seedmq/store"
)

// ErrUnsupported: the expression type is not served.
var ErrUnsupported = errors.New("filter: expression type not supported")

// IsTag says whether an expression type means tags; clients may leave it out.
func IsTag(expressionType string) bool {
	return expressionType == "" || expressionType == protocol.ExpressionTag
}

// Tags selects messages by tag. The zero value selects none; a nil *Tags is not used: Compile returns a nil store.Filter for "all".
type Tags struct {
	codes []int64
	tags  []string
}

// Parse splits a tag expression "a || b"; all is true for "*" and "".
func Parse(expr string) (tags []string, all bool) {
	expr = strings.TrimSpace(expr)
	if expr == "" || expr == "*" {
		return nil, true
	}
	for _, t := range strings.Split(expr, "||") {
		if t = strings.TrimSpace(t); t != "" {
			tags = append(tags, t)
		}
	}
	return tags, false
}

// Compile makes the filter of a subscription text; a nil filter lets everything pass. The text is copied.
func Compile(expr, expressionType string) (store.Filter, error) {
	if !IsTag(expressionType) {
		return nil, fmt.Errorf("%w: %s", ErrUnsupported, expressionType)
	}
	tags, all := Parse(strings.Clone(expr))
	if all {
		return nil, nil
	}
	f := &Tags{tags: tags, codes: make([]int64, len(tags))}
	for i, t := range tags {
		f.codes[i] = protocol.TagsCode(t)
	}
	return f, nil
}

// MatchTagsCode compares the low 32 bits, as Java does.
func (f *Tags) MatchTagsCode(code int64) bool {
	for _, c := range f.codes {
		if int32(c) == int32(code) {
			return true
		}
	}
	return false
}

// MatchRecord compares the tag itself, because different tags can have one code.
func (f *Tags) MatchRecord(rec []byte) bool {
	tag, ok := recordTag(rec)
	if !ok {
		return false
	}
	for _, t := range f.tags {
		if t == string(tag) {
			return true
		}
	}
	return false
}

// Positions in a stored record, see protocol.DecodeMessage.
const (
	recMagicAt   = 4
	recSysFlagAt = 36
	recFixed     = 40 + 8 + 8 // up to the born host's port, IPv4
)

// recordTag finds the value of TAGS in a stored record without decoding the rest.
func recordTag(rec []byte) ([]byte, bool) {
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
	return property(rec[at:at+n], protocol.PropertyTags)
}

// property finds a value in an encoded property string; the last of several wins, as in Java's map.
func property(props []byte, name string) (val []byte, ok bool) {
	for len(props) > 0 {
		end := indexByte(props, 2)
		pair := props[:end]
		if len(pair) > len(name)+1 && pair[len(name)] == 1 && string(pair[:len(name)]) == name {
			val, ok = pair[len(name)+1:], true
		}
		props = props[min(len(props), end+1):]
	}
	return val, ok
}

func indexByte(b []byte, c byte) int {
	for i, x := range b {
		if x == c {
			return i
		}
	}
	return len(b)
}
