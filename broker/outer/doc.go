// Package outer owns the broker's outgoing calls: its registration with all NameServers.
//
// A Registrar keeps one goroutine per NameServer, so that none of them holds up another. Each goes through
//
//	connect → register all topics → wait → ...
//	             ↑                   |  period: ask for the data version (unless forceRegister), register all topics
//	             |                   |  topics changed: register those that changed, or all after a deletion or a failure
//	             +-------------------+  connection lost: connect again at once, then with growing pauses
//
// What a NameServer has been told is remembered per NameServer, and a change is told as the difference to that. Java
// sends the changed topic alone to everybody; a NameServer that missed one such message and gets the next one then holds
// the newest data version without the first topic, and refuses to learn it.
//
// NameServers are given as names or addresses; names are resolved again every ResolveEvery, and each address behind a
// name is a NameServer. One that went away is told goodbye.
//
// All methods of Registrar are safe for concurrent use.
package outer
