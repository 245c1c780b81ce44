package protocol

import (
	"encoding"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync"
)

// MarshalFast writes v as Java's fastjson does, by v's json tags, in the form that every client reads: members and map keys
// sorted, no white space, no escapes beyond what JSON needs, number keys quoted, nil maps and lists as {} and [], doubles
// with a point, and MessageQueueMap with objects as keys (which is not JSON). Unknown members that a value keeps are
// written too.
func MarshalFast(v any) ([]byte, error) { return AppendFast(nil, v) }

// AppendFast appends what MarshalFast returns.
func AppendFast(dst []byte, v any) ([]byte, error) {
	if v == nil {
		return append(dst, "null"...), nil
	}
	rv := reflect.ValueOf(v)
	return encoderOf(rv.Type())(dst, rv)
}

type encodeFunc func(dst []byte, v reflect.Value) ([]byte, error)

// encoders caches the encoder of each type; what it holds follows from the types alone.
var encoders sync.Map // reflect.Type → encodeFunc

var (
	textMarshalerType = reflect.TypeFor[encoding.TextMarshaler]()
	jsonMarshalerType = reflect.TypeFor[json.Marshaler]()
	rawMessageType    = reflect.TypeFor[json.RawMessage]()
	messageQueueType  = reflect.TypeFor[MessageQueue]()
)

func encoderOf(t reflect.Type) encodeFunc {
	if f, ok := encoders.Load(t); ok {
		return f.(encodeFunc)
	}
	// A type that contains itself finds this stand-in while its own encoder is built.
	var once sync.Once
	var real encodeFunc
	stand := encodeFunc(func(dst []byte, v reflect.Value) ([]byte, error) {
		once.Do(func() { real = newEncoder(t) })
		return real(dst, v)
	})
	f, _ := encoders.LoadOrStore(t, stand)
	return f.(encodeFunc)
}

func newEncoder(t reflect.Type) encodeFunc {
	if t == rawMessageType {
		return encodeRaw
	}
	if t.Kind() == reflect.Struct {
		if p := newStructPlan(t); p.unknown != nil || !t.Implements(jsonMarshalerType) {
			return p.encode
		}
	}
	if t.Kind() == reflect.Map && t.Key() == messageQueueType {
		return messageQueueMapEncoder(t)
	}
	switch {
	case t.Implements(jsonMarshalerType):
		return encodeMarshaler
	case t.Implements(textMarshalerType):
		return encodeText
	}
	return kindEncoder(t)
}

func kindEncoder(t reflect.Type) encodeFunc {
	switch t.Kind() {
	case reflect.Bool:
		return func(dst []byte, v reflect.Value) ([]byte, error) { return strconv.AppendBool(dst, v.Bool()), nil }
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		return func(dst []byte, v reflect.Value) ([]byte, error) { return strconv.AppendInt(dst, v.Int(), 10), nil }
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		return func(dst []byte, v reflect.Value) ([]byte, error) { return strconv.AppendUint(dst, v.Uint(), 10), nil }
	case reflect.Float32, reflect.Float64:
		return func(dst []byte, v reflect.Value) ([]byte, error) { return appendJavaDouble(dst, v.Float()), nil }
	case reflect.String:
		return func(dst []byte, v reflect.Value) ([]byte, error) { return appendJSONString(dst, v.String()), nil }
	case reflect.Map:
		return mapEncoder(t)
	case reflect.Slice, reflect.Array:
		if t.Kind() == reflect.Slice && t.Elem().Kind() == reflect.Uint8 {
			return encodeBase64
		}
		return listEncoder(t)
	case reflect.Pointer:
		elem := encoderOf(t.Elem())
		return func(dst []byte, v reflect.Value) ([]byte, error) {
			if v.IsNil() {
				return append(dst, "null"...), nil
			}
			return elem(dst, v.Elem())
		}
	case reflect.Interface:
		return func(dst []byte, v reflect.Value) ([]byte, error) {
			if v.IsNil() {
				return append(dst, "null"...), nil
			}
			return encoderOf(v.Elem().Type())(dst, v.Elem())
		}
	}
	return func(dst []byte, _ reflect.Value) ([]byte, error) {
		return dst, fmt.Errorf("protocol: type %s cannot be written as JSON", t)
	}
}

func encodeRaw(dst []byte, v reflect.Value) ([]byte, error) {
	if v.Len() == 0 {
		return append(dst, "null"...), nil
	}
	return append(dst, v.Bytes()...), nil
}

func encodeMarshaler(dst []byte, v reflect.Value) ([]byte, error) {
	b, err := v.Interface().(json.Marshaler).MarshalJSON()
	return append(dst, b...), err
}

func encodeText(dst []byte, v reflect.Value) ([]byte, error) {
	b, err := v.Interface().(encoding.TextMarshaler).MarshalText()
	return appendJSONString(dst, aliasBytes(b)), err
}

func encodeBase64(dst []byte, v reflect.Value) ([]byte, error) {
	dst = append(dst, '"')
	dst = base64.StdEncoding.AppendEncode(dst, v.Bytes())
	return append(dst, '"'), nil
}

func listEncoder(t reflect.Type) encodeFunc {
	elem := encoderOf(t.Elem())
	return func(dst []byte, v reflect.Value) ([]byte, error) {
		dst = append(dst, '[')
		for i := range v.Len() {
			if i > 0 {
				dst = append(dst, ',')
			}
			var err error
			if dst, err = elem(dst, v.Index(i)); err != nil {
				return dst, err
			}
		}
		return append(dst, ']'), nil
	}
}

// mapEncoder writes maps with string or integer keys, sorted.
func mapEncoder(t reflect.Type) encodeFunc {
	elem := encoderOf(t.Elem())
	kind := t.Key().Kind()
	numeric := kind >= reflect.Int && kind <= reflect.Int64
	if kind != reflect.String && !numeric {
		return func(dst []byte, _ reflect.Value) ([]byte, error) {
			return dst, fmt.Errorf("protocol: map key type %s cannot be written as JSON", t.Key())
		}
	}
	return func(dst []byte, v reflect.Value) ([]byte, error) {
		keys := v.MapKeys()
		slices.SortFunc(keys, func(a, b reflect.Value) int {
			if !numeric {
				return strings.Compare(a.String(), b.String())
			}
			return compareInt(a.Int(), b.Int())
		})
		dst = append(dst, '{')
		for i, k := range keys {
			if i > 0 {
				dst = append(dst, ',')
			}
			if numeric {
				dst = append(dst, '"')
				dst = strconv.AppendInt(dst, k.Int(), 10)
				dst = append(dst, '"')
			} else {
				dst = appendJSONString(dst, k.String())
			}
			dst = append(dst, ':')
			var err error
			if dst, err = elem(dst, v.MapIndex(k)); err != nil {
				return dst, err
			}
		}
		return append(dst, '}'), nil
	}
}

func compareInt(a, b int64) int {
	switch {
	case a < b:
		return -1
	case a > b:
		return 1
	}
	return 0
}

func appendJSONString(dst []byte, s string) []byte {
	dst = append(dst, '"')
	dst = appendJSONText(dst, s)
	return append(dst, '"')
}

// appendJavaDouble writes f as Java's Double.toString does; NaN and infinities as null.
func appendJavaDouble(dst []byte, f float64) []byte {
	if math.IsNaN(f) || math.IsInf(f, 0) {
		return append(dst, "null"...)
	}
	if abs := math.Abs(f); abs == 0 || abs >= 1e-3 && abs < 1e7 {
		at := len(dst)
		dst = strconv.AppendFloat(dst, f, 'f', -1, 64)
		if !strings.Contains(aliasBytes(dst[at:]), ".") {
			dst = append(dst, ".0"...)
		}
		return dst
	}
	text := strconv.FormatFloat(f, 'E', -1, 64)
	mantissa, exponent, _ := strings.Cut(text, "E")
	if !strings.Contains(mantissa, ".") {
		mantissa += ".0"
	}
	n, _ := strconv.Atoi(exponent)
	dst = append(append(dst, mantissa...), 'E')
	return strconv.AppendInt(dst, int64(n), 10)
}
