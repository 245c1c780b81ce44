package sql

import (
	"cmp"
	"math"
	"strconv"
	"unsafe"
)

// number is a whole number, or else a float.
type number struct {
	whole bool
	i     int64
	f     float64
}

func wholeNumber(i int64) number { return number{whole: true, i: i} }

func (n number) float() float64 {
	if n.whole {
		return float64(n.i)
	}
	return n.f
}

// minus is the negation; Java's wraps at the lowest number, which no literal is.
func (n number) minus() number { return number{whole: n.whole, i: -n.i, f: -n.f} }

// compare orders numbers: whole ones exactly, others as floats. NaN is equal to itself and above all else, as in Java.
func (n number) compare(m number) int {
	if n.whole && m.whole {
		return cmp.Compare(n.i, m.i)
	}
	a, b := n.float(), m.float()
	switch {
	case a < b:
		return -1
	case a > b:
		return 1
	case a == b:
		return 0
	}
	aNaN, bNaN := math.IsNaN(a), math.IsNaN(b)
	switch {
	case aNaN && bNaN:
		return 0
	case aNaN:
		return 1
	}
	return -1
}

// parseNumber reads the text of a property: a whole number if it is one that fits 64 bits, else what Java's Double reads, but for
// hexadecimal. It does not allocate.
func parseNumber(s []byte) (number, bool) {
	if n, ok := parseWhole(s); ok {
		return wholeNumber(n), true
	}
	s = trim(s)
	switch digits := unsigned(s); string(digits) {
	case "NaN":
		return number{f: math.NaN()}, true
	case "Infinity":
		return infinity(s[0] == '-'), true
	}
	s, power, ok := decimal(s)
	switch {
	case !ok:
		return number{}, false
	case power > maxPower: // ParseFloat would allocate an error
		return infinity(s[0] == '-'), true
	case power < -maxPower-20:
		return number{}, true
	}
	f, err := strconv.ParseFloat(unsafe.String(&s[0], len(s)), 64)
	if err != nil && !math.IsInf(f, 0) {
		return number{}, false
	}
	return number{f: f}, true
}

func infinity(negative bool) number {
	if negative {
		return number{f: math.Inf(-1)}
	}
	return number{f: math.Inf(1)}
}

// maxPower is the greatest number of digits before the point that a float may have; with as many zeros behind it, it is 0.
const maxPower = 309

// parseWhole reads [sign] digits within 64 bits.
func parseWhole(s []byte) (int64, bool) {
	digits := unsigned(s)
	if len(digits) == 0 || len(digits) > 19 {
		return 0, false
	}
	var n uint64
	for _, c := range digits {
		if !isDigit(c) {
			return 0, false
		}
		n = n*10 + uint64(c-'0')
	}
	if s[0] == '-' {
		return -int64(n), n <= 1<<63
	}
	return int64(n), n < 1<<63
}

func unsigned(s []byte) []byte {
	if len(s) > 0 && (s[0] == '+' || s[0] == '-') {
		return s[1:]
	}
	return s
}

// trim takes off blanks and control characters at both ends.
func trim(s []byte) []byte {
	for len(s) > 0 && s[0] <= ' ' {
		s = s[1:]
	}
	for len(s) > 0 && s[len(s)-1] <= ' ' {
		s = s[:len(s)-1]
	}
	return s
}

// decimal checks [sign] digits [. digits] [e [sign] digits] [f or d] and returns it without the last letter. power is the
// number of digits before the point if it were written without exponent.
func decimal(s []byte) (t []byte, power int, ok bool) {
	i := len(s) - len(unsigned(s))
	begin := i
	digits := func() int {
		from := i
		for i < len(s) && isDigit(s[i]) {
			i++
		}
		return i - from
	}
	before := digits()
	after, power := 0, significant(s[begin:i])
	zero := power == 0
	if i < len(s) && s[i] == '.' {
		i++
		after = digits()
		if n := significant(s[i-after : i]); zero && n > 0 {
			zero, power = false, n-after
		}
	}
	if before+after == 0 {
		return nil, 0, false
	}
	if i < len(s) && s[i]|0x20 == 'e' {
		i++
		negative := i < len(s) && s[i] == '-'
		if i < len(s) && (s[i] == '+' || negative) {
			i++
		}
		n := digits()
		if n == 0 {
			return nil, 0, false
		}
		power += exponent(s[i-n:i], negative)
	}
	if zero {
		power = 0 // whatever the exponent
	}
	t = s[:i]
	if i < len(s) && (s[i]|0x20 == 'd' || s[i]|0x20 == 'f') {
		i++
	}
	return t, power, i == len(s)
}

// significant counts the digits from the first that is not 0.
func significant(digits []byte) int {
	for len(digits) > 0 && digits[0] == '0' {
		digits = digits[1:]
	}
	return len(digits)
}

// exponent reads digits; what is beyond any float's stays just beyond any property's length.
func exponent(digits []byte, negative bool) int {
	n := 0
	for _, c := range digits {
		n = min(n*10+int(c-'0'), 1<<20)
	}
	if negative {
		return -n
	}
	return n
}
