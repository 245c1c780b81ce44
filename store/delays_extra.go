package store

import (
	"slices"
	"time"
)

// DefaultDelayLevels returns the delays of levels 1, 2, … of Java's messageDelayLevel.
func DefaultDelayLevels() []time.Duration { return slices.Clone(defaultDelays[:]) }
