package namesrv

import (
	"fmt"
	"maps"
	"path/filepath"
	"sync"

	"github.com/seedmq/seedmq/conf/xlog"
	"github.com/seedmq/seedmq/store/configfile"
	"github.com/seedmq/seedmq/store/fs"
)

// orderNamespace holds the order configuration of topics.
const orderNamespace = "ORDER_TOPIC_CONFIG"

// kvConfig is a table of texts by namespace and key, kept in a file of Java's format. Every change is on disk before it is
// answered.
type kvConfig struct {
	fs     fs.FS
	path   string
	writer *configfile.Writer

	mu struct {
		sync.RWMutex
		table map[string]map[string]string
	}
}

// kvFile is the file's content.
type kvFile struct {
	ConfigTable map[string]map[string]string `json:"configTable"`
}

func newKVConfig(f fs.FS, path string) *kvConfig {
	k := &kvConfig{fs: f, path: path}
	k.mu.table = map[string]map[string]string{}
	k.writer = configfile.NewWriter(f, path, k.snapshot)
	return k
}

func (k *kvConfig) snapshot() any {
	k.mu.RLock()
	defer k.mu.RUnlock()
	out := make(map[string]map[string]string, len(k.mu.table))
	for ns, kvs := range k.mu.table {
		out[ns] = maps.Clone(kvs)
	}
	return kvFile{out}
}

// load reads the file. Without one the table is empty; one that cannot be read stops the start, since the next change would
// overwrite it.
func (k *kvConfig) load(log *xlog.Logger) error {
	var f kvFile
	src, err := k.writer.Load(&f)
	if err != nil {
		return fmt.Errorf("KV configuration %s: %w", k.path, err)
	}
	if src == configfile.Backup {
		log.Warnf("KV configuration read from %s.bak", k.path)
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	for ns, kvs := range f.ConfigTable {
		if kvs != nil {
			k.mu.table[ns] = kvs
		}
	}
	return nil
}

// edit changes the table and saves it.
func (k *kvConfig) edit(fn func(table map[string]map[string]string)) error {
	k.mu.Lock()
	fn(k.mu.table)
	k.mu.Unlock()
	k.writer.Mark()
	if err := k.fs.MkdirAll(filepath.Dir(k.path)); err != nil {
		return fmt.Errorf("KV configuration: %w", err)
	}
	if err := k.writer.Flush(); err != nil {
		return fmt.Errorf("KV configuration: %w", err)
	}
	return nil
}

func (k *kvConfig) put(ns, key, value string) error {
	return k.edit(func(t map[string]map[string]string) {
		if t[ns] == nil {
			t[ns] = map[string]string{}
		}
		t[ns][key] = value
	})
}

// remove deletes a key; its namespace stays, empty if need be, as in RocketMQ. Nothing is written when there is no such key.
func (k *kvConfig) remove(ns, key string) error {
	if _, ok := k.get(ns, key); !ok {
		return nil
	}
	return k.edit(func(t map[string]map[string]string) { delete(t[ns], key) })
}

func (k *kvConfig) get(ns, key string) (string, bool) {
	k.mu.RLock()
	defer k.mu.RUnlock()
	v, ok := k.mu.table[ns][key]
	return v, ok
}

// list returns a copy of a namespace; ok is false when there is none.
func (k *kvConfig) list(ns string) (kvs map[string]string, ok bool) {
	k.mu.RLock()
	defer k.mu.RUnlock()
	t, ok := k.mu.table[ns]
	return maps.Clone(t), ok
}

// orderConf is the order configuration of a topic, "" for none.
func (k *kvConfig) orderConf(topic string) string {
	v, _ := k.get(orderNamespace, topic)
	return v
}
