package main

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"reflect"
	"strconv"
	"strings"
)

// header is one header struct; a header with aliasOf has its layout, and its codec, from another one.
type header struct {
	name    string
	aliasOf string
	fields  []field
}

type field struct {
	goName   string
	goType   string // "string", "int32", "Opt[bool]" ...
	wire     string
	aliases  []string
	optional bool
}

// parseHeaders reads the header types in the order of the file.
func parseHeaders(dir string) ([]header, error) {
	fset := token.NewFileSet()
	file, err := parser.ParseFile(fset, filepath.Join(dir, typesFile), nil, 0)
	if err != nil {
		return nil, err
	}
	var headers []header
	for _, decl := range file.Decls {
		gen, ok := decl.(*ast.GenDecl)
		if !ok || gen.Tok != token.TYPE {
			continue
		}
		for _, spec := range gen.Specs {
			h, err := parseHeader(spec.(*ast.TypeSpec))
			if err != nil {
				return nil, fmt.Errorf("%s: %w", fset.Position(spec.Pos()), err)
			}
			headers = append(headers, h)
		}
	}
	return headers, nil
}

func parseHeader(spec *ast.TypeSpec) (header, error) {
	h := header{name: spec.Name.Name}
	switch t := spec.Type.(type) {
	case *ast.Ident:
		if spec.Assign == token.NoPos {
			return h, fmt.Errorf("%s: only structs and aliases of them are headers", h.name)
		}
		h.aliasOf = t.Name
		return h, nil
	case *ast.StructType:
		seen := map[string]bool{}
		for _, f := range t.Fields.List {
			parsed, err := parseField(f)
			if err != nil {
				return h, fmt.Errorf("%s: %w", h.name, err)
			}
			for _, n := range append([]string{parsed.wire}, parsed.aliases...) {
				if seen[n] {
					return h, fmt.Errorf("%s: two fields are called %q", h.name, n)
				}
				seen[n] = true
			}
			h.fields = append(h.fields, parsed)
		}
		return h, nil
	}
	return h, fmt.Errorf("%s: only structs and aliases of them are headers", h.name)
}

func parseField(f *ast.Field) (field, error) {
	if len(f.Names) != 1 || f.Tag == nil {
		return field{}, fmt.Errorf("every field needs one name and a tag")
	}
	p := field{goName: f.Names[0].Name, goType: typeName(f.Type)}
	if codecs[p.goType].writer == "" {
		return p, fmt.Errorf("field %s: type %s has no codec", p.goName, p.goType)
	}
	tag, err := strconv.Unquote(f.Tag.Value)
	if err != nil {
		return p, err
	}
	parts := strings.Split(reflect.StructTag(tag).Get("rmq"), ",")
	p.wire = parts[0]
	if p.wire == "" || strings.ContainsAny(p.wire, `"\`) {
		return p, fmt.Errorf("field %s: bad name %q", p.goName, p.wire)
	}
	for _, o := range parts[1:] {
		alias, isAlias := strings.CutPrefix(o, "alias=")
		switch {
		case o == "optional":
			p.optional = true
		case isAlias && alias != "":
			p.aliases = append(p.aliases, alias)
		default:
			return p, fmt.Errorf("field %s: unknown option %q", p.goName, o)
		}
	}
	if strings.HasPrefix(p.goType, "Opt[") && !p.optional {
		return p, fmt.Errorf("field %s: an Opt must be optional", p.goName)
	}
	return p, nil
}

func typeName(e ast.Expr) string {
	switch t := e.(type) {
	case *ast.Ident:
		return t.Name
	case *ast.IndexExpr:
		return typeName(t.X) + "[" + typeName(t.Index) + "]"
	}
	return "?"
}

// parseCodes returns the names of the request code constants.
func parseCodes(dir string) (map[string]bool, error) {
	file, err := parser.ParseFile(token.NewFileSet(), filepath.Join(dir, codesFile), nil, 0)
	if err != nil {
		return nil, err
	}
	codes := map[string]bool{}
	for name, obj := range fileConsts(file) {
		if strings.HasPrefix(name, "Req") && obj {
			codes[name] = true
		}
	}
	return codes, nil
}

func fileConsts(file *ast.File) map[string]bool {
	names := map[string]bool{}
	for _, decl := range file.Decls {
		gen, ok := decl.(*ast.GenDecl)
		if !ok || gen.Tok != token.CONST {
			continue
		}
		for _, spec := range gen.Specs {
			for _, n := range spec.(*ast.ValueSpec).Names {
				names[n.Name] = true
			}
		}
	}
	return names
}
