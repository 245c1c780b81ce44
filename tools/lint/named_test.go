package lint

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var (
	namedTest   = regexp.MustCompile("`((?:Test|Benchmark)[A-Z]\\w*)(?:/[^`]*)?`")
	definedTest = regexp.MustCompile(`(?m)^func ((?:Test|Benchmark)[A-Z]\w*)\(`)
)

// TestNamedTests: every test that the documents name as showing something is there.
func TestNamedTests(t *testing.T) {
	root := filepath.Join("..", "..")
	defined := map[string]bool{}
	err := filepath.WalkDir(root, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(path, "_test.go") {
			return err
		}
		text, err := os.ReadFile(path)
		for _, m := range definedTest.FindAllSubmatch(text, -1) {
			defined[string(m[1])] = true
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	named := 0
	for _, file := range []string{"docs/compat.md", "docs/design/services.md"} {
		text, err := os.ReadFile(filepath.Join(root, file))
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range namedTest.FindAllSubmatch(text, -1) {
			if named++; !defined[string(m[1])] {
				t.Errorf("%s names %s, which is no test", file, m[1])
			}
		}
	}
	if named < 200 {
		t.Errorf("only %d tests are named", named)
	}
}
