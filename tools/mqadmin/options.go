package mqadmin

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// option is one option of a command, as commons-cli declares it.
type option struct {
	short, long string
	arg         bool   // takes a value
	required    bool   // must be given
	group       string // options of the same group exclude each other, and one of them must be given
	help        string
	hidden      bool // ours, not Java's: left out of the usage text, which scripts and people compare
}

// key is what commons-cli calls the option in its messages.
func (o *option) key() string {
	if o.short != "" {
		return o.short
	}
	return o.long
}

// usageError is a mistake on the command line: its text goes to stderr, the usage to stdout, and the exit code is 1.
type usageError struct{ text string }

func (e *usageError) Error() string { return e.text }

func usagef(format string, a ...any) error { return &usageError{fmt.Sprintf(format, a...)} }

// values are the parsed options, by key.
type values map[string]string

// parser reads an argument list by the rules of commons-cli's DefaultParser, so that every line that works with Java's tool works here:
// -t v, -tv, -t=v, --topic v, --topic=v, -topic v, any unambiguous beginning of a long name, bundled flags, and negative numbers as values.
type parser struct {
	opts    []option
	got     values
	chosen  map[string]string // group → key given
	waiting *option           // wants its value
}

// parse returns the options in args. Words that belong to no option are ignored, as Java ignores them.
func parse(opts []option, args []string) (values, error) {
	p := &parser{opts: opts, got: values{}, chosen: map[string]string{}}
	for _, tok := range args {
		if tok == "--" {
			break
		}
		if err := p.token(tok); err != nil {
			return nil, err
		}
	}
	if p.waiting != nil {
		return nil, usagef("Missing argument for option: %s", p.waiting.key())
	}
	return p.got, p.checkRequired()
}

func (p *parser) token(tok string) error {
	switch {
	case p.waiting != nil && (!p.isOption(tok) || isNumber(tok)):
		p.got[p.waiting.key()] = unquote(tok)
		p.waiting = nil
		return nil
	case p.waiting != nil:
		return usagef("Missing argument for option: %s", p.waiting.key())
	case strings.HasPrefix(tok, "--"):
		return p.longOption(tok, tok)
	case strings.HasPrefix(tok, "-") && len(tok) > 1:
		return p.shortOrLong(tok)
	}
	return nil
}

func (p *parser) shortOrLong(tok string) error {
	t := tok[1:]
	name, value, eq := strings.Cut(t, "=")
	switch {
	case eq && len(name) == 1:
		o := p.short(name)
		if o == nil || !o.arg {
			return unknown(tok)
		}
		return p.give(o, &value)
	case eq:
		return p.longOption(tok, tok)
	case p.short(t) != nil:
		return p.give(p.short(t), nil)
	case len(t) == 1:
		return unknown(tok)
	case len(p.longMatches(t)) > 0:
		return p.longOption(tok, tok)
	}
	for n := len(t) - 2; n > 1; n-- { // -topicX: the longest long name that t begins with
		if o := p.exactLong(t[:n]); o != nil && o.arg {
			v := t[n:]
			return p.give(o, &v)
		}
	}
	return p.bundle(tok)
}

// bundle reads -abc as -a -b -c, where the first that takes a value takes the rest.
func (p *parser) bundle(tok string) error {
	for i := 1; i < len(tok); i++ {
		o := p.short(tok[i : i+1])
		if o == nil {
			return unknown(tok)
		}
		if o.arg && i+1 < len(tok) {
			v := unquote(tok[i+1:])
			return p.give(o, &v)
		}
		if err := p.give(o, nil); err != nil {
			return err
		}
	}
	return nil
}

func (p *parser) longOption(tok, whole string) error {
	name, value, eq := strings.Cut(strings.TrimLeft(tok, "-"), "=")
	m := p.longMatches(name)
	switch {
	case len(m) == 0:
		return unknown(whole)
	case len(m) > 1:
		var names []string
		for _, o := range m {
			names = append(names, "'"+o.long+"'")
		}
		return usagef("Ambiguous option: '%s'  (could be: %s)", strings.TrimSuffix(tok, "="+value), strings.Join(names, ", "))
	case !eq:
		return p.give(m[0], nil)
	case !m[0].arg:
		return unknown(whole)
	}
	return p.give(m[0], &value)
}

// give records o with its value, or, if it takes one that has not been seen, waits for it.
func (p *parser) give(o *option, value *string) error {
	if o.group != "" {
		if was, ok := p.chosen[o.group]; ok && was != o.key() {
			return usagef("The option '%s' was specified but an option from this group has already been selected: '%s'", o.key(), was)
		}
		p.chosen[o.group] = o.key()
	}
	switch {
	case !o.arg:
		p.got[o.key()] = ""
	case value != nil:
		p.got[o.key()] = *value
	default:
		p.waiting = o
	}
	return nil
}

func (p *parser) checkRequired() error {
	var missing []string
	seen := map[string]bool{}
	for i := range p.opts {
		o := &p.opts[i]
		switch _, ok := p.got[o.key()]; {
		case o.group != "" && !seen[o.group]:
			seen[o.group] = true
			if _, ok := p.chosen[o.group]; !ok {
				missing = append(missing, alternatives(p.opts, o.group))
			}
		case o.required && !ok:
			missing = append(missing, o.key())
		}
	}
	if len(missing) == 0 {
		return nil
	}
	plural := ""
	if len(missing) > 1 {
		plural = "s"
	}
	return usagef("Missing required option%s: %s", plural, strings.Join(missing, ", "))
}

// alternatives is commons-cli's text of a group of options.
func alternatives(opts []option, group string) string {
	var parts []string
	for i := range opts {
		if o := &opts[i]; o.group == group {
			parts = append(parts, "-"+o.short+" "+o.help)
		}
	}
	return "[" + strings.Join(parts, ", ") + "]"
}

func (p *parser) short(name string) *option {
	for i := range p.opts {
		if name != "" && p.opts[i].short == name {
			return &p.opts[i]
		}
	}
	return nil
}

func (p *parser) exactLong(name string) *option {
	for i := range p.opts {
		if name != "" && p.opts[i].long == name {
			return &p.opts[i]
		}
	}
	return nil
}

// longMatches are the options that name stands for: the one with exactly that long name, else all that begin with it.
func (p *parser) longMatches(name string) []*option {
	if o := p.exactLong(name); o != nil {
		return []*option{o}
	}
	var m []*option
	for i := range p.opts {
		if name != "" && strings.HasPrefix(p.opts[i].long, name) && !p.opts[i].hidden {
			m = append(m, &p.opts[i])
		}
	}
	return m
}

// isOption reports whether tok looks like an option of this command rather than like a value.
func (p *parser) isOption(tok string) bool {
	if !strings.HasPrefix(tok, "-") || len(tok) == 1 {
		return false
	}
	name, _, _ := strings.Cut(tok[1:], "=")
	if p.short(name) != nil || name != "" && p.short(name[:1]) != nil {
		return true
	}
	return len(p.longMatches(strings.TrimLeft(name, "-"))) > 0
}

func isNumber(s string) bool {
	_, err := strconv.ParseFloat(s, 64)
	return err == nil
}

// unquote drops one pair of double quotes around s.
func unquote(s string) string {
	if len(s) > 1 && s[0] == '"' && s[len(s)-1] == '"' {
		return s[1 : len(s)-1]
	}
	return s
}

func unknown(tok string) error { return usagef("Unrecognized option: %s", tok) }

// has reports whether the option was given.
func (v values) has(key string) bool { _, ok := v[key]; return ok }

// str is the trimmed value of an option, "" when it was not given.
func (v values) str(key string) string { return strings.TrimSpace(v[key]) }

// strOr is the trimmed value of an option, def when it was not given.
func (v values) strOr(key, def string) string {
	if !v.has(key) {
		return def
	}
	return v.str(key)
}

// isTrue reads a bool as Java's parseBoolean: the word true in any case, and nothing else, is true.
func (v values) isTrue(key string, def bool) bool {
	if !v.has(key) {
		return def
	}
	return strings.EqualFold(v.str(key), "true")
}

// int64 reads a whole number. A malformed one is the error that Java would show.
func (v values) int64(key string, def int64) (int64, error) {
	if !v.has(key) {
		return def, nil
	}
	return parseLong(v.str(key))
}

// int32 is int64 with Java's range of an int.
func (v values) int32(key string, def int32) (int32, error) {
	n, err := v.int64(key, int64(def))
	if err == nil && int64(int32(n)) != n {
		err = numberFormat(v.str(key))
	}
	return int32(n), err
}

func parseLong(s string) (int64, error) {
	n, err := strconv.ParseInt(s, 10, 64)
	if err != nil {
		return 0, numberFormat(s)
	}
	return n, nil
}

func numberFormat(s string) error {
	return &javaError{class: "java.lang.NumberFormatException", text: fmt.Sprintf("For input string: %q", s)}
}

// timeLayout is the form of a point in time on the command line, besides milliseconds since 1970; the last part is milliseconds.
const timeLayout = "2006-01-02#15:04:05:000"

// parseTime reads milliseconds, or the form yyyy-MM-dd#HH:mm:ss:SSS in the local time zone.
func parseTime(s string, loc *time.Location) (int64, error) {
	if n, err := strconv.ParseInt(s, 10, 64); err == nil {
		return n, nil
	}
	head, ms, ok := cutLast(s, ":")
	t, err := time.ParseInLocation("2006-01-02#15:04:05", head, loc)
	n, err2 := strconv.Atoi(ms)
	if !ok || err != nil || err2 != nil || n < 0 || n > 999 {
		return 0, &javaError{class: "java.lang.IllegalArgumentException",
			text: fmt.Sprintf("%q is neither a time in milliseconds nor of the form yyyy-MM-dd#HH:mm:ss:SSS", s)}
	}
	return t.UnixMilli() + int64(n), nil
}

func cutLast(s, sep string) (before, after string, found bool) {
	i := strings.LastIndex(s, sep)
	if i < 0 {
		return s, "", false
	}
	return s[:i], s[i+len(sep):], true
}
