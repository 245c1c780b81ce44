package protocol

import "unicode/utf8"

// JavaHash is Java's String.hashCode: 31-multiplier over UTF-16 units, 32 bits.
func JavaHash(s string) int32 {
	var h int32
	for i := 0; i < len(s); i++ {
		if s[i] >= utf8.RuneSelf {
			return javaHashUnicode(s)
		}
		h = 31*h + int32(s[i])
	}
	return h
}

func javaHashUnicode(s string) int32 {
	var h int32
	for _, r := range s {
		if r < 0x10000 {
			h = 31*h + r
			continue
		}
		r -= 0x10000
		h = 31*h + 0xD800 + r>>10
		h = 31*h + 0xDC00 + r&0x3FF
	}
	return h
}

// TagsCode is what a ConsumeQueue unit holds for a tag: its JavaHash, and 0 for a message without one.
func TagsCode(tag string) int64 { return int64(JavaHash(tag)) }
