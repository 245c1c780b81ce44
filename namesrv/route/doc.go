// Package route is the table of brokers and topics of a NameServer: pure state, no network.
//
// A broker registers over a connection, its session. Sessions are numbered in the order they were opened, so that of two
// messages about one broker the one of the newer session is known to be the newer: a registration or unregistration that
// was overtaken by a newer session of the same broker changes nothing. Within a session messages come in order.
//
// What it follows, where the protocol leaves room, is RocketMQ's RouteInfoManager; what differs is said at the place.
//
// Replies to route queries are built once per change and kept as encoded bytes: a query is one map look-up.
//
// All methods of Table are safe for concurrent use. Nothing blocks, and nothing starts a goroutine; time comes from the
// clock and silent brokers leave when the owner calls Expire.
package route
