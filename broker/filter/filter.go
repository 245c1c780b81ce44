// Package filter turns subscriptions into filters of stored messages: tags, and SQL92 expressions (package sql).
//
// A compiled filter is immutable and safe for concurrent use; it keeps nothing of the records that it is shown and allocates nothing.
package filter

import (
	"errors"
	"fmt"
	"strings"

	"github.com/seedmq/seedmq/broker/filter/sql"
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

// Compiler makes filters and keeps the SQL92 expressions it compiled last, for the members of a group and the pulls of a client repeat
// the same ones. Safe for concurrent use.
type Compiler struct{ sql *sql.Cache }

// NewCompiler returns a compiler that keeps nothing yet.
func NewCompiler() *Compiler { return &Compiler{sql: sql.NewCache()} }

// Compile is the package's Compile.
func (c *Compiler) Compile(expr, expressionType string) (store.Filter, error) {
	return compile(expr, expressionType, c.sql.Compile)
}

// Compile makes the filter of a subscription text; a nil filter lets everything pass. The text is copied. An SQL92 expression that is
// none gives a *sql.Error with the place.
func Compile(expr, expressionType string) (store.Filter, error) {
	return compile(expr, expressionType, sql.Compile)
}

func compile(expr, expressionType string, compileSQL func(string) (*sql.Expr, error)) (store.Filter, error) {
	switch {
	case IsTag(expressionType):
		return compileTags(expr), nil
	case expressionType != protocol.ExpressionSQL92:
		return nil, fmt.Errorf("%w: %.64q; there are TAG and SQL92", ErrUnsupported, expressionType)
	}
	e, err := compileSQL(expr)
	if err != nil {
		return nil, err
	}
	return &SQL{expr: e}, nil
}

func compileTags(expr string) store.Filter {
	tags, all := Parse(strings.Clone(expr))
	if all {
		return nil
	}
	f := &Tags{tags: tags, codes: make([]int64, len(tags))}
	for i, t := range tags {
		f.codes[i] = protocol.TagsCode(t)
	}
	return f
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
