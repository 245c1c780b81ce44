package protocol

import (
	"encoding/base64"
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// ErrBadRecallHandle: a text that is no recall handle.
var ErrBadRecallHandle = errors.New("recall handle is invalid")

// RecallHandle is what a producer needs to recall a message: Java's RecallMessageHandle, version 1.
type RecallHandle struct {
	Topic, Broker string
	// DeliverMs is a time within the message's tick, not before TIMER_OUT_MS + 1.
	DeliverMs int64
	UniqKey   string
	// Level says that the message has a delay level, and DeliverMs is its position in the log instead. This form is ours; mqadmin uses it.
	Level bool
}

const (
	recallVersion   = "v1"
	recallLevel     = "level1"
	maxRecallHandle = 2048
	latestRecall    = 1<<45 - 1 // the year 3084
)

// Append appends the text of the handle.
func (h *RecallHandle) Append(dst []byte) []byte {
	raw := make([]byte, 0, 256)
	version := recallVersion
	if h.Level {
		version = recallLevel
	}
	raw = append(append(append(raw, version...), ' '), h.Topic...)
	raw = append(append(raw, ' '), h.Broker...)
	raw = strconv.AppendInt(append(raw, ' '), h.DeliverMs, 10)
	raw = append(append(raw, ' '), h.UniqKey...)
	return base64.URLEncoding.AppendEncode(dst, raw)
}

// ParseRecallHandle reads a handle. Like Java it wants base64 as of URLs, padded or not, and at least five words; but the time must be a
// number, and no word may be empty.
func ParseRecallHandle(text string) (h RecallHandle, err error) {
	if len(text) > maxRecallHandle {
		return h, fmt.Errorf("%w: %d bytes", ErrBadRecallHandle, len(text))
	}
	raw, err := base64.RawURLEncoding.DecodeString(strings.TrimRight(text, "="))
	if err != nil {
		return h, fmt.Errorf("%w: %w", ErrBadRecallHandle, err)
	}
	words := strings.Split(string(raw), " ")
	if len(words) != 5 || words[0] != recallVersion && words[0] != recallLevel || words[1] == "" || words[2] == "" || words[4] == "" {
		return h, ErrBadRecallHandle
	}
	level := words[0] == recallLevel
	ms, err := strconv.ParseInt(words[3], 10, 64)
	if err != nil || ms < 0 || !level && (ms == 0 || ms > latestRecall) {
		return h, fmt.Errorf("%w: the time is %.20q", ErrBadRecallHandle, words[3])
	}
	return RecallHandle{words[1], words[2], ms, words[4], level}, nil
}
