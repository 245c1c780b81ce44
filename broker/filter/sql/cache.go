package sql

import (
	"container/list"
	"strings"
	"sync"
)

// Bounds of a Cache.
const (
	cacheEntries = 256
	cacheBytes   = 256 << 10 // of expressions
)

// Cache keeps what Compile said of the expressions used last, errors too, for clients repeat themselves. Safe for concurrent use.
type Cache struct {
	mu     sync.Mutex
	byText map[string]*list.Element
	used   list.List // of *cached, the latest first
	bytes  int
}

type cached struct {
	text string
	expr *Expr
	err  error
}

// NewCache returns an empty cache.
func NewCache() *Cache { return &Cache{byText: map[string]*list.Element{}} }

// Compile is the package's Compile.
func (c *Cache) Compile(text string) (*Expr, error) {
	c.mu.Lock()
	if e := c.byText[text]; e != nil {
		c.used.MoveToFront(e)
		x := e.Value.(*cached)
		c.mu.Unlock()
		return x.expr, x.err
	}
	c.mu.Unlock()
	expr, err := Compile(text) // not under the lock: it may take a millisecond
	if len(text) <= MaxLength {
		c.add(&cached{text: strings.Clone(text), expr: expr, err: err})
	}
	return expr, err
}

func (c *Cache) add(x *cached) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.byText[x.text] != nil {
		return
	}
	c.byText[x.text] = c.used.PushFront(x)
	c.bytes += len(x.text)
	for c.used.Len() > cacheEntries || c.bytes > cacheBytes {
		old := c.used.Remove(c.used.Back()).(*cached)
		delete(c.byText, old.text)
		c.bytes -= len(old.text)
	}
}

// Len is how many expressions are kept.
func (c *Cache) Len() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.used.Len()
}
