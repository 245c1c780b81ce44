package broker

import "unsafe"

// bytesOf views a string as bytes without a copy. The bytes must not be written to.
func bytesOf(s string) []byte { return unsafe.Slice(unsafe.StringData(s), len(s)) }
