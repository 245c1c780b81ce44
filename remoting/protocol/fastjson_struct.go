package protocol

import (
	"encoding/json"
	"reflect"
	"slices"
	"strings"
)

// structPlan is how a struct is written: its members sorted by name, as fastjson sorts them.
type structPlan struct {
	fields  []planField
	unknown []int // index of the field tagged java:"unknown", nil if there is none
}

type planField struct {
	name      string
	prefix    string // "name":
	index     []int
	omitEmpty bool
	encode    encodeFunc
}

func newStructPlan(t reflect.Type) *structPlan {
	p := &structPlan{}
	for _, f := range reflect.VisibleFields(t) {
		if f.Tag.Get("java") == "unknown" {
			p.unknown = f.Index
			continue
		}
		tag := f.Tag.Get("json")
		name, options, _ := strings.Cut(tag, ",")
		if tag == "-" || !f.IsExported() || f.Anonymous && name == "" {
			continue
		}
		if name == "" {
			name = f.Name
		}
		p.fields = append(p.fields, planField{
			name: name, prefix: string(appendJSONString(nil, name)) + ":", index: f.Index,
			omitEmpty: strings.Contains(options, "omitempty"), encode: encoderOf(f.Type),
		})
	}
	slices.SortFunc(p.fields, func(a, b planField) int { return strings.Compare(a.name, b.name) })
	return p
}

func (p *structPlan) encode(dst []byte, v reflect.Value) ([]byte, error) {
	var unknown map[string]json.RawMessage
	var extra []string
	if p.unknown != nil {
		unknown = v.FieldByIndex(p.unknown).Interface().(map[string]json.RawMessage)
		for k := range unknown {
			extra = append(extra, k)
		}
		slices.Sort(extra)
	}
	dst = append(dst, '{')
	start := len(dst)
	writeExtra := func(before string, all bool) {
		for len(extra) > 0 && (all || extra[0] < before) {
			if len(dst) > start {
				dst = append(dst, ',')
			}
			dst = append(appendJSONString(dst, extra[0]), ':')
			dst = append(dst, unknown[extra[0]]...)
			extra = extra[1:]
		}
	}
	for i := range p.fields {
		f := &p.fields[i]
		fv := v.FieldByIndex(f.index)
		if f.omitEmpty && isEmpty(fv) {
			continue
		}
		writeExtra(f.name, false)
		if len(dst) > start {
			dst = append(dst, ',')
		}
		dst = append(dst, f.prefix...)
		var err error
		if dst, err = f.encode(dst, fv); err != nil {
			return dst, err
		}
	}
	writeExtra("", true)
	return append(dst, '}'), nil
}

// isEmpty is encoding/json's notion for omitempty.
func isEmpty(v reflect.Value) bool {
	switch v.Kind() {
	case reflect.Map, reflect.Slice, reflect.String, reflect.Array:
		return v.Len() == 0
	case reflect.Struct:
		return false
	}
	return v.IsZero()
}

// unknownMembers returns the members of the JSON object b whose names are not fields of t, nil if there are none.
// b must be strict JSON.
func unknownMembers(b []byte, known map[string]bool) map[string]json.RawMessage {
	r := jsonReader{b: b, s: aliasBytes(b)}
	var unknown map[string]json.RawMessage
	if !r.take('{') || r.take('}') {
		return nil
	}
	for {
		key, err := r.key()
		if err != nil {
			return unknown
		}
		r.space()
		from := r.i
		if r.skip(0) != nil {
			return unknown
		}
		if !known[key] {
			if unknown == nil {
				unknown = map[string]json.RawMessage{}
			}
			unknown[strings.Clone(key)] = slices.Clone(b[from:r.i])
		}
		if more, err := r.next(); err != nil || !more {
			return unknown
		}
	}
}

// memberNames returns the names of a struct type's members.
func memberNames[T any]() map[string]bool {
	names := map[string]bool{}
	for _, f := range newStructPlan(reflect.TypeFor[T]()).fields {
		names[f.name] = true
	}
	return names
}
