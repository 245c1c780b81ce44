package lint

import (
	"bytes"
	"go/ast"
	"go/format"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
)

const module = "github.com/seedmq/seedmq/"

// source is one parsed file.
type source struct {
	path string // relative to the module's root
	dir  string
	test bool
	gen  bool
	text []byte
	ast  *ast.File
	fset *token.FileSet
}

func (s *source) at(p token.Pos) string {
	return s.path + ":" + strconv.Itoa(s.fset.Position(p).Line)
}

var (
	generated  = regexp.MustCompile(`(?m)^// Code generated .* DO NOT EDIT\.$`)
	saysItIs   = regexp.MustCompile(`(?mi)^// ?(this file is |code |auto-?)?generated\b`)
	leftBehind = regexp.MustCompile(`\b(TODO|FIXME|XXX|HACK)\b`)
)

var sources = sync.OnceValues(func() ([]*source, error) {
	root := filepath.Join("..", "..")
	var out []*source
	err := filepath.WalkDir(root, func(p string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(root, p)
		if err != nil {
			return err
		}
		if d.IsDir() {
			if _, err := os.Stat(filepath.Join(p, "go.mod")); (err == nil && rel != ".") || d.Name() == "testdata" ||
				(strings.HasPrefix(d.Name(), ".") && rel != ".") || d.Name() == "out" {
				return fs.SkipDir
			}
			return nil
		}
		if !strings.HasSuffix(p, ".go") {
			return nil
		}
		text, err := os.ReadFile(p)
		if err != nil {
			return err
		}
		s := &source{path: filepath.ToSlash(rel), text: text, fset: token.NewFileSet()}
		s.dir, s.test, s.gen = path.Dir(s.path), strings.HasSuffix(s.path, "_test.go"), generated.Match(text)
		if s.ast, err = parser.ParseFile(s.fset, s.path, text, parser.ParseComments|parser.SkipObjectResolution); err != nil {
			return err
		}
		out = append(out, s)
		return nil
	})
	return out, err
})

func each(t *testing.T, fn func(s *source)) {
	t.Helper()
	all, err := sources()
	if err != nil {
		t.Fatal(err)
	}
	if len(all) < 20 {
		t.Fatalf("found only %d files: is the test run from its folder?", len(all))
	}
	for _, s := range all {
		fn(s)
	}
}

// under reports whether dir is root or below it.
func under(dir, root string) bool { return dir == root || strings.HasPrefix(dir, root+"/") }

func underAny(dir string, roots []string) bool {
	return slices.ContainsFunc(roots, func(r string) bool { return under(dir, r) })
}

// layers says what a folder may import of this module, its own folder always included. The longest match counts.
var layers = []struct {
	dir string
	may []string
}{
	{"conf", []string{"conf"}},
	{"remoting/protocol", nil},
	{"remoting", []string{"remoting", "conf"}},
	{"store", []string{"store", "remoting/protocol", "conf"}},
	{"client", []string{"client", "remoting", "conf"}},
	{"namesrv", []string{"namesrv", "remoting", "conf", "store/configfile", "store/fs"}},
	{"broker", []string{"broker", "store", "remoting", "conf"}},
	{"tools/inspect", []string{"tools", "client", "remoting", "conf", "store"}},
	{"tools", []string{"tools", "client", "remoting", "conf"}},
	{"bin", []string{"bin", "tools", "broker", "namesrv", "client", "store", "remoting", "conf"}},
}

func TestImportsGoDown(t *testing.T) {
	each(t, func(s *source) {
		helper := strings.HasSuffix(s.dir, "test")
		for _, imp := range s.ast.Imports {
			p, _ := strconv.Unquote(imp.Path.Value)
			target, ours := strings.CutPrefix(p, module)
			if !ours || s.test || helper {
				continue
			}
			if strings.HasSuffix(target, "test") {
				t.Errorf("%s: imports %s: helper packages of tests are imported by tests only", s.at(imp.Pos()), target)
			}
			i := slices.IndexFunc(layers, func(l struct {
				dir string
				may []string
			}) bool {
				return under(s.dir, l.dir)
			})
			if i < 0 {
				t.Errorf("%s: folder %s has no row in the layers table of tools/lint", s.path, s.dir)
			} else if !under(target, layers[i].dir) && !underAny(target, layers[i].may) {
				t.Errorf("%s: %s must not import %s: take a small interface declared here instead", s.at(imp.Pos()), s.dir, target)
			}
		}
	})
}

// owners says which folders may import a third-party package. One owner each, unless the comment says why not.
var owners = map[string][]string{
	"github.com/sirupsen/logrus":           {"conf/xlog"},
	"github.com/robfig/cron":               {"conf/cronx"},
	"github.com/agnivade/levenshtein":      {"conf"},
	"github.com/magiconair/properties":     {"conf"},
	"github.com/cloudwego/netpoll":         {"remoting"},
	"github.com/edsrzf/mmap-go":            {"store/mappedfile"},
	"github.com/spf13/cobra":               {"tools"},
	"github.com/spf13/pflag":               {"bin/internal/proc", "tools"}, // comes with cobra; two ways to parse a command line are no gain
	"github.com/olekukonko/tablewriter":    {"tools"},
	"github.com/schollz/progressbar":       {"tools"},
	"github.com/klauspost/compress":        {"client", "broker/filter", "tools"}, // bodies are opened where they are shown or consumed
	"github.com/pierrec/lz4":               {"client", "broker/filter", "tools"}, // as above
	"golang.org/x":                         {"."},
	"github.com/apache/rocketmq-client-go": {}, // only in the module tools/e2e
}

func TestThirdPartyPackagesHaveOneOwner(t *testing.T) {
	each(t, func(s *source) {
		for _, imp := range s.ast.Imports {
			p, _ := strconv.Unquote(imp.Path.Value)
			first, _, _ := strings.Cut(p, "/")
			if !strings.Contains(first, ".") || strings.HasPrefix(p+"/", module) {
				continue
			}
			allowed, known := []string(nil), false
			for dep, dirs := range owners {
				if under(p, dep) {
					allowed, known = dirs, true
				}
			}
			switch {
			case s.dir == "remoting/protocol" && !s.test:
				t.Errorf("%s: remoting/protocol uses the standard library only", s.at(imp.Pos()))
			case !known:
				t.Errorf("%s: %s has no owner in tools/lint: a new dependency needs a reason", s.at(imp.Pos()), p)
			case !slices.Contains(allowed, ".") && !underAny(s.dir, allowed):
				t.Errorf("%s: %s belongs to %v: use what that package offers", s.at(imp.Pos()), p, allowed)
			}
		}
	})
}

func TestGofmt(t *testing.T) {
	each(t, func(s *source) {
		want, err := format.Source(s.text)
		if err != nil || !bytes.Equal(want, s.text) {
			t.Errorf("%s: run gofmt (%v)", s.path, err)
		}
	})
}

// call is a use of a package-level function that some folders must not make.
type call struct {
	pkg     string
	names   []string
	allowed []string // folders or files
	inTests bool     // tests may
	instead string
}

var calls = []call{
	{"time", []string{"Now", "Since", "Until", "NewTimer", "NewTicker", "Tick", "After", "AfterFunc"},
		[]string{"conf/clock",
			"remoting",      // deadlines of sockets and certificates are absolute times of the system
			"tools/harness", // watches real processes
			"tools/crash",   // as above
			"tools/perf",    // as above
		}, true, "take a conf/clock.Clock"},
	{"time", []string{"Sleep"}, []string{"conf/clock", "tools/crash"}, false, "wait for the condition, or drive a fake clock"},
	{"math/rand", nil, nil, true, "take a seeded *rand.Rand"},
	{"math/rand/v2", []string{"Int", "IntN", "Int32", "Int64", "Uint32", "Uint64", "N", "Float64", "Shuffle", "Perm"}, nil, true, "take a seeded *rand.Rand"},
	{"fmt", []string{"Print", "Println", "Printf"}, []string{"bin", "tools", "remoting/protocol/internal"}, true, "return it, or log it through the logger handed in"},
	{"os", []string{"Exit"}, []string{"bin", "tools", "remoting/protocol/internal"}, true, "return an error"},
	{"log", nil, []string{"remoting/protocol/internal"}, false, "use the conf/xlog.Logger handed in"},
	{"os", []string{"Getenv", "LookupEnv", "Environ", "UserHomeDir", "Hostname"}, []string{"bin", "tools"}, true, "have bin read it and pass it down"},
	{"sync/atomic", []string{"AddInt32", "AddInt64", "AddUint32", "AddUint64", "LoadInt32", "LoadInt64", "LoadUint32", "LoadUint64",
		"StoreInt32", "StoreInt64", "StoreUint32", "StoreUint64", "CompareAndSwapInt32", "CompareAndSwapInt64"}, nil, false, "use atomic.Int64 and its like"},
}

func TestForbiddenCalls(t *testing.T) {
	each(t, func(s *source) {
		names := map[string]string{} // local name → import path
		for _, imp := range s.ast.Imports {
			p, _ := strconv.Unquote(imp.Path.Value)
			local := path.Base(p)
			if p == "math/rand/v2" {
				local = "rand"
			}
			if imp.Name != nil {
				local = imp.Name.Name
			}
			names[local] = p
		}
		test := s.test || strings.HasSuffix(s.dir, "test")
		polls := pollingLoops(s, test || s.dir == "tools/harness")
		ast.Inspect(s.ast, func(n ast.Node) bool {
			sel, ok := n.(*ast.SelectorExpr)
			if !ok {
				return true
			}
			x, ok := sel.X.(*ast.Ident)
			if !ok {
				return true
			}
			for _, c := range calls {
				if names[x.Name] != c.pkg || (c.names != nil && !slices.Contains(c.names, sel.Sel.Name)) {
					continue
				}
				if (test && c.inTests) || underAny(s.dir, c.allowed) || (sel.Sel.Name == "Sleep" && polls(sel.Pos())) {
					continue
				}
				t.Errorf("%s: %s.%s: %s", s.at(sel.Pos()), x.Name, sel.Sel.Name, c.instead)
			}
			return true
		})
	})
}

// pollingLoops reports whether a position lies in a loop. Tests may poll for a condition that way; a sleep outside of a loop only
// hopes that something has happened meanwhile.
func pollingLoops(s *source, allowed bool) func(token.Pos) bool {
	var loops []ast.Node
	if allowed {
		ast.Inspect(s.ast, func(n ast.Node) bool {
			switch n.(type) {
			case *ast.ForStmt, *ast.RangeStmt:
				loops = append(loops, n)
			}
			return true
		})
	}
	return func(p token.Pos) bool {
		return slices.ContainsFunc(loops, func(n ast.Node) bool { return n.Pos() < p && p < n.End() })
	}
}

func TestNothingIsLeftForLater(t *testing.T) {
	each(t, func(s *source) {
		for _, g := range s.ast.Comments {
			for _, c := range g.List {
				if m := leftBehind.FindString(c.Text); m != "" && s.dir != "tools/lint" {
					t.Errorf("%s: %s: do it, or write down in docs what is left out", s.at(c.Pos()), m)
				}
			}
		}
	})
}

// TestFileHeads: one package comment per package, at the top of one file; generated files carry the line that tools know.
func TestFileHeads(t *testing.T) {
	docs, first := map[string][]string{}, map[string]string{}
	each(t, func(s *source) {
		if head, _, _ := bytes.Cut(s.text, []byte("\npackage ")); !s.gen && saysItIs.Match(head) {
			t.Errorf("%s: generated files carry the line \"// Code generated ... DO NOT EDIT.\"", s.path)
		}
		if s.test {
			return
		}
		if first[s.dir] == "" {
			first[s.dir] = s.path
		}
		if s.ast.Doc != nil {
			docs[s.dir] = append(docs[s.dir], s.path)
			text := s.ast.Doc.Text()
			if name := s.ast.Name.Name; name != "main" && !strings.HasPrefix(text, "Package "+name+" ") {
				t.Errorf("%s: the package comment begins with \"Package %s\"", s.path, name)
			}
		}
	})
	for dir, f := range first {
		if n := len(docs[dir]); n != 1 {
			t.Errorf("%s: the package has %d package comments %v, want one that says what it owns and its rules of concurrency", f, n, docs[dir])
		}
	}
}

// TestEveryKeyIsRead: a key of a configuration struct that nothing reads would be accepted in silence and do nothing. It belongs
// into conf/inert.tsv, where setting it is answered with a warning.
func TestEveryKeyIsRead(t *testing.T) {
	fields, read := map[string]string{}, map[string]bool{}
	each(t, func(s *source) {
		if s.test {
			return
		}
		ast.Inspect(s.ast, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.Field:
				if s.dir == "conf" && n.Tag != nil && strings.Contains(n.Tag.Value, `conf:"`) {
					fields[n.Names[0].Name] = s.at(n.Pos())
				}
			case *ast.SelectorExpr:
				read[n.Sel.Name] = true
			}
			return true
		})
	})
	if len(fields) < 50 {
		t.Fatalf("only %d keys found", len(fields))
	}
	byKey := []string{"ConfigBlackList", "TLSConfigFile"} // conf itself reads these, by their keys
	for name, at := range fields {
		if !read[name] && !slices.Contains(byKey, name) {
			t.Errorf("%s: nothing reads %s: move its key to conf/inert.tsv", at, name)
		}
	}
}
