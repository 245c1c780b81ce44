// Package jsonkeep keeps the members of a JSON object that a Go struct has no field for, so that what a newer broker wrote
// into a table survives being read and written here. All functions are pure.
package jsonkeep

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"

	"github.com/seedmq/seedmq/remoting/protocol"
)

// Rest holds the members of an object that no field took. Read only.
type Rest map[string]json.RawMessage

// Split decodes raw, in Java's dialect too, into the struct that v points to and returns the other members, nil when none.
func Split(raw []byte, v any) (Rest, error) {
	strict, err := protocol.NormalizeJSON(raw)
	if err != nil {
		return nil, fmt.Errorf("jsonkeep: %w", err)
	}
	if err := json.Unmarshal(strict, v); err != nil {
		return nil, fmt.Errorf("jsonkeep: %w", err)
	}
	var rest Rest
	if err := json.Unmarshal(strict, &rest); err != nil {
		return nil, fmt.Errorf("jsonkeep: %w", err)
	}
	for _, f := range reflect.VisibleFields(reflect.TypeOf(v).Elem()) {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		if name == "" {
			name = f.Name
		}
		for have := range rest {
			if strings.EqualFold(have, name) { // as encoding/json matches
				delete(rest, have)
			}
		}
	}
	if len(rest) == 0 {
		return nil, nil
	}
	return rest, nil
}

// Join encodes v with the members of rest added. A field of v wins over a member of the same name.
func Join(v any, rest Rest) (json.RawMessage, error) {
	b, err := json.Marshal(v)
	if err != nil || len(rest) == 0 {
		return b, err
	}
	var all Rest
	if err := json.Unmarshal(b, &all); err != nil {
		return nil, err
	}
	for name, raw := range rest {
		if _, ok := all[name]; !ok {
			all[name] = raw
		}
	}
	return json.Marshal(all)
}
