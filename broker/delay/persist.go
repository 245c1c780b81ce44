package delay

import (
	"context"
	"errors"
	"fmt"
	"maps"

	"github.com/seedmq/seedmq/remoting/protocol"
	"github.com/seedmq/seedmq/store/configfile"
)

// Offset is how far a level is.
type Offset struct {
	Level int32
	// Next is the queue offset to be delivered next, Max the one after the newest message of the level.
	Next, Max int64
}

// Offsets lists the levels in order.
func (s *Service) Offsets() []Offset {
	s.mu.Lock()
	defer s.mu.Unlock()
	list := make([]Offset, 0, len(s.levels))
	for _, l := range s.levels {
		list = append(list, Offset{Level: l.queueID + 1, Next: s.mu.offsets[l.queueID+1], Max: l.tail.Load()})
	}
	return list
}

// Encode is the text of delayOffset.json as of now, which is also the body of GET_ALL_DELAY_OFFSET.
func (s *Service) Encode() []byte {
	s.mu.Lock()
	defer s.mu.Unlock()
	text, err := configfile.Encode(offsetFile{s.mu.version, s.mu.offsets})
	if err != nil {
		panic("delay: encoding numbers failed: " + err.Error())
	}
	return text
}

// offsetFile is delayOffset.json. Java writes the keys of the table without quotes and reads them either way.
type offsetFile struct {
	DataVersion protocol.DataVersion `json:"dataVersion"`
	OffsetTable map[int32]int64      `json:"offsetTable"`
}

// load reads the file. Damaged offsets do not stop the broker: without them every message that the queues still hold is
// delivered once more, which is the safe side.
func (s *Service) load() error {
	var f offsetFile
	_, err := s.saves.file.Load(&f)
	if errors.Is(err, configfile.ErrCorrupt) {
		s.o.Log.Errorf("delayed messages are delivered from the start of their queues: %v", err)
		return nil
	}
	if err != nil {
		return fmt.Errorf("delay: %w", err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for level, offset := range f.OffsetTable {
		if level > 0 && offset >= 0 {
			s.mu.offsets[level] = offset
		}
	}
	s.mu.version = f.DataVersion
	s.mu.written = maps.Clone(s.mu.offsets)
	return nil
}

// snapshot is what a file may say once the log is on disk up to end.
type snapshot struct {
	end     int64
	version protocol.DataVersion
	offsets map[int32]int64
}

// saves remembers what the file says, and the oldest snapshot that waits for the disk. It belongs to the persist loop,
// and to Close after that.
type saves struct {
	file    *configfile.Writer
	next    offsetFile // what is being written
	written map[int32]int64
	held    *snapshot
}

func (s *Service) persistLoop(ctx context.Context) {
	timer := s.o.Clock.NewTimer(s.o.PersistEvery)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-timer.C():
		}
		if err := s.persist(false); err != nil {
			s.o.Log.Errorf("delay offsets are not saved: %v", err)
		}
		timer.Reset(s.o.PersistEvery)
	}
}

// persist writes the newest offsets whose deliveries are on disk; all says that what is delivered counts as being there,
// since a store that is closed in order flushes. Otherwise a power cut after an asynchronous append could leave a file
// that is ahead of the log.
func (s *Service) persist(all bool) error {
	flushed := func(*snapshot) bool { return true }
	if !all && s.o.Flushed != nil {
		at := s.o.Flushed()
		flushed = func(n *snapshot) bool { return n.end <= at }
	}
	now := s.snapshot()
	var best *snapshot
	if h := s.saves.held; h != nil && flushed(h) {
		best, s.saves.held = h, nil
	}
	if flushed(now) {
		best, s.saves.held = now, nil
	} else if s.saves.held == nil {
		s.saves.held = now
	}
	if best == nil || maps.Equal(best.offsets, s.saves.written) {
		return nil
	}
	s.saves.next = offsetFile{best.version, best.offsets}
	if err := s.saves.file.Save(); err != nil {
		return fmt.Errorf("delay: %w", err)
	}
	s.saves.written = best.offsets
	s.mu.Lock()
	s.mu.written = best.offsets
	s.mu.Unlock()
	return nil
}

func (s *Service) snapshot() *snapshot {
	s.mu.Lock()
	defer s.mu.Unlock()
	return &snapshot{s.mu.end, s.mu.version, maps.Clone(s.mu.offsets)}
}
