package filterdata

import (
	"encoding/binary"
	"math/bits"
)

// Java's default bloom filter: 32 consumers with at most 20 % false positives. Part of the file's format, do not change.
const (
	bloomBits   = 112
	bloomHashes = 3
)

// Bloom says which bits of a bloom filter stand for a group and topic.
type Bloom struct {
	BitNum int   `json:"bitNum"`
	BitPos []int `json:"bitPos"`
}

// bloomOf is the Bloom of a group and topic.
func bloomOf(group, topic string) *Bloom {
	h := murmur([]byte(group + "#" + topic))
	low, high := int32(uint32(h)), int32(uint32(h>>32))
	b := &Bloom{BitNum: bloomBits, BitPos: make([]int, bloomHashes)}
	for i := range b.BitPos {
		c := low + int32(i+1)*high
		if c < 0 {
			c = ^c
		}
		b.BitPos[i] = int(c % bloomBits)
	}
	return b
}

// fits says whether b is of the filter that runs here.
func (b *Bloom) fits() bool { return b != nil && b.BitNum == bloomBits && len(b.BitPos) == bloomHashes }

// murmur is the first half of MurmurHash3 x64 128 with seed 0.
func murmur(data []byte) uint64 {
	const c1, c2 = 0x87c37b91114253d5, 0x4cf5ad432745937f
	mix1 := func(k uint64) uint64 { return bits.RotateLeft64(k*c1, 31) * c2 }
	mix2 := func(k uint64) uint64 { return bits.RotateLeft64(k*c2, 33) * c1 }
	size := uint64(len(data))
	var h1, h2 uint64
	for ; len(data) >= 16; data = data[16:] {
		h1 ^= mix1(binary.LittleEndian.Uint64(data))
		h1 = (bits.RotateLeft64(h1, 27)+h2)*5 + 0x52dce729
		h2 ^= mix2(binary.LittleEndian.Uint64(data[8:]))
		h2 = (bits.RotateLeft64(h2, 31)+h1)*5 + 0x38495ab5
	}
	var tail [16]byte
	copy(tail[:], data)
	h2 ^= mix2(binary.LittleEndian.Uint64(tail[8:]))
	h1 ^= mix1(binary.LittleEndian.Uint64(tail[:]))
	h1 ^= size
	h2 ^= size
	h1 += h2
	h2 += h1
	h1, h2 = finish(h1), finish(h2)
	return h1 + h2
}

func finish(k uint64) uint64 {
	k = (k ^ k>>33) * 0xff51afd7ed558ccd
	k = (k ^ k>>33) * 0xc4ceb9fe1a85ec53
	return k ^ k>>33
}
