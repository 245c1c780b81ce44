// Package stats owns the broker's traffic figures: messages and bytes by topic and by consumer group, for the whole broker,
// and how they looked over the last minute, hour and day, as Java's BrokerStatsManager and StoreStatsService count them.
//
// Counting is a few atomic additions: callers look up a TopicItem or GroupItem once, keep it beside the topic or group it
// belongs to, and add the sum of a whole burst. An item of a deleted topic or group keeps counting into nothing; look it up
// again when the topic or group itself became stale.
//
// One goroutine samples all items every 10 s. The windows are Java's: a minute is at most 7 samples 10 s apart, an hour at
// most 7 samples 10 min apart, a day at most 25 samples 1 h apart; a figure is the difference between the last and the
// first sample of its window.
//
// Everything is safe for concurrent use.
package stats
