//go:build race

package broker

// raceEnabled says that the race detector is on: it makes pools forget at random, so that allocations mean nothing.
const raceEnabled = true
