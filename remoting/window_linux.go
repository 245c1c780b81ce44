package remoting

import "syscall"

// setWindow lets the peer send, or stops it: with a window smaller than a segment it sends next to nothing. What it had
// been allowed to send before still comes.
func setWindow(fd int, open bool) {
	const tiny, free = 1, 1 << 30
	n := tiny
	if open {
		n = free
	}
	_ = syscall.SetsockoptInt(fd, syscall.IPPROTO_TCP, syscall.TCP_WINDOW_CLAMP, n) // without it there is still MaxIn
}
