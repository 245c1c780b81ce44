package store

// LogRange is a part of the log, [From, To).
type LogRange struct{ From, To int64 }

// Mended are the parts of the log whose records were lost and stand filled now, in order: those that the recovery of this start found
// or met again. What is behind them may have been stored together with what was in them, and tell of it as if it were there. The
// slice is the caller's to read only; it does not change after Open.
func (s *Store) Mended() []LogRange { return s.mended }

// mendedRanges joins the fillers that follow each other.
func (r *recovery) mendedRanges() (all []LogRange) {
	for _, p := range r.places {
		to := p.from + p.count*int64(p.size)
		if n := len(all); n > 0 && all[n-1].To == p.from {
			all[n-1].To = to
			continue
		}
		all = append(all, LogRange{p.from, to})
	}
	return all
}
