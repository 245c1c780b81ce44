// Package pop owns what is taken out of queues by POP_MESSAGE and not yet acknowledged: who may see which message again, and when.
//
// # One pop
//
//  1. A queue of a group (topic, group, queue id) is one state with a short lock. Take marks it as being read, reads from its next
//     offset without the lock, and keeps what it hands out as a check point: start offset, pop time, and a bit for each message.
//  2. An acknowledgement sets a bit. A check point with all bits is forgotten, and never stored anywhere.
//  3. A check point that stays, or whose time comes near, is stored as Java stores it: a timed message for the revive topic, and its
//     bits as acks behind it. So a Java broker finds every invisible message where it stood.
//  4. The offset of the group follows in order: behind a check point only when that is complete or stored.
//  5. When the time of a stored check point is over, Reviver puts what has no bit into the retry topic of the group.
//
// # Kill
//
// The journal (package file journal.go) has each pop and each ack before they are answered, in the page cache. After a kill the next start
// finds the same check points with the same bits: nothing is lost, and nothing that was acknowledged comes back. A clean stop stores
// everything and leaves no journal. After a power failure the rules of the committed offset hold: at least once.
//
// # Concurrency
//
// All exported methods are safe for concurrent use. Lock order: queue.mu, then journal.mu, the offset table's or a shard's. Nothing that waits
// happens under queue.mu: reads of the store and appends are done without it. No lock is common to all queues but the journal's, which is held
// for one write of the page cache.
package pop
