package conf

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
)

// dumpText is the text of target's keys and of src's other keys (src may be nil).
func dumpText(target any, src *Source) string {
	values := map[string]string{}
	if src != nil {
		for _, e := range src.Entries {
			values[e.Key] = strings.TrimSpace(e.Value)
		}
	}
	for _, f := range fieldsOf(target) {
		values[f.key] = f.text()
		if values[f.key] == "" {
			delete(values, f.key)
		}
	}
	var b strings.Builder
	for _, k := range slices.Sorted(maps.Keys(values)) {
		b.WriteString(formatEntry(k, values[k]))
		b.WriteByte('\n')
	}
	return b.String()
}

// Print writes the keys of target, a pointer to a struct of config structs, one prefix+name=value per line in the order of the
// structs: all of them for -p, only the important ones for -m. A key that two structs share is written once.
func Print(w io.Writer, prefix string, target any, importantOnly bool) error {
	seen := map[string]bool{}
	for _, f := range fieldsOf(target) {
		if seen[f.key] || importantOnly && !f.important {
			continue
		}
		seen[f.key] = true
		if _, err := fmt.Fprintf(w, "%s%s=%s\n", prefix, f.key, f.text()); err != nil {
			return err
		}
	}
	return nil
}
