package protocol

import (
	"errors"
	"fmt"
	"reflect"
	"testing"
)

// fill sets every field of a header to a value of its own.
func fill(h Header) {
	v := reflect.ValueOf(h).Elem()
	for i := range v.NumField() {
		switch f := v.Field(i).Addr().Interface().(type) {
		case *string:
			*f = fmt.Sprintf("v%d\x01\"é", i)
		case *int32:
			*f = int32(-i - 1)
		case *int64:
			*f = int64(i)<<40 + 7
		case *bool:
			*f = true
		case *Opt[int32]:
			*f = Some(int32(i))
		case *Opt[int64]:
			*f = Some(int64(-i))
		case *Opt[bool]:
			*f = Some(i%2 == 0)
		default:
			panic(fmt.Sprintf("%T", f))
		}
	}
}

// allHeaders returns a new header for every code that has one, requests and replies.
func allHeaders() (all []Header) {
	for code := range requestNames {
		for _, h := range []Header{NewRequestHeader(code), NewResponseHeader(code)} {
			if h != nil {
				all = append(all, h)
			}
		}
	}
	return all
}

// Every header keeps every field, full and empty, in both encodings, and names the field that it misses.
func TestEveryHeaderRoundTrips(t *testing.T) {
	headers := allHeaders()
	if len(headers) < 110 {
		t.Fatalf("only %d headers", len(headers))
	}
	for _, h := range headers {
		for _, full := range []bool{false, true} {
			if full {
				fill(h)
			}
			for _, s := range []SerializeType{SerializeJSON, SerializeRocketMQ} {
				var c Command
				if err := DecodeFrame(AppendFrame(nil, &Command{Serialize: s, Header: h})[4:], &c); err != nil {
					t.Fatal(err)
				}
				back := reflect.New(reflect.TypeOf(h).Elem()).Interface().(Header)
				if err := back.DecodeExt(c.Ext); err != nil || !reflect.DeepEqual(h, back) {
					t.Errorf("%T, full %v, encoding %d: %+v became %+v, %v", h, full, s, h, back, err)
				}
				if full {
					checkMissing(t, back, c.Ext)
				}
			}
		}
	}
}

// checkMissing leaves out each field in turn, and spoils it.
func checkMissing(t *testing.T, h Header, ext ExtFields) {
	t.Helper()
	for i := range ext {
		without := append(append(ExtFields{}, ext[:i]...), ext[i+1:]...)
		var fe *FieldError
		if err := h.DecodeExt(without); err != nil && (!errors.As(err, &fe) || fe.Field != ext[i].Key || fe.Reason != "missing") {
			t.Errorf("%T without %s: %v", h, ext[i].Key, err)
		}
		bad := append(ExtFields{}, ext...)
		bad[i].Value = "no number"
		if err := h.DecodeExt(bad); err != nil && (!errors.As(err, &fe) || fe.Field != ext[i].Key || fe.Value != "no number") {
			t.Errorf("%T with bad %s: %v", h, ext[i].Key, err)
		}
	}
}
