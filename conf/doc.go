// Package conf is what a process is handed at start: its options under the keys of Apache RocketMQ's configuration files.
//
// One struct per component (Broker, Store, Server, Namesrv) lists the keys that something reads. Field tags:
//
//	conf:"key"        the name in files, in GET_*_CONFIG answers and in updates
//	default:"value"   the default; "$..." is computed from Env (see Env)
//	enum:"A|B"        the accepted words
//	clamp:"lo..hi"    a value outside is moved to the nearer end, with a warning
//	live:"true"       may change while the process runs (the allow list of UPDATE_*_CONFIG)
//	reload:"true"     may change when the file is read again (SIGHUP), but not remotely
//	important:"true"  shown by -m
//
// Keys that RocketMQ knows and nothing here reads are data: inert.tsv. A key that is in neither is unknown and is reported
// with the nearest known one. Whoever starts to read a key moves it from the table into a struct.
//
// The structs are values: copy them freely. Live holds the current value of a running process. Nothing here reads the
// environment or the clock; Env is filled by the programs under bin.
package conf
