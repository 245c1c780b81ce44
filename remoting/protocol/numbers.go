package protocol

import (
	"math"
	"strings"
)

func parseInt64(s string) (int64, bool) { return parseInt(s, 64) }

func parseInt32(s string) (int32, bool) {
	if len(s) == 1 && s[0]-'0' <= 9 { // most are
		return int32(s[0] - '0'), true
	}
	n, ok := parseInt(s, 32)
	return int32(n), ok
}

// badNumber is the error of a field that parseInt refused.
func badNumber(f *ExtField, bits int) error {
	if f.Value == "" {
		return &FieldError{Field: f.Key, Reason: "missing"}
	}
	reason := "not a 64-bit integer"
	if bits == 32 {
		reason = "not a 32-bit integer"
	}
	return &FieldError{Field: f.Key, Value: f.Value, Reason: reason}
}

// missingField is the error of a header whose required fields were not all seen: it names the first that was not.
func missingField(seen uint32, names ...string) error {
	for i, name := range names {
		if seen&(1<<i) == 0 {
			return &FieldError{Field: name, Reason: "missing"}
		}
	}
	return nil
}

// parseInt reads a decimal integer of the given number of bits as Java's parseInt and parseLong do: an optional sign,
// digits, nothing else.
func parseInt(s string, bitSize int) (int64, bool) {
	if s == "" {
		return 0, false
	}
	digits, neg := s, false
	if s[0] == '-' || s[0] == '+' {
		neg = s[0] == '-'
		digits = s[1:]
	}
	if digits == "" {
		return 0, false
	}
	var n uint64
	if len(digits) > 18 {
		digits = strings.TrimLeft(digits, "0")
		if len(digits) > 19 {
			return 0, false
		}
	}
	for i := 0; i < len(digits); i++ {
		d := digits[i] - '0'
		if d > 9 {
			return 0, false
		}
		n = n*10 + uint64(d)
	}
	limit := uint64(math.MaxInt64)
	if bitSize == 32 {
		limit = math.MaxInt32
	}
	if neg {
		return -int64(n), n <= limit+1
	}
	return int64(n), n <= limit
}

// parseBool reads as Java's parseBoolean: "true" in any case, everything else is false.
func parseBool(s string) bool {
	return s == "true" || len(s) == 4 && strings.EqualFold(s, "true")
}
