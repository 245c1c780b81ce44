package protocol

import (
	"bytes"
	"encoding/json"
	"reflect"
	"strconv"
	"strings"
)

// coerceJSON rewrites strict JSON so that it fits a Go type where fastjson would make it fit a Java one: numbers and bools in
// quotes, numbers for texts, ordinals for enums (fields tagged java:"enum=A|B|C"). C++ clients write heartbeats so.
// What cannot be mended stays as it is.
func coerceJSON(strict []byte, t reflect.Type) ([]byte, error) {
	dec := json.NewDecoder(bytes.NewReader(strict))
	dec.UseNumber()
	var v any
	if err := dec.Decode(&v); err != nil {
		return nil, err
	}
	return json.Marshal(coerce(v, t, ""))
}

func coerce(v any, t reflect.Type, enum string) any {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	switch x := v.(type) {
	case string:
		return coerceText(x, t.Kind())
	case json.Number:
		return coerceNumber(x, t.Kind(), enum)
	case []any:
		if k := t.Kind(); k == reflect.Slice || k == reflect.Array {
			for i := range x {
				x[i] = coerce(x[i], t.Elem(), enum)
			}
		}
	case map[string]any:
		switch t.Kind() {
		case reflect.Map:
			for k, e := range x {
				x[k] = coerce(e, t.Elem(), enum)
			}
		case reflect.Struct:
			coerceMembers(x, t)
		}
	}
	return v
}

func coerceMembers(m map[string]any, t reflect.Type) {
	for _, f := range reflect.VisibleFields(t) {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		if e, ok := m[name]; ok && name != "-" && f.IsExported() {
			enum, _ := strings.CutPrefix(f.Tag.Get("java"), "enum=")
			m[name] = coerce(e, f.Type, enum)
		}
	}
}

func coerceText(s string, k reflect.Kind) any {
	switch {
	case k == reflect.Bool:
		return parseBool(s) || s == "1"
	case k >= reflect.Int && k <= reflect.Uint64:
		if n, ok := parseInt64(s); ok {
			return json.Number(strconv.FormatInt(n, 10))
		}
	case k == reflect.Float32 || k == reflect.Float64:
		if f, err := strconv.ParseFloat(s, 64); err == nil {
			return f
		}
	}
	if k != reflect.String && s == "" {
		return nil
	}
	return s
}

func coerceNumber(n json.Number, k reflect.Kind, enum string) any {
	switch {
	case k == reflect.Bool:
		return n != "0"
	case k == reflect.String && enum != "":
		names := strings.Split(enum, "|")
		if i, err := strconv.Atoi(string(n)); err == nil && i >= 0 && i < len(names) {
			return names[i]
		}
		return nil
	case k == reflect.String:
		return string(n)
	case k >= reflect.Int && k <= reflect.Uint64: // 5.0 and 1E3
		if f, err := n.Float64(); err == nil && f == float64(int64(f)) && strings.ContainsAny(string(n), ".eE") {
			return int64(f)
		}
	}
	return n
}
