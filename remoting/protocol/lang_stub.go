package protocol

// Language is a client language code.
type Language uint8

// ExtWriter writes header fields in one of the two encodings.
type ExtWriter struct{}
