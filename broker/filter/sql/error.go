package sql

import (
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Error says why an expression cannot be used, and where. Line and Column count from 1; Column counts characters.
type Error struct {
	Line, Column int
	what, why    string
}

// Error gives what was met, the place, and what was expected or is wrong.
func (e *Error) Error() string {
	return fmt.Sprintf("%s at line %d, column %d. %s", e.what, e.Line, e.Column, e.why)
}

// errorAt makes an Error about text at a byte position.
func errorAt(text string, at int, what, why string) *Error {
	before := text[:at]
	line := 1 + strings.Count(before, "\n")
	column := 1 + utf8.RuneCountInString(before[strings.LastIndexByte(before, '\n')+1:])
	return &Error{Line: line, Column: column, what: what, why: why}
}

// shown bounds how much of an expression an error repeats.
const shown = 40

// quote shows a piece of an expression.
func quote(s string) string {
	if utf8.RuneCountInString(s) > shown {
		s = string([]rune(s)[:shown]) + "…"
	}
	return strconv.Quote(s)
}

func quoteRune(r rune) string { return strconv.Quote(string(r)) }
