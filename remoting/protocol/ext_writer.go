package protocol

import (
	"encoding/binary"
	"strconv"
)

// ExtWriter writes header fields in one of the two encodings. It is handed to HeaderEncoder.EncodeExt and is
// valid only during that call. Keys are plain ASCII without quotes or backslashes.
type ExtWriter struct {
	buf    []byte
	binary bool
	n      int // fields written
}

// String writes a text field, an empty one too.
func (w *ExtWriter) String(key, value string) {
	if w.binary {
		w.binaryKey(key)
		w.buf = binary.BigEndian.AppendUint32(w.buf, uint32(len(value)))
		w.buf = append(w.buf, value...)
		return
	}
	w.jsonKey(key)
	w.buf = appendJSONText(w.buf, value)
	w.buf = append(w.buf, '"')
}

// OptString writes a text field unless it is empty.
func (w *ExtWriter) OptString(key, value string) {
	if value != "" {
		w.String(key, value)
	}
}

// Int64 writes a number, as text.
func (w *ExtWriter) Int64(key string, value int64) {
	if w.binary {
		w.binaryKey(key)
		at := len(w.buf)
		w.buf = append(w.buf, 0, 0, 0, 0)
		w.buf = strconv.AppendInt(w.buf, value, 10)
		binary.BigEndian.PutUint32(w.buf[at:], uint32(len(w.buf)-at-4))
		return
	}
	w.jsonKey(key)
	w.buf = appendInt(w.buf, value)
	w.buf = append(w.buf, '"')
}

// Int32 writes a number, as text.
func (w *ExtWriter) Int32(key string, value int32) { w.Int64(key, int64(value)) }

// Bool writes "true" or "false".
func (w *ExtWriter) Bool(key string, value bool) {
	if value {
		w.String(key, "true")
	} else {
		w.String(key, "false")
	}
}

// OptInt64 writes a number that is there.
func (w *ExtWriter) OptInt64(key string, o Opt[int64]) {
	if o.OK {
		w.Int64(key, o.V)
	}
}

// OptInt32 writes a number that is there.
func (w *ExtWriter) OptInt32(key string, o Opt[int32]) {
	if o.OK {
		w.Int64(key, int64(o.V))
	}
}

// OptBool writes a bool that is there.
func (w *ExtWriter) OptBool(key string, o Opt[bool]) {
	if o.OK {
		w.Bool(key, o.V)
	}
}

// Binary says that fields are written in the binary encoding. In the other one, a header may write parts that it has ready
// as JSON text with Raw and its like, instead of field by field.
func (w *ExtWriter) Binary() bool { return w.binary }

// Raw appends JSON text as it is. All that is written raw must add up to members, with commas between them and before none.
func (w *ExtWriter) Raw(text string) {
	w.n++
	w.buf = append(w.buf, text...)
}

// RawInt64 appends the digits of a number to what was written raw.
func (w *ExtWriter) RawInt64(n int64) { w.buf = appendInt(w.buf, n) }

// RawText appends text, escaped, to what was written raw.
func (w *ExtWriter) RawText(s string) { w.buf = appendJSONText(w.buf, s) }

// RawHex appends 16 upper-case hexadecimal digits to what was written raw.
func (w *ExtWriter) RawHex(v uint64) { w.buf = AppendHex(w.buf, v) }

// jsonKey writes separator, key, colon and the opening quote of the value.
func (w *ExtWriter) jsonKey(key string) {
	if w.n > 0 {
		w.buf = append(w.buf, ',')
	}
	w.n++
	w.buf = append(w.buf, '"')
	w.buf = append(w.buf, key...)
	w.buf = append(w.buf, `":"`...)
}

func (w *ExtWriter) binaryKey(key string) {
	w.n++
	w.buf = binary.BigEndian.AppendUint16(w.buf, uint16(len(key)))
	w.buf = append(w.buf, key...)
}

// fields writes free fields, whose keys may hold anything.
func (w *ExtWriter) fields(ext ExtFields) {
	for i := range ext {
		f := &ext[i]
		if w.binary {
			if len(f.Key) > 0 && len(f.Key) <= maxBinaryKeyLength {
				w.String(f.Key, f.Value)
			}
			continue
		}
		if w.n > 0 {
			w.buf = append(w.buf, ',')
		}
		w.n++
		w.buf = append(w.buf, '"')
		w.buf = appendJSONText(w.buf, f.Key)
		w.buf = append(w.buf, `":"`...)
		w.buf = appendJSONText(w.buf, f.Value)
		w.buf = append(w.buf, '"')
	}
}

// maxBinaryKeyLength is what the signed 16-bit key length of the binary header allows.
const maxBinaryKeyLength = 32767
