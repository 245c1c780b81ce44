package store

import (
	"errors"
	"fmt"
	"time"
)

// Limits are those of the Options that may change while the store is open. Zero fields mean the defaults.
type Limits struct {
	MaxMessageSize    int           // bytes of a body
	FileReservedTime  time.Duration // age at which a file of the log is expired
	DeleteWhen        string        // hours, ';' separated; ignored when Options.Schedule was given
	DiskMaxUsedRatio  float64
	DiskForcibleRatio float64
	DiskWarningRatio  float64
	KeepUnexpired     bool
}

// Check says what is wrong with l.
func (l Limits) Check() error {
	l.fill()
	_, err := parseHours(l.DeleteWhen)
	if l.MaxMessageSize < 1 {
		err = errors.Join(err, fmt.Errorf("maxMessageSize: %d bytes", l.MaxMessageSize))
	}
	if l.FileReservedTime < 0 {
		err = errors.Join(err, fmt.Errorf("fileReservedTime: %v", l.FileReservedTime))
	}
	return err
}

func (l *Limits) fill() {
	orDefault(&l.MaxMessageSize, 4<<20)
	orDefault(&l.FileReservedTime, 72*time.Hour)
	orDefault(&l.DeleteWhen, "04")
	orDefault(&l.DiskMaxUsedRatio, 0.75)
	orDefault(&l.DiskForcibleRatio, 0.85)
	orDefault(&l.DiskWarningRatio, 0.90)
}

// limits are the Limits of now. Immutable; a change swaps them.
type limits struct {
	Limits
	schedule Schedule
}

// SetLimits changes the limits; they take effect with the next message and the next look at the disk. On an error nothing
// changes.
func (s *Store) SetLimits(l Limits) error {
	if err := l.Check(); err != nil {
		return err
	}
	l.fill()
	schedule := s.o.Schedule
	if s.o.hours {
		schedule, _ = parseHours(l.DeleteWhen) // checked
	}
	s.limits.Store(&limits{l, schedule})
	if !s.state.closed.Load() {
		s.checkDisk()
		s.clean.kick()
	}
	return nil
}

// limitsOf are the limits that a store is opened with.
func limitsOf(o *Options) *limits {
	return &limits{Limits{MaxMessageSize: o.MaxMessageSize, FileReservedTime: o.FileReservedTime, DeleteWhen: o.DeleteWhen,
		DiskMaxUsedRatio: o.DiskMaxUsedRatio, DiskForcibleRatio: o.DiskForcibleRatio, DiskWarningRatio: o.DiskWarningRatio,
		KeepUnexpired: o.KeepUnexpired}, o.Schedule}
}
