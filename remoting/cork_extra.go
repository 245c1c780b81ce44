package remoting

// Cork holds back the output of c until the matching Uncork, so that many replies that are written outside of ServeBurst leave
// together. It does nothing for a Conn of another package, such as a test's fake.
func Cork(c Conn) {
	if c, ok := c.(*conn); ok {
		c.cork()
	}
}

// Uncork ends a Cork and sends what was held back.
func Uncork(c Conn) {
	if c, ok := c.(*conn); ok {
		c.uncork()
	}
}
