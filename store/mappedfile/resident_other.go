//go:build !linux

package mappedfile

// resident is not known here: what is not hot is read by pread.
func resident([]byte) bool { return false }
