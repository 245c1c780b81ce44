// Package index owns the key index of a store: from the hash of a key to the log positions of the messages that carry it.
//
// # On disk
//
//	<Dir>/<yyyyMMddHHmmssSSS>     local time of the file's creation
//
// A file has a header, Slots slots, and room for Entries entries, all big-endian; it has its full length of
// 40 + 4·Slots + 20·Entries bytes from the beginning (sparse).
//
//	header   0  8  beginTimestamp   store time (ms) of the first entry's message
//	         8  8  endTimestamp     of the last
//	        16  8  beginPhyOffset   log position of the first entry's message
//	        24  8  endPhyOffset     of the last
//	        32  4  hashSlotCount    slots in use
//	        36  4  indexCount       number of the next entry; they count from 1, entry 0 is never used
//	slot     0  4  newest entry of the slot, 0 = none
//	entry    0  4  hash of the key, not negative; its slot is hash mod Slots
//	         4  8  log position of the message
//	        12  4  whole seconds between beginTimestamp and the message's store time
//	        16  4  the entry that was the slot's newest before this one, 0 = none
//
// A key is "topic#key"; per message UNIQ_KEY comes first, then each word of KEYS, then (since Java 5.5.0) "topic#T#tag".
// Only hashes are kept, so whoever asks must look into the messages.
//
// # In memory
//
// Only the last file changes. Its new entries gather in a buffer that is written when it is full; its slots are loaded
// by the page when they are first touched, stay in memory (20 MB at most) while there is work, and are written by Flush.
// Full files are read with pread. Nothing is mapped.
//
// # After a crash
//
// An entry holds its own hash and the number that its slot had before: with them a reader can play a file back from its
// first entry, and knows a bad entry from a good one. Open does so after a crash; what fits is kept, and the slots are
// made again. Java throws the whole file away instead.
//
// # Rules
//
// Put, TruncateTo and Close come one at a time; everything else may be called at any time from any goroutine. Flush does
// not hold up Put while it writes. Locks: Index.flushMu, then Index.mu.
package index
