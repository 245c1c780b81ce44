package conf

import (
	"flag"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"reflect"
	"strconv"
	"strings"
	"testing"
)

var rewriteDocs = flag.Bool("rewrite", false, "write the key tables of docs/configuration.md")

// TestDocumentedKeys compares the tables of docs/configuration.md with the structs: keys, defaults and comments are written once,
// beside the fields.
func TestDocumentedKeys(t *testing.T) {
	const path, begin, end = "../docs/configuration.md", "-rewrite -->\n", "<!-- /keys -->"
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	head, rest, ok1 := strings.Cut(string(text), begin)
	_, tail, ok2 := strings.Cut(rest, end)
	if !ok1 || !ok2 {
		t.Fatalf("%s has no place for the tables", path)
	}
	var b strings.Builder
	for _, part := range []struct{ title, file string }{
		{"Broker", "broker.go"}, {"Store (broker.conf)", "store.go"}, {"Server (broker.conf and namesrv.conf)", "server.go"}, {"NameServer", "namesrv.go"},
	} {
		fmt.Fprintf(&b, "\n### %s\n\n| key | default | live | meaning |\n|---|---|---|---|\n", part.title)
		for _, row := range documented(t, part.file) {
			b.WriteString(row)
		}
	}
	want := head + begin + b.String() + "\n" + end + tail
	if want == string(text) {
		return
	}
	if !*rewriteDocs {
		t.Fatalf("%s is not what the structs say: run go test ./conf -run TestDocumentedKeys -rewrite", path)
	}
	if err := os.WriteFile(path, []byte(want), 0o644); err != nil {
		t.Fatal(err)
	}
}

// documented are the table rows of the struct in file. Every field has a comment "Name: what it means."
func documented(t *testing.T, file string) []string {
	f, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.ParseComments)
	if err != nil {
		t.Fatal(err)
	}
	var rows []string
	ast.Inspect(f, func(n ast.Node) bool {
		fl, ok := n.(*ast.Field)
		if !ok || fl.Tag == nil {
			return true
		}
		raw, err := strconv.Unquote(fl.Tag.Value)
		if err != nil {
			t.Fatal(err)
		}
		tag := reflect.StructTag(raw)
		meaning, ok := strings.CutPrefix(strings.TrimSpace(fl.Doc.Text()), fl.Names[0].Name+": ")
		if !ok {
			t.Errorf("%s: the comment of %s must begin with its name", file, fl.Names[0].Name)
		}
		live := ""
		if tag.Get("live") == "true" {
			live = "live"
		}
		if tag.Get("reload") == "true" {
			live = "SIGHUP"
		}
		if e := tag.Get("enum"); e != "" {
			meaning += " One of `" + strings.ReplaceAll(e, "|", "`, `") + "`."
		}
		if c := tag.Get("clamp"); c != "" {
			meaning += " From " + strings.ReplaceAll(c, "..", " to ") + "."
		}
		rows = append(rows, fmt.Sprintf("| `%s` | %s | %s | %s |\n", tag.Get("conf"), code(tag.Get("default")), live, strings.ReplaceAll(meaning, "\n", " ")))
		return true
	})
	return rows
}

func code(s string) string {
	if s == "" {
		return ""
	}
	return "`" + s + "`"
}
