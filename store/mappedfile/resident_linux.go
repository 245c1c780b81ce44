package mappedfile

import (
	"os"
	"unsafe"

	"golang.org/x/sys/unix"
)

// resident says that all pages of a mapping are in memory. It does not bring them there.
func resident(mem []byte) bool {
	page := os.Getpagesize()
	var vec [windowSize / 4096]byte
	v := vec[:(len(mem)+page-1)/page]
	if _, _, errno := unix.Syscall(unix.SYS_MINCORE, uintptr(unsafe.Pointer(&mem[0])), uintptr(len(mem)), uintptr(unsafe.Pointer(&v[0]))); errno != 0 {
		return false
	}
	for _, b := range v {
		if b&1 == 0 {
			return false
		}
	}
	return true
}
