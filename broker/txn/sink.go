package txn

import "github.com/seedmq/seedmq/store"

// StoreBatch is the Batch that appends to a store.
type StoreBatch struct {
	*store.Batch
	s *store.Store
}

// NewStoreBatch returns an empty batch for s.
func NewStoreBatch(s *store.Store) *StoreBatch { return &StoreBatch{s.NewBatch(), s} }

// Append writes the batch.
func (b *StoreBatch) Append() error { return b.s.Append(b.Batch) }
