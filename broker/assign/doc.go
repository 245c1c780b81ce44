// Package assign decides which member of a consumer group has which queues, for members that ask the broker instead of deciding
// themselves, and keeps how groups ask for messages: by pull or by pop.
//
// Allocate and Share are pure and give every member the same picture: all of them must be called with the same members and queues,
// in any order. Modes is config/messageRequestMode.json; it is safe for concurrent use, and a change returns when it is on disk.
package assign
