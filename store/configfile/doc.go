// Package configfile reads and writes the JSON tables of a broker or NameServer (topics.json, consumerOffset.json, ...),
// so that what Apache RocketMQ wrote is read here and the other way round.
//
// A table F lives in up to four files:
//
//	F      the table
//	F.bak  the table before the last write
//	F.tmp  a write that did not end; ignored
//	F.bad  what Load found in F and could not read; nothing reads it but people
//
// Save writes F.tmp and syncs it, renames F to F.bak, renames F.tmp to F, and syncs the folder. After a crash at any
// point either F or F.bak is whole. Load takes F, and F.bak when F is missing, empty or not readable, as Java does; it
// moves an unreadable F to F.bad, so that the next Save cannot put it in the place of a good F.bak.
//
// Reading is as tolerant as Java's fastjson (bare integer keys, single quotes, comments). Writing is strict JSON with
// quoted integer keys, which every Java version reads.
//
// Functions here may be called from any goroutine, but two Saves of one path must not run at once: a Writer sees to it.
package configfile
