package protocol

import (
	"bytes"
	"encoding/json"
	"strconv"
	"strings"
)

// resolveRefs replaces fastjson's {"$ref":"path"}, its way to write an object a second time, by the object. Paths are
// "$" (the root) with .name and [index] steps; "@" and ".." mean the holder itself and its parent, which are cycles and
// become null, as does a path that leads nowhere.
func resolveRefs(b []byte) ([]byte, error) {
	strict, err := NormalizeJSON(b)
	if err != nil {
		return nil, err
	}
	dec := json.NewDecoder(bytes.NewReader(strict))
	dec.UseNumber()
	var root any
	if err := dec.Decode(&root); err != nil {
		return nil, &SyntaxError{Reason: err.Error()}
	}
	r := refResolver{root: root, budget: 1024}
	return json.Marshal(r.walk(root, 0))
}

// refResolver bounds what references can blow up: each costs one of budget, and references are not followed inside
// what a reference brought.
type refResolver struct {
	root   any
	budget int
}

func (r *refResolver) walk(v any, depth int) any {
	if depth > maxJSONDepth {
		return nil
	}
	switch t := v.(type) {
	case map[string]any:
		if path, ok := refPath(t); ok {
			return r.find(path)
		}
		for k, e := range t {
			t[k] = r.walk(e, depth+1)
		}
	case []any:
		for i, e := range t {
			t[i] = r.walk(e, depth+1)
		}
	}
	return v
}

func refPath(m map[string]any) (string, bool) {
	path, ok := m["$ref"].(string)
	return path, ok && len(m) == 1
}

// find returns what path leads to, if that is plain data without references.
func (r *refResolver) find(path string) any {
	if r.budget--; r.budget < 0 || !strings.HasPrefix(path, "$") {
		return nil
	}
	v := r.root
	for rest := path[1:]; rest != ""; {
		var step string
		switch rest[0] {
		case '.':
			end := strings.IndexAny(rest[1:], ".[") + 1
			if end == 0 {
				end = len(rest)
			}
			step, rest = rest[1:end], rest[end:]
			m, _ := v.(map[string]any)
			v = m[step]
		case '[':
			end := strings.IndexByte(rest, ']')
			if end < 0 {
				return nil
			}
			step, rest = rest[1:end], rest[end+1:]
			v = element(v, step)
		default:
			return nil
		}
	}
	if !plain(v, 0) {
		return nil
	}
	return v
}

// element indexes a list, or a map by a quoted or bare key.
func element(v any, step string) any {
	switch t := v.(type) {
	case []any:
		if i, err := strconv.Atoi(step); err == nil && i >= 0 && i < len(t) {
			return t[i]
		}
	case map[string]any:
		return t[strings.Trim(step, `"'`)]
	}
	return nil
}

// plain reports whether v is small and holds no reference.
func plain(v any, depth int) bool {
	if depth > 8 {
		return false
	}
	switch t := v.(type) {
	case map[string]any:
		if _, ok := refPath(t); ok || len(t) > 256 {
			return false
		}
		for _, e := range t {
			if !plain(e, depth+1) {
				return false
			}
		}
	case []any:
		if len(t) > 256 {
			return false
		}
		for _, e := range t {
			if !plain(e, depth+1) {
				return false
			}
		}
	}
	return true
}
