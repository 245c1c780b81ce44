// Package timer brings messages back to their topics at any time they ask for (TIMER_DELAY_SEC, TIMER_DELAY_MS, TIMER_DELIVER_MS).
//
// A message that waits is a record of rmq_sys_wheel_timer, queue 0 (Divert makes it). One goroutine does the rest:
//
//   - put in: each new record of that queue gets a unit in the slot of its tick (package store/timer);
//   - load: shortly before a tick begins, the units of its slot are read, and for each the exact time from its message;
//   - deliver: what is due is appended to its own topic, in batches. A unit that rolls goes back to the timer topic instead, since
//     the wheel and the life of a record in the log are shorter than the longest delay;
//   - save: log, wheel and check point are flushed by a second goroutine.
//
// # Rules of time
//
//  1. Never early. A slot of Java's wheel stands for a whole tick (timerPrecisionMs), so that the millisecond is taken from the
//     message: TIMER_DELIVER_MS itself, or store time + delay, which is never before the time at which the delay began.
//     Java delivers the whole slot when its tick is over.
//  2. The wall clock rules, because a time to deliver at is a time of day. A clock set forward makes due what it says is due. A
//     clock set back delays what waits by the step; the reader of the wheel goes back with it, so that new messages are
//     neither early (Java delivers them at once) nor lost in slots that were read.
//  3. Recalls: a message that deletes another must have the same tick. It counts from the moment Recalled returns, and after a
//     restart all of the queue is put in before anything is delivered.
//
// Delivery is at least once. The check point moves only after deliveries are as safe as the flush mode asks, and never
// ahead of what is on disk. What was delivered since is looked up in the key index at the next start: see doubt.
//
// Concurrency: see Service. Divert, Due and the recall handles are pure functions.
package timer
