package store

// IsHot says that the record at a log position is recent enough to be read from memory: Record will not wait for the disk.
func (s *Store) IsHot(phys int64) bool { return phys >= s.log.end.Load()-s.log.hot }
