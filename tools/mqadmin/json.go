package mqadmin

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"github.com/seedmq/seedmq/remoting/protocol"
)

// javaJSON is v as Java's tool prints JSON: one tab a level, no blank after a colon, and keys that are numbers without quotes.
func javaJSON(v any) (string, error) {
	b, err := protocol.MarshalFast(v)
	if err == nil {
		b, err = protocol.NormalizeJSON(b)
	}
	if err != nil {
		return "", err
	}
	dec := json.NewDecoder(bytes.NewReader(b))
	dec.UseNumber()
	var out strings.Builder
	if err := writeJavaJSON(&out, dec, 0); err != nil && err != io.EOF {
		return "", err
	}
	return out.String(), nil
}

// plainJSON is v without line breaks, and without encoding/json's escapes for HTML.
func plainJSON(v any) ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	err := enc.Encode(v)
	return bytes.TrimRight(b.Bytes(), "\n"), err
}

func writeJavaJSON(out *strings.Builder, dec *json.Decoder, depth int) error {
	tok, err := dec.Token()
	if err != nil {
		return err
	}
	open, ok := tok.(json.Delim)
	if !ok {
		b, err := plainJSON(tok)
		out.Write(b)
		return err
	}
	if open == '{' && !dec.More() {
		out.WriteString("{}")
		_, err := dec.Token()
		return err
	}
	indent := "\n" + strings.Repeat("\t", depth+1)
	out.WriteString(open.String())
	out.WriteString(indent)
	for first := true; dec.More(); first = false {
		if !first {
			out.WriteString("," + indent)
		}
		if open == '{' {
			if err := writeJavaKey(out, dec); err != nil {
				return err
			}
		}
		if err := writeJavaJSON(out, dec, depth+1); err != nil {
			return err
		}
	}
	end, err := dec.Token()
	out.WriteString(indent[:len(indent)-1])
	fmt.Fprint(out, end)
	return err
}

func writeJavaKey(out *strings.Builder, dec *json.Decoder) error {
	tok, err := dec.Token()
	if err != nil {
		return err
	}
	key, _ := tok.(string)
	if key != "" && strings.Trim(key, "0123456789") == "" {
		out.WriteString(key + ":")
		return nil
	}
	b, err := plainJSON(key)
	out.Write(b)
	out.WriteByte(':')
	return err
}
