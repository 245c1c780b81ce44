// Command headergen writes the extFields codecs of the header structs in remoting/protocol. It is run by go generate in
// that directory: it reads header_types.go and codes_request.go and writes header_codec_gen.go.
//
// A field's tag is rmq:"name", then ",optional" where it may be absent and ",alias=other" for a second name that is
// read but never written. Field types are string, int32, int64, bool and Opt of the last three.
package main

import (
	"fmt"
	"os"
)

// Files of remoting/protocol that the generator reads and writes.
const (
	typesFile  = "header_types.go"
	codesFile  = "codes_request.go"
	outputFile = "header_codec_gen.go"
)

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "headergen:", err)
		os.Exit(1)
	}
}

func run() error {
	out, err := generate(".")
	if err != nil {
		return err
	}
	return os.WriteFile(outputFile, out, 0o644)
}
