package protocol

// SerializeType is the header encoding of a frame: the top byte of its second word.
type SerializeType uint8

// Header encodings.
const (
	SerializeJSON     SerializeType = 0
	SerializeRocketMQ SerializeType = 1
)

// Bits of Command.Flag.
const (
	FlagResponse int32 = 1
	FlagOneway   int32 = 2
)

// CurrentVersion is the version ordinal that this product puts into its frames: V5_5_0 (see MQVersion).
const CurrentVersion int32 = 513

// Opt is an optional number or bool of a header: OK says whether the field was there.
type Opt[T any] struct {
	V  T
	OK bool
}

// Some is an Opt that is there.
func Some[T any](v T) Opt[T] { return Opt[T]{V: v, OK: true} }

// Or returns the value, or def where the field was absent.
func (o Opt[T]) Or(def T) T {
	if o.OK {
		return o.V
	}
	return def
}

// ExtField is one custom header field; on the wire every value is text.
type ExtField struct{ Key, Value string }

// ExtFields are the custom header fields in the order they came. A key may appear twice: the last one wins.
type ExtFields []ExtField

// Get returns the last value of key and whether it is there.
func (e ExtFields) Get(key string) (string, bool) {
	for i := len(e) - 1; i >= 0; i-- {
		if e[i].Key == key {
			return e[i].Value, true
		}
	}
	return "", false
}

// HeaderEncoder is a typed header that writes its fields. Generated for every header struct.
type HeaderEncoder interface{ EncodeExt(w *ExtWriter) }

// HeaderDecoder is a typed header that reads its fields. Generated for every header struct.
// A missing or malformed field is a *FieldError.
type HeaderDecoder interface{ DecodeExt(ext ExtFields) error }

// Header is a typed header. Generated for every header struct.
type Header interface {
	HeaderEncoder
	HeaderDecoder
}

// Command is one frame: a request or a reply.
//
// Ownership: a Command that a decoder returned aliases the bytes it was decoded from (Remark, Ext and Body):
// it is valid only as long as those bytes are and until it is decoded into again. Clone makes it independent.
// Copy a Command with Clone only.
type Command struct {
	Code      int32
	Language  Language
	Version   int32
	Opaque    int32
	Flag      int32
	Remark    string
	Serialize SerializeType
	Ext       ExtFields
	// Header, when set, is encoded in addition to Ext. Decoders leave it nil.
	Header HeaderEncoder
	Body   []byte

	scratch []byte   // unescaped strings of the last decode
	form    jsonForm // of the last decode
}

// IsResponse reports whether the frame answers a request.
func (c *Command) IsResponse() bool { return c.Flag&FlagResponse != 0 }

// IsOneway reports whether the sender wants no reply.
func (c *Command) IsOneway() bool { return c.Flag&FlagOneway != 0 }

// FieldError says which header field of a request is missing or malformed.
type FieldError struct {
	Field  string // name on the wire
	Value  string // "" when missing
	Reason string // "missing", "not a 32-bit integer", ...
}

func (e *FieldError) Error() string {
	if e.Value == "" {
		return "header field " + e.Field + ": " + e.Reason
	}
	v := e.Value
	if len(v) > 64 {
		v = v[:64] + "..."
	}
	return "header field " + e.Field + ": " + e.Reason + ": \"" + v + "\""
}
