package sql

import (
	"strings"
	"unicode/utf8"
)

type kind uint8

const (
	tEnd kind = iota
	tName
	tString
	tInt
	tFloat
	tEqual
	tNotEqual
	tGreater
	tGreaterEqual
	tLess
	tLessEqual
	tOpen
	tClose
	tComma
	tPlus
	tMinus
	tNot
	tAnd
	tOr
	tBetween
	tIn
	tTrue
	tFalse
	tNull
	tIs
	tContains
	tStartsWith
	tEndsWith
)

var keywords = map[string]kind{"NOT": tNot, "AND": tAnd, "OR": tOr, "BETWEEN": tBetween, "IN": tIn, "TRUE": tTrue, "FALSE": tFalse,
	"NULL": tNull, "IS": tIs, "CONTAINS": tContains, "STARTSWITH": tStartsWith, "ENDSWITH": tEndsWith}

// longestKeyword bounds what is looked up in keywords.
const longestKeyword = len("STARTSWITH")

// token is one word of an expression: text[from:to].
type token struct {
	kind     kind
	from, to int
}

// lexer cuts an expression into tokens, the longest that fits first.
type lexer struct {
	text string
	at   int
}

// next returns the next token, or an *Error at its place.
func (l *lexer) next() (token, error) {
	if err := l.skip(); err != nil {
		return token{}, err
	}
	from := l.at
	if from == len(l.text) {
		return token{kind: tEnd, from: from, to: from}, nil
	}
	var k kind
	switch c := l.text[from]; {
	case isLetter(c):
		k = l.word()
	case isDigit(c) || c == '.' && l.digitAt(from+1):
		k = l.number()
	case c == '\'':
		if !l.quoted() {
			return token{}, errorAt(l.text, from, "Lexical error", "the text in quotes does not end: a ' is missing (a quote inside is written '')")
		}
		k = tString
	default:
		if k = l.sign(c); k == tEnd {
			r, _ := utf8.DecodeRuneInString(l.text[from:])
			return token{}, errorAt(l.text, from, "Lexical error", "the character "+quoteRune(r)+" means nothing here")
		}
	}
	return token{kind: k, from: from, to: l.at}, nil
}

// skip passes over blanks and comments. A line comment without its line end is none: then it is two minus signs.
func (l *lexer) skip() error {
	for l.at < len(l.text) {
		rest := l.text[l.at:]
		switch {
		case strings.IndexByte(" \t\n\r\f", rest[0]) >= 0:
			l.at++
		case strings.HasPrefix(rest, "--"):
			end := strings.IndexAny(rest, "\r\n")
			if end < 0 {
				return nil
			}
			l.at += end + 1
		case strings.HasPrefix(rest, "/*"):
			end := strings.Index(rest[2:], "*/")
			if end < 0 {
				return errorAt(l.text, l.at, "Lexical error", "the comment does not end: */ is missing")
			}
			l.at += 2 + end + 2
		default:
			return nil
		}
	}
	return nil
}

func (l *lexer) word() kind {
	from := l.at
	for l.at < len(l.text) && (isLetter(l.text[l.at]) || isDigit(l.text[l.at])) {
		l.at++
	}
	if l.at-from <= longestKeyword {
		if k, ok := keywords[strings.ToUpper(l.text[from:l.at])]; ok {
			return k
		}
	}
	return tName
}

// number reads digits with a fraction, an exponent or an l; a whole number does not begin with 0, but for 0 itself.
func (l *lexer) number() kind {
	from := l.at
	l.digits()
	whole := l.at
	k := tInt
	if l.byteAt(l.at) == '.' {
		k = tFloat
		l.at++
		l.digits()
	}
	if e := l.at; l.byteAt(e)|0x20 == 'e' {
		e++
		if c := l.byteAt(e); c == '+' || c == '-' {
			e++
		}
		if l.digitAt(e) {
			k = tFloat
			l.at = e
			l.digits()
		}
	}
	switch {
	case k == tFloat:
	case l.text[from] == '0':
		l.at = from + 1
	case l.byteAt(whole)|0x20 == 'l':
		l.at = whole + 1
	}
	return k
}

func (l *lexer) digits() {
	for l.digitAt(l.at) {
		l.at++
	}
}

// quoted reads text in quotes; false when it does not end.
func (l *lexer) quoted() bool {
	for i := l.at + 1; i < len(l.text); i++ {
		if l.text[i] != '\'' {
			continue
		}
		if l.byteAt(i+1) != '\'' {
			l.at = i + 1
			return true
		}
		i++
	}
	return false
}

// sign reads an operator; tEnd when c begins none.
func (l *lexer) sign(c byte) kind {
	two := func(second byte, long, short kind) kind {
		if l.byteAt(l.at+1) == second {
			l.at += 2
			return long
		}
		l.at++
		return short
	}
	switch c {
	case '>':
		return two('=', tGreaterEqual, tGreater)
	case '<':
		if l.byteAt(l.at+1) == '>' {
			l.at += 2
			return tNotEqual
		}
		return two('=', tLessEqual, tLess)
	}
	if i := strings.IndexByte("=(),+-", c); i >= 0 {
		l.at++
		return [...]kind{tEqual, tOpen, tClose, tComma, tPlus, tMinus}[i]
	}
	return tEnd
}

// byteAt is 0 beyond the end.
func (l *lexer) byteAt(i int) byte {
	if i < len(l.text) {
		return l.text[i]
	}
	return 0
}

func (l *lexer) digitAt(i int) bool { return isDigit(l.byteAt(i)) }

func isDigit(c byte) bool { return '0' <= c && c <= '9' }

func isLetter(c byte) bool { return 'a' <= c|0x20 && c|0x20 <= 'z' || c == '_' || c == '$' }

// unquote is the text that a tString token means.
func unquote(image string) string { return strings.ReplaceAll(image[1:len(image)-1], "''", "'") }
