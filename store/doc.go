// Package store owns a broker's data directory: it keeps messages in the order of their arrival in a commit log, and
// makes consume queues and an index from it. Its files are those of Apache RocketMQ 4.9 and 5.x; either opens what the
// other wrote.
//
//	commitlog/<20 digits>           the log; package mappedfile
//	commitlog.deleted/              its files on their way out: ours
//	commitlog.spare/                the file that it will get next: ours
//	consumequeue/<topic>/<queue>/   package consumequeue
//	batchconsumequeue/…             the same of topics with queue.type=BatchCQ
//	index/<time>                    package index
//	checkpoint                      package checkpoint
//	abort                           there while the store is open; found at start it means a crash
//	lock                            locked while the store is open
//	torn/<position>.torn            what recovery cut off the log or wrote over: ours
//	bad/                            damaged files of queues and index: ours
//	deletedTopics                   see droppedTopics: ours
//
// # A message's way
//
// Batch.Add encodes it into the batch's buffer. Append takes the log's lock, gives all messages of the batch their queue
// offsets, positions and store time, writes the buffer with one pwrite, hands the entries to the dispatcher and moves
// the log's end. When the position is confirmed (async flush: at once; sync flush: when the flusher has synced it) the
// dispatcher appends it to its queue and the index, and tells Options.OnArrival. From then on Get finds it. A record may
// stand for several messages of its queue (Message.Inner), and may enter light queues too (light.go): late.go has what
// Append then writes into it.
//
// # Goroutines
//
// flusher, dispatcher, janitor, cleaner, preparer: one each, started by Open and waited for by Close. None is per queue
// or per message. In the usual case the appender itself dispatches, and a lone waiter itself syncs.
//
// # Locks, in the order in which they may be taken
//
//	dispatcher.jobMu > commitLog.mu (append lock) > commitLog.making, queueTable.mu, dispatcher.mu
//	flusher.mu, droppedTopics.mu: innermost
//
// Only the append lock is held during I/O that requests wait for: the pwrite of a batch, which goes to the page cache.
//
// # Recovery
//
// After a clean stop the log is read from the end of the last message that a queue knows. After a crash it is read from
// where the checkpoint says that log and queues are whole, or from before that if queues or index are damaged. Queues
// and index are cut to that position and made again from there. A record counts if magic, sizes, stored position and
// checksum fit, and no sector of it is missing. At the first that does not, recovery looks for the next one that does
// and is not older than the last good one. Without one the log ends there: what is behind is put aside and zeroed, so
// that it can never be taken for records. With one, the bytes between are put aside and covered with filler records that
// all readers skip, ours and Java's; the messages behind keep their queue offsets.
package store
