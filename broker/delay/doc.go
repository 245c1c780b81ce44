// Package delay owns the delay levels: which there are, how a message is put aside in SCHEDULE_TOPIC_XXXX, and when it
// comes back to its own topic and queue.
//
// A delayed message is a record of SCHEDULE_TOPIC_XXXX in queue level-1, whose queue unit carries the due time
// (store time + delay) instead of a tags code. Nothing else is kept but delayOffset.json: level → next queue offset.
// The queue of a level is delivered strictly in order.
//
// Rules of time, in order of weight:
//
//  1. Never early. A message is due when the wall clock has reached the unit's due time.
//  2. A clock that was set back must not hold messages for the size of the step. Records that were seen before the step
//     keep their remaining time (the step is measured against the monotonic clock), and any other record is due at the
//     latest when its whole own delay (due time - store time of the record, not the level's present delay) has passed
//     since this process first looked at it: it was stored before that, so that is never early either. This is where we
//     differ from Java, which delivers at once whatever lies further ahead than the level's present delay.
//  3. Late is bounded by the work: one goroutine sleeps until the next due time of all levels, and reads, appends and
//     confirms due messages of all levels in one batch. Nothing polls while nothing is pending; while something is, the
//     goroutine wakes at least once a second, to notice a wall clock that was moved.
//
// Delivery is at least once: an offset moves only after the delivered records are as safe as the flush mode asks, and is
// written to the file only after they are on the disk.
//
// Concurrency: Levels is immutable. A Service has one goroutine, which owns the per-level positions; Notify, Offsets and
// Encode may be called from anywhere.
package delay
