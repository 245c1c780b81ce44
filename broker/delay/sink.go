package delay

import "github.com/seedmq/seedmq/store"

// StoreSink is the Sink that appends to a store.
type StoreSink struct {
	s *store.Store
	b *store.Batch
}

// NewStoreSink returns a sink for s.
func NewStoreSink(s *store.Store) *StoreSink { return &StoreSink{s: s, b: s.NewBatch()} }

// Reset forgets what was added.
func (k *StoreSink) Reset() { k.b.Reset() }

// Add encodes m.
func (k *StoreSink) Add(m *store.Message) error { return k.b.Add(m) }

// Append writes the batch.
func (k *StoreSink) Append() (int64, error) {
	if err := k.s.Append(k.b); err != nil {
		return 0, err
	}
	return k.b.End(), nil
}

// AwaitSafe is store.AwaitSafe.
func (k *StoreSink) AwaitSafe(end int64, done func(error)) { k.s.AwaitSafe(end, done) }
