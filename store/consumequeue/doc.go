// Package consumequeue owns the consume queues of a store: for each queue of each topic a row of 20-byte units that say
// where in the commit log the queue's messages are.
//
// # On disk
//
//	<Dir>/<topic>/<queue id>/<20 digits>
//
// A file holds FileUnits units and is named after the byte that it starts with in its queue (unit number × 20); it has
// its full length from the beginning (sparse). A unit is, big-endian:
//
//	offset  size
//	0       8     position of the record in the commit log
//	8       4     size of the record
//	12      8     tags code: hash of the tag, or the delivery time in SCHEDULE_TOPIC_XXXX
//
// Unit n is the message with queue offset n. The first unit with a size of 0 ends the queue. A queue whose first message
// has an offset other than 0 is filled from the start of its first file with blank units: position 0, size 0x7FFFFFFF,
// tags code 0. Damaged files are moved to BadDir, outside Dir, for Java's loader accepts nothing else in a queue's folder.
//
// # In memory
//
// No file is mapped and an idle queue has neither file handle nor buffer. Units are appended to a small ring per queue,
// which is written with one pwrite when half of it is new, and by Flush. Reads of what the ring still has come from it;
// older units come by pread through a bounded cache of handles.
//
// # Durability
//
// The log is the truth; queues can be made again from it. Flush returns the log position below which every unit is
// written (Flush(false): survives a killed process) or synced (Flush(true): survives a power failure). After a crash the
// caller takes the last such position P that it knows to hold, calls TruncateToPhys(P), which keeps only units below P,
// and dispatches the log from P again. Append ignores what a queue has already, so dispatching from earlier is harmless.
//
// # Rules
//
//   - Append calls for the whole set come one at a time, in log order: there is one dispatcher.
//   - TruncateToPhys and CorrectMin exclude Append; the caller sees to it.
//   - A queue's Next and SetNext belong to whoever holds the commit log's append lock.
//   - Everything else may be called at any time from any goroutine. Lookups take no lock.
//   - Locks: Set.flushMu, then Queue.ioMu, then Queue.mu; Set.mu is taken before Queue.ioMu too, and never under
//     Queue.mu. Set.activeMu and the handle cache's lock are innermost.
package consumequeue
