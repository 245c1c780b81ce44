package conf

import (
	"fmt"
	"reflect"
	"strconv"
	"strings"
)

// field is one key of a config struct, bound to a value.
type field struct {
	key                     string
	def                     string
	enum                    string
	clamp                   string
	live, reload, important bool // reload: SIGHUP may change it, a remote peer may not
	v                       reflect.Value
}

// fieldsOf lists the keyed fields of target, a pointer to a config struct or to a struct of config structs, in declaration order.
func fieldsOf(target any) []field {
	return appendFields(nil, reflect.ValueOf(target).Elem())
}

func appendFields(dst []field, v reflect.Value) []field {
	t := v.Type()
	for i := range t.NumField() {
		f := t.Field(i)
		if f.Type.Kind() == reflect.Struct {
			dst = appendFields(dst, v.Field(i))
			continue
		}
		key, ok := f.Tag.Lookup("conf")
		if !ok {
			continue
		}
		dst = append(dst, field{
			key: key, def: f.Tag.Get("default"), enum: f.Tag.Get("enum"), clamp: f.Tag.Get("clamp"),
			live: f.Tag.Get("live") == "true", reload: f.Tag.Get("reload") == "true", important: f.Tag.Get("important") == "true", v: v.Field(i),
		})
	}
	return dst
}

// setDefaults fills every field of target. A default that does not convert is a mistake in this package, so it panics.
func setDefaults(e Env, target any) {
	for _, f := range fieldsOf(target) {
		if note, err := f.set(e.expand(f.def)); err != nil || note != "" {
			panic(fmt.Sprintf("conf: default of %s: %v%s", f.key, err, note))
		}
	}
}

// text is the value as files and answers show it.
func (f *field) text() string {
	switch f.v.Kind() {
	case reflect.String:
		return f.v.String()
	case reflect.Bool:
		return strconv.FormatBool(f.v.Bool())
	case reflect.Float64:
		return strconv.FormatFloat(f.v.Float(), 'g', -1, 64)
	default:
		return strconv.FormatInt(f.v.Int(), 10)
	}
}

// set converts raw by Java's rules. On an error the field keeps its value; a note says that the value was bent.
func (f *field) set(raw string) (note string, err error) {
	switch f.v.Kind() {
	case reflect.String:
		return "", f.setString(strings.TrimSpace(raw))
	case reflect.Bool:
		on := strings.EqualFold(raw, "true")
		f.v.SetBool(on)
		if !on && !strings.EqualFold(raw, "false") {
			note = fmt.Sprintf("%q is taken as false: only the word true is true%s", raw, explain(raw))
		}
		return note, nil
	case reflect.Float64:
		x, err := strconv.ParseFloat(strings.TrimSpace(raw), 64)
		if err != nil {
			return "", fmt.Errorf("%q is not a number%s", raw, explain(raw))
		}
		f.v.SetFloat(x)
		return "", nil
	default:
		return f.setInt(raw)
	}
}

func (f *field) setString(s string) error {
	if f.enum != "" && !contains(f.enum, s) {
		return fmt.Errorf("%q is not one of %s%s", s, strings.ReplaceAll(f.enum, "|", ", "), explain(s))
	}
	f.v.SetString(s)
	return nil
}

func (f *field) setInt(raw string) (note string, err error) {
	bits := 32 // Java's int
	if f.v.Kind() == reflect.Int64 {
		bits = 64
	}
	n, err := strconv.ParseInt(raw, 10, bits)
	if err != nil {
		return "", fmt.Errorf("%q is not a %d-bit integer%s", raw, bits, explain(raw))
	}
	if f.clamp != "" {
		lo, hi := clampRange(f.clamp)
		if c := min(max(n, lo), hi); c != n {
			note = fmt.Sprintf("%d is outside %s, %d is used", n, f.clamp, c)
			n = c
		}
	}
	f.v.SetInt(n)
	return note, nil
}

func clampRange(tag string) (lo, hi int64) {
	a, b, _ := strings.Cut(tag, "..")
	lo, err1 := strconv.ParseInt(a, 10, 64)
	hi, err2 := strconv.ParseInt(b, 10, 64)
	if err1 != nil || err2 != nil {
		panic("conf: bad clamp tag " + tag)
	}
	return lo, hi
}

func contains(enum, word string) bool {
	for w := range strings.SplitSeq(enum, "|") {
		if w == word {
			return true
		}
	}
	return false
}

// explain adds the likely cause to a complaint about a value.
func explain(raw string) string {
	for _, mark := range []string{"#", "//", "!"} {
		if i := strings.Index(raw, mark); i > 0 && (raw[i-1] == ' ' || raw[i-1] == '\t') {
			return fmt.Sprintf(" (%q belongs to the value: a comment needs a line of its own)", raw[i:])
		}
	}
	if strings.TrimSpace(raw) != raw {
		return " (blanks at the end belong to the value)"
	}
	return ""
}
