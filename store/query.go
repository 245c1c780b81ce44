package store

import (
	"errors"
	"math"

	"github.com/seedmq/seedmq/remoting/protocol"
	"github.com/seedmq/seedmq/store/index"
)

// QueryKey finds records by key within [begin, end] ms.
func (s *Store) QueryKey(topic, key string, kind KeyKind, max int, begin, end int64) (QueryResult, error) {
	var res QueryResult
	if s.state.closed.Load() {
		return res, ErrClosed
	}
	if s.index == nil || max <= 0 || key == "" {
		return res, nil
	}
	res.IndexLastUpdateTime, res.IndexLastUpdatePhys = s.index.LastUpdate()
	hash := index.KeyHash(topic, key)
	if kind == KeyTag {
		hash = index.TagHash(topic, key)
	}
	// Other keys may have the same hash: ask for more until enough are the right ones. The newest come first, and more of
	// them may come meanwhile, so what was looked at is known by its position.
	lowest := int64(math.MaxInt64)
	var found []int64
	for limit := max; ; limit *= 2 {
		var err error
		if found, err = s.index.Query(found[:0], hash, limit, begin, end); err != nil {
			return res, err
		}
		for _, phys := range found {
			if phys >= lowest {
				continue
			}
			lowest = phys
			rec, err := s.matching(phys, topic, key, kind, begin, end)
			if err != nil {
				return res, err
			}
			if rec != nil {
				res.Records = append(res.Records, rec)
			}
			if len(res.Records) == max {
				return res, nil
			}
		}
		if len(found) < limit {
			return res, nil
		}
	}
}

// matching is the record at phys if it has the key, else nil. A record that is gone or damaged has none.
func (s *Store) matching(phys int64, topic, key string, kind KeyKind, begin, end int64) ([]byte, error) {
	rec, err := s.Record(phys, nil)
	if errors.Is(err, ErrNotFound) || errors.Is(err, ErrCorrupt) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var r record
	if err := parseRecord(rec, &r); err != nil || string(r.topic) != topic || r.storeTime < begin || r.storeTime > end {
		return nil, nil //nolint:nilerr // damaged since Record looked at it
	}
	if !hasKey(&r, key, kind) {
		return nil, nil
	}
	return rec, nil
}

func hasKey(r *record, key string, kind KeyKind) bool {
	name := map[KeyKind]string{KeyUser: protocol.PropertyKeys, KeyUniq: protocol.PropertyUniqKey, KeyTag: protocol.PropertyTags}[kind]
	value, _ := protocol.Property(r.properties, name)
	if kind != KeyUser {
		return value == key
	}
	found := false
	eachWord(value, func(word string) bool {
		found = word == key
		return !found
	})
	return found
}
