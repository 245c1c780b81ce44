package delay

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/seedmq/seedmq/store/configfile"
)

// ErrTooLate: the message is delivered, or on its way.
var ErrTooLate = errors.New("delay: the message is delivered")

// recalls are messages that are not to be delivered, which is ours: Java recalls timed messages only, and takes no notice of the file.
type recalls struct {
	file *configfile.Writer
	n    atomic.Int64 // messages
	mu   struct {
		sync.Mutex
		offsets map[int32]map[int64]struct{} // level → queue offsets
		taken   map[int32]int64              // level → offset up to which the loop looked
	}
}

// recallFile is delayRecall.json.
type recallFile struct {
	Recalled map[int32][]int64 `json:"recalled"` // level → queue offsets
}

func (s *Service) initRecalls() {
	r := &s.recalls
	r.mu.offsets, r.mu.taken = map[int32]map[int64]struct{}{}, map[int32]int64{}
	r.file = configfile.NewWriter(s.o.FS, filepath.Join(filepath.Dir(s.o.Path), "delayRecall.json"), func() any { return s.recallFile() })
}

// recallFile is what the file says now, without what was passed over, also as delayOffset.json has it: after a kill the level begins there.
func (s *Service) recallFile() recallFile {
	s.mu.Lock()
	safe := s.mu.written
	s.mu.Unlock()
	r := &s.recalls
	r.mu.Lock()
	defer r.mu.Unlock()
	f := recallFile{map[int32][]int64{}}
	left := int64(0)
	for level, offsets := range r.mu.offsets {
		for offset := range offsets {
			if offset < safe[level] {
				delete(offsets, offset)
				continue
			}
			f.Recalled[level] = append(f.Recalled[level], offset)
			left++
		}
		slices.Sort(f.Recalled[level])
	}
	r.n.Store(left)
	return f
}

// loadRecalls reads the file. A damaged one is logged: what it named is delivered.
func (s *Service) loadRecalls() error {
	var f recallFile
	_, err := s.recalls.file.Load(&f)
	if errors.Is(err, configfile.ErrCorrupt) {
		s.o.Log.Errorf("recalled delayed messages are delivered all the same: %v", err)
		return nil
	}
	if err != nil {
		return fmt.Errorf("delay: %w", err)
	}
	for level, offsets := range f.Recalled {
		for _, offset := range offsets {
			s.recalls.add(level, offset)
		}
	}
	return nil
}

func (r *recalls) add(level int32, offset int64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.mu.offsets[level] == nil {
		r.mu.offsets[level] = map[int64]struct{}{}
	}
	r.mu.offsets[level][offset] = struct{}{}
	r.n.Add(1)
}

// Recall says that the message at a queue offset of a level is not to be delivered, and returns when the disk knows. ErrTooLate when it
// was delivered or is being delivered.
func (s *Service) Recall(level int32, offset int64) error {
	s.mu.Lock()
	safe := s.mu.offsets[level]
	s.mu.Unlock()
	r := &s.recalls
	r.mu.Lock()
	late := offset < max(safe, r.mu.taken[level])
	if !late {
		if r.mu.offsets[level] == nil {
			r.mu.offsets[level] = map[int64]struct{}{}
		}
		r.mu.offsets[level][offset] = struct{}{}
		r.n.Store(max(r.n.Load(), 1))
	}
	r.mu.Unlock()
	if late {
		return fmt.Errorf("%w: offset %d of level %d", ErrTooLate, offset, level)
	}
	return r.file.Save()
}

// recalled says whether the unit at l.reached is not to be delivered, and that from now on it is too late to say so.
func (s *Service) recalled(l *level) bool {
	r := &s.recalls
	r.mu.Lock()
	defer r.mu.Unlock()
	r.mu.taken[l.queueID+1] = max(r.mu.taken[l.queueID+1], l.reached+1)
	if r.n.Load() == 0 {
		return false
	}
	_, ok := r.mu.offsets[l.queueID+1][l.reached]
	return ok
}
