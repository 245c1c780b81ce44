// Command mqstore checks, prints and repairs the store of a broker that is stopped. See docs/operations.md.
package main

import (
	"io"
	"os"

	"golang.org/x/term"

	"github.com/seedmq/seedmq/bin/internal/proc"
	"github.com/seedmq/seedmq/tools/inspect"
)

func main() {
	var stdin io.Reader
	if term.IsTerminal(int(os.Stdin.Fd())) {
		stdin = os.Stdin
	}
	os.Exit(inspect.Main(inspect.Env{Args: os.Args[1:], Stdin: stdin, Stdout: os.Stdout, Stderr: os.Stderr, Version: proc.Version}))
}
