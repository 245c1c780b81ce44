// Package mqadmin is the command line of the admin tool: Java's mqadmin commands, with its names, options, columns and exit codes, on top of client/admin.
//
// It owns the command table (commands.go: one list, one line a command), the option grammar of commons-cli (options.go, usage.go) and the text layouts that scripts parse.
// One file holds one family of commands. A command is a name, a description, its options and a run function; what it asks of servers is in client/admin.
//
// Nothing here is global state: Main gets all it needs in an Env, and a command gets a call. Commands run on the caller's goroutine; only a table that asks many servers
// starts goroutines, and it waits for them before it returns.
package mqadmin
