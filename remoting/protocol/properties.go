package protocol

import (
	"slices"
	"strings"
	"unsafe"
)

// Separators of a property string: name \x01 value \x02 …
const (
	NameValueSeparator = 0x01
	PropertySeparator  = 0x02
)

// EachProperty calls fn for each property in order until fn returns false. It reads as Java does: an entry without a
// separator, a name or a value is skipped, the last separator may be missing, further \x01 belong to the value.
// name and value alias props.
func EachProperty[T string | []byte](props T, fn func(name, value string) bool) {
	s := alias(props)
	for len(s) > 0 {
		name, value, rest, ok := cutProperty(s)
		if ok && !fn(name, value) {
			return
		}
		s = rest
	}
}

// Property returns the value of the property called name, the last one if there are several, as Java's map has it. The
// value aliases props.
func Property[T string | []byte](props T, name string) (value string, ok bool) {
	for s := alias(props); len(s) > 0; {
		n, v, rest, good := cutProperty(s)
		if good && n == name {
			value, ok = v, true
		}
		s = rest
	}
	return value, ok
}

// cutProperty takes the first entry off a property string.
func cutProperty(s string) (name, value, rest string, ok bool) {
	entry := s
	if end := strings.IndexByte(s, PropertySeparator); end >= 0 {
		entry, rest = s[:end], s[end+1:]
	}
	i := strings.IndexByte(entry, NameValueSeparator)
	if i <= 0 || i == len(entry)-1 {
		return "", "", rest, false
	}
	return entry[:i], entry[i+1:], rest, true
}

// AppendProperty appends one property. name and value must hold neither separator (see CheckProperty).
func AppendProperty(dst []byte, name, value string) []byte {
	dst = append(dst, name...)
	dst = append(dst, NameValueSeparator)
	dst = append(dst, value...)
	return append(dst, PropertySeparator)
}

// Properties are a message's properties as a map. Where a name came twice, the last value counts, as in Java.
type Properties map[string]string

// ParseProperties reads a property string; the map's strings alias s. It never fails: see EachProperty for what is skipped.
func ParseProperties(s string) Properties {
	p := make(Properties, strings.Count(s, "\x02"))
	EachProperty(s, func(name, value string) bool {
		p[name] = value
		return true
	})
	return p
}

// Encode writes the properties sorted by name, each followed by the separator.
func (p Properties) Encode() []byte {
	if len(p) == 0 {
		return nil
	}
	names := make([]string, 0, len(p))
	size := 0
	for n, v := range p {
		names = append(names, n)
		size += len(n) + len(v) + 2
	}
	slices.Sort(names)
	b := make([]byte, 0, size)
	for _, n := range names {
		b = AppendProperty(b, n, p[n])
	}
	return b
}

// CheckProperty reports a name or value that cannot be stored: empty, or holding a separator.
func CheckProperty(name, value string) error {
	switch {
	case name == "":
		return &NameError{Kind: "property name", Reason: "is blank"}
	case value == "":
		return &NameError{Kind: "property value", Name: name, Reason: "is blank"}
	case strings.ContainsAny(name, "\x01\x02"), strings.ContainsAny(value, "\x01\x02"):
		return &NameError{Kind: "property", Name: name, Reason: "contains a separator byte (1 or 2)"}
	}
	return nil
}

// alias views bytes as a string without a copy.
func alias[T string | []byte](b T) string {
	return *(*string)(unsafe.Pointer(&b)) // a slice header begins with the two words of a string header
}

func aliasBytes(b []byte) string { return unsafe.String(unsafe.SliceData(b), len(b)) }
