package store

import "unicode/utf8"

// hashMore continues Java's String.hashCode over s, so that a concatenation is hashed without being built.
func hashMore(h int32, s string) int32 {
	for i := 0; i < len(s); i++ {
		if s[i] >= utf8.RuneSelf {
			return hashUnicode(h, s[i:])
		}
		h = 31*h + int32(s[i])
	}
	return h
}

func hashUnicode(h int32, s string) int32 {
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

// indexHash is the hash that the index keeps for a Java hash.
func indexHash(h int32) int32 {
	if h < 0 {
		h = -h
	}
	return max(h, 0) // the smallest int has no positive twin
}

// tagKey stands between topic# and a tag in the index.
const tagKey = "T#"

// appendKeyHashes appends the index hashes of a message of q: unique key, each word of keys, tag.
func appendKeyHashes(dst []int32, q *queue, uniqKey, keys, tags string) []int32 {
	if uniqKey != "" {
		dst = append(dst, indexHash(hashMore(q.keyHash, uniqKey)))
	}
	eachWord(keys, func(word string) bool {
		dst = append(dst, indexHash(hashMore(q.keyHash, word)))
		return true
	})
	if tags != "" {
		dst = append(dst, indexHash(hashMore(hashMore(q.keyHash, tagKey), tags)))
	}
	return dst
}

// eachWord calls fn for the words of KEYS, which single blanks part.
func eachWord(keys string, fn func(word string) bool) {
	for len(keys) > 0 {
		i := 0
		for i < len(keys) && keys[i] != ' ' {
			i++
		}
		if i > 0 && !fn(keys[:i]) {
			return
		}
		keys = keys[min(i+1, len(keys)):]
	}
}
