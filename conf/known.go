package conf

import (
	_ "embed"
	"strings"
	"sync"

	"github.com/agnivade/levenshtein"
)

//go:embed inert.tsv
var inertTSV string

// inertClass says what becomes of a key that RocketMQ knows and nothing here reads.
type inertClass string

const (
	inertInternal inertClass = "internal" // tunes an internal of the Java implementation
	inertLegacy   inertClass = "legacy"   // RocketMQ does not read it either
	inertLater    inertClass = "later"    // switches something that is not available
	inertRefuse   inertClass = "refuse"   // as later, but starting without it would break a promise
)

// inertKey is one row of inert.tsv.
type inertKey struct {
	class inertClass
	def   string // RocketMQ's default, "" when computed or null
	use   string // the key to use instead, if any
}

// catalogue is every key that is known, whoever reads it.
type catalogue struct {
	inert map[string]inertKey
	owner map[string]string // key → "broker.conf" or "namesrv.conf", for keys of the structs
	names []string
}

var theCatalogue = sync.OnceValue(func() *catalogue {
	c := &catalogue{inert: map[string]inertKey{}, owner: map[string]string{}}
	for i, line := range strings.Split(strings.TrimSuffix(inertTSV, "\n"), "\n") {
		if i == 0 {
			continue
		}
		f := strings.Split(line, "\t")
		c.inert[f[0]] = inertKey{class: inertClass(f[1]), def: f[2], use: f[3]}
		c.names = append(c.names, f[0])
	}
	for file, target := range map[string]any{"broker.conf": &BrokerProcess{}, "namesrv.conf": &NamesrvProcess{}} {
		for _, f := range fieldsOf(target) {
			c.owner[f.key] = file
			c.names = append(c.names, f.key)
		}
	}
	return c
})

// nearest is the known key that looks most like key, "" when none is close enough to be worth naming. Between equals a key
// that is read wins over one that is only known.
func (c *catalogue) nearest(key string) string {
	limit := max(2, len(key)/4)
	best, bestDist := "", 2*(limit+1)
	lower := strings.ToLower(key)
	for _, name := range c.names {
		if diff := len(name) - len(key); diff > limit || -diff > limit {
			continue
		}
		d := 2 * levenshtein.ComputeDistance(lower, strings.ToLower(name))
		if _, read := c.owner[name]; !read {
			d++
		}
		if d < bestDist || (d == bestDist && name < best) {
			best, bestDist = name, d
		}
	}
	return best
}
