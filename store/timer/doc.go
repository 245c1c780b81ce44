// Package timer owns the files in which messages with any delay wait, in Java's formats: the timer wheel, the timer log and
// the check point.
//
//	timerwheel            1,209,600 slots of 32 bytes; a slot is one tick (timerPrecisionMs) and names the newest unit of its tick
//	timerlog/<position>   units of 52 bytes, each with the position of the one before it in the same slot
//	config/timercheck     56 of 4096 bytes: how far messages were put in the wheel, and how far the wheel was read
//
// The package knows nothing of messages: a unit is a due time and a place in the commit log. Who puts messages in and takes
// them out is package broker/timer.
//
// In memory the wheel is an array of pages that exist only where slots are used; a million waiting messages cost what their
// slots cost. Units are never kept: a slot is read by walking its chain.
//
// # Order of writing
//
// A unit is written to its file before the call that adds it is followed by Write. Flush makes a Snapshot durable in the order
// log, wheel, check point, so that whatever a crash leaves, the wheel on disk names no unit that the log on disk lacks, and the
// check point claims nothing that the other two do not have. A killed process loses nothing that was written: the log's end is
// found by reading, and slots are linked again from its units.
//
// # Concurrency
//
// Files belongs to one goroutine. The exception is Flush, which may run on another one beside everything else, one call at
// a time.
package timer
