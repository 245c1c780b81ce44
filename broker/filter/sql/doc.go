// Package sql compiles SQL92 filter expressions of subscriptions, as RocketMQ knows them, and evaluates them on the properties of
// a stored message.
//
// An Expr is immutable and safe for concurrent use; Match looks properties up in the encoded property string itself, allocates
// nothing and keeps nothing. A Cache is safe for concurrent use and bounded in entries and bytes. There is no other state.
//
// # Language
//
//	or         = and { OR and }
//	and        = equality { AND equality }
//	equality   = comparison { "=" comparison | "<>" comparison | IS [NOT] NULL }
//	comparison = unary { ( ">" | ">=" | "<" | "<=" ) unary
//	                   | [NOT] ( CONTAINS | STARTSWITH | ENDSWITH ) string
//	                   | [NOT] BETWEEN unary AND unary
//	                   | [NOT] IN "(" string { "," string } ")" }
//	unary      = ( "+" | "-" | NOT ) unary | primary
//	primary    = string | number | TRUE | FALSE | NULL | name | "(" or ")"
//
// Logic has three values; a message is selected when the whole is TRUE. Property values are text; a property that is missing or
// empty is NULL. What is different from Java's evaluator, where that throws and so never selects, is in docs/filters.md.
package sql
