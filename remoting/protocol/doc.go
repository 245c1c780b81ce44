// Package protocol is the vocabulary of the RocketMQ remoting protocol: request and response codes, frames in both header
// encodings, typed headers, JSON bodies in fastjson's dialect, stored message records, batch bodies, properties, names and ids.
//
// It owns bytes and their meaning and nothing else: no sockets, clocks, goroutines or locks, and only the standard library.
//
// Ownership: decoders alias what they decode. A Command, a MessageView, a PropertyView and every string in them are valid
// only as long as the bytes they were decoded from are unchanged, and, for a Command, until it is decoded into again
// (escaped strings are kept in a buffer of the Command's own). Copy what must live longer: Command.Clone, strings.Clone.
//
// Concurrency: all functions are safe for concurrent use on different values. Values are not locked: one writer, or many readers.
//
// Errors: every decoder returns a typed error that says what was seen (FrameError, FieldError, RecordError, BatchError,
// RegisterError, SyntaxError, IDError, NameError). No decoder panics, and none allocates more than a small multiple
// of the bytes it was given, compressed register bodies apart, whose inflated size is bounded.
package protocol
