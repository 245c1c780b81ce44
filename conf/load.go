package conf

import (
	"fmt"
	"os"
	"reflect"
	"slices"
	"strings"
)

// Source is a configuration file that was read.
type Source struct {
	Path    string
	Entries []Entry
}

// Problem is something in a configuration file that the operator should know of. None stops a start, except where Refuse is set.
type Problem struct {
	File   string
	Line   int
	Key    string
	Text   string
	Refuse bool
}

func (p Problem) String() string {
	if p.Line == 0 {
		return fmt.Sprintf("%s: %s", p.File, p.Text)
	}
	return fmt.Sprintf("%s:%d: %s: %s", p.File, p.Line, p.Key, p.Text)
}

// Read reads a configuration file.
func Read(path string) (*Source, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("read configuration: %w", err)
	}
	return Parse(path, data)
}

// Parse is Read for bytes at hand; path is used in messages and for updates.
func Parse(path string, data []byte) (*Source, error) {
	entries, err := ParseLatin1(data)
	if err != nil {
		return nil, fmt.Errorf("read configuration: %s: %w", path, err)
	}
	return &Source{Path: path, Entries: entries}, nil
}

// Value is the last value of key.
func (s *Source) Value(key string) (string, bool) {
	for _, e := range slices.Backward(s.Entries) {
		if e.Key == key {
			return e.Value, true
		}
	}
	return "", false
}

// Apply sets the fields of target, a pointer to a struct of config structs, and reports everything that did not go as the
// file's author may have thought. Fields without a usable value keep theirs.
func (s *Source) Apply(target any) []Problem {
	a := applier{src: s, fields: map[string][]field{}, cat: theCatalogue()}
	for _, f := range fieldsOf(target) {
		a.fields[f.key] = append(a.fields[f.key], f)
	}
	last := map[string]int{}
	for i, e := range s.Entries {
		if before, dup := last[e.Key]; dup {
			a.report(s.Entries[before], "given again in line %d, which counts", e.Line)
		}
		last[e.Key] = i
	}
	for i, e := range s.Entries {
		if last[e.Key] == i {
			a.apply(e)
		}
	}
	a.summarise()
	slices.SortStableFunc(a.problems, func(x, y Problem) int { return x.Line - y.Line })
	return a.problems
}

type applier struct {
	src      *Source
	fields   map[string][]field
	cat      *catalogue
	problems []Problem
	ignored  []string
}

func (a *applier) report(e Entry, format string, args ...any) {
	a.problems = append(a.problems, Problem{File: a.src.Path, Line: e.Line, Key: e.Key, Text: fmt.Sprintf(format, args...)})
}

func (a *applier) apply(e Entry) {
	if fs, ok := a.fields[e.Key]; ok {
		a.set(e, fs)
		return
	}
	if k, ok := a.cat.inert[e.Key]; ok {
		a.inert(e, k)
		return
	}
	if owner, ok := a.cat.owner[e.Key]; ok {
		a.report(e, "is a key of %s and has no effect here", owner)
		return
	}
	if near := a.cat.nearest(e.Key); near != "" {
		a.report(e, "unknown key, did you mean %s?", near)
		return
	}
	a.report(e, "unknown key")
}

func (a *applier) set(e Entry, fs []field) {
	for i := range fs {
		note, err := fs[i].set(e.Value)
		switch {
		case i > 0: // the same text was reported for the first owner
		case err != nil:
			a.report(e, "%v; the default %q stays", err, fs[i].text())
		case note != "":
			a.report(e, "%s", note)
		}
	}
	if fs[0].v.Kind() == reflect.String && fs[0].enum == "" {
		if why := explain(strings.TrimSpace(e.Value)); why != "" {
			a.report(e, "the value is %q%s", strings.TrimSpace(e.Value), why)
		}
	}
	if strings.ContainsFunc(e.Value, func(r rune) bool { return r >= 0x80 && r <= 0xff }) {
		a.report(e, "bytes above 127 are read as ISO-8859-1; write other characters as \\uXXXX")
	}
}

func (a *applier) inert(e Entry, k inertKey) {
	isDefault := strings.EqualFold(strings.TrimSpace(e.Value), k.def)
	switch {
	case k.class == inertInternal, k.class == inertLegacy:
		name := e.Key
		if k.use != "" {
			name += " (use " + k.use + ")"
		}
		a.ignored = append(a.ignored, name)
	case isDefault:
	case k.class == inertRefuse:
		a.report(e, "%s is not available in this version; starting without it would not keep what it promises", e.Value)
		a.problems[len(a.problems)-1].Refuse = true
	default:
		a.report(e, "has no effect in this version")
	}
}

func (a *applier) summarise() {
	if len(a.ignored) == 0 {
		return
	}
	a.problems = append(a.problems, Problem{File: a.src.Path, Text: fmt.Sprintf(
		"accepted and ignored, because only the Java implementation reads them, or nobody does: %s", strings.Join(a.ignored, ", "))})
}
