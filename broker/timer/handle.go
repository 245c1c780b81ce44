package timer

import (
	"encoding/base64"
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// ErrBadHandle: a text that is no recall handle.
var ErrBadHandle = errors.New("recall handle is invalid")

// Handle is what a producer needs to recall a message: Java's RecallMessageHandle, version 1.
type Handle struct {
	Topic, Broker string
	// DeliverMs is a time within the message's tick, not before TIMER_OUT_MS + 1.
	DeliverMs int64
	UniqKey   string
}

const (
	handleVersion = "v1"
	maxHandle     = 2048
)

// Append appends the text of the handle.
func (h *Handle) Append(dst []byte) []byte {
	raw := make([]byte, 0, 256)
	raw = append(append(append(raw, handleVersion...), ' '), h.Topic...)
	raw = append(append(raw, ' '), h.Broker...)
	raw = strconv.AppendInt(append(raw, ' '), h.DeliverMs, 10)
	raw = append(append(raw, ' '), h.UniqKey...)
	return base64.URLEncoding.AppendEncode(dst, raw)
}

// ParseHandle reads a handle. Like Java it wants base64 as of URLs, padded or not, and at least five words; but the time must be a
// number, and no word may be empty.
func ParseHandle(text string) (h Handle, err error) {
	if len(text) > maxHandle {
		return h, fmt.Errorf("%w: %d bytes", ErrBadHandle, len(text))
	}
	raw, err := base64.RawURLEncoding.DecodeString(strings.TrimRight(text, "="))
	if err != nil {
		return h, fmt.Errorf("%w: %w", ErrBadHandle, err)
	}
	words := strings.Split(string(raw), " ")
	if len(words) != 5 || words[0] != handleVersion || words[1] == "" || words[2] == "" || words[4] == "" {
		return h, ErrBadHandle
	}
	ms, err := strconv.ParseInt(words[3], 10, 64)
	if err != nil || ms <= 0 || ms > maxTime {
		return h, fmt.Errorf("%w: the time is %q", ErrBadHandle, clip(words[3]))
	}
	return Handle{words[1], words[2], ms, words[4]}, nil
}

// DeleteKey is the value of TIMER_DEL_UNIQKEY for a message, in one of two forms: Java 5.3.2 to 5.4 put the topic before the
// key; the versions before, and 5.5.0 unless appendTopicForTimerDeleteKey is set, do not.
func DeleteKey(topic, uniqKey string, withTopic bool) string {
	if withTopic {
		return topic + "+" + uniqKey
	}
	return uniqKey
}
