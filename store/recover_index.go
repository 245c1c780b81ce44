package store

import (
	"errors"
	"math"

	"github.com/seedmq/seedmq/remoting/protocol"
)

// gapLook is how much of the log is read to see whether a gap between two index files, or before or behind them, is one.
const gapLook = 256 << 10

// indexGap finds out whether an index file is missing: the log then has a message with keys where the index has none. It
// returns the log position of that message, the largest int64 if there is none.
func (r *recovery) indexGap() (int64, error) {
	s := r.s
	if s.index == nil {
		return math.MaxInt64, nil
	}
	pos, known := s.log.start(), false // known: the record at pos is in the index
	for _, h := range s.index.Headers() {
		if h.IndexCount <= 1 || h.EndPhyOffset < pos {
			continue
		}
		if at, ok, err := r.keyed(pos, h.BeginPhyOffset, known); ok || err != nil {
			return at, err
		}
		pos, known = h.EndPhyOffset, true
	}
	at, ok, err := r.keyed(pos, r.from, known)
	if ok || err != nil {
		return at, err
	}
	return math.MaxInt64, nil
}

// keyed looks for a message with keys in [from, to), as far as is looked; skip leaves the record at from out.
func (r *recovery) keyed(from, to int64, skip bool) (at int64, ok bool, err error) {
	s := r.s
	var rec record
	for pos, stop := from, from+gapLook; pos < min(to, stop); {
		f := s.log.fileOf(pos)
		if f == nil {
			return 0, false, nil
		}
		_, err := s.dispatch.scan.record(pos, f.End(), scanMode{crc: true}, &rec)
		switch {
		case err == errBlank:
			pos = f.End()
			continue
		case errors.Is(err, ErrCorrupt):
			return 0, false, nil
		case err != nil:
			return 0, false, err
		}
		if (pos != from || !skip) && s.hasKeys(&rec) {
			s.o.Log.Errorf("the index has no entry of the message at log position %d and will be made again from there", pos)
			return pos, true, nil
		}
		pos += int64(rec.size)
	}
	return 0, false, nil
}

// hasKeys says that the message must be in the index.
func (s *Store) hasKeys(rec *record) bool {
	if !indexed(rec.sysFlag) || rec.phys < s.dropped.before(alias(rec.topic)) {
		return false
	}
	found := false
	protocol.EachProperty(rec.properties, func(name, value string) bool {
		found = value != "" && (name == protocol.PropertyKeys || name == protocol.PropertyUniqKey)
		return !found
	})
	return found
}
